"""Long lists on a page: what the address asks for, one part of the rows, links to the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from starlette.requests import Request

from app.catalog.snapshot import Snapshot
from app.core.faults import InputFault
from app.web.answers import today

T = TypeVar("T")
MAX_TEXT = 100


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """One part of a list."""

    rows: Sequence[T]
    number: int
    parts: int
    total: int
    first: int
    """Number of its first row, from 1."""


def asked(request: Request, *names: str) -> dict[str, str]:
    """The filters of an address, cut to a sane length."""
    return {name: request.query_params.get(name, "")[:MAX_TEXT].strip() for name in names}


def only(value: str, allowed: Sequence[str]) -> str:
    """The value if it is one of those that the page offers, else empty."""
    return value if value in allowed else ""


def part_of(rows: Sequence[T], wanted: str, size: int) -> Part[T]:
    """The part that the address names: the first when it names none, the last when there are fewer."""
    parts = max(1, -(-len(rows) // size))
    number = int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 7 else 1
    number = min(max(number, 1), parts)
    start = (number - 1) * size
    return Part(rows[start : start + size], number, parts, len(rows), start + 1 if rows else 0)


def address(path: str, values: Mapping[str, Any], **changes: Any) -> str:
    """The path with its filters, some of them changed; what is empty is left out."""
    merged = {k: v for k, v in {**values, **changes}.items() if v not in ("", None, 0)}
    return f"{path}?{urlencode(merged, safe=',')}" if merged else path


def day_of(request: Request) -> date:
    """The day that the address asks for, today when it names none.

    Errors
    ------
    InputFault for what is no date.
    """
    text = request.query_params.get("as_of", "")[:MAX_TEXT]
    if not text:
        return today()
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputFault.at("/as_of", "not_a_date", value=text) from None


@lru_cache(maxsize=2)
def card_names(snapshot: Snapshot) -> Mapping[str, str]:
    """For each card the shortest of its names that means it alone: what a text field takes and offers."""
    found: dict[str, str] = {}
    for gpu in snapshot.gpus:
        for name in (gpu.label, gpu.name, gpu.id):
            try:
                if snapshot.resolve_gpu(name) == gpu.id:
                    found[gpu.id] = name
                    break
            except InputFault:
                continue
    return dict(sorted(found.items(), key=lambda item: item[1].casefold()))
