"""How far estimated speed is from published measurements: by basis, by class, in rank and in scaling."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.core import engines
from app.core.answer import Figure, answer
from app.core.formulas import Formula, Reference, register
from app.core.gpu import Benchmark, Gpu
from app.core.gpu_table import GpuTable
from app.core.model.architecture import ModelArchitecture
from app.core.speed.evidence import Evidence
from app.core.speed.hidden import Held, held_out, is_fitted
from app.core.speed.measurements import Observed, group_of, observe

WITHIN = 1.5
LEAST_CARDS = 5
"""Cards that a ranking must hold to be judged."""
POINTS = 100.0

register(
    Formula(
        "speed.accuracy",
        "Measured accuracy of speed",
        "e = ln(measured / estimated) of rows that the estimate did not see; |e| at the median and the 90th "
        "percentile, median of e, share within a factor of 1.5, share inside low..high",
        "1",
        "measured",
        "Constants are read from rows whose id has an even SHA-256; errors are of the others. Hidden "
        "together: the report half, one row, a source, a card, a model, a card and a model.",
        (Reference("benchmarks of this catalogue, sources beside each row"),),
    )
)


@answer()
class Errors:
    """Errors of some rows, |ln(measured / estimated)|: 0.10 is about 10 %."""

    n: int
    """Rows."""
    median: Figure
    """Median of the errors."""
    p90: Figure
    """What nine of ten errors stay below."""
    signed_median: Figure
    """Median of ln(measured / estimated) with its sign."""
    within: Figure
    """Share of the rows within a factor of 1.5."""
    inside: Figure | None
    """Share of the rows inside the stated 80 % interval; null where no interval was stated."""


@answer()
class Ranks:
    """Order of cards by speed, same model, precision, software and number of cards."""

    groups: int
    """Groups of such measurements."""
    median: Figure
    """Median of Spearman's rank correlation over the groups."""
    tenth: Figure
    """Rank correlation that nine groups of ten reach."""
    lost: Figure
    """Mean share of speed lost by taking the card that the estimate puts first."""


@answer()
class Scaling:
    """Efficiency of several cards over one, percentage points, measured less estimated.

    Both are ratios of like to like: measured many over measured one, estimated many over estimated one. An
    error that the estimate makes on one card alike is no error of scaling; it shows in the class table.
    """

    n: int
    """Pairs of one card and several."""
    median: Figure
    """Median of the absolute differences, percentage points."""
    p90: Figure
    """What nine of ten absolute differences stay below, percentage points."""
    bias: Figure
    """Mean of the differences with their sign, percentage points."""


@dataclass(frozen=True)
class SpeedAccuracy:
    """Everything that is said of the accuracy of speed, on one part of the benchmarks."""

    part: str
    by_basis: Mapping[str, Errors]
    by_class: Mapping[str, Errors]
    model_alone: Mapping[str, Errors]
    """By class, no measurement having corrected the model."""
    intervals: Mapping[str, Errors]
    """By basis over all ways of hiding."""
    ranks: Ranks
    scaling: Scaling
    rows: int
    expressed: int


def errors_of(found: Sequence[float], inside: Sequence[bool] | None = None) -> Errors:
    """Errors of a list of ln(measured / estimated)."""
    ratios = np.asarray(found, dtype=np.float64)
    size = np.abs(ratios)
    return Errors(
        n=len(ratios),
        median=float(np.median(size)),
        p90=float(np.percentile(size, 90)),
        signed_median=float(np.median(ratios)),
        within=float(np.mean(size <= math.log(WITHIN))),
        inside=None if inside is None else float(np.mean(inside)),
    )


def observations(
    rows: Iterable[Benchmark], models: Mapping[str, ModelArchitecture], gpus: Sequence[Gpu]
) -> tuple[Observed, GpuTable]:
    """Every measurement that states its question, beside the model's own figure, and the cards as columns."""
    table = GpuTable.from_gpus(gpus)
    return observe(rows, models, table, {g.id: i for i, g in enumerate(gpus)}), table


