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
from app.services.accuracy_speed import speed_report
from app.services.later import COMPUTING, READY, Later
from app.texts.accuracy import in_words

router = APIRouter(tags=["accuracy"], route_class=ApiRoute)

Shown = Literal["report", "fit", "all"]
SECONDS_TO_SPEED = 5
LONGEST_WAIT_SECONDS = 60.0
"""A script wants the answer, not a promise: it takes seconds, once for each version of the catalogue."""
_speed: Later[dict[str, Any]] = Later(6)


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
        description="Speed, estimated against measured; the answer waits for it. `status` is `ready`, or "
        "`computing` after a minute, with Retry-After, or `failed`."
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

    snapshot = Context.of(request).snapshot
    speed = _speed.wait((snapshot.digest, part), lambda: speed_report(snapshot, part), LONGEST_WAIT_SECONDS)
    status = speed.status

    def compute(context: Context) -> dict[str, Any]:
        memory = memory_report(context.snapshot, None if part == "all" else part, rows)
        return {
            "memory": in_words(memory, context.language),
            "speed": {"status": status, **((speed.value or {}) if status == READY else {})},
            "versions": memory["versions"],
        }

    question = {"part": part, "rows": rows, "speed": status}
    response = cached_answer(request, "accuracy", question, compute)
    if status == COMPUTING:
        response.headers["retry-after"] = str(SECONDS_TO_SPEED)
    return response
