"""Every option of the grid with its money and score, and the stage at which it stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.core.decide.availability import BY_MARKET, BY_RULE, OPEN, SOLD, Barred
from app.core.decide.cost import UNIT_NAMES, Costs, ownership, work_hours
from app.core.decide.filters import STAGES
from app.core.decide.grid import Best
from app.core.decide.options import objective_score, too_late
from app.core.decide.pricing import LEVELS, PriceGrid
from app.core.decide.renting import with_rents
from app.core.decide.service import ROUNDING
from app.core.faults import InputFault
from app.core.gpu import Gpu
from app.core.gpu_table import Flags, Floats, GpuTable, Index
from app.core.kept import Same, derived, keep
from app.core.question import ShortlistQuestion
from app.core.units import TERA

PASSES = len(STAGES)
UNKNOWN_TDP_W = 350.0
"""Only where no card of the catalogue states one."""


@dataclass(frozen=True)
class Candidates:
    """Options of (cards, counts, conditions); the arrays broadcast to that shape."""

    counts: tuple[int, ...]
    costs: Costs
    speed: Floats
    power_w: Floats
    sustained_tflops: Floats
    hours: Floats | None
    """Of the given work: per month (inference) or in all (training)."""
    score: Floats
    """Under the objective, lower is better."""
    stage: Index
    """Index into STAGES where the option stops; PASSES where it does not."""
    at_estimate: Index
    """The same if estimates of prices counted: what passes here and not in `stage` needs a quote."""
    fails: Index
    """Every stage at which the option would stop, one bit each: 0 where it passes."""

    @property
    def passes(self) -> Flags:
        """Options that are offered."""
        return np.asarray(self.stage == PASSES, dtype=bool)


def evaluate(
    question: ShortlistQuestion,
    card_power_w: Floats,
    best: Best,
    prices: PriceGrid,
    speed_unit: str,
    barred: Barred,
) -> Candidates:
    """Cost, score and stage of every option.

    Parameters
    ----------
    question: everything asked. card_power_w: of one card each. best: plan of each card and count. prices: of
    each option. speed_unit: of the speeds in `best`. barred: what forbids each card, (cards, regions).

    Returns
    -------
    Candidates over (cards, counts, conditions).

    Errors
    ------
    InputFault for a deadline without work, work in a unit that the speed does not have, a budget in a
    currency
    other than yuan, an unknown objective.
    """
    economics = question.economics
    work = question.workload
    counts = np.asarray(best.counts, dtype=np.float64)
    power = card_power_w[:, np.newaxis] * counts
    speed = best.speed[..., np.newaxis]
    hours: Floats | None = None
    busy: Floats | None = None
    stated = question.work is not None and not question.work.assumed
    if question.deadline_hours is not None and not stated:
        raise InputFault.at("/work", "work_required_by_deadline")
    if question.work is not None:
        length = work.sequence_length
        tokens = float(np.mean(length)) if length is not None else None
        hours = work_hours(question.work, speed, speed_unit, tokens)
        busy = hours if work.trains else hours * economics.months
    costs = ownership(
        economics,
        prices.purchase_cny,
        prices.host_cny,
        power[..., np.newaxis] + prices.host_load_w,
        speed,
        UNIT_NAMES[speed_unit][1],
        busy,
        idle_w(question, prices.host_idle_w),
    )
    units = UNIT_NAMES[speed_unit][1]
    costs = with_rents(question, costs, prices.rent_cny_h, prices.conditions, units, speed)
    sustained = best.flops_per_unit[..., np.newaxis] * speed / TERA
    with np.errstate(divide="ignore", invalid="ignore"):
        score = objective_score(
            question.objective, costs.total_cny, costs.purchase_cny, sustained, speed, power[..., np.newaxis]
        )
    score = np.broadcast_to(score, prices.purchase_cny.shape)
    at_estimate, fails = _stages(question, best, prices, costs, power, hours)
    unsold = _unsold(question, barred, prices)
    fails |= bit("availability") * (unsold != OPEN)
    # What is only under a rule may be asked for; what nobody sells may not.
    _stop_before(at_estimate, "availability", unsold == BY_MARKET)
    stage = at_estimate
    if question.price_rules.evidence != "any":
        estimated = (prices.evidence < LEVELS.index("current")) & ~np.isnan(prices.purchase_cny)
        fails |= bit("evidence") * estimated
        weak = (prices.evidence < LEVELS.index("current")) & (at_estimate > STAGES.index("evidence"))
        stage = np.where(weak, STAGES.index("evidence"), at_estimate)
    if (unsold == BY_RULE).any():
        stage = stage.copy()
        _stop_before(stage, "availability", unsold == BY_RULE)
    return Candidates(best.counts, costs, speed, power, sustained, hours, score, stage, at_estimate, fails)


def idle_w(question: ShortlistQuestion, machines_w: Floats) -> Floats:
    """Power of machines while nothing runs, where that counts: a service stays on, a job ends."""
    return np.zeros_like(machines_w) if question.workload.trains else machines_w


def _unsold(question: ShortlistQuestion, barred: Barred, prices: PriceGrid) -> Barred:
    """What keeps each option from being bought, (cards, 1 or counts, 1 or conditions).

    Notes
    -----
    A price of today, or a quote, in the region of the prices shows that it is sold there all the same.
    """
    if question.filters.availability != SOLD:
        return np.zeros((len(barred), 1, 1), dtype=np.int8)
    sold = prices.evidence >= LEVELS.index("current")
    found = np.zeros(prices.evidence.shape, dtype=np.int8)
    for region, of_region in zip(regions_asked(question), barred.T, strict=True):
        here = of_region[:, np.newaxis, np.newaxis]
        there = np.where(sold, OPEN, here) if region == question.price_rules.region else here
        found = np.maximum(found, there)
    return np.where(prices.rent_cny_h > 0, OPEN, found)


def bit(name: str) -> int:
    """The bit of a stage in `Candidates.fails`."""
    return 1 << STAGES.index(name)


LATE = 1 << PASSES
"""The bit of a limit on the time of a token, which stops under `deadline`."""


def _stop_before(stage: Index, name: str, where: Flags) -> None:
    """Let options stop at a stage where they have not stopped before it."""
    place = STAGES.index(name)
    np.copyto(stage, place, where=np.broadcast_to(where, stage.shape) & (stage > place))


def regions_asked(question: ShortlistQuestion) -> tuple[str, ...]:
    """Where the cards are to be bought."""
    return question.filters.regions or (question.price_rules.region,)


def hours_limit(question: ShortlistQuestion) -> float:
    """Hours in which the work must be done: a month of inference or the horizon; a deadline tightens it."""
    month = question.economics.hours_per_month
    whole = month * question.economics.months if question.workload.trains else month
    return whole if question.deadline_hours is None else min(question.deadline_hours, whole)


@derived
def power_w(table: GpuTable) -> Floats:
    """TDP of one card; where it is unknown the middle of the catalogue's, which the option flags."""
    known = table.tdp_w[~np.isnan(table.tdp_w)]
    middle = float(np.median(known)) if known.size else UNKNOWN_TDP_W
    return np.where(np.isnan(table.tdp_w), middle, table.tdp_w)


