"""How far the estimates are from published measurements."""

from __future__ import annotations

from time import monotonic
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from app.api.answers import cached_answer
from app.api.context import Context, Lang
from app.api.problems import documented
from app.api.route import ApiRoute
from app.services.accuracy import memory_report
from app.services.accuracy_answers import (
    AccuracyAnswer,
    PriceAccuracyReport,
    ServingAccuracyReport,
    SpeedAccuracyReport,
)
from app.services.accuracy_prices import PART as PRICES
from app.services.accuracy_serving import PART as SERVING
from app.services.speed_reports import FAILED, READY, SpeedReports

router = APIRouter(tags=["accuracy"], route_class=ApiRoute)

Shown = Literal["report", "fit", "all"]
SECONDS_TO_SPEED = 5
LONGEST_WAIT_SECONDS = 5.0
"""Only a new database has no report at all, and that one takes half a minute."""


@router.get(
    "/accuracy",
    summary="Measured against predicted",
    response_model=AccuracyAnswer,
    responses=documented(422),
)
def accuracy(
    request: Request,
    part: Annotated[
        Shown,
        Query(description="`report`: cases that no constant was calibrated on; `fit`: the others."),
    ] = "report",
    rows: Annotated[bool, Query(description="List each measured figure beside its prediction.")] = True,
    lang: Lang = None,
) -> Response:
    """Errors by group and by class, verdicts on runs, cases not expressed; of speed, by what was seen."""
    del lang

    reports: SpeedReports = request.app.state.speed_reports
    snapshot = Context.of(request).snapshot
    until = monotonic() + LONGEST_WAIT_SECONDS
    prices = reports.wait(snapshot, PRICES, LONGEST_WAIT_SECONDS)
    serving = reports.wait(snapshot, SERVING, max(0.0, until - monotonic()))
    speed = reports.wait(snapshot, part, max(0.0, until - monotonic()))

    def compute(context: Context) -> AccuracyAnswer:
        chosen = None if part == "all" else part
        memory = memory_report(context.snapshot, chosen, rows, context.language)
        return AccuracyAnswer(
            memory,
            speed.answer(SpeedAccuracyReport),
            prices.answer(PriceAccuracyReport),
            serving.answer(ServingAccuracyReport),
            memory.versions,
        )

    known = [[one.status, (one.body or {}).get("versions")] for one in (speed, prices, serving)]
    question = {"part": part, "rows": rows, "known": known}
    response = cached_answer(request, "accuracy", question, compute)
    if any(one.status not in (READY, FAILED) for one in (speed, prices, serving)):
        response.headers["retry-after"] = str(SECONDS_TO_SPEED)
    return response
