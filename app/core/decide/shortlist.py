"""The ranked answer: every card at every count, filtered, priced, ordered and explained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from app.core.decide.asked_needs import Unmet, first_hours, parts_tenants, stop_unmet, unmet
from app.core.decide.availability import Available, availability_flag, barred
from app.core.decide.candidates import (
    Candidates,
    bit,
    evaluate,
    name_order,
    order,
    power_w,
    regions_asked,
)
from app.core.decide.cost import UNIT_NAMES, per_1000_cny
from app.core.decide.engine_support import CardSupport, EngineSupport, supports
from app.core.decide.filters import STAGES, CardFilter, filter_cards
from app.core.decide.grid import (
    VERDICTS,
    Best,
    Grid,
    Only,
    best_plans,
    blocked_precision,
    build_grid,
    unrated,
)
from app.core.decide.guidance import guidance, unit_advice
from app.core.decide.host import HostClass, host_grid
from app.core.decide.options import (
    Cost,
    Fit,
    Metrics,
    Option,
    PerUnit,
    Robustness,
    Shortlist,
    pareto_front,
)
from app.core.decide.pricing import NO_OFFERS, PriceGrid, Prices, price_grid
from app.core.decide.reasons import (
    Standing,
    option_flags,
    option_label,
    reasons,
)
from app.core.decide.recommendation import HOLDS, holds, outcome
from app.core.decide.rejections import rejections
from app.core.decide.renting import Offers, acquisitions, buys
from app.core.decide.robustness import RIVALS, robustness
from app.core.decide.service import Served
from app.core.decide.support import FrameworkRelease
from app.core.decide.worked import option_formulas
from app.core.estimates import Assumption, Message
from app.core.gpu import Benchmark, Gpu
from app.core.gpu_table import Flags, Floats, GpuTable, Index, compute_rate
from app.core.kept import Same, keep
from app.core.memory import estimate as estimate_memory
from app.core.memory.estimator import reserved_on
from app.core.plan import counts_to_try
from app.core.question import RENTS, ShortlistQuestion
from app.core.resolve import resolve
from app.core.speed import speed_assumptions
from app.core.workload import Parallelism, Workload

KEPT_PRICE_GRIDS = 32
Cell = tuple[int, int, int]
"""Positions of card, count and condition."""


@dataclass(frozen=True)
class Asked:
    """The cards asked about, and what their filters say of them by row."""

    table: GpuTable
    gpus: Sequence[Gpu]
    prices: PriceGrid
    filter: CardFilter
    support: Sequence[CardSupport]
    lacks_type: Flags
    """As in `ComputeRate`."""


@dataclass(frozen=True, slots=True)
class Screened:
    """What filters say of the cards, options apart."""

    filter: CardFilter
    support: Sequence[CardSupport]
    lacks_type: Flags


@dataclass(frozen=True)
class Ranking:
    """All arrays of one answer, before options are written out."""

    asked_question: ShortlistQuestion
    """As it came: what it leaves open is open."""
    again: Callable[[ShortlistQuestion, Only], Ranking]
    """The same for another question and some of the cards."""
    screen: Callable[[Workload], Screened]
    """What the filters say of the cards for another workload."""
    question: ShortlistQuestion
    asked: Asked
    rows: Index
    """Of the cards asked about, those that no filter of the card alone rejects; the arrays are of them."""
    gpus: Sequence[Gpu]
    usable_gib: Floats
    grid: Grid
    best: Best
    prices: PriceGrid
    candidates: Candidates
    availability: Available
    needs: Unmet | None
    """Of the asker, beside what the filters say."""
    hours: float | None
    """Of the work on the best option, before the asker's needs stop any."""
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
        return option_label(self.best.counts[n], self.gpus[row].name, self.prices.condition(k))


