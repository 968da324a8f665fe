"""Measurements as evidence: they correct the model by what they share with the question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import overload

import numpy as np

from app.core.calibration import ENOUGH_ROWS, installed
from app.core.estimates import Basis
from app.core.gpu import Benchmark
from app.core.gpu_table import CARD_CLASSES, Floats, GpuTable, Index
from app.core.model.architecture import ModelArchitecture
from app.core.speed import constants as c
from app.core.speed.deviations import Covariances, Points, Posterior, causes_of
from app.core.speed.inference import reference_kernels
from app.core.speed.measurements import (
    Observed,
    features,
    group_of,
    observe,
    series_of,
)
from app.core.speed.own import NO_OWN, OwnCorrection, OwnRow, own_rows
from app.core.speed.terms import Shape
from app.core.workload import Workload

PHASES = ("prefill", "decode", "serving", "other")
"""Parts of an answer that are corrected apart."""
SHOWN_ROWS = 5


def thin_factor(rows: Floats) -> Floats:
    """Widening of an interval by few measurements: UNKNOWN_CLASS_FACTOR without any, 1 from five on."""
    missing = 1.0 - np.minimum(rows, ENOUGH_ROWS) / ENOUGH_ROWS
    return np.asarray(c.UNKNOWN_CLASS_FACTOR**missing, dtype=np.float64)


def _rows_by_class() -> Floats:
    """Measurements of the fitted half behind the best known constant of each card class."""
    found = np.zeros(len(CARD_CLASSES))
    for entry in installed().entries.values():
        if entry.key in CARD_CLASSES:
            place = CARD_CLASSES.index(entry.key)
            found[place] = max(found[place], entry.n)
    return found


_CLASS_FACTOR = thin_factor(_rows_by_class())
_THIN = tuple(
    entry for entry in installed().entries.values() if entry.thin and entry.rows and entry.rows.narrow
)


def thin_constants(group: str, kind: str, engine: str, precision: str, model: str) -> Floats:
    """Widening by constants that were read from fewer than ENOUGH_ROWS measurements, over CARD_CLASSES.

    Parameters
    ----------
    group, kind: class of work whose evidence counts, and its special case. engine, precision, model: labels.
    """
    found = np.ones(len(CARD_CLASSES))
    for entry in _THIN:
        rows = entry.rows
        if rows and rows.asks(group, kind, engine, precision, model):
            classes = [not rows.card_classes or name in rows.card_classes for name in CARD_CLASSES]
            found = np.where(classes, np.maximum(found, thin_factor(np.array(float(entry.n)))), found)
    return found


class BenchmarkIndex(Sequence[Benchmark]):
    """Benchmarks with the architectures that they name; the comparison with the model is made once."""

    def __init__(
        self, rows: Sequence[Benchmark], models: Mapping[str, ModelArchitecture] | None = None
    ) -> None:
        self._rows = tuple(rows)
        self._models = dict(models or {})
        self._observed: dict[str, tuple[GpuTable, Observed]] = {}
        self._evidence: dict[tuple[str, str], tuple[GpuTable, Evidence | None]] = {}
        self._measured = tuple(row for row in self._rows if row.own)
        self._own: dict[str, tuple[OwnRow, ...]] = {}
        self._figures: dict[str, tuple[GpuTable, float]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, item: int) -> Benchmark: ...

    @overload
    def __getitem__(self, item: slice) -> Sequence[Benchmark]: ...

    def __getitem__(self, item: int | slice) -> Benchmark | Sequence[Benchmark]:
        return self._rows[item]

    def __iter__(self) -> Iterator[Benchmark]:
        return iter(self._rows)

    def own(self, model: ModelArchitecture) -> tuple[OwnRow, ...]:
        """The own measurements as questions; a model that the index lacks stands in for its own rows."""
        if not self._measured:
            return ()
        extra = model.id if model.id not in self._models else ""
        if extra not in self._own:
            models = {**self._models, extra: model} if extra else self._models
            self._own[extra] = own_rows(self._measured, models)
        return self._own[extra]

    def figure(self, own: OwnRow, table: GpuTable, estimate: Callable[[OwnRow], float]) -> float:
        """What the corrected model says of an own measurement, worked out once."""
        kept = self._figures.get(own.row.id)
        if kept is None or kept[0] is not table:
            kept = (table, estimate(own))
            self._figures[own.row.id] = kept
        return kept[1]

    def evidence(
        self, kind: str, model: ModelArchitecture, table: GpuTable, position: Mapping[str, int]
    ) -> Evidence | None:
        """What the measurements of one class say, None without any.

        Parameters
        ----------
        kind: class of `constants.WIDTHS`. model: of the question; it stands in where the index lacks it.
        table, position: the cards and the row of each id.
        """
        extra = model.id if model.id not in self._models else ""
        key = (group_of(kind), extra)
        kept = self._evidence.get(key)
        if kept is None or kept[0] is not table:
            kept = (table, Evidence.of(self.observed(model, table, position), key[0], table, position))
            self._evidence[key] = kept
        return kept[1]

    def observed(
        self, model: ModelArchitecture | None, table: GpuTable, position: Mapping[str, int]
    ) -> Observed:
        """Every row that states its question, beside the model's figure."""
        extra = model.id if model is not None and model.id not in self._models else ""
        kept = self._observed.get(extra)
        if kept is None or kept[0] is not table:
            models = self._models
            if model is not None and extra:
                models = {**models, extra: model}
            kept = (table, observe(self._rows, models, table, position))
            self._observed[extra] = kept
        return kept[1]


