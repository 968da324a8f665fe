"""The price history of one card: every observation with its date, nothing averaged across channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.charts.theme import Figure, Gettext, even_ticks, figure, height, ink, money_label, roles

Price = Mapping[str, Any]
FOREIGN_SERIES = 2


def day_of(text: str) -> str:
    """A date Plotly can place: the middle of a month or year that is all the source states."""
    return {4: f"{text}-07-01", 7: f"{text}-15"}.get(len(text), text)


def history_chart(
    prices: Sequence[Price], current: Price | None, theme: str, language: str, gettext: Gettext
) -> Figure:
    """Yuan per card over time: points for yuan observations, lines for foreign series at the dated rate."""
    role = roles(theme)
    usable = [
        p for p in prices if p.get("amount_cny") and p.get("observed_on") and p.get("per", "card") == "card"
    ]
    data: list[dict[str, Any]] = []
    foreign: dict[tuple[str, str, str], list[Price]] = {}
    domestic: dict[str, list[Price]] = {}
    for price in usable:
        if price["currency"] == "CNY":
            domestic.setdefault(price["condition"], []).append(price)
        else:
            foreign.setdefault((price["currency"], price["condition"], price["channel"]), []).append(price)
    words = {
        "new": gettext("new"),
        "used": gettext("used"),
        "refurbished": gettext("refurbished"),
        "modded": gettext("modified"),
    }
    # The longest foreign series stand for the rest: a dozen lines would say less than two.
    longest = sorted(foreign.items(), key=lambda item: (-len(item[1]), item[0]))[:FOREIGN_SERIES]
    for number, ((currency, condition, channel), rows) in enumerate(longest):
        rows = sorted(rows, key=lambda p: day_of(p["observed_on"]))
        colour = role["recommended"] if number == 0 else role["other"]
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if len(rows) < 4 else "lines",
                "name": gettext("{channel}, {condition}, converted from {currency}").format(
                    channel=channel or currency, condition=words.get(condition, condition), currency=currency
                ),
                "x": [day_of(p["observed_on"]) for p in rows],
                "y": [p["amount_cny"] for p in rows],
                "line": {"color": colour, "width": 1.5},
                "marker": {"color": colour, "size": 4},
                "hovertemplate": "%{x|%Y-%m-%d}: \u00a5%{y:,.0f}<extra>%{fullData.name}</extra>",
            }
        )
    colours = {"new": role["memory_parts"]["weights"], "used": role["recommended"]}
    for condition, rows in sorted(domestic.items()):
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": gettext("CNY, {condition}").format(condition=words.get(condition, condition)),
                "x": [day_of(p["observed_on"]) for p in rows],
                "y": [p["amount_cny"] for p in rows],
                "marker": {"color": colours.get(condition, role["held"]), "size": 9},
                "hovertemplate": "%{x|%Y-%m-%d}: \u00a5%{y:,.0f}<extra>%{fullData.name}</extra>",
            }
        )
    if current and current.get("observed_on"):
        data.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "name": gettext("in force"),
                "x": [day_of(current["observed_on"])],
                "y": [current["amount_cny"]],
                "text": [f"\u00a5{current['amount_cny']:,.0f}"],
                "textposition": "middle left",
                "marker": {
                    "color": role["recommended"],
                    "size": 12,
                    "line": {"color": ink(theme), "width": 1},
                },
                "hovertemplate": "\u00a5%{y:,.0f}<extra>%{fullData.name}</extra>",
            }
        )
    ticks = even_ticks(max([p["amount_cny"] for p in usable] or [1.0]) * 1.05, 4)
    layout = {
        "height": height("price_history"),
        "showlegend": True,
        "xaxis": {"type": "date", "showgrid": False, "hoverformat": "%Y-%m-%d"},
        "yaxis": {
            "range": [0, ticks[-1]],
            "tickvals": ticks,
            "ticktext": [money_label(v, language) for v in ticks],
            "showgrid": True,
        },
    }
    return figure(theme, data, layout)
