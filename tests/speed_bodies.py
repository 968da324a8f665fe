"""Kept reports: of speed, saying nothing but how many measurements it is about; of prices, of one class."""

from __future__ import annotations

from typing import Any

from app.core.decide.backtest import PriceErrors
from app.services.accuracy_answers import (
    Aim,
    AimedRanks,
    AimedScaling,
    AimedServing,
    OneTable,
    PriceAccuracyReport,
    PriceBand,
    PriceLimits,
    ServingAccuracyReport,
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


def serving_body() -> dict[str, Any]:
    """As the database keeps it."""
    errors = (300, 70, 0.17, 0.6, 0.02, 0.2, 0.86, 2.7)
    report = ServingAccuracyReport(
        part="serving",
        inside=0.8,
        signed_target=0.12,
        groups=(AimedServing("site", "all", "total", *errors, Aim(0.19, 0.58)),),
        runs=445,
        compared=357,
        versions=Versions("0.0", "2026.10-00000000"),
    )
    found: dict[str, Any] = canonical(report)
    return found


def price_body() -> dict[str, Any]:
    """As the database keeps it."""
    report = PriceAccuracyReport(
        part="prices",
        inside=0.8,
        groups=(PriceErrors("small", 1, 45, 20, 8, 0.03, 0.09, -0.01, 0.82, 0.05, 0.13),),
        untested=("chinese",),
        one_table=OneTable("DIY price list", 0.9, 0.8),
        bands={"small": PriceBand(0.03, 0.02, 12), "server": PriceBand(0.3, 0.0, None)},
        limits=PriceLimits(24, 420, 730, "card left out"),
        versions=Versions("0.0", "2026.10-00000000"),
    )
    found: dict[str, Any] = canonical(report)
    return found
