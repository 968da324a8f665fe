"""The price rule: each sentence of it is a test."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from app.catalog.names import NameIndex
from app.catalog.prices import CardPrices
from app.catalog.rates import ExchangeRate, Rates
from app.catalog.records import PriceObservation, Quote
from app.catalog.snapshot import Snapshot
from app.core.gpu import PriceChoice
from app.core.question import PriceRules
from tests.catalog.samples import dollar_rates, price, quote

DAY = date(2026, 11, 30)
GPU = "rtx4090"
RATES = dollar_rates(("2026-10-31", 7.0), ("2026-05-31", 7.2), ("2024-01-31", 7.1))


def choose(
    *observations: PriceObservation,
    quotes: tuple[Quote, ...] = (),
    as_of: date = DAY,
    condition: str = "new",
    override: float | None = None,
    rates: Rates = RATES,
    **rules: Any,
) -> PriceChoice | None:
    """The price that counts by the way of every answer: the snapshot's."""
    card = CardPrices(GPU, observations, quotes)
    snapshot = Snapshot(
        version="",
        digest="",
        gpus=(),
        sources={},
        models={},
        benchmarks=(),
        rates=rates,
        rentals=(),
        framework_support=(),
        engine_support=(),
        host_classes=(),
        memory_cases=(),
        entries={},
        facts={},
        cards={GPU: card},
        available={},
        gpu_names=NameIndex("unknown_gpu"),
        model_names=NameIndex("unknown_model"),
    )
    own = None if override is None else {GPU: override}
    return snapshot.price_choices(as_of, PriceRules(**rules), (condition,), own).get((GPU, condition))


def chosen(*observations: PriceObservation, **options: Any) -> PriceChoice:
    found = choose(*observations, **options)
    assert found is not None
    return found


def test_an_override_beats_everything() -> None:
    found = chosen(
        price(9000, "2026-11-29"), quotes=(quote(8000, "2026-11-01", "2026-12-31"),), override=7000
    )
    assert (found.kind, found.amount_cny, found.age_days, found.stale) == ("override", 7000, 0, False)


def test_a_valid_quote_beats_a_newer_market_price() -> None:
    found = chosen(price(9000, "2026-11-29"), quotes=(quote(9900, "2026-11-01", "2026-12-31"),))
    assert (found.kind, found.amount, found.channel) == ("quote", 9900, "Supplier")


@pytest.mark.parametrize(
    ("quoted_on", "valid_until", "counts"),
    [
        ("2026-11-30", "2026-12-31", True),
        ("2026-11-01", "2026-11-30", True),
        ("2026-12-01", "2026-12-31", False),
        ("2026-10-01", "2026-11-29", False),
    ],
)
def test_a_quote_counts_from_its_day_to_its_last_day(quoted_on: str, valid_until: str, counts: bool) -> None:
    found = chosen(price(9000, "2026-11-29"), quotes=(quote(9900, quoted_on, valid_until),))
    assert (found.kind == "quote") is counts


@pytest.mark.parametrize(
    "changes", [{"withdrawn": True}, {"condition": "used"}, {"per": "server-8"}, {"held": "too cheap"}]
)
def test_a_quote_for_something_else_does_not_count(changes: dict[str, Any]) -> None:
    offered = quote(9900, "2026-11-01", "2026-12-31", **changes)
    assert chosen(price(9000, "2026-11-29"), quotes=(offered,), tax="included").kind == "observation"


def test_a_quote_for_a_server_of_eight_never_becomes_a_card_price() -> None:
    card = CardPrices("rtx4090", (), [quote(800_000, "2026-11-01", "2026-12-31", per="server-8")])
    assert card.choose(DAY, PriceRules(), "new", RATES) is None
    whole = card.choose_server(DAY, PriceRules(), "new", RATES)
    assert whole is not None and (whole.amount_cny, whole.per) == (800_000, "server-8")


def test_quotes_are_compared_with_tax_whatever_their_own_basis() -> None:
    net = quote(10_000, "2026-11-01", "2026-12-31", tax="excluded", tax_rate=0.13, invoice="special")
    gross = quote(11_000, "2026-11-01", "2026-12-31", tax="included", tax_rate=0.13, invoice="special")
    found = chosen(quotes=(net, gross))
    # 10,000 without tax are 11,300 with it: the quote that looks dearer is the cheaper one.
    assert (found.amount_cny, found.tax, found.stated_amount) == (11_000, "included", None)
    # A quote is firm: no band around it.
    assert (found.low_cny, found.expected_cny, found.high_cny, found.n) == (11_000, 11_000, 11_000, 2)


