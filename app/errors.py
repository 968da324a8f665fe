"""Errors that reach a client: what they hold and how they read as RFC 9457 problem details."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any

from fastapi.responses import Response
from pydantic import BaseModel, Field

PROBLEM_MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class ErrorItem:
    """One field at fault: where (JSON pointer), what (for a reader) and which kind (for a script)."""

    pointer: str
    detail: str
    code: str


class AppError(Exception):
    """An error with everything that an answer needs; `type` is a slug such as `stale-price`.

    With `params`, `detail` is a template that they fill, also after its translation.
    """

    def __init__(
        self,
        status: int,
        type: str,
        title: str,
        detail: str,
        errors: Sequence[ErrorItem] = (),
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail.format_map(params) if params else detail)
        self.status = status
        self.type = type
        self.title = title
        self.detail = str(self)
        self.template = detail
        self.params = dict(params or {})
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        self.extra = dict(extra or {})

    def translated(self, gettext: Callable[[str], str]) -> AppError:
        """The same error with title and detail in another language; texts without a translation stay."""
        return AppError(
            self.status,
            self.type,
            gettext(self.title) if self.title else "",
            gettext(self.template) if self.template else "",
            self.errors,
            self.headers,
            self.extra,
            self.params,
        )


class FieldProblem(BaseModel):
    """One field at fault."""

    pointer: str = Field(examples=["/workload/batch_size"])
    detail: str = Field(examples=["Input should be greater than or equal to 1"])
    code: str = Field(examples=["greater_than_equal"])


class Problem(BaseModel):
    """Problem details of RFC 9457; every error of the API has this shape."""

    type: str = Field(examples=["invalid-input"])
    title: str = Field(examples=["The request is not valid"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["1 field needs attention."])
    instance: str = Field(examples=["/api/v1/memory"])
    request_id: str = Field(examples=["5f0c2f7be0f74f0f9d0a4c4d0c6f1f2e"])
    errors: list[FieldProblem] = Field(default_factory=list)


def slug_of(status: int) -> str:
    """Problem type of a bare HTTP status: 404 -> not-found."""
    try:
        return HTTPStatus(status).phrase.lower().replace(" ", "-").replace("'", "")
    except ValueError:
        return f"status-{status}"


def title_of(status: int) -> str:
    """Title of a bare HTTP status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"Status {status}"


def json_pointer(parts: Sequence[str | int]) -> str:
    """JSON pointer (RFC 6901) of a path of keys and indexes."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def problem_response(error: AppError, instance: str, request_id: str) -> Response:
    """The error as application/problem+json."""
    body: dict[str, Any] = {
        "type": error.type,
        "title": error.title,
        "status": error.status,
        "detail": error.detail,
        "instance": instance,
        "request_id": request_id,
        "errors": [asdict(item) for item in error.errors],
        **error.extra,
    }
    return Response(
        # ASCII escapes keep lone surrogates, which UTF-8 cannot hold, from breaking the answer.
        json.dumps(body, allow_nan=False, default=str).encode("ascii"),
        status_code=error.status,
        media_type=PROBLEM_MEDIA_TYPE,
        headers={"cache-control": "no-store", **error.headers},
    )
