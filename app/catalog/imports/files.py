"""Files into rows of cells: CSV in the usual encodings, XLSX within limits, JSON. Nothing is interpreted."""

from __future__ import annotations

import csv
import io
import json
import re
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from openpyxl import load_workbook
from openpyxl.utils.cell import range_boundaries

from app.catalog.imports.values import ImportRefused

MAX_BYTES = 20_000_000
MAX_ROWS = 200_000
MAX_COLUMNS = 200
MAX_CELL = 100_000
MAX_SECONDS = 60.0
MAX_JSON_DEPTH = 20
"""A catalogue's own rows are five deep at most."""
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
_ZIP = b"PK\x03\x04"
_ENCODINGS = ("utf-8-sig", "gb18030")


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rows of a file as they stand, with the line of each."""

    lines: tuple[int, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of a JSON file, in their order."""

    items: tuple[Any, ...]
    single: bool = False
    """Not a list but one object alone."""


class Deadline:
    """A moment after which reading stops."""

    def __init__(self, seconds: float = MAX_SECONDS) -> None:
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        """ImportRefused when the time is up."""
        if time.monotonic() > self._end:
            raise ImportRefused("file_takes_too_long")


def is_workbook(content: bytes) -> bool:
    """Whether a file of a size that is read at all is an archive, as workbooks are."""
    return len(content) <= MAX_BYTES and content.startswith(_ZIP)


def read_file(content: bytes, deadline: Deadline | None = None) -> Sheet | Objects:
    """Rows or objects of a file, whatever its name says.

    Errors
    ------
    ImportRefused: file_empty, file_too_large, old_excel, bad_workbook, zip_bomb, not_text, bad_csv, not_json,
    json_too_deep, too_many_rows, too_many_columns, file_takes_too_long.
    """
    limit = deadline or Deadline()
    if len(content) > MAX_BYTES:
        raise ImportRefused("file_too_large", limit=MAX_BYTES)
    if not content.strip():
        raise ImportRefused("file_empty")
    if content.startswith(_OLD_EXCEL):
        raise ImportRefused("old_excel")
    if is_workbook(content):
        # The reader of workbooks is heavy and seldom needed.
        from app.catalog.imports.files import read_workbook

        return read_workbook(content, limit)
    text = _decoded(content)
    if text.lstrip()[:1] in ("{", "["):
        return _objects(text)
    return _table(text, limit)


def _decoded(content: bytes) -> str:
    encodings = ("utf-16",) if content[:2] in (b"\xff\xfe", b"\xfe\xff") else _ENCODINGS
    for encoding in encodings:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\x00" not in text:
            return text
    raise ImportRefused("not_text")


def _objects(text: str) -> Objects:
    try:
        value = _json(text)
    except ImportRefused:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise
        # One object a line is JSON too, in its way.
        return _limited([_json(line) for line in lines])
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        value = value["items"]
    return _limited(value) if isinstance(value, list) else Objects((value,), single=True)


def _limited(items: list[Any]) -> Objects:
    if len(items) > MAX_ROWS:
        raise ImportRefused("too_many_rows", limit=MAX_ROWS)
    return Objects(tuple(items))


def _json(text: str) -> Any:
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_int=_bounded)
    except (ValueError, RecursionError) as error:
        raise ImportRefused("not_json") from error
    refuse_deep(value)
    return value


def refuse_deep(value: Any) -> None:
    """ImportRefused where lists and objects stand in each other more than MAX_JSON_DEPTH deep."""
    level = [value]
    for _ in range(MAX_JSON_DEPTH + 1):
        level = [
            part
            for item in level
            if isinstance(item, dict | list)
            for part in (item.values() if isinstance(item, dict) else item)
            if isinstance(part, dict | list)
        ]
        if not level:
            return
    raise ImportRefused("json_too_deep", limit=MAX_JSON_DEPTH)


def _refuse_constant(word: str) -> Any:
    raise ValueError(word)


def _bounded(digits: str) -> int | float:
    # Python refuses integers of more than 4300 digits with an error of its own kind.
    return int(digits) if len(digits) <= 30 else float(digits[:400])


def _table(text: str, deadline: Deadline) -> Sheet:
    if _is_markdown(text):
        return _markdown(text)
    delimiter = _delimiter(text)
    lines: list[int] = []
    rows: list[tuple[Any, ...]] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    start = 1
    previous = csv.field_size_limit(MAX_CELL)
    try:
        for row in reader:
            if row:
                _check(row, len(rows), deadline)
                lines.append(start)
                rows.append(tuple(row))
            start = reader.line_num + 1
    except csv.Error as error:
        raise ImportRefused("bad_csv", line=reader.line_num or start) from error
    finally:
        csv.field_size_limit(previous)
    return Sheet(tuple(lines), tuple(rows))


def _check(row: list[Any], count: int, deadline: Deadline) -> None:
    if len(row) > MAX_COLUMNS:
        raise ImportRefused("too_many_columns", limit=MAX_COLUMNS)
    if count >= MAX_ROWS:
        raise ImportRefused("too_many_rows", limit=MAX_ROWS)
    if count % 1_000 == 0:
        deadline.check()