@pytest.mark.parametrize(
    ("stated", "asked", "amount"),
    [
        ({"tax": "excluded", "tax_rate": 0.13}, "included", 11_300.0),
        ({"tax": "included", "tax_rate": 0.13}, "excluded", 10_000 / 1.13),
        ({"tax": "included", "tax_rate": 0.03}, "excluded", 10_000 / 1.03),
        ({"tax": "excluded", "tax_rate": 0.0}, "included", 10_000.0),
        ({"tax": "excluded", "tax_rate": 0.13}, "excluded", 10_000.0),
        ({"tax": "excluded", "invoice": "none"}, "included", 10_000.0),
        ({"tax": "included", "invoice": "none"}, "excluded", 10_000.0),
        ({"tax": "excluded", "tax_rate": 0.13}, "", 11_300.0),
        ({"tax": "unknown", "tax_rate": 0.13}, "excluded", 10_000.0),
    ],
)
def test_a_quote_is_put_on_the_asked_tax_basis(stated: dict[str, Any], asked: str, amount: float) -> None:
    found = chosen(quotes=(quote(10_000, "2026-11-01", "2026-12-31", **stated),), tax=asked)
    assert found.kind == "quote"
    assert found.amount == found.amount_cny == pytest.approx(amount)
    moved = amount != 10_000
    assert found.stated_amount == (10_000 if moved else None)
    assert found.stated_tax == (stated["tax"] if moved else "")
    assert found.tax == ((asked or "included") if moved else stated["tax"])


def test_a_tax_rate_that_a_quote_leaves_out_is_assumed_and_marked() -> None:
    found = chosen(quotes=(quote(10_000, "2026-11-01", "2026-12-31", tax="excluded"),))
    assert (found.amount, found.tax_rate, found.tax_rate_assumed) == (pytest.approx(11_300), 0.13, True)
    sure = chosen(quotes=(quote(10_000, "2026-11-01", "2026-12-31", tax="excluded", tax_rate=0.13),))
    assert not sure.tax_rate_assumed


def test_a_quote_in_dollars_is_converted_after_its_tax() -> None:
    offered = quote(1000, "2026-11-01", "2026-12-31", currency="USD", tax="excluded", tax_rate=0.1)
    found = chosen(quotes=(offered,))
    assert (found.amount, found.amount_cny) == (pytest.approx(1100), pytest.approx(7700))
    assert (found.currency, found.converted, found.rate) == ("USD", True, 7.0)


def test_an_expired_quote_never_counts_however_cheap() -> None:
    expired = quote(1, "2026-10-01", "2026-11-29")
    assert choose(quotes=(expired,)) is None
    assert choose(quotes=(expired,), condition="new", as_of=date(2026, 11, 29)) is not None
    assert choose(quotes=(quote(1, "2026-11-01", ""),)) is None


def test_the_lowest_of_several_valid_quotes_counts_and_their_number_is_said() -> None:
    offers = tuple(quote(amount, "2026-11-01", "2026-12-31") for amount in (9900, 9500, 9700))
    found = chosen(quotes=offers)
    assert (found.amount, found.n, found.expected_cny, found.evidence) == (9500, 3, 9500, "firm")


def test_a_quote_that_was_replaced_does_not_count() -> None:
    first = quote(9000, "2026-11-01", "2026-12-31")
    second = quote(9500, "2026-11-10", "2026-12-31", supersedes=first.id)
    assert chosen(quotes=(first, second)).amount == 9500


def test_the_newest_day_counts() -> None:
    assert chosen(price(9000, "2026-11-01"), price(9500, "2026-11-20")).amount == 9500


@pytest.mark.parametrize("better", ["retail", "diy", "asking", "tender", "listings_mean", "listings_lowest"])
def test_within_the_day_the_better_channel_counts(better: str) -> None:
    order = ["retail", "diy", "asking", "tender", "listings_mean", "listings_lowest", "article"]
    worse = order[order.index(better) + 1]
    rows = (
        price(9000, "2026-11-20", channel="a", channel_kind=worse),
        price(9500, "2026-11-20", channel="b", channel_kind=better),
    )
    assert chosen(*rows).amount == chosen(*reversed(rows)).amount == 9500


