"""Measurements: browsed with filters, what is said of new ones, and what the estimate says of each unseen."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from app.caching import Cache
from app.catalog.importing import ImportReport
from app.catalog.names import normalise_name
from app.catalog.records import effective_date
from app.catalog.snapshot import Snapshot
from app.core.answer import AnyMap, Figure, answer
from app.core.engines import label_of
from app.core.estimates import Basis, Message
from app.core.gpu import Benchmark, GpuRef, Source
from app.core.model.architecture import ModelArchitecture
from app.core.speed.accuracy import observations
from app.core.speed.evidence import Evidence
from app.core.speed.hidden import held_out
from app.core.speed.measurements import (
    MAX_CARDS,
    QUERIES_PER_S,
    UNIT_OF_FAMILY,
    group_of,
    model_of_row,
    question_of,
    source_family,
)
from app.core.speed.scenarios import scenario_of, stated_precision
from app.services.later import COMPUTING, Later, Pending

MEASURED: Basis = "measured"
"""A throughput that somebody timed."""
USES = ("used", "flagged", "own")
_KEPT = 4


@answer()
class MeasuredModel:
    """The model of a measurement."""

    id: str | None
    """Id of the preset; null where it is none of them."""
    name: str
    """The model as the source names it."""


@answer(omit=("more",))
class MeasurementRow:
    """One measurement of throughput, of all its cards together, as it was normalised."""

    id: str
    """Id of the measurement."""
    gpu: GpuRef
    """The card."""
    gpu_count: int
    """Cards that worked together."""
    model: MeasuredModel
    """The model."""
    task: str
    """training, inference or finetune."""
    phase: str
    """prefill, decode, saturated …; empty for models without such phases."""
    precision: str
    """Format of the weights and of the computation; empty where it is not stated."""
    value: Figure
    """Throughput, in `unit`."""
    unit: str
    """images_per_s, samples_per_s, tokens_per_s, realtime_factor …"""
    batch_per_gpu: Figure | None
    """Images or sequences on each card at once."""
    sequence_length: Figure | None
    """Tokens of a sequence."""
    image_size: Figure | None
    """Pixels of a side."""
    input_length: Figure | None
    """Tokens of a prompt."""
    output_length: Figure | None
    """Tokens of an answer."""
    framework: str
    """Software that it ran on."""
    framework_version: str
    """Version of the software."""
    interconnect: str
    """Link between the cards as the source states it."""
    observed_on: str
    """Day, month or year of the measurement, ISO 8601."""
    basis: Basis
    """How it is known: measured."""
    source: Source | None
    """Where it was read."""
    note: str
    """What the source says beside."""
    flag: str
    """Why it is not used to predict; empty where it is."""
    own: bool
    """Whether it is of the team itself."""
    more: AnyMap | None
    """Further columns of the row by name, which nothing is calculated with; absent where it has none."""


def measurement_row(snapshot: Snapshot, row: Benchmark) -> MeasurementRow:
    """One measurement as it was normalised."""
    return MeasurementRow(
        row.id,
        snapshot.gpu(row.gpu_id).ref,
        row.gpu_count,
        MeasuredModel(row.model_id or None, row.model_name),
        row.task,
        row.phase,
        row.precision,
        row.value,
        row.unit,
        row.batch_per_gpu,
        row.sequence_length,
        row.image_size,
        row.input_length,
        row.output_length,
        row.framework,
        row.framework_version,
        row.interconnect,
        row.observed_on,
        MEASURED,
        row.source,
        row.note,
        row.flag,
        row.own,
        dict(row.more) or None,
    )


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row with what filters and orders need of it."""

    row: Benchmark
    label: str
    model: str
    search: str
    day: int
    source: str
    """Repository or site: two logs of one repository are one source."""


@dataclass(frozen=True, slots=True)
class WantedMeasurements:
    """What the reader asks to see; empty texts ask for everything."""

    gpu: str = ""
    model: str = ""
    q: str = ""
    task: str = ""
    precision: str = ""
    framework: str = ""
    use: str = ""
    cards: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True)
class Measurements:
    """All rows, newest first, and the values that the filters offer."""

    rows: tuple[Measurement, ...]
    tasks: tuple[str, ...]
    precisions: tuple[str, ...]
    frameworks: tuple[str, ...]
    counts: tuple[int, ...]
    gpus: tuple[tuple[str, str, int], ...]
    """id, label, rows."""
    models: tuple[tuple[str, str, int], ...]
    """id, name, rows; presets alone."""
    sources: tuple[tuple[str, int], ...]
    """Repository or site, rows; the largest first."""
    flagged: int