@dataclass(frozen=True)
class Evidence:
    """Measurements of one class, ready to answer."""

    group: str
    posterior: Posterior
    rows: tuple[Benchmark, ...]
    numbers: Mapping[str, Mapping[str, int]]
    """Label name -> label -> code."""
    card_codes: Mapping[str, Index]
    """Codes of each card of the table; -1 where no row speaks of it."""
    class_rows: Floats
    """Rows of each of CARD_CLASSES."""

    @classmethod
    def of(cls, found: Observed, group: str, table: GpuTable, position: Mapping[str, int]) -> Evidence | None:
        """The evidence of one class; None without rows."""
        chosen = np.array([i for i, k in enumerate(found.kinds) if group_of(k) == group], dtype=np.intp)
        if not chosen.size:
            return None
        points, numbers = points_of(found, chosen, table, position)
        posterior = Posterior.of(causes_of(group), points, found.log_ratio[chosen], c.NOISE)
        cards = np.full(len(table), -1, dtype=np.intp)
        for gpu_id, code in numbers["card"].items():
            cards[position[gpu_id]] = code
        seen = np.unique(points.codes["card_class"])
        classes = np.where(np.isin(table.card_class, seen), table.card_class, -1)
        rows = tuple(found.rows[i] for i in chosen)
        class_rows = np.bincount(points.codes["card_class"], minlength=len(CARD_CLASSES)).astype(np.float64)
        return cls(group, posterior, rows, numbers, {"card": cards, "card_class": classes}, class_rows)

    def asked(self, work: Workload) -> Points:
        """The question as one point, without a card and for one card."""
        model = work.model
        labels = {
            "precision": work.format.speed_group,
            "engine": work.engine,
            "model": model.id,
            "series": series_of(model),
            # Nobody knows whose software the question will run on; own measurements have a say of their own.
            "source": "",
        }
        codes = {
            name: np.array([self.numbers[name].get(label, -1)], dtype=np.intp)
            for name, label in labels.items()
        }
        shape = Shape.of(work)
        single = Shape(
            *(float(np.mean(v)) for v in (shape.batch, shape.sequence, shape.output, shape.pixels))
        )
        batch, length, _ = features(single, model.family, 1.0, work.load)
        none = np.array([-1], dtype=np.intp)
        return Points(
            {**codes, "card": none, "card_class": none},
            np.atleast_1d(batch),
            np.atleast_1d(length),
            np.zeros(1),
        )

    def knows(self, engine: str | int) -> bool:
        """Whether enough was measured of an engine, by name or code, or anything by the team itself."""
        code = self.numbers["engine"].get(engine, -1) if isinstance(engine, str) else engine
        seen = np.flatnonzero(self.posterior.points.codes["engine"] == code)
        enough = len(seen) >= min(c.LEAST_ENGINE_ROWS, max(1.0, c.LEAST_ENGINE_SHARE * len(self.rows)))
        return enough or any(self.rows[i].own for i in seen)

    def label(self, name: str, row: int) -> str:
        """What a row is called, by the name of a label."""
        return str(self._labels[name][self.posterior.points.codes[name][row]])

    @cached_property
    def _labels(self) -> Mapping[str, tuple[str, ...]]:
        return {name: tuple(sorted(codes, key=codes.__getitem__)) for name, codes in self.numbers.items()}

    def class_factor(self, kind: str, work: Workload) -> Floats:
        """Widening of the intervals of a question where few measurements speak, over CARD_CLASSES."""
        labels = (work.engine, work.format.speed_group, work.model.id)
        return np.maximum(thin_factor(self.class_rows), thin_constants(self.group, kind, *labels))

    def distance(self, point: Points) -> Floats:
        """Octaves from each row of this card, model, precision and engine; infinite for other rows."""
        rows = self.posterior.points
        same = np.ones(len(rows), dtype=bool)
        for name in ("card", "model", "precision", "engine"):
            same &= (rows.codes[name] == point.codes[name]) & (rows.codes[name] >= 0)
        apart = np.abs(rows.batch - point.batch) + np.abs(rows.length - point.length)
        return np.where(same, apart + np.abs(rows.count - point.count), np.inf)

    def alike(self, asked: Points) -> tuple[Index, Floats]:
        """Rows of the model, precision and engine of a question, and their octaves from it, cards apart."""
        rows = self.posterior.points
        same = np.ones(len(rows), dtype=bool)
        for name in ("model", "precision", "engine"):
            same &= (rows.codes[name] == asked.codes[name]) & (rows.codes[name] >= 0)
        found = np.flatnonzero(same)
        apart = np.abs(rows.batch[found] - asked.batch) + np.abs(rows.length[found] - asked.length)
        return found, np.asarray(apart, dtype=np.float64)


