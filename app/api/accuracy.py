"""How far the estimates are from published measurements."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from app.api.answers import cached_answer
from app.api.context import Context, Lang
from app.api.problems import documented
from app.api.route import ApiRoute
from app.api.schemas.answers import Open
from app.services.accuracy import memory_report
from app.services.speed_reports import FAILED, READY, SpeedReports
from app.texts.accuracy import in_words

router = APIRouter(tags=["accuracy"], route_class=ApiRoute)

Shown = Literal["report", "fit", "all"]
SECONDS_TO_SPEED = 5
LONGEST_WAIT_SECONDS = 5.0
"""Only a new database has no report at all, and that one takes half a minute."""


class ErrorSummary(Open):
    """Errors of a set of figures, as fractions of the measured value."""

    n: int
    median_signed: float
    median: float = Field(description="Median of the absolute error.")
    percentile_90: float
    inside_share: float | None = Field(description="Share of measured values inside low..high.")


class AccuracyGroup(Open):
    """One group of cases against its target."""

    group: str = Field(examples=["inference_peak"])
    name: str
    errors: ErrorSummary | None
    batches: dict[str, Any] | None = Field(description="Brackets of the largest batch.")


class MemoryAccuracyAnswer(Open):
    """Memory, predicted against measured."""

    part: Shown
    groups: list[AccuracyGroup]
    classes: list[dict[str, Any]] = Field(description="By task, family, engine and figure.")
    verdicts: dict[str, Any] = Field(description="Runs out of memory that are said to fit, and the reverse.")
    cases: dict[str, Any] = Field(description="How many are expressed, and why the others are not.")
    peers: dict[str, Any] = Field(description="Other public tools on the same cases.")


class AccuracyAnswer(Open):
    """Measured against predicted."""

    memory: MemoryAccuracyAnswer
    speed: dict[str, Any] = Field(
        description="Speed, estimated against measured, worked out once for the data it rests on. "
        "`status` is `ready`; `previous`, with Retry-After: of earlier data, whose version is in `versions`, "
        "while the new one is worked out; `computing`, with Retry-After, where there is none yet; "
        "or `failed`."
    )
    versions: dict[str, str]


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

    def compute(context: Context) -> dict[str, Any]:
        memory = memory_report(context.snapshot, None if part == "all" else part, rows)
        return {
            "memory": in_words(memory, context.language),
            "speed": {"status": speed.status, **(speed.body or {})},
            "versions": memory["versions"],
        }

    question = {"part": part, "rows": rows, "speed": [speed.status, (speed.body or {}).get("versions")]}
    response = cached_answer(request, "accuracy", question, compute)
    if speed.status not in (READY, FAILED):
        response.headers["retry-after"] = str(SECONDS_TO_SPEED)
    return response