def test_a_newer_day_beats_a_better_channel_among_those_where_one_can_buy() -> None:
    rows = (price(9000, "2026-11-20"), price(8500, "2026-11-21", channel="Taobao", channel_kind="asking"))
    assert chosen(*rows).channel_kind == "asking"
    paper = price(8400, "2026-11-22", channel="Paper", channel_kind="article")
    assert chosen(*rows, paper).channel_kind == "asking"


def test_several_of_one_channel_give_their_median_with_number_and_band() -> None:
    rows = [price(a, "2026-11-20", channel="Taobao", channel_kind="asking") for a in (8000, 8400, 9800)]
    found = chosen(*rows)
    assert (found.amount, found.n, found.evidence) == (8400, 3, "current")
    assert found.low_cny and found.high_cny and found.low_cny < 8400 < found.high_cny
    assert len(found.observation_ids) == 3


def test_channels_of_one_kind_are_never_averaged() -> None:
    rows = (price(8000, "2026-11-20", channel="JD"), price(9000, "2026-11-20", channel="Tmall"))
    assert chosen(*rows).amount in (8000, 9000)
    assert chosen(*rows, price(9100, "2026-11-20", channel="Tmall")).amount == 9050


def test_a_count_given_by_the_source_is_kept() -> None:
    assert chosen(price(9000, "2026-11-20", n=66)).n == 66


@pytest.mark.parametrize(
    ("observed_on", "age", "ageing", "stale"),
    [
        ("2026-09-01", 90, False, False),
        ("2026-08-31", 91, True, False),
        ("2026-06-03", 180, True, False),
        ("2026-06-02", 181, False, True),
    ],
)
def test_prices_age_from_91_days_and_are_stale_after_180(
    observed_on: str, age: int, ageing: bool, stale: bool
) -> None:
    found = chosen(price(9000, observed_on))
    assert (found.age_days, found.ageing, found.stale) == (age, ageing, stale)


def test_the_age_limit_is_settable() -> None:
    assert chosen(price(9000, "2026-11-01"), max_age_days=20).stale
    assert not chosen(price(9000, "2025-11-01"), max_age_days=500).stale


def test_an_older_price_in_yuan_beats_a_fresh_one_in_dollars() -> None:
    found = chosen(
        price(9000, "2025-11-01"), price(1200, "2026-11-20", currency="USD", region="US", channel="Shop")
    )
    assert (found.currency, found.stale, found.converted) == ("CNY", True, False)


def test_another_currency_is_converted_at_the_last_rate_before_its_day() -> None:
    found = chosen(price(1000, "2026-11-20", currency="USD", region="US"))
    assert found.converted
    assert (found.amount, found.amount_cny, found.rate, found.rate_on) == (1000, 7000, 7.0, "2026-10-31")
    assert not found.rate_old


def test_a_rate_older_than_45_days_is_marked() -> None:
    dollars = price(1000, "2026-07-01", currency="USD", region="US")
    at_limit = chosen(dollars, as_of=date(2026, 7, 15))
    beyond = chosen(dollars, as_of=date(2026, 7, 16))
    assert (at_limit.rate_on, at_limit.rate_old) == ("2026-05-31", False)
    assert (beyond.rate_on, beyond.rate_old) == ("2026-05-31", True)


def test_the_question_s_date_picks_the_rate() -> None:
    dollars = price(1000, "2026-03-01", currency="USD", region="US")
    assert chosen(dollars, as_of=date(2026, 6, 1)).amount_cny == 7200
    assert chosen(dollars).amount_cny == 7000


def test_without_a_rate_a_foreign_price_is_not_used_but_listed() -> None:
    euros = price(1000, "2026-11-20", currency="EUR", region="EU")
    early = price(999, "2023-12-01", currency="USD", region="US")
    assert choose(euros) is None
    assert choose(early, as_of=date(2023, 12, 31)) is None
    listed = CardPrices("rtx4090", [euros]).unused(DAY, RATES)
    assert [reason for _, reason in listed] == ["no_rate"]


def test_the_launch_price_is_the_last_resort_and_only_for_new_cards() -> None:
    launch = price(12999, "2022-10-12", channel_kind="launch", channel="launch list price")
    assert chosen(launch).kind == "launch"
    assert chosen(launch, price(15000, "2026-11-15")).kind == "observation"
    # The narrower band counts, and of more than two years ago no price of its own.
    assert chosen(launch, price(15000, "2023-01-15")).kind == "launch"
    assert (
        choose(price(12999, "2022-10-12", channel_kind="launch", condition="used"), condition="used") is None
    )