@dataclass(frozen=True)
class Phase:
    """One part of the answer against its evidence."""

    evidence: Evidence
    asked: Points
    covariances: Covariances
    kind: str
    """Class of `constants.WIDTHS`."""
    class_factor: Floats
    """Widening where few measurements speak, over CARD_CLASSES."""
    _widths: dict[tuple[int, float], float] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def _alike(self) -> tuple[Index, Floats]:
        return self.evidence.alike(self.asked)

    def close(self, card: int, count: int) -> tuple[str, ...]:
        """Ids of the measurements within FAR_OCTAVES of the question on a card and number of cards.

        Parameters
        ----------
        card: row of the evidence's table. count: cards.

        Returns
        -------
        At most `SHOWN_ROWS` of them, the nearest first.
        """
        rows, apart = self._alike
        code = int(self.evidence.card_codes["card"][card])
        if code < 0 or not len(rows):
            return ()
        points = self.evidence.posterior.points
        own = np.flatnonzero(points.codes["card"][rows] == code)
        octaves = apart[own] + np.abs(points.count[rows[own]] - np.log2(float(count)))
        nearest = np.argsort(octaves, kind="stable")[:SHOWN_ROWS]
        return tuple(self.evidence.rows[rows[own[i]]].id for i in nearest if octaves[i] <= c.FAR_OCTAVES)

    @cached_property
    def least(self) -> float:
        """No interval is narrower: an engine of which next to nothing was measured."""
        if self.evidence.knows(self.asked.codes["engine"][0]):
            return 0.0
        return c.WIDTHS[self.kind] * c.UNSEEN_ENGINE_FACTOR

    def width(self, cell: tuple[int, float]) -> float:
        """One of `widths`."""
        known = self._widths.get(cell)
        return float(self.widths([cell])[0]) if known is None else known

    def widths(self, cells: Sequence[tuple[int, float]]) -> Floats:
        """Half-widths of the 80 % interval, (cells,); each is worked out once.

        Parameters
        ----------
        cells: row of the evidence's table, and number of cards.
        """
        missing = [cell for cell in dict.fromkeys(cells) if cell not in self._widths]
        if missing:
            rows = np.array([card for card, _ in missing], dtype=np.intp)
            codes = {name: k[rows] for name, k in self.evidence.card_codes.items()}
            spread = np.sqrt(self.covariances.variance(codes, np.log2([count for _, count in missing])))
            # No card of the family was measured: the last value stands for all of these.
            spread *= np.append(self.class_factor, c.UNKNOWN_CLASS_FACTOR)[codes["card_class"]]
            spread *= c.KIND_FACTOR.get(self.kind, 1.0) * c.INTERVAL_FACTOR.get(
                self.evidence.group, c.INTERVAL_DEFAULT
            )
            self._widths.update(zip(missing, spread.tolist(), strict=True))
        return np.array([self._widths[cell] for cell in cells], dtype=np.float64)


