"""The grid: cards x plans, with fit and speed, reduced to the best plan of each card and count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.core.decide.options import within_latency_first
from app.core.decide.service import ROUNDING, ServiceGrid, service_grid
from app.core.estimates import MemoryEstimate, Verdict
from app.core.gpu import Benchmark, Gpu
from app.core.gpu_table import ComputeRate, Flags, Floats, GpuTable, Index, compute_rate
from app.core.memory.estimator import Draft, draft
from app.core.plan import CARDS_PER_HOST, legal_plans
from app.core.question import Service
from app.core.speed import SpeedGrid, speed_grid
from app.core.workload import Parallelism, Workload

VERDICTS: tuple[Verdict, ...] = ("does_not_fit", "tight", "fits")
"""By level: 2 fits, 1 tight, 0 does not fit."""
KEEPS_LIMIT = 100.0
"""Above all that levels and speed score."""


@dataclass(frozen=True, slots=True)
class Only:
    """Part of a grid."""

    rows: frozenset[int]
    """Of the cards asked about."""
    counts: tuple[int, ...]
    """Some of those that the question tries, ascending."""


@dataclass(frozen=True)
class Grid:
    """Every plan of every count on every card."""

    plans: tuple[Parallelism, ...]
    cards: Index
    """(plans,) cards that each plan occupies."""
    drafts: tuple[Draft, ...]
    """(plans,) need per card, once for all cards; the parts are written only for the plans shown."""
    expected_gib: Floats
    """(plans,)."""
    speed: SpeedGrid
    level: npt.NDArray[np.int8]
    """(cards, plans) index into VERDICTS."""
    margin_gib: Floats
    """(cards, plans) usable - used - expected."""
    rate: ComputeRate
    """(cards,)."""
    service: ServiceGrid | None = None
    """What users get; None where nobody waits for tokens."""

    def memory(self, plan: int) -> MemoryEstimate:
        """The need of a plan with its parts; one object for all cards that ask."""
        return self.drafts[plan].estimate

    def columns(self, counts: Sequence[int]) -> Iterator[tuple[int, slice]]:
        """The plans of each count that has any; they stand side by side."""
        cards = self.cards.tolist()
        for count in counts:
            if count in cards:
                first = cards.index(count)
                yield count, slice(first, first + cards.count(count))


@dataclass(frozen=True)
class Best:
    """The best plan of each card at each count."""

    counts: tuple[int, ...]
    plan: Index
    """(cards, counts) index into `Grid.plans`."""
    level: npt.NDArray[np.int8]
    speed: Floats
    margin_gib: Floats
    flops_per_unit: Floats
    token_ms: Floats | None = None
    """Of one output token, (cards, counts); None where no limit is asked of it."""
    missed: Floats | None = None
    """As in `ServiceGrid`, (cards, counts)."""


def build_grid(
    work: Workload,
    table: GpuTable,
    gpus: Sequence[Gpu],
    counts: Sequence[int],
    benchmarks: Sequence[Benchmark] = (),
    max_cards_per_host: int = CARDS_PER_HOST,
    rows: Index | None = None,
    usable_plan: Callable[[Parallelism], bool] | None = None,
    goals: Service | None = None,
) -> Grid:
    """Evaluate memory once per plan, then fit and speed of cards under every plan.

    Parameters
    ----------
    work: a resolved workload. table, gpus: the cards in one order. counts: numbers of cards to try.
    benchmarks: measurements. max_cards_per_host: size of a host. rows: of the cards that are asked about; all
    by default. usable_plan: which plans may serve; None: all that are legal. goals: what users are to get.

    Returns
    -------
    The grid of those cards; plans in the order of the counts.
    """
    plans = tuple(p for n in counts for p in legal_plans(work, n, max_cards_per_host))
    if usable_plan is not None and work.parallelism is None:
        plans = tuple(p for p in plans if usable_plan(p))
    drafts = tuple(draft(work, p) for p in plans)
    expected = np.array([d.expected_gib for d in drafts], dtype=np.float64)
    high = np.array([d.high_gib for d in drafts], dtype=np.float64)
    rate = compute_rate(table, work.format)
    usable = table.usable_gib if rows is None else table.usable_gib[rows]
    room = (usable - work.used_gib)[:, np.newaxis]
    margin = room - expected
    level = ((margin >= 0).astype(np.int8) + (high <= room)).astype(np.int8)
    if work.beyond_context:
        # The memory may hold it; the model has not learnt it.
        level = np.minimum(level, 1).astype(np.int8)
    speed = speed_grid(work, plans, table, gpus, benchmarks, rows)
    return Grid(
        plans=plans,
        cards=np.array([p.cards for p in plans], dtype=np.intp),
        drafts=drafts,
        expected_gib=expected,
        speed=speed,
        level=level,
        margin_gib=margin,
        rate=rate if rows is None else rate.take(rows),
        service=service_grid(work, speed, goals),
    )


def best_plans(grid: Grid, counts: Sequence[int]) -> Best:
    """Pick one plan for each card and count.

    Notes
    -----
    Under every objective the purchase of a card and count is the same for all its plans and the rest improves
    with speed, so the best plan fits for sure rather than perhaps, then is fastest, then simplest. A limit on
    the time per token comes before both; where none keeps it, the plan that misses it least.
    """
    speed = grid.speed.expected
    known = np.where(np.isfinite(speed), speed, 0.0)
    top = np.max(known, axis=1, keepdims=True) if known.size else known
    relative = known / np.where(top > 0, top, 1.0)
    # A level apart, speed decides only among plans of one verdict; of equals the first, simplest plan is
    # taken. Where nothing fits, the plan that misses least.
    room = np.where(np.isnan(grid.margin_gib), -1e9, grid.margin_gib)
    token_ms = grid.speed.token_ms
    relative = within_latency_first(relative, token_ms, grid.speed.limit_ms, KEEPS_LIMIT)
    missed = None if grid.service is None else grid.service.missed
    if missed is not None:
        # What misses a goal goes by how nearly; what meets all of them stands above.
        late = ~(missed <= ROUNDING)
        near = 1.0 / np.maximum(np.nan_to_num(missed, nan=np.inf), 1.0)
        relative = np.where(late, near, relative + 2.0 * KEEPS_LIMIT)
    score = np.where(grid.level > 0, grid.level * 10.0 + relative, room * 1e-9)
    present, picks = [], []
    for count, columns in grid.columns(counts):
        present.append(count)
        picks.append(columns.start + np.argmax(score[:, columns], axis=1))
    plan = np.stack(picks, axis=1)
    flops = np.broadcast_to(np.asarray(grid.speed.terms.flops_per_unit, dtype=np.float64), speed.shape)

    def taken(values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        return np.take_along_axis(values, plan, axis=1)

    return Best(
        counts=tuple(present),
        plan=plan,
        level=np.asarray(taken(grid.level), dtype=np.int8),
        speed=np.asarray(taken(speed), dtype=np.float64),
        margin_gib=np.asarray(taken(grid.margin_gib), dtype=np.float64),
        flops_per_unit=np.asarray(taken(flops), dtype=np.float64),
        token_ms=None if token_ms is None else np.asarray(taken(token_ms), dtype=np.float64),
        missed=None if missed is None else np.asarray(taken(missed), dtype=np.float64),
    )


def unrated(rate: ComputeRate, table: GpuTable) -> Flags:
    """Cards whose rate of the format or whose bandwidth nobody knows."""
    return np.asarray(np.isnan(rate.tflops) | np.isnan(table.bandwidth_gb_s), dtype=bool)


def blocked_precision(work: Workload, rate: ComputeRate, table: GpuTable) -> Flags:
    """Cards that cannot run the number format asked for, or whose rate or bandwidth nobody knows.

    Formats that only keep their weights narrow (nf4, mxfp4 …) compute in fp16 where bf16 is missing, in
    training too; a model asked for in bf16 itself does not, since its numerics have to be checked first.
    """
    lacking = np.zeros_like(rate.lacks_type) if work.format.weight_only else rate.lacks_type
    return np.asarray(lacking | unrated(rate, table), dtype=bool)
