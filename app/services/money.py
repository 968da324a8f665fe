"""Amounts in another currency, at the last known rate on or before a day."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TypeVar

from app.catalog.snapshot import Snapshot
from app.services.answers import DollarRate

Answer = TypeVar("Answer")


def to_cny(amount: float, currency: str, snapshot: Snapshot, as_of: date) -> float | None:
    """Yuan, or None when no rate on or before the day is known."""
    use = snapshot.rates.to_cny(currency, as_of)
    return None if use is None else amount * use.rate


def with_currency(answer: Answer, currency: str, snapshot: Snapshot, as_of: date) -> Answer:
    """An answer that says its currency; for USD with the dated rate, None where none is known."""
    use = snapshot.rates.to_cny("USD", as_of) if currency == "USD" else None
    rate = None if use is None else DollarRate(use.rate, use.observed_on.isoformat(), use.old)
    found: Answer = replace(answer, currency=currency, rate=rate)  # type: ignore[type-var]
    return found