@dataclass(frozen=True)
class Corrections:
    """What measurements say of each card and plan, in natural logarithms."""

    offset: Mapping[str, Floats]
    """By PHASES: ln(measured / predicted), (cards, plans); absent = no evidence."""
    phases: Mapping[str, Phase]
    cards: Index
    """Row of the evidence's table for each card here."""
    counts: tuple[int, ...]
    """Cards of each plan."""
    plain: Mapping[str, Floats]
    """Half-width of the 80 % interval of the model alone, by phase, for each card."""
    least: float
    """No interval is narrower: reference kernels."""
    unseen: Basis = "derived"
    """How a phase is known of which no row speaks."""
    own: OwnCorrection = NO_OWN
    """What own measurements say: weights and sources by row of the evidence's table, offsets as here."""

    def with_own(self, own: OwnCorrection) -> Corrections:
        """The same, own measurements having their say."""
        if not own:
            return self
        offset = dict(self.offset)
        added = {phase: values[self.cards] for phase, values in own.offset.items()}
        for phase in PHASES:
            if phase in added:
                offset[phase] = offset.get(phase, 0.0) + added[phase]
        return replace(self, offset=offset, own=replace(own, offset=added))

    def narrowed(self, width: Floats, cells: Sequence[tuple[int, int]], phase: str) -> Floats:
        """Half-widths where own measurements are taken into account."""
        weight = self.own.weight.get(phase)
        if weight is None:
            return width
        share = np.array([weight[int(self.cards[card]), plan] for card, plan in cells])
        return np.asarray((1.0 - share) * width + share * np.minimum(width, c.OWN_WIDTH), dtype=np.float64)

    def widths(self, cells: Sequence[tuple[int, int]], phase: str) -> Floats:
        """Half-widths of the 80 % interval of one phase in some cells (card, plan), natural logarithms."""
        found = self.phases.get(phase)
        if found is None:
            plain = np.maximum(self.plain[phase][[card for card, _ in cells]], self.least)
            return self.narrowed(plain, cells, phase)
        asked = [(int(self.cards[card]), float(self.counts[plan])) for card, plan in cells]
        widths = np.maximum(found.widths(asked), max(self.least, found.least))
        return self.narrowed(widths, cells, phase)

    def width(self, card: int, plan: int, phase: str) -> float:
        """One of `widths`, without arrays where it is worked out already."""
        if phase in self.own.weight:
            return float(self.widths([(card, plan)], phase)[0])
        found = self.phases.get(phase)
        if found is None:
            return max(float(self.plain[phase][card]), self.least)
        own = found.width((int(self.cards[card]), float(self.counts[plan])))
        return max(own, self.least, found.least)

    def own_sources(self, card: int, plan: int, phase: str) -> tuple[str, ...]:
        """Ids of the own measurements near one phase of one cell."""
        if not self.own:
            return ()
        return self.own.sources.get((phase, int(self.cards[card]), self.counts[plan]), ())

    def basis(self, card: int, plan: int, phase: str) -> tuple[Basis, tuple[str, ...]]:
        """How one phase is known, and the rows that say so, the nearest first."""
        found = self.phases.get(phase)
        own = self.own_sources(card, plan, phase)
        if own:
            close = found.close(int(self.cards[card]), self.counts[plan]) if found else ()
            return "measured", tuple(dict.fromkeys((*own, *close)))
        if found is None:
            return self.unseen, ()
        evidence, row = found.evidence, int(self.cards[card])
        close = found.close(row, self.counts[plan])
        if close:
            return "measured", close
        family = int(evidence.card_codes["card_class"][row])
        # Rows of this card family or of this model exist.
        known = family >= 0 or int(found.asked.codes["model"][0]) >= 0
        return ("calibrated" if known else "derived"), ()


