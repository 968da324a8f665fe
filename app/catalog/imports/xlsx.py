"""Workbooks: the first sheet with something in it, read in bounded memory and time."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

from openpyxl import load_workbook
from openpyxl.utils.cell import range_boundaries

from app.catalog.imports.faults import ImportRefused
from app.catalog.imports.files import MAX_COLUMNS, MAX_ROWS, Deadline, Sheet

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