def test_a_launch_price_in_yuan_comes_before_one_in_dollars() -> None:
    rates = dollar_rates(("2022-09-30", 7.0))
    dollars = price(1599, "2022-10-12", channel_kind="launch", currency="USD", region="US")
    yuan = price(12999, "2022-10-12", channel_kind="launch")
    assert chosen(dollars, yuan, rates=rates).currency == "CNY"
    assert chosen(dollars, rates=rates).amount_cny == pytest.approx(1599 * 7.0)


def test_a_month_dates_from_its_last_day() -> None:
    assert chosen(price(9000, "2026-10")).age_days == 30
    assert choose(price(9000, "2026-11"), as_of=date(2026, 11, 29)) is None


def test_a_bare_year_is_never_fresh() -> None:
    found = chosen(price(9000, "2025"), as_of=date(2026, 1, 5))
    # Known within the year only: it counts from the year's first day.
    assert (found.age_days, found.stale, found.ageing) == (369, True, False)
    assert chosen(price(9000, "2026"), as_of=date(2026, 11, 30)).stale
    assert chosen(price(9000, "2025"), price(8000, "2025-11-01"), as_of=date(2026, 1, 5)).amount == 8000


def test_an_undated_price_never_ranks() -> None:
    assert choose(price(9000, "")) is None
    assert CardPrices("rtx4090", [price(9000, "")]).unused(DAY, RATES)[0][1] == "undated"


def test_nothing_after_the_day_is_seen() -> None:
    rows = (price(9000, "2026-11-01"), price(9900, "2026-12-01"))
    assert chosen(*rows).amount == 9000
    assert choose(price(9900, "2026-12-01")) is None


def test_a_held_price_never_counts() -> None:
    held = price(9000, "2026-11-20", held="looks like a deposit")
    assert choose(held) is None
    assert CardPrices("rtx4090", [held]).unused(DAY, RATES)[0][1] == "held"


def test_a_correction_replaces_what_it_names() -> None:
    wrong = price(9000, "2026-11-20")
    right = price(8800, "2026-11-10", supersedes=wrong.id)
    assert chosen(wrong, right).amount == 8800
    later = price(8700, "2026-12-10", supersedes=wrong.id)
    assert chosen(wrong, later).amount == 9000


def test_conditions_do_not_mix() -> None:
    rows = (price(9000, "2026-11-01"), price(5000, "2026-11-20", condition="used"))
    assert chosen(*rows).amount == 9000
    assert chosen(*rows, condition="used").amount == 5000
    assert choose(*rows, condition="modded") is None


def test_unknown_tax_matches_any_basis_and_the_other_basis_does_not() -> None:
    included = price(9000, "2026-11-01", tax="included")
    excluded = price(8000, "2026-11-20", tax="excluded")
    unknown = price(8500, "2026-11-10")
    assert chosen(included, excluded, unknown).amount == 8000
    assert chosen(included, excluded, tax="included").amount == 9000
    assert chosen(included, excluded, unknown, tax="included").tax == "unknown"


def test_tax_bases_of_one_channel_and_day_are_not_averaged() -> None:
    rows = (price(9000, "2026-11-20", tax="included"), price(8000, "2026-11-20", tax="excluded"))
    assert chosen(*rows).amount == 9000
    assert chosen(*rows, tax="excluded").amount == 8000


def test_the_asked_region_comes_first_even_when_older() -> None:
    home = price(9000, "2026-10-01")
    elsewhere = price(9500, "2026-11-20", region="global")
    assert chosen(home, elsewhere).region == "CN"
    assert chosen(elsewhere).region == "global"


def test_a_fresh_price_of_another_region_beats_a_stale_one_of_the_asked_region() -> None:
    assert chosen(price(9000, "2025-10-01"), price(9500, "2026-11-20", region="global")).amount == 9500


def test_the_currency_of_the_asked_region_is_its_own() -> None:
    home = price(9000, "2026-11-20")
    dollars = price(1200, "2026-11-10", currency="USD", region="US")
    found = chosen(home, dollars, region="US")
    assert (found.currency, found.amount_cny, found.converted) == ("USD", 8400, True)


def test_an_unknown_variant_is_marked() -> None:
    assert chosen(price(9000, "2026-11-20", variant_assumed=True)).variant_assumed


