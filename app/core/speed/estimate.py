"""Speed with its interval and basis: the model corrected by measurements, for a grid or for one option."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from app.core.estimates import Assumption, Basis, Interval, SpeedEstimate
from app.core.formats import format_of
from app.core.gpu import Benchmark, Gpu
from app.core.gpu_table import Flags, Floats, GpuTable, Index, compute_rate
from app.core.plan import check_plan
from app.core.resolve import resolve
from app.core.speed.evidence import BenchmarkIndex, Corrections, corrections
from app.core.speed.generation import schedule, speed_assumptions
from app.core.speed.kin import no_cut_card_faster
from app.core.speed.measurements import STEPS_PER_S
from app.core.speed.own import NO_OWN, PARTS, RUN, OwnCorrection, OwnRow, own_correction
from app.core.speed.predict import predict
from app.core.speed.terms import Plans, Shape, Terms, cell_of
from app.core.speed.worked import LATENCIES, Question, SpeedFormulas, formulas, queued
from app.core.workload import Parallelism, Workload

BASES: tuple[Basis, ...] = ("measured", "calibrated", "derived")
"""From the surest to the least sure."""
WIDE = ("fp32", "tf32")
"""Formats of one size: the products of the second run on matrix units."""
HALF = "half"
RUN_PHASE = "whole_run"
HEADLINE = {"prefill": "prefill", "decode": "decode", "saturated": "serving", RUN_PHASE: "serving"}
"""Phase of `evidence.PHASES` that corrects the headline figure, by phase of the terms; else "other"."""


@dataclass(frozen=True)
class SpeedGrid:
    """Throughput of cards x plans, corrected by measurements."""

    terms: Terms
    corrections: Corrections
    expected: Floats
    """Units per second over all cards, (cards, plans)."""
    question: Question
    plain: SpeedGrid | None = None
    """The same question in fp32, which cards answer that have no faster units for its format."""
    in_plain: Flags | None = None
    """(cards,) those cards."""
    plain_rows: Index | None = None
    """(cards,) their places in `plain`; None: the same as here."""
    twin: SpeedGrid | None = None
    """The same question in the other of fp32 and tf32, whose figure counts in some cells."""
    limit_ms: float | None = None
    """Asked of one output token; None where nothing is."""

    @property
    def headline(self) -> str:
        """Phase of `evidence.PHASES` that corrects the headline figure."""
        return HEADLINE.get(self.terms.phase, "other")

    def elsewhere(self, card: int) -> tuple[SpeedGrid, int] | None:
        """The grid that answers for a card, and its place there, where that is another."""
        if self.plain is None or self.in_plain is None or not self.in_plain[card]:
            return None
        return self.plain, card if self.plain_rows is None else int(self.plain_rows[card])

    def formulas(self, card: int, plan: int) -> SpeedFormulas:
        """How the figures of one cell were computed."""
        other = self.elsewhere(card)
        if other is not None:
            return other[0].formulas(other[1], plan)
        return formulas(self, card, plan)

    @cached_property
    def token_ms(self) -> Floats | None:
        """Milliseconds of one output token, (cards, plans); None where no limit is asked of it.

        Notes
        -----
        Under the load that was asked for. Where nobody said how many sequences, as many run together as keep
        the limit; where one alone does not, this is above it: the least that the card reaches.
        """
        if self.limit_ms is None:
            return None
        return self.waits[1] * 1000.0

    @cached_property
    def waits(self) -> tuple[Floats, Floats]:
        """Seconds until the first token, and of each later one, (cards, plans); of a model that writes.

        Notes
        -----
        In an engine that queues, measurements of a phase change the time that prompts or steps take in one
        cycle; seat to first token, the rest of the cycle and the queue follow, so that requests per second
        x (first + later ones) stays the number of users.
        """
        detail, shape, offset = self.terms.detail, self.expected.shape, self.corrections.offset
        whole = offset.get("serving", 0.0) if self.terms.queues else 0.0
        prefill, decode = (np.exp(offset.get(p, 0.0) + whole) for p in PARTS)
        if not self.terms.queues:
            first = detail["time_to_first_token_s"] / prefill
            later = detail["time_per_output_token_s"] / decode
        else:
            steps = np.maximum(np.subtract(self.question.shape.output, 1.0), 1.0)
            first, later = queued(detail, prefill, decode, steps)
        return np.broadcast_to(first, shape), np.broadcast_to(later, shape)

    def factor(self, phase: str, card: int, plan: int) -> float:
        """Measured over predicted of one phase in one cell."""
        offset = self.corrections.offset.get(phase)
        return 1.0 if offset is None else float(np.exp(offset[card, plan]))

    def widths(self, cells: Sequence[tuple[int, int]]) -> Floats:
        """Half-widths of the 80 % interval of the headline figure in some cells (card, plan), logarithms."""
        found = self._widths(cells)
        others = [(i, self.elsewhere(card), plan) for i, (card, plan) in enumerate(cells)]
        moved = [(i, other, plan) for i, other, plan in others if other is not None]
        if moved:
            plain = moved[0][1][0].widths([(other[1], plan) for _, other, plan in moved])
            found[[i for i, _, _ in moved]] = plain
        return found

    def _widths(self, cells: Sequence[tuple[int, int]]) -> Floats:
        terms = self.terms
        if terms.phase != RUN_PHASE or terms.queues:
            found = self.corrections.widths(cells, HEADLINE.get(terms.phase, "other"))
            return self.corrections.narrowed(found, cells, RUN) if terms.phase == RUN_PHASE else found
        # A sum of two times is as uncertain as its parts, by their shares.
        times = [np.array([cell_of(terms.detail[f"{p}_s"], *cell) for cell in cells]) for p in PARTS]
        parts = [t * self.corrections.widths(cells, p) for t, p in zip(times, PARTS, strict=True)]
        both = np.asarray(np.hypot(parts[0], parts[1]) / (times[0] + times[1]), dtype=np.float64)
        return self.corrections.narrowed(both, cells, RUN)

    def width(self, card: int, plan: int) -> float:
        """One of `widths`."""
        phase = self.terms.phase
        if phase == RUN_PHASE and (self.terms.queues or RUN in self.corrections.own.weight):
            return float(self._widths([(card, plan)])[0])
        if phase == RUN_PHASE:
            prefill, decode = (cell_of(self.terms.detail[f"{p}_s"], card, plan) for p in PARTS)
            first, second = (self.corrections.width(card, plan, p) for p in PARTS)
            return float(np.hypot(prefill * first, decode * second)) / (prefill + decode)
        return self.corrections.width(card, plan, HEADLINE.get(phase, "other"))

    def prepare(self, cells: Sequence[tuple[int, int]]) -> None:
        """Work out the intervals of several cells (card, plan) together; `estimate` then finds them."""
        for phase in self.corrections.phases:
            self.corrections.widths(cells, phase)
        others = [(other, plan) for card, plan in cells if (other := self.elsewhere(card)) is not None]
        if others:
            others[0][0][0].prepare([(other[1], plan) for other, plan in others])

    def estimate(self, card: int, plan: int) -> SpeedEstimate:
        """One cell as a result of its own."""
        other = self.elsewhere(card)
        if other is not None:
            return other[0].estimate(other[1], plan)
        terms = self.terms
        expected = float(self.expected[card, plan])
        width = self.width(card, plan)
        rates, detail = self._phases(card, plan, expected, width)
        for name, seconds in terms.parts.items():
            detail[f"{name}_s"] = cell_of(seconds, card, plan)
        basis, sources = self.basis(card, plan)
        return SpeedEstimate(
            low=expected / float(np.exp(width)),
            expected=expected,
            high=expected * float(np.exp(width)),
            unit=terms.unit,
            basis=basis,
            bound=terms.bound(card, plan),
            phase=terms.phase,
            steps_per_s=expected / cell_of(terms.units_per_step, card, plan),
            detail=detail,
            sources=sources,
            prefill=rates.get("prefill"),
            decode=rates.get("decode"),
            whole_run=rates.get("whole_run"),
        )

    def basis(self, card: int, plan: int = 0) -> tuple[Basis, tuple[str, ...]]:
        """How the speed of a cell is known, and the benchmark rows behind it; of two phases the weaker."""
        phase = self.terms.phase
        own = self.corrections.own_sources(card, plan, RUN) if phase == RUN_PHASE else ()
        if own:
            return "measured", own
        asked = PARTS if phase == RUN_PHASE and not self.terms.queues else (HEADLINE.get(phase, "other"),)
        found = [self.corrections.basis(card, plan, p) for p in asked]
        weakest = max((b for b, _ in found), key=BASES.index)
        return weakest, tuple(dict.fromkeys(row for _, rows in found for row in rows))

    def _phases(
        self, card: int, plan: int, expected: float, width: float
    ) -> tuple[dict[str, Interval], dict[str, float]]:
        """Prefill, decode and whole run of a language model, each with its interval; its times."""
        terms = self.terms
        if "decode" not in terms.detail:
            return {}, {}
        prefill, decode = (self.factor(p, card, plan) for p in PARTS)
        headline = terms.phase in ("whole_run", "saturated")
        whole = expected if headline else cell_of(terms.detail["whole_run"], card, plan) * decode
        narrow = {p: self.corrections.width(card, plan, p) for p in PARTS}
        rates = {
            "prefill": (cell_of(terms.detail["prefill"], card, plan) * prefill, narrow["prefill"]),
            "decode": (cell_of(terms.detail["decode"], card, plan) * decode, narrow["decode"]),
            "whole_run": (whole, width if headline else max(narrow.values())),
        }
        intervals = {
            name: Interval(rate / float(np.exp(w)), rate, rate * float(np.exp(w)))
            for name, (rate, w) in rates.items()
        }
        found: dict[str, float] = {}
        for name, seconds in zip(LATENCIES, self.waits, strict=True):
            found[name] = cell_of(seconds, card, plan)
        found["concurrent_sequences"] = cell_of(terms.detail["concurrent_sequences"], card, plan)
        return intervals, found


def speed_grid(
    work: Workload,
    plans: Sequence[Parallelism],
    table: GpuTable,
    gpus: Sequence[Gpu],
    benchmarks: Sequence[Benchmark] = (),
    rows: Index | None = None,
    own_first: bool = True,
) -> SpeedGrid:
    """Throughput of cards under every plan.

    Parameters
    ----------
    work: a resolved workload. plans: any number. table, gpus: the cards, in one order.
    benchmarks: measurements that may correct the model. rows: of the cards that are asked about; all by
    default. What is measured on the others informs them.
    own_first: whether own measurements decide what they measured.

    Returns
    -------
    A grid (cards asked about, plans); NaN where a figure of the card is unknown.

    Notes
    -----
    tf32 moves the bytes of fp32 and multiplies faster: it is never answered slower than fp32, and a card
    without it answers fp32. Few have measured plain fp32 on a card with tf32, so fp32 yields unless it was.
    16-bit products on cards whose vector units gain nothing by them are answered no faster than fp32.
    """
    grid = _grid(work, plans, table, gpus, benchmarks, rows, own_first)
    if work.format.compute.group == HALF and not (work.model.family == "decoder" and not work.trains):
        return _no_faster_than_fp32(grid, work, plans, table, gpus, benchmarks, own_first)
    if work.precision not in WIDE:
        return grid
    twin = replace(work, precision=WIDE[1 - WIDE.index(work.precision)])
    other = _grid(twin, plans, table, gpus, benchmarks, rows, own_first)
    vector, matrix = (grid, other) if work.precision == WIDE[0] else (other, grid)
    lacks = compute_rate(table, format_of("tf32")).fallback[grid.corrections.cards]
    clash = ~lacks[:, np.newaxis] & (vector.expected > matrix.expected)
    firm = np.zeros_like(clash)
    for card, plan in zip(*np.nonzero(clash), strict=True):
        firm[card, plan] = vector.basis(int(card), int(plan))[0] == BASES[0]
    if vector is grid:
        return replace(grid, expected=np.where(clash & ~firm, matrix.expected, vector.expected), twin=matrix)
    raised = np.where((clash & firm) | lacks[:, np.newaxis], vector.expected, matrix.expected)
    return replace(grid, expected=raised, plain=vector, in_plain=lacks, twin=vector)


def _no_faster_than_fp32(
    grid: SpeedGrid,
    work: Workload,
    plans: Sequence[Parallelism],
    table: GpuTable,
    gpus: Sequence[Gpu],
    benchmarks: Sequence[Benchmark],
    own_first: bool,
) -> SpeedGrid:
    """Cards without matrix units, and without faster 16-bit vectors, multiply 16 bit no faster than fp32.

    Notes
    -----
    Fewer bytes do not show there: on a GTX 1080 Ti training of ResNet-152 in 16 bit fell from 77.5 to 62.3
    images/s (PyTorch 0.3, benchmarks of the catalogue). What was measured in 16 bit stands.
    """
    cards = grid.corrections.cards
    half, single = (compute_rate(table, format_of(name)).tflops[cards] for name in (work.precision, "fp32"))
    slow = ~table.tensor_cores[cards] & (half <= single)
    if not slow.any():
        return grid
    places = np.flatnonzero(slow)
    recipe = "fp32" if work.trains and work.recipe == "mixed" else work.recipe
    vector = replace(work, precision="fp32", recipe=recipe)
    plain = _grid(vector, plans, table, gpus, benchmarks, cards[places], own_first)
    faster = (grid.expected[places] > plain.expected).any(axis=1)
    unmeasured = [grid.basis(card)[0] != BASES[0] for card in places.tolist()]
    faster = np.asarray(faster & np.array(unmeasured), dtype=bool)
    moved, rows = np.zeros(len(cards), dtype=bool), np.zeros(len(cards), dtype=np.intp)
    moved[places], rows[places] = faster, np.arange(len(places))
    expected = np.array(grid.expected)
    expected[places[faster]] = plain.expected[faster]
    return replace(grid, expected=expected, plain=plain, in_plain=moved, plain_rows=rows)


def _grid(
    work: Workload,
    plans: Sequence[Parallelism],
    table: GpuTable,
    gpus: Sequence[Gpu],
    benchmarks: Sequence[Benchmark],
    rows: Index | None,
    own_first: bool,
) -> SpeedGrid:
    """As `speed_grid`, fp32 and tf32 each by itself."""
    column = table.column()
    peak = compute_rate(column, work.format)
    if rows is None:
        rows = np.arange(len(table))
    else:
        column, peak = table.take(rows).column(), peak.take(rows)
    terms = predict(work, Plans.of(plans), column, rate=peak)
    position = {g.id: i for i, g in enumerate(gpus)} if len(benchmarks) else {}
    kinds = {"other": terms.kind}
    if "decode" in terms.detail:
        kinds = {"prefill": "prefill", "decode": "decode_moe" if work.model.experts else "decode"}
        if terms.queues:
            # Rows of full engines say nothing of a few users.
            of_all = "serving" if terms.phase == "saturated" else "load"
            kinds = {"prefill": "load_first", "decode": "load_token", "serving": of_all}
        elif terms.phase == "saturated":
            kinds["serving"] = "serving"
    index = benchmarks if isinstance(benchmarks, BenchmarkIndex) else BenchmarkIndex(benchmarks)
    found = corrections(work, table, position, index, kinds, [p.cards for p in plans], rows)
    found = no_cut_card_faster(found, table)
    if own_first:
        found = found.with_own(_own_correction(work, terms, plans, table, gpus, index))
    shape = Shape.of(work)
    limit_ms = work.latency_limit_ms if work.load != "single" and "decode" in terms.detail else None
    if limit_ms and work.fills_engine:
        # Measured decoding, not the model's, has to keep the limit.
        allowed = limit_ms / 1000.0 * np.exp(found.offset.get("serving", 0.0))
        shape = replace(shape, token_limit_s=allowed)
        terms = predict(work, Plans.of(plans), column, shape, peak)
    question = Question(work, tuple(plans), column, peak, shape)
    rate = np.broadcast_to(terms.rate, (len(rows), len(plans)))
    if terms.phase == RUN_PHASE:
        # Each phase is corrected by its own measurements; the rate of the run follows from both times.
        plain = terms.detail["prefill_s"] + terms.detail["decode_s"]
        corrected = sum(terms.detail[f"{p}_s"] / np.exp(found.offset.get(p, 0.0)) for p in PARTS)
        run = np.exp(found.own.offset.get(RUN, 0.0))
        if terms.queues:
            run = run * np.exp(found.offset.get("serving", 0.0))
        whole = np.asarray(rate * plain / corrected * run, dtype=np.float64)
        return SpeedGrid(terms, found, whole, question, limit_ms=limit_ms)
    offset = found.offset.get(HEADLINE.get(terms.phase, "other"))
    expected = rate if offset is None else rate * np.exp(offset)
    grid = SpeedGrid(terms, found, expected, question, limit_ms=limit_ms)
    return _at_least_in_turns(grid) if terms.phase == "saturated" and not terms.queues else grid


def _at_least_in_turns(grid: SpeedGrid) -> SpeedGrid:
    """A saturated engine no slower than reading and writing in turns with as many sequences.

    Notes
    -----
    Both are corrected by measurements of their own, which may disagree; what was measured of a saturated
    engine stands.
    """
    detail, offset = grid.terms.detail, grid.corrections.offset
    turns_s = sum(detail[f"{p}_s"] / np.exp(offset.get(p, 0.0)) for p in PARTS)
    turns = np.broadcast_to(grid.terms.units_per_step / turns_s, grid.expected.shape)
    better = turns > grid.expected
    # Measurements are of a card and a number of cards, whatever the plan.
    counts = np.array(grid.corrections.counts)
    for first, count in enumerate(counts.tolist()):
        if count in counts[:first]:
            continue
        same = counts == count
        for card in np.flatnonzero(better[:, same].any(axis=1)).tolist():
            better[card, same] &= grid.basis(card, first)[0] != BASES[0]
    return replace(grid, expected=np.where(better, turns, grid.expected))


def _own_correction(
    work: Workload,
    terms: Terms,
    plans: Sequence[Parallelism],
    table: GpuTable,
    gpus: Sequence[Gpu],
    benchmarks: BenchmarkIndex,
) -> OwnCorrection:
    """What own measurements say of the cells of a question."""
    rows = benchmarks.own(work.model)
    if not rows:
        return NO_OWN
    position = {g.id: i for i, g in enumerate(gpus)}
    phases = (*PARTS, RUN) if terms.phase == RUN_PHASE else (HEADLINE.get(terms.phase, "other"),)

    def estimated(own: OwnRow) -> float:
        grid = speed_grid(own.work, (own.plan,), table, gpus, benchmarks, own_first=False)
        card = position[own.row.gpu_id]
        if own.phase in PARTS:
            return cell_of(grid.terms.detail[own.phase], card, 0) * grid.factor(own.phase, card, 0)
        steps = schedule(own.work)[0] if own.row.unit == STEPS_PER_S else 1.0
        return float(grid.expected[card, 0]) * steps

    return own_correction(
        work, phases, plans, position, rows, lambda own: benchmarks.figure(own, table, estimated)
    )


def estimate(
    work: Workload,
    plan: Parallelism,
    gpu: Gpu,
    benchmarks: Sequence[Benchmark] = (),
    gpus: Sequence[Gpu] = (),
    table: GpuTable | None = None,
    with_formulas: bool = False,
) -> SpeedEstimate:
    """Throughput of one card type under one plan: one cell of the same grid.

    Parameters
    ----------
    work: the question, resolved or not. plan: how its cards share the model. gpu: the card.
    benchmarks: measurements that may correct the model.
    gpus, table: the catalogue; without it measurements of other cards do not carry over to this one.
    with_formulas: whether the formulas are written out.

    Returns
    -------
    Low, expected and high over all cards, with basis, bound and the terms.

    Errors
    ------
    InputFault when the plan is not legal for the model.
    """
    resolved, notes = resolve(work)
    check_plan(resolved, plan)
    cards = list(gpus)
    row = next((i for i, g in enumerate(cards) if g.id == gpu.id), None)
    if row is None:
        cards, row, table = [gpu, *cards], 0, None
    grid = speed_grid(resolved, (plan,), table or GpuTable.from_gpus(cards), cards, benchmarks)
    found = grid.estimate(row, 0)
    if with_formulas:
        found = grid.formulas(row, 0).added_to(found)
    assumed = speed_assumptions(resolved)
    if resolved.fills_engine and "concurrent_sequences" in found.detail:
        held = float(found.detail["concurrent_sequences"])
        assumed = tuple(a for a in assumed if a.field != "batch_size")
        assumed = (*assumed, Assumption("batch_size", held, "saturated_sequences"))
    return replace(found, assumptions=(*notes, *assumed))
