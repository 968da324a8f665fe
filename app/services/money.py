"""Amounts in another currency, at the last known rate on or before a day."""

from __future__ import annotations

from datetime import date
from typing import Any

from app.catalog.snapshot import Snapshot
from app.services.figures import round_significant


def to_cny(amount: float, currency: str, snapshot: Snapshot, as_of: date) -> float | None:
    """Yuan, or None when no rate on or before the day is known."""
    use = snapshot.rates.to_cny(currency, as_of)
    return None if use is None else amount * use.rate


def dollars_beside(payload: Any, snapshot: Snapshot, as_of: date) -> dict[str, Any] | None:
    """Add `…_usd` beside every `…_cny` of a payload.

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
            # Figures per 1000 yuan are no amounts of money.
            if key.endswith("_cny") and not key.endswith("_per_1000_cny") and isinstance(amount, int | float):
                value[key.removesuffix("cny") + "usd"] = round_significant(amount / rate)
            else:
                _add(amount, rate)
