"""The whole catalogue out and in again, as CSV files or one SQLite file, the same version at the end."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Connection, Engine, Float, Integer, Table, insert, select
from sqlmodel import SQLModel

from app.catalog.backup import check_copy
from app.catalog.changes import Author, Row, plan, write
from app.catalog.columns import CATALOG_ROWS
from app.catalog.db import create_engine_from_url, reading, transaction, upgrade
from app.catalog.imports.sheets import MAX_BYTES, MAX_CELL
from app.catalog.imports.values import ImportRefused, RowFault, guard, shown, unguard
from app.catalog.versions import bump, compute, latest, table_of

FORMATS = ("csv", "sqlite")
MAX_FILE_BYTES = 50 * MAX_BYTES
MAX_RATIO = 200
_SQLITE = b"SQLite format 3\x00"
_TEXTS: Mapping[str, bool] = {"true": True, "false": False}
_KEPT_FAULTS = 100


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written."""

    path: Path
    version: str
    rows: int


@dataclass(frozen=True, slots=True)
class CatalogReport:
    """What the import of a whole catalogue did."""

    inserted: int
    updated: int
    unchanged: int
    version: str
    stored: bool
    faults: tuple[tuple[str, RowFault], ...] = ()
    """File and fault; then nothing was stored."""


def export_catalog(engine: Engine, target: Path, kind: str = "csv") -> Exported:
    """Write every catalogue table.

    Parameters
    ----------
    target: with csv a folder, or an archive where the name ends in .zip; with sqlite a file. It appears whole
        or not at all; what stood there is replaced, a folder only if it is empty or an earlier export.
    kind: csv or sqlite.

    Errors
    ------
    ImportRefused: export_target when the folder holds other things. DatabaseProblem when the database cannot
    be read.

    Notes
    -----
    Keys, comparisons and the change log are not in it. Text that a spreadsheet would take for a formula gets
    an apostrophe in front, which importing takes away again.
    """
    if kind == "sqlite":
        return _export_sqlite(engine, target)
    with reading(engine) as connection:
        files = {f"{table_of(c).name}.csv": _csv(connection, table_of(c)) for c in CATALOG_ROWS}
        version = compute(connection)
    if target.suffix == ".zip":
        with _replacing(target) as partial, zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in files.items():
                # A fixed moment: the same catalogue gives the same bytes.
                entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, text)
        return Exported(target, version.version, version.rows)
    _write_folder(target, files)
    return Exported(target, version.version, version.rows)


def import_catalog(engine: Engine, source: Path, author: Author, *, dry_run: bool = False) -> CatalogReport:
    """Bring a whole exported catalogue in, all of it or nothing.

    Parameters
    ----------
    source: a folder or .zip of CSV files, or a SQLite file, as `export_catalog` writes them.

    Errors
    ------
    ImportRefused when it is none of these, or would unpack to too much; DatabaseProblem when the database
    cannot be written.
    """
    rows: dict[type[SQLModel], list[Row]] = {}
    faults: list[tuple[str, RowFault]] = []
    if _is_sqlite(source):
        rows = _read_sqlite(source)
    else:
        files = _read_files(source)
        for row_class in CATALOG_ROWS:
            table = table_of(row_class)
            text = files.get(f"{table.name}.csv")
            if text is not None:
                rows[row_class] = _parse(table, text, faults)
    if not rows:
        raise ImportRefused("no_catalog", value=source.name)
    with reading(engine) as connection:
        faults += _dangling(connection, rows)
        changes, same = plan(connection, rows, keep=frozenset())
        known = latest(connection)
    version = known.version if known else ""
    if faults or dry_run or (not changes and version):
        new = sum(c.before is None for c in changes)
        kept = tuple(faults[:_KEPT_FAULTS])
        return CatalogReport(new, len(changes) - new, same, version, False, kept)
    with transaction(engine) as connection:
        done = write(connection, rows, author, keep=frozenset())
    return CatalogReport(done.inserted, done.updated, done.unchanged, done.version, True)


def _csv(connection: Connection, table: Table) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([column.name for column in table.columns])
    for row in connection.execute(select(table).order_by(table.c.id)):
        writer.writerow([_cell(column, value) for column, value in zip(table.columns, row, strict=True)])
    return stream.getvalue()


def _cell(column: Column[Any], value: Any) -> str:
    if value is None:
        return ""
    if isinstance(column.type, JSON):
        return guard(json.dumps(value, ensure_ascii=False, sort_keys=True))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    return guard(str(value))


def _parse(table: Table, text: str, faults: list[tuple[str, RowFault]]) -> list[Row]:
    name = f"{table.name}.csv"
    previous = csv.field_size_limit(MAX_CELL)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = next(reader, [])
        wanted = {column.name: column for column in table.columns}
        missing = [c.name for c in table.columns if c.name not in header and not _optional(c)]
        if missing or set(header) - wanted.keys() or len(set(header)) != len(header):
            said = ", ".join(missing or sorted(set(header) - wanted.keys()) or header)
            faults.append((name, RowFault(1, "", "", said[:80], "columns_differ", {"value": said[:200]})))
            return []
        rows = []
        line = reader.line_num + 1
        for cells in reader:
            if len(cells) == len(header):
                row = _typed(wanted, header, cells, name, line, faults)
                rows.append(row)
            elif cells:
                faults.append((name, RowFault(line, "", "", "", "cells", {"found": len(cells)})))
            line = reader.line_num + 1
        return rows
    except csv.Error as error:
        raise ImportRefused("bad_csv", line=0) from error
    finally:
        csv.field_size_limit(previous)


def _optional(column: Column[Any]) -> bool:
    """Whether an export of an earlier version may lack the column."""
    return bool(column.nullable) or column.server_default is not None


