"""Predicted against measured: a logarithmic plot, and under it the strip of errors that such a plot hides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Protocol

from app.charts.theme import Drawn, Figure, Gettext, faint_ink, figure, height, ink, roles
from app.core.estimates import Interval
from app.texts.marking import N_

BAND = 0.10
STRIP = 0.30
"""The strip ends at ±30 %; what lies beyond is drawn at its edge as a triangle that points on."""


class Row(Protocol):
    """A measured figure beside its prediction."""

    @property
    def case(self) -> str:
        """Name of the case."""

    @property
    def task(self) -> str:
        """training, inference, lora or qlora."""

    @property
    def gpu_count(self) -> int:
        """Cards that shared the work."""

    @property
    def measured(self) -> float:
        """What was measured, in `unit`."""

    @property
    def predicted(self) -> Interval:
        """What is predicted, in `unit`."""

    @property
    def unit(self) -> str:
        """GiB or B."""

    @property
    def error(self) -> float:
        """(predicted - measured) / measured."""


@dataclass(frozen=True, slots=True)
class Series:
    """Rows drawn alike."""

    name: str
    part: str
    symbol: str
    wanted: Callable[[Row], bool]


def _infers(row: Row) -> bool:
    return bool(row.task == "inference")


SERIES: tuple[Series, ...] = (
    Series(N_("inference, one card"), "kv_cache", "circle", lambda r: _infers(r) and r.gpu_count == 1),
    Series(N_("inference, several cards"), "engine", "circle", lambda r: _infers(r) and r.gpu_count != 1),
    Series(N_("training and fine-tuning"), "activations", "square", lambda r: not _infers(r)),
)


def accuracy_chart(rows: Sequence[Row], theme: str, gettext: Gettext, unit: str = "GiB") -> Figure:
    """Every measured figure beside its prediction.

    Parameters
    ----------
    rows: measured, predicted.expected, error as a fraction of the measured value, task, gpu_count.
    unit: of both axes; rows in another unit are left out.
    """
    rows = [r for r in rows if r.unit == unit and r.measured > 0 and float(r.predicted.expected) > 0]
    role, faint = roles(theme), faint_ink(theme)
    values = [v for r in rows for v in (r.measured, float(r.predicted.expected))] or [1.0, 10.0]
    low, high = min(values) / 1.2, max(values) * 1.2
    ticks = _ticks(low, high)
    data: list[Drawn] = []
    for series in SERIES:
        chosen = [row for row in rows if series.wanted(row)]
        if not chosen:
            continue
        name, colour = gettext(series.name), role["memory_parts"][series.part]
        marker = {"color": colour, "size": 6, "symbol": series.symbol, "opacity": 0.85}
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "legendgroup": series.part,
                "x": [r.measured for r in chosen],
                "y": [float(r.predicted.expected) for r in chosen],
                "customdata": [[r.case, 100 * r.error] for r in chosen],
                "marker": marker,
                "hovertemplate": "%{customdata[0]}<br>%{x:.3~g} → %{y:.3~g} "
                + unit
                + " (%{customdata[1]:+.1f} %)<extra></extra>",
            }
        )
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "legendgroup": series.part,
                "showlegend": False,
                "xaxis": "x",
                "yaxis": "y2",
                "x": [r.measured for r in chosen],
                "y": [100 * min(max(r.error, -STRIP), STRIP) for r in chosen],
                "customdata": [[r.case, 100 * r.error] for r in chosen],
                "marker": marker | {"symbol": [_symbol(r.error, series.symbol) for r in chosen]},
                "hovertemplate": "%{customdata[0]}<br>%{customdata[1]:+.1f} %<extra></extra>",
            }
        )
    band = role["band_10_percent"]
    fill = {"fillcolor": band["color"], "opacity": band["opacity"], "line": {"width": 0}, "layer": "below"}
    corners = [(low, low * (1 - BAND)), (low, low * (1 + BAND)), (high, high * (1 + BAND))]
    corners.append((high, high * (1 - BAND)))
    path = "M " + " L ".join(f"{x:.6g},{y:.6g}" for x, y in corners) + " Z"
    line = {"color": ink(theme), "width": 1}
    layout = {
        "height": height("accuracy"),
        "showlegend": True,
        "xaxis": {
            "type": "log",
            "range": [log10(low), log10(high)],
            "tickvals": ticks,
            "ticktext": [f"{v:g}" for v in ticks],
            "showgrid": True,
            "anchor": "y2",
            "title": {"text": gettext("measured, {unit}").format(unit=unit)},
        },
        "yaxis": {
            "type": "log",
            "range": [log10(low), log10(high)],
            "tickvals": ticks,
            "ticktext": [f"{v:g}" for v in ticks],
            "showgrid": True,
            "domain": [0.34, 1],
            "title": {"text": gettext("predicted, {unit}").format(unit=unit)},
        },
        "yaxis2": {
            "range": [-100 * STRIP - 3, 100 * STRIP + 3],
            "tickvals": [-30, -10, 0, 10, 30],
            "ticktext": ["−30", "−10", "0", "+10", "+30"],
            "showgrid": True,
            "domain": [0, 0.26],
            "title": {"text": gettext("error, %")},
        },
        "shapes": [
            {"type": "path", "path": path, **fill},
            {"type": "line", "x0": low, "x1": high, "y0": low, "y1": high, "line": line},
            {
                "type": "rect",
                "xref": "paper",
                "yref": "y2",
                "x0": 0,
                "x1": 1,
                "y0": -100 * BAND,
                "y1": 100 * BAND,
                **fill,
            },
            {
                "type": "line",
                "xref": "paper",
                "yref": "y2",
                "x0": 0,
                "x1": 1,
                "y0": 0,
                "y1": 0,
                "line": {"color": faint, "width": 1},
            },
        ],
    }
    return figure(theme, data, layout)


def _symbol(error: float, usual: str) -> str:
    return "triangle-up" if error > STRIP else "triangle-down" if error < -STRIP else usual


def _ticks(low: float, high: float) -> list[float]:
    """Powers of two, four or sixteen: as many as stay readable."""
    first, last = ceil(log10(low) / log10(2)), floor(log10(high) / log10(2))
    step = max(1, -(-(last - first) // 9))
    return [2.0**power for power in range(first, last + 1, step)]
