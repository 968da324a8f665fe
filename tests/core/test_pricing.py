"""Prices of the grid: card by card, or as one server of eight."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.core.decide.host import HostGrid, host_grid
from app.core.decide.pricing import LEVELS, PriceGrid, price_grid
from app.core.gpu import PriceChoice, Source
from app.core.model.architecture import architecture_from_fields
from app.core.question import Economics, ShortlistQuestion
from app.core.workload import Workload
from tests.core.cards import BY_ID, HOSTS

CARD = BY_ID["rtx4090"]
MODEL = architecture_from_fields({"family": "decoder", "parameters": 7e9})
QUESTION = ShortlistQuestion(Workload(MODEL), economics=Economics(host_cny_per_gpu=1000.0))
COUNTS = (1, 2, 4, 8)


def choice(amount_cny: float, **changes: Any) -> PriceChoice:
    values: dict[str, Any] = {
        "gpu_id": CARD.id,
        "condition": "new",
        "currency": "CNY",
        "per": "card",
        "tax": "unknown",
        "region": "CN",
        "channel": "JD",
        "channel_kind": "retail",
        "observed_on": "2026-11-20",
        "age_days": 10,
        "ageing": False,
        "stale": False,
        "converted": False,
        "n": 1,
        "evidence": "firm" if changes.get("kind") == "quote" else "current",
        "low_cny": amount_cny,
        "expected_cny": amount_cny,
        "high_cny": amount_cny,
        "source": Source("shop", "", "A shop"),
    }
    return PriceChoice(amount=amount_cny, amount_cny=amount_cny, **(values | changes))


def hosts(counts: tuple[int, ...]) -> HostGrid:
    return host_grid(HOSTS, QUESTION.economics, counts, 8)


def grid(card: PriceChoice, server: PriceChoice) -> PriceGrid:
    key = (CARD.id, "new")
    return price_grid(
        QUESTION, [CARD], COUNTS, {key: card}, {key: replace(server, per="server-8")}, hosts(COUNTS)
    )


def test_a_server_serves_eight_cards_with_its_host_and_no_other_count() -> None:
    found = grid(choice(10_000), choice(70_000))
    assert found.purchase_cny[0, :, 0].tolist() == [10_000, 20_000, 40_000, 70_000]
    assert found.host_cny[0, :, 0].tolist() == [1000, 2000, 4000, 0]
    assert found.by_server[0, :, 0].tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    ("card", "server", "by_server"),
    [
        ({"age_days": 10}, {"age_days": 5}, True),
        ({"age_days": 5}, {"age_days": 10}, False),
        # A valid quote is no older than the market, whenever it was made.
        ({"age_days": 0}, {"age_days": 20, "kind": "quote"}, True),
        ({"age_days": 20, "kind": "quote"}, {"age_days": 0}, False),
        # Of two quotes that of the newest day, and of one day the cheaper.
        ({"age_days": 0, "kind": "quote"}, {"age_days": 20, "kind": "quote"}, False),
        ({"age_days": 20, "kind": "quote"}, {"age_days": 0, "kind": "quote"}, True),
        ({"age_days": 3, "kind": "quote"}, {"age_days": 3, "kind": "quote"}, True),
    ],
)
def test_the_newer_price_counts_and_a_quote_before_the_market(
    card: dict[str, Any], server: dict[str, Any], by_server: bool
) -> None:
    assert bool(grid(choice(10_000, **card), choice(70_000, **server)).by_server[0, 3, 0]) is by_server


def test_a_valid_server_quote_counts_although_the_market_is_cheaper() -> None:
    # Three quotes of 1.18 to 1.30 million for eight H20 141 GB, where old list prices come to 0.6 million.
    market, quote = choice(74_133, age_days=500, stale=True), choice(1_180_000, age_days=3, kind="quote")
    found = grid(market, quote)
    assert found.purchase_cny[0, :, 0].tolist() == [74_133, 148_266, 296_532, 1_180_000]
    assert (found.host_cny[0, 3, 0], found.by_server[0, 3, 0], found.stale[0, 3, 0]) == (0, True, False)
    assert found.choice(0, 3, 0).kind == "quote"
    # A market price of a server that is as well known counts before older prices of its cards.
    assert grid(market, replace(quote, kind="observation", evidence="current")).by_server[0, 3, 0]


@pytest.mark.parametrize(
    ("card", "server", "by_server"),
    [
        ({"evidence": "estimate", "age_days": 1}, {"evidence": "current", "age_days": 90}, True),
        ({"evidence": "current", "age_days": 90}, {"evidence": "estimate", "age_days": 1}, False),
        ({"evidence": "none", "expected_cny": None}, {"evidence": "estimate", "age_days": 90}, True),
        ({"evidence": "firm", "kind": "quote", "age_days": 30}, {"evidence": "current"}, False),
    ],
)
def test_the_better_evidence_decides_between_cards_and_servers(
    card: dict[str, Any], server: dict[str, Any], by_server: bool
) -> None:
    found = grid(choice(10_000, **card), choice(90_000, **server))
    assert bool(found.by_server[0, 3, 0]) is by_server
    assert found.evidence[0, 3, 0] == LEVELS.index((server if by_server else card)["evidence"])


def test_a_server_of_consumer_cards_below_its_cards_of_today_is_an_estimate() -> None:
    old = choice(70_000, age_days=140)
    found = grid(choice(10_000, evidence="none", expected_cny=None), old)
    assert found.choice(0, 3, 0).evidence == "current"
    found = grid(choice(10_000, evidence="estimate", age_days=20), old)
    assert not found.by_server[0, 3, 0] and found.evidence[0, 3, 0] == LEVELS.index("estimate")


def test_sixteen_cards_are_two_whole_servers() -> None:
    key = (CARD.id, "new")
    server = choice(70_000, age_days=1, per="server-8")
    found = price_grid(QUESTION, [CARD], (8, 12, 16), {}, {key: server}, hosts((8, 12, 16)))
    assert found.purchase_cny[0, 0, 0] == 70_000 and found.purchase_cny[0, 2, 0] == 140_000
    assert not found.by_server[0, 1, 0]


def test_purchase_follows_what_the_card_costs_today() -> None:
    found = grid(choice(8_000, expected_cny=10_000.0), choice(1.0, evidence="none", expected_cny=None))
    assert found.purchase_cny[0, :, 0].tolist() == [10_000, 20_000, 40_000, 80_000]
