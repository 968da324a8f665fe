"""Amounts in another currency, at the last known rate on or before a day."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import replace
from datetime import date
from typing import Any, TypeVar

from app.catalog.snapshot import Snapshot
from app.services.answers import DollarRate
from app.texts.figures import round_significant

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


_YUAN = re.compile(r"(?<!_per_1000)_cny(?=$|_per_card$|_per_sustained_tflops$|_total$)")
"""Names of amounts in yuan. Figures per 1000 yuan and the yuan per kWh of a question are none."""


def in_currency(body: dict[str, Any], currency: str, snapshot: Snapshot, as_of: date) -> dict[str, Any]:
    """An answer that says its currency; for USD, with dollars beside every yuan and the dated rate."""
    if currency != "USD":
        return {**body, "currency": currency}
    # Parts of it may be kept for the next reader: dollars go into a copy.
    said = {**deepcopy(body), "currency": currency}
    said["rate"] = dollars_beside(said, snapshot, as_of)
    return said


def dollars_beside(payload: Any, snapshot: Snapshot, as_of: date) -> dict[str, Any] | None:
    """Add `…_usd` beside every `…_cny` of a payload, whether one amount or several by name.

    Returns
    -------
    The rate that was used with its date, or None when none is known; nothing is added then.
    """
    use = snapshot.rates.to_cny("USD", as_of)
    if use is None:
        return None
    _add(payload, use.rate)
    return {
        "base": "USD",
        "quote": "CNY",
        "rate": round_significant(use.rate),
        "observed_on": use.observed_on.isoformat(),
        "old": use.old,
    }


def _add(value: Any, rate: float) -> None:
    if isinstance(value, list):
        for item in value:
            _add(item, rate)
    elif isinstance(value, dict):
        for key, amount in list(value.items()):
            name = _YUAN.sub("_usd", key)
            if name == key:
                _add(amount, rate)
            elif isinstance(amount, dict):
                value[name] = {part: _dollars(inner, rate) for part, inner in amount.items()}
            elif amount is not None:
                value[name] = _dollars(amount, rate)


def _dollars(amount: Any, rate: float) -> float | None:
    return round_significant(amount / rate) if isinstance(amount, int | float) else None