_all: Cache[Measurements] = Cache(_KEPT)


def measurements(snapshot: Snapshot) -> Measurements:
    """All measurements; worked out once for each catalogue version."""
    return _all.get(snapshot.digest, lambda: _build(snapshot))


def _build(snapshot: Snapshot) -> Measurements:
    rows = []
    for row in snapshot.benchmarks:
        gpu = snapshot.gpu(row.gpu_id)
        preset = snapshot.models.get(row.model_id)
        model = (preset.name or preset.id) if preset else row.model_name
        day = effective_date(row.observed_on)
        names = (gpu.id, gpu.name, row.model_id, model, row.model_name, row.framework)
        rows.append(
            Measurement(
                row,
                gpu.label,
                model,
                normalise_name(" ".join(names)),
                day.toordinal() if day else 0,
                source_family(row),
            )
        )
    rows.sort(key=_ORDERS["date"])
    gpus = Counter((m.row.gpu_id, m.label) for m in rows)
    models = Counter((m.row.model_id, m.model) for m in rows if m.row.model_id)
    return Measurements(
        tuple(rows),
        _frequent(m.row.task for m in rows),
        _frequent(m.row.precision for m in rows),
        _frequent(m.row.framework for m in rows),
        tuple(sorted({m.row.gpu_count for m in rows})),
        tuple(sorted(((i, name, n) for (i, name), n in gpus.items()), key=lambda g: g[1].casefold())),
        tuple(sorted(((i, name, n) for (i, name), n in models.items()), key=lambda g: g[1].casefold())),
        tuple(Counter(m.source for m in rows).most_common()),
        sum(1 for m in rows if m.row.flag),
    )