def corrections(
    work: Workload,
    table: GpuTable,
    position: Mapping[str, int],
    benchmarks: Sequence[Benchmark],
    kinds: Mapping[str, str],
    counts: Sequence[int],
    rows: Index,
) -> Corrections:
    """Compare the model with what was measured and say by how much it is off on each card.

    Parameters
    ----------
    work: resolved question. table: the cards. position: row of each card id.
    benchmarks: measurements; a `BenchmarkIndex` saves the comparison with the model.
    kinds: class of each phase of the answer, by PHASES. counts: cards of each plan.
    rows: of the cards that are asked about; what is measured on the others informs them.

    Returns
    -------
    Offsets over those cards x plans, with what is needed for intervals and bases.
    """
    index = benchmarks if isinstance(benchmarks, BenchmarkIndex) else BenchmarkIndex(benchmarks)
    distinct = sorted(set(counts))
    column = [distinct.index(n) for n in counts]
    found: dict[str, Phase] = {}
    offset: dict[str, Floats] = {}
    # The model of serving is fitted to runs of each engine: rows of other engines say nothing more of it.
    served = queues(work)
    classes = table.card_class[rows]
    for phase, kind in kinds.items():
        evidence = index.evidence(kind, work.model, table, position) if len(index) else None
        if evidence is not None and (not served or evidence.knows(work.engine)):
            # Only rows of servers have no batch of their own: reading and writing are asked at theirs.
            asked = evidence.asked(work if phase == "serving" else as_batch(work))
            covariances = evidence.posterior.covariances(asked)
            found[phase] = Phase(evidence, asked, covariances, kind, evidence.class_factor(kind, work))
            codes = {name: code[rows] for name, code in evidence.card_codes.items()}
            mean = covariances.mean(codes, np.log2(distinct))
            offset[phase] = mean[:, column]
    return Corrections(
        offset=offset,
        phases=found,
        cards=rows,
        counts=tuple(counts),
        plain={p: model_width(work, classes, _width_of(p, k, served)) for p, k in kinds.items()},
        least=c.REFERENCE_KERNEL_WIDTH if reference_kernels(work) else 0.0,
        unseen="calibrated" if served else "derived",
    )


def _width_of(phase: str, kind: str, served: bool) -> str:
    """Key of `constants.WIDTHS` for a phase of which no row speaks."""
    return "load" if served and phase == "serving" else kind


def queues(work: Workload) -> bool:
    """Whether requests of a question queue in an engine that serves."""
    serves = work.engine_record.serving is not None and work.model.family == "decoder" and not work.trains
    return serves and bool(np.any(np.greater(work.output_length or 0.0, 0.0)))


def as_batch(work: Workload) -> Workload:
    """A saturated question as one batch of as many sequences as it may hold."""
    if work.load != "saturated" or work.trains:
        return work
    return replace(work, load="batch", batch_size=Shape.of(work).batch)


def model_width(work: Workload, classes: Index, kind: str) -> Floats:
    """Half-width of the 80 % interval of the model alone for cards of some classes."""
    width = c.WIDTHS[kind] * (c.ASSUMED_DIMENSIONS_FACTOR if work.model.dimensions_assumed else 1.0)
    return np.asarray(width * _CLASS_FACTOR[classes], dtype=np.float64)


def points_of(
    found: Observed, chosen: Index, table: GpuTable, position: Mapping[str, int]
) -> tuple[Points, dict[str, dict[str, int]]]:
    """Rows as points, and the number of every label."""
    numbers: dict[str, dict[str, int]] = {}
    codes: dict[str, Index] = {}
    for name, labels in found.labels.items():
        mine = [labels[i] for i in chosen]
        numbers[name] = {label: n for n, label in enumerate(sorted(set(mine)))}
        codes[name] = np.array([numbers[name][label] for label in mine], dtype=np.intp)
    codes["card_class"] = table.card_class[[position[found.rows[i].gpu_id] for i in chosen]]
    return Points(codes, found.batch[chosen], found.length[chosen], found.count[chosen]), numbers
