"""What an answer depends on besides its request: catalogue, language, currency and day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from fastapi import Query, Request
from sqlalchemy import Engine

from app.catalog.snapshot import Snapshot
from app.core.fields import DAYS, parse_day
from app.texts.language import negotiate

Lang = Annotated[
    Literal["zh", "en"] | None,
    Query(description="Language of the texts; else Accept-Language decides."),
]
Currency = Annotated[
    Literal["CNY", "USD"],
    Query(description="USD adds every amount in US dollars, converted at the dated rate, beside the yuan."),
]
WithFormulas = Annotated[
    bool,
    Query(description="Whether every option says how each of its figures was computed: `formulas`."),
]
AsOf = Annotated[
    date | None,
    Query(
        ge=DAYS[0],
        le=DAYS[1],
        description="The day that picks prices, rates and ages; today (UTC) when not given.",
    ),
]


def today_utc() -> date:
    """The day that counts when a request names none."""
    return datetime.now(UTC).date()


def language_of(request: Request) -> str:
    """Language of the texts of one answer."""
    settings = request.app.state.settings
    return negotiate(
        request.query_params.get("lang"),
        None,
        request.headers.get("accept-language"),
        settings.default_language or "zh",
    )


@dataclass(frozen=True, slots=True)
class Context:
    """Catalogue, language, currency and day of one request."""

    snapshot: Snapshot
    engine: Engine
    language: str
    currency: str
    today: date

    @classmethod
    def of(cls, request: Request) -> Context:
        """The context of a request; its `as_of` in the address stands for today."""
        state: Any = request.app.state
        stated = parse_day(request.query_params.get("as_of", ""))
        return cls(
            snapshot=state.store.snapshot(),
            engine=state.engine,
            language=language_of(request),
            currency=request.query_params.get("currency", "CNY"),
            today=stated or today_utc(),
        )