def rank(
    question: ShortlistQuestion,
    table: GpuTable,
    gpus: Sequence[Gpu],
    prices: Prices,
    server_prices: Prices | None = None,
    benchmarks: Sequence[Benchmark] = (),
    support: Sequence[FrameworkRelease] = (),
    availability: Available | None = None,
    engine_support: Sequence[EngineSupport] = (),
    hosts: Sequence[HostClass] = (),
    rents: Offers = NO_OFFERS,
    seed: int = 0,
    with_formulas: bool = False,
) -> Shortlist:
    """Rank every way to buy cards for a question.

    Parameters
    ----------
    question: workload, counts, filters, budget in yuan, economics, objective.
    table, gpus: the catalogue, in one order. prices: per card by (gpu id, condition); server_prices: per
    8-card
    machine. benchmarks: measurements (a `BenchmarkIndex` is fastest). support: framework releases.
    availability: statements by (gpu id, region), newest first.
    engine_support: what is stated of engines. hosts: classes of machines and their prices.
    rents: by (gpu id, acquisition).
    seed: of the draws of the robustness.
    with_formulas: whether the options say how each of their figures was computed.

    Returns
    -------
    Options best first, rejected cards with reasons, Pareto ranks, advice.

    Errors
    ------
    InputFault where the question cannot be computed as asked.
    """
    ranking = evaluate_grid(
        question,
        table,
        gpus,
        prices,
        server_prices or {},
        benchmarks,
        support,
        availability or {},
        engine_support,
        hosts,
        rents,
    )
    return write_out(ranking, seed, with_formulas)


def evaluate_grid(
    question: ShortlistQuestion,
    table: GpuTable,
    gpus: Sequence[Gpu],
    prices: Prices,
    server_prices: Prices,
    benchmarks: Sequence[Benchmark],
    support: Sequence[FrameworkRelease],
    availability: Available,
    engine_support: Sequence[EngineSupport] = (),
    hosts: Sequence[HostClass] = (),
    rents: Offers = NO_OFFERS,
    only: Only | None = None,
) -> Ranking:
    """Everything that is computed for all cards, in arrays; `only`: for some of them at some counts."""

    def again(changed: ShortlistQuestion, some: Only) -> Ranking:
        known = (table, gpus, prices, server_prices, benchmarks, support, availability, engine_support)
        # What is tried lets a card in as it would be bought.
        return evaluate_grid(changed, *known, hosts, NO_OFFERS if buys(changed) else rents, some)

    asked_question = question
    work, notes = resolve(question.workload)
    question = replace(question, workload=work)
    counts = counts_to_try(work, question.counts)
    chosen = np.arange(len(gpus))
    asked_gpus, asked_table = gpus, table
    if question.filters.gpus:
        wanted = set(question.filters.gpus)
        chosen = np.array([i for i, g in enumerate(gpus) if g.id in wanted], dtype=np.intp)
        asked_gpus, asked_table = [gpus[i] for i in chosen.tolist()], table.take(chosen)

    def screen(work: Workload) -> Screened:
        rate = compute_rate(table, work.format).take(chosen)
        blocked = blocked_precision(work, rate, asked_table)
        stated = supports(asked_table, asked_gpus, work, engine_support, support)
        cards = filter_cards(
            asked_gpus,
            asked_table,
            question.filters,
            blocked,
            unrated(rate, asked_table),
            work.precision,
            work.engine,
            support,
            stated,
        )
        return Screened(cards, stated, rate.lacks_type)

    screened = screen(work)
    cards = screened.filter
    passing = (i for i in range(len(asked_gpus)) if i not in cards.stage)
    rows = np.array([i for i in passing if only is None or i in only.rows], dtype=np.intp)
    tried = counts if only is None else only.counts
    host = question.filters.max_cards_per_host
    parted = partial(parts_tenants, work=work) if question.questions.tenants else None
    goals = question.service
    grid = build_grid(work, table, gpus, tried, benchmarks, host, chosen[rows], parted, goals)
    best = best_plans(grid, tried)
    every = best.counts if only is None else counts
    priced = _priced(question, asked_table, asked_gpus, every, prices, server_prices, hosts, rents)
    offers = priced.take(rows, None if only is None else [every.index(count) for count in best.counts])
    forbids = [barred(asked_table, asked_gpus, r, availability)[rows] for r in regions_asked(question)]
    candidates = evaluate(
        question,
        power_w(table)[chosen][rows],
        best,
        offers,
        grid.speed.terms.unit,
        np.stack(forbids, axis=1),
    )
    among = [asked_gpus[i] for i in rows.tolist()]
    hours = first_hours(candidates)
    needs = unmet(question, among, grid, best, hours)
    if needs is not None:
        stop_unmet(candidates, needs)
    found = Ranking(
        asked_question=asked_question,
        again=again,
        screen=screen,
        question=question,
        asked=Asked(asked_table, asked_gpus, priced, cards, screened.support, screened.lacks_type),
        rows=rows,
        gpus=among,
        usable_gib=asked_table.usable_gib[rows],
        grid=grid,
        best=best,
        prices=offers,
        candidates=candidates,
        availability=availability,
        needs=needs,
        hours=hours,
        notes=notes,
        order=order(candidates, best, name_order(asked_table, asked_gpus)[rows]),
    )
    return _one_rent(found) if question.load_assumed and buys(question) else found


