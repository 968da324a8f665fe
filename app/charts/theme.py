"""The Plotly templates of the design; their values repeat the tokens of app.css, and a test compares both."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

from app.core.decide.options import Option

Gettext = Callable[[str], str]
Figure = dict[str, Any]
"""Data and layout as Plotly takes them."""
Drawn = Figure
"""A trace, an axis, a shape or a note of a figure."""
THEMES = ("light", "dark", "print")

_FILE = Path(__file__).with_name("plotly_theme.json")


@cache
def _document() -> Mapping[str, Any]:
    return json.loads(_FILE.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def template(theme: str) -> Mapping[str, Any]:
    """The layout template of a theme."""
    return _document()["themes"][theme]  # type: ignore[no-any-return]


def roles(theme: str) -> Mapping[str, Any]:
    """Colours by what they mean."""
    return _document()["roles"][theme]  # type: ignore[no-any-return]


def ink(theme: str) -> str:
    """Colour of text on the drawing."""
    return str(template(theme)["layout"]["hoverlabel"]["font"]["color"])


def faint_ink(theme: str) -> str:
    """Colour of tick labels and notes."""
    return str(template(theme)["layout"]["xaxis"]["tickfont"]["color"])


def height(kind: str) -> int:
    """Height in pixels of a kind of chart, kept while it is drawn so that nothing moves."""
    return int(_document()["heights_px"][kind])


def bars_height(rows: int) -> int:
    """Height in pixels of a bar chart."""
    return height("bars_per_row") * rows + height("bars_overhead")


def figure(theme: str, data: list[Drawn], layout: Drawn) -> Figure:
    """Data and layout on the design's template."""
    return {"data": data, "layout": {"template": template(theme), **layout}}


def even_ticks(largest: float, most: int = 5) -> list[float]:
    """Round values from 0 to beyond the largest."""
    if largest <= 0:
        return [0.0, 1.0]
    raw = largest / most
    magnitude = 10.0 ** len(str(int(raw))) / 10 if raw >= 1 else 10.0 ** -len(str(int(1 / raw)))
    step = next(magnitude * m for m in (1, 2, 2.5, 5, 10) if magnitude * m >= raw)
    count = int(-(-largest // step))
    return [i * step for i in range(count + 1)]


def span_ticks(lowest: float, highest: float, most: int = 5) -> list[float]:
    """Round values that hold a span with a little room; from 0 where the span reaches down far enough."""
    if highest <= 0:
        return [0.0, 1.0]
    span = max(highest - lowest, 0.1 * highest)
    low = lowest - 0.08 * span
    start = 0.0 if low < 0.3 * highest else low
    raw = (highest + 0.04 * span - start) / most
    magnitude = 10.0 ** floor(log10(raw))
    step = next(magnitude * m for m in (1, 2, 2.5, 5, 10) if magnitude * m >= raw * 0.999)
    first, last = floor(start / step), ceil((highest + 0.04 * span) / step)
    return [i * step for i in range(first, last + 1)]


def money_label(value: float, language: str) -> str:
    """A round amount on an axis: 5 \u4e07 in Chinese, 50k in English."""
    if value == 0:
        return "0"
    if language == "zh":
        for scale, unit in ((1e8, "\u4ebf"), (1e4, "\u4e07")):
            if value >= scale:
                return f"{value / scale:g} {unit}"
        return f"{value:,.0f}"
    for scale, unit in ((1e9, "bn"), (1e6, "m"), (1e3, "k")):
        if value >= scale:
            return f"{value / scale:g}{unit}"
    return f"{value:,.0f}"


def condition_suffix(option: Option, among: Sequence[Option], gettext: Gettext) -> str:
    """The condition, where the same count of the same card stands in the list twice."""
    if sum(other.label == option.label for other in among) < 2:
        return ""
    words = {
        "new": gettext("new"),
        "used": gettext("used"),
        "refurbished": gettext("refurbished"),
        "modded": gettext("modified"),
    }
    pattern = gettext("%(card)s (%(condition)s)")
    return pattern % {"card": "", "condition": words.get(option.condition, option.condition)}
