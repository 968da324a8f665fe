"""Bodies and forms with very many parts: refused before each of them costs something, in a short answer."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.api.test_writing import Writer, writer_of

KEYS = {f"k{n}": 1 for n in range(80_000)}
WORKLOAD = {"model": {"preset": "llama-3.1-8b"}, "task": "inference", "precision": "bf16"}
MAX_SECONDS = 0.6
"""Of the processor, twice the aim: other work on the machine must not decide."""
MAX_ANSWER_BYTES = 100_000
TRIES = 6


@pytest.fixture(scope="module")
def writer(seeded_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Writer]:
    with writer_of(seeded_database, tmp_path_factory.mktemp("bounded")) as made:
        yield made


def refused(send: Callable[[], Any]) -> Any:
    """The answer to what is refused, cheaply and briefly.

    The first time loads what the routes need, and threads of other applications of this process may count
    into one time or another: the cheapest of a few says what it costs.
    """
    seconds: list[float] = []
    while len(seconds) < TRIES and min(seconds, default=MAX_SECONDS) >= MAX_SECONDS:
        started = time.process_time()
        answer = send()
        seconds.append(time.process_time() - started)
    assert answer.status_code == 422, answer.text[:300]
    assert "text/html" in answer.headers["content-type"] or len(answer.content) < MAX_ANSWER_BYTES
    assert min(seconds) < MAX_SECONDS, seconds
    return answer


@pytest.mark.parametrize(
    "body",
    [
        KEYS | {"workload": WORKLOAD},
        {"workload": WORKLOAD | KEYS},
        {"workload": WORKLOAD | {"model": KEYS}},
        {"workload": WORKLOAD | {"offload": KEYS}},
        {"workload": WORKLOAD | {"model": {"family": "decoder", "facts": KEYS}}},
    ],
    ids=["body", "workload", "model", "offload", "facts"],
)
@pytest.mark.parametrize("path", ["memory", "fit", "shortlist"])
def test_eighty_thousand_keys_are_one_fault(api: TestClient, path: str, body: dict[str, Any]) -> None:
    problem = refused(lambda: api.post(f"/api/v1/{path}", json=body)).json()
    assert [error["code"] for error in problem["errors"]][-1] == "too_many_keys"


@pytest.mark.parametrize(
    "path", ["prices", "rentals", "gpus", "benchmarks", "models", "quotes", "imports/prices"]
)
def test_eighty_thousand_keys_of_a_row_are_counted_and_few_are_named(writer: Writer, path: str) -> None:
    problem = refused(lambda: writer.post(path, KEYS)).json()
    assert 1 <= len(problem["errors"]) <= 100


def test_a_form_does_not_read_eighty_thousand_keys(client: TestClient) -> None:
    table = json.dumps([KEYS]).encode()
    refused(lambda: client.post("/quotes/preview", files={"file": ("quotes.json", table)}))


def test_eighty_thousand_quotes_are_not_looked_up(api: TestClient) -> None:
    problem = refused(lambda: api.post("/api/v1/quotes/compare", json={"ids": list(KEYS)})).json()
    assert problem["errors"][0]["code"] == "too_many"


@pytest.mark.parametrize("count", [501, 1_000, 30_000])
def test_more_own_prices_than_there_are_cards_are_refused(api: TestClient, count: int) -> None:
    body = {"workload": WORKLOAD, "price_overrides": {f"no card {n}": 5 for n in range(count)}}
    problem = refused(lambda: api.post("/api/v1/shortlist", json=body)).json()
    codes = {error["pointer"]: error["code"] for error in problem["errors"]}
    assert codes in ({"/price_overrides": "too_many"}, {"/price_overrides": "too_many_keys"})


def test_of_many_unknown_names_the_first_few_get_hints(api: TestClient) -> None:
    body = {"workload": WORKLOAD, "price_overrides": {f"rtx 4{n:03d}": 5 for n in range(1, 500)}}
    problem = refused(lambda: api.post("/api/v1/shortlist", json=body)).json()
    assert len(problem["errors"]) == 100
    assert problem["detail"].startswith("49")


def test_a_form_with_a_thousand_own_prices_is_refused(client: TestClient) -> None:
    lines = "\n".join(f"no card {n} = 5" for n in range(1_000))
    parameters = {"model": "llama-3.1-8b", "prices": lines[:19_000]}
    refused(lambda: client.get("/", params=parameters))


def test_many_unknown_parameters_are_few_faults(api: TestClient) -> None:
    refused(lambda: api.get("/api/v1/gpus?" + "&".join(f"a{n}=" for n in range(8_000))))
