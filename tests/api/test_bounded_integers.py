"""Every whole number of an address is bounded: none reaches the database that it cannot hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route

from tests.api.test_writing import Writer, writer_of

HUGE = (2**31, 2**63 - 1, 2**63, 2**64, 10**20, 10**30, -(2**63) - 1)


@pytest.fixture(scope="module")
def writer(seeded_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Writer]:
    with writer_of(seeded_database, tmp_path_factory.mktemp("integers")) as made:
        yield made


def operations(writer: Writer) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    described = writer.client.get("/openapi.json").json()
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation.get("parameters", [])


def is_whole(schema: dict[str, Any]) -> bool:
    kinds = [schema, *schema.get("anyOf", [])]
    return any(kind.get("type") == "integer" for kind in kinds)


def test_every_whole_number_of_the_description_is_bounded(writer: Writer) -> None:
    unbounded = [
        (path, parameter["name"])
        for _, path, parameters in operations(writer)
        for parameter in parameters
        if is_whole(parameter["schema"])
        and not any(
            "maximum" in kind for kind in (parameter["schema"], *parameter["schema"].get("anyOf", []))
        )
    ]
    assert not unbounded


@pytest.mark.parametrize("number", HUGE)
def test_huge_numbers_in_every_place_of_every_path_and_query(writer: Writer, number: int) -> None:
    for method, path, parameters in operations(writer):
        place = path
        query = {}
        for parameter in parameters:
            if parameter["in"] == "path":
                place = place.replace(f"{{{parameter['name']}}}", str(number))
            elif parameter["in"] == "query" and parameter["name"] not in ("lang",):
                query[parameter["name"]] = str(number)
        for asked in ({}, *({name: value} for name, value in query.items())):
            answer = writer.client.request(method, place, params=asked, headers=writer.key)
            assert answer.status_code < 500, (method, place, asked, answer.text[:300])


@pytest.mark.parametrize("number", HUGE)
def test_huge_numbers_in_the_addresses_of_pages(writer: Writer, number: int) -> None:
    names = (
        "page",
        "before",
        "open",
        "rows",
        "count",
        "cards",
        "batch",
        "seq",
        "users",
        "as_of",
        "ids",
        "gpus",
    )
    from app.web.routes import router

    for route in router.routes:
        if not isinstance(route, Route) or "GET" not in (route.methods or ()):
            continue
        place = route.path
        for name in route.param_convertors:
            place = place.replace(f"{{{name}}}", str(number)).replace(f"{{{name}:path}}", str(number))
        for asked in ({}, *({name: str(number)} for name in names)):
            answer = writer.client.get(place, params=asked, follow_redirects=False)
            assert answer.status_code < 500, (place, asked)
