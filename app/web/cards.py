"""The card list with its CSV. Columns are data: one line adds one to the page, to sorting and to the CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Protocol
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.catalog.snapshot import Snapshot
from app.core.answer import number
from app.core.gpu import Figure, PriceChoice
from app.services.cards import first_price, price_choices
from app.texts.marking import N_
from app.texts.words import FORM_FACTOR
from app.web.answers import open_page, today
from app.web.links import GpuLinks
from app.web.listing import asked
from app.web.models import vendors
from app.web.tables import csv_response

router = APIRouter()

PATH = "/gpus"
FILTERS = ("q", "vendor", "memory", "form", "sort")


class Priced(Protocol):
    """What columns and figures per 1000 yuan read of a card."""

    @property
    def figures(self) -> Mapping[str, Figure]:
        """Its figures in force by name."""

    @property
    def prices(self) -> Mapping[str, PriceChoice]:
        """The prices that count by condition."""


@dataclass(frozen=True, slots=True)
class ListedCard:
    """A card of the list."""

    id: str
    label: str
    vendor: str
    form_factor: str
    launch_date: str
    figures: Mapping[str, Figure]
    prices: Mapping[str, PriceChoice]
    search: str
    """Its names and makers, for the words that a reader types."""


def figure_value(card: Priced, name: str) -> float | None:
    """Value of one figure, None when it is unknown."""
    figure = card.figures.get(name)
    return None if figure is None else number(figure.value)


def price_cny(card: Priced) -> float | None:
    """Yuan per card of the price that counts first."""
    price = first_price(card.prices)
    return None if price is None else number(price.today_cny)


def per_1000(card: Priced, name: str) -> float | None:
    """A figure per 1000 yuan."""
    value, price = figure_value(card, name), price_cny(card)
    return None if value is None or not price else 1000 * value / price


Value = str | float | None


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `value` for sorting and the CSV, `digits` for the page; `figure` opens to its source."""

    id: str
    title: str
    unit: str
    value: Callable[[ListedCard], Value]
    figure: str = ""
    digits: int | None = None
    narrow: bool = True
    """Whether it also stands on narrow screens."""

    @property
    def numeric(self) -> bool:
        """Numbers stand to the right, words to the left."""
        return self.digits is not None


def _figure(name: str) -> Callable[[ListedCard], Value]:
    return lambda card: figure_value(card, name)


COLUMNS: tuple[Column, ...] = (
    Column("name", N_("Card"), "", lambda card: card.label),
    Column("vendor", N_("Vendor"), "", lambda card: card.vendor, narrow=False),
    Column("launch", N_("Launch"), "", lambda card: card.launch_date or None, narrow=False),
    Column("memory", N_("Memory"), "GiB", _figure("memory_gib"), "memory_gib", 0),
    Column("usable", N_("Usable"), "GiB", _figure("usable_gib"), "usable_gib", 1, narrow=False),
    Column("bandwidth", N_("Bandwidth"), "GB/s", _figure("bandwidth_gb_s"), "bandwidth_gb_s", 0),
    Column("bf16", "BF16", "TFLOPS", _figure("bf16_tflops"), "bf16_tflops", 1),
    Column("fp16", "FP16", "TFLOPS", _figure("fp16_tflops"), "fp16_tflops", 1, narrow=False),
    Column("fp8", "FP8", "TFLOPS", _figure("fp8_tflops"), "fp8_tflops", 1, narrow=False),
    Column("fp32", "FP32", "TFLOPS", _figure("fp32_tflops"), "fp32_tflops", 1, narrow=False),
    Column("power", N_("Power"), "W", _figure("tdp_w"), "tdp_w", 0, narrow=False),
    Column("price", N_("Price"), "¥", price_cny, "", 0),
    Column("value", N_("BF16 per 1000 yuan"), "TFLOPS", lambda c: per_1000(c, "bf16_tflops"), "", 2),
)
BY_ID: Mapping[str, Column] = {column.id: column for column in COLUMNS}


