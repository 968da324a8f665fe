"""Measured speed against the estimate that has not seen it: a logarithmic plot, and the misses under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log2, log10

from app.charts.theme import Drawn, Figure, Gettext, faint_ink, figure, height, ink, roles
from app.texts.marking import N_

STRIP_OCTAVES = 1.0
"""The strip ends at half and at twice the estimate; what lies beyond is a triangle at its edge."""
SYMBOL_SIZE = 6


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement with its estimate, in the unit of its row."""

    name: str
    """What the point is called on touch: card, model, precision, software."""
    unit: str
    kind: str
    """Class of the measurement: cnn_training, decode …"""
    measured: float
    low: float
    expected: float
    high: float


@dataclass(frozen=True, slots=True)
class Series:
    """Classes drawn alike: apart by colour and, for eyes that see few colours, by shape."""

    name: str
    part: str
    symbol: str
    kinds: frozenset[str]


SERIES: tuple[Series, ...] = (
    Series(N_("image models, training"), "weights", "circle", frozenset({"cnn_training"})),
    Series(N_("image models, inference"), "kv_cache", "circle-open", frozenset({"cnn_inference"})),
    Series(N_("encoders"), "activations", "square", frozenset({"encoder_training", "encoder_inference"})),
    Series(
        N_("language models, training"),
        "engine",
        "diamond",
        frozenset({"decoder_training", "moe_training", "lora", "qlora"}),
    ),
    Series(
        N_("language models, inference"),
        "weights",
        "triangle-up-open",
        frozenset({"prefill", "decode", "decode_moe", "serving"}),
    ),
)
OTHERS = Series(N_("image generation and speech"), "context", "cross", frozenset())


def measured_chart(points: Sequence[Point], theme: str, gettext: Gettext) -> Figure:
    """Every measurement beside the estimate made without it.

    Parameters
    ----------
    points: any number, of several units: on the diagonal the unit does not matter.
    """
    role, faint = roles(theme), faint_ink(theme)
    values = [v for p in points for v in (p.measured, p.expected)] or [1.0, 100.0]
    low, high = min(values) / 1.25, max(values) * 1.25
    ticks = [10.0**power for power in range(ceil(log10(low)), floor(log10(high)) + 1)]
    data: list[Drawn] = []
    named = frozenset().union(*(series.kinds for series in SERIES))
    for series in (*SERIES, OTHERS):
        wanted = [p for p in points if p.kind in series.kinds or (series is OTHERS and p.kind not in named)]
        if wanted:
            data += _traces(series, wanted, role["memory_parts"][series.part], gettext)
    line = {"color": ink(theme), "width": 1}
    edge = {"color": faint, "width": 1, "dash": "3px,3px"}
    ends = (STRIP_OCTAVES, -STRIP_OCTAVES)
    layout = {
        "height": height("accuracy"),
        "showlegend": True,
        "xaxis": {
            "type": "log",
            "range": [log10(low), log10(high)],
            "tickvals": ticks,
            "ticktext": [_short(v) for v in ticks],
            "showgrid": True,
            "anchor": "y2",
            "title": {"text": gettext("estimated without this row, in its unit")},
        },
        "yaxis": {
            "type": "log",
            "range": [log10(low), log10(high)],
            "tickvals": ticks,
            "ticktext": [_short(v) for v in ticks],
            "showgrid": True,
            "domain": [0.36, 1],
            "title": {"text": gettext("measured")},
        },
        "yaxis2": {
            "range": [-1.12 * STRIP_OCTAVES, 1.12 * STRIP_OCTAVES],
            "tickvals": [-1, -0.5, 0, 0.5, 1],
            "ticktext": ["× 0.5", "× 0.7", "1", "× 1.4", "× 2"],
            "showgrid": True,
            "domain": [0, 0.28],
        },
        "shapes": [
            {"type": "line", "x0": low, "x1": high, "y0": low, "y1": high, "line": line},
            {"type": "line", "xref": "paper", "yref": "y2", "x0": 0, "x1": 1, "y0": 0, "y1": 0, "line": line},
            *(
                {"type": "line", "x0": low, "x1": high, "y0": low * 2**o, "y1": high * 2**o, "line": edge}
                for o in ends
            ),
        ],
    }
    return figure(theme, data, layout)


def _traces(series: Series, points: Sequence[Point], colour: str, gettext: Gettext) -> list[Drawn]:
    octaves = [log2(p.measured / p.expected) for p in points]
    common = {
        "type": "scatter",
        "mode": "markers",
        "name": gettext(series.name),
        "legendgroup": series.name,
        "x": [p.expected for p in points],
        "customdata": [
            [p.name, _short(p.measured), _short(p.low), _short(p.expected), _short(p.high), p.unit]
            for p in points
        ],
        "hovertemplate": "%{customdata[0]}<br>%{customdata[1]} %{customdata[5]} · "
        "%{customdata[2]}–%{customdata[4]} (%{customdata[3]})<extra></extra>",
    }
    marker = {"color": colour, "size": SYMBOL_SIZE, "symbol": series.symbol, "opacity": 0.85}
    return [
        {**common, "y": [p.measured for p in points], "marker": marker},
        {
            **common,
            "showlegend": False,
            "xaxis": "x",
            "yaxis": "y2",
            "y": [min(max(o, -STRIP_OCTAVES), STRIP_OCTAVES) for o in octaves],
            "marker": marker | {"symbol": [_symbol(o, series.symbol) for o in octaves]},
        },
    ]


def _symbol(octave: float, usual: str) -> str:
    if abs(octave) <= STRIP_OCTAVES:
        return usual
    return "triangle-up" if octave > 0 else "triangle-down"


def _short(value: float) -> str:
    """Three significant digits, thousands as k."""
    for scale, unit in ((1e6, "M"), (1e4, "k")):
        if value >= scale:
            return f"{value / (scale if scale > 1e4 else 1e3):.3g}{unit}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
