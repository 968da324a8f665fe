"""Loading the seed: every cell is checked, then all is written at once; loading it again changes nothing."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Table, bindparam, insert, select, text, update

from app.catalog import tables
from app.catalog.columns import KINDS
from app.catalog.columns.kinds import Column, DataKind, Row
from app.catalog.db import transaction, utc_now
from app.catalog.names import normalise_name
from app.catalog.problems import DataFault, SeedFault
from app.catalog.records import effective_date
from app.catalog.versions import bump, table_of
from app.resources import resource_path

MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_COUNTED = 10_000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}


class _Reader:
    """State of one reading: faults so far and the ids that may be referred to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.faults: list[DataFault] = []
        self.total = 0
        self.ids: dict[str, set[Any]] = {}
        """By kind; a file that is missing is not there, and what refers to it is not checked."""

    def is_known(self, kind: str, row_id: str) -> bool:
        """Whether a kind has a row, as far as its file was read."""
        return row_id in self.ids.get(kind, (row_id,))

    def fault(self, file: str, line: int, column: str, code: str, **params: Any) -> None:
        self.total += 1
        if self.total <= MAX_COUNTED:
            self.faults.append(DataFault(file, line, column, code, params))

    def read(self, kind: DataKind) -> list[Row]:
        """Rows of one file; faults are collected, and a row at fault is left out."""
        known = self.ids.setdefault(kind.name, set()) if (self.folder / kind.file).is_file() else set()
        lines_by_id: dict[str, int] = {}
        chosen: dict[tuple[str, str], int] = {}
        rows = []
        for line, cells in self._records(kind):
            # Even if its row is at fault: one bad card must not make a fault of every figure of that card.
            known.add(cells.get("id"))
            row = self._row(kind, line, cells)
            if row is None:
                continue
            if "candidates" in row:
                row["normalised"] = normalise_name(row["name"])
            row_id = row["id"] = natural_id(kind, row) if kind.key_fields else row["id"]
            earlier = lines_by_id.setdefault(row_id, line)
            if earlier != line:
                column = "name" if "candidates" in row else "" if kind.key_fields else "id"
                self.fault(kind.file, line, column, "duplicate", earlier=earlier)
                continue
            if "figure" in row and row.get("chosen"):
                other = chosen.setdefault((row["gpu_id"], row["figure"]), line)
                if other != line:
                    self.fault(kind.file, line, "chosen", "two_chosen", earlier=other)
            rows.append(row)
        return rows

    def _records(self, kind: DataKind) -> Iterator[tuple[int, dict[str, Any]]]:
        """Line and cells of each row; none of a file that cannot be read as a whole."""
        path = self.folder / kind.file
        if not path.is_file():
            if not kind.optional:
                self.fault(kind.file, 0, "", "file_missing")
        elif path.stat().st_size > MAX_FILE_BYTES:
            self.fault(kind.file, 0, "", "too_large", limit=MAX_FILE_BYTES)
        else:
            yield from self._json_lines(kind, path) if kind.json_lines else self._csv(kind, path)

    def _csv(self, kind: DataKind, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
        try:
            # newline="" keeps line breaks inside cells; utf-8-sig takes the mark that spreadsheets write.
            with path.open(encoding="utf-8-sig", newline="") as stream:
                reader = csv.reader(stream, strict=True)
                header = next(reader, None)
                if not header:
                    self.fault(kind.file, 1, "", "file_empty")
                    return
                if not self._header(kind, header):
                    return
                names = [kind.field_of(name) for name in header]
                start = reader.line_num + 1
                for cells in reader:
                    if len(cells) == len(names):
                        yield start, dict(zip(names, cells, strict=True))
                    elif cells:
                        self.fault(kind.file, start, "", "cells", found=len(cells), expected=len(names))
                    start = reader.line_num + 1
        except UnicodeDecodeError:
            self.fault(kind.file, _line_of_bad_bytes(path), "", "not_utf8")
        except csv.Error as error:
            self.fault(kind.file, reader.line_num, "", "csv", detail=str(error))

    def _header(self, kind: DataKind, header: list[str]) -> bool:
        good = True
        fields = [kind.field_of(name) for name in header]
        for index, name in enumerate(header):
            if fields[index] not in kind.in_file:
                known = ", ".join(kind.header_of(f) for f in kind.in_file)
                self.fault(kind.file, 1, name, "header_unknown", known=known)
                good = False
            elif fields[index] in fields[:index]:
                self.fault(kind.file, 1, name, "header_twice")
                good = False
        for name, column in kind.in_file.items():
            if column.required and name not in fields:
                self.fault(kind.file, 1, kind.header_of(name), "header_missing")
                good = False
        return good

    def _json_lines(self, kind: DataKind, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
        try:
            with path.open(encoding="utf-8-sig") as stream:
                for line, text in enumerate(stream, start=1):
                    if not text.strip():
                        continue
                    try:
                        value = json.loads(text, parse_constant=_refuse_constant)
                    except (ValueError, RecursionError) as error:
                        self.fault(kind.file, line, "", "json", detail=str(error)[:200])
                        continue
                    if not isinstance(value, dict):
                        self.fault(kind.file, line, "", "not_object")
                        continue
                    unknown = [k for k in value if kind.field_of(k) not in kind.in_file]
                    for name in unknown:
                        self.fault(
                            kind.file, line, name[:80], "header_unknown", known=", ".join(kind.in_file)
                        )
                    yield line, {kind.field_of(k): v for k, v in value.items() if k not in unknown}
        except UnicodeDecodeError:
            self.fault(kind.file, _line_of_bad_bytes(path), "", "not_utf8")

    def _row(self, kind: DataKind, line: int, cells: dict[str, Any]) -> Row | None:
        before = self.total
        row: Row = dict(kind.fixed)
        for name, column in kind.in_file.items():
            value = cells.get(name)
            if column.kind != "text" and isinstance(value, str):
                value = value.strip()
            complaint = None
            if value is not None and value != "":
                complaint = self._cell(column, value, row, name)
            else:
                row[name] = None if column.nullable else column.default
                if column.required:
                    complaint = "required", {}
            if complaint:
                self.fault(kind.file, line, column.file_header, complaint[0], **complaint[1])
        if self.total == before and kind.check:
            for name, code, params in kind.check(row):
                self.fault(kind.file, line, kind.header_of(name), code, **params)
        if self.total == before and "candidates" in row:
            self._candidates(kind, line, row)
        return row if self.total == before else None

    def _cell(self, column: Column, value: Any, row: Row, name: str) -> tuple[str, dict[str, Any]] | None:
        parsed, code = _PARSERS[column.kind](value)
        if code:
            return code, {"value": value if isinstance(value, (int, float)) else str(value)[:80]}
        row[name] = parsed
        broken = column.broken_rule(parsed)
        if broken:
            return _BROKEN[broken](column, parsed)
        if column.dated and not _is_date(parsed):
            return "not_a_date", {"value": parsed[:80]}
        if column.refers_to and not self.is_known(column.refers_to, parsed):
            return "unknown_reference", {"value": parsed[:80], "target": KINDS[column.refers_to].file}
        return None

    def _candidates(self, kind: DataKind, line: int, row: Row) -> None:
        target = kind.by_name["target_id"].refers_to
        for candidate in filter(None, row["candidates"].split("|")):
            if not self.is_known(target, candidate):
                params = {"value": candidate[:80], "target": KINDS[target].file}
                self.fault(kind.file, line, "candidates", "unknown_reference", **params)


def read_seed(folder: Path) -> dict[str, list[Row]]:
    """Read and check every file of a seed folder.

    Returns
    -------
    Rows ready to be written, by file name.

    Errors
    ------
    SeedFault with every fault found, up to 100, each by file, line and column.
    """
    reader = _Reader(folder)
    data = {kind.file: reader.read(kind) for kind in KINDS.values() if kind.file}
    if reader.total:
        raise SeedFault(reader.faults, reader.total)
    return data


def natural_id(kind: DataKind, row: Row) -> str:
    """First 16 hex digits of the SHA-256 of what makes a row the same row."""
    parts = [kind.row.__name__]
    for name in kind.key_fields:
        value = row[name]
        parts.append(json.dumps(value, ensure_ascii=False, sort_keys=True))
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]


Parsed = tuple[Any, str]
"""The value of a cell, and the code of what is wrong with it, if anything."""


def _text(value: Any) -> Parsed:
    if not isinstance(value, str):
        return None, "not_text"
    return (value.strip(), "") if not _CONTROL.search(value) else (None, "control_character")


def _object(value: Any) -> Parsed:
    return (value, "") if isinstance(value, dict) else (None, "not_object")


def _boolean(value: Any) -> Parsed:
    known = value if isinstance(value, bool) else _BOOLEANS.get(str(value).lower())
    if known is None or not isinstance(value, (bool, str)):
        return None, "not_a_boolean"
    return known, ""


def _number(value: Any) -> Parsed:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None, "not_a_number"
    # Underscores, full-width digits and words such as "nan" are numbers to Python, not to a reader.
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return None, "not_a_number"
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    return (number, "") if math.isfinite(number) else (None, "not_finite")


def _integer(value: Any) -> Parsed:
    number, code = _number(value)
    if code:
        return None, code
    whole = number == int(number) and abs(number) < 2**31
    return (int(number), "") if whole else (None, "not_an_integer")


_PARSERS: Mapping[str, Callable[[Any], Parsed]] = {
    "text": _text,
    "json": _object,
    "boolean": _boolean,
    "number": _number,
    "integer": _integer,
}
_BROKEN: Mapping[str, Callable[[Column, Any], tuple[str, dict[str, Any]]]] = {
    "choices": lambda c, v: ("not_allowed", {"value": v[:80], "allowed": ", ".join(filter(None, c.choices))}),
    "pattern": lambda c, v: ("pattern", {"value": v[:80], "pattern": c.pattern}),
    "low": lambda c, v: ("too_small", {"value": v, "low": c.low}),
    "high": lambda c, v: ("too_large_number", {"value": v, "high": c.high}),
}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def _is_date(text: str) -> bool:
    try:
        effective_date(text)
    except ValueError:
        return False
    return True


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not a number")


def _line_of_bad_bytes(path: Path) -> int:
    content = path.read_bytes()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        return content.count(b"\n", 0, error.start) + 1
    return 0


# Two starting servers must not seed a PostgreSQL database at the same moment; SQLite's write lock does it.
_SEED_LOCK = 42_073_002
_BATCH = 2_000


@dataclass(frozen=True, slots=True)
class SeedReport:
    """What a load did."""

    version: str
    digest: str
    inserted: int
    updated: int
    unchanged: int
    retired: int
    """Figures that an earlier seed had chosen and this one has replaced."""


def load_seed(engine: Engine, folder: Path | None = None) -> SeedReport:
    """Check every file of a seed folder, then write all of it or nothing.

    Parameters
    ----------
    engine: a database at the current revision.
    folder: the files; None for those that came with the installation.

    Errors
    ------
    SeedFault with file, line and column of each fault; DatabaseProblem when the database cannot be written.

    Notes
    -----
    A row is known by its id, for observations the digest of what makes them the same observation, so a second
    load finds every row and changes nothing. Rows that a newer seed no longer has stay: observations are only
    ever added. A figure of which the seed now chooses another value is kept as not chosen.
    """
    data = read_seed(folder if folder is not None else resource_path("seed_data"))
    by_table: dict[Table, list[Row]] = {}
    for kind in KINDS.values():
        if kind.stored and kind.file:
            by_table.setdefault(table_of(kind.row), []).extend(data[kind.file])
    inserted = updated = unchanged = 0
    with transaction(engine) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _SEED_LOCK})
        figures = by_table[table_of(tables.GpuFigureRow)]
        own = _own_figures(connection, {row["id"] for row in figures})
        for row in figures:
            # What the team has corrected stays corrected.
            if (row["gpu_id"], row["figure"]) in own:
                row["chosen"] = False
        for table, rows in by_table.items():
            new, changed, same = _write(connection, table, rows)
            inserted, updated, unchanged = inserted + new, updated + changed, unchanged + same
        retired = _retire(connection, figures)
        version = bump(connection)
        if inserted or updated or retired:
            connection.execute(
                insert(table_of(tables.ChangeLogRow)).values(
                    at=utc_now(),
                    who="seed",
                    table_name="",
                    row_id="",
                    action="load",
                    after={
                        "version": version.version,
                        "inserted": inserted,
                        "updated": updated,
                        "retired": retired,
                    },
                    why="",
                )
            )
    return SeedReport(version.version, version.digest, inserted, updated, unchanged, retired)


