"""Importing tables into the catalogue: read, checked row by row, then all of it stored or nothing."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import Connection, Engine, select

from app.catalog import tables
from app.catalog.changes import Author, Change, Row, lock, plan, write
from app.catalog.columns import IMPORT_KINDS
from app.catalog.columns.kinds import DataKind
from app.catalog.db import reading, transaction
from app.catalog.imports import quotes as quote_rows
from app.catalog.imports.complete import Completer, Incomplete, Rows, register
from app.catalog.imports.deadline import Deadline
from app.catalog.imports.doubts import Doubt, doubts_of
from app.catalog.imports.files import read_file
from app.catalog.imports.references import References
from app.catalog.imports.rows import (
    Faults,
    Header,
    Parsed,
    Record,
    RowReader,
    find_header,
    records_of_objects,
    records_of_table,
)
from app.catalog.imports.sheets import Objects, Sheet
from app.catalog.imports.values import ImportRefused, RowFault, guard
from app.catalog.records import CONFIRMED
from app.catalog.versions import latest, table_of
from app.core.estimates import Message

register("quotes", quote_rows.make)


@dataclass(frozen=True, slots=True)
class RowResult:
    """What became of one row: new, changed, same, fault (without an id), or ok beside others at fault."""

    line: int
    status: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import found and did."""

    kind: str
    rows: tuple[RowResult, ...]
    faults: tuple[RowFault, ...]
    fault_count: int
    confirmed: tuple[RowFault, ...]
    """What was far from the known and was accepted because it was confirmed."""
    mapping: Mapping[str, str]
    """Header as written -> field."""
    ignored: tuple[str, ...]
    inserted: int
    """Rows of the file that are new; sources and the like that come with them are not counted."""
    updated: int
    unchanged: int
    dry_run: bool
    stored: bool
    version: str
    notes: tuple[tuple[int, Message], ...] = ()
    """What was taken for granted, by line."""
    measured: tuple[tuple[int, Row], ...] = ()
    """Measurements as they are stored, by line."""

    @property
    def ok(self) -> bool:
        """Whether nothing is at fault."""
        return self.fault_count == 0

    @property
    def rows_at_fault(self) -> int:
        """Rows with a fault, of which each may have several; of very many faults at least those kept."""
        return len({fault.line for fault in self.faults})

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the rows, in their order."""
        return tuple(row.id for row in self.rows if row.id)


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How an import is to be carried out."""

    today: date
    dry_run: bool = False
    confirm: bool = False
    """Accept every row that is far from the known."""
    hold: bool = False
    """Keep such rows, held back from use, in place of refusing the whole: for what nobody stands by."""
    source: str = ""
    """Source of the rows that state none: id or title."""
    source_url: str = ""
    defaults: Mapping[str, Any] | None = None
    """Values of fields that a row does not state."""


def import_file(
    engine: Engine, kind: str, content: bytes, author: Author, options: ImportOptions
) -> ImportReport:
    """Import a CSV, XLSX or JSON file.

    Parameters
    ----------
    kind: one of IMPORT_KINDS.
    content: the file.

    Errors
    ------
    ImportRefused when the file as a whole cannot be read; DatabaseProblem when the database cannot.
    Faults of rows are in the report; then nothing was stored.
    """
    wanted = _kind(kind)
    deadline = Deadline()
    found = read_file(content, deadline)
    if isinstance(found, Objects):
        return _import(engine, wanted, found.items, None, author, options, deadline, strict=False)
    header = find_header(found.rows, wanted)
    if header is None:
        known = [c.english for c in wanted.imported if c.asked] or [c.english for c in wanted.in_template]
        raise ImportRefused("no_header_row", known=known)
    if header.twice:
        raise ImportRefused("column_twice", value=", ".join(header.twice))
    return _import(engine, wanted, found, header, author, options, deadline, strict=False)


def import_items(
    engine: Engine, kind: str, items: Sequence[Any], author: Author, options: ImportOptions
) -> ImportReport:
    """Import JSON objects; an unknown key is a fault. `line` of a fault is the index of the item."""
    return _import(engine, _kind(kind), items, None, author, options, Deadline(), strict=True)


def template(kind: str, language: str = "en") -> str:
    """An empty CSV table of a kind with its headers and one example row; zh for Chinese headers."""
    columns = _kind(kind).in_template
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([c.header(language) for c in columns])
    writer.writerow([guard(c.example) for c in columns])
    return stream.getvalue()