def _delimiter(text: str) -> str:
    """Tab where a table was pasted from a spreadsheet, semicolon where a locale asks for it, else a comma."""
    head = text[:20_000].splitlines()[:20]
    counts = {mark: sum(line.count(mark) for line in head) for mark in "\t;,"}
    if counts["\t"] >= max(1, len(head) // 2):
        return "\t"
    return ";" if counts[";"] > counts[","] else ","


def _is_markdown(text: str) -> bool:
    lines = [line.strip() for line in text.strip().splitlines()[:3]]
    return len(lines) > 1 and all(line.startswith("|") and line.endswith("|") for line in lines)


def _markdown(text: str) -> Sheet:
    lines: list[int] = []
    rows: list[tuple[Any, ...]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.strip() and not all(set(cell) <= set("-: ") for cell in cells):
            lines.append(number)
            rows.append(tuple(cells))
    return Sheet(tuple(lines), tuple(rows))


MAX_UNPACKED_BYTES = 200_000_000
MAX_RATIO = 200
"""Unpacked over packed: sheets full of figures stay below 40."""
MAX_PARTS = 2_000
MAX_MERGES = 10_000
MAX_SHEETS = 12
MAX_BLANK_ROWS = 1_000
"""So many blank rows in a row end a sheet: a stray cell in its last row must not cost a million."""
SPARE_ROWS = 2_000
"""Blank rows that a sheet of the greatest size may have beside its rows."""
_MERGE = re.compile(rb'<mergeCell\s+ref="([A-Z]{1,3}[0-9]{1,7}:[A-Z]{1,3}[0-9]{1,7})"')


def check_archive(content: bytes) -> None:
    """Refuse an archive that would unpack to far more than it is.

    Errors
    ------
    ImportRefused: bad_workbook, zip_bomb.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise ImportRefused("bad_workbook") from error
    unpacked = sum(part.file_size for part in parts)
    if len(parts) > MAX_PARTS or unpacked > MAX_UNPACKED_BYTES or unpacked > MAX_RATIO * len(content):
        raise ImportRefused("zip_bomb")


def read_workbook(content: bytes, deadline: Deadline) -> Sheet:
    """Rows of the first sheet that has any; dates come as dates, formulas as the values last computed."""
    return read_sheets(content, deadline, 1)[0][1]


def read_sheets(content: bytes, deadline: Deadline, limit: int = MAX_SHEETS) -> list[tuple[str, Sheet]]:
    """Name and rows of the visible sheets that have any, in their order, at most so many.

    Errors
    ------
    ImportRefused: bad_workbook, zip_bomb, file_empty, too_many_rows, too_many_columns, file_takes_too_long.
    """
    check_archive(content)
    read: list[tuple[str, Sheet]] = []
    try:
        book = load_workbook(
            io.BytesIO(content), read_only=True, data_only=True, keep_links=False, rich_text=False
        )
    except ImportRefused:
        raise
    except Exception as error:  # the reader raises whatever it trips over in a broken file
        raise ImportRefused("bad_workbook") from error
    try:
        for sheet in book.worksheets:
            if getattr(sheet, "sheet_state", "visible") != "visible":
                continue
            found = _rows(sheet, deadline)
            if found.rows:
                filled = _filled(found, content, getattr(sheet, "_worksheet_path", ""))
                read.append((str(sheet.title), filled))
            if len(read) >= limit:
                break
    except ImportRefused:
        raise
    except Exception as error:
        raise ImportRefused("bad_workbook") from error
    finally:
        book.close()
    if not read:
        raise ImportRefused("file_empty")
    return read


def _rows(sheet: Any, deadline: Deadline) -> Sheet:
    # What a file says of its own size may be wrong, in both directions.
    sheet.reset_dimensions()
    lines: list[int] = []
    rows: list[tuple[Any, ...]] = []
    blank = 0
    for number, cells in enumerate(
        sheet.iter_rows(max_row=MAX_ROWS + SPARE_ROWS, max_col=MAX_COLUMNS + 1, values_only=True), start=1
    ):
        if number % 1_000 == 0:
            deadline.check()
        if len(cells) > MAX_COLUMNS and cells[MAX_COLUMNS] is not None:
            raise ImportRefused("too_many_columns", limit=MAX_COLUMNS)
        if all(cell is None for cell in cells):
            blank += 1
            if blank > MAX_BLANK_ROWS:
                break
            continue
        blank = 0
        if len(rows) >= MAX_ROWS:
            raise ImportRefused("too_many_rows", limit=MAX_ROWS)
        lines.append(number)
        width = next(at for at in range(len(cells), 0, -1) if cells[at - 1] is not None)
        rows.append(tuple(cells[:width]))
    return Sheet(tuple(lines), tuple(rows))


def _filled(sheet: Sheet, content: bytes, path: str) -> Sheet:
    """The sheet with the value of every cell that is merged downwards in each of its rows.

    A supplier written once beside three merged rows is the supplier of all three. Cells merged to the right,
    as titles are, keep their value in the first.
    """
    at = {line: index for index, line in enumerate(sheet.lines)}
    rows = [list(row) for row in sheet.rows]
    for first_column, first_row, _, last_row in _merges(content, path):
        index = at.get(first_row)
        if last_row <= first_row or index is None or first_column > len(rows[index]):
            continue
        value = rows[index][first_column - 1]
        for line in range(first_row + 1, min(last_row, first_row + MAX_BLANK_ROWS) + 1):
            below = at.get(line)
            if below is None:
                continue
            rows[below].extend([None] * (first_column - len(rows[below])))
            if rows[below][first_column - 1] is None:
                rows[below][first_column - 1] = value
    return Sheet(sheet.lines, tuple(tuple(row) for row in rows))


def _merges(content: bytes, path: str) -> Iterator[tuple[int, int, int, int]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        name = path.lstrip("/")
        if name not in archive.namelist():
            return
        text = archive.read(name)
    for count, found in enumerate(_MERGE.finditer(text)):
        if count >= MAX_MERGES:
            return
        left, top, right, bottom = range_boundaries(found[1].decode())
        yield int(left or 1), int(top or 1), int(right or 1), int(bottom or 1)
