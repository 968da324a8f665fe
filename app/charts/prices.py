"""The price history of one card: every observation with its date, nothing averaged across channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil, floor, log10
from typing import Any, Protocol

from app.charts.theme import (
    Drawn,
    Figure,
    Gettext,
    even_ticks,
    faint_ink,
    figure,
    height,
    ink,
    money_label,
    roles,
    template,
)

FOREIGN_SERIES = 2
HELD = frozenset({"price_held", "price_likely_server_price", "price_far_from_history", "price_superseded"})
"""Reasons for which a dated price is kept and not used: its point is hollow."""


class Dated(Protocol):
    """An amount of a day: what has a place in the drawing."""

    @property
    def observed_on(self) -> str:
        """Day, month or year, ISO 8601; empty where it is not known."""

    @property
    def amount_cny(self) -> float | None:
        """Yuan; None where no rate is known."""


class Observed(Dated, Protocol):
    """An observation of a price."""

    @property
    def per(self) -> str:
        """card, or server-8."""

    @property
    def currency(self) -> str:
        """ISO 4217 code."""

    @property
    def condition(self) -> str:
        """new, used, refurbished or modded."""

    @property
    def channel(self) -> str:
        """Who sells."""

    @property
    def unused_code(self) -> str | None:
        """Why it cannot count; None where it can."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that moved prices: a day, and a few words."""

    day: str
    text: str


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the points: currency, scale, the days that count, the launch price, events."""

    sign: str = "¥"
    cny_per_unit: float = 1.0
    log: bool = False
    fresh_from: str = ""
    today: str = ""
    launch_cny: float | None = None
    launch_note: str = ""
    events: tuple[Event, ...] = ()


def day_of(text: str) -> str:
    """A date Plotly can place: the middle of a month or year that is all the source states."""
    return {4: f"{text}-07-01", 7: f"{text}-15"}.get(len(text), text)


def history_chart(
    prices: Sequence[Observed],
    current: Dated | None,
    theme: str,
    language: str,
    gettext: Gettext,
    frame: Frame | None = None,
) -> Figure:
    """Price per card over time: points for yuan observations, lines for foreign series at the dated rate.

    Parameters
    ----------
    prices: observations; those that cannot count are drawn hollow.
    current: the price in force.
    frame: currency (yuan per unit), linear or logarithmic scale, band of fresh days, launch price, events.
    """
    frame = frame or Frame()
    role = roles(theme)
    usable = [p for p in prices if p.amount_cny and p.observed_on and p.per == "card"]
    data = _foreign_lines(usable, frame, role, gettext) + _yuan_points(usable, frame, role, gettext)
    if current and current.observed_on:
        data.append(_in_force(current, frame, role, ink(theme), gettext))
    amounts = [_amount(p, frame) for p in usable]
    if frame.launch_cny:
        amounts.append(frame.launch_cny / frame.cny_per_unit)
    layout = {
        "height": height("price_history"),
        "showlegend": True,
        "xaxis": {
            "type": "date",
            "showgrid": False,
            "hoverformat": "%Y-%m-%d",
            "tickformat": "%Y-%m",
            **_days(usable, frame),
        },
        "yaxis": _money_axis(amounts or [1.0], frame.log, language),
        **_surroundings(usable, frame, theme, gettext),
    }
    return figure(theme, data, layout)


def _days(usable: Sequence[Observed], frame: Frame) -> Drawn:
    """The axis from the first observation to today, so that the band of fresh days is whole."""
    days = sorted(day_of(p.observed_on) for p in usable)
    return {"range": [days[0], max(days[-1], frame.today)]} if days and frame.today else {}


def _words(gettext: Gettext) -> dict[str, str]:
    return {
        "new": gettext("new"),
        "used": gettext("used"),
        "refurbished": gettext("refurbished"),
        "modded": gettext("modified"),
    }


def _points(rows: Sequence[Dated], frame: Frame) -> Drawn:
    return {
        "x": [day_of(p.observed_on) for p in rows],
        "y": [_amount(p, frame) for p in rows],
        "hovertemplate": f"%{{x|%Y-%m-%d}}: {frame.sign}%{{y:,.0f}}<extra>%{{fullData.name}}</extra>",
    }


def _amount(price: Dated, frame: Frame) -> float:
    return (price.amount_cny or 0.0) / frame.cny_per_unit


def _foreign_lines(
    usable: Sequence[Observed], frame: Frame, role: Mapping[str, Any], gettext: Gettext
) -> list[Drawn]:
    groups: dict[tuple[str, str, str], list[Observed]] = {}
    for price in usable:
        if price.currency != "CNY" and price.unused_code not in HELD:
            key = (price.currency, price.condition, price.channel)
            groups.setdefault(key, []).append(price)
    # The longest foreign series stand for the rest: a dozen lines would say less than two.
    longest = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))[:FOREIGN_SERIES]
    words, data = _words(gettext), []
    for number, ((currency, condition, channel), rows) in enumerate(longest):
        colour = role["recommended"] if number == 0 else role["other"]
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if len(rows) < 4 else "lines",
                "name": gettext("{channel}, {condition}, converted from {currency}").format(
                    channel=gettext(channel) if channel else currency,
                    condition=words.get(condition, condition),
                    currency=currency,
                ),
                **_points(sorted(rows, key=lambda p: day_of(p.observed_on)), frame),
                "line": {"color": colour, "width": 1.5},
                "marker": {"color": colour, "size": 4},
            }
        )
    return data


def _yuan_points(
    usable: Sequence[Observed], frame: Frame, role: Mapping[str, Any], gettext: Gettext
) -> list[Drawn]:
    groups: dict[str, list[Observed]] = {}
    held: list[Observed] = []
    for price in usable:
        if price.unused_code in HELD:
            held.append(price)
        elif price.currency == "CNY":
            groups.setdefault(price.condition, []).append(price)
    words = _words(gettext)
    parts = role["memory_parts"]
    colours = {"new": parts["weights"], "used": parts["kv_cache"], "refurbished": parts["engine"]}
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": gettext("CNY, {condition}").format(condition=words.get(condition, condition)),
            **_points(rows, frame),
            "marker": {"color": colours.get(condition, role["other"]), "size": 8},
        }
        for condition, rows in sorted(groups.items())
    ]
    if held:
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": gettext("held or replaced, not used"),
                **_points(held, frame),
                "marker": {"color": role["held"], "size": 9, "symbol": "circle-open", "line": {"width": 1.5}},
            }
        )
    return data


def _in_force(current: Dated, frame: Frame, role: Mapping[str, Any], edge: str, gettext: Gettext) -> Drawn:
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": gettext("in force"),
        **_points([current], frame),
        "text": [f"{frame.sign}{_amount(current, frame):,.0f}  "],
        "textposition": "middle left",
        "marker": {"color": role["recommended"], "size": 12, "line": {"color": edge, "width": 1}},
    }


def _money_axis(amounts: Sequence[float], log: bool, language: str) -> Drawn:
    if not log:
        ticks = even_ticks(max(amounts) * 1.05, 4)
        axis: Drawn = {"range": [0, ticks[-1]]}
    else:
        low, high = min(amounts) / 1.15, max(amounts) * 1.15
        decades = range(floor(log10(low)), ceil(log10(high)) + 1)
        ticks = [m * 10.0**d for d in decades for m in (1, 2, 5) if low <= m * 10.0**d <= high]
        axis = {"type": "log", "range": [log10(low), log10(high)]}
    return axis | {
        "tickvals": ticks,
        "ticktext": [money_label(v, language) for v in ticks],
        "showgrid": True,
    }


def _share_of(days: Sequence[str], today: str, share: float) -> str:
    """The day at a share of the axis."""
    if not days or not today:
        return "9999"
    first, last = (date.fromisoformat(day).toordinal() for day in (days[0], max(days[-1], today)))
    return date.fromordinal(round(first + share * (last - first))).isoformat()


def _surroundings(
    usable: Sequence[Observed], frame: Frame, theme: str, gettext: Gettext
) -> dict[str, list[Drawn]]:
    shapes: list[Drawn] = []
    notes: list[Drawn] = []
    role, faint = roles(theme), faint_ink(theme)
    small = {"size": 11, "color": faint}
    days = sorted(day_of(p.observed_on) for p in usable)
    if frame.fresh_from and frame.today:
        band = {"x0": frame.fresh_from, "x1": frame.today, "y0": 0, "y1": 1, "layer": "below"}
        shapes.append(
            {"type": "rect", "yref": "paper", "fillcolor": role["trough"], "line": {"width": 0}, **band}
        )
        notes.append(
            {
                "x": frame.fresh_from,
                "y": 1,
                "yref": "paper",
                "xanchor": "left",
                "yanchor": "top",
                "showarrow": False,
                "text": gettext("last 180 d"),
                "font": small,
            }
        )
    if frame.launch_cny:
        amount = frame.launch_cny / frame.cny_per_unit
        shapes.append(
            {
                "type": "line",
                "xref": "paper",
                "x0": 0,
                "x1": 1,
                "y0": amount,
                "y1": amount,
                "line": {"color": role["recommended"], "width": 1, "dash": "dash"},
            }
        )
        notes.append(
            {
                "xref": "paper",
                "x": 0.012,
                # Plotly wants the exponent on a logarithmic axis, for notes though not for shapes.
                "y": log10(amount) if frame.log else amount,
                "xanchor": "left",
                "yanchor": "top",
                "showarrow": False,
                "font": small,
                "bgcolor": template(theme)["layout"]["paper_bgcolor"],
                "opacity": 0.9,
                "text": gettext("launch price {amount}").format(
                    amount=f"{frame.sign}{amount:,.0f}{frame.launch_note}"
                ),
            }
        )
    late = _share_of(days, frame.today, 0.75)
    for number, event in enumerate(e for e in frame.events if days and day_of(e.day) >= days[0][:4]):
        day = day_of(event.day)
        shapes.append(
            {
                "type": "line",
                "yref": "paper",
                "x0": day,
                "x1": day,
                "y0": 0,
                "y1": 1,
                "line": {"color": faint, "width": 1, "dash": "dot"},
            }
        )
        notes.append(
            {
                "x": day,
                "y": 1 - 0.07 * (number % 3),
                "yref": "paper",
                # A note near the right edge stands to the left of its line.
                "xanchor": "right" if day > late else "left",
                "yanchor": "top",
                "showarrow": False,
                "text": f" {event.text} ",
                "font": small,
            }
        )
    return {"shapes": shapes, "annotations": notes}
