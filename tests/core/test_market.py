"""Prices carried to today: index, band, refusals, evidence; on ledgers small enough to reckon by hand."""

from __future__ import annotations

import math
import time
from datetime import date

import pytest

from app.core.decide.backtest import HALVES, Pair, errors, fit_band, one_of_each_range, pairs
from app.core.decide.evidence import Terms, below_new, firm, value
from app.core.decide.market import (
    Card,
    Constants,
    Index,
    Price,
    carry,
    half_of,
    index_of,
    klass_of,
    trimmed_mean,
)

SHOPS = "online shops, lowest new price of the month"
CARDS = {name: Card(name, "geforce", date(2025, 1, 1), 16.0) for name in ("a", "b", "c", "d")}
MONTH_ENDS = (date(2026, 6, 30), date(2026, 7, 31), date(2026, 8, 31))


def price(gpu_id: str, amount: float, day: date, **more: object) -> Price:
    usual: dict[str, object] = {"condition": "new", "channel": SHOPS, "channel_kind": "retail"}
    return Price(gpu_id=gpu_id, amount=amount, day=day.toordinal(), **(usual | more))  # type: ignore[arg-type]


def ledger() -> list[Price]:
    """Three cards that rise by 10 % and then by 20 %."""
    rows = []
    for start, name in ((1000.0, "a"), (2000.0, "b"), (3000.0, "c")):
        for factor, day in zip((1.0, 1.1, 1.32), MONTH_ENDS, strict=True):
            rows.append(price(name, start * factor, day))
    return rows


def rate(currency: str, _: int) -> float | None:
    return {"CNY": 1.0, "USD": 7.0}.get(currency)


def test_the_index_chains_monthly_changes_and_is_linear_between_month_ends() -> None:
    index = index_of(ledger(), CARDS, date(2026, 11, 30))
    first, middle, last = (day.toordinal() for day in MONTH_ENDS)
    assert index.move("geforce", first, last) == pytest.approx(math.log(1.32))
    half = (middle + last) / 2
    assert index.move("geforce", middle, half) == pytest.approx(math.log(1.2) / 2)


def test_after_the_last_month_the_last_change_fades() -> None:
    index = index_of(ledger(), CARDS, date(2026, 11, 30))
    last = MONTH_ENDS[-1].toordinal()
    assert index.move("geforce", last, last + 30.44) == pytest.approx(0.3 * math.log(1.2), rel=1e-6)
    assert index.move("geforce", last, last + 4000) == pytest.approx(0.3 / 0.7 * math.log(1.2), rel=1e-3)


def test_a_copied_month_is_no_reading_of_the_market() -> None:
    copied = [p for p in ledger() if p.day != MONTH_ENDS[1].toordinal()]
    copied += [
        price(p.gpu_id, p.amount, MONTH_ENDS[1]) for p in ledger() if p.day == MONTH_ENDS[0].toordinal()
    ]
    index = index_of(copied, CARDS, date(2026, 11, 30))
    first, middle, last = (day.toordinal() for day in MONTH_ENDS)
    assert index.move("geforce", first, middle) == pytest.approx(math.log(1.32) / 2)
    assert index.move("geforce", first, last) == pytest.approx(math.log(1.32))


def test_nothing_after_the_day_is_seen_and_a_card_can_be_left_out() -> None:
    assert index_of(ledger(), CARDS, MONTH_ENDS[1]).months[-1] == MONTH_ENDS[1].toordinal()
    alone = index_of([p for p in ledger() if p.gpu_id == "a"], CARDS, date(2026, 11, 30), without="a")
    assert alone.months == ()


def test_a_trimmed_mean_forgets_a_fifth_at_each_end() -> None:
    assert trimmed_mean([100.0, 1.0, 2.0, 3.0, -100.0]) == 2.0
    assert trimmed_mean([]) == 0.0


def test_an_old_price_is_carried_and_its_band_grows_with_age() -> None:
    index = index_of(ledger(), CARDS, MONTH_ENDS[2])
    found = carry(CARDS["d"], price("d", 5000.0, MONTH_ENDS[0]), index, MONTH_ENDS[2], Constants())
    assert found.expected_cny == pytest.approx(6600.0)
    months = (MONTH_ENDS[2] - MONTH_ENDS[0]).days / 30.44
    small = Constants().own_small
    assert found.half_width == pytest.approx(math.sqrt(small.s**2 + small.v**2 * months))
    assert found.high_cny / found.expected_cny == pytest.approx(found.expected_cny / found.low_cny)


def test_a_fresh_shop_price_is_current_and_read_as_it_is() -> None:
    as_of = date(2026, 9, 15)
    found = value(CARDS["a"], ledger()[:3], Terms(as_of), index_of(ledger(), CARDS, as_of), rate, Constants())
    assert (found.evidence, found.expected_cny) == ("current", pytest.approx(1320.0))
    assert found.low_cny < 1320 < found.high_cny


def test_a_current_price_is_carried_from_day_45_on() -> None:
    rows = [p for p in ledger() if p.gpu_id == "a" and p.day == MONTH_ENDS[0].toordinal()]
    as_of = MONTH_ENDS[2]
    found = value(
        CARDS["a"], rows, Terms(as_of), index_of(ledger(), CARDS, as_of, without="a"), rate, Constants()
    )
    assert (found.evidence, found.expected_cny) == ("current", pytest.approx(1320.0))


