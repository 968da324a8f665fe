"""Prices by file: a dry run first, reported row by row, then all of it stored or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from sqlalchemy import Engine

from app.services.imports import (
    Author,
    ImportOptions,
    ImportRefused,
    ImportReport,
    fault_text,
    import_items,
    refusal_text,
    template,
)
from app.services.uploads import Item, with_cell
from app.texts.marking import N_
from app.web.answers import open_page, today
from app.web.render import Page
from app.web.uploads import Upload, carry, in_thread, items_of, read_upload, writer_of

router = APIRouter()

MAX_ROWS = 2_000
"""What a form carries; longer tables are for the command line and the API."""
SHOWN_ROWS = 300
CURRENCIES = ("CNY", "USD", "HKD", "TWD", "EUR")
KEPT_FIELDS = ("source", "source_url", "currency", "confirm", "why")
DRY_RUN = Author("dry run")
STATUS = {
    "new": N_("added"),
    "changed": N_("changes a known row"),
    "same": N_("there already"),
    "fault": N_("at fault"),
    "ok": N_("readable"),
}


@router.get("/prices/template.csv")
def price_template(request: Request) -> Response:
    """An empty table of prices with its headers and one example row."""
    page, _snapshot, _words = open_page(request)
    return PlainTextResponse(
        "\ufeff" + template("prices", page.language),
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": 'attachment; filename="prices-template.csv"'},
    )


@router.get("/prices/import")
def import_form() -> Response:
    """Where the form is: the address of a dry run that somebody opened again."""
    return RedirectResponse("/prices#import", 303)


@router.post("/prices/import")
async def check_prices(request: Request) -> Response:
    """What the table would do; nothing is stored."""
    upload = await read_upload(request)
    return await in_thread(_answer, request, upload, False)


@router.post("/prices/import/keep")
async def keep_prices(request: Request) -> Response:
    """Store the table that was checked."""
    upload = await read_upload(request)
    return await in_thread(_answer, request, upload, True)


def _answer(request: Request, upload: Upload, store: bool) -> Response:
    page, _snapshot, _words = open_page(request)
    engine = request.app.state.engine
    try:
        items = items_of(upload, "prices", MAX_ROWS)
    except ImportRefused as refused:
        return _page(page, upload, [], None, refusal_text(refused, page.language), 422)
    author = writer_of(request, upload) if store else DRY_RUN
    problem = ""
    if author is None:
        problem = page._("This key is not known, or it may not write. Nothing was stored.")
    options = ImportOptions(
        today(),
        dry_run=author is None or not store,
        confirm=upload.text("confirm") == "1",
        source=upload.text("source"),
        source_url=upload.text("source_url"),
    )
    items, report = _import(engine, items, author or DRY_RUN, options, upload.text("currency"))
    return _page(page, upload, items, report, problem, 403 if problem else 200 if report.ok else 422)


def _import(
    engine: Engine, items: list[Item], author: Author, options: ImportOptions, currency: str
) -> tuple[list[Item], ImportReport]:
    """The report, rows that name no currency read in the one of the form; a stated one is never overruled."""
    report = import_items(engine, "prices", [dict(i.cells) for i in items], author, options)
    bare = {fault.line for fault in report.faults if fault.code == "currency_missing"}
    if not bare or currency not in CURRENCIES:
        return items, report
    filled = [with_cell(i, "prices", "currency", currency) if at in bare else i for at, i in enumerate(items)]
    return filled, import_items(engine, "prices", [dict(i.cells) for i in filled], author, options)


def _page(
    page: Page, upload: Upload, items: list[Item], report: ImportReport | None, problem: str, code: int
) -> Response:
    return page.render(
        "prices_import.html",
        "/prices",
        code,
        headers={"cache-control": "no-store"},
        report=report,
        rows=_rows(report, items, page.language) if report else [],
        count=len(items),
        shown=SHOWN_ROWS,
        items=carry(items),
        problem=problem,
        status=STATUS,
        asked={name: upload.text(name) for name in KEPT_FIELDS},
        confirmable=report is not None and any(fault.confirmable for fault in report.faults),
    )


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row of the table with what became of it, and the texts of its faults."""

    line: int
    status: str
    text: str
    faults: list[ShownFault]


@dataclass(frozen=True, slots=True)
class ShownFault:
    """A cell at fault."""

    column: str
    value: str
    text: str


def _rows(report: ImportReport, items: Sequence[Item], language: str) -> list[ShownRow]:
    """Rows as the report has them, those at fault first."""
    faults: dict[int, list[ShownFault]] = {}
    for fault in report.faults:
        said = ShownFault(fault.column, fault.value, fault_text(fault, language))
        faults.setdefault(fault.line, []).append(said)
    rows = [
        ShownRow(
            items[row.line].line,
            row.status,
            " · ".join(str(v) for v in items[row.line].cells.values() if v not in (None, "")),
            faults.get(row.line, []),
        )
        for row in report.rows
        if 0 <= row.line < len(items)
    ]
    rows.sort(key=lambda row: (row.status != "fault", row.line))
    return rows[:SHOWN_ROWS]
