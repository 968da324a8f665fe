"""Who may write, what they send, and how the faults of their rows are answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from app.api.context import language_of
from app.api.problems import MAX_NAMED, key_required
from app.core.estimates import Message
from app.core.faults import InputFault
from app.errors import AppError, ErrorItem
from app.services.access import ApiKey, find_key
from app.services.imports import ImportRefused, ImportReport, RowFault, fault_text, pointer_of, refusal_text
from app.texts.say import say_message

MAX_ITEMS = 10_000
_BATCH_FIELDS = frozenset({"items"})


@dataclass(frozen=True, slots=True)
class Batch:
    """What was sent: one object alone, or several under `items`."""

    items: Sequence[Any]
    single: bool


async def writer(request: Request, scope: str = "write") -> ApiKey:
    """The key of a call that changes something, looked at before its body is read.

    Raises the 401 for a call without a key that counts, the 403 for a key without the scope.
    """
    language = language_of(request)
    engine = request.app.state.engine
    key = await run_in_threadpool(find_key, engine, request.headers.get("x-api-key"))
    if key is None:
        raise key_required(language)
    if not key.allows(scope):
        raise AppError(
            403,
            "scope-missing",
            say_message(Message("scope_missing_title"), language),
            say_message(Message("scope_missing", {"scope": scope}), language),
        )
    return key


async def read_batch(request: Request) -> Batch:
    """The JSON body as a batch; InputFault when it is none."""
    body = await read_json(request)
    if not isinstance(body, dict):
        raise InputFault.at("", "not_an_object")
    if "items" not in body:
        return Batch((body,), single=True)
    unknown = sorted(set(body) - _BATCH_FIELDS)
    if unknown:
        raise InputFault.at(f"/{unknown[0][:80]}", "unknown_field", value=unknown[0][:80])
    items = body["items"]
    if not isinstance(items, list):
        raise InputFault.at("/items", "not_a_list")
    if not items:
        raise InputFault.at("/items", "empty_list")
    if len(items) > MAX_ITEMS:
        raise InputFault.at("/items", "too_many", limit=MAX_ITEMS)
    return Batch(items, single=False)


async def read_json(request: Request) -> Any:
    """The body as JSON; InputFault when it is none."""
    try:
        return json.loads(await request.body(), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputFault.at("", "not_json") from error


def rows_at_fault(
    report: ImportReport,
    batch: Batch | None,
    language: str,
    point: Callable[[RowFault], str] | None = None,
) -> AppError:
    """The 422 for rows that were not stored; without a batch the pointers name lines of the file.

    `point` names the field of what was sent, where the rows were made from something else.
    """
    items = None if batch is not None and batch.single else report.rows

    def where(fault: RowFault) -> str:
        if point is not None:
            return point(fault)
        return f"/lines/{fault.line}/{fault.column}" if batch is None else pointer_of(fault, items)

    # Several rows may be made from one field: its fault is one.
    found = dict.fromkeys((where(f), fault_text(f, language), f.code) for f in report.faults)
    errors = [ErrorItem(*fault) for fault in list(found)[:MAX_NAMED]]
    confirmable = all(fault.confirmable for fault in report.faults)
    if len(errors) == 1:
        pointer = errors[0].pointer
        detail = f"{pointer}: {errors[0].detail}" if pointer else errors[0].detail
    else:
        detail = say_message(Message("rows_at_fault", {"count": report.fault_count}), language)
    return AppError(
        422,
        "needs-confirmation" if confirmable else "invalid-input",
        say_message(Message("invalid_input_title"), language),
        detail,
        errors=errors,
        extra={"fault_count": report.fault_count},
    )


def refused(error: ImportRefused, language: str) -> AppError:
    """The answer to a file that cannot be read as a whole."""
    status = 404 if error.code == "unknown_kind" else 413 if error.code == "file_too_large" else 422
    return AppError(
        status,
        "import-refused",
        say_message(Message("import_refused_title"), language),
        refusal_text(error, language),
        errors=[ErrorItem("", refusal_text(error, language), error.code)],
    )


def _refuse(word: str) -> None:
    raise ValueError(word)
