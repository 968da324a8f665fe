"""What is loaded, how old it is and what is missing: the page that a reviewer reads before the figures."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.core.answer import number
from app.services import data as data_of
from app.services.changes import last_changes
from app.services.data import Report, Unpriced
from app.services.gaps import FRESH
from app.services.missing_prices import evidence_counts, missing_prices
from app.texts.marking import N_
from app.texts.notes import say_note
from app.texts.words import COVERAGE
from app.web.answers import open_page
from app.web.listing import address, asked, day_of, only, part_of
from app.web.render import Page
from app.web.tables import csv_response

router = APIRouter()

PATH = "/data"
SOURCES_PER_PART = 40
LOADED = {
    "gpus": N_("Cards"),
    "figures": N_("Figures of cards"),
    "facts": N_("Facts of cards"),
    "models": N_("Models"),
    "prices": N_("Price observations"),
    "rentals": N_("Rent observations"),
    "rates": N_("Exchange rates"),
    "benchmarks": N_("Speed measurements"),
    "memory_cases": N_("Memory measurements"),
    "remarks": N_("Remarks on availability"),
    "framework_support": N_("Framework releases"),
    "engine_support": N_("Statements on engines"),
    "host_classes": N_("Classes of machines"),
    "sources": N_("Sources"),
}
LIST_OF = {"gpus": "/gpus", "models": "/models", "prices": "/prices", "benchmarks": "/benchmarks"}
MISSING = {
    "bandwidth": N_("memory bandwidth"),
    "fp32": N_("FP32 rate"),
    "sixteen_bit": N_("FP16 or BF16 rate"),
    "usable_derived": N_("measured usable memory (derived instead)"),
    "power": N_("power"),
    "launch": N_("launch date"),
    "form_factor": N_("form factor"),
    "slot_width": N_("slots wide (PCIe cards)"),
    "power_connector": N_("power connector (PCIe cards)"),
    "cooling": N_("cooling (PCIe cards other than consumer cards)"),
    "driver": N_("first driver (NVIDIA)"),
    "ecc": N_("whether it has ECC"),
    "link": N_("link between cards"),
    "rent": N_("rent"),
    "measurement": N_("measured speed that predicts"),
}
ACTION = {
    "load": N_("loaded"),
    "insert": N_("added"),
    "update": N_("changed"),
    "delete": N_("removed"),
    "undo": N_("undone"),
}
UNJOINED_KIND = {
    "prices": N_("Prices"),
    "rentals": N_("Rents"),
    "benchmarks": N_("Speed measurements"),
}
UNJOINED = {
    "memory_not_stated": N_("memory size not stated"),
    "form_not_stated": N_("form factor not stated"),
    "bin_not_stated": N_("bin not stated"),
    "slice": N_("a slice of a card"),
    "card_not_named": N_("card not named"),
    "whole_system": N_("another thing than a card"),
    "estimate": N_("an estimate, not an observation"),
    "flagged": N_("marked by the check of the source"),
    "undated": N_("undated"),
    "unit_refused": N_("unit not comparable"),
    "laptop_part": N_("laptop part, not the card of that name"),
    "added_later": N_("card added after the rows were read"),
    "not_in_catalogue": N_("card not in the catalogue"),
}
FLAGGED = {
    "benchmarks": N_("speed measurements that are not used to predict, each with its reason"),
    "without_preset": N_("speed measurements of a model that is none of the presets"),
    "memory_cases": N_("memory measurements marked as faulty"),
    "prices": N_("prices that cannot count today"),
    "models": N_("models with an assumed dimension"),
}
FLAGGED_AT = {"benchmarks": "/benchmarks?use=flagged", "prices": "/prices?use=unused"}
RULE = {
    "dense_ratio": N_("dense against sparse rates"),
    "fp8_ratio": N_("FP8 is twice FP16"),
    "fp32_rate": N_("FP32 from cores and clock"),
    "bandwidth": N_("bandwidth from bus and rate"),
    "memory_size": N_("usual memory sizes"),
    "price_history": N_("price against its own history"),
    "currency": N_("currency of the region"),
    "rent_share": N_("rent against price"),
    "known_deviation": N_("known deviations"),
    "provenance": N_("source and date"),
}
SOURCE_KIND = {
    "vendor": N_("vendor"),
    "reference": N_("reference"),
    "dataset": N_("data set"),
    "press": N_("press"),
    "forum": N_("forum"),
    "listing": N_("listing"),
    "measured": N_("measurement"),
    "derived": N_("derivation"),
    "article": N_("article"),
}
GAP_HEADS = ("gpu", "vendor", "coverage", "last_cny", "condition", "last_on", "source")


@router.get(PATH)
def data(request: Request) -> Response:
    """Versions, ages, gaps, coverage, rates, findings and sources."""
    page, snapshot, _words = open_page(request)
    day = day_of(request)
    values = asked(request, "kind", "source", "as_of")
    kinds = data_of.source_kinds(snapshot)
    values["kind"] = only(values["kind"], [kind for kind, _ in kinds])
    found = data_of.sources(snapshot, values["kind"], values["source"])
    part = part_of(found, request.query_params.get("page", ""), SOURCES_PER_PART)
    report = data_of.report(snapshot, day)
    engine = request.app.state.store.engine
    lint = data_of.lint(snapshot, engine)
    return page.render(
        "data.html",
        PATH,
        report=report,
        lint=lint,
        missing=report.missing,
        changes=last_changes(engine, data_of.SHOWN_CHANGES),
        part=part,
        kinds=kinds,
        asked=values,
        as_of=day.isoformat(),
        digest=snapshot.digest,
        covered=sum(report.coverage[code] for code in FRESH),
        priced=len(snapshot.gpus) - report.coverage["none"],
        gaps=_gaps(report, page),
        evidence=evidence_counts(snapshot, day),
        wanted=missing_prices(snapshot, day),
        words={
            "loaded": LOADED,
            "coverage": COVERAGE,
            "missing": MISSING,
            "flagged": FLAGGED,
            "rule": RULE,
            "source_kind": SOURCE_KIND,
            "action": ACTION,
            "unjoined_kind": UNJOINED_KIND,
            "unjoined": UNJOINED,
        },
        say_note=lambda text: say_note(text, page.language),
        list_of=LIST_OF,
        flagged_at=FLAGGED_AT,
        page_url=lambda number: address(PATH, values, page="" if number == 1 else number) + "#sources",
        gaps_url=address("/data/unpriced.csv", {"as_of": values["as_of"]}),
    )


@router.get("/data/unpriced.csv")
def unpriced_csv(request: Request) -> Response:
    """The cards without a yuan price inside the age limit, as a table."""
    page, snapshot, _words = open_page(request)
    report = data_of.report(snapshot, day_of(request))
    return csv_response("unpriced", GAP_HEADS, (_gap_row(card) for card in report.unpriced))


@dataclass(frozen=True, slots=True)
class UnpricedCards:
    """Cards without a fresh yuan price that have the same in its place."""

    code: str
    title: str
    cards: list[Unpriced]


def _gaps(report: Report, page: Page) -> list[UnpricedCards]:
    """Cards without a fresh yuan price, by what stands in for it."""
    found: dict[str, list[Unpriced]] = {}
    for card in report.unpriced:
        found.setdefault(card.coverage, []).append(card)
    return [UnpricedCards(code, page._(COVERAGE[code]), cards) for code, cards in found.items()]


def _gap_row(card: Unpriced) -> list[object]:
    return [
        card.id,
        card.vendor,
        card.coverage,
        number(card.last_cny),
        card.condition,
        card.last_on,
        (card.source.url or card.source.title) if card.source else "",
    ]
