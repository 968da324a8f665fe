"""Suppliers' quotes: pasted or uploaded, the cards confirmed, side by side on one basis, kept with a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from app.catalog.snapshot import Snapshot
from app.core.faults import InputFault
from app.services.imports import (
    IMPORT_KINDS,
    Author,
    ImportOptions,
    ImportRefused,
    RowFault,
    fault_text,
    import_items,
    refusal_text,
    template,
)
from app.services.quotes import (
    ComparedQuotes,
    QuoteNotFound,
    compare_quotes,
    compare_stored,
    confirm_quote,
    in_market,
    withdraw_quote,
)
from app.services.uploads import (
    MAX_LINES,
    Item,
    QuoteLineRead,
    read_quotes,
    with_cell,
)
from app.texts.say import say_fault
from app.texts.words import PRICE_PER
from app.web.answer_tables import Words
from app.web.answers import ask, open_page, today
from app.web.form import read_form
from app.web.listing import address, card_names, day_of
from app.web.quote_tables import Group, headline, shown_group, warnings
from app.web.render import Page
from app.web.uploads import Upload, carry, in_thread, items_of, read_upload, writer_of

router = APIRouter()

PATH = "/quotes"
MAX_IDS = 60
FILLED = ("supplier", "quoted_on", "valid_until")
"""What the form says for the lines that leave it open."""
WORK_FIELDS = ("model", "task", "precision", "batch_size", "sequence_length")


@router.get(PATH)
def quotes(request: Request) -> Response:
    """The quotes that are kept, those of the address or all, side by side by card and condition."""
    page, snapshot, words = open_page(request)
    day = day_of(request)
    ids = [i for i in request.query_params.get("ids", "")[:2_000].split(",") if i][:MAX_IDS]
    state, query, workload = read_form([]), "", None
    if request.query_params.get("model"):
        asked = ask(request, [(k, v) for k, v in request.query_params.multi_items() if k in WORK_FIELDS])
        state, query = asked.state, asked.query
        workload = asked.body["workload"] if asked.answer else None
    fault = ""
    try:
        found = compare_quotes(request.app.state.engine, snapshot, day, ids, workload).groups
    except InputFault as refused:
        found, fault = (), say_fault(refused.errors[0], page.language)
    values = {k: request.query_params.get(k, "") for k in WORK_FIELDS if k in request.query_params}
    return page.render(
        "quotes.html",
        PATH,
        422 if fault or state.errors else 200,
        compared=_compared(found, snapshot, day, words),
        fault=fault,
        f=state,
        ids=",".join(ids),
        work=query,
        work_open=bool(values),
        model_names=[model.name or model.id for model in snapshot.models.values()],
        without_work=address(PATH, {"ids": ",".join(ids)}),
        all_url=PATH if ids else "",
        kept=True,
        as_of=day.isoformat(),
        print_date=today().isoformat(),
        typed={},
        refused="",
        said=request.query_params.get("said", "") if request.query_params.get("said") in SAID else "",
    )


SAID = ("kept", "confirmed", "withdrawn", "refused")


@dataclass(frozen=True, slots=True)
class Compared:
    """The groups as the page shows them, with the sentence above and the warnings below."""

    groups: list[Group]
    headline: str
    warnings: list[tuple[str, str, str]]


def _compared(compared: Sequence[ComparedQuotes], snapshot: Snapshot, day: date, words: Words) -> Compared:
    found = in_market(compared, snapshot, day)
    return Compared(
        [shown_group(group, words) for group in found], headline(found, words), warnings(found, words)
    )


@router.get("/quotes/template.csv")
def quote_template(request: Request) -> Response:
    """An empty table of quotes with its headers and one example row."""
    page, _snapshot, _words = open_page(request)
    return PlainTextResponse(
        "\ufeff" + template("quotes", page.language),
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": 'attachment; filename="quotes-template.csv"'},
    )


@router.post("/quotes/preview")
async def preview(request: Request) -> Response:
    """What a table says, which card each line means, and the comparison; nothing is stored."""
    upload = await read_upload(request)
    return await in_thread(_preview, request, upload)


@router.post("/quotes/keep")
async def keep(request: Request) -> Response:
    """Store the quotes whose cards were confirmed; all of them or none."""
    upload = await read_upload(request)
    return await in_thread(_keep, request, upload)


@router.post("/quotes/{quote_id}/{action}")
async def change(request: Request, quote_id: str, action: str) -> Response:
    """Confirm a doubtful quote, or withdraw one."""
    upload = await read_upload(request)
    return await in_thread(_change, request, upload, quote_id[:64], action)


def _items(upload: Upload, snapshot: Snapshot) -> list[Item]:
    """The lines that the form asks to compare, with the supplier and the cards that were typed in."""
    found = []
    carried = "items" in upload.taken
    for at, item in enumerate(items_of(upload, "quotes", MAX_LINES)):
        if carried and f"take-{at}" not in upload.taken:
            continue
        for name in FILLED:
            item = with_cell(item, "quotes", name, upload.text(name))
        typed = upload.text(f"card-{at}")
        if typed:
            try:
                typed = snapshot.resolve_gpu(typed)
            except InputFault:
                pass  # The reader of the line says what is wrong with the name.
            item = with_cell(item, "quotes", "gpu_id", typed, replaces=True)
        per = upload.text(f"per-{at}")
        if per in PRICE_PER:
            item = with_cell(item, "quotes", "per", per, replaces=True)
        found.append(item)
    return found


def _preview(request: Request, upload: Upload) -> Response:
    page, snapshot, words = open_page(request)
    try:
        lines = read_quotes(request.app.state.engine, _items(upload, snapshot), today())
    except ImportRefused as refused:
        return _refused(page, snapshot, words, upload, _refusal(refused, page.language))
    return _preview_page(page, snapshot, words, lines, upload)


def _preview_page(
    page: Page,
    snapshot: Snapshot,
    words: Words,
    lines: Sequence[QuoteLineRead],
    upload: Upload,
    problem: str = "",
    code: int = 200,
) -> Response:
    names = card_names(snapshot)
    found = compare_stored([line.quote for line in lines if line.quote], snapshot, today())
    return page.render(
        "quotes_preview.html",
        PATH,
        code,
        headers={"cache-control": "no-store"},
        lines=[_line(line, names, page) for line in lines],
        items=carry([line.item for line in lines]),
        names=names.values(),
        ready=bool(lines) and all(line.quote is not None for line in lines),
        problem=problem,
        why=upload.text("why"),
        kept=False,
        as_of=today().isoformat(),
        print_date=today().isoformat(),
        compared=_compared(found, snapshot, today(), words),
    )


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line of the table with the card that it may mean, in the reader's words."""

    read: QuoteLineRead
    card: str
    candidates: list[str]
    per_unclear: bool
    unnamed: bool
    faults: list[tuple[str, str]]


