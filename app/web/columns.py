"""Columns of the card list, as data: one line adds a column to the page, to sorting and to the CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.texts.marking import N_

Card = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `value` for sorting and the CSV, `digits` for the page; `figure` opens to its source."""

    id: str
    title: str
    unit: str
    value: Callable[[Card], Any]
    figure: str = ""
    digits: int | None = None
    narrow: bool = True
    """Whether it also stands on narrow screens."""

    @property
    def numeric(self) -> bool:
        """Numbers stand to the right, words to the left."""
        return self.digits is not None


def figure_value(card: Card, name: str) -> float | None:
    """Value of one figure, None when it is unknown."""
    figure = card["figures"].get(name)
    return None if figure is None else figure["value"]


def best_price(card: Card) -> Mapping[str, Any] | None:
    """The price that counts: fresh before stale, then new before refurbished, used and modified."""
    order = ("new", "refurbished", "used", "modded")
    prices = [card["prices"][condition] for condition in order if condition in card["prices"]]
    return min(prices, key=lambda price: price["stale"], default=None)


def price_cny(card: Card) -> float | None:
    """Yuan per card of the price that counts."""
    price = best_price(card)
    return None if price is None else price["amount_cny"]


def per_1000(card: Card, name: str) -> float | None:
    """A figure per 1000 yuan."""
    value, price = figure_value(card, name), price_cny(card)
    return None if value is None or not price else 1000 * value / price


def _figure(name: str) -> Callable[[Card], Any]:
    return lambda card: figure_value(card, name)


COLUMNS: tuple[Column, ...] = (
    Column("name", N_("Card"), "", lambda card: card["label"]),
    Column("vendor", N_("Vendor"), "", lambda card: card["vendor"], narrow=False),
    Column("launch", N_("Launch"), "", lambda card: card["launch_date"] or None, narrow=False),
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


def sort_cards(cards: list[dict[str, Any]], order: str) -> tuple[list[dict[str, Any]], str, bool]:
    """Cards in the order of `price` or `-price`; those without the figure come last either way.

    Returns
    -------
    The cards, the id of the column, and whether it descends.
    """
    descending = order.startswith("-")
    column = BY_ID.get(order.lstrip("-"), BY_ID["name"])

    def known(card: Card) -> bool:
        return column.value(card) is not None

    def key(card: Card) -> Any:
        value = column.value(card)
        return value.casefold() if isinstance(value, str) else value

    with_value = sorted(filter(known, cards), key=key, reverse=descending)
    return with_value + [card for card in cards if not known(card)], column.id, descending


def filter_cards(
    cards: list[dict[str, Any]], query: str, vendor: str, minimum_gib: float
) -> list[dict[str, Any]]:
    """Cards whose names hold every word of the query, of one vendor, with at least so much memory."""
    words = query.casefold().split()
    return [
        card
        for card in cards
        if all(word in card["search"] for word in words)
        and (not vendor or card["vendor"] == vendor)
        and (figure_value(card, "memory_gib") or 0) >= minimum_gib
    ]
