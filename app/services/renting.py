"""Renting the cards of an option instead of buying them, on the same footing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache

from app.catalog.dates import effective_date
from app.catalog.presets import Rental
from app.catalog.rates import HOME
from app.catalog.snapshot import Snapshot
from app.core.decide.cost import break_even_month
from app.core.question import Economics
from app.services import payload
from app.services.payload import Payload, number

BY_THE_HOUR = "on-demand"
BILLINGS = (BY_THE_HOUR, "monthly", "yearly")
"""In the order of preference. Spot is left out: it may be taken away in the middle of the work."""


@lru_cache(maxsize=2)
def _by_card(snapshot: Snapshot) -> Mapping[str, Sequence[Rental]]:
    found: dict[str, list[Rental]] = {}
    for row in snapshot.rentals:
        if not row.held and row.billing in BILLINGS:
            found.setdefault(row.gpu_id, []).append(row)
    return found


def rent_that_counts(
    snapshot: Snapshot, gpu_id: str, as_of: date, max_age_days: int
) -> tuple[Rental, date] | None:
    """The rent of a card that a comparison takes, and its day.

    Notes
    -----
    In yuan before a foreign currency; inside the age limit before older; by the hour before the month and
    the year; then the newest day, then the lowest. Channels are not averaged.
    """
    rows = []
    for row in _by_card(snapshot).get(gpu_id, ()):
        day = effective_date(row.observed_on, as_of)
        if day is not None and day <= as_of and snapshot.rates.to_cny(row.currency, as_of) is not None:
            rows.append((row, day))
    if not rows:
        return None

    def order(at: tuple[Rental, date]) -> tuple[bool, bool, int, int, float, str]:
        row, day = at
        old = (as_of - day).days > max_age_days
        terms = BILLINGS.index(row.billing)
        return row.currency != HOME, old, terms, -day.toordinal(), row.per_gpu_hour, row.id

    return min(rows, key=order)


def renting(
    option: Payload, trains: bool, economics: Economics, snapshot: Snapshot, as_of: date, max_age_days: int
) -> Payload | None:
    """What the same cards cost to rent for the same work; None where no rent of the card is known.

    Parameters
    ----------
    option: with its cost. trains: whether given work is done once in the term, or every month.
    economics: term and hours. max_age_days: after which a rent is stale.

    Returns
    -------
    Rent per card-hour and month in yuan, the month from which buying is cheaper (None: never), its source.

    Notes
    -----
    By the hour: the hours in which the cards work are paid. By the month or year: every hour is. Buying pays
    off after (cards + host) / (rent - electricity) months; the residual value is left out, as in
    `cost.break_even_month`.
    """
    found = rent_that_counts(snapshot, option["gpu"]["id"], as_of, max_age_days)
    if found is None:
        return None
    row, day = found
    use = snapshot.rates.to_cny(row.currency, as_of)
    if use is None:
        return None
    cost, months = option["cost"], economics.months
    busy = economics.hours_per_month * economics.utilisation
    if cost["work_hours"] is not None:
        busy = cost["work_hours"] / months if trains else cost["work_hours"]
    hours = busy if row.billing == BY_THE_HOUR else economics.hours_per_month
    per_gpu_hour = row.per_gpu_hour * use.rate
    monthly = per_gpu_hour * option["count"] * hours
    outlay = cost["purchase_cny"] + cost["host_cny"]
    age = (as_of - day).days
    return {
        "per_gpu_hour_cny": number(per_gpu_hour),
        "hours_per_month": number(hours),
        "monthly_cny": number(monthly),
        "total_cny": number(monthly * months),
        "break_even_month": number(break_even_month(outlay, cost["energy_cny"] / months, monthly)),
        "provider": row.provider,
        "billing": row.billing,
        "amount": number(row.per_gpu_hour),
        "currency": row.currency,
        "converted": row.currency != HOME,
        "observed_on": row.observed_on,
        "age_days": age,
        "stale": age > max_age_days,
        "source": payload.source(row.source),
    }
