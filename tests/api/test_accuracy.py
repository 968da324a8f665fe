"""The accuracy route: what the harness says, in the reader's language."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlmodel import SQLModel

from app.api import accuracy
from app.catalog.db import create_engine_from_url
from app.catalog.reports import StoredReport, store_report
from app.core.accuracy import GROUPS, part_of
from app.services.accuracy_prices import PART as PRICES
from app.services.accuracy_serving import PART as SERVING
from app.services.later import MOST_WAITING, Later, Pending
from app.services.speed_reports import READY, SpeedReport, SpeedReports, basis_of
from tests.speed_bodies import price_body, serving_body, speed_body


@pytest.fixture(autouse=True)
def speed_at_once(api: TestClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Of the speed there is nothing to wait for, except where a test says so."""

    class AtOnce(SpeedReports):
        def get(self, snapshot: Any, part: str = "report") -> SpeedReport:
            del snapshot
            return SpeedReport(READY, body(part))

    monkeypatch.setitem(state_of(api)._state, "speed_reports", AtOnce(state_of(api).engine))
    yield
    state_of(api).answers.clear()


def body(part: str, total: int = 0) -> dict[str, Any]:
    kept = {PRICES: price_body, SERVING: serving_body}
    return kept[part]() if part in kept else speed_body(part, total)


def state_of(api: TestClient) -> Any:
    return api.app.state  # type: ignore[attr-defined]


def reports(api: TestClient, monkeypatch: pytest.MonkeyPatch, work: Any) -> SpeedReports:
    """Reports over an empty database of their own, made by `work`."""
    engine = create_engine_from_url("sqlite://")
    SQLModel.metadata.create_all(engine)
    made = SpeedReports(engine, work)
    monkeypatch.setitem(state_of(api)._state, "speed_reports", made)
    return made


