"""What is recommended, compared and asked for, on small inputs; the order of equal options."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from app.core.decide.candidates import PASSES, Candidates, order
from app.core.decide.grid import Best
from app.core.decide.recommendation import contenders, recommend, wins_below
from app.core.decide.robustness import Field
from app.core.estimates import Message
from app.core.question import Economics

DRAWS = 500


def test_an_option_of_two_names_stands_once() -> None:
    total, speed = np.array([10.0, 20.0, 30.0]), np.array([10.0, 30.0, 31.0])
    new, rented = np.array([False, True, True]), np.zeros(3, dtype=bool)
    found = {place: names for names, place in contenders(total, total / 2, speed, new, rented)}
    assert found == {0: ("cheapest", "least_outlay"), 1: ("cheapest_new", "fastest_for_money")}


def test_what_is_rented_is_named_apart() -> None:
    total, speed = np.array([5.0, 10.0]), np.array([10.0, 10.0])
    rented = np.array([True, False])
    names = [n for n, _ in contenders(total, total, speed, np.ones(2, dtype=bool), rented)]
    assert ("rent", "fastest_for_money") in names
    assert ("cheapest", "cheapest_new", "least_outlay") in names


def test_nothing_to_buy_and_nothing_to_ask_for_is_said() -> None:
    found = recommend(None, [Message("held_tight", {"option": "x"})], [])
    assert (found.kind, found.rank) == ("none", None)
    assert [message.code for message in found.because] == ["held_tight"]


def some_field(rng: np.random.Generator, objective: str, options: int) -> Field:
    return Field(
        objective=objective,
        price_cny=rng.uniform(1e3, 1e5, options),
        host_cny=rng.uniform(0, 2e4, options),
        power_w=rng.uniform(70, 3000, options),
        rent_cny_h=np.zeros(options),
        rent_cny=np.zeros(options),
        load_w=rng.uniform(200, 4000, options),
        idle_w=rng.uniform(0, 500, options),
        speed=rng.uniform(1, 1e4, options),
        flops_per_unit=np.full(options, 1e10),
        hours=None,
        trains=False,
        economics=Economics(),
    )


@pytest.mark.parametrize("objective", ["total_cost", "purchase", "tflops_per_yuan"])
def test_below_its_limit_a_card_is_first_and_above_it_is_not(objective: str) -> None:
    rng = np.random.default_rng(11)
    tried = 0
    for _ in range(DRAWS):
        field = some_field(rng, objective, 3)
        for i, factor in enumerate(wins_below(field, None), 1):
            if factor is None:
                continue
            tried += 1
            below, above = (np.where(np.arange(3) == i, factor * by, 1.0) for by in (0.999, 1.001))
            assert field.score(price=below)[i] < field.score(price=below)[0]
            assert field.score(price=above)[i] > field.score(price=above)[0]
    assert tried > DRAWS / 2


@pytest.mark.parametrize("objective", ["total_cost", "speed"])
def test_a_limit_never_leaves_the_budget(objective: str) -> None:
    rng = np.random.default_rng(12)
    for _ in range(DRAWS):
        field = some_field(rng, objective, 3)
        budget = float(rng.uniform(1e4, 1e5))
        for i, factor in enumerate(wins_below(field, budget), 1):
            if factor is not None:
                outlay = field.price_cny[i] * factor + field.host_cny[i]
                assert outlay <= budget * (1 + 1e-9)


def test_a_dominated_option_never_stands_higher() -> None:
    """No option stands above one that costs no more, is no slower and leaves no less memory free."""
    rng = np.random.default_rng(13)
    for _ in range(DRAWS):
        cards = 12
        # Few values, so that many options are equal in one or two of the three.
        total = rng.choice([1000.0, 1000.0 * (1 + 1e-12), 2000.0], (cards, 1, 1))
        speed, margin = rng.choice([10.0, 20.0], (cards, 1)), rng.choice([1.0, 2.0], (cards, 1))
        candidates = SimpleNamespace(
            score=total,
            passes=np.ones_like(total, dtype=bool),
            costs=SimpleNamespace(total_cny=total),
            power_w=rng.choice([100.0, 200.0], (cards, 1)),
            stage=np.full(total.shape, PASSES),
        )
        best = SimpleNamespace(speed=speed, margin_gib=margin)
        names = np.arange(cards)
        placed = order(cast(Candidates, candidates), cast(Best, best), names)
        rows: list[tuple[float, ...]] = [
            (round(float(total[r, 0, 0]), 6), -float(speed[r, 0]), -float(margin[r, 0])) for r in placed
        ]
        for higher, lower in zip(rows, rows[1:], strict=False):
            dominates: Any = all(a <= b for a, b in zip(lower, higher, strict=True)) and lower != higher
            assert not dominates, (higher, lower)
