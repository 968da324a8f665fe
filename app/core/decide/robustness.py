"""How firmly the first option stands: break-evens of one input at a time, and seeded draws of all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from app.core.decide.candidates import idle_w
from app.core.decide.cost import energy_kwh, idle_hours, total_cny
from app.core.decide.options import Flip, Robustness, objective_score
from app.core.decide.renting import MONTHLY
from app.core.formulas import Formula, Reference, register
from app.core.gpu_table import Floats
from app.core.kept import keep
from app.core.memory import estimate as estimate_memory
from app.core.question import Economics
from app.core.tracing import floats

if TYPE_CHECKING:
    from app.core.decide.shortlist import Cell, Ranking

DRAWS = 2000
RIVALS = 12
"""Options that take part in the draws: those shown and the next ones, up to this many."""
FIRM = 1e-9
"""Half-width of a quote and of a price of the asker's own."""
ELECTRICITY_SPREAD = 0.20
UTILISATION_SPREAD = 0.10
P90 = 1.2815515655446004
"""90th percentile of the standard normal distribution."""
RANGES: dict[str, tuple[float, float]] = {
    "price": (0.0, 10.0),
    "rival_price": (0.0, 10.0),
    "electricity": (0.0, 10.0),
    "utilisation": (0.0, 1.0),
    "months": (1.0, 120.0),
}
"""Range in which a flip is sought: factors of the present value, fractions for utilisation, months."""
KEPT_DRAWS = 48
"""Sizes of draws that are kept, at most 0.4 MB each for a list of usual length."""
CONTEXT_FACTOR = 64.0
"""Longest context that is tried, over the present one."""
CONTEXT_POINTS = 25
CONTEXT_STEPS: Floats = np.geomspace(1.0, CONTEXT_FACTOR, CONTEXT_POINTS)
"""Contexts that are tried, over the present one."""

register(
    Formula(
        "robustness.break_even",
        "Break-even of one input",
        "x* where score(first) = score(rival), the nearest over all rivals; totals are linear in each "
        "single input",
        "1",
        "derived",
        "One input changed, all others as they are. Context: first length at which the plan of the first "
        "option no "
        "longer fits.",
        (Reference("Definition: equal scores"),),
    ),
    Formula(
        "robustness.share_first",
        "Share of draws in which an option stays first",
        "2000 draws: price (a quote as it is) and speed log-normal from their 80 % bands; electricity "
        "+-20 %, utilisation +-0.10",
        "1",
        "derived",
        "Seeded. Prices are drawn per card and condition, speeds per card, so that counts of one card "
        "move together.",
        (
            Reference(
                "NumPy: default_rng (PCG64)", "https://numpy.org/doc/stable/reference/random/generator.html"
            ),
        ),
    ),
)


_PER_OPTION = (
    *("price_cny", "host_cny", "rent_cny_h", "rent_cny"),
    *("power_w", "load_w", "idle_w", "speed", "flops_per_unit"),
)


