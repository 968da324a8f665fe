"""`?currency=USD`: dollars beside yuan wherever an answer holds money, at one dated rate."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.api.examples import LLAMA_INFERENCE
from app.core.answer import AnyMap, Figure, answer
from app.services.answers import DollarRate, as_json, with_currency
from tests.api.conftest import AS_OF

DATED = f"as_of={AS_OF}"
NO_MONEY = ("_per_1000_cny", "electricity_cny_per_kwh", "host_cny_per_gpu")


def yuan(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any], str]]:
    """(place, object, name) of every amount in yuan."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from yuan(item, f"{path}/{index}")
    elif isinstance(value, dict):
        for name, inner in value.items():
            if "_cny" in name and inner is not None and not name.endswith(NO_MONEY):
                yield f"{path}/{name}", value, name
            else:
                yield from yuan(inner, f"{path}/{name}")


def check(body: dict[str, Any]) -> int:
    """Every amount in yuan has its dollars at the stated rate; how many there are."""
    rate = body["rate"]
    assert (rate["base"], rate["quote"]) == ("USD", "CNY") and rate["observed_on"] <= AS_OF
    found = list(yuan(body))
    for place, holder, name in found:
        amount, dollars = holder[name], holder.get(name.replace("_cny", "_usd"))
        assert dollars is not None, f"{place} has no dollars"
        pairs = zip(amount.values(), dollars.values(), strict=True) if isinstance(amount, dict) else None
        for one, other in pairs or [(amount, dollars)]:
            assert other == pytest.approx(one / rate["rate"], rel=1e-6)
    return len(found)


@pytest.mark.parametrize("path", ["gpus/rtx4090", "gpus/rtx4090/prices", "prices", "rentals?gpu=rtx4090"])
def test_lists_and_cards(api: TestClient, path: str) -> None:
    joint = "&" if "?" in path else "?"
    plain = api.get(f"/api/v1/{path}{joint}{DATED}").json()
    assert plain["currency"] == "CNY" and "rate" not in plain
    assert not [place for place, holder, name in yuan(plain) if name.replace("_cny", "_usd") in holder]
    answer = api.get(f"/api/v1/{path}{joint}{DATED}&currency=USD").json()
    assert answer["currency"] == "USD"
    assert check(answer) > 0
    # The dollars of one reader are not in the answer of the next.
    assert api.get(f"/api/v1/{path}{joint}{DATED}").json() == plain


def test_a_frozen_comparison_and_what_has_changed(api: TestClient) -> None:
    body = {"workload": LLAMA_INFERENCE, "as_of": "2026-06-30", "limit": 5}
    body["filters"] = {"acquisition": ["buy"]}
    address = f"/api/v1/comparisons/{api.post('/api/v1/comparisons', json=body).json()['id']}"
    result = api.get(f"{address}?currency=USD").json()["result"]
    assert check(result) > 0 and result["currency"] == "USD"
    changes = api.get(f"{address}/changes?{DATED}&currency=USD").json()
    assert check(changes) > 0
    assert changes["options"][0]["total_usd"].keys() == {"then", "now"}
    assert changes["prices"] and "amount_usd" in changes["prices"][0]["now"]
    assert api.get(f"{address}/changes?{DATED}").json()["currency"] == "CNY"


def test_quotes_say_their_currency(api: TestClient) -> None:
    for found in (
        api.get(f"/api/v1/quotes?{DATED}&currency=USD"),
        api.post(f"/api/v1/quotes/compare?{DATED}&currency=USD", json={}),
    ):
        assert found.json()["currency"] == "USD"
        assert found.json()["rate"]["base"] == "USD"


@answer()
class Amounts:
    """Amounts as quotes and changes have them."""

    gross_cny_per_card: Figure
    """Yuan per card."""
    cost_cny_per_sustained_tflops: Figure
    """Yuan per TFLOPS."""
    gross_cny_total: Figure | None
    """Yuan in all."""
    total_cny: AnyMap
    """Yuan by name."""
    tflops_per_1000_cny: Figure
    """No amount."""
    electricity_cny_per_kwh: Figure
    """A price of the question."""
    currency: str = "CNY"
    """Currency."""
    rate: DollarRate | None = None
    """Rate."""


def test_amounts_of_a_quote_and_several_by_name_are_converted(api: TestClient) -> None:
    snapshot = api.app.state.store.snapshot()  # type: ignore[attr-defined]
    amounts = Amounts(700.0, 70.0, None, {"then": 700.0, "now": None}, 4.46, 0.8)
    body = as_json(with_currency(amounts, "USD", snapshot, date.fromisoformat(AS_OF)), "en")
    assert "total_usd" in body and "total_usd" not in as_json(amounts, "en")
    rate = body["rate"]["rate"]
    assert body["gross_usd_per_card"] == pytest.approx(700 / rate)
    assert body["cost_usd_per_sustained_tflops"] == pytest.approx(70 / rate)
    assert body["total_usd"] == {"then": pytest.approx(700 / rate), "now": None}
    assert not {"tflops_per_1000_usd", "electricity_usd_per_kwh", "gross_usd_total"} & body.keys()


def test_an_unknown_currency_is_refused(api: TestClient) -> None:
    answer = api.get("/api/v1/quotes?currency=EUR")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/currency"
