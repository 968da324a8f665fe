"""What is derived of an immutable object is kept on it, and goes with it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.core.kept import Same, derived, keep


@dataclass(frozen=True)
class Card:
    watts: float


def test_a_derived_value_is_computed_once_per_object_and_argument() -> None:
    calls: list[tuple[float, float]] = []

    @derived
    def cost(card: Card, hours: float, price: float = 1.0) -> float:
        calls.append((card.watts, hours))
        return card.watts * hours * price

    card = Card(300.0)
    assert [cost(card, 2.0), cost(card, 2.0), cost(card, 3.0)] == [600.0, 600.0, 900.0]
    assert cost(card, 2.0, price=2.0) == 1200.0
    assert len(calls) == 3
    # An equal object of its own, and a changed one, start anew: nothing is global.
    assert cost(Card(300.0), 2.0) == 600.0 and cost(replace(card, watts=200.0), 2.0) == 400.0
    assert len(calls) == 5


def test_large_objects_are_told_apart_by_what_they_are_not_by_what_they_say() -> None:
    owner, first, second = Card(1.0), [1, 2], [1, 2]
    assert keep(owner, "sum", Same(first), lambda: "first") == "first"
    assert keep(owner, "sum", Same(second), lambda: "second") == "second"
    assert keep(owner, "sum", Same(first), lambda: "again") == "first"
    assert Same(first) != Same(second) and Same(first) == Same(first)


def test_of_too_many_values_all_are_forgotten() -> None:
    owner = Card(1.0)
    for i in range(3):
        assert keep(owner, "n", i, lambda i=i: i, limit=2) == i
    assert keep(owner, "n", 0, lambda: "anew", limit=2) == "anew"
    assert keep(owner, "n", 2, lambda: "anew", limit=2) == 2