def _kind(name: str) -> DataKind:
    if name not in IMPORT_KINDS:
        raise ImportRefused("unknown_kind", value=name[:80], known=list(IMPORT_KINDS))
    return IMPORT_KINDS[name]


def _import(
    engine: Engine,
    kind: DataKind,
    content: Sheet | Sequence[Any],
    header: Header | None,
    author: Author,
    options: ImportOptions,
    deadline: Deadline,
    *,
    strict: bool,
) -> ImportReport:
    faults = Faults()
    with reading(engine) as connection:
        references = References.read(connection)
        records = _records(kind, content, header, faults, strict=strict)
        if kind.name == "quotes" and header is not None and isinstance(content, Sheet):
            records = quote_rows.with_titles(records, content, header)
        made = _rows(kind, references, records, faults, options, deadline)
        confirmed = _doubt(connection, kind, made, faults, options)
        every = _gather(connection, kind, references, made)
        changes = [] if faults.total else plan(connection, every)[0]
        known = latest(connection)
    stored = bool(changes) and not options.dry_run
    version = _stored(engine, every, author) if stored else known.version if known else ""
    results = _results(kind, records, made, faults, changes)
    count = Counter(row.status for row in results)
    mapping = {c.text: c.column.name for c in header.cells} if header else {}
    return ImportReport(
        kind.name,
        results,
        tuple(sorted(faults.kept, key=lambda f: f.line)),
        faults.total,
        tuple(confirmed),
        mapping,
        header.ignored if header else (),
        count["new"],
        count["changed"],
        count["same"],
        options.dry_run,
        stored,
        version,
        tuple((parsed.line, note) for parsed, _ in made for note in parsed.notes),
        tuple((parsed.line, row) for parsed, rows in made for row in rows.get(tables.BenchmarkRow, ())),
    )


def _stored(engine: Engine, rows: Mapping[type[Any], Sequence[Row]], author: Author) -> str:
    """The version of the data after all rows have been written."""
    with transaction(engine) as connection:
        lock(connection)
        return write(connection, rows, author).version


def _records(
    kind: DataKind, content: Sheet | Sequence[Any], header: Header | None, faults: Faults, *, strict: bool
) -> list[Record]:
    if isinstance(content, Sheet):
        if header is None:
            raise ImportRefused("no_header_row", known=[])
        return records_of_table(header, content.lines, content.rows)
    return records_of_objects(kind, content, faults, strict=strict)


def _rows(
    kind: DataKind,
    references: References,
    records: Sequence[Record],
    faults: Faults,
    options: ImportOptions,
    deadline: Deadline,
) -> list[tuple[Parsed, Rows]]:
    reader = RowReader(kind, references, options.today, faults)
    completer = Completer(kind, references, options.source, options.source_url, options.today)
    main = kind.row
    made: list[tuple[Parsed, Rows]] = []
    lines: dict[str, int] = {}
    for number, record in enumerate(records):
        if number % 100 == 0:
            deadline.check()
        parsed = reader.read(record)
        if parsed is None:
            continue
        parsed.values = {**(options.defaults or {}), **parsed.values}
        try:
            rows = completer.rows(parsed)
        except Incomplete as fault:
            faults.add(record, fault.name, fault.code, **fault.params)
            continue
        row_id = rows[main][0]["id"]
        if row_id in lines:
            faults.add(record, "", "duplicate_row", earlier=lines[row_id])
            continue
        lines[row_id] = record.line
        made.append((parsed, rows))
    return made


def _doubt(
    connection: Connection,
    kind: DataKind,
    made: Sequence[tuple[Parsed, Rows]],
    faults: Faults,
    options: ImportOptions,
) -> list[RowFault]:
    """Faults for rows far from the known; those confirmed are marked so, and returned."""
    rows = [rows for _, rows in made]
    if kind.name == "quotes":
        # A quote is kept whatever it says, for it was made; a doubtful one only drives no choice.
        found = quote_rows.doubts_of(connection, [r[tables.QuoteRow][0] for r in rows], options.today)
        return _hold_quotes(made, found, options)
    accepted = Faults()
    for at, doubt in doubts_of(connection, kind.name, rows).items():
        parsed, row = made[at]
        if options.confirm or parsed.confirmed:
            accepted.add(parsed.record, doubt.field, doubt.code, confirmable=True, **doubt.params)
            if kind.name == "prices":
                row[tables.PriceRow][0]["quality"] = CONFIRMED
        elif options.hold and kind.name in ("prices", "rentals"):
            row[kind.row][0]["held"] = doubt.code
        elif options.hold and kind.name == "benchmarks":
            row[tables.BenchmarkRow][0]["flag"] = doubt.code
        else:
            faults.add(parsed.record, doubt.field, doubt.code, confirmable=True, **doubt.params)
    return accepted.kept


