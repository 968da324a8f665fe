"""The ranked answer: every card at every count, filtered, priced, ordered and explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.core.candidates import Candidates, evaluate, hours_limit, name_order, nearest, order
from app.core.cost import UNIT_NAMES
from app.core.estimates import Assumption, Message
from app.core.filters import STAGES, Available, CardFilter, availability_flag, filter_cards
from app.core.gpu import Benchmark, Gpu
from app.core.gpu_table import Floats, GpuTable, Index
from app.core.grid import VERDICTS, Best, Grid, best_plans, blocked_precision, build_grid
from app.core.guidance import guidance
from app.core.kept import Kept
from app.core.memory import estimate as estimate_memory
from app.core.memory.estimator import reserved_on
from app.core.options import Cost, Fit, Metrics, Option, Rejected, Remedy, Robustness, Shortlist
from app.core.pareto import front
from app.core.plan import counts_to_try
from app.core.pricing import PriceGrid, Prices, price_grid
from app.core.question import ShortlistQuestion
from app.core.reasons import (
    LASTING_CODES,
    Standing,
    option_flags,
    option_label,
    reasons,
    simple_remedy,
)
from app.core.remedy_grid import memory_remedies
from app.core.robustness import RIVALS, robustness
from app.core.speed import speed_assumptions
from app.core.support import FrameworkRelease
from app.core.units import YUAN_PER_KILO
from app.core.workload import Parallelism, resolve

KEPT_REJECTIONS = 4096
KEPT_PRICE_GRIDS = 32
Cell = tuple[int, int, int]
"""Positions of card, count and condition."""


@dataclass(frozen=True)
class Ranking:
    """All arrays of one answer, before options are written out."""

    question: ShortlistQuestion
    gpus: Sequence[Gpu]
    table: GpuTable
    grid: Grid
    best: Best
    prices: PriceGrid
    cards: CardFilter
    candidates: Candidates
    availability: Available
    notes: tuple[Assumption, ...]
    """Defaults that were used."""
    order: Index
    """Flat positions (card, count, condition) of the options that pass, best first."""

    def cells(self, flats: Index) -> list[Cell]:
        """Card, count and condition of flat positions."""
        axes = np.unravel_index(flats, self.candidates.score.shape)
        return list(zip(*(axis.tolist() for axis in axes), strict=True))

    def label(self, cell: Cell) -> str:
        """Count, name and condition of an option: a price without its condition could be either."""
        row, n, k = cell
        return option_label(self.best.counts[n], self.gpus[row].name, self.prices.conditions[k])


def rank(
    question: ShortlistQuestion,
    table: GpuTable,
    gpus: Sequence[Gpu],
    prices: Prices,
    server_prices: Prices | None = None,
    benchmarks: Sequence[Benchmark] = (),
    support: Sequence[FrameworkRelease] = (),
    availability: Available | None = None,
    seed: int = 0,
) -> Shortlist:
    """Rank every way to buy cards for a question.

    Parameters
    ----------
    question: workload, counts, filters, budget in yuan, economics, objective.
    table, gpus: the catalogue, in one order. prices: per card by (gpu id, condition); server_prices: per
    8-card
    machine. benchmarks: measurements (a `BenchmarkIndex` is fastest). support: framework releases.
    availability: statements by (gpu id, region), newest first. seed: of the draws of the robustness.

    Returns
    -------
    Options best first, rejected cards with reasons, Pareto ranks, advice.

    Errors
    ------
    InputFault where the question cannot be computed as asked.
    """
    ranking = evaluate_grid(
        question, table, gpus, prices, server_prices or {}, benchmarks, support, availability or {}
    )
    return write_out(ranking, seed)


def evaluate_grid(
    question: ShortlistQuestion,
    table: GpuTable,
    gpus: Sequence[Gpu],
    prices: Prices,
    server_prices: Prices,
    benchmarks: Sequence[Benchmark],
    support: Sequence[FrameworkRelease],
    availability: Available,
) -> Ranking:
    """Everything that is computed for all cards, in arrays."""
    work, notes = resolve(question.workload)
    question = replace(question, workload=work)
    if question.filters.gpus:
        wanted = set(question.filters.gpus)
        rows = [i for i, g in enumerate(gpus) if g.id in wanted]
    else:
        rows = list(range(len(gpus)))
    counts = counts_to_try(work, question.counts)
    host = question.filters.max_cards_per_host
    grid = build_grid(work, table, gpus, counts, benchmarks, host)
    if len(rows) != len(gpus):
        # Measurements of all cards inform the speed; only the wanted ones are candidates.
        grid, table, gpus = _only(grid, table, gpus, rows)
    blocked = blocked_precision(work, grid.rate, table)
    cards = filter_cards(
        gpus, table, question.filters, blocked, work.precision, work.engine, support, availability
    )
    best = best_plans(grid, counts)
    priced = _priced(question, gpus, best.counts, prices, server_prices)
    candidates = evaluate(question, table, best, priced, cards, grid.speed.terms.unit)
    found = order(candidates, best, name_order(gpus))
    return Ranking(question, gpus, table, grid, best, priced, cards, candidates, availability, notes, found)


_price_grids: Kept[PriceGrid] = Kept(KEPT_PRICE_GRIDS)


def _priced(
    question: ShortlistQuestion, gpus: Sequence[Gpu], counts: tuple[int, ...], prices: Prices, servers: Prices
) -> PriceGrid:
    """As `price_grid`; nothing of the workload enters, so questions in one frame share it."""
    if question.price_overrides or question.filters.gpus:
        # The asker's own prices and choice of cards are objects that no other question brings.
        return price_grid(question, gpus, counts, prices, servers)
    return _price_grids.get(
        (gpus, prices, servers),
        (question.filters.conditions, counts, question.economics.host_cny_per_gpu),
        lambda: price_grid(question, gpus, counts, prices, servers),
    )


def write_out(ranking: Ranking, seed: int = 0) -> Shortlist:
    """Options, rejections and advice of a ranking."""
    question = ranking.question
    candidates = ranking.candidates
    shape = candidates.score.shape
    limit = max(question.limit, 1)
    shown = ranking.order[:limit]
    total = np.broadcast_to(candidates.costs.total_cny, shape).ravel()[ranking.order]
    speed = np.broadcast_to(candidates.speed, shape).ravel()[ranking.order]
    on_front = front(total, speed)
    pareto = tuple(int(p) + 1 for p in on_front if p < len(shown))
    rivals = ranking.cells(ranking.order[: max(RIVALS, len(shown))])
    ranking.grid.speed.prepare([(r, int(ranking.best.plan[r, n])) for r, n, _ in rivals])
    firm = robustness(ranking, rivals, len(shown), seed)
    cells = rivals[: len(shown)]
    costs = _costs(ranking, shown)
    standings = [
        _standing(ranking, cell, i + 1, costs[i].total_cny, i + 1 in pareto) for i, cell in enumerate(cells)
    ]
    runner_up = standings[1] if len(standings) > 1 else None
    options = [
        _option(
            ranking,
            cell,
            i + 1,
            costs[i],
            reasons(question.objective, standings[i], standings[0], runner_up),
            firm[i],
        )
        for i, cell in enumerate(cells)
    ]
    return Shortlist(
        options=tuple(options),
        rejected=tuple(_rejections(ranking)),
        pareto=pareto,
        feasible=len(ranking.order),
        assumptions=(*ranking.notes, *speed_assumptions(question.workload)),
        advice=_advice(ranking, shown),
    )


def _only(
    grid: Grid, table: GpuTable, gpus: Sequence[Gpu], rows: list[int]
) -> tuple[Grid, GpuTable, Sequence[Gpu]]:
    index = np.asarray(rows, dtype=np.intp)
    narrowed = grid.speed.only(index)
    rate = replace(
        grid.rate,
        tflops=grid.rate.tflops[index],
        fallback=grid.rate.fallback[index],
        lacks_type=grid.rate.lacks_type[index],
    )
    small = replace(
        grid, speed=narrowed, level=grid.level[index], margin_gib=grid.margin_gib[index], rate=rate
    )
    return small, table.take(index), [gpus[i] for i in rows]


def _option(
    ranking: Ranking, cell: Cell, place: int, cost: Cost, why: tuple[Message, ...], firm: Robustness
) -> Option:
    row, n, k = cell
    question, grid, best = ranking.question, ranking.grid, ranking.best
    gpu = ranking.gpus[row]
    count = best.counts[n]
    plan = int(best.plan[row, n])
    price = ranking.prices.choice(row, n, k)
    fit = Fit(
        verdict=VERDICTS[int(best.level[row, n])],
        usable_gib=float(ranking.table.usable_gib[row]),
        margin_gib=float(best.margin_gib[row, n]),
    )
    rate = grid.rate
    flags = option_flags(
        gpu, fit, price, question.workload, bool(rate.fallback[row]), bool(rate.lacks_type[row])
    )
    remark = availability_flag(gpu, question.price_rules.region, ranking.availability)
    if remark is not None:
        flags = (*flags, remark)
    return Option(
        rank=place,
        gpu=gpu,
        count=count,
        condition=ranking.prices.conditions[k],
        plan=grid.plans[plan],
        fit=fit,
        memory=reserved_on(grid.memory(plan), question.workload, gpu),
        speed=grid.speed.estimate(row, plan),
        price=price,
        cost=cost,
        metrics=_metrics(ranking, row, n, k),
        reasons=why,
        flags=(*ranking.cards.flags.get(row, ()), *flags),
        robustness=firm,
    )


def _costs(ranking: Ranking, shown: Index) -> list[Cost]:
    """Money of the options shown, each part taken out of its array once for all of them."""
    candidates = ranking.candidates
    costs = candidates.costs
    shape = candidates.score.shape

    def at(values: Floats) -> list[float]:
        # Parts may be the same for all counts or conditions.
        found: list[float] = np.broadcast_to(values, shape).ravel()[shown].tolist()
        return found

    hours = [None] * len(shown) if candidates.hours is None else at(candidates.hours)
    unit = UNIT_NAMES[ranking.grid.speed.terms.unit][0]
    months = ranking.question.economics.months
    parts = zip(
        at(costs.purchase_cny),
        at(costs.host_cny),
        at(costs.energy_cny),
        at(costs.residual_cny),
        at(costs.total_cny),
        at(costs.per_hour_cny),
        at(costs.per_unit_cny),
        at(costs.energy_kwh),
        hours,
        strict=True,
    )
    return [
        Cost(bought, host, energy, residual, total, hourly, each, unit, kwh, months, spent)
        for bought, host, energy, residual, total, hourly, each, kwh, spent in parts
    ]


def _metrics(ranking: Ranking, row: int, n: int, k: int) -> Metrics:
    count = ranking.best.counts[n]
    gpu = ranking.gpus[row]
    rate = float(ranking.grid.rate.tflops[row])
    purchase = float(ranking.prices.purchase_cny[row, n, k]) / YUAN_PER_KILO
    peak = None if np.isnan(rate) else rate * count
    sustained = float(ranking.candidates.sustained_tflops[row, n, 0])
    fmt = ranking.question.workload.format
    named = fmt.rate.partition("_")[0]
    if ranking.grid.rate.fallback[row]:
        named = "fp32" if named == "tf32" else "fp16" if ranking.grid.rate.lacks_type[row] else "bf16"

    def per_kilo(value: float | None) -> float | None:
        return None if value is None or not purchase else value / purchase

    return Metrics(
        precision=named,
        peak_tflops=peak,
        sustained_tflops=sustained,
        peak_tflops_per_1000_cny=per_kilo(peak),
        sustained_tflops_per_1000_cny=per_kilo(sustained),
        gib_per_1000_cny=per_kilo(None if gpu.memory_gib is None else gpu.memory_gib * count),
        gb_s_per_1000_cny=per_kilo(None if gpu.bandwidth_gb_s is None else gpu.bandwidth_gb_s * count),
    )


def _standing(ranking: Ranking, cell: Cell, place: int, total_cny: float, on_front: bool) -> Standing:
    row, n, k = cell
    return Standing(
        rank=place,
        label=ranking.label(cell),
        value=float(ranking.candidates.score[row, n, k]),
        total_cny=total_cny,
        speed=float(ranking.best.speed[row, n]),
        speed_unit=ranking.grid.speed.terms.unit,
        on_front=on_front,
    )


def _rejections(ranking: Ranking) -> list[Rejected]:
    """One entry for each card without any option, by name."""
    candidates, best, gpus = ranking.candidates, ranking.best, ranking.gpus
    passes = candidates.passes
    rows = np.flatnonzero(~passes.any(axis=(1, 2)))
    shape = candidates.score.shape
    outlay = np.broadcast_to(candidates.costs.purchase_cny + candidates.costs.host_cny, shape)
    counts, conditions = nearest(candidates.stage[rows], best.margin_gib[rows], outlay[rows])
    by_name = np.argsort(name_order(gpus)[rows], kind="stable")
    rows, counts, conditions = rows[by_name], counts[by_name], conditions[by_name]
    cells = list(zip(rows.tolist(), counts.tolist(), conditions.tolist(), strict=True))
    codes = [STAGES[stage] for stage in candidates.stage[rows, counts, conditions].tolist()]
    outlays = outlay[rows, counts, conditions].tolist()
    remedies = memory_remedies(
        ranking.question.workload,
        ranking.grid,
        {r: int(best.plan[r, n]) for (r, n, _), code in zip(cells, codes, strict=True) if code == "memory"},
        ranking.table.usable_gib,
    )
    return [
        _rejection(ranking, cell, code, amount, remedies.get(cell[0]))
        for cell, code, amount in zip(cells, codes, outlays, strict=True)
    ]


_lasting: Kept[Rejected] = Kept(KEPT_REJECTIONS)


def _rejection(ranking: Ranking, cell: Cell, code: str, outlay: float, remedy: Remedy | None) -> Rejected:
    """As `_rejected`; one and the same object for as long as the filters of the card say the same."""
    said = ranking.cards.stage.get(cell[0])
    if code not in LASTING_CODES or (said is None and code != "unpriced"):
        return _rejected(ranking, cell, code, outlay, remedy)
    work = ranking.question.workload
    return _lasting.get(
        (ranking.gpus[cell[0]], None if said is None else said[1]),
        (ranking.best.counts[cell[1]], code, work.engine, work.precision),
        lambda: _rejected(ranking, cell, code, outlay, remedy),
    )


def _rejected(ranking: Ranking, cell: Cell, code: str, outlay: float, remedy: Remedy | None) -> Rejected:
    row, n, k = cell
    question, gpu = ranking.question, ranking.gpus[row]
    count = ranking.best.counts[n]
    params: dict[str, object] = {"gpu": gpu.name, "gpu_id": gpu.id, "count": count}
    shortfall = None
    message = None
    if row in ranking.cards.stage:
        message = ranking.cards.stage[row][1]
        if code == "framework" and message.code == "framework_lacks_capability":
            params["engine"] = question.workload.engine
        if code == "os" and "needed" in message.params:
            params["needed"] = message.params["needed"]
        if code == "precision" and ranking.grid.rate.lacks_type[row]:
            params |= {"to": "fp16", "precision": question.workload.precision}
    elif code == "precision":
        message = Message(
            "rejected_rate_unknown", {"gpu": gpu.name, "precision": question.workload.precision}
        )
    elif code == "memory":
        margin = float(ranking.best.margin_gib[row, n])
        if np.isnan(margin):
            message = Message("rejected_memory_unknown", params)
        else:
            shortfall = -margin
            need = float(ranking.grid.expected_gib[int(ranking.best.plan[row, n])])
            params |= {
                "need_gib": need,
                "usable_gib": float(ranking.table.usable_gib[row]),
                "shortfall_gib": shortfall,
            }
    elif code == "budget" and question.budget is not None:
        params |= {
            "needed": outlay,
            "amount": question.budget.amount,
            "over": outlay - question.budget.amount,
        }
    elif code == "power":
        params |= {
            "power_w": float(ranking.candidates.power_w[row, n]),
            "limit_w": question.filters.max_power_w,
        }
    elif code == "deadline" and ranking.candidates.hours is not None:
        params["work_hours"] = float(ranking.candidates.hours[row, n, 0])
        params["deadline_hours"] = hours_limit(question)
    elif code == "stale_price":
        price = ranking.prices.choice(row, n, k)
        params |= {"observed_on": price.observed_on, "age_days": price.age_days}
    return Rejected(
        gpu=gpu,
        count=count,
        code=code,
        message=message or Message(f"rejected_{code}", params),
        shortfall_gib=shortfall,
        remedy=remedy or simple_remedy(code, params),
    )


def _advice(ranking: Ranking, shown: Index) -> tuple[Message, ...]:
    work = ranking.question.workload
    single = ranking.grid.plans.index(Parallelism()) if Parallelism() in ranking.grid.plans else None
    if single is None:
        alone = replace(work, parallelism=None)
        need = float(estimate_memory(alone, Parallelism()).per_gpu_gib.expected)
    else:
        need = float(ranking.grid.expected_gib[single])
    hours = None
    if ranking.candidates.hours is not None and len(shown):
        row, n, _ = ranking.cells(shown[:1])[0]
        hours = float(ranking.candidates.hours[row, n, 0])
    return guidance(ranking.question.questions, work, ranking.question.economics, need, hours)
