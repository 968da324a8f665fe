"""What the estimate says of every measurement that states its question, the measurement itself hidden."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass

from app.catalog.snapshot import Snapshot
from app.core.engines import label_of
from app.core.estimates import Basis
from app.core.gpu import Benchmark
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
)
from app.core.speed.scenarios import scenario_of, stated_precision
from app.services.later import COMPUTING, Later, Pending

HIDDEN = "row"
"""What a prediction has not seen: the row itself, and no other."""
TIMED_PHASES = ("server", "interactive")
"""Phases measured under a limit on the time to answer."""
POLL_S = 0.02
_later: Later[Mapping[str, Prediction]] = Later(2)


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
    return _later.get(snapshot.digest, lambda: predict_rows(snapshot))


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
