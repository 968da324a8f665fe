"""Exchange rates into yuan: the last one on or before a day, directly, inverted or by way of the dollar."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from app.catalog.records import effective_date

HOME = "CNY"
BRIDGE = "USD"
OLD_AFTER_DAYS = 45


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """Units of `quote` for one `base`, as observed."""

    base: str
    quote: str
    rate: float
    observed_on: str
    kind: str = ""
    source_id: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class RateUse:
    """The rate that serves one conversion."""

    rate: float
    observed_on: date
    old: bool
    """Observed more than 45 days before the day it is used for."""


class Rates:
    """All known rates, ready for look-up. Immutable once built."""

    def __init__(self, observed: Iterable[ExchangeRate] = ()) -> None:
        rows = []
        for row in observed:
            day = effective_date(row.observed_on)
            if day is not None:
                rows.append((day.toordinal(), row.id, row))
        rows.sort(key=lambda item: item[:2])
        self.rows: tuple[ExchangeRate, ...] = tuple(row for _, _, row in rows)
        self._days: dict[tuple[str, str], list[int]] = {}
        self._values: dict[tuple[str, str], list[float]] = {}
        for day_number, _, row in rows:
            pair = (row.base, row.quote)
            self._days.setdefault(pair, []).append(day_number)
            self._values.setdefault(pair, []).append(row.rate)
        self._used: dict[tuple[str, int], RateUse | None] = {}

    def to_cny(self, currency: str, on: date) -> RateUse | None:
        """Yuan for one unit of a currency on a day.

        Parameters
        ----------
        currency: ISO code.
        on: the day of the amount; rates after it do not exist yet.

        Returns
        -------
        The rate with its own day, or None when none on or before that day is known.
        """
        number = on.toordinal()
        key = (currency, number)
        if key not in self._used:
            if len(self._used) > 50_000:
                self._used.clear()
            self._used[key] = self._find(currency, number)
        return self._used[key]

    def _find(self, currency: str, number: int) -> RateUse | None:
        if currency == HOME:
            return RateUse(1.0, date.fromordinal(number), False)
        found = self._pair(currency, HOME, number)
        if found is None and currency != BRIDGE:
            first, second = self._pair(currency, BRIDGE, number), self._pair(BRIDGE, HOME, number)
            if first and second:
                found = (first[0] * second[0], min(first[1], second[1]))
        if found is None:
            return None
        rate, day = found
        return RateUse(rate, date.fromordinal(day), number - day > OLD_AFTER_DAYS)

    def _pair(self, base: str, quote: str, number: int) -> tuple[float, int] | None:
        straight, inverse = self._last(base, quote, number), self._last(quote, base, number)
        if straight and (inverse is None or straight[1] >= inverse[1]):
            return straight
        return (1.0 / inverse[0], inverse[1]) if inverse else None

    def _last(self, base: str, quote: str, number: int) -> tuple[float, int] | None:
        days = self._days.get((base, quote))
        at = bisect_right(days, number) if days else 0
        return (self._values[base, quote][at - 1], days[at - 1]) if days and at else None
