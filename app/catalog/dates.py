"""Dates of observations: a day, a month (its last day) or a bare year (its last day, and never fresh)."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from functools import lru_cache

_PATTERN = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")


@lru_cache(maxsize=65_536)
def effective_date(text: str, as_of: date | None = None) -> date | None:
    """The day that an observation counts from; None when it is undated.

    Parameters
    ----------
    as_of: the day of the question; a bare year that is running then counts from that day, not from its last,
        which is still to come.

    Errors
    ------
    ValueError for a text that is neither empty nor YYYY, YYYY-MM or YYYY-MM-DD.
    """
    if not text:
        return None
    found = _PATTERN.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a date: YYYY-MM-DD, YYYY-MM or YYYY")
    year, month = int(found[1]), int(found[2] or 12)
    if found[3]:
        return date(year, month, int(found[3]))
    if not 1 <= month <= 12:
        raise ValueError(f"{text!r} has no such month")
    last = date(year, month, monthrange(year, month)[1])
    if as_of is not None and is_bare_year(text) and date(year, 1, 1) <= as_of:
        return min(last, as_of)
    return last


def is_bare_year(text: str) -> bool:
    """Whether only the year is known."""
    return len(text) == 4
