"""Prices of the grid: card and server prices by condition, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from app.core.decide.host import BOARDED, LOOSE, SERVER_CARDS, WHOLE, HostGrid, HostNeed
from app.core.decide.market import USED_OVER_NEW
from app.core.decide.reasons import is_module
from app.core.decide.renting import RENTED, Offers, acquisitions, buys, rent_rates
from app.core.gpu import Gpu, PriceChoice
from app.core.gpu_table import Flags, Floats, Index
from app.core.question import BUY, RENTS, ShortlistQuestion

Prices = Mapping[tuple[str, str], PriceChoice]


LEVELS = ("none", "estimate", "current", "firm")
"""Evidence of a price, the weakest first."""
OLD_SERVER_DAYS = 45
NO_OFFERS: Offers = MappingProxyType({})


@dataclass(frozen=True)
class PriceGrid:
    """What options cost to buy today, (cards, counts, conditions); NaN = no amount can be stated."""

    conditions: tuple[str, ...]
    """Of what is bought, then the ways to rent."""
    choices: Mapping[tuple[int, int], PriceChoice]
    """By (row, condition) where a card price exists, amounts of today or not."""
    servers: Mapping[tuple[int, int], PriceChoice]
    purchase_cny: Floats
    host_cny: Floats
    by_server: Flags
    """The price of whole 8-card servers counts: host included."""
    stale: Flags
    evidence: Index
    """Index into LEVELS."""
    hosts: HostGrid
    """Machines of each count, for cards and for whole servers."""
    how: Index
    """How the cards come, as in `HostGrid`."""
    host_load_w: Floats
    host_idle_w: Floats
    rent_cny_h: Floats
    """Of all cards in whole instances; 0 of what is bought."""
    rows: Index | None = None
    """Rows of `choices` and `servers` that the arrays are of; all by default."""

    def take(self, rows: Index, counts: Sequence[int] | None = None) -> PriceGrid:
        """The same for some of the cards; `counts`: places of those that are wanted, all by default."""
        names = (
            "purchase_cny",
            "host_cny",
            "by_server",
            "how",
            "stale",
            "evidence",
            "host_load_w",
            "host_idle_w",
            "rent_cny_h",
        )
        some = {name: getattr(self, name)[rows] for name in names}
        if counts is not None:
            some = {name: values[:, counts] for name, values in some.items()}
        return replace(self, rows=rows, **some)

    @property
    def bought(self) -> slice:
        """The conditions that are bought; of all where nothing is."""
        known = sum(kind not in RENTS for kind in self.conditions)
        return slice(0, known or len(self.conditions))

    def acquisition(self, condition: int) -> str:
        """How an option is acquired."""
        kind = self.conditions[condition]
        return kind if kind in RENTS else BUY

    def condition(self, condition: int) -> str:
        """Condition of the cards of an option."""
        kind = self.conditions[condition]
        return RENTED if kind in RENTS else kind

    def choice(self, row: int, count: int, condition: int) -> PriceChoice:
        """The price behind an option, as strong as it is where it stands."""
        source = self.servers if self.by_server[row, count, condition] else self.choices
        found = source[self._row(row), condition]
        level = LEVELS[int(self.evidence[row, count, condition])]
        return found if found.evidence == level else replace(found, evidence=level)

    def machines(self, row: int, count: int, condition: int) -> HostNeed:
        """Machines of an option; its own place among the counts."""
        return self.hosts.needs[int(self.how[row, count, condition])][count]

    def refusal(self, row: int, condition: int) -> PriceChoice | None:
        """What was seen of a card without an amount of today: in that condition, else in any."""
        at = self._row(row)
        places = [condition, *range(len(self.conditions))]
        seen = (source.get((at, k)) for k in places for source in (self.choices, self.servers))
        return next((choice for choice in seen if choice is not None), None)

    def _row(self, row: int) -> int:
        return row if self.rows is None else int(self.rows[row])


def price_grid(
    question: ShortlistQuestion,
    gpus: Sequence[Gpu],
    counts: Sequence[int],
    prices: Prices,
    server_prices: Prices,
    hosts: HostGrid,
    rents: Offers = NO_OFFERS,
) -> PriceGrid:
    """Look up every price once and spread it over the counts.

    Parameters
    ----------
    question: conditions, cards with an own price. gpus, counts: axes of the grid.
    prices: per card, by (gpu id, condition), own ones among them.
    server_prices: per 8-card machine, never divided into cards. hosts: machines over the counts. rents: by
    (gpu id, acquisition).

    Returns
    -------
    Purchase and host of each option, at what it costs today. For whole servers of eight the better evidence
    counts, then the newer price, then the cheaper way to buy, host included.
    """
    conditions = question.filters.conditions if buys(question) else ()
    shape = (len(gpus), len(conditions))
    card, server = np.full(shape, np.nan), np.full(shape, np.nan)
    stale_card, stale_server = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    level_card, level_server = np.zeros(shape, dtype=np.intp), np.zeros(shape, dtype=np.intp)
    choices: dict[tuple[int, int], PriceChoice] = {}
    servers: dict[tuple[int, int], PriceChoice] = {}
    row = {gpu.id: i for i, gpu in enumerate(gpus)}
    place = {condition: k for k, condition in enumerate(conditions)}
    own = question.price_overrides
    # Prices are fewer than cards times conditions: walk over what there is.
    for (gpu_id, condition), found in prices.items():
        at = (row.get(gpu_id, -1), place.get(condition, -1))
        # One price of the user's own stands for the card, in whatever condition it is.
        if min(at) >= 0 and found.per == "card" and (gpu_id not in own or found.kind == "override"):
            choices[at], card[at], stale_card[at] = found, _today(found), found.stale
            level_card[at] = LEVELS.index(found.evidence)
    for (gpu_id, condition), found in server_prices.items():
        at = (row.get(gpu_id, -1), place.get(condition, -1))
        if min(at) >= 0 and gpu_id not in own:
            servers[at], server[at], stale_server[at] = found, _today(found), found.stale
            level_server[at] = LEVELS.index(found.evidence)
    numbers = np.asarray(counts, dtype=np.float64)
    purchase = card[:, np.newaxis, :] * numbers[np.newaxis, :, np.newaxis]
    boarded = _boarded(gpus, conditions)
    host = hosts.over(np.where(boarded, BOARDED, LOOSE), "cny")
    joined = hosts.over(np.where(boarded, BOARDED, WHOLE), "cny")
    machines = np.where(numbers % SERVER_CARDS == 0, numbers / SERVER_CARDS, np.nan)
    whole = server[:, np.newaxis, :] * machines[np.newaxis, :, np.newaxis]
    wins = ~(purchase + host <= whole + joined)
    for at, found in servers.items():
        floor = _least_of_a_card(card[at[0]], at[1])
        least = SERVER_CARDS * floor + hosts.server_cny
        if _behind_its_cards(gpus[at[0]], found, choices.get(at), server[at] < least):
            level_server[at] = min(int(level_server[at]), LEVELS.index("estimate"))
        if at not in choices:
            continue
        decided = _server_decides(level_server[at] - level_card[at], found, choices[at])
        if decided is not None:
            wins[at[0], :, at[1]] = decided
    by_server = np.asarray(~np.isnan(whole) & wins, dtype=bool)
    spread = (slice(None), np.newaxis, slice(None))
    how = np.where(boarded, BOARDED, np.where(by_server, WHOLE, LOOSE))
    grid = PriceGrid(
        conditions=conditions,
        choices=choices,
        servers=servers,
        purchase_cny=np.where(by_server, whole, purchase) * hosts.over(how, "with_spares"),
        host_cny=hosts.over(how, "cny"),
        by_server=by_server,
        stale=np.where(by_server, stale_server[spread], stale_card[spread]),
        evidence=np.where(by_server, level_server[spread], level_card[spread]),
        hosts=hosts,
        how=how,
        host_load_w=hosts.over(how, "load_w"),
        host_idle_w=hosts.over(how, "idle_w"),
        rent_cny_h=np.zeros(how.shape),
    )
    return _with_rents(grid, rents, gpus, counts, acquisitions(question))


def _with_rents(
    grid: PriceGrid, rents: Offers, gpus: Sequence[Gpu], counts: Sequence[int], ways: tuple[str, ...]
) -> PriceGrid:
    """The grid with the ways to rent behind its conditions; where nobody lets a card it stays unpriced."""
    if not ways or not rents:
        return grid
    rates = rent_rates(rents, gpus, counts, ways)
    known = ~np.isnan(rates)
    zero, none = np.zeros(rates.shape), np.zeros(rates.shape, dtype=bool)
    behind: dict[str, Any] = {
        "purchase_cny": np.where(known, 0.0, np.nan),
        "host_cny": zero,
        "by_server": none,
        "stale": none,
        "evidence": np.zeros(rates.shape, dtype=np.intp),
        "how": np.full(rates.shape, LOOSE),
        "host_load_w": zero,
        "host_idle_w": zero,
        "rent_cny_h": np.nan_to_num(rates),
    }
    row = {gpu.id: i for i, gpu in enumerate(gpus)}
    choices = dict(grid.choices)
    first = len(grid.conditions)
    for (gpu_id, way), offer in rents.items():
        if gpu_id in row and way in ways:
            at = (row[gpu_id], first + ways.index(way))
            choices[at] = offer.price
            behind["evidence"][at[0], :, ways.index(way)] = LEVELS.index(offer.price.evidence)
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(grid, name), more], axis=-1) for name, more in behind.items()
    }
    return replace(grid, conditions=(*grid.conditions, *ways), choices=choices, **joined)


def _boarded(gpus: Sequence[Gpu], conditions: Sequence[str]) -> Flags:
    """Modules, (cards, 1, conditions): a used one counts with the carrier that puts it into a slot."""
    module = np.array([is_module(gpu) for gpu in gpus], dtype=bool)
    loose = np.array([condition == "used" for condition in conditions], dtype=bool)
    return np.asarray(module[:, np.newaxis, np.newaxis] & ~loose[np.newaxis, np.newaxis, :], dtype=bool)


def _today(price: PriceChoice) -> float:
    return np.nan if price.expected_cny is None else price.expected_cny


def _least_of_a_card(amounts: Floats, condition: int) -> float:
    """What a card costs today; of a new one without an amount, what a used one says; NaN: not known."""
    own = float(amounts[condition])
    known = amounts[~np.isnan(amounts)]
    return own if not np.isnan(own) or not known.size else float(known.min()) / USED_OVER_NEW


def _behind_its_cards(gpu: Gpu, server: PriceChoice, card: PriceChoice | None, cheaper: bool) -> bool:
    """Whether a server of consumer cards costs less than the cards in it cost today: it is of yesterday."""
    if gpu.segment != "consumer" or not cheaper or server.kind == "quote":
        return False
    age = server.age_days or 0
    return age > OLD_SERVER_DAYS or (card is not None and age > (card.age_days or 0))


def _server_decides(better: int, server: PriceChoice, card: PriceChoice) -> bool | None:
    """Whether a server counts before its cards by evidence and age; None: the cheaper does."""
    if better:
        return better > 0
    newer = (card.age_days or 0) - (server.age_days or 0)
    return newer > 0 if newer else None
