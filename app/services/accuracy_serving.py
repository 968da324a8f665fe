"""How far the model of serving is from published runs, each site left out in turn."""

from __future__ import annotations

from collections.abc import Mapping

from app.catalog.snapshot import Snapshot
from app.core.answer import parts_of
from app.core.serving.accuracy import ALL, ServingErrors, serving_errors
from app.services.accuracy_answers import Aim, AimedServing, ServingAccuracyReport
from app.services.results import Versions
from app.services.serving_runs import fitted_stack, published_runs, report_stack

PART = "serving"
"""Under which the report is kept."""
INSIDE = 0.8
SIGNED_TARGET = 0.12
TARGETS: Mapping[tuple[str, str], tuple[float, float]] = {
    (ALL, "total"): (0.19, 0.58),
    (ALL, "token"): (0.24, 0.64),
    (ALL, "first_alone"): (0.38, 1.1),
    (ALL, "first_load"): (0.55, 1.6),
}
"""|ln(predicted / measured)| at the median and the 90th percentile that is aimed at."""


def serving_report(snapshot: Snapshot) -> ServingAccuracyReport:
    """Errors of time per token, first token and total by engine, kind of card, model and load."""
    runs = published_runs()
    fitted, others = fitted_stack(snapshot), report_stack(snapshot)
    compared = sum(not run.calibrates for run in fitted.runs) + (len(others) if others else 0)
    rows = serving_errors(fitted, others)
    return ServingAccuracyReport(
        part=PART,
        inside=INSIDE,
        signed_target=SIGNED_TARGET,
        groups=tuple(AimedServing(**parts_of(row), target=_aim(row)) for row in rows),
        runs=len(runs),
        compared=compared,
        versions=Versions.of(snapshot.version),
    )


def _aim(row: ServingErrors) -> Aim | None:
    found = TARGETS.get((row.group, row.figure))
    return Aim(*found) if found else None
