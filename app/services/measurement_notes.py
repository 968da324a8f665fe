"""What is said of measurements as they are stored: what was taken for granted, what estimates cannot use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from app.catalog.importing import ImportReport
from app.catalog.snapshot import Snapshot
from app.core.engines import label_of
from app.core.estimates import Message
from app.core.gpu import Benchmark
from app.core.model.architecture import ModelArchitecture
from app.core.speed.measurements import (
    QUERIES_PER_S,
    UNIT_OF_FAMILY,
    model_of_row,
    question_of,
)
from app.core.speed.scenarios import stated_precision
from app.services.payload import Payload
from app.texts.say import say_message

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


def notes_body(notes: list[tuple[int, Message]], language: str) -> list[Payload]:
    """The notes as JSON, in words."""
    return [{"line": line, "code": m.code, "text": say_message(m, language)} for line, m in notes]


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