def _write(connection: Connection, table: Table, rows: list[Row]) -> tuple[int, int, int]:
    """Insert what is new, change what differs; numbers of both and of the rest."""
    if not rows:
        return 0, 0, 0
    names = [column.name for column in table.columns if column.name in rows[0]]
    stored = {
        known_id: tuple(values)
        for known_id, *values in connection.execute(select(table.c.id, *(table.c[n] for n in names)))
    }
    new = [row for row in rows if row["id"] not in stored]
    changed = [
        {f"new_{name}": row[name] for name in names}
        for row in rows
        if row["id"] in stored and stored[row["id"]] != tuple(row[name] for name in names)
    ]
    for batch in _batches(new):
        connection.execute(insert(table), batch)
    if changed:
        cells: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names if name != "id"}
        statement = update(table).where(table.c.id == bindparam("new_id")).values(cells)
        connection.execute(statement, changed)
    return len(new), len(changed), len(rows) - len(new) - len(changed)


def _own_figures(connection: Connection, seeded: Collection[str]) -> set[tuple[str, str]]:
    """Card and figure of which the team has chosen a value of its own, as the change log says.

    Parameters
    ----------
    seeded: ids of the figures of the seed. An export that was imported logs these as added too.
    """
    figure, log = table_of(tables.GpuFigureRow), table_of(tables.ChangeLogRow)
    added = select(log.c.row_id).where(log.c.table_name == figure.name, log.c.action == "insert")
    query = select(figure.c.id, figure.c.gpu_id, figure.c.figure).where(
        figure.c.chosen, figure.c.id.in_(added)
    )
    return {(r.gpu_id, r.figure) for r in connection.execute(query) if r.id not in seeded}


def _retire(connection: Connection, figures: list[Row]) -> int:
    """Unchoose stored values of figures for which the seed now chooses another."""
    table = table_of(tables.GpuFigureRow)
    chosen = {(row["gpu_id"], row["figure"]): row["id"] for row in figures if row["chosen"]}
    sources = {row["source_id"] for row in figures}
    stored = connection.execute(
        select(table.c.id, table.c.gpu_id, table.c.figure, table.c.source_id).where(table.c.chosen)
    )
    # A value from a source that the seed does not know is the team's own correction and stays.
    old = [
        {"old_id": row.id}
        for row in stored
        if row.source_id in sources and chosen.get((row.gpu_id, row.figure), row.id) != row.id
    ]
    if old:
        connection.execute(update(table).where(table.c.id == bindparam("old_id")).values(chosen=False), old)
    return len(old)


def _batches(rows: list[Row]) -> Iterable[list[Row]]:
    return (rows[at : at + _BATCH] for at in range(0, len(rows), _BATCH))
