"""Charts of a ranked answer: compute per 1000 yuan, memory against what is usable, cost against speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from app.charts.memory_groups import memory_groups
from app.charts.theme import (
    Figure,
    Gettext,
    bars_height,
    even_ticks,
    faint_ink,
    figure,
    height,
    ink,
    money_label,
    roles,
)

Option = Mapping[str, Any]
BAR_ROWS = 12
"""Rows of a bar chart; the table under it has them all."""


def value_rows(options: Sequence[Option]) -> list[Option]:
    """One option for each card and condition, most compute per yuan first; no trusted rate: last."""
    unique: dict[tuple[str, str], Option] = {}
    for option in options:
        unique.setdefault((option["gpu"]["id"], option["condition"]), option)

    def order(option: Option) -> tuple[bool, float]:
        value = option["metrics"]["peak_tflops_per_1000_cny"]
        return value is None, -(value or 0.0)

    return sorted(unique.values(), key=order)


def value_chart(options: Sequence[Option], theme: str, gettext: Gettext) -> Figure:
    """Dense TFLOPS per 1000 yuan by card, at the precision of the question."""
    rows = value_rows(options)[:BAR_ROWS]
    role = roles(theme)
    names = [card_label(option, gettext) for option in rows]
    values = [option["metrics"]["peak_tflops_per_1000_cny"] for option in rows]
    first = options[0] if options else None
    colours = [
        role["recommended"]
        if first is not None
        and option["gpu"]["id"] == first["gpu"]["id"]
        and option["condition"] == first["condition"]
        else role["other"]
        for option in rows
    ]
    texts = [gettext("no trusted peak, not drawn") if v is None else f"{v:.2f}" for v in values]
    bar = {
        "type": "bar",
        "orientation": "h",
        "y": names,
        "x": [v or 0 for v in values],
        "text": texts,
        "textposition": "outside",
        "marker": {"color": colours},
        "hovertemplate": "%{y}: %{x:.2f}<extra></extra>",
    }
    ticks = even_ticks(max([v for v in values if v] or [1.0]) * 1.12)
    layout = {
        "height": bars_height(len(rows)),
        "xaxis": {"range": [0, ticks[-1]], "tickvals": ticks, "showgrid": True},
        "yaxis": {"autorange": "reversed", "showgrid": False},
    }
    return figure(theme, [bar], layout)


def _identity(option: Option) -> tuple[str, str]:
    return str(option["gpu"]["id"]), str(option["condition"])


def card_label(option: Option, gettext: Gettext) -> str:
    """The card without its count; another condition than new is named."""
    name = str(option["label"]).split("\u00d7", 1)[-1].strip()
    words = {"used": gettext("used"), "refurbished": gettext("refurbished"), "modded": gettext("modified")}
    condition = words.get(str(option["condition"]))
    pattern = gettext("%(card)s (%(condition)s)")
    return pattern % {"card": name, "condition": condition} if condition else name


def memory_chart(
    options: Sequence[Option],
    theme: str,
    gettext: Gettext,
    *,
    trains: bool,
    used_gib: float = 0.0,
) -> Figure:
    """Parts of the need per GPU, with the whisker from low to high and the wall of usable memory."""
    rows = options[:BAR_ROWS]
    role = roles(theme)
    names = [option["label"] + condition_suffix(option, rows, gettext) for option in rows]
    usable = [option["fit"]["usable_gib"] for option in rows]
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "y": names,
            "x": usable,
            "marker": {"color": role["trough"]},
            "hoverinfo": "skip",
            "textposition": "none",
        }
    ]
    left = [used_gib] * len(rows)
    grouped = [{g.role: g for g in memory_groups(option["memory"], trains, gettext)} for option in rows]
    for part, colour in role["memory_parts"].items():
        sizes = [groups[part].gib if part in groups else 0.0 for groups in grouped]
        if not any(sizes):
            continue
        label = next(groups[part].label for groups in grouped if part in groups)
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": label,
                "y": names,
                "x": sizes,
                "base": list(left),
                "marker": {"color": colour},
                "textposition": "none",
                "hovertemplate": f"{label}: %{{x:.1f}} GiB<extra></extra>",
            }
        )
        left = [a + b for a, b in zip(left, sizes, strict=True)]
    need = [option["memory"]["per_gpu_gib"] for option in rows]
    expected = [n["expected"] + used_gib for n in need]
    data.append(
        {
            "type": "scatter",
            "mode": "markers",
            "y": names,
            "x": expected,
            "marker": {"size": 1, "color": ink(theme)},
            "error_x": {
                "type": "data",
                "symmetric": False,
                "array": [n["high"] - n["expected"] for n in need],
                "arrayminus": [n["expected"] - n["low"] for n in need],
                "color": ink(theme),
                "thickness": 1.5,
                "width": 3,
            },
            "customdata": [[n["low"], n["expected"], n["high"]] for n in need],
            "hovertemplate": "%{customdata[0]:.1f} / %{customdata[1]:.1f} / %{customdata[2]:.1f} GiB"
            "<extra></extra>",
        }
    )
    data.append(
        {
            "type": "scatter",
            "mode": "markers+text",
            "y": names,
            "x": usable,
            "marker": {"symbol": "line-ns", "size": 17, "line": {"width": 2, "color": role["wall"]}},
            "text": [f"  {v:.1f}" for v in usable],
            "textposition": "middle right",
            "textfont": {"size": 11, "color": faint_ink(theme)},
            "hovertemplate": "%{x:.1f} GiB<extra></extra>",
        }
    )
    widest = max([*usable, *(n["high"] + used_gib for n in need), 1.0])
    ticks = even_ticks(widest)
    layout = {
        "height": bars_height(len(rows)),
        "barmode": "overlay",
        "xaxis": {"range": [0, max(ticks[-1], widest * 1.14)], "tickvals": ticks, "showgrid": True},
        "yaxis": {"autorange": "reversed", "showgrid": False},
    }
    return figure(theme, data, layout)


def condition_suffix(option: Option, among: Sequence[Option], gettext: Gettext) -> str:
    """The condition, where the same count of the same card stands in the list twice."""
    if sum(other["label"] == option["label"] for other in among) < 2:
        return ""
    words = {
        "new": gettext("new"),
        "used": gettext("used"),
        "refurbished": gettext("refurbished"),
        "modded": gettext("modified"),
    }
    pattern = gettext("%(card)s (%(condition)s)")
    return pattern % {"card": "", "condition": words.get(str(option["condition"]), option["condition"])}


def pareto_chart(
    options: Sequence[Option],
    pareto: Sequence[int],
    theme: str,
    language: str,
    gettext: Gettext,
    *,
    unit: str,
) -> Figure:
    """Total cost against speed; the dashed stair joins the options that nothing beats in both."""
    role = roles(theme)
    options = [option for option in options if option["speed"]["expected"] is not None]
    front = set(pareto)
    costs = [option["cost"]["total_cny"] for option in options]
    speeds = [option["speed"]["expected"] for option in options]
    x_ticks = even_ticks(max([*costs, 1.0]) * 1.08, 6)
    # Where all options cost much the same, the empty half of the axis is left out.
    cheapest = 0.75 * min(costs, default=0.0)
    x_ticks = [
        tick for tick, following in zip(x_ticks, [*x_ticks[1:], inf], strict=True) if following > cheapest
    ]
    y_top = max([option["speed"]["high"] for option in options] + [1.0])
    y_ticks = even_ticks(y_top, 4)
    labels = [option["label"] if _shown(i, options) else "" for i, option in enumerate(options)]
    x_range = (x_ticks[0], x_ticks[-1])
    places = label_positions(list(zip(costs, speeds, strict=True)), labels, x_range, y_ticks[-1])
    stair = sorted((c, s) for c, s, o in zip(costs, speeds, options, strict=True) if o["rank"] in front)
    data: list[dict[str, Any]] = [
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
        chosen = [i for i, o in enumerate(options) if (o["rank"] in front) == on_front]
        if not chosen:
            continue
        marker = {"size": 10, **(role["pareto_point"] if on_front else role["dominated_point"])}
        data.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "x": [costs[i] for i in chosen],
                "y": [speeds[i] for i in chosen],
                "text": [labels[i] for i in chosen],
                "textposition": [places[i] for i in chosen],
                "marker": marker,
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": [options[i]["speed"]["high"] - speeds[i] for i in chosen],
                    "arrayminus": [speeds[i] - options[i]["speed"]["low"] for i in chosen],
                },
                "customdata": [options[i]["label"] for i in chosen],
                "hovertemplate": "%{customdata}<br>\u00a5%{x:,.0f}<br>%{y:,.3~g} " + unit + "<extra></extra>",
            }
        )
    layout = {
        "height": height("pareto"),
        "xaxis": {
            "range": list(x_range),
            "tickvals": x_ticks,
            "ticktext": [money_label(v, language) for v in x_ticks],
            "showgrid": False,
            "title": {"text": gettext("total cost, \u00a5")},
        },
        "yaxis": {"range": [0, y_ticks[-1]], "tickvals": y_ticks, "showgrid": True, "title": {"text": unit}},
    }
    return figure(theme, data, layout)


def _shown(index: int, options: Sequence[Option]) -> bool:
    # The same card twice on one spot (two conditions) would print its label over itself.
    label = options[index]["label"]
    return not any(other["label"] == label for other in options[:index])


def label_positions(
    points: Sequence[tuple[float, float]], labels: Sequence[str], x_range: tuple[float, float], top: float
) -> list[str]:
    """Where each label stands beside its point: the first place that covers neither label, point nor edge.

    Parameters
    ----------
    points: cost and speed of each label's point.
    labels: the texts; an empty one takes no room.
    x_range, top: ends of the axes.
    """
    left, right = x_range
    at = [((x - left) / (right - left) * PLOT_PX[0], (1 - y / top) * PLOT_PX[1]) for x, y in points]
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in at]
    chosen = []
    for (x, y), label in zip(at, labels, strict=True):
        if not label:
            chosen.append("middle right")
            continue
        boxes = {place: _box(x, y, len(label) * LETTER_PX, place) for place in _PLACES}
        place = min(_PLACES, key=lambda p: (_crowding(boxes[p], taken), _PLACES.index(p)))
        taken.append(boxes[place])
        chosen.append(place)
    return chosen


PLOT_PX = (960.0, 270.0)
"""Size of the drawing on a wide screen; on narrow ones only the points are labelled on touch."""
LETTER_PX = 6.8
_PLACES = (
    "middle right",
    "middle left",
    "top right",
    "bottom right",
    "top left",
    "bottom left",
    "top center",
    "bottom center",
)

Box = tuple[float, float, float, float]


def _box(x: float, y: float, width: float, place: str) -> Box:
    vertical, horizontal = place.split()
    left = {"right": x + 8, "left": x - 8 - width, "center": x - width / 2}[horizontal]
    top = {"middle": y - 8, "top": y - 22, "bottom": y + 6}[vertical]
    return left, top, left + width, top + 16


def _crowding(box: Box, taken: Sequence[Box]) -> float:
    """Overlapped area in px\u00b2; what leaves the drawing counts as covered too."""
    area = sum(
        max(0.0, min(box[2], b[2]) - max(box[0], b[0])) * max(0.0, min(box[3], b[3]) - max(box[1], b[1]))
        for b in taken
    )
    outside = max(0.0, -box[0]) + max(0.0, box[2] - PLOT_PX[0] - 40)
    return area + 16 * outside + 100 * max(0.0, -box[1] - 8)
