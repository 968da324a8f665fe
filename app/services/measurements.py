"""Published measurements, to be browsed: filters, order and the choices that the data offer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.caching import Cache
from app.catalog.names import normalise_name
from app.catalog.records import effective_date
from app.catalog.snapshot import Snapshot
from app.core.gpu import Benchmark
from app.core.speed.measurements import source_family
from app.services.payload import Payload, gpu_label, number
from app.services.payload import source as source_body

USES = ("used", "flagged", "own")
_KEPT = 4


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
class Wanted:
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


_kept: Cache[Measurements] = Cache(_KEPT)


def measurements(snapshot: Snapshot) -> Measurements:
    """All measurements; worked out once for each catalogue version."""
    return _kept.get(snapshot.digest, lambda: _build(snapshot))


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
                gpu_label(gpu),
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


def _frequent(values: Any) -> tuple[str, ...]:
    return tuple(value for value, _ in Counter(values).most_common() if value)


_ORDERS: Mapping[str, Callable[[Measurement], Any]] = {
    "date": lambda m: (-m.day, m.label.casefold(), m.model.casefold(), m.row.id),
    "gpu": lambda m: (m.label.casefold(), m.row.gpu_count, m.model.casefold(), m.row.id),
    "model": lambda m: (m.model.casefold(), m.label.casefold(), m.row.gpu_count, m.row.id),
    # Speeds of several units have no common order: within one unit only, the units by name.
    "speed": lambda m: (m.row.unit, -m.row.value, m.row.id),
}
ORDERS = tuple(_ORDERS)


def matching(known: Measurements, wanted: Wanted, order: str = "date") -> list[Measurement]:
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


def body(measurement: Measurement) -> Payload:
    """One row as JSON."""
    row = measurement.row
    return {
        "id": row.id,
        "gpu": {"id": row.gpu_id, "label": measurement.label},
        "gpu_count": row.gpu_count,
        "model": {"id": row.model_id, "name": measurement.model, "as_written": row.model_name},
        "task": row.task,
        "phase": row.phase,
        "precision": row.precision,
        "batch_per_gpu": number(row.batch_per_gpu),
        "sequence_length": number(row.sequence_length),
        "image_size": number(row.image_size),
        "input_length": number(row.input_length),
        "output_length": number(row.output_length),
        "value": number(row.value),
        "unit": row.unit,
        "framework": row.framework,
        "framework_version": row.framework_version,
        "interconnect": row.interconnect,
        "observed_on": row.observed_on,
        "source": source_body(row.source),
        "note": row.note,
        "flag": row.flag,
        "own": row.own,
    }
