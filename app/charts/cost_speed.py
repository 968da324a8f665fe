"""Cost against speed: the options that nothing beats in both, joined and named."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite

from app.charts.measured_points import measured_of, measured_trace
from app.charts.placement import Place, Point, annotation, place_labels
from app.charts.theme import (
    Drawn,
    Figure,
    Gettext,
    condition_suffix,
    faint_ink,
    figure,
    height,
    money_label,
    roles,
    span_ticks,
)
from app.core.decide.options import Option

PLOT_WIDTHS_PX = (560.0, 960.0)
"""Plot areas between the narrowest that shows all labels and a wide screen."""
PHONE_PX = 270.0
"""Plot area of a phone, which shows the label of the first option only."""
AXES_PX = 56.0
"""What tick labels and the title take from the height."""


def pareto_chart(
    options: Sequence[Option],
    pareto: Sequence[int],
    theme: str,
    language: str,
    gettext: Gettext,
    *,
    unit: str,
) -> Figure:
    """Total cost against speed; the dashed stair joins the options that nothing beats in both.

    Only the first option and the front carry labels: the others are named on touch and in the table.
    """
    role = roles(theme)
    options = [option for option in options if isfinite(option.speed.spread[1])]
    front = set(pareto)
    costs = [option.cost.total_cny for option in options]
    lows, speeds, highs = ([option.speed.spread[i] for option in options] for i in range(3))
    x_ticks = span_ticks(min(costs, default=0.0), max(costs, default=1.0), 6)
    measured = [row.value for option in options for row in measured_of(option)]
    y_ticks = span_ticks(min([*lows, *measured], default=0.0), max([*highs, *measured], default=1.0), 4)
    stair = sorted((c, s) for c, s, o in zip(costs, speeds, options, strict=True) if o.rank in front)
    data: list[Drawn] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [c for c, _ in stair],
            "y": [s for _, s in stair],
            "line": role["pareto_line"],
            "hoverinfo": "skip",
        }
    ]
    for on_front in (False, True):
        chosen = [i for i, o in enumerate(options) if (o.rank in front) == on_front]
        if not chosen:
            continue
        marker = {"size": 10, **(role["pareto_point"] if on_front else role["dominated_point"])}
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [costs[i] for i in chosen],
                "y": [speeds[i] for i in chosen],
                "marker": marker,
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": [highs[i] - speeds[i] for i in chosen],
                    "arrayminus": [speeds[i] - lows[i] for i in chosen],
                },
                "customdata": [
                    options[i].label + condition_suffix(options[i], options, gettext) for i in chosen
                ],
                "hovertemplate": "%{customdata}<br>\u00a5%{x:,.0f}<br>%{y:,.3~g} " + unit + "<extra></extra>",
            }
        )
    data += measured_trace(options, theme, gettext, unit)
    layout = {
        "height": height("pareto"),
        "xaxis": {
            "range": [x_ticks[0], x_ticks[-1]],
            "tickvals": x_ticks,
            "ticktext": [money_label(v, language) for v in x_ticks],
            "showgrid": False,
            "title": {"text": gettext("total cost, \u00a5")},
        },
        "yaxis": {
            "range": [y_ticks[0], y_ticks[-1]],
            "tickvals": y_ticks,
            "showgrid": True,
            "title": {"text": unit},
        },
        "annotations": _labels(options, front, x_ticks, y_ticks, theme, gettext),
    }
    return figure(theme, data, layout)


def _labels(
    options: Sequence[Option],
    front: set[int],
    x_ticks: Sequence[float],
    y_ticks: Sequence[float],
    theme: str,
    gettext: Gettext,
) -> list[Drawn]:
    """Annotations of the first option and of the front; one named "phone" stands in for all on a phone."""
    left, right, bottom, top = x_ticks[0], x_ticks[-1], y_ticks[0], y_ticks[-1]

    def rise(value: float) -> float:
        return (top - value) / (top - bottom)

    points, texts = [], []
    # A label keeps its room before those of later ranks; points without one are obstacles all the same.
    for option in options:
        cost, (low, expected, high) = option.cost.total_cny, option.speed.spread
        share = (cost - left) / (right - left)
        points.append(Point(share, rise(expected), rise(low), rise(high)))
        named = option.rank == 1 or option.rank in front
        texts.append(option.label + condition_suffix(option, options, gettext) if named else "")
    stair = sorted((p.x, p.y) for p, o in zip(points, options, strict=True) if o.rank in front)
    steps = [line for (x1, y1), (x2, y2) in pairwise(stair) for line in ((x1, y1, x2, y1), (x2, y1, x2, y2))]
    plot_height = height("pareto") - AXES_PX
    places = place_labels(points, texts, PLOT_WIDTHS_PX, plot_height, steps)
    notes = []
    for option, text, place in zip(options, texts, places, strict=True):
        name = "first" if option.rank == 1 else "front"
        if place is not None:
            notes.append(_note(option, text, place, name, theme))
    if options and options[0].rank == 1:
        alone = [texts[0], *("" for _ in texts[1:])]
        place = place_labels(points, alone, (PHONE_PX,), plot_height, steps)[0]
        if place is not None:
            notes.append(_note(options[0], texts[0], place, "phone", theme) | {"visible": False})
    return notes


def _note(option: Option, text: str, place: Place, name: str, theme: str) -> Drawn:
    # Not bold by a tag: Plotly writes that as an inline style, which the page's policy refuses.
    more: Drawn = {"name": name} if name == "front" else {"name": name, "font": {"weight": 600}}
    x, (_, y, _) = option.cost.total_cny, option.speed.spread
    return annotation(place, x, y, text, faint_ink(theme), **more)
