"""How far the estimates are from published measurements."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from app.api.answers import cached_answer
from app.api.context import Context, Lang
from app.api.problems import documented
from app.api.route import ApiRoute
from app.services.accuracy import memory_report
from app.services.accuracy_answers import AccuracyAnswer
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
    speed = reports.wait(Context.of(request).snapshot, part, LONGEST_WAIT_SECONDS)

    def compute(context: Context) -> AccuracyAnswer:
        chosen = None if part == "all" else part
        memory = memory_report(context.snapshot, chosen, rows, context.language)
        return AccuracyAnswer(memory, speed.answer, memory.versions)

    question = {"part": part, "rows": rows, "speed": [speed.status, (speed.body or {}).get("versions")]}
    response = cached_answer(request, "accuracy", question, compute)
    if speed.status not in (READY, FAILED):
        response.headers["retry-after"] = str(SECONDS_TO_SPEED)
    return response