def _hold_quotes(
    made: Sequence[tuple[Parsed, Rows]], found: Mapping[int, Doubt], options: ImportOptions
) -> list[RowFault]:
    accepted = Faults()
    for at, doubt in found.items():
        parsed, rows = made[at]
        if options.confirm or parsed.confirmed:
            accepted.add(parsed.record, doubt.field, doubt.code, confirmable=True, **doubt.params)
        else:
            rows[tables.QuoteRow][0]["held"] = doubt.code
    return accepted.kept


def _gather(
    connection: Connection, kind: DataKind, references: References, made: Sequence[tuple[Parsed, Rows]]
) -> dict[type[Any], list[Row]]:
    """Rows of the whole import by table, parents and what they replace included."""
    every: dict[type[Any], list[Row]] = {}
    for _, rows in made:
        for row_class, items in rows.items():
            every.setdefault(row_class, []).extend(items)
    used = {row.get("source_id") for items in every.values() for row in items}
    new = [row for row in references.new_sources.values() if row["id"] in used]
    if new:
        every[tables.SourceRow] = new
    if tables.GpuFigureRow in every:
        every[tables.GpuFigureRow].extend(_retired(connection, every[tables.GpuFigureRow]))
    if kind.name == "prices":
        _keep_quality(connection, every.get(tables.PriceRow, []))
    return every


def _retired(connection: Connection, figures: Sequence[Row]) -> list[Row]:
    """Stored values of which another is chosen now: kept, not chosen."""
    table = table_of(tables.GpuFigureRow)
    chosen = {(f["gpu_id"], f["figure"]): f["id"] for f in figures if f.get("chosen", True)}
    cards = sorted({gpu_id for gpu_id, _ in chosen})
    stored: list[Any] = []
    for at in range(0, len(cards), 500):
        query = select(table).where(table.c.chosen, table.c.gpu_id.in_(cards[at : at + 500]))
        stored.extend(connection.execute(query))
    return [{"id": r.id, "chosen": False} for r in stored if chosen.get((r.gpu_id, r.figure), r.id) != r.id]


def _keep_quality(connection: Connection, rows: Sequence[Row]) -> None:
    """A stored price that was confirmed stays so when its file, which does not say it, is read again."""
    table = table_of(tables.PriceRow)
    query = select(table.c.id).where(table.c.quality == CONFIRMED)
    confirmed = set(connection.execute(query).scalars())
    for row in rows:
        if row["id"] in confirmed:
            row["quality"] = CONFIRMED


def _results(
    kind: DataKind,
    records: Sequence[Record],
    made: Sequence[tuple[Parsed, Rows]],
    faults: Faults,
    changes: Sequence[Change],
) -> tuple[RowResult, ...]:
    status = {(c.table.name, c.row_id): "new" if c.before is None else "changed" for c in changes}
    bad = {fault.line for fault in faults.kept}
    main = table_of(kind.row).name
    by_line = {parsed.line: rows for parsed, rows in made}
    found = []
    for record in records:
        rows = by_line.get(record.line)
        if rows is None or record.line in bad:
            found.append(RowResult(record.line, "fault"))
            continue
        row_id = rows[kind.row][0]["id"]
        if faults.total:
            # Nothing was compared: what a row would do is known when all of them can be read.
            found.append(RowResult(record.line, "ok", row_id))
            continue
        said = status.get((main, row_id), "same")
        if said == "same" and not _written(rows).isdisjoint(status):
            said = "changed"
        found.append(RowResult(record.line, said, row_id))
    return tuple(found)


def _written(rows: Rows) -> set[tuple[str, str]]:
    """Table and id of everything that one row of a file becomes."""
    return {(table_of(row_class).name, row["id"]) for row_class, items in rows.items() for row in items}