@pytest.mark.parametrize(
    "change",
    [
        {"doubtful": True},
        {"channel_kind": "article"},
        {"region": "US", "currency": "USD", "channel": "PCPartPicker, lowest listed"},
        {"channel_kind": "launch"},
    ],
    ids=["low quality", "article", "abroad", "launch"],
)
def test_what_cannot_be_bought_at_is_an_estimate(change: dict[str, object]) -> None:
    as_of = MONTH_ENDS[2]
    rows = [price("d", 500.0, MONTH_ENDS[1], **change)]
    found = value(CARDS["d"], rows, Terms(as_of), index_of(ledger(), CARDS, as_of), rate, Constants())
    assert found.evidence == "estimate"
    assert not found.recommendable


def test_a_stale_price_is_an_estimate_and_after_two_years_nothing() -> None:
    index = index_of(ledger(), CARDS, MONTH_ENDS[2])
    stale = value(
        CARDS["d"], [price("d", 500.0, date(2025, 12, 31))], Terms(MONTH_ENDS[2]), index, rate, Constants()
    )
    assert stale.evidence == "estimate"
    gone = value(
        CARDS["d"], [price("d", 500.0, date(2024, 6, 30))], Terms(MONTH_ENDS[2]), index, rate, Constants()
    )
    assert (gone.evidence, gone.refused) == ("none", "too_old")


def test_loose_modules_have_no_price_and_old_consumer_cards_no_launch_price() -> None:
    index = index_of(ledger(), CARDS, MONTH_ENDS[2])
    module = Card("m", "data_centre", date(2025, 1, 1), 80.0, module=True)
    found = value(
        module, [price("m", 90_000.0, MONTH_ENDS[2])], Terms(MONTH_ENDS[2]), index, rate, Constants()
    )
    assert (found.evidence, found.refused) == ("none", "module")
    old = Card("o", "geforce", date(2019, 3, 14), 6.0)
    launch = [price("o", 219.0, date(2019, 3, 14), currency="USD", region="US", channel_kind="launch")]
    assert value(old, launch, Terms(MONTH_ENDS[2]), index, rate, Constants()).evidence == "none"


def test_a_price_far_under_its_own_history_waits_for_confirmation() -> None:
    rows = [p for p in ledger() if p.gpu_id == "a"]
    index = index_of(ledger(), CARDS, date(2026, 9, 10))
    cheap = price("a", 500.0, date(2026, 9, 1))
    found = value(CARDS["a"], [*rows, cheap], Terms(date(2026, 9, 10)), index, rate, Constants())
    assert found.expected_cny == pytest.approx(1320.0)


def test_a_used_card_never_costs_more_than_the_new_one_that_is_sold() -> None:
    new, used = (
        firm(10_000.0, "quote"),
        value(
            CARDS["a"],
            [price("a", 9_900.0, MONTH_ENDS[2], condition="used", channel_kind="asking", channel="x")],
            Terms(MONTH_ENDS[2]),
            index_of(ledger(), CARDS, MONTH_ENDS[2]),
            rate,
            Constants(),
        ),
    )
    assert below_new(used, new).expected_cny == pytest.approx(9_200.0)


def test_low_and_high_of_one_source_are_one_observation() -> None:
    day = MONTH_ENDS[2]
    rows = [
        price("a", 100.0, day, channel="Taobao, low end"),
        price("a", 300.0, day, channel="Taobao, high end"),
    ]
    assert [p.amount for p in one_of_each_range(rows)] == [200.0]


def test_the_halves_are_balanced_within_each_class() -> None:
    cards = [Card(f"g{i}", "geforce") for i in range(10)] + [Card(f"b{i}", "big_geforce") for i in range(5)]
    halves = half_of(cards)
    assert sum(halves[f"g{i}"] == "fit" for i in range(10)) == 5
    assert sum(halves[f"b{i}"] == "report" for i in range(5)) == 2


def test_the_back_test_leaves_the_card_out_and_finds_a_common_rise() -> None:
    found = pairs(ledger(), CARDS)
    assert {p.gpu_id for p in found} == {"a", "b", "c"}
    # Two cards are left when one is out: too few for their class, so the pool of the same two speaks.
    assert max(abs(p.error) for p in found) < 1e-9
    assert max(abs(p.as_it_is) for p in found) == pytest.approx(math.log(1.32))
    rows = errors({"small": (HALVES, found)})
    assert {(r.group, r.first_day) for r in rows} == {("small", 1), ("small", 46)}
    assert all(r.inside == 1.0 for r in rows)


def test_a_band_is_fitted_to_the_errors_it_has_to_hold() -> None:
    wide = [Pair("a", "small", 30, 0.3 * (-1) ** i, 0.0, 0.1, "x", "y") for i in range(20)]
    narrow = [Pair("a", "small", 30, 0.05 * (-1) ** i, 0.0, 0.1, "x", "y") for i in range(20)]
    assert fit_band(wide).half_width(1.0) > 4 * fit_band(narrow).half_width(1.0)


def test_a_card_belongs_to_one_class() -> None:
    assert klass_of("NVIDIA", "consumer", 16.0) == "geforce"
    assert klass_of("NVIDIA", "consumer", 24.0) == "big_geforce"
    assert klass_of("AMD", "consumer", 24.0) == "radeon_arc"
    assert klass_of("Huawei", "data-centre", 64.0) == "chinese"
    assert klass_of("NVIDIA", "workstation", 48.0) == "professional"


def test_a_card_of_thousands_of_prices_is_weighed_in_time_that_grows_with_them() -> None:
    """The newest day decides: each price set against each other would be sixteen million pairs here."""
    day = date(2026, 9, 1)
    rows = [price("a", 1000.0 + i % 7, day, id=str(i)) for i in range(4000)]
    start = time.perf_counter()
    found = value(CARDS["a"], rows, Terms(date(2026, 9, 10)), Index((), {}), rate, Constants())
    assert time.perf_counter() - start < 1.0
    assert (found.evidence, found.expected_cny) == ("current", 1003.0)