def _frequent(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(value for value, _ in Counter(values).most_common() if value)


_ORDERS: Mapping[str, Callable[[Measurement], Any]] = {
    "date": lambda m: (-m.day, m.label.casefold(), m.model.casefold(), m.row.id),
    "gpu": lambda m: (m.label.casefold(), m.row.gpu_count, m.model.casefold(), m.row.id),
    "model": lambda m: (m.model.casefold(), m.label.casefold(), m.row.gpu_count, m.row.id),
    # Speeds of several units have no common order: within one unit only, the units by name.
    "speed": lambda m: (m.row.unit, -m.row.value, m.row.id),
}
ORDERS = tuple(_ORDERS)


def matching(known: Measurements, wanted: WantedMeasurements, order: str = "date") -> list[Measurement]:
    """The rows that are asked for: newest first, or by card, model or speed."""
    words = normalise_name(wanted.q).split()
    found = [
        m
        for m in known.rows
        if (not wanted.gpu or m.row.gpu_id == wanted.gpu)
        and (not wanted.model or m.row.model_id == wanted.model)
        and (not wanted.task or m.row.task == wanted.task)
        and (not wanted.precision or m.row.precision == wanted.precision)
        and (not wanted.framework or m.row.framework == wanted.framework)
        and (not wanted.cards or m.row.gpu_count == wanted.cards)
        and (not wanted.source or m.source == wanted.source)
        and (not wanted.use or wanted.use in _uses(m.row))
        and all(word in m.search for word in words)
    ]
    if order != "date" and order in _ORDERS:
        found.sort(key=_ORDERS[order])
    return found


def _uses(row: Benchmark) -> Sequence[str]:
    return ("flagged" if row.flag else "used", *(("own",) if row.own else ()))


MOST_NOTES = 1_000
_FIELDS = frozenset(f.name for f in fields(Benchmark))


def notes_of(report: ImportReport, snapshot: Snapshot) -> list[tuple[int, Message]]:
    """Notes on the rows of an import of measurements, by line.

    Parameters
    ----------
    report: of the import. snapshot: the catalogue, for the models.

    Returns
    -------
    (line, message): what was taken for granted, then why estimates cannot use a row.
    """
    models = {key: preset.architecture for key, preset in snapshot.models.items()}
    found = list(report.notes[:MOST_NOTES])
    for line, row in report.measured[:MOST_NOTES]:
        reason = why_unused(_benchmark(row), models)
        if reason is not None:
            found.append((line, reason))
    return sorted(found, key=lambda n: n[0])


def why_unused(row: Benchmark, models: Mapping[str, ModelArchitecture]) -> Message | None:
    """Why the estimator does not take a measurement; None when it does."""
    model = model_of_row(row, models)
    if model is not None and question_of(row, model) is not None:
        return None
    if row.flag:
        return Message("row_unused_flag")
    if model is None:
        return Message("row_unused_model")
    if not stated_precision(row):
        return Message("row_unused_precision")
    if not label_of(row.framework):
        return Message("row_unused_engine")
    wanted = UNIT_OF_FAMILY.get(model.family, QUERIES_PER_S)
    if row.unit != wanted:
        return Message("row_unused_unit", {"family": model.family, "unit": row.unit})
    return Message("row_unused_lengths")


def _benchmark(row: Mapping[str, Any]) -> Benchmark:
    stated = {k: v for k, v in row.items() if k in _FIELDS}
    return Benchmark(**{**stated, "model_name": row["model_as_written"]})


HIDDEN = "row"
"""What a prediction has not seen: the row itself, and no other."""
TIMED_PHASES = ("server", "interactive")
"""Phases measured under a limit on the time to answer."""
POLL_S = 0.02
_predictions: Later[Mapping[str, Prediction]] = Later(2)


@dataclass(frozen=True, slots=True)
class Prediction:
    """The estimate for the question of one measurement, in the unit of its row, over all its cards."""

    low: float
    expected: float
    high: float
    basis: Basis
    kind: str
    """Class of `constants.WIDTHS`: cnn_training, decode …"""
    ratio: float
    """Measured over expected."""

    @property
    def inside(self) -> bool:
        """Whether the measurement lies in low..high."""
        return self.low <= self.expected * self.ratio <= self.high


def predictions(snapshot: Snapshot) -> Pending[Mapping[str, Prediction]]:
    """Predictions by id of the measurement, as far as they are; the first to ask starts the work."""
    return _predictions.get(snapshot.digest, lambda: predict_rows(snapshot))


def predict_now(snapshot: Snapshot) -> None:
    """Wait until the predictions are there: for those who cannot come back."""
    pending = predictions(snapshot)
    while pending.status == COMPUTING:
        time.sleep(POLL_S)


def predict_rows(snapshot: Snapshot) -> Mapping[str, Prediction]:
    """Estimate every measurement from all the others.

    Returns
    -------
    One entry for each row that states its question; of a class with a single row there is nothing to say.

    Notes
    -----
    The other rows of the same card, model and source stay: this is how far a question is missed whose very
    answer nobody has published. What is missed without card, model or source is on /method.
    """
    models = {key: preset.architecture for key, preset in snapshot.models.items()}
    found, table = observations(snapshot.benchmarks, models, snapshot.gpus)
    position = {gpu.id: i for i, gpu in enumerate(snapshot.gpus)}
    kinds = {row.id: kind for row, kind in zip(found.rows, found.kinds, strict=True)}
    measured = {row.id: row.value for row in found.rows}
    said: dict[str, Prediction] = {}
    for group in sorted({group_of(kind) for kind in found.kinds}):
        evidence = Evidence.of(found, group, table, position)
        if evidence is None:
            continue
        for held in held_out(evidence, kinds, (HIDDEN,)):
            ratio = math.exp(held.log_error)
            expected = measured[held.row_id] / ratio
            reach = math.exp(held.width)
            said[held.row_id] = Prediction(
                expected / reach, expected, expected * reach, held.basis, held.kind, ratio
            )
    return said


def why_unpredicted(row: Benchmark, snapshot: Snapshot) -> str:
    """Code of why a row has no prediction: the first thing that it lacks.

    One of flagged, model, card (nobody can estimate it there), precision, software, load, method, lengths,
    cards, unit; else stated.
    """
    preset = snapshot.models.get(row.model_id)
    model = model_of_row(row, {row.model_id: preset.architecture} if preset else {})
    if row.flag:
        return "flagged"
    if model is None:
        return "model"
    if question_of(row, model, snapshot.gpu(row.gpu_id).usable_gib or math.nan) is not None:
        return "card"
    language = model.family == "decoder"
    lacks = {
        "precision": not stated_precision(row),
        "software": not label_of(row.framework),
        "load": row.phase in TIMED_PHASES and scenario_of(row) is None,
        "method": row.task == "finetune" and language,
        "lengths": row.task == "inference" and language and not row.output_length,
        "cards": row.gpu_count > MAX_CARDS,
        "unit": row.unit != UNIT_OF_FAMILY.get(model.family, QUERIES_PER_S),
    }
    return next((code for code, lacking in lacks.items() if lacking), "stated")
