"""Rent as further offers of the same list: whole instances, for the hours of the work or for whole months."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.core.decide.cost import SECONDS_PER_HOUR, Costs
from app.core.gpu import Gpu, PriceChoice
from app.core.gpu_table import Floats
from app.core.question import BUY, RENTS, ShortlistQuestion
from app.core.tracing import floats

ON_DEMAND, MONTHLY = RENTS
RENTED = "rented"
"""Condition of cards that are not bought."""
PER_HOUR = "gpu_hour"
RANKED_BY = ("total_cost", "speed")
"""Objectives under which a rent has a place: it has no purchase, and its power is the provider's."""


@dataclass(frozen=True, slots=True)
class RentOffer:
    """What one card costs for an hour, and in which instances it is let."""

    price: PriceChoice
    """Per card and hour, in yuan of today."""
    gpu_count: int
    """Cards of one instance."""


Offers = Mapping[tuple[str, str], RentOffer]
"""By gpu id and acquisition."""


def acquisitions(question: ShortlistQuestion) -> tuple[str, ...]:
    """The ways to rent that a question lets into its list."""
    wanted = question.filters.acquisition or (BUY, *RENTS)
    return tuple(way for way in RENTS if way in wanted and question.objective in RANKED_BY)


def buys(question: ShortlistQuestion) -> bool:
    """Whether cards may be bought."""
    return not question.filters.acquisition or BUY in question.filters.acquisition


def rent_rates(offers: Offers, gpus: Sequence[Gpu], counts: Sequence[int], ways: Sequence[str]) -> Floats:
    """Yuan an hour of all cards of an option in whole instances, (cards, counts, ways); NaN: no offer."""
    found = np.full((len(gpus), len(counts), len(ways)), np.nan)
    row = {gpu.id: i for i, gpu in enumerate(gpus)}
    place = {way: k for k, way in enumerate(ways)}
    for (gpu_id, way), offer in offers.items():
        at = (row.get(gpu_id, -1), place.get(way, -1))
        if min(at) < 0 or offer.price.expected_cny is None:
            continue
        for n, count in enumerate(counts):
            let = math.ceil(count / offer.gpu_count) * offer.gpu_count
            found[at[0], n, at[1]] = offer.price.expected_cny * let
    return found


def monthly_hours(question: ShortlistQuestion, busy_hours: Floats) -> Floats:
    """Hours that whole months of rent are paid for: of a service all months, of a job those that it takes."""
    month = question.economics.hours_per_month
    if not question.workload.trains:
        return np.full_like(busy_hours, question.economics.months * month)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.ceil(busy_hours / month) * month)


def with_rents(
    question: ShortlistQuestion,
    costs: Costs,
    rates: Floats,
    kinds: Sequence[str],
    units: float,
    speed: Floats,
) -> Costs:
    """Costs with those of rented options in their places.

    Parameters
    ----------
    question: term and hours. costs: as if all were bought. rates: yuan an hour of all cards, of the shape
    (cards, counts, kinds); what is bought has none. kinds: conditions, then acquisitions. units: of one
    priced unit. speed: units per second, (cards, counts, 1).

    Returns
    -------
    Purchase, machines, electricity and what is left are 0 of a rent; its total is rate x hours paid: by the
    hour those in which something runs.
    """
    rented = np.array([kind in RENTS for kind in kinds], dtype=bool)
    if not rented.any():
        return costs
    busy = np.broadcast_to(costs.busy_hours, rates.shape)
    paid = np.where([kind == MONTHLY for kind in kinds], monthly_hours(question, busy), busy)
    total = floats(rates * paid)
    with np.errstate(divide="ignore", invalid="ignore"):
        per_hour = total / busy
        per_unit = per_hour / (speed * SECONDS_PER_HOUR) * units

    def instead(values: Floats, of_rent: Floats | float) -> Floats:
        return np.where(rented, of_rent, values)

    return Costs(
        purchase_cny=instead(costs.purchase_cny, 0.0),
        host_cny=instead(costs.host_cny, 0.0),
        energy_cny=instead(costs.energy_cny, 0.0),
        residual_cny=instead(costs.residual_cny, 0.0),
        total_cny=instead(costs.total_cny, total),
        per_hour_cny=instead(costs.per_hour_cny, per_hour),
        per_unit_cny=instead(costs.per_unit_cny, per_unit),
        energy_kwh=instead(costs.energy_kwh, 0.0),
        busy_hours=costs.busy_hours,
    )