def hidden_rows(found: Observed, table: GpuTable, gpus: Sequence[Gpu]) -> list[Held]:
    """Estimates of all rows under every way of hiding them.

    Parameters
    ----------
    found, table, gpus: as `observations` gives them.

    Returns
    -------
    One entry per row and split.
    """
    position = {g.id: i for i, g in enumerate(gpus)}
    kinds = {row.id: kind for row, kind in zip(found.rows, found.kinds, strict=True)}
    held: list[Held] = []
    for group in sorted({group_of(kind) for kind in found.kinds}):
        evidence = Evidence.of(found, group, table, position)
        if evidence is not None:
            held += held_out(evidence, kinds)
    return held


def speed_accuracy(
    rows: Sequence[Benchmark],
    models: Mapping[str, ModelArchitecture],
    gpus: Sequence[Gpu],
    part: str = "report",
) -> SpeedAccuracy:
    """Compare estimates with every measurement that states its question.

    Parameters
    ----------
    rows: measurements. models: architectures by id. gpus: the cards.
    part: report (rows that no constant was read from), fit, or all.

    Returns
    -------
    Errors by basis and by class, ranks and scaling. Empty tables without any usable row.
    """
    found, table = observations(rows, models, gpus)
    held = [h for h in hidden_rows(found, table, gpus) if _in_part(h.row_id, part)]
    by_id = {row.id: i for i, row in enumerate(found.rows)}

    def pick(test: Callable[[Held], bool]) -> Errors | None:
        chosen = [h for h in held if test(h)]
        return errors_of([h.log_error for h in chosen], [h.inside for h in chosen]) if chosen else None

    def mainstream(h: Held) -> bool:
        return engines.is_engine(found.labels["engine"][by_id[h.row_id]])

    bases: dict[str, Callable[[Held], bool]] = {
        "published_same_source": lambda h: h.split == "row" and h.basis == "measured" and h.same_source,
        "published_other_source": lambda h: h.split == "source" and h.basis == "measured",
        "card_unseen": lambda h: h.split == "card",
        "model_unseen": lambda h: h.split == "model",
        "neither_seen": lambda h: h.split == "neither" and mainstream(h),
        "source_unseen": lambda h: h.split == "source",
    }
    whole = "report_half" if part == "report" else "row"
    classes: dict[str, list[Held]] = defaultdict(list)
    for h in held:
        if h.split == whole:
            for name in _classes(h, found, by_id[h.row_id]):
                classes[name].append(h)
    alone: dict[str, list[float]] = defaultdict(list)
    for i, row in enumerate(found.rows):
        if _in_part(row.id, part):
            alone[found.kinds[i]].append(float(found.log_ratio[i]))
    single = {h.row_id: h.log_error for h in held if h.split == "row"}
    return SpeedAccuracy(
        part=part,
        by_basis={name: e for name, test in bases.items() if (e := pick(test)) is not None},
        by_class={
            name: errors_of([h.log_error for h in rows_], [h.inside for h in rows_])
            for name, rows_ in sorted(classes.items())
        },
        model_alone={name: errors_of(values) for name, values in sorted(alone.items())},
        intervals=_intervals(held),
        ranks=_ranks(found, single),
        scaling=_scaling(found, _answers(found, table, gpus) if part == "report" else single, part),
        rows=sum(1 for row in rows if _in_part(row.id, part)),
        expressed=len(single),
    )


def _in_part(row_id: str, part: str) -> bool:
    return part == "all" or is_fitted(row_id) == (part == "fit")


def _classes(h: Held, found: Observed, i: int) -> list[str]:
    """Classes of the accuracy table: image classifiers apart from detectors."""
    names = [h.kind]
    if h.kind == "cnn_inference" and "rcnn" not in found.labels["model"][i]:
        names.append("cnn_inference_classifiers")
    return names


def _intervals(held: Sequence[Held]) -> dict[str, Errors]:
    groups: dict[str, list[Held]] = defaultdict(list)
    for h in held:
        if h.split != "report_half":
            groups["all"].append(h)
            groups[h.basis].append(h)
    return {
        name: errors_of([h.log_error for h in rows], [h.inside for h in rows])
        for name, rows in sorted(groups.items())
    }