@dataclass(frozen=True)
class Field:
    """Inputs of the score of some options, (options,)."""

    objective: str
    price_cny: Floats
    """Purchase of all cards."""
    host_cny: Floats
    """Machines and the network between them."""
    power_w: Floats
    """Of the cards."""
    rent_cny_h: Floats
    """Of rented options, while they work."""
    rent_cny: Floats
    """Of rented options, whatever the hours."""
    load_w: Floats
    """Of cards and machines while they work."""
    idle_w: Floats
    """Of the machines while nothing runs, where that counts."""
    speed: Floats
    flops_per_unit: Floats
    hours: Floats | None
    """Of the given work, as in `Candidates.hours`."""
    trains: bool
    economics: Economics

    def score(
        self,
        price: Floats | float = 1.0,
        speed: Floats | float = 1.0,
        electricity: Floats | float = 1.0,
        utilisation: Floats | float | None = None,
        months: Floats | float | None = None,
    ) -> Floats:
        """Score with inputs scaled or replaced; draws stand behind the options of `with_draws_behind`."""
        purchase = self.price_cny * price
        total = purchase
        if self.objective == "total_cost":
            e = self.economics
            span = e.months if months is None else months
            share = e.utilisation if utilisation is None else utilisation
            kwh_cny = e.electricity_cny_per_kwh * electricity
            if self.hours is None:
                busy: Floats | float = span * e.hours_per_month * share
            else:
                busy = self.hours / speed * (1.0 if self.trains else span)
            energy = energy_kwh(self.load_w, busy * kwh_cny, e.pue)
            if self.idle_w.any():
                idle = idle_hours(span * e.hours_per_month, busy)
                energy = energy + energy_kwh(self.idle_w, idle * kwh_cny, e.pue)
            total = floats(total_cny(purchase, 1.0 - e.residual, self.host_cny, energy))
            if self.rented.any():
                total = total + price * (self.rent_cny_h * busy + self.rent_cny)
        rate = self.speed * speed
        return objective_score(
            self.objective, total, purchase, rate * self.flops_per_unit / 1e12, rate, self.power_w
        )

    @property
    def rented(self) -> Floats:
        """Above 0 of what is not bought."""
        return self.rent_cny_h + self.rent_cny

    @cached_property
    def priced_cny(self) -> Floats:
        """What the price of an option comes to: its purchase, or its rent."""
        return np.where(self.rented > 0, self.now, self.price_cny)

    @cached_property
    def now(self) -> Floats:
        """Score with all inputs as they are."""
        return np.broadcast_to(self.score(), self.price_cny.shape)

    def with_draws_behind(self) -> Field:
        """The same options as a column (options, 1), so that the draws of each lie side by side in memory."""
        columns = {
            name: getattr(self, name)[:, np.newaxis]
            for name in (
                "price_cny",
                "host_cny",
                "rent_cny_h",
                "rent_cny",
                "power_w",
                "load_w",
                "idle_w",
                "speed",
                "flops_per_unit",
            )
        }
        return replace(self, **columns, hours=None if self.hours is None else self.hours[:, np.newaxis])


def robustness(
    ranking: Ranking, cells: list[Cell], shown: int, seed: int = 0, draws: int = DRAWS
) -> tuple[Robustness, ...]:
    """Robustness of the options shown.

    Parameters
    ----------
    ranking: the arrays of the answer. cells: options that take part, best first. shown: how many of them are
    shown. seed: of the draws. draws: how many.

    Returns
    -------
    One entry per option shown. The first states its break-evens against the others, the others the price of
    their own at which they would be first.
    """
    if not shown:
        return ()
    field = field_of(ranking, cells)
    labels = [ranking.label(cell) for cell in cells]
    shares = _shares(ranking, field, cells, seed, draws)
    factors = price_factors_to_lead(field)
    first = _first_flips(ranking, field, labels, cells, factors)
    found = [Robustness(float(shares[0]), draws, seed, first)]
    for i in range(1, shown):
        found.append(Robustness(float(shares[i]), draws, seed, _own_price(field, i, labels, factors)))
    return tuple(found)


def field_of(ranking: Ranking, cells: list[Cell]) -> Field:
    candidates, best = ranking.candidates, ranking.best
    row, n, k = (np.asarray(c, dtype=np.intp) for c in zip(*cells, strict=True))
    hours = candidates.hours
    prices, power = ranking.prices, candidates.power_w[row, n]
    monthly = np.array([kind == MONTHLY for kind in prices.conditions])[k]
    rate = prices.rent_cny_h[row, n, k]
    total = np.broadcast_to(candidates.costs.total_cny, candidates.score.shape)[row, n, k]
    rented = rate > 0
    return Field(
        objective=ranking.question.objective,
        price_cny=prices.purchase_cny[row, n, k],
        host_cny=prices.host_cny[row, n, k],
        power_w=power,
        rent_cny_h=np.where(monthly, 0.0, rate),
        rent_cny=np.where(monthly & rented, total, 0.0),
        load_w=np.where(rented, 0.0, power + prices.host_load_w[row, n, k]),
        idle_w=idle_w(ranking.question, prices.host_idle_w[row, n, k]),
        speed=best.speed[row, n],
        flops_per_unit=best.flops_per_unit[row, n],
        hours=None if hours is None else hours[row, n, 0],
        trains=ranking.question.workload.trains,
        economics=ranking.question.economics,
    )


