"""Faults of query parameters and of unreadable bodies, as the same field errors as all others."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError

from app.core.faults import FieldError, InputFault, escape, shown
from app.core.fields import DAYS
from app.errors import json_pointer

_KINDS = {
    "missing": "required",
    "int_parsing": "not_a_number",
    "int_from_float": "not_an_integer",
    "float_parsing": "not_a_number",
    "bool_parsing": "not_a_boolean",
    "date_parsing": "not_a_date",
    "date_from_datetime_parsing": "not_a_date",
    "date_from_datetime_inexact": "not_a_date",
    "json_invalid": "not_json",
}


def unknown_parameters(request: Request, known: Collection[str]) -> None:
    """Refuse a query parameter that the route does not have: a slip must not pass for a filter."""
    faults = [
        FieldError(f"/{escape(name)}", "unknown_field", {"value": shown(name)})
        for name in request.query_params
        if name not in known
    ]
    if faults:
        raise InputFault(faults)


def as_faults(error: RequestValidationError) -> list[FieldError]:
    """FastAPI's own findings in our codes."""
    return [_fault(found) for found in error.errors()]


def _fault(found: dict[str, Any]) -> FieldError:
    kind, limits = found["type"], found.get("ctx", {})
    # The first part says query or body; behind json_invalid stands an offset, which names no field.
    pointer = "" if kind == "json_invalid" else json_pointer(found["loc"][1:])
    value = shown(found.get("input", ""))
    if kind in ("greater_than_equal", "less_than_equal"):
        low, high = limits.get("ge"), limits.get("le")
        # The limits of a date come as its text, those of a number as numbers.
        if isinstance(low or high, str):
            first, last = (day.isoformat() for day in DAYS)
            return FieldError(pointer, "date_out_of_range", {"value": value, "first": first, "last": last})
        code = "too_small" if high is None else "too_large"
        return FieldError(pointer, code, {"value": value, "limit": low if high is None else high})
    if kind == "literal_error":
        return FieldError(pointer, "unknown_value", {"value": value, "allowed": limits.get("expected", "")})
    if kind == "string_too_long":
        return FieldError(pointer, "too_long", {"limit": limits.get("max_length", 0)})
    return FieldError(pointer, _KINDS.get(kind, "not_valid"), {"value": value})