def test_a_price_that_names_its_variant_comes_before_one_that_serves_each() -> None:
    rows = (price(9000, "2026-11-20", variant_assumed=True), price(9500, "2026-11-20"))
    found = chosen(*rows)
    assert (found.amount, found.n, found.variant_assumed) == (9500, 1, False)
    # Not even a newer day makes the price of some variant that of this one.
    newer = chosen(*rows, price(8800, "2026-11-21", variant_assumed=True))
    assert (newer.amount, newer.variant_assumed) == (9500, False)
    alone = chosen(price(8800, "2026-11-21", variant_assumed=True))
    assert (alone.evidence, alone.variant_assumed) == ("estimate", True)


def history(*amounts: float) -> list[PriceObservation]:
    return [price(a, f"2026-{month:02d}-01", id=f"h{month}") for month, a in enumerate(amounts, start=3)]


def test_a_price_beyond_three_times_the_history_is_held() -> None:
    usual = history(10000, 10500, 9500)
    assert chosen(*usual, price(31000, "2026-11-20")).amount == 9500
    assert chosen(*usual, price(3300, "2026-11-20")).amount == 9500
    assert chosen(*usual, price(29000, "2026-11-20")).amount == 29000
    card = CardPrices("rtx4090", [*usual, price(31000, "2026-11-20")])
    assert [reason for _, reason in card.unused(DAY, RATES)] == ["far_from_history"]


def test_two_observations_are_no_history() -> None:
    assert chosen(*history(10000, 10500), price(40000, "2026-11-20")).amount == 40000


def test_a_likely_8_card_price_is_held_even_with_a_short_history() -> None:
    card = CardPrices("rtx4090", [*history(10000), price(80000, "2026-11-20")])
    found = card.choose(DAY, PriceRules(), "new", RATES)
    assert found is not None and found.amount == 10000
    assert [reason for _, reason in card.unused(DAY, RATES)] == ["likely_server_price"]


def test_a_card_that_truly_became_cheap_is_not_held() -> None:
    old = [price(30000, f"2022-0{m}-01", id=f"o{m}") for m in range(1, 8)]
    now = [price(3000, f"2026-0{m}-01", id=f"n{m}") for m in range(5, 9)]
    assert chosen(*old, *now, price(2900, "2026-11-20")).amount == 2900


def test_a_later_price_is_no_part_of_the_history() -> None:
    late = [price(40000, f"2027-0{m}-01", id=f"l{m}") for m in range(1, 6)]
    assert chosen(*history(10000, 10500, 9500), price(39000, "2026-11-20"), *late).amount == 9500


def test_a_server_price_is_separate_and_never_divided() -> None:
    server = price(800000, "2026-11-20", per="server-8")
    card = CardPrices("rtx4090", [server, price(90000, "2026-11-01")])
    one = card.choose(DAY, PriceRules(), "new", RATES)
    whole = card.choose_server(DAY, PriceRules(), "new", RATES)
    assert one is not None and (one.amount, one.per) == (90000, "card")
    assert whole is not None and (whole.amount, whole.per) == (800000, "server-8")
    assert CardPrices("rtx4090", [server]).choose(DAY, PriceRules(), "new", RATES) is None


def test_the_order_of_the_rows_does_not_matter() -> None:
    rows = [
        price(a, d, channel=c, id=f"{a}{d}{c}")
        for a, d, c in (
            (9000, "2026-11-20", "JD"),
            (9100, "2026-11-20", "Tmall"),
            (9200, "2026-11-20", "JD"),
            (9300, "2026-10-20", "JD"),
        )
    ]
    assert chosen(*rows) == chosen(*reversed(rows))


def test_rates_are_found_inverted_and_through_the_dollar() -> None:
    rates = Rates(
        [
            ExchangeRate("USD", "CNY", 7.0, "2026-10-31"),
            ExchangeRate("USD", "TWD", 32.0, "2026-09-30"),
            ExchangeRate("CNY", "EUR", 0.125, "2026-10"),
        ]
    )
    taiwan, europe = rates.to_cny("TWD", DAY), rates.to_cny("EUR", DAY)
    assert taiwan is not None and taiwan.rate == pytest.approx(7.0 / 32.0)
    assert taiwan.observed_on == date(2026, 9, 30) and taiwan.old
    assert europe is not None and europe.rate == pytest.approx(8.0) and not europe.old
    assert rates.to_cny("JPY", DAY) is None
    assert rates.to_cny("USD", date(2026, 10, 30)) is None
