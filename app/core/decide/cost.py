"""Money of owning cards: purchase, host, energy, residual; per hour and per unit. Everything broadcasts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.core.faults import InputFault
from app.core.formulas import Formula, Reference, register
from app.core.gpu_table import Floats
from app.core.question import Economics, Work
from app.core.tracing import floats, named
from app.core.units import YUAN_PER_KILO, Number

LOAD = 1.0
"""Power drawn while working, as a share of TDP."""
SECONDS_PER_HOUR = 3600.0
UNIT_NAMES: Mapping[str, tuple[str, float]] = {
    "tokens_per_s": ("million_tokens", 1e6),
    "samples_per_s": ("thousand_samples", 1e3),
    "images_per_s": ("thousand_images", 1e3),
    "realtime_factor": ("hour_of_audio", SECONDS_PER_HOUR),
}
"""What a cost per unit is of, and how many units of the speed it holds."""
SPEECH_UNIT = "realtime_factor"
WORK_UNITS_OF_SPEED: Mapping[str, tuple[str, ...]] = {
    "tokens_per_s": ("tokens",),
    "samples_per_s": ("samples",),
    "images_per_s": ("images", "samples"),
    "realtime_factor": (),
}
"""`hours` need no speed and `epochs` their samples; see `work_hours`."""

register(
    Formula(
        "cost.energy",
        "Energy",
        "kWh = ((TDP x cards + load of machines) x busy hours + idle power of machines x other hours) "
        "x PUE / 1000; busy = months x hours x utilisation, or the hours that the given work takes",
        "kWh",
        "derived",
        "Load 1: the card at its TDP while it works; its own idle power is not counted, that of the machine "
        "of a service is. 350 W x 24 h x 0.8 yuan/kWh, load 1, PUE 1: 6.72 yuan.",
        (Reference("Worked example of a first buying guide: 350 W x 24 h x 0.8 yuan/kWh = 6.72 yuan"),),
    ),
    Formula(
        "cost.total",
        "Total cost",
        "total = purchase + host + energy - purchase x residual",
        "CNY",
        "exact",
        "Cards bought once, sold at the residual at the end of the horizon; the host keeps no residual "
        "value.",
        (
            Reference(
                "varne issue 150: purchase price, life, salvage",
                "https://github.com/narevai/varne/issues/150",
            ),
        ),
    ),
    Formula(
        "cost.per_hour",
        "Cost of a useful hour",
        "total / hours worked; months x hours per month x utilisation where no work is given",
        "CNY/h",
        "exact",
        "All cards of the option together. Hours in which nothing runs do not share the cost.",
        (
            Reference(
                "Owned cost per useful GPU-hour: build against rent",
                "https://ai-infrastructure.net/build-vs-rent-gpu-cost-model/",
            ),
        ),
    ),
    Formula(
        "cost.per_unit",
        "Cost per unit of work",
        "cost of a useful hour / (speed x 3600) x units",
        "CNY",
        "derived",
        "Million tokens, thousand samples or images, hour of audio, at the expected speed.",
        (Reference("Definition: cost of an hour over what it makes"),),
    ),
)


@dataclass(frozen=True)
class Costs:
    """Money of many options, in yuan; all fields of one broadcast shape."""

    purchase_cny: Floats
    host_cny: Floats
    energy_cny: Floats
    residual_cny: Floats
    total_cny: Floats
    per_hour_cny: Floats
    per_unit_cny: Floats
    energy_kwh: Floats
    busy_hours: Floats


def ownership(
    economics: Economics,
    purchase_cny: Number,
    host_cny: Number,
    power_w: Number,
    speed_per_s: Number,
    units: float,
    busy_hours: Number | None = None,
    host_idle_w: Number = 0.0,
) -> Costs:
    """Cost of owning options over the horizon.

    Parameters
    ----------
    economics: months, hours, price of energy, PUE, utilisation, residual.
    purchase_cny: of all cards. host_cny: of the hosts, 0 where a server price includes them.
    power_w: TDP of all cards with the load of their machines. speed_per_s: expected units per second.
    units: how many make one priced unit.
    busy_hours: hours of work over the horizon; None: months x hours x utilisation.
    host_idle_w: of the machines, in the hours of the horizon in which nothing runs.

    Returns
    -------
    Costs of the broadcast shape.
    """
    horizon = named(economics.months * economics.hours_per_month * economics.utilisation, "working_hours")
    busy = named(floats(horizon if busy_hours is None else busy_hours), "busy_hours")
    idle = idle_hours(economics.months * economics.hours_per_month, busy)
    kwh = named(
        floats(energy_kwh(power_w, busy, economics.pue) + energy_kwh(host_idle_w, idle, economics.pue)),
        "energy_kwh",
    )
    purchase = named(floats(purchase_cny), "purchase_cny")
    host = named(floats(host_cny), "host_cny")
    energy = named(kwh * economics.electricity_cny_per_kwh, "energy_cny")
    residual = named(purchase * economics.residual, "residual_cny")
    total = named(floats(total_cny(purchase, 1.0 - economics.residual, host, energy)), "total_cny")
    with np.errstate(divide="ignore", invalid="ignore"):
        # The money pays for the hours worked, not for those in which nothing runs.
        per_hour = total / busy
        per_unit = per_hour / (floats(speed_per_s) * SECONDS_PER_HOUR) * units
    return Costs(purchase, host, energy, residual, total, per_hour, per_unit, kwh, busy)


def idle_hours(on_hours: Number, busy_hours: Number) -> Floats:
    """Hours in which machines are on and nothing runs."""
    return floats(np.maximum(on_hours - busy_hours, 0.0))


def per_1000_cny(value: Number, purchase_cny: Number) -> Number:
    """What 1000 yuan of the purchase buy of something."""
    return value / (purchase_cny / YUAN_PER_KILO)


def energy_kwh(power_w: Number, hours: Number, pue: Number = 1.0, load: Number = LOAD) -> Number:
    """Electricity of a run. 350 W x 24 h: 8.4 kWh, 6.72 yuan at 0.8 yuan/kWh."""
    # What does not differ between options is multiplied first: over draws each further step is dear.
    return power_w * (load * pue / 1000.0) * hours


def total_cny(purchase_cny: Number, lost: Number, host_cny: Number, energy: Number) -> Number:
    """Total of owning: the share of the purchase that is lost, hosts, energy.

    Parameters
    ----------
    lost: 1 - residual; with the share of the purchase that hosts cost, where they follow its price.
    host_cny: of hosts, what does not follow the price.
    """
    return purchase_cny * lost + host_cny + energy


def work_hours(work: Work, speed_per_s: Number, speed_unit: str, samples: float | None = None) -> Floats:
    """Hours that an amount of work takes at a speed.

    Parameters
    ----------
    work: amount and unit. speed_per_s: in `speed_unit`.
    samples: tokens of one sample, where tokens and samples convert.

    Returns
    -------
    Hours, of the shape of the speed.

    Errors
    ------
    InputFault at `/work/unit`, code `work_unit_does_not_match`, where the unit cannot be turned into a time.

    Notes
    -----
    `hours` are hours of running; of a speech model they are hours of audio, run at its speed. An epoch is so
    many samples.
    """
    speed = floats(speed_per_s)
    if work.unit == "hours" and speed_unit != SPEECH_UNIT:
        return np.full_like(speed, work.amount)
    amount, unit = work.amount, work.unit
    if unit == "epochs" and work.samples_per_epoch is not None and speed_unit != SPEECH_UNIT:
        amount, unit = amount * work.samples_per_epoch, "samples"
    if speed_unit == SPEECH_UNIT and unit == "hours":
        amount *= SECONDS_PER_HOUR
    elif unit not in WORK_UNITS_OF_SPEED[speed_unit]:
        if speed_unit == "tokens_per_s" and unit == "samples" and samples:
            amount *= samples
        elif speed_unit == "samples_per_s" and unit == "tokens" and samples:
            amount /= samples
        else:
            units = [*WORK_UNITS_OF_SPEED[speed_unit], "hours"]
            raise InputFault.at("/work/unit", "work_unit_does_not_match", unit=work.unit, units=units)
    with np.errstate(divide="ignore", invalid="ignore"):
        return named(floats(amount / (speed * SECONDS_PER_HOUR)), "work_hours")


def break_even_month(
    purchase_cny: float, owned_monthly_cny: float, rental_monthly_cny: float
) -> float | None:
    """Month from which buying is cheaper than renting the same hours; None when it never is.

    Notes
    -----
    purchase / (rent - running cost of the owned cards); depreciation is not subtracted a second time.
    """
    saving = rental_monthly_cny - owned_monthly_cny
    return purchase_cny / saving if saving > 0 else None