def _stages(
    question: ShortlistQuestion,
    best: Best,
    prices: PriceGrid,
    costs: Costs,
    power: Floats,
    hours: Floats | None,
) -> tuple[Index, Index]:
    """First stage at which each option stops, and all: later ones are written first and overwritten."""
    filters = question.filters
    stage = np.full(prices.purchase_cny.shape, PASSES, dtype=np.intp)

    fails = np.zeros(stage.shape, dtype=np.intp)

    def stop(name: str, where: Flags, mark: int = 0) -> None:
        np.copyto(stage, STAGES.index(name), where=np.broadcast_to(where, stage.shape))
        np.bitwise_or(fails, (mark or bit(name)) * where, out=fails)

    if hours is not None and question.work is not None and not question.work.assumed:
        stop("deadline", ~(hours <= hours_limit(question)))
    late = too_late(best.token_ms, question.workload.latency_limit_ms)
    if late is not None:
        stop("deadline", late[..., np.newaxis], LATE)
    if question.budget is not None:
        if question.budget.currency != "CNY":
            raise InputFault.at("/budget/currency", "budget_not_converted", value=question.budget.currency)
        # A rent is paid over the term: all of it has to be inside.
        paid = np.where(prices.rent_cny_h > 0, costs.total_cny, costs.purchase_cny + costs.host_cny)
        stop("budget", paid > question.budget.amount)
    if question.price_rules.refuse_stale:
        stop("stale_price", prices.stale)
    stop("unpriced", np.isnan(prices.purchase_cny))
    if filters.max_power_w is not None:
        # The power of what is rented is drawn elsewhere.
        stop("power", ~(power <= filters.max_power_w)[..., np.newaxis] & ~(prices.rent_cny_h > 0))
    if best.missed is not None:
        stop("service", ~(best.missed <= ROUNDING)[..., np.newaxis])
    stop("memory", (best.level == 0)[..., np.newaxis])
    if filters.max_count is not None:
        stop("count", (np.asarray(best.counts) > filters.max_count)[np.newaxis, :, np.newaxis])
    # A card of unknown rate or bandwidth has no speed: it is no candidate under any objective.
    stop("precision", ~np.isfinite(best.speed)[..., np.newaxis])
    return stage, fails