def _shares(ranking: Ranking, field: Field, cells: list[Cell], seed: int, draws: int) -> Floats:
    groups: dict[tuple[int, int], int] = {}
    card_of: dict[int, int] = {}
    price_group = [groups.setdefault((r, k), len(groups)) for r, _, k in cells]
    speed_group = [card_of.setdefault(r, len(card_of)) for r, _, _ in cells]
    spread = np.array([_price_spread(ranking, cell) for cell in cells])
    drawn = field.objective in ("speed", "tflops_per_yuan") or field.hours is not None
    sizes = (seed, draws, len(groups), len(card_of) if drawn else 0)
    normal = keep(ranking.asked.table, "normals", sizes, lambda: standard_normals(*sizes), KEPT_DRAWS)
    price = np.exp(_scaled(normal[0], spread, price_group))[price_group]
    speed: Floats | float = 1.0
    if drawn:
        plan = ranking.best.plan
        width = ranking.grid.speed.widths([(r, int(plan[r, n])) for r, n, _ in cells])
        speed = np.exp(_scaled(normal[1], width, speed_group))[speed_group]
    electricity = 1.0 + normal[2] * ELECTRICITY_SPREAD / P90
    share = field.economics.utilisation + normal[3] * UTILISATION_SPREAD / P90
    scores = field.with_draws_behind().score(
        price, speed, np.maximum(electricity, 0.0), np.clip(share, 0.01, 1.0)
    )
    scores = np.broadcast_to(scores, (len(cells), draws))
    # Of equal scores the option that ranks higher stays ahead: argmin takes the first.
    winners = np.argmin(scores, axis=0)
    return np.asarray(np.bincount(winners, minlength=len(cells)) / draws, dtype=np.float64)


def standard_normals(seed: int, draws: int, prices: int, speeds: int) -> tuple[Floats, ...]:
    """Standard normal draws, the same for every question of one seed.

    Parameters
    ----------
    seed, draws: of the generator. prices, speeds: groups that move together.

    Returns
    -------
    (prices, draws), (speeds, draws), and (1, draws) for electricity and for utilisation; not to be changed.
    """
    generator = np.random.default_rng(seed)
    found = []
    for size in (prices, speeds, 1, 1):
        values = np.ascontiguousarray(generator.standard_normal((draws, size)).T)
        values.setflags(write=False)
        found.append(values)
    return tuple(found)


def _scaled(normal: Floats, widths: Floats, group: list[int]) -> Floats:
    """Draws (groups, draws), each of the 80 % half-width of its group."""
    scale = np.empty(len(normal))
    scale[group] = widths / P90
    return np.asarray(normal * scale[:, np.newaxis], dtype=np.float64)


def _price_spread(ranking: Ranking, cell: Cell) -> float:
    """ln half-width of the 80 % interval of a price."""
    price = ranking.prices.choice(*cell)
    if not price.low_cny or not price.high_cny or price.evidence == "firm":
        return FIRM
    return math.log(price.high_cny / price.low_cny) / 2.0


def _first_flips(
    ranking: Ranking,
    field: Field,
    labels: list[str],
    cells: list[Cell],
    factors: Floats,
) -> tuple[Flip, ...]:
    e = field.economics
    size = len(labels)
    card_price = float(field.priced_cny[0]) / ranking.best.counts[cells[0][1]]
    same = np.array([(r, k) == (cells[0][0], cells[0][2]) for r, _, k in cells])
    flips = []

    def flip(factor: str, now: float, scores: tuple[Floats, Floats], unit: float) -> None:
        low, high = RANGES[factor]
        at, winner = _crossing(scores[0], scores[1], now / unit, low, high)
        value = None if at is None else at * unit
        distance = None if value is None or not now else (value - now) / now
        flips.append(Flip(factor, now, value, distance, labels[winner] if at is not None else ""))

    if field.objective in ("total_cost", "purchase", "tflops_per_yuan"):
        # The price of a card moves every count of it; it is linear in the score but for TFLOPS per yuan.
        if field.objective == "tflops_per_yuan":
            flips.append(_ratio_flip(field, card_price, same, labels))
        else:
            flip("price", card_price, (field.score(np.where(same, 0.0, 1.0)), field.now), card_price)
    if size > 1 and field.objective in ("total_cost", "purchase", "tflops_per_yuan"):
        flips.append(_rival_flip(ranking, field, labels, cells, factors))
    if field.objective == "total_cost":
        zero = field.score(electricity=0.0)
        flip("electricity", e.electricity_cny_per_kwh, (zero, field.now), e.electricity_cny_per_kwh)
        if field.hours is None:
            ends = (field.score(utilisation=0.0), field.score(utilisation=1.0))
            flip("utilisation", e.utilisation, ends, 1.0)
        if field.hours is None or not field.trains:
            flip("months", e.months, (field.score(months=0.0), field.score(months=1.0)), 1.0)
    context = _context_flip(ranking, labels, cells)
    if context is not None:
        flips.append(context)
    return tuple(flips)