def _typed(
    columns: Mapping[str, Column[Any]],
    header: list[str],
    cells: list[str],
    file: str,
    line: int,
    faults: list[tuple[str, RowFault]],
) -> Row:
    row: Row = {}
    for name, cell in zip(header, cells, strict=True):
        column = columns[name]
        try:
            row[name] = _value(column, cell)
        except (ValueError, RecursionError):
            code = "not_a_boolean" if isinstance(column.type, Boolean) else "not_valid"
            faults.append((file, RowFault(line, name, name, shown(cell), code)))
    return row


def _value(column: Column[Any], cell: str) -> Any:
    if cell == "" and column.nullable:
        return None
    kind = column.type
    if isinstance(kind, JSON):
        return json.loads(unguard(cell))
    if isinstance(kind, Boolean):
        return _TEXTS[cell] if cell in _TEXTS else _refuse(cell)
    if isinstance(kind, Float):
        number = float(cell)
        return number if number == number and abs(number) != float("inf") else _refuse(cell)
    if isinstance(kind, Integer):
        return int(cell)
    return unguard(cell)


def _refuse(cell: str) -> Any:
    raise ValueError(cell)


def _dangling(connection: Connection, rows: Mapping[type[SQLModel], list[Row]]) -> list[tuple[str, RowFault]]:
    """Rows that point at a source or card that neither they nor the database bring."""
    found: list[tuple[str, RowFault]] = []
    ids: dict[str, set[str]] = {}
    for row_class in CATALOG_ROWS:
        table = table_of(row_class)
        ids[table.name] = set(connection.execute(select(table.c.id)).scalars())
        ids[table.name] |= {row.get("id", "") for row in rows.get(row_class, ())}
    for row_class, items in rows.items():
        for column in table_of(row_class).columns:
            for key in column.foreign_keys:
                parents = ids[key.column.table.name]
                for line, row in enumerate(items, start=2):
                    value = row.get(column.name)
                    if value and value not in parents:
                        fault = RowFault(line, column.name, column.name, shown(value), "unknown_reference")
                        found.append((f"{table_of(row_class).name}.csv", fault))
    return found


def _read_files(source: Path) -> dict[str, str]:
    if source.is_dir():
        paths = sorted(source.glob("*.csv"))
        if sum(path.stat().st_size for path in paths) > MAX_FILE_BYTES:
            raise ImportRefused("file_too_large", limit=MAX_FILE_BYTES)
        return {path.name: _decoded(path.read_bytes()) for path in paths}
    try:
        with zipfile.ZipFile(source) as archive:
            parts = [p for p in archive.infolist() if p.filename.endswith(".csv")]
            unpacked = sum(p.file_size for p in parts)
            packed = max(1, source.stat().st_size)
            if unpacked > MAX_FILE_BYTES or unpacked > MAX_RATIO * packed:
                raise ImportRefused("zip_bomb")
            return {Path(p.filename).name: _decoded(archive.read(p)) for p in parts}
    except (zipfile.BadZipFile, OSError) as error:
        raise ImportRefused("no_catalog", value=source.name) from error


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ImportRefused("not_text") from error


def _is_sqlite(source: Path) -> bool:
    if not source.is_file():
        return False
    with source.open("rb") as stream:
        return stream.read(len(_SQLITE)) == _SQLITE


def _read_sqlite(source: Path) -> dict[type[SQLModel], list[Row]]:
    check_copy(source)
    found: dict[type[SQLModel], list[Row]] = {}
    with closing(sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        names = {r[0] for r in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        connection.row_factory = sqlite3.Row
        for row_class in CATALOG_ROWS:
            table = table_of(row_class)
            if table.name in names:
                rows = connection.execute(f'SELECT * FROM "{table.name}" ORDER BY id')
                found[row_class] = [_from_sqlite(table, dict(row)) for row in rows]
    return found


def _from_sqlite(table: Table, row: Row) -> Row:
    known: Row = {}
    for column in table.columns:
        if column.name not in row:
            continue
        value = row[column.name]
        if isinstance(column.type, JSON) and isinstance(value, str):
            value = json.loads(value)
        elif isinstance(column.type, Boolean):
            value = bool(value)
        known[column.name] = value
    return known


def _export_sqlite(engine: Engine, target: Path) -> Exported:
    with _replacing(target) as partial:
        copy = create_engine_from_url(f"sqlite:///{partial}")
        try:
            upgrade(copy)
            with reading(engine) as connection, transaction(copy) as into:
                for row_class in CATALOG_ROWS:
                    table = table_of(row_class)
                    rows = [dict(r._mapping) for r in connection.execute(select(table))]
                    for at in range(0, len(rows), 500):
                        into.execute(insert(table), rows[at : at + 500])
                version = bump(into)
            # One file alone: what is still in the log goes into it.
            with copy.connect() as open_copy:
                open_copy.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            copy.dispose()
        with closing(sqlite3.connect(partial)) as plain:
            plain.execute("PRAGMA journal_mode=DELETE")
        check_copy(partial)
    return Exported(target, version.version, version.rows)


def _write_folder(target: Path, files: Mapping[str, str]) -> None:
    if target.exists():
        names = {path.name for path in target.iterdir()} if target.is_dir() else {""}
        if names - files.keys():
            raise ImportRefused("export_target", value=target.name)
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent or Path(".")))
    try:
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8", newline="")
        folder.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)
        folder.rename(target)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """A name beside the target that becomes it at the end, or vanishes."""
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    partial.unlink(missing_ok=True)
    try:
        yield partial
        partial.replace(target)
    finally:
        for leftover in partial.parent.glob(f"{partial.name}*"):
            leftover.unlink(missing_ok=True)