def _ranks(found: Observed, errors: Mapping[str, float]) -> Ranks:
    """Ranks within groups of one class, model, precision, engine, source and number of cards."""
    groups: dict[tuple[object, ...], dict[str, tuple[float, float]]] = defaultdict(dict)
    for i, row in enumerate(found.rows):
        if row.id not in errors:
            continue
        shape = (round(float(found.length[i]), 1), float(found.count[i]))
        labels = tuple(found.labels[n][i] for n in ("model", "precision", "engine", "source"))
        best = groups[(found.kinds[i], *labels, *shape)]
        if row.value > best.get(row.gpu_id, (0.0, 0.0))[0]:
            best[row.gpu_id] = (row.value, row.value / math.exp(errors[row.id]))
    values, lost = [], []
    for cards in groups.values():
        if len(cards) >= LEAST_CARDS:
            measured, estimated = (list(column) for column in zip(*cards.values(), strict=True))
            values.append(spearman(measured, estimated))
            lost.append(1.0 - measured[int(np.argmax(estimated))] / max(measured))
    if not values:
        return Ranks(0, math.nan, math.nan, math.nan)
    return Ranks(
        len(values), float(np.median(values)), float(np.percentile(values, 10)), float(np.mean(lost))
    )


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's rank correlation; ties take the mean of their places."""
    first, second = _places(a), _places(b)
    spread = float(np.std(first) * np.std(second))
    return float(np.mean((first - first.mean()) * (second - second.mean())) / spread) if spread else 1.0


def _places(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    array = np.asarray(values, dtype=np.float64)
    below = np.sum(array[:, np.newaxis] > array, axis=1)
    equal = np.sum(array[:, np.newaxis] == array, axis=1)
    return np.asarray(below + (equal - 1) / 2.0, dtype=np.float64)


def _answers(found: Observed, table: GpuTable, gpus: Sequence[Gpu]) -> dict[str, float]:
    """ln(measured / estimated) of training rows, fitted ones included, with the report half hidden."""
    position = {g.id: i for i, g in enumerate(gpus)}
    errors: dict[str, float] = {}
    kinds = zip(found.kinds, found.rows, strict=True)
    for group in sorted({group_of(kind) for kind, row in kinds if row.task != "inference"}):
        evidence = Evidence.of(found, group, table, position)
        if evidence is None:
            continue
        hidden = np.flatnonzero([not is_fitted(row.id) for row in evidence.rows])
        every = np.arange(len(evidence.rows))
        if len(hidden) < len(every):
            mean = evidence.posterior.without(hidden, every)[0]
        else:
            mean = np.zeros(len(every))
        rest = evidence.posterior.log_ratio - mean
        errors |= {row.id: float(e) for row, e in zip(evidence.rows, rest, strict=True)}
    return errors


def _scaling(found: Observed, errors: Mapping[str, float], part: str) -> Scaling:
    """Efficiency of training on 2 to 8 cards over one card of the same source, model and batch."""
    alone: dict[tuple[object, ...], int] = {}
    several: list[tuple[tuple[object, ...], int]] = []
    key: tuple[object, ...]
    for i, row in enumerate(found.rows):
        if row.task == "inference" or row.id not in errors:
            continue
        labels = tuple(found.labels[n][i] for n in ("source", "card", "model", "precision", "engine"))
        key = (*labels, row.batch_per_gpu, row.sequence_length, row.framework_version)
        if row.gpu_count == 1:
            alone.setdefault(key, i)
        elif row.gpu_count <= 8 and _in_part(row.id, part):
            several.append((key, i))
    points = []
    for key, i in several:
        if key in alone:
            one, many = found.rows[alone[key]], found.rows[i]
            measured = many.value / many.gpu_count / one.value
            estimated = measured / math.exp(errors[many.id] - errors[one.id])
            points.append((measured - estimated) * POINTS)
    if not points:
        return Scaling(0, math.nan, math.nan, math.nan)
    size = np.abs(points)
    return Scaling(
        len(points), float(np.median(size)), float(np.percentile(size, 90)), float(np.median(points))
    )
