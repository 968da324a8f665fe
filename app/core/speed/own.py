"""The team's own measurements: what they measured is the answer, and what is near it follows in part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from app.core.formulas import Formula, Reference, register
from app.core.gpu import Benchmark
from app.core.gpu_table import Floats
from app.core.model.architecture import ModelArchitecture
from app.core.speed.measurements import (
    features,
    local_batch,
    model_of_row,
    question_of,
)
from app.core.speed.terms import Plans, Shape
from app.core.workload import Parallelism, Workload

RUN = "run"
"""Reading and writing together, as one figure."""
PARTS = ("prefill", "decode")
NEAR = float(np.exp(-2.0))
"""Least weight of a measurement that is named as the basis: two octaves away."""

register(
    Formula(
        "speed.own",
        "Own measurement first",
        "ln(corrected / estimated) = sum of w ln(measured / estimated) / max(1, sum of w); "
        "w = exp(-(octaves of batch, length and output apart)^2 / 2)",
        "1",
        "measured",
        "Same card, number of cards, model, precision, engine and task. Other questions see an own row as "
        "they see a published one.",
        (Reference("Repeated runs of one source differ by 3.5 % (median), 18 % (90th percentile)"),),
    )
)


@dataclass(frozen=True, slots=True)
class OwnRow:
    """One own measurement as a question."""

    row: Benchmark
    work: Workload
    plan: Parallelism
    phase: str
    """prefill, decode, serving, other of `evidence.PHASES`, or RUN."""
    place: tuple[float, float, float]
    """log2 of batch per card, length and output."""


@dataclass(frozen=True)
class OwnCorrection:
    """What own measurements say of the cells of one question."""

    offset: Mapping[str, Floats] = field(default_factory=dict)
    """By phase: natural logarithm to be added to the corrected model, (cards, plans)."""
    weight: Mapping[str, Floats] = field(default_factory=dict)
    """By phase: 1 = measured, 0 = nothing said, (cards, plans)."""
    sources: Mapping[tuple[str, int, int], tuple[str, ...]] = field(default_factory=dict)
    """Ids of the measurements near a phase, card and number of cards."""

    def __bool__(self) -> bool:
        return bool(self.weight)


NO_OWN = OwnCorrection()


def own_rows(rows: Sequence[Benchmark], models: Mapping[str, ModelArchitecture]) -> tuple[OwnRow, ...]:
    """The own measurements that state their question.

    Parameters
    ----------
    rows: benchmarks of the catalogue. models: architectures by id.

    Returns
    -------
    One entry for each row marked own that could be expressed; flagged rows are left out.
    """
    found = []
    for row in rows:
        model = model_of_row(row, models) if row.own else None
        question = question_of(row, model) if model is not None else None
        if question is not None:
            work, plan = question
            phase = _phase_of(row, work)
            found.append(OwnRow(row, work, plan, phase, place_of(work, row.gpu_count, phase)))
    return tuple(found)


def place_of(work: Workload, count: int, phase: str) -> tuple[float, float, float]:
    """log2 of the batch per card, of the length and of the output that one phase of a question depends on."""
    shape = Shape.of(work)
    batch, sequence, output, pixels = (
        float(np.mean(v)) for v in (shape.batch, shape.sequence, shape.output, shape.pixels)
    )
    if phase == "prefill":
        sequence = max(1.0, sequence - output)
    shared = Shape(float(local_batch(work, batch, float(count))), sequence, output, pixels)
    batches, length, _ = features(shared, work.model.family, 1.0)
    written = 0.0 if phase in PARTS else float(np.log2(max(1.0, output)))
    return float(batches), float(length), written


def own_correction(
    work: Workload,
    phases: Sequence[str],
    plans: Sequence[Parallelism],
    position: Mapping[str, int],
    rows: Sequence[OwnRow],
    estimated: Callable[[OwnRow], float],
) -> OwnCorrection:
    """What own measurements say of a question on each card and plan.

    Parameters
    ----------
    work: resolved question. phases: parts of its answer. plans: of the columns.
    position: row of each card id. rows: own measurements.
    estimated: the corrected model's figure for what a row measured, in the unit of the row.

    Returns
    -------
    Offsets and weights over cards x plans; NO_OWN where no own measurement speaks of the question.
    """
    alike = [own for own in rows if own.phase in phases and own.row.gpu_id in position and _same(own, work)]
    if not alike:
        return NO_OWN
    counts = np.array(Plans.of(plans).cards, dtype=np.float64).reshape(-1)
    size = (max(position.values()) + 1, len(plans))
    total: dict[str, Floats] = {}
    weight: dict[str, Floats] = {}
    sources: dict[tuple[str, int, int], tuple[str, ...]] = {}
    for own in alike:
        count = own.row.gpu_count
        asked = place_of(work, count, own.phase)
        apart = sum((a - b) ** 2 for a, b in zip(asked, own.place, strict=True))
        share = float(np.exp(-0.5 * apart))
        figure = estimated(own)
        columns = counts == count
        if not columns.any() or not np.isfinite(figure) or figure <= 0:
            continue
        card = position[own.row.gpu_id]
        for table, value in ((total, share * float(np.log(own.row.value / figure))), (weight, share)):
            table.setdefault(own.phase, np.zeros(size))[card, columns] += value
        if share >= NEAR:
            key = (own.phase, card, count)
            sources[key] = (*sources.get(key, ()), own.row.id)
    offset = {phase: sums / np.maximum(1.0, weight[phase]) for phase, sums in total.items()}
    return OwnCorrection(offset, {phase: np.minimum(1.0, w) for phase, w in weight.items()}, sources)


def _phase_of(row: Benchmark, work: Workload) -> str:
    if row.phase in PARTS:
        return row.phase
    if work.trains or work.model.family != "decoder":
        return "other"
    return "serving" if work.load == "saturated" else RUN


def _same(own: OwnRow, work: Workload) -> bool:
    """Whether a row measured the asked model, task and stack."""
    other = own.work
    return (
        other.model.id == work.model.id
        and other.task == work.task
        and other.format.speed_group == work.format.speed_group
        and other.engine == work.engine
    )
