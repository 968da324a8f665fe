"""Uploaded or pasted tables: read into items that a form carries, and quotes before they are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import Engine

from app.catalog import tables
from app.catalog.columns import KINDS
from app.catalog.db import reading
from app.catalog.imports import quotes as quote_rows
from app.catalog.imports.complete import Completer, Incomplete
from app.catalog.imports.deadline import Deadline
from app.catalog.imports.files import is_workbook, read_file, read_workbook_sheets
from app.catalog.imports.quotes import supplier_of_file
from app.catalog.imports.references import References
from app.catalog.imports.rows import (
    Faults,
    Record,
    RowReader,
    find_header,
    read_header,
    records_of_objects,
    records_of_table,
)
from app.catalog.imports.sheets import Objects, Sheet
from app.catalog.imports.values import CellFault, ImportRefused, RowFault, shown
from app.catalog.quotes import StoredQuote
from app.core.quotes import UNCLEAR, unit_words

MAX_LINES = 200
"""More quotes than people compare by hand are for the API."""
MAX_CELLS = 60
MAX_CELL = 2_000
SPARE_ROWS = 100
"""Titles, terms and totals that may stand around the rows of a form."""
MAX_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Item:
    """One row of a table: its line, and its cells under their headers as written."""

    line: int
    cells: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class QuoteLineRead:
    """One quote of an uploaded table: the cards it may mean, and itself when it can be read."""

    item: Item
    supplier: str
    text: str
    candidates: tuple[str, ...]
    """Ids of cards, the likeliest first."""
    gpu_id: str
    sure: bool
    """Whether the words name this card and no other."""
    per: str
    """card or server-8; empty where the words leave it open."""
    per_from_words: bool
    """Whether the item, not a unit, says so."""
    file: str
    quote: StoredQuote | None
    faults: tuple[RowFault, ...]


def read_items(kind: str, content: bytes, limit: int) -> list[Item]:
    """The rows of a file by the headers that mean something; what a title says of all rows is put in each.

    Errors
    ------
    ImportRefused when the file as a whole cannot be read.
    """
    deadline = Deadline(MAX_SECONDS)
    try:
        if kind == "quotes" and is_workbook(content):
            return _items_of_sheets(content, limit)
        found = read_file(content, None if is_workbook(content) else deadline, limit + SPARE_ROWS)
    except ImportRefused as refused:
        if refused.code != "too_many_rows":
            raise
        raise ImportRefused("too_many_rows", limit=limit) from refused
    if isinstance(found, Objects):
        return [
            Item(at + 1, {str(k)[:MAX_CELL]: _plain(v) for k, v in item.items()})
            for at, item in enumerate(found.items)
            if isinstance(item, Mapping)
        ]
    return _items_of_table(kind, found)


def _items_of_sheets(content: bytes, limit: int) -> list[Item]:
    """The rows of every sheet that is a table of quotes: one workbook may hold those of several suppliers.

    A sheet that names no supplier in it may be named after one.
    """
    sheets = read_workbook_sheets(content, Deadline(), limit + SPARE_ROWS)
    wanted = KINDS["quotes"]
    tables_of = [(name, sheet) for name, sheet in sheets if find_header(sheet.rows, wanted) is not None]
    items: list[Item] = []
    for name, sheet in tables_of or sheets[:1]:
        rows = _items_of_table("quotes", sheet)
        if len(tables_of) > 1:
            rows = [with_cell(row, "quotes", "supplier", supplier_of_file(name)) for row in rows]
        items.extend(rows)
    return items


def _items_of_table(kind: str, found: Sheet) -> list[Item]:
    wanted = KINDS[kind]
    header = find_header(found.rows, wanted)
    if header is None:
        known = [c.english for c in wanted.imported if c.asked] or [c.english for c in wanted.in_template]
        raise ImportRefused("no_header_row", known=known)
    if header.twice:
        raise ImportRefused("column_twice", value=", ".join(header.twice))
    records = records_of_table(header, found.lines, found.rows)
    if kind == "quotes":
        records = quote_rows.with_titles(records, found, header)
    return [
        # The header as written goes with its cell: it may state a scale, a currency or the tax basis.
        Item(r.line, {cell.text: _plain(value) for cell, value in r.cells.values() if value is not None})
        for r in records
    ]


def from_file(item: Item, name: str, *, alone: bool) -> Item:
    """A quote's item with the file that it came in, and the supplier that the file is named after.

    Of a single file the form says whose it is; a name of several files would be that of none.
    """
    item = with_cell(item, "quotes", "attachment_name", name)
    return item if alone else with_cell(item, "quotes", "supplier", supplier_of_file(name))


def carried(value: Any, limit: int) -> list[Item]:
    """Items that come back from a form as JSON.

    Errors
    ------
    ImportRefused for what no form of ours sent.
    """
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise ImportRefused("not_json")
    if len(value) > limit:
        raise ImportRefused("too_many_rows", limit=limit)
    found = []
    for at, item in enumerate(value):
        line, cells = item.get("line"), item.get("cells")
        if not isinstance(cells, Mapping) or len(cells) > MAX_CELLS:
            raise ImportRefused("not_json")
        kept = {str(k)[:MAX_CELL]: v[:MAX_CELL] if isinstance(v, str) else v for k, v in cells.items()}
        if not all(v is None or isinstance(v, str | int | float | bool) for v in kept.values()):
            raise ImportRefused("not_json")
        found.append(Item(line if type(line) is int else at + 1, kept))
    return found


def with_cell(item: Item, kind: str, field: str, value: str, *, replaces: bool = False) -> Item:
    """The item with a cell under a field: only where it has none, or in place of the one it has."""
    own = [
        header
        for header in item.cells
        if any(cell.column.name == field for cell in read_header([header], KINDS[kind]).cells)
    ]
    if not value or (own and not replaces and any(str(item.cells[h] or "").strip() for h in own)):
        return item
    cells = {header: cell for header, cell in item.cells.items() if header not in own}
    return Item(item.line, {**cells, field: value})


def read_quotes(engine: Engine, items: Sequence[Item], today: date) -> list[QuoteLineRead]:
    """Quotes of items, nothing stored: each with the cards its words may mean and what is at fault.

    Errors
    ------
    ImportRefused when there are more than people compare by hand.
    """
    if len(items) > MAX_LINES:
        raise ImportRefused("too_many_rows", limit=MAX_LINES)
    with reading(engine) as connection:
        references = References.read(connection)
    return [_read_quote(item, references, today) for item in items]


def _read_quote(item: Item, references: References, today: date) -> QuoteLineRead:
    kind = KINDS["quotes"]
    faults = Faults()
    records = records_of_objects(kind, [dict(item.cells)], faults, strict=False)
    record = Record(item.line, records[0].cells)
    supplier, text, file = (_cell(record, n) for n in ("supplier", "item_as_written", "attachment_name"))
    stated = _cell(record, "gpu_id")
    candidates, sure = _cards(stated or text, references)
    gpu_id = candidates[0] if candidates and (sure or len(candidates) == 1) else ""
    quote, from_words = None, False
    parsed = RowReader(kind, references, today, faults).read(record)
    if parsed is not None and gpu_id:
        parsed.values["gpu_id"] = gpu_id
        try:
            made = quote_rows.make(Completer(kind, references, "", "", today), parsed)
            quote = StoredQuote(**made[tables.QuoteRow][0])
            from_words = any(note.code == "quote_per_from_words" for note in parsed.notes)
        except Incomplete as fault:
            faults.add(record, fault.name, fault.code, **fault.params)
    if not gpu_id and text:
        faults.add(record, "item_as_written", "card_not_confirmed", value=text, candidates=candidates)
    per = quote.per if quote else ""
    if quote is None and not any(fault.field == "per" for fault in faults.kept):
        per = unit_words(text, _cell(record, "per"))
    return QuoteLineRead(
        item,
        supplier,
        text,
        tuple(candidates),
        gpu_id,
        sure,
        per if per != UNCLEAR else "",
        from_words,
        file,
        quote,
        tuple(faults.kept),
    )


def _cards(text: str, references: References) -> tuple[list[str], bool]:
    """Cards that a text may mean, and whether it is exactly the name of one."""
    try:
        return [quote_rows.named_exactly(text, references)], True
    except CellFault as fault:
        named = list(fault.params.get("candidates") or ())
    return (named, False) if named else (quote_rows.candidates(text, references), False)


def _cell(record: Record, name: str) -> str:
    found = record.cells.get(name)
    return shown(found[1]).strip()[:200] if found and found[1] is not None else ""


def _plain(value: Any) -> Any:
    """A cell as JSON carries it through a form; of a text, so much that one too long is still too long."""
    if isinstance(value, str):
        return value[: MAX_CELL + 1]
    if isinstance(value, int | float | bool) or value is None:
        return value
    if isinstance(value, datetime):
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, date) else str(value)[: MAX_CELL + 1]
