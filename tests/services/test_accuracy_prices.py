"""The back-test of carried prices on the shipped ledger, and what it promises."""

from __future__ import annotations

import json
from datetime import date

import pytest

from app.catalog.snapshot import Snapshot
from app.core.decide.backtest import PriceErrors
from app.core.decide.market import Band, Constants, half_of
from app.core.question import PriceRules
from app.services.accuracy_answers import PriceAccuracyReport
from app.services.accuracy_prices import price_report
from app.services.answers import canonical, load
from app.services.missing_prices import evidence_counts, missing_prices
from tests.catalog.conftest import shipped_snapshot

DAY = date(2026, 11, 30)
__all__ = ["shipped_snapshot"]


@pytest.fixture(scope="module")
def report(shipped_snapshot: Snapshot) -> PriceAccuracyReport:
    return price_report(shipped_snapshot)


def row(report: PriceAccuracyReport, group: str, first_day: int) -> PriceErrors:
    return next(r for r in report.groups if (r.group, r.first_day) == (group, first_day))


@pytest.mark.parametrize(
    ("group", "first_day", "median", "p90"),
    [
        ("small", 46, 0.05, 0.15),
        ("small", 121, 0.07, 0.18),
        ("big", 46, 0.13, 0.33),
        ("thin", 1, 0.21, 0.64),
    ],
)
def test_carried_prices_come_as_near_as_is_promised(
    report: PriceAccuracyReport, group: str, first_day: int, median: float, p90: float
) -> None:
    found = row(report, group, first_day)
    assert found.median <= median and found.p90 <= p90
    assert abs(found.signed_median) <= 0.06


def test_bands_hold_what_they_say_and_carrying_beats_reading_as_it_is(report: PriceAccuracyReport) -> None:
    for found in report.groups:
        assert 0.72 <= found.inside <= 0.92, found
        assert found.pairs >= 10
        # Nothing is known to move a whole server: it is read as it is, under a wide band.
        if found.group != "server":
            assert found.median < found.as_it_is_median, found


def test_what_cannot_be_tested_and_what_rests_on_one_table_is_said(report: PriceAccuracyReport) -> None:
    assert report.untested == ("chinese",)
    assert report.one_table.share_of_targets > 0.5
    assert {r.split for r in report.groups} == {"halves", "card left out"}


def test_the_report_is_kept_and_read_again_as_it_was(report: PriceAccuracyReport) -> None:
    kept = canonical(report)
    assert canonical(load(PriceAccuracyReport, json.loads(json.dumps(kept, allow_nan=False)))) == kept
    assert set(kept["bands"]) == {"small", "big", "thin", "chinese", "server"}
    assert set(kept["bands"]["big"]) == {"s", "v", "months"}
    assert list(kept["limits"]) == ["big_gib", "new_consumer_days", "others_days", "left_out"]


def test_an_estimate_that_cannot_be_tested_is_as_good_as_refused() -> None:
    """A doubtful price of a Chinese card leaves more than a factor of four open after some months."""
    own = Constants().own_chinese
    assert own.half_width(3.0, 0.30) > 0.69
    assert Band(0.1, 0.1, 4).half_width(4) == Band(0.1, 0.1, 4).half_width(40)


def test_halves_do_not_move_with_a_new_price(shipped_snapshot: Snapshot) -> None:
    cards = list(shipped_snapshot.market.gpus.values())
    halves = half_of(cards)
    assert set(halves) == {gpu.id for gpu in shipped_snapshot.gpus}


@pytest.mark.parametrize(
    "gpu_id", ["h20-96gb", "h20-141gb", "h100-sxm5-80gb", "ascend-910b3", "a100-sxm4-80gb"]
)
def test_a_server_of_modules_costs_what_servers_were_said_to_cost(
    shipped_snapshot: Snapshot, gpu_id: str
) -> None:
    ranges = {
        "h20-96gb": (1.0e6, 1.4e6),
        "h20-141gb": (1.0e6, 1.4e6),
        "h100-sxm5-80gb": (2.3e6, 3.2e6),
        "ascend-910b3": (1.55e6, 2.12e6),
        "a100-sxm4-80gb": (0.9e6, 1.4e6),
    }
    price = shipped_snapshot.server_choices(DAY)[gpu_id, "new"]
    assert price.evidence == "estimate" and price.expected_cny is not None
    assert ranges[gpu_id][0] <= price.expected_cny <= ranges[gpu_id][1]


def test_one_unknown_bin_is_one_row(shipped_snapshot: Snapshot) -> None:
    servers = shipped_snapshot.server_choices(DAY)
    priced = [
        g
        for g in ("ascend-910b1", "ascend-910b2", "ascend-910b3", "ascend-910b4")
        if servers[g, "new"].expected_cny is not None
    ]
    assert priced == ["ascend-910b3"]
    assert servers["ascend-910b1", "new"].refused == "unknown_bin"


def test_prices_of_another_variant_are_estimates(shipped_snapshot: Snapshot) -> None:
    for (gpu_id, condition), price in shipped_snapshot.price_choices(DAY).items():
        if price.variant_assumed or price.kind == "launch" or price.converted:
            assert price.evidence in ("estimate", "none"), (gpu_id, condition)
        if price.evidence == "current":
            assert (price.region, price.currency, price.stale) == ("CN", "CNY", False)


def test_loose_modules_have_no_price_but_a_used_one_with_its_carrier(shipped_snapshot: Snapshot) -> None:
    choices = shipped_snapshot.price_choices(DAY)
    for gpu_id in ("a100-sxm4-80gb", "h20-96gb", "ascend-910b3"):
        price = choices.get((gpu_id, "new"))
        assert price is None or price.expected_cny is None
    v100 = choices["v100-sxm2-16gb", "used"]
    assert v100.expected_cny is None or v100.expected_cny > v100.amount_cny


def test_a_used_card_is_below_the_new_one(shipped_snapshot: Snapshot) -> None:
    choices = shipped_snapshot.price_choices(DAY)
    for (gpu_id, condition), used in choices.items():
        new = choices.get((gpu_id, "new"))
        if condition == "used" and new and new.evidence == "current" and used.expected_cny:
            assert new.expected_cny and used.expected_cny <= 0.92 * new.expected_cny + 1e-6, gpu_id


def test_cards_by_evidence_and_the_prices_that_would_decide_most(shipped_snapshot: Snapshot) -> None:
    counts = evidence_counts(shipped_snapshot, DAY)
    assert sum(counts.values()) == len(shipped_snapshot.gpus)
    assert list(counts) == ["firm", "current", "estimate", "none"]
    assert counts["current"] >= 20 and counts["estimate"] > counts["current"]
    found = missing_prices(shipped_snapshot, DAY, 120.0)
    assert found is not None and found.questions >= 20
    assert len(found.cards) == 20
    assert all(card.evidence in ("estimate", "none") for card in found.cards)
    assert [card.questions for card in found.cards] == sorted(
        (card.questions for card in found.cards), reverse=True
    )


def test_a_buyer_abroad_is_served_by_the_prices_there(shipped_snapshot: Snapshot) -> None:
    there = shipped_snapshot.price_choices(DAY, PriceRules(region="US"))
    current = [price for price in there.values() if price.evidence == "current"]
    assert all((price.region, price.currency) == ("US", "USD") for price in current)
    # Yuan of today, not dollars.
    assert all(price.expected_cny and price.expected_cny > 3 * price.amount for price in current)
