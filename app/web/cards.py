"""The card list and the page of one card, with the CSV of the list."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from app.catalog.snapshot import Snapshot
from app.core.gpu import PriceChoice
from app.services.answers import load
from app.services.catalogue import NotInCatalogue, gpu_body, gpu_detail, price_choices
from app.services.catalogue_pages import Page as ListPage
from app.services.catalogue_pages import page as list_page
from app.texts.notes import say_note
from app.texts.words import FORM_FACTOR
from app.web import columns
from app.web.answers import open_page, today
from app.web.card_facts import fact_rows, form_factor, warning
from app.web.card_page import figure_names, figure_notes, history_url, measurements
from app.web.links import GpuLinks
from app.web.models import vendors
from app.web.own_cards import own_cards
from app.web.tables import csv_response
from app.web.view import price_words
from app.web.wording import availability_rows

router = APIRouter()

EVERYTHING = ListPage(limit=1_000_000)
_MAX_TEXT = 100
_MAIN_FIGURES = frozenset({"bf16_tflops", "usable_gib"})
SCALES = ("linear", "log")


@lru_cache(maxsize=2)
def _cards(snapshot: Snapshot, day: str) -> tuple[dict[str, Any], ...]:
    """All cards with the prices that count on a day; read once per catalogue version and day."""
    from datetime import date

    found = []
    for gpu in snapshot.gpus:
        card = gpu_body(snapshot, gpu)
        card["prices"] = price_choices(snapshot, gpu.id, date.fromisoformat(day))
        card["search"] = " ".join((gpu.id, gpu.name, gpu.vendor, gpu.architecture, *gpu.aliases)).casefold()
        found.append(card)
    return tuple(found)


def _has_form(snapshot: Snapshot, form: str) -> bool:
    return any(gpu.form_factor == form for gpu in snapshot.gpus)


def _minimum(text: str) -> float:
    return float(text) if text.isascii() and text.replace(".", "", 1).isdigit() and len(text) < 8 else 0.0


def _chosen(request: Request, snapshot: Snapshot) -> tuple[list[dict[str, Any]], str, bool, dict[str, str]]:
    asked = {
        name: request.query_params.get(name, "")[:_MAX_TEXT].strip()
        for name in ("q", "vendor", "memory", "form", "sort")
    }
    cards = columns.filter_cards(
        list(_cards(snapshot, today().isoformat())), asked["q"], asked["vendor"], _minimum(asked["memory"])
    )
    if asked["form"]:
        cards = [card for card in cards if card["form_factor"] == asked["form"]]
    ordered, column, descending = columns.sort_cards(cards, asked["sort"] or "name")
    return ordered, column, descending, asked


@router.get("/gpus")
def gpu_list(request: Request) -> Response:
    """All cards: sorted and filtered by the address."""
    page, snapshot, words = open_page(request)
    cards, sorted_by, descending, asked = _chosen(request, snapshot)

    def sort_url(column: columns.Column) -> str:
        # A second click turns the order; figures start with the largest, names with A.
        start = "-" if column.numeric and column.id != "price" else ""
        turned = ("" if descending else "-") if column.id == sorted_by else start
        pairs = {k: v for k, v in asked.items() if v and k != "sort"} | {"sort": turned + column.id}
        return "/gpus?" + urlencode(pairs)

    return page.render(
        "gpus.html",
        "/gpus",
        cards=cards,
        total=len(snapshot.gpus),
        columns=columns.COLUMNS,
        sorted_by=sorted_by,
        descending=descending,
        sort_url=sort_url,
        asked=asked,
        vendors=vendors(snapshot),
        forms=[(code, page._(name)) for code, name in FORM_FACTOR.items() if _has_form(snapshot, code)],
        form_words=FORM_FACTOR,
        best_price=columns.best_price,
        csv_url="/gpus.csv?" + urlencode({k: v for k, v in asked.items() if v}),
        price_words=lambda price: price_words(load(PriceChoice, price), words),
        links=GpuLinks,
    )


@router.get("/gpus.csv")
def gpu_list_csv(request: Request) -> Response:
    """The same list as a table of raw values."""
    page, snapshot, _words = open_page(request)
    cards, *_ = _chosen(request, snapshot)
    heads = ["id"] + [f"{page._(c.title)}{f' ({c.unit})' if c.unit else ''}" for c in columns.COLUMNS]
    return csv_response(
        "gpus", heads, ([card["id"], *(c.value(card) for c in columns.COLUMNS)] for card in cards)
    )


@router.get("/gpus/{name}")
def gpu_page(request: Request, name: str) -> Response:
    """One card: figures with their sources, price history, rentals, benchmarks."""
    page, snapshot, words = open_page(request)
    try:
        card = gpu_detail(snapshot, name, today(), page.language)
    except NotInCatalogue:
        raise HTTPException(404, page._("There is no card of this name in the catalogue.")) from None
    rows = {
        kind: list_page(snapshot, kind, {"of_gpu": card["id"]}, EVERYTHING, today(), page.language)["items"]
        for kind in ("prices", "rentals", "benchmarks")
    }
    in_force = {i for choice in card["prices"].values() for i in choice["observation_ids"]}
    first, rest = figure_names(card)
    price = columns.best_price(card)
    peers = sorted(
        (v for v in (columns.per_1000(c, "bf16_tflops") for c in _cards(snapshot, today().isoformat())) if v),
        reverse=True,
    )
    value = columns.per_1000(card, "bf16_tflops")
    scale = request.query_params.get("scale", "")
    scale = scale if scale in SCALES else SCALES[0]
    return page.render(
        "gpu.html",
        "/gpus",
        card=card,
        figures=first,
        more_figures=rest,
        notes=lambda figure: figure_notes(figure, page.language),
        say_note=lambda text: say_note(text, page.language),
        main_figures=_MAIN_FIGURES,
        price=price,
        price_text=price_words(load(PriceChoice, price), words) if price else "",
        value=value,
        value_rank=peers.index(value) + 1 if value in peers else 0,
        value_peers=len(peers),
        prices=rows["prices"],
        in_force=in_force,
        rentals=rows["rentals"],
        measured=measurements(rows["benchmarks"], snapshot),
        own=own_cards(snapshot, card["id"], words),
        availability=availability_rows(card, lambda code: words.formats.label(code, "region"), page._),
        card_facts=fact_rows(card, snapshot.gpu(card["id"]).attributes["source"].read_on, page._),
        card_warning=warning(card, page._),
        form_factor=form_factor(card["form_factor"], page._),
        scale=scale,
        history_url=history_url(card, scale),
        at=GpuLinks(card["id"]),
        misreadings=misreadings(card, words),
        price_words=lambda p: price_words(load(PriceChoice, p), words),
    )


def misreadings(card: dict[str, Any], words: Any) -> list[tuple[str, str]]:
    """Figures of a card that are often read as something else."""
    _, f = words.gettext, words.formats

    def value(name: str) -> float | None:
        return columns.figure_value(card, name)

    found = []
    half, full = value("fp16_tflops"), value("fp16_fp16acc_tflops")
    if half and full and full > 1.5 * half:
        found.append(
            (
                _("“%(tflops)s TFLOPS” is not a training rate.") % {"tflops": f.number(full)},
                _("With FP32 accumulate, as training needs it, this card runs at half: %(tflops)s.")
                % {"tflops": f.plain_number(half)},
            )
        )
    int8 = value("int8_tops")
    if int8 and card["vendor"] == "NVIDIA" and (value("bf16_tflops") or 0) > 60:
        found.append(
            (
                _("“%(tops)s AI TOPS” assumes 2:4 sparsity.") % {"tops": f.number(2 * int8)},
                _("Dense INT8 is %(tops)s.") % {"tops": f.plain_number(int8)},
            )
        )
    nominal, usable = value("memory_gib"), value("usable_gib")
    if nominal and usable and usable < nominal:
        found.append(
            (
                _("“%(gib)s GB” is not what a process gets.") % {"gib": f.plain_number(nominal)},
                _("A process sees %(gib)s GiB before it starts; estimates use this figure.")
                % {"gib": f.gib(usable)},
            )
        )
    return found