def order(candidates: Candidates, best: Best, names: Index) -> Index:
    """Flat positions of the options that pass, best first.

    Notes
    -----
    Score, then speed, cost, margin, power, name, count and condition: the order of the input plays no part.
    Scores, speeds and costs are compared to nine digits, so that the last bit of a sum does not decide.
    """
    shape = candidates.score.shape
    flat = np.flatnonzero(candidates.passes)
    row, count, condition = np.unravel_index(flat, shape)
    score = _nine_digits(candidates.score.ravel()[flat])
    slowness = -_nine_digits(best.speed[row, count])
    cost = _nine_digits(np.broadcast_to(candidates.costs.total_cny, shape).ravel()[flat])
    margin = np.round(best.margin_gib[row, count], 6)
    power = candidates.power_w[row, count]
    keys = (condition, count, names[row], power, -margin, cost, slowness, score)
    return np.asarray(flat[np.lexsort(keys)], dtype=np.intp)


def nearest(stages: Index, margins: Floats, outlay: Floats) -> tuple[Index, Index]:
    """Count and condition at which rejected cards come closest.

    Parameters
    ----------
    stages: (cards, counts, conditions). margins: (cards, counts) GiB. outlay: as the stages, yuan.

    Returns
    -------
    Positions, (cards,) each, of the option that goes furthest; among those stopped by memory the one that
    misses least, elsewhere the cheapest, then the smallest count.
    """
    if not len(stages):
        none = np.zeros(0, dtype=np.intp)
        return none, none
    furthest = np.max(stages, axis=(1, 2), keepdims=True)
    missing = np.where(np.isnan(margins), 1e9, -margins)[..., np.newaxis]
    away = np.where(furthest == STAGES.index("memory"), missing, _known(outlay))
    return _least(np.where(stages == furthest, away, np.inf))


def cheapest(outlay: Floats) -> tuple[Index, Index]:
    """As `nearest` for cards that their filters reject at every count and condition alike."""
    return _least(_known(outlay))


def _known(outlay: Floats) -> Floats:
    return np.where(np.isnan(outlay), 1e18, outlay)


def _least(away: Floats) -> tuple[Index, Index]:
    flat = np.argmin(away.reshape(len(away), -1), axis=1)
    counts, conditions = np.unravel_index(flat, away.shape[1:])
    return np.asarray(counts, dtype=np.intp), np.asarray(conditions, dtype=np.intp)


def name_order(table: GpuTable, gpus: Sequence[Gpu]) -> Index:
    """Place of each card of a table in the order of names."""
    return keep(table, "name_order", Same(gpus), lambda: _name_order(gpus))


def _name_order(gpus: Sequence[Gpu]) -> Index:
    by_name = sorted(range(len(gpus)), key=lambda i: (gpus[i].name, gpus[i].id))
    places = np.empty(len(gpus), dtype=np.intp)
    places[by_name] = np.arange(len(gpus))
    return places


def _nine_digits(values: Floats) -> Floats:
    size = np.abs(values)
    digits = 8.0 - np.floor(np.log10(np.where(size > 0, size, 1.0)))
    scale = 10.0**digits
    return np.asarray(np.round(values * scale) / scale, dtype=np.float64)
