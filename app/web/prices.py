"""The price ledger: all observations, which one counts today, and why the others do not."""

from __future__ import annotations

from datetime import date

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.catalog.snapshot import Snapshot
from app.core.answer import number
from app.core.faults import InputFault
from app.core.question import CONDITIONS
from app.services.cards import price_choices
from app.services.prices import AGES, USES, Entry, Ledger, WantedPrices, ledger, matching, values_of
from app.texts.marking import N_
from app.texts.say import say_code, say_fault
from app.web.answer_tables import Words
from app.web.answers import open_page
from app.web.listing import address, asked, card_names, day_of, only, part_of
from app.web.tables import csv_response

router = APIRouter()

PATH = "/prices"
ROWS_PER_PART = 50
FILTERS = ("gpu", "q", "condition", "region", "currency", "age", "use")
AGE = {
    "fresh": N_("90 days at most"),
    "ageing": N_("91 to 180 days"),
    "stale": N_("older than 180 days"),
    "undated": N_("without a date"),
}
USE = {
    "counts": N_("counts today"),
    "held": N_("held for confirmation"),
    "unused": N_("cannot count"),
    "other": N_("counts if nothing better is there"),
}
# Why an observation that could count does not: the rule of the price order by which another comes first.
REASON = {
    "quote_first": N_("a valid quote comes first"),
    "launch_last": N_("launch price: only where there is no other"),
    "other_currency": N_("a price in the currency of the region comes first"),
    "bare_year": N_("only the year is known"),
    "older": N_("a newer one counts"),
    "other_region": N_("of another region"),
    "other_channel": N_("a better kind of channel on that day"),
    "other_seller": N_("another seller of the day has more behind it"),
    "other_tax": N_("on another tax basis"),
}
CSV_HEADS = (
    "id gpu name_as_written condition amount currency amount_cny rate_on per tax region channel channel_kind "
    "observed_on age_days n use reason source note"
).split()


def _wanted(
    values: dict[str, str], book: Ledger, snapshot: Snapshot, language: str
) -> tuple[WantedPrices, list[str]]:
    """The filters of the address; a card that nobody knows is said."""
    faults = []
    if values["gpu"]:
        try:
            values["gpu"] = snapshot.resolve_gpu(values["gpu"], "/gpu")
        except InputFault as fault:
            faults.append(say_fault(fault.errors[0], language))
    values["condition"] = only(values["condition"], CONDITIONS)
    values["region"] = only(values["region"], values_of(book.entries, "region"))
    values["currency"] = only(values["currency"], values_of(book.entries, "currency"))
    values["age"] = only(values["age"], AGES)
    values["use"] = only(values["use"], USES)
    return WantedPrices(**{name: values[name] for name in FILTERS}), faults


@router.get(PATH)
def prices(request: Request) -> Response:
    """One part of the observations that the address asks for."""
    page, snapshot, words = open_page(request)
    day = day_of(request)
    book = ledger(snapshot, day)
    values = asked(request, *FILTERS, "as_of")
    wanted, faults = _wanted(values, book, snapshot, page.language)
    found = [] if faults else matching(book, wanted)
    part = part_of(found, request.query_params.get("page", ""), ROWS_PER_PART)
    return page.render(
        "prices.html",
        PATH,
        422 if faults else 200,
        part=part,
        rows=[(entry, _why(entry, words)) for entry in part.rows],
        book=book,
        asked=values,
        filtered=any(values[name] for name in FILTERS),
        faults=faults,
        as_of=day.isoformat(),
        ages=AGE,
        uses=USE,
        conditions=CONDITIONS,
        regions=values_of(book.entries, "region"),
        currencies=values_of(book.entries, "currency"),
        quoted=_quoted(snapshot, wanted.gpu, day, words) if wanted.gpu and not faults else [],
        gpu_label=snapshot.gpu(wanted.gpu).label if wanted.gpu and not faults else "",
        names=card_names(snapshot).values(),
        page_url=lambda number: address(PATH, values, page="" if number == 1 else number),
        with_url=lambda **changes: address(PATH, values, **changes),
        csv_url=address("/prices.csv", values),
    )


@router.get("/prices.csv")
def prices_csv(request: Request) -> Response:
    """All observations that the address asks for, with raw values."""
    page, snapshot, words = open_page(request)
    book = ledger(snapshot, day_of(request))
    values = asked(request, *FILTERS)
    wanted, faults = _wanted(values, book, snapshot, page.language)
    found = [] if faults else matching(book, wanted)
    heads = (*CSV_HEADS, *(name for entry in found[:1] for name, _ in entry.row.more))
    return csv_response("prices", heads, (_csv_row(entry, words) for entry in found))


def _quoted(snapshot: Snapshot, gpu_id: str, day: date, words: Words) -> list[str]:
    """Sentences for the conditions in which a supplier's quote counts in place of an observation."""
    _ = words.gettext
    return [
        _("%(condition)s: the quote of %(supplier)s counts, %(amount)s.")
        % {
            "condition": words.formats.label(condition, "condition"),
            "supplier": price.channel,
            "amount": words.money.amount(price.amount_cny),
        }
        for condition, price in price_choices(snapshot, gpu_id, day).items()
        if price.kind == "quote"
    ]


def _why(entry: Entry, words: Words) -> str:
    """The sentence of why an observation does not count; empty when it does."""
    if entry.reason in REASON:
        return words.gettext(REASON[entry.reason])
    return say_code(f"price_{entry.reason}", {}, words.money.language) if entry.reason else ""


def _csv_row(entry: Entry, words: Words) -> list[object]:
    row = entry.row
    return [
        row.id,
        row.gpu_id,
        row.name_as_written,
        row.condition,
        number(row.amount),
        row.currency,
        number(entry.amount_cny),
        entry.rate_on,
        row.per,
        row.tax,
        row.region,
        row.channel,
        row.channel_kind,
        row.observed_on,
        entry.age_days,
        row.n,
        entry.use,
        " ".join(text for text in (_why(entry, words), entry.held) if text),
        row.source.url or row.source.title,
        row.note,
        *(value for _, value in row.more),
    ]
