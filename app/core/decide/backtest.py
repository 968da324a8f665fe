"""How near the carried prices come to prices that were observed later: the back-test of `market`.

Each pair is one earlier price of a card and one later price of the same card, condition and unit. The card
is left out of the index that carries it. Constants are fitted on one half of the cards (`market.half_of`)
and errors are reported on the other.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import product
from statistics import median

import numpy as np

from app.core.answer import Figure, answer
from app.core.decide.market import (
    DAYS_A_MONTH,
    OWN_DAYS,
    WIDEST,
    Band,
    Card,
    Constants,
    Index,
    Price,
    carry,
    channel_factor,
    index_of,
    oldest_days,
    own_band,
    seller,
)

AGES: Mapping[str, tuple[tuple[int, int], ...]] = {
    "small": ((1, 45), (46, 120), (121, 420)),
    "big": ((1, 45), (46, 240), (241, 420)),
}
"""Days between the two prices."""
GROUPS = ("small", "big", "thin", "chinese", "server")
TARGET_SHOPS = frozenset(("retail", "diy", "asking"))
INSIDE = 0.80
S_STEPS = tuple(round(0.03 + 0.01 * i, 3) for i in range(60))
V_STEPS = tuple(round(0.01 * i, 3) for i in range(16))
GROWS_MONTHS = (2.0, 4.0, 6.0, 12.0, 24.0)
HALVES = "halves"
"""Constants of one half of the cards, errors of the other."""
LEFT_OUT = "card left out"
"""Too few cards for halves: each card is judged by the band of the others."""
FEWEST_FOR_HALVES = 16


@dataclass(frozen=True, slots=True)
class Pair:
    """One earlier price carried to the day of a later one, in logarithms."""

    gpu_id: str
    group: str
    """small: new GeForce under 24 GB, Radeon, Arc; big: new GeForce from 24 GB up; thin, chinese, server."""
    age_days: int
    error: float
    """Carried over observed."""
    as_it_is: float
    """Earlier over later, uncarried."""
    half_width: float
    from_channel: str
    to_channel: str
    added: float = 0.0
    """Of the half-width, what stands beside the band of the class, in quadrature."""


@answer()
class PriceErrors:
    """Errors of one class of cards and age of prices: logarithms of factors, 0.05 is about 5 %."""

    group: str
    """Class of cards: small, big, thin, chinese, server."""
    first_day: int
    """Least age of the earlier price on the day of the later, days."""
    last_day: int
    """Greatest age, days."""
    pairs: int
    """Pairs of an earlier and a later price."""
    cards: int
    """Cards that they are of."""
    median: Figure
    """Median of the absolute errors."""
    p90: Figure
    """What nine of ten stay below."""
    signed_median: Figure
    """Median of ln(carried / observed) with its sign."""
    inside: Figure
    """Share of later prices inside the 80 % band."""
    as_it_is_median: Figure
    """Median of the absolute errors of the earlier price, uncarried."""
    as_it_is_p90: Figure
    """What nine of ten of those stay below."""
    split: str = HALVES
    """How errors are kept apart from constants: halves of the cards, or each `card left out`."""


def group_of(card: Card, p: Price) -> str:
    """Under which name the errors of a price are counted."""
    if p.per != "card":
        return "server"
    if card.klass == "chinese":
        return "chinese"
    if p.condition == "new" and card.klass in ("geforce", "radeon_arc"):
        return "small"
    return "big" if p.condition == "new" and card.klass == "big_geforce" else "thin"


def one_of_each_range(prices: Iterable[Price]) -> list[Price]:
    """Low and high of one source on one day as one observation: its middle."""
    groups: dict[tuple[str, str, str, int, str], list[Price]] = defaultdict(list)
    for p in prices:
        groups[p.gpu_id, p.condition, p.per, p.day, seller(p.channel)].append(p)
    merged = []
    for found in groups.values():
        middle = sum(p.amount for p in found) / len(found)
        merged.append(replace(found[0], amount=middle, doubtful=all(p.doubtful for p in found)))
    return merged


def pairs(
    prices: Sequence[Price],
    cards: Mapping[str, Card],
    constants: Constants | None = None,
    *,
    blind: bool = False,
    use: Callable[[str], bool] = lambda _: True,
) -> list[Pair]:
    """Every earlier price carried to every later one of the same card, condition and unit.

    Parameters
    ----------
    prices, cards: the ledger and what is known of its cards. constants: bands.
    blind: the index ends on the day before the target, as on a day of which no other price is known yet;
        otherwise it knows what other cards cost on that day.
    use: which cards, by id.
    """
    constants = constants or Constants()
    own = [
        p
        for p in prices
        if p.currency == "CNY"
        and p.region == "CN"
        and p.channel_kind != "launch"
        and p.gpu_id in cards
        and use(p.gpu_id)
    ]
    series: dict[tuple[str, str, str], list[Price]] = defaultdict(list)
    for p in one_of_each_range(own):
        series[p.gpu_id, p.condition, p.per].append(p)
    indexes: dict[tuple[int, str], Index] = {}
    found: list[Pair] = []
    for (gpu_id, _, _), rows in series.items():
        card = cards[gpu_id]
        for target in rows:
            if not _is_target(card, target):
                continue
            key = (target.day, gpu_id)
            for p in rows:
                age = target.day - p.day
                if not 0 < age <= oldest_days(card, p.condition):
                    continue
                if key not in indexes:
                    until = date.fromordinal(target.day - blind)
                    indexes[key] = index_of(prices, cards, until, without=gpu_id)
                found.append(_pair(card, p, target, indexes[key], constants))
    return _once([pair for pair in found if pair.half_width <= WIDEST])


def _is_target(card: Card, p: Price) -> bool:
    """Whether a price is good enough to judge by; of servers and Chinese cards no better ones are there."""
    group = group_of(card, p)
    if group in ("server", "chinese"):
        return True
    return not p.doubtful and (group == "thin" or p.channel_kind in TARGET_SHOPS)


def _once(found: Iterable[Pair]) -> list[Pair]:
    """Without what is no second reading: one row that serves several variants, a figure that is repeated."""
    kept: dict[tuple[object, ...], Pair] = {}
    for pair in found:
        if pair.group not in ("server", "chinese"):
            kept[len(kept), pair.gpu_id] = pair
        elif pair.as_it_is:
            kept.setdefault((pair.age_days, pair.as_it_is, pair.from_channel, pair.to_channel), pair)
    return list(kept.values())


def _pair(card: Card, p: Price, target: Price, index: Index, constants: Constants) -> Pair:
    truth = target.amount * channel_factor(target)
    estimate = carry(card, p, index, date.fromordinal(target.day), constants)
    months = (target.day - p.day) / DAYS_A_MONTH
    band = own_band(card, p, constants).half_width(months)
    return Pair(
        card.gpu_id,
        group_of(card, p),
        target.day - p.day,
        math.log(estimate.expected_cny / truth),
        math.log(p.amount * channel_factor(p) / truth),
        estimate.half_width,
        p.channel,
        target.channel,
        math.sqrt(max(0.0, estimate.half_width**2 - band**2)),
    )


def validated(found: Iterable[Pair], halves: Mapping[str, str]) -> dict[str, tuple[str, list[Pair]]]:
    """Pairs by group that no constant was fitted on, with the name of the split.

    Parameters
    ----------
    found: all pairs. halves: of the cards, from `market.half_of`.

    Returns
    -------
    Of groups with many cards the report half; of the others all cards, each with the band that the others
    give.
    """
    groups: dict[str, list[Pair]] = defaultdict(list)
    for pair in found:
        groups[pair.group].append(pair)
    result = {}
    for group, members in groups.items():
        cards = {p.gpu_id for p in members}
        if len(cards) >= FEWEST_FOR_HALVES and group == "small":
            result[group] = HALVES, [p for p in members if halves[p.gpu_id] == "report"]
        elif len(cards) > 1:
            result[group] = LEFT_OUT, [p for name in sorted(cards) for p in _left_out(members, name)]
        else:
            result[group] = LEFT_OUT, members
    return result


def _left_out(members: Sequence[Pair], name: str) -> list[Pair]:
    band = fit_band([p for p in members if p.gpu_id != name])
    return [
        replace(p, half_width=band.half_width(p.age_days / DAYS_A_MONTH, p.added))
        for p in members
        if p.gpu_id == name
    ]


def errors(found: Mapping[str, tuple[str, Sequence[Pair]]]) -> list[PriceErrors]:
    """Errors by group and age; groups of few pairs in one row over all ages."""
    rows = []
    for group, (split, members) in found.items():
        for first, last in AGES.get(group, ((1, OWN_DAYS),)):
            chosen = [p for p in members if first <= p.age_days <= last]
            if chosen:
                rows.append(replace(_errors(group, first, last, chosen), split=split))
    return sorted(rows, key=lambda row: (GROUPS.index(row.group), row.first_day))


def _errors(group: str, first: int, last: int, chosen: Sequence[Pair]) -> PriceErrors:
    absolute = sorted(abs(p.error) for p in chosen)
    plain = sorted(abs(p.as_it_is) for p in chosen)
    return PriceErrors(
        group,
        first,
        last,
        len(chosen),
        len({p.gpu_id for p in chosen}),
        median(absolute),
        quantile(absolute, 0.9),
        median(p.error for p in chosen),
        sum(abs(p.error) <= p.half_width for p in chosen) / len(chosen),
        median(plain),
        quantile(plain, 0.9),
    )


def quantile(ordered: Sequence[float], q: float) -> float:
    """Quantile of an ordered list, linear between its members."""
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def fit_band(found: Sequence[Pair]) -> Band:
    """The (s, v, months) of the lowest mean interval score of an 80 % band over pairs, cards weighing alike.

    Notes
    -----
    Score = 2 w + (2 / 0.2) x what the error exceeds w by (Gneiting and Raftery 2007, eq. 43), on a grid.
    """
    error = np.array([abs(p.error) for p in found])
    months = np.array([p.age_days / DAYS_A_MONTH for p in found])
    added = np.array([p.added for p in found]) ** 2
    of_card = Counter(p.gpu_id for p in found)
    weight = np.array([1.0 / of_card[p.gpu_id] for p in found])

    def score(band: tuple[float, float, float]) -> float:
        s, v, grows = band
        width = np.sqrt(s**2 + v**2 * np.minimum(months, grows) + added)
        excess = np.maximum(0.0, error - width)
        return float((weight * (2 * width + 2 / (1 - INSIDE) * excess)).sum())

    return Band(*min(product(S_STEPS, V_STEPS, GROWS_MONTHS), key=score))


def share_of_one_table(found: Sequence[Pair]) -> tuple[str, float]:
    """The channel that stands behind most targets, and its share of them."""
    counts: dict[str, int] = defaultdict(int)
    for p in found:
        counts[p.to_channel] += 1
    name = max(counts, key=lambda key: counts[key])
    return name, counts[name] / len(found)
