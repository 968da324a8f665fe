"""What the page of one card shows of its figures, prices, events and measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit

from app.catalog.snapshot import Snapshot
from app.charts.prices import Event, Frame
from app.texts.notes import say_note
from app.web import columns
from app.web.view import Words
from app.web.wording import AVAILABILITY_SHORT

Card = Mapping[str, Any]
FRESH_DAYS = 180
FIRST_MEASUREMENTS = 8
TURNING_POINTS = frozenset(
    {"licence_required", "not_permitted", "restricted", "licensed", "conditional", "discontinued", "on_sale"}
)
"""Remarks on availability that are drawn into the price history."""
# Figures that answer the reader's first questions come first, whatever the alphabet says.
FIRST_FIGURES = (
    "bf16_tflops",
    "fp16_tflops",
    "fp16_fp16acc_tflops",
    "fp8_tflops",
    "fp4_tflops",
    "int8_tops",
    "fp32_tflops",
    "bandwidth_gb_s",
    "memory_gib",
    "usable_gib",
    "tdp_w",
)
LATER_FIGURES = (
    "fp8_fp16acc_tflops",
    "int4_tops",
    "tf32_tflops",
    "fp16_vector_tflops",
    "fp64_tflops",
    "driver_total_gib",
)


@dataclass(frozen=True, slots=True)
class Note:
    """What stands beside a figure: words, and a link where the note is only an address."""

    text: str
    url: str = ""


def figure_names(card: Card) -> tuple[list[str], list[str]]:
    """Names of the figures shown at once, and of those behind a fold."""
    known = card["figures"]
    first = [name for name in FIRST_FIGURES if name in known]
    order = {name: place for place, name in enumerate(LATER_FIGURES)}
    rest = sorted(known.keys() - set(first), key=lambda name: (order.get(name, 99), name))
    return first, rest


def figure_notes(figure: Mapping[str, Any], language: str = "en") -> list[Note]:
    """Formula and note of a figure; an address among them becomes a link named by its host."""
    texts = [figure.get("formula") or "", *(figure.get("note") or "").split("; ")]
    notes = []
    for text in filter(None, texts):
        host = urlsplit(text).netloc if text.startswith(("https://", "http://")) else ""
        notes.append(Note(host.removeprefix("www."), text) if host else Note(say_note(text, language)[0]))
    return notes


@dataclass(frozen=True, slots=True)
class Measurements:
    """Measurements of a card: first a row of each known model, then the others, apart those not used."""

    first: list[dict[str, Any]]
    more: list[dict[str, Any]]
    unused: list[dict[str, Any]]

    @property
    def total(self) -> int:
        """How many there are."""
        return len(self.first) + len(self.more) + len(self.unused)


def measurements(rows: Sequence[Mapping[str, Any]], snapshot: Snapshot) -> Measurements:
    """Order measurements so that usable ones of models with a preset lead, one of each before a second."""
    usable: list[dict[str, Any]] = []
    unused: list[dict[str, Any]] = []
    for row in rows:
        preset = snapshot.models.get(row["model"]["id"] or "")
        shown = dict(row) | {"title": (preset.name or preset.id) if preset else row["model"]["name"]}
        shown["known"] = preset is not None
        (unused if row["flag"] else usable).append(shown)
    usable.sort(key=lambda r: (r["gpu_count"] != 1, _newest_first(r["observed_on"]), r["title"], r["id"]))
    seen: Counter[str] = Counter()
    places: list[tuple[bool, int, int]] = []
    for row in usable:
        places.append((not row["known"], seen[row["title"]], len(places)))
        seen[row["title"]] += 1
    ordered = [usable[place[2]] for place in sorted(places)]
    return Measurements(ordered[:FIRST_MEASUREMENTS], ordered[FIRST_MEASUREMENTS:], unused)


def _newest_first(observed_on: str) -> tuple[int, ...]:
    return tuple(-int(part) for part in (observed_on or "0").split("-") if part.isdigit())


def history_url(card: Card, scale: str) -> str:
    """Where the data of the price chart are."""
    pairs = {"gpu": card["id"]} | ({"scale": "log"} if scale == "log" else {})
    return "/charts/prices?" + urlencode(pairs)


def history_frame(
    card: Card, rows: Sequence[Mapping[str, Any]], today: date, scale: str, snapshot: Snapshot, words: Words
) -> Frame:
    """Currency, scale, band, launch price and events of a card's price chart."""
    _, money = words.gettext, words.money
    events = []
    if card["launch_date"]:
        events.append(Event(card["launch_date"], _("launch")))
    seen = set()
    for fact in card["remarks"]:
        # Only what moves a market, once: a chart with every notice in it cannot be read.
        key = (fact["status"], fact["from"][:7])
        if fact["status"] in TURNING_POINTS and key not in seen:
            seen.add(key)
            events.append(Event(fact["from"], _(AVAILABILITY_SHORT[fact["status"]])))
    launched = [r["amount"] for r in rows if r["channel_kind"] == "launch" and r["currency"] == "CNY"]
    launch, unit = columns.figure_value(card, "launch_msrp_cny") or min(launched, default=None), ""
    if launch is None:
        dollars = columns.figure_value(card, "launch_msrp_usd")
        day = _whole_day(card["launch_date"]) or today
        use = snapshot.rates.to_cny("USD", day) or snapshot.rates.to_cny("USD", today)
        if dollars is not None and use is not None:
            launch, unit = dollars * use.rate, f" (US${dollars:,.0f})"
    return Frame(
        sign="US$" if money.currency == "USD" else "¥",
        cny_per_unit=money.cny_per_unit,
        log=scale == "log",
        fresh_from=(today - timedelta(days=FRESH_DAYS)).isoformat(),
        today=today.isoformat(),
        launch_cny=launch,
        launch_note=unit,
        events=tuple(events),
    )


def _whole_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