def _line(line: QuoteLineRead, names: Mapping[str, str], page: Page) -> ShownLine:
    return ShownLine(
        line,
        names.get(line.gpu_id, ""),
        [names.get(i, i) for i in line.candidates],
        any(fault.field == "per" for fault in line.faults),
        any(fault.code == "card_not_confirmed" for fault in line.faults),
        [_fault(fault, line, page) for fault in line.faults if fault.code != "card_not_confirmed"],
    )


def _fault(fault: RowFault, line: QuoteLineRead, page: Page) -> tuple[str, str]:
    """The column at fault in the reader's language, and what is wrong with it."""
    column = fault.column
    if column == fault.field:
        known = IMPORT_KINDS["quotes"].by_name.get(column)
        column = (known.header(page.language) if known else column).replace("_", " ")
    if fault.field == "supplier" and fault.code == "required":
        if not line.file:
            return column, page._("The table names no supplier: write it in the field below.")
        said = page._("%(file)s names no supplier: write it in the field below.") % {"file": line.file}
        return column, said
    return column, fault_text(fault, page.language)


def _refusal(refused: ImportRefused, language: str) -> str:
    """Why a table cannot be read, the file named."""
    text, file = refusal_text(refused, language), refused.params.get("file", "")
    return f"{file}: {text}" if file else text


def _refused(page: Page, snapshot: Snapshot, words: Words, upload: Upload, text: str) -> Response:
    """The page of the quotes again, with what was typed and why it could not be read."""
    return page.render(
        "quotes.html",
        PATH,
        422,
        compared=_compared([], snapshot, today(), words),
        fault="",
        f=read_form([]),
        ids="",
        work="",
        work_open=False,
        model_names=[],
        without_work=PATH,
        all_url=PATH,
        kept=True,
        as_of=today().isoformat(),
        print_date=today().isoformat(),
        typed={name: upload.fields.get(name, "")[:60_000] for name in ("table", *FILLED)},
        refused=text,
        said="",
    )


def _keep(request: Request, upload: Upload) -> Response:
    page, snapshot, words = open_page(request)
    engine = request.app.state.engine
    try:
        lines = read_quotes(engine, _items(upload, snapshot), today())
    except ImportRefused as refused:
        return _refused(page, snapshot, words, upload, _refusal(refused, page.language))
    author = writer_of(request, upload)
    if author is None:
        problem = page._("This key is not known, or it may not write. Nothing was stored.")
        return _preview_page(page, snapshot, words, lines, upload, problem, 403)
    if not lines or any(line.quote is None for line in lines):
        problem = page._("Not every line can be read. Nothing was stored.")
        return _preview_page(page, snapshot, words, lines, upload, problem, 422)
    items = [_confirmed(line) for line in lines]
    report = import_items(engine, "quotes", items, author, ImportOptions(today()))
    if not report.ok:
        problem = " ".join(fault_text(fault, page.language) for fault in report.faults[:5])
        return _preview_page(page, snapshot, words, lines, upload, problem, 422)
    return RedirectResponse(address(PATH, {"ids": ",".join(report.ids), "said": "kept"}), 303)


def _confirmed(line: QuoteLineRead) -> dict[str, object]:
    """The cells of a line with the card and the unit that stood before the reader's eyes."""
    item = with_cell(line.item, "quotes", "gpu_id", line.gpu_id, replaces=True)
    return dict(with_cell(item, "quotes", "per", line.per, replaces=True).cells)


def _change(request: Request, upload: Upload, quote_id: str, action: str) -> Response:
    page, _snapshot, _words = open_page(request)
    actions = {"confirm": (confirm_quote, "confirmed"), "withdraw": (withdraw_quote, "withdrawn")}
    if action not in actions:
        raise HTTPException(404, page._("There is no such page."))
    ids = upload.text("ids")
    author: Author | None = writer_of(request, upload)
    if author is None:
        return RedirectResponse(address(PATH, {"ids": ids, "said": "refused"}), 303)
    change_quote, said = actions[action]
    try:
        change_quote(request.app.state.engine, quote_id, author)
    except QuoteNotFound:
        raise HTTPException(404, page._("There is no such quote.")) from None
    return RedirectResponse(address(PATH, {"ids": ids, "said": said}), 303)
