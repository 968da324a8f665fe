"""Promise 1 over the API: every item of every list says its source and publisher, date, unit and basis."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from fastapi.testclient import TestClient

from app.core.estimates import Basis

BASES = get_args(Basis)
AS_OF = "2026-11-30"


def everything(api: TestClient, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = api.get(f"/api/v1/{name}?limit=200{cursor}").json()
        found += page["items"]
        if page["next"] is None:
            return found
        cursor = f"&cursor={page['next']}"


def complete(item: dict[str, Any]) -> bool:
    source = item["source"]
    return (
        item["basis"] in BASES
        and bool(source["id"] and source["title"] and source["publisher"])
        and (item["basis"] != "derived" or bool(item.get("formula")))
    )


@pytest.mark.parametrize("name", ["prices", "rentals", "rates", "benchmarks", "models"])
def test_every_row_of_a_list_says_where_it_is_from(api: TestClient, name: str) -> None:
    rows = everything(api, name)
    assert len(rows) > 100
    assert [row["id"] for row in rows if not complete(row)] == []


def test_every_figure_of_every_card_says_where_it_is_from(api: TestClient) -> None:
    cards = everything(api, "gpus")
    figures = [(card["id"], name, f) for card in cards for name, f in card["figures"].items()]
    assert len(figures) > 4_000
    assert [(i, n) for i, n, f in figures if not (complete(f) and f["unit"] and f["as_of"])] == []


def test_every_price_that_counts_says_its_basis(api: TestClient) -> None:
    bases: dict[str, int] = {}
    for card in everything(api, "gpus")[::3]:
        for price in api.get(f"/api/v1/gpus/{card['id']}?as_of={AS_OF}").json()["prices"].values():
            assert complete(price), price
            bases[price["basis"]] = bases.get(price["basis"], 0) + 1
            worked_out = price["converted"] or len(price["observation_ids"]) > 1
            assert (price["basis"] == "derived") == worked_out
    assert bases["exact"] > 5 and bases["derived"] > 5
