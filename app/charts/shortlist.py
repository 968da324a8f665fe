"""Bar charts of a ranked answer: compute per 1000 yuan, memory against what is usable."""

from __future__ import annotations

from collections.abc import Sequence

from app.charts.memory_groups import memory_groups
from app.charts.theme import (
    Drawn,
    Figure,
    Gettext,
    bars_height,
    condition_suffix,
    even_ticks,
    faint_ink,
    figure,
    ink,
    roles,
)
from app.core.decide.options import Option

BAR_ROWS = 12
"""Rows of a bar chart; the table under it has them all."""


def value_rows(options: Sequence[Option]) -> list[Option]:
    """One option for each card and condition, most compute per yuan first; no trusted rate: last."""
    unique: dict[tuple[str, str], Option] = {}
    for option in options:
        unique.setdefault((option.gpu.id, option.condition), option)

    def order(option: Option) -> tuple[bool, float]:
        value = option.metrics.peak_tflops_per_1000_cny
        return value is None, -(value or 0.0)

    return sorted(unique.values(), key=order)


def value_chart(options: Sequence[Option], theme: str, gettext: Gettext) -> Figure:
    """Dense TFLOPS per 1000 yuan by card, at the precision of the question."""
    rows = value_rows(options)[:BAR_ROWS]
    role = roles(theme)
    names = [card_label(option, gettext) for option in rows]
    values = [option.metrics.peak_tflops_per_1000_cny for option in rows]
    first = options[0] if options else None
    colours = [
        role["recommended"]
        if first is not None and option.gpu.id == first.gpu.id and option.condition == first.condition
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
    return str(option.gpu.id), str(option.condition)


def card_label(option: Option, gettext: Gettext) -> str:
    """The card without its count; another condition than new is named."""
    name = str(option.label).split("\u00d7", 1)[-1].strip()
    words = {"used": gettext("used"), "refurbished": gettext("refurbished"), "modded": gettext("modified")}
    condition = words.get(str(option.condition))
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
    names = [option.label + condition_suffix(option, rows, gettext) for option in rows]
    usable = [option.fit.usable_gib for option in rows]
    data: list[Drawn] = [
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
    grouped = [{g.role: g for g in memory_groups(option.memory, trains, gettext)} for option in rows]
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
    need = [option.memory.per_gpu_gib.spread for option in rows]
    data.append(
        {
            "type": "scatter",
            "mode": "markers",
            "y": names,
            "x": [expected + used_gib for _, expected, _ in need],
            "marker": {"size": 1, "color": ink(theme)},
            "error_x": {
                "type": "data",
                "symmetric": False,
                "array": [high - expected for _, expected, high in need],
                "arrayminus": [expected - low for low, expected, _ in need],
                "color": ink(theme),
                "thickness": 1.5,
                "width": 3,
            },
            "customdata": [list(spread) for spread in need],
            "hovertemplate": "%{customdata[0]:.1f} / %{customdata[1]:.1f} / %{customdata[2]:.1f} GiB"
            "<extra></extra>",
        }
    )
    data.append(
        {
            "type": "scatter",
            "mode": "text",
            "y": names,
            # Right of the wall, and of a whisker that goes beyond it.
            "x": [max(v, high + used_gib) for v, (_, _, high) in zip(usable, need, strict=True)],
            "text": [f"\u00a0\u00a0{v:.1f}" for v in usable],
            "textposition": "middle right",
            "textfont": {"size": 11, "color": faint_ink(theme)},
            "hoverinfo": "skip",
        }
    )
    data.append(
        {
            "type": "scatter",
            "mode": "markers",
            "y": names,
            "x": usable,
            "marker": {"symbol": "line-ns", "size": 17, "line": {"width": 2, "color": role["wall"]}},
            "hovertemplate": "%{x:.1f} GiB<extra></extra>",
        }
    )
    widest = max([*usable, *(high + used_gib for _, _, high in need), 1.0])
    ticks = even_ticks(widest)
    layout = {
        "height": bars_height(len(rows)),
        "barmode": "overlay",
        "xaxis": {"range": [0, max(ticks[-1], widest * 1.14)], "tickvals": ticks, "showgrid": True},
        "yaxis": {"autorange": "reversed", "showgrid": False},
    }
    return figure(theme, data, layout)