def _crossing(
    at_zero: Floats, at_one: Floats, now: float, low: float, high: float
) -> tuple[float | None, int]:
    """Value nearest to `now` at which the first of several straight lines stops being the lowest."""
    slope = at_one - at_zero
    with np.errstate(divide="ignore", invalid="ignore"):
        x = (np.broadcast_to(at_zero, slope.shape)[1:] - at_zero[0]) / (slope[0] - slope[1:])
    usable = np.isfinite(x) & (x >= low) & (x <= high)
    if not usable.any():
        return None, 0
    apart = np.where(usable, np.abs(x - now), np.inf)
    nearest = int(np.argmin(apart))
    return float(x[nearest]), nearest + 1


def _ratio_flip(
    field: Field, card_price: float, same: np.ndarray[tuple[int], np.dtype[np.bool_]], labels: list[str]
) -> Flip:
    """Own price at which another card gives as many TFLOPS per yuan."""
    score = -field.now
    others = np.flatnonzero(~same)
    if not others.size:
        return Flip("price", card_price, None, None)
    rival = int(others[np.argmax(score[others])])
    at = card_price * float(score[0] / score[rival])
    return Flip("price", card_price, at, (at - card_price) / card_price, labels[rival])


def _rival_flip(
    ranking: Ranking,
    field: Field,
    labels: list[str],
    cells: list[Cell],
    factors: Floats,
) -> Flip:
    """Price per card of the next option of another card at which it becomes first."""
    own = (cells[0][0], cells[0][2])
    rival = next((i for i, (r, _, k) in enumerate(cells) if (r, k) != own), None)
    if rival is None:
        return Flip("rival_price", 0.0, None, None)
    now = float(field.priced_cny[rival]) / ranking.best.counts[cells[rival][1]]
    factor = float(factors[rival])
    if np.isnan(factor):
        return Flip("rival_price", now, None, None)
    return Flip("rival_price", now, now * factor, factor - 1.0, labels[rival])


def price_factors_to_lead(field: Field) -> Floats:
    """Factor on its own price at which each option scores as the first does; NaN where no price does it."""
    now = field.now
    if field.objective == "tflops_per_yuan":
        return np.asarray(now / now[0])
    if field.objective not in ("total_cost", "purchase"):
        return np.full(now.shape, np.nan)
    free = np.broadcast_to(field.score(price=0.0), now.shape)
    factor = (now[0] - free) / (now - free)
    return np.where(factor > 0, factor, np.nan)


def _own_price(field: Field, option: int, labels: list[str], factors: Floats) -> tuple[Flip, ...]:
    factor = float(factors[option])
    now = float(field.priced_cny[option])
    if np.isnan(factor):
        return (Flip("price", now, None, None),)
    return (Flip("price", now, now * factor, factor - 1.0, labels[option]),)


def _context_flip(ranking: Ranking, labels: list[str], cells: list[Cell]) -> Flip | None:
    """Shortest context, within 64 times the present, at which the plan of the first option no longer fits."""
    work = ranking.question.workload
    if work.model.family != "decoder" or work.sequence_length is None:
        return None
    now = float(np.max(work.sequence_length))
    lengths = now * CONTEXT_STEPS
    row, n, _ = cells[0]
    room = float(ranking.usable_gib[row]) - work.used_gib
    plan = ranking.grid.plans[int(ranking.best.plan[row, n])]
    longer = replace(work, sequence_length=lengths)
    need = np.broadcast_to(estimate_memory(longer, plan).per_gpu_gib.expected, lengths.shape)
    beyond = np.flatnonzero(need > room)
    if not beyond.size or beyond[0] == 0:
        return Flip("context", now, None, None)
    i = int(beyond[0])
    share = (room - need[i - 1]) / (need[i] - need[i - 1])
    at = float(lengths[i - 1] + share * (lengths[i] - lengths[i - 1]))
    # The first of the others that has more room per card takes over.
    margins = [ranking.best.margin_gib[r, m] for r, m, _ in cells]
    other = next((j for j in range(1, len(cells)) if margins[j] > margins[0]), None)
    return Flip("context", now, at, (at - now) / now, labels[other] if other is not None else "")
