"""Rejected cards in the order in which a reader asks about them, by kind of reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Any

from app.catalog.snapshot import Snapshot
from app.core.decide.options import Rejected
from app.web.answer_tables import Words

FIRST_SHOWN = 7
MOST_OF_A_KIND = 3
"""Of one kind among the first shown: seven times "no price" would say less than four kinds of reason."""
_DISTANCE = {
    "precision": 0.3,
    "count": 0.4,
    "power": 0.4,
    "deadline": 0.5,
    "framework": 0.6,
    "unpriced": 0.6,
    "evidence": 0.8,
    "stale_price": 0.6,
    "os": 0.7,
    "support": 0.7,
    "feature": 0.8,
    "availability": 0.8,
    "vendor": 0.9,
}
"""How far a card is from the list where no figure says it: 0 is almost in, 1 is out of reach."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of reason: how many cards it keeps out."""

    code: str
    count: int
    url: str
    current: bool


@lru_cache(maxsize=2)
def renown(snapshot: Snapshot) -> Mapping[str, float]:
    """How well known each card is: its place, 0 to 1, by the prices and measurements there are of it.

    Nobody lists popular cards by hand: what many people sell and measure is what many people ask about.
    """
    seen: Counter[str] = Counter({gpu.id: 0 for gpu in snapshot.gpus})
    seen.update(row.gpu_id for row in snapshot.benchmarks)
    for gpu_id, card in snapshot.cards.items():
        seen[gpu_id] += 3 * len(card.observations)
    order = sorted(seen.items(), key=lambda item: (item[1], item[0]))
    return {gpu_id: place / max(len(order) - 1, 1) for place, (gpu_id, _) in enumerate(order)}


def distance(item: Rejected, budget: float | None) -> float:
    """How much is missing, as a share of what there is; by the kind of reason where no figure says it."""
    if item.code == "memory" and item.shortfall_gib:
        return min(1.0, item.shortfall_gib / 24.0)
    if item.code == "budget" and budget:
        wanted = _change(item).get("budget.amount")
        return float(wanted) / budget - 1.0 if wanted else 1.0
    return _DISTANCE.get(item.code, 1.0)


def _change(item: Rejected) -> Mapping[str, Any]:
    return item.remedy.change if item.remedy else {}


def helped(item: Rejected) -> bool:
    """Whether one change, with its value known, would bring the card in."""
    return any(value is not None for value in _change(item).values())


def by_interest(rejected: Sequence[Rejected], snapshot: Snapshot, budget: float | None) -> list[Rejected]:
    """Well-known cards that miss little first; then, for equals, by name."""
    known = renown(snapshot)

    def key(item: Rejected) -> tuple[float, str]:
        away = min(distance(item, budget), 1.0) + (0.0 if helped(item) else 0.25)
        return away - 1.5 * known.get(item.gpu.id, 0.0), item.label

    return sorted(rejected, key=key)


def by_distance(rejected: Sequence[Rejected], budget: float | None) -> list[Rejected]:
    """Those that one known change brings in first, the smallest change before the larger ones."""

    def key(item: Rejected) -> tuple[bool, bool, float, str]:
        # What costs money to change is nearer than what no figure measures.
        measured = item.code == "budget" or (item.code == "memory" and budget is None)
        away = distance(item, budget) if measured else inf
        return not helped(item), not measured, away, item.label

    return sorted(rejected, key=key)


def first_of(rejected: Sequence[Rejected]) -> list[Rejected]:
    """The first few, not too many of one kind; filled up in order where there are few kinds."""
    taken: Counter[str] = Counter()
    chosen, rest = [], []
    for item in rejected:
        if taken[item.code] < MOST_OF_A_KIND:
            taken[item.code] += 1
            chosen.append(item)
        else:
            rest.append(item)
    return [*chosen, *rest][:FIRST_SHOWN]


def kinds(rejected: Sequence[Rejected], links: Any, shown: str) -> list[Kind]:
    """Links to the cards of each kind of reason, the most frequent first."""
    counts = Counter(item.code for item in rejected)
    return [
        Kind(code, count, links.page(rejected=code) + "#rejected", shown == code)
        for code, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    ]


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row of the table: the card, why it is out, what would bring it in, the question that asks for it."""

    item: Rejected
    text: str
    remedy: str
    apply_url: str


def row(item: Rejected, words: Words, apply: Callable[[Rejected], str]) -> RejectedRow:
    """A rejected card in words; `apply` gives the address of the question with its remedy put in, or ""."""
    remedy = words.say(item.remedy.text) if item.remedy else ""
    return RejectedRow(item, words.say(item.text), remedy, apply(item))


def shown(
    rejected: Sequence[Rejected], snapshot: Snapshot, budget: float | None, wanted: str
) -> list[Rejected]:
    """The cards of the table: the first few, all, or those of one kind."""
    ordered = by_interest(rejected, snapshot, budget)
    codes = {item.code for item in ordered}
    if wanted in codes:
        return [item for item in ordered if item.code == wanted]
    return ordered if wanted == "all" else first_of(ordered)
