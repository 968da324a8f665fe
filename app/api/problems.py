"""Problems of the API, in the reader's language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.core.estimates import Message
from app.core.faults import FieldError
from app.errors import PROBLEM_MEDIA_TYPE, AppError, ErrorItem, Problem
from app.services.cards import AmbiguousName, NotInCatalogue
from app.texts.say import say_fault, say_message

Responses = dict[int | str, dict[str, Any]]


MAX_NAMED = 100
"""Faults that an answer names one by one; all are counted."""


_MEANING = {
    401: "An API key was sent that is unknown, or this instance asks for one",
    403: "What was sent does not allow this",
    404: "There is no such thing",
    409: "Only a stale price is left, and the request refuses those",
    422: "The request is not valid; each field at fault is named",
    429: "Too many requests; Retry-After says when to come back",
    400: "The request asks for a host under which this server does not answer",
    413: "The body is larger than this instance accepts",
    415: "The body is in a content coding; it is taken as it is",
    503: "The database is in trouble or the server is busy; Retry-After says when to come back",
}


def _problems(*statuses: int) -> Responses:
    return {
        status: {"model": Problem, "content": {PROBLEM_MEDIA_TYPE: {}}, "description": _MEANING[status]}
        for status in statuses
    }


def documented_everywhere() -> Responses:
    """The problems that any route may answer: another host, a busy server, a database in trouble."""
    return _problems(400, 503)


def documented_with_body() -> Responses:
    """The problems that any route with a body may answer."""
    return _problems(413, 415)


def documented(*statuses: int) -> Responses:
    """The problems that a route may answer, for its documentation."""
    return _problems(401, *statuses)


def invalid_input(errors: Sequence[FieldError], language: str) -> AppError:
    """The 422 for fields at fault."""
    items = [ErrorItem(e.pointer, say_fault(e, language), e.code) for e in errors[:MAX_NAMED]]
    if len(errors) == 1:
        where = items[0].pointer
        detail = f"{where}: {items[0].detail}" if where else items[0].detail
    else:
        detail = say_message(Message("fields_at_fault", {"count": len(errors)}), language)
    return AppError(
        422, "invalid-input", say_message(Message("invalid_input_title"), language), detail, errors=items
    )


def not_found(language: str) -> AppError:
    """The 404 for a thing that is not, or no longer, there."""
    return AppError(
        404,
        "not-found",
        say_message(Message("not_found_title"), language),
        say_message(Message("not_found"), language),
    )


def not_one(error: NotInCatalogue, language: str) -> AppError:
    """The answer to an address that names no card or model (404), or more than one (422)."""
    if isinstance(error, AmbiguousName):
        return invalid_input(error.errors, language)
    return not_found(language)


def manage_token_refused(language: str, sent: bool) -> AppError:
    """The 401 for a missing manage token, the 403 for a wrong one."""
    code = "manage_token_wrong" if sent else "manage_token_required"
    return AppError(
        403 if sent else 401,
        code.replace("_", "-"),
        say_message(Message(f"{code}_title"), language),
        say_message(Message(code), language),
        headers=None if sent else {"www-authenticate": "ManageToken"},
    )


def key_required(language: str) -> AppError:
    """The 401 for a call without a key that counts."""
    return AppError(
        401,
        "api-key-required",
        say_message(Message("api_key_required_title"), language),
        say_message(Message("api_key_required"), language),
        headers={"www-authenticate": "ApiKey"},
    )


def stale_price(message: Message, language: str, extra: dict[str, Any] | None = None) -> AppError:
    """The 409 for a price that is too old to be used."""
    return AppError(
        409,
        "stale-price",
        say_message(Message("stale_price_title"), language),
        say_message(message, language),
        extra=extra,
    )


def too_many_requests(language: str, headers: dict[str, str]) -> AppError:
    """The 429 of a limit."""
    return AppError(
        429,
        "too-many-requests",
        say_message(Message("too_many_requests_title"), language),
        say_message(Message("too_many_requests", {"seconds": int(headers["retry-after"])}), language),
        headers=headers,
    )