def memory(api: TestClient, query: str = "") -> dict[str, Any]:
    answer = api.get(f"/api/v1/accuracy{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["memory"]
    return found


def test_only_cases_without_influence_on_the_constants_are_shown(api: TestClient) -> None:
    found = memory(api)
    assert found["part"] == "report"
    assert [group["group"] for group in found["groups"]] == list(GROUPS)
    assert all(part_of(row["case"]) == "report" for row in found["rows"])
    for row in found["rows"]:
        assert row["predicted"]["low"] <= row["predicted"]["high"]
        assert row["source"]["id"] and row["measured"] >= 0


def test_groups_hold_their_targets_beside_their_errors(api: TestClient) -> None:
    groups = {group["group"]: group for group in memory(api, "?rows=false&lang=en")["groups"]}
    weights = groups["inference_weights"]
    assert weights["name"] == "inference: weights"
    assert weights["target"]["median"] == 0.012
    assert weights["errors"]["n"] > 0
    assert groups["vision_batch"]["batches"]["within_one_step"] > 0.9


def test_rows_can_be_left_out_and_the_other_part_asked_for(api: TestClient) -> None:
    assert "rows" not in memory(api, "?rows=false")
    fit = memory(api, "?part=fit")
    assert all(part_of(row["case"]) == "fit" for row in fit["rows"])
    both = memory(api, "?part=all")
    assert len(both["rows"]) == len(fit["rows"]) + len(memory(api)["rows"])


@pytest.mark.parametrize(("language", "name"), [("zh", "推理：权重"), ("en", "inference: weights")])
def test_names_and_reasons_are_in_the_language_asked(api: TestClient, language: str, name: str) -> None:
    found = memory(api, f"?rows=false&lang={language}")
    assert found["groups"][0]["name"] == name
    cases = found["cases"]
    texts = [r["text"] for key in ("unexpressed", "figures_left_out", "faulty") for r in cases[key]]
    assert texts
    assert all(any("一" <= c <= "鿿" for c in text) == (language == "zh") for text in texts), texts


def test_other_tools_stand_beside(api: TestClient) -> None:
    peers = memory(api, "?rows=false")["peers"]
    lora = next(t for t in peers["tools"] if t["tool"] == "vramcalc" and t["group"] == "adapters")
    assert (lora["median"], lora["percentile_90"]) == (0.145, 0.42)
    assert (lora["expressed"], lora["of"]) == (93, 161)
    assert "vision_batch" in peers["no_tool_for"]


def test_most_reference_cases_are_expressed(api: TestClient) -> None:
    cases = memory(api, "?rows=false&part=all")["cases"]
    assert cases["expressed"] / cases["total"] >= 0.85


def test_the_answer_waits_for_the_speed(api: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def report(engine: Any, snapshot: Any, part: str) -> StoredReport:
        del engine
        assert released.wait(30)
        return StoredReport(basis_of(snapshot, part), body(part))

    reports(api, monkeypatch, report)
    threading.Timer(0.05, released.set).start()
    answer = api.get("/api/v1/accuracy?rows=false")
    speed = answer.json()["speed"]
    assert speed["versions"] == answer.json()["versions"]
    assert (speed["status"], speed["part"], speed["bases"]) == ("ready", "report", [])
    assert "retry-after" not in answer.headers


def test_the_one_before_is_answered_at_once_under_its_own_version(
    api: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()

    def report(engine: Any, snapshot: Any, part: str) -> StoredReport:
        del engine
        assert released.wait(30)
        return StoredReport(basis_of(snapshot, part), body(part, total=2))

    made = reports(api, monkeypatch, report)
    before = speed_body(total=1)
    store_report(made._engine, "report", StoredReport("0" * 64, before))
    first = api.get("/api/v1/accuracy?rows=false")
    assert first.json()["speed"] == before | {"status": "previous"}
    assert int(first.headers["retry-after"]) > 0
    released.set()
    deadline = time.monotonic() + 10
    while (answer := api.get("/api/v1/accuracy?rows=false")).json()["speed"]["status"] == "previous":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert answer.json()["speed"]["cases"]["total"] == 2
    assert answer.json()["speed"]["versions"] == answer.json()["versions"]


def test_prices_are_answered_as_they_are_kept(api: TestClient) -> None:
    found = api.get("/api/v1/accuracy?rows=false").json()
    assert found["prices"] == price_body() and found["serving"] == serving_body()


def test_only_so_many_wait_at_once() -> None:
    released = threading.Event()
    later: Later[bool] = Later(1)
    waiting = [
        threading.Thread(target=later.wait, args=("a", lambda: released.wait(30), 30.0))
        for _ in range(MOST_WAITING)
    ]
    for thread in waiting:
        thread.start()
    deadline = time.monotonic() + 10
    while later._waiting._value:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    assert later.wait("a", lambda: True, 30.0).status == "computing"
    released.set()
    for thread in waiting:
        thread.join(10)
    assert later.wait("a", lambda: True, 30.0).value is True


def test_an_answer_that_takes_longer_is_asked_for_again(
    api: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()

    def report(engine: Any, snapshot: Any, part: str) -> StoredReport:
        del engine
        assert released.wait(30)
        return StoredReport(basis_of(snapshot, part), body(part))

    reports(api, monkeypatch, report)
    monkeypatch.setattr(accuracy, "LONGEST_WAIT_SECONDS", 0.01)
    first = api.get("/api/v1/accuracy?rows=false")
    assert first.json()["speed"] == {"status": "computing"} and first.json()["memory"]["groups"]
    assert int(first.headers["retry-after"]) > 0
    tag = {"if-none-match": first.headers["etag"]}
    released.set()
    deadline = time.monotonic() + 10
    while "retry-after" in (answer := api.get("/api/v1/accuracy?rows=false", headers=tag)).headers:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert answer.json()["speed"]["status"] == "ready" and answer.json()["speed"]["bases"] == []
    tag = {"if-none-match": answer.headers["etag"]}
    assert api.get("/api/v1/accuracy?rows=false", headers=tag).status_code == 304


def test_one_answer_is_computed_once_and_a_failure_is_said() -> None:
    calls: list[str] = []
    later: Later[int] = Later(4)

    def succeed() -> int:
        calls.append("a")
        return 7

    def fail() -> int:
        calls.append("fail")
        raise ValueError

    def wait(key: str, compute: Callable[[], int]) -> Pending[int]:
        deadline = time.monotonic() + 10
        while (found := later.get(key, compute)).status == "computing":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return found

    assert wait("a", succeed).value == 7
    assert wait("a", fail).value == 7
    assert wait("b", fail).status == "failed" and wait("b", fail).value is None
    assert calls == ["a", "fail"]


def test_the_answer_can_be_revalidated_and_an_unknown_part_is_refused(api: TestClient) -> None:
    first = api.get("/api/v1/accuracy?rows=false")
    again = api.get("/api/v1/accuracy?rows=false", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
    assert api.get("/api/v1/accuracy?part=best").status_code == 422