def _one_rent(ranking: Ranking) -> Ranking:
    """A ranking in which the best rent stands for all of them.

    Nobody said how much is to be done: rents for work that nobody has would hide what can be bought.
    """
    rented = np.array([kind in RENTS for kind in ranking.prices.conditions], dtype=bool)
    if not rented.any() or not len(ranking.order):
        return ranking
    candidates, by = ranking.candidates, holds(ranking).by
    let = np.broadcast_to(rented, by.shape).ravel()[ranking.order]
    sound = let & (by.ravel()[ranking.order] == HOLDS.index("assumed"))
    kept = ranking.order[~let | (np.arange(len(let)) == np.argmax(sound)) & sound]
    stage, at_estimate, fails = (
        candidates.stage.copy(),
        candidates.at_estimate.copy(),
        candidates.fails.copy(),
    )
    others = np.setdiff1d(ranking.order[let], kept)
    for values in (stage, at_estimate):
        values.ravel()[others] = STAGES.index("unpriced")
    fails.ravel()[others] |= bit("unpriced")
    candidates = replace(candidates, stage=stage, at_estimate=at_estimate, fails=fails)
    return replace(ranking, candidates=candidates, order=kept)


def _priced(
    question: ShortlistQuestion,
    table: GpuTable,
    gpus: Sequence[Gpu],
    counts: tuple[int, ...],
    prices: Prices,
    servers: Prices,
    hosts: Sequence[HostClass],
    rents: Offers,
) -> PriceGrid:
    """As `price_grid`; nothing of the workload enters, so questions in one frame share it."""
    frame, per_host = question.economics, question.filters.max_cards_per_host
    spare = question.service.spare_hosts if question.service else 0
    machines = host_grid(hosts, frame, counts, per_host, spare)
    if question.price_overrides or question.filters.gpus:
        # The asker's own prices and choice of cards are objects that no other question brings.
        return price_grid(question, gpus, counts, prices, servers, machines, rents)
    asked = (
        question.filters.conditions,
        counts,
        frame.host,
        frame.host_cny_per_gpu,
        per_host,
        spare,
        Same(hosts),
        Same(rents),
        buys(question),
        acquisitions(question),
    )
    return keep(
        table,
        "price_grids",
        (Same(gpus), Same(prices), Same(servers), asked),
        lambda: price_grid(question, gpus, counts, prices, servers, machines, rents),
        KEPT_PRICE_GRIDS,
    )


def write_out(ranking: Ranking, seed: int = 0, with_formulas: bool = False) -> Shortlist:
    """Options, rejections and advice of a ranking."""
    question = ranking.question
    candidates = ranking.candidates
    shape = candidates.score.shape
    advice = _advice(ranking)
    held = holds(ranking)
    sound = np.flatnonzero(held.code.ravel()[ranking.order] == 0)
    first = int(sound[0]) if sound.size else None
    places = _shown(len(ranking.order), max(question.limit, 1), first)
    shown = ranking.order[places]
    total = np.broadcast_to(candidates.costs.total_cny, shape).ravel()[ranking.order]
    speed = np.broadcast_to(candidates.speed, shape).ravel()[ranking.order]
    on_front = set(pareto_front(total, speed).tolist())
    pareto = tuple(place + 1 for place in places if place in on_front)
    others = [place for place in range(min(RIVALS, len(ranking.order))) if place not in places]
    rivals = ranking.cells(ranking.order[[*places, *others][: max(RIVALS, len(places))]])
    cells = rivals[: len(shown)]
    ranking.grid.speed.prepare([(r, int(ranking.best.plan[r, n])) for r, n, _ in cells])
    firm = robustness(ranking, rivals, len(shown), seed)
    costs = _costs(ranking, shown)
    standings = [
        _standing(ranking, cell, place + 1, cost.total_cny, place in on_front)
        for cell, place, cost in zip(cells, places, costs, strict=True)
    ]
    runner_up = standings[1] if len(standings) > 1 else None
    options = [
        _option(
            ranking,
            cell,
            own.rank,
            cost,
            reasons(question.objective, own, standings[0], runner_up),
            robust,
        )
        for cell, own, cost, robust in zip(cells, standings, costs, firm, strict=True)
    ]
    if with_formulas:
        opened = [option_formulas(ranking, cell) for cell in cells]
        options = [replace(o, formulas=f) for o, f in zip(options, opened, strict=True)]
    return Shortlist(
        options=tuple(options),
        rejected=tuple(rejections(ranking)),
        pareto=pareto,
        feasible=len(ranking.order),
        assumptions=(*ranking.notes, *speed_assumptions(question.workload)),
        advice=advice,
        outcome=outcome(ranking, options, None if first is None else int(ranking.order[first]), held),
    )


