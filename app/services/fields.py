"""Strict reading of JSON objects: every fault is noted with its pointer, none stops the reading."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, TypeVar

from app.core.faults import FieldError, InputFault
from app.core.workload import Range

T = TypeVar("T")

Place = str | tuple[str, int]
"""A field, or one item of a list field."""

DAYS = (date(1990, 1, 1), date(2100, 12, 31))
"""The first and the last day that a question may be about."""
_TEXT_LIMIT = 200
_LIST_LIMIT = 500
_SHOWN = 80


def escape(key: object) -> str:
    """One part of a JSON pointer (RFC 6901), short whatever was sent."""
    return str(key)[:_SHOWN].replace("~", "~0").replace("/", "~1")


def shown(value: object) -> str:
    """What was sent, short enough to stand in a message."""
    if isinstance(value, int) and abs(value) > 10**18:
        return "…"
    text = str(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


class Fields:
    """Reader of one JSON object. Ask for each known field, then `close`: the rest is unknown."""

    def __init__(self, data: Mapping[str, Any], pointer: str, errors: list[FieldError]) -> None:
        self.data = data
        self.pointer = pointer
        self.errors = errors
        self._asked: set[str] = set()

    @classmethod
    def root(cls, data: object, pointer: str = "") -> Fields:
        """Reader of a whole body; anything but an object is refused at once."""
        if not isinstance(data, Mapping):
            raise InputFault.at(pointer, "not_an_object")
        return cls(data, pointer, [])

    def fault(self, at: Place, code: str, **params: Any) -> None:
        """Note a fault of one field, or of one item of a list."""
        name, index = (at, None) if isinstance(at, str) else at
        pointer = f"{self.pointer}/{escape(name)}" + ("" if index is None else f"/{index}")
        self.errors.append(FieldError(pointer, code, params))

    def given(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self.data.get(name) is not None

    def raw(self, name: str, required: bool = False) -> Any:
        """The field as it was sent; null counts as not given."""
        self._asked.add(name)
        value = self.data.get(name)
        if value is None and required:
            self.fault(name, "required")
        return value

    def number(self, name: str, limits: Range, required: bool = False) -> float | None:
        """A finite number inside the range; a bool or a text is none."""
        value = self.raw(name, required)
        return None if value is None else self.check_number(name, value, limits)

    def check_number(self, name: Place, value: Any, limits: Range) -> float | None:
        """The value as a float, or None with the fault noted."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            plain = unicodedata.normalize("NFKC", value[:_SHOWN]) if isinstance(value, str) else value
            code = "not_a_number" if plain == value else "full_width_digits"
            self.fault(name, code, value=shown(value), plain=shown(plain))
            return None
        if isinstance(value, float) and not math.isfinite(value):
            self.fault(name, "not_finite")
            return None
        if not limits.low <= value <= limits.high:
            self.fault(name, "out_of_range", value=shown(value), low=limits.low, high=limits.high)
            return None
        if limits.integer and float(value) != int(value):
            self.fault(name, "not_an_integer", value=shown(value))
            return None
        return float(value)

    def integer(self, name: str, limits: Range, required: bool = False) -> int | None:
        """A whole number inside the range."""
        value = self.number(name, limits, required)
        return None if value is None else int(value)

    def boolean(self, name: str) -> bool | None:
        """true or false, nothing that merely looks like it."""
        value = self.raw(name)
        if value is None or isinstance(value, bool):
            return value
        self.fault(name, "not_a_boolean", value=shown(value))
        return None

    def text(self, name: str, required: bool = False, limit: int = _TEXT_LIMIT) -> str | None:
        """A text of bounded length, without control characters, trimmed."""
        value = self.raw(name, required)
        return None if value is None else self.check_text(name, value, limit)

    def check_text(self, name: Place, value: Any, limit: int = _TEXT_LIMIT) -> str | None:
        """The value as a text, or None with the fault noted."""
        if not isinstance(value, str):
            self.fault(name, "not_a_text", value=shown(value))
            return None
        if len(value) > limit:
            self.fault(name, "too_long", limit=limit)
            return None
        # Lone surrogates pass through JSON but not into UTF-8, and no database takes a zero byte.
        if any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) <= 0xDFFF for c in value):
            self.fault(name, "not_plain_text")
            return None
        return value.strip()

    def choice(self, name: str, allowed: Sequence[str], required: bool = False) -> str | None:
        """One of the allowed words."""
        value = self.raw(name, required)
        if value is None:
            return None
        if isinstance(value, str) and value in allowed:
            return value
        self.fault(name, "unknown_value", value=shown(value), allowed=list(allowed))
        return None

    def items(self, name: str, limit: int = _LIST_LIMIT) -> list[Any] | None:
        """A list of bounded length."""
        value = self.raw(name)
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            self.fault(name, "not_a_list", value=shown(value))
            return None
        if len(value) > limit:
            self.fault(name, "too_many", limit=limit)
            return None
        return list(value)

    def choices(self, name: str, allowed: Sequence[str]) -> tuple[str, ...] | None:
        """A list of allowed words; each wrong one is named by its place."""
        values = self.items(name)
        if values is None:
            return None
        good: list[str] = []
        for index, value in enumerate(values):
            if isinstance(value, str) and value in allowed:
                good.append(value)
            else:
                self.fault((name, index), "unknown_value", value=shown(value), allowed=list(allowed))
        return tuple(dict.fromkeys(good))

    def day(self, name: str) -> date | None:
        """An ISO date."""
        value = self.text(name)
        if value is None:
            return None
        parsed = parse_day(value)
        if parsed is None and written_day(value) is not None:
            first, last = (day.isoformat() for day in DAYS)
            self.fault(name, "date_out_of_range", value=shown(value), first=first, last=last)
        elif parsed is None:
            self.fault(name, "not_a_date", value=shown(value))
        return parsed

    def object(self, name: str, required: bool = False) -> Fields | None:
        """Reader of an object inside, which notes its faults in the same list."""
        value = self.raw(name, required)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.fault(name, "not_an_object")
            return None
        return Fields(value, f"{self.pointer}/{escape(name)}", self.errors)

    def close(self) -> None:
        """Refuse the fields that nobody asked for."""
        for name in self.data:
            if name not in self._asked:
                self.fault(str(name), "unknown_field", value=shown(name))

    def finish(self) -> None:
        """Close the body and raise when anything in it was at fault."""
        self.close()
        self.raise_faults()

    def raise_faults(self) -> None:
        """Raise what was noted up to here."""
        if self.errors:
            raise InputFault(self.errors)


def parse_day(value: str) -> date | None:
    """The date of an ISO text (2026-11-30) within `DAYS`, else None."""
    parsed = written_day(value)
    return parsed if parsed is not None and DAYS[0] <= parsed <= DAYS[1] else None


def written_day(value: str) -> date | None:
    """The date that an ISO text writes out, whenever that is, else None."""
    if len(value) != 10 or not value.isascii():
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None


def given(value: T | None, default: T) -> T:
    """The value, or the default where nothing was said."""
    return default if value is None else value
