"""A kept report of the accuracy of speed that says nothing but how many measurements it is about."""

from __future__ import annotations

from typing import Any

from app.services.accuracy_answers import (
    AimedRanks,
    AimedScaling,
    SpeedAccuracyReport,
    SpeedLimits,
    SpeedRows,
)
from app.services.accuracy_speed import FLOOR, RANK_TARGET, SCALING_TARGET
from app.services.answers import canonical
from app.services.results import Versions


def speed_body(part: str = "report", total: int = 0, versions: Versions | None = None) -> dict[str, Any]:
    """As the database keeps it."""
    report = SpeedAccuracyReport(
        part=part,
        bases=(),
        classes=(),
        model_alone=(),
        intervals=(),
        ranks=AimedRanks(0, 0.0, 0.0, 0.0, RANK_TARGET),
        scaling=AimedScaling(0, 0.0, 0.0, 0.0, SCALING_TARGET),
        limits=SpeedLimits(0.08, 0.8),
        floor=FLOOR,
        peers=(),
        constants=(),
        cases=SpeedRows(total, 0),
        versions=versions or Versions("0.0", "2026.10-00000000"),
    )
    found: dict[str, Any] = canonical(report)
    return found