def _shown(feasible: int, limit: int, recommended: int | None) -> list[int]:
    """Places in the order, from 0, of the options written out; what is recommended is one of them."""
    places = list(range(min(limit, feasible)))
    if recommended is not None and recommended >= limit > 1:
        places[-1] = recommended
    return places


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
        usable_gib=float(ranking.usable_gib[row]),
        margin_gib=float(best.margin_gib[row, n]),
    )
    rate = grid.rate
    flags = option_flags(
        gpu,
        fit,
        price,
        question.workload,
        bool(rate.fallback[row]),
        bool(rate.lacks_type[row]),
        question.price_rules.tax,
    )
    remark = availability_flag(gpu, question.price_rules.region, ranking.availability)
    if remark is not None:
        flags = (*flags, remark)
    return Option(
        rank=place,
        gpu=gpu.ref,
        count=count,
        condition=ranking.prices.condition(k),
        acquisition=ranking.prices.acquisition(k),
        plan=grid.plans[plan],
        fit=fit,
        memory=reserved_on(grid.memory(plan), question.workload, gpu),
        speed=grid.speed.estimate(row, plan),
        price=price,
        cost=cost,
        metrics=_metrics(ranking, row, n, k),
        reasons=why,
        service=_served(ranking, row, plan),
        host=None if ranking.prices.acquisition(k) in RENTS else ranking.prices.machines(row, n, k).use(),
        support=ranking.asked.support[int(ranking.rows[row])],
        flags=(*ranking.asked.filter.flags.get(int(ranking.rows[row]), ()), *flags),
        robustness=firm,
    )


def _served(ranking: Ranking, row: int, plan: int) -> Served | None:
    grid = ranking.grid.service
    if grid is None:
        return None
    return Served(
        users=float(grid.users[row, plan]),
        tokens_per_s_per_user=float(grid.per_user[row, plan]),
        first_token_s=float(grid.first_token_s[row, plan]),
        met=bool(grid.met[row, plan]),
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
        Cost(bought, host, energy, residual, total, hourly, PerUnit(each, unit), kwh, months, spent)
        for bought, host, energy, residual, total, hourly, each, kwh, spent in parts
    ]


def _metrics(ranking: Ranking, row: int, n: int, k: int) -> Metrics:
    count = ranking.best.counts[n]
    gpu = ranking.gpus[row]
    rate = float(ranking.grid.rate.tflops[row])
    purchase = float(ranking.prices.purchase_cny[row, n, k])
    peak = None if np.isnan(rate) else rate * count
    sustained = float(ranking.candidates.sustained_tflops[row, n, 0])
    fmt = ranking.question.workload.format
    named = fmt.compute.rate.partition("_")[0]
    if ranking.grid.rate.fallback[row]:
        named = "fp32" if named == "tf32" else "fp16" if ranking.grid.rate.lacks_type[row] else "bf16"

    def per_kilo(value: float | None) -> float | None:
        return None if value is None or not purchase else float(per_1000_cny(value, purchase))

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
        margin_gib=float(ranking.best.margin_gib[row, n]),
        power_w=float(ranking.candidates.power_w[row, n]),
    )


def _advice(ranking: Ranking) -> tuple[Message, ...]:
    work = ranking.question.workload
    single = ranking.grid.plans.index(Parallelism()) if Parallelism() in ranking.grid.plans else None
    if single is None:
        alone = replace(work, parallelism=None)
        need = float(estimate_memory(alone, Parallelism()).per_gpu_gib.expected)
    else:
        need = float(ranking.grid.expected_gib[single])
    question = ranking.question
    spare = question.service.spare_hosts if question.service else 0
    found = guidance(question.questions, work, question.economics, need, ranking.hours, spare)
    return (*found, *unit_advice(work, question.objective, ranking.asked.gpus))
