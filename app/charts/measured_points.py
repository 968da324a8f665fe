"""Measured speeds as marks beside the estimates of an answer's options."""

from __future__ import annotations

from collections.abc import Sequence

from app.charts.theme import Drawn, Gettext, ink
from app.core.decide.options import Option
from app.core.estimates import Measurement

WHOLE_RUN = "whole_run"
"""A run that reads and writes has no published rate of its own: its phases are measured apart."""


def measured_of(option: Option) -> list[Measurement]:
    """Measurements of an option that are the figure that the option's speed estimates.

    Parameters
    ----------
    option: with `speed.measurements`, the rows behind a measured speed; batch and length may be a step away.

    Returns
    -------
    Those of this number of cards in this unit.
    """
    speed = option.speed
    if speed.phase == WHOLE_RUN:
        return []
    return [row for row in speed.measurements if row.gpu_count == option.count and row.unit == speed.unit]


def measured_name(row: Measurement, gettext: Gettext) -> str:
    """Software, batch, date and source of a measurement, on one line."""
    parts = [row.software]
    if row.batch_per_gpu:
        parts.append(gettext("batch %(size)s") % {"size": f"{row.batch_per_gpu:g}"})
    parts += [str(row.observed_on), gettext("your own") if row.own else str(row.title)]
    return " · ".join(part for part in parts if part)


def measured_trace(options: Sequence[Option], theme: str, gettext: Gettext, unit: str) -> list[Drawn]:
    """One trace of crosses at the cost of the option and the speed that was measured; none without any."""
    found = [(option, row) for option in options for row in measured_of(option)]
    if not found:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": gettext("measured"),
            "x": [option.cost.total_cny for option, _ in found],
            "y": [row.value for _, row in found],
            "marker": {"symbol": "x-thin", "size": 7, "line": {"width": 1.5, "color": ink(theme)}},
            "customdata": [[option.label, measured_name(row, gettext)] for option, row in found],
            "hovertemplate": "%{customdata[0]} · "
            + gettext("measured")
            + "<br>%{y:,.3~g} "
            + unit
            + "<br>%{customdata[1]}<extra></extra>",
        }
    ]