@lru_cache(maxsize=2)
def listed_cards(snapshot: Snapshot, day: date) -> tuple[ListedCard, ...]:
    """All cards with the prices that count on a day; made once per catalogue version and day."""
    return tuple(
        ListedCard(
            gpu.id,
            gpu.label,
            gpu.vendor,
            gpu.form_factor,
            gpu.launch_date,
            snapshot.figures(gpu.id),
            price_choices(snapshot, gpu.id, day),
            " ".join((gpu.id, gpu.name, gpu.vendor, gpu.architecture, *gpu.aliases)).casefold(),
        )
        for gpu in snapshot.gpus
    )


def sort_cards(cards: Sequence[ListedCard], order: str) -> tuple[list[ListedCard], str, bool]:
    """Cards in the order of `price` or `-price`; those without the figure come last either way.

    Returns
    -------
    The cards, the id of the column, and whether it descends.
    """
    descending = order.startswith("-")
    column = BY_ID.get(order.lstrip("-"), BY_ID["name"])

    def known(card: ListedCard) -> bool:
        return column.value(card) is not None

    def key(card: ListedCard) -> tuple[float, str]:
        value = column.value(card)
        return (0.0, value.casefold()) if isinstance(value, str) else (value or 0.0, "")

    with_value = sorted(filter(known, cards), key=key, reverse=descending)
    return with_value + [card for card in cards if not known(card)], column.id, descending


def _minimum(text: str) -> float:
    return float(text) if text.isascii() and text.replace(".", "", 1).isdigit() and len(text) < 8 else 0.0


def _chosen(request: Request, snapshot: Snapshot) -> tuple[list[ListedCard], str, bool, dict[str, str]]:
    """The cards that an address asks for, in its order: every word in a name, one vendor, so much memory."""
    values = asked(request, *FILTERS)
    words, minimum_gib = values["q"].casefold().split(), _minimum(values["memory"])
    cards = [
        card
        for card in listed_cards(snapshot, today())
        if all(word in card.search for word in words)
        and values["vendor"] in ("", card.vendor)
        and values["form"] in ("", card.form_factor)
        and (figure_value(card, "memory_gib") or 0) >= minimum_gib
    ]
    ordered, column, descending = sort_cards(cards, values["sort"] or "name")
    return ordered, column, descending, values


@router.get(PATH)
def gpu_list(request: Request) -> Response:
    """All cards: sorted and filtered by the address."""
    page, snapshot, _words = open_page(request)
    cards, sorted_by, descending, values = _chosen(request, snapshot)
    forms = {gpu.form_factor for gpu in snapshot.gpus}

    def sort_url(column: Column) -> str:
        # A second click turns the order; figures start with the largest, names with A.
        start = "-" if column.numeric and column.id != "price" else ""
        turned = ("" if descending else "-") if column.id == sorted_by else start
        pairs = {k: v for k, v in values.items() if v and k != "sort"} | {"sort": turned + column.id}
        return f"{PATH}?" + urlencode(pairs)

    return page.render(
        "gpus.html",
        PATH,
        cards=cards,
        total=len(snapshot.gpus),
        columns=COLUMNS,
        sorted_by=sorted_by,
        descending=descending,
        sort_url=sort_url,
        asked=values,
        vendors=vendors(snapshot),
        forms=[(code, page._(name)) for code, name in FORM_FACTOR.items() if code in forms],
        form_words=FORM_FACTOR,
        best_price=lambda card: first_price(card.prices),
        csv_url="/gpus.csv?" + urlencode({k: v for k, v in values.items() if v}),
        links=GpuLinks,
    )


@router.get("/gpus.csv")
def gpu_list_csv(request: Request) -> Response:
    """The same list as a table of raw values."""
    page, snapshot, _words = open_page(request)
    cards, *_ = _chosen(request, snapshot)
    heads = ["id"] + [f"{page._(c.title)}{f' ({c.unit})' if c.unit else ''}" for c in COLUMNS]
    return csv_response("gpus", heads, ([card.id, *(c.value(card) for c in COLUMNS)] for card in cards))
