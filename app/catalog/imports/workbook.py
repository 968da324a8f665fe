"""Workbooks into rows of cells. Runs in a process of its own (`apart.py`): a small file can hold very much.

Every part that is read is counted before the reader of workbooks gets it: that one keeps what it passes.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, Any
from xml.parsers import expat

from openpyxl import load_workbook
from openpyxl.utils.cell import range_boundaries

from app.catalog.imports.sheets import MAX_CELL, MAX_COLUMNS, Sheet
from app.catalog.imports.values import ImportRefused

MAX_UNPACKED_BYTES = 200_000_000
MAX_RATIO = 200
"""Unpacked over packed, of the archive and of each part that is read: sheets of figures stay below 40."""
SMALL_PART_BYTES = 1_000_000
"""A part of so few bytes may be packed as tightly as it likes."""
MAX_PARTS = 2_000
MAX_SHEET_BYTES = 50_000_000
MAX_OTHER_BYTES = 2_000_000
"""Of a part that is neither a sheet nor the texts that sheets share: styles, relations, names."""
MAX_CELLS = 250_000
"""Of all sheets together; a table of 10,000 quotes has about 120,000."""
MAX_ELEMENTS = 2_000_000
"""Elements of all parts together: a cell has two or three."""
MAX_MERGES = 10_000
MAX_BLANK_ROWS = 1_000
"""So many blank rows in a row end a sheet: a stray cell in its last row must not cost a million."""
SPARE_ROWS = 2_000
"""Blank rows that a sheet of the greatest size may have beside its rows."""
_MERGE = re.compile(rb'<mergeCell\s+ref="([A-Z]{1,3}[0-9]{1,7}:[A-Z]{1,3}[0-9]{1,7})"')
_CHUNK_BYTES = 65_536
_SHEETS = "xl/worksheets"
_SHARED = "sharedStrings"


def check_archive(content: bytes) -> None:
    """Refuse an archive that would unpack to far more than it is, or whose parts hold more than is read.

    Errors
    ------
    ImportRefused: bad_workbook, zip_bomb, too_many_cells.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
            unpacked = sum(part.file_size for part in parts)
            if len(parts) > MAX_PARTS or unpacked > MAX_UNPACKED_BYTES or unpacked > MAX_RATIO * len(content):
                raise ImportRefused("zip_bomb")
            count = _Count()
            for part in parts:
                if part.filename.lower().endswith((".xml", ".rels")):
                    _check_part(archive, part, count)
    except ImportRefused:
        raise
    except Exception as error:  # the reader of archives raises whatever it trips over in a broken file
        raise ImportRefused("bad_workbook") from error


def _check_part(archive: zipfile.ZipFile, part: zipfile.ZipInfo, count: _Count) -> None:
    # What a part states as its size bounds what is unpacked of it.
    packed = part.file_size <= SMALL_PART_BYTES or part.file_size <= MAX_RATIO * part.compress_size
    large = part.filename.startswith(_SHEETS) or _SHARED in PurePosixPath(part.filename).name
    if not packed:
        raise ImportRefused("zip_bomb")
    if part.file_size > (MAX_SHEET_BYTES if large else MAX_OTHER_BYTES):
        raise ImportRefused("too_many_cells", limit=MAX_CELLS)
    with archive.open(part) as stream:
        count.read(stream)


@dataclass(slots=True)
class _Count:
    """Elements, cells and merges of all parts together, counted by the parser itself."""

    elements: int = 0
    cells: int = 0
    merges: int = 0
    text: int = 0
    """Characters since the last element began."""

    def read(self, stream: IO[bytes]) -> None:
        """Count one part; ImportRefused as soon as it is too much."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._begin
        parser.CharacterDataHandler = self._read
        parser.StartDoctypeDeclHandler = _no_doctype
        while chunk := stream.read(_CHUNK_BYTES):
            parser.Parse(chunk)
        parser.Parse(b"", True)

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        self.text = 0
        local = name.rpartition(":")[2]
        if local == "c":
            self.cells += 1
        elif local == "mergeCell":
            self.merges += 1
            if self.merges > MAX_MERGES:
                raise ImportRefused("too_many_merges", limit=MAX_MERGES)
        if self.cells > MAX_CELLS or self.elements > MAX_ELEMENTS:
            raise ImportRefused("too_many_cells", limit=MAX_CELLS)
        if len(attributes) > MAX_COLUMNS:
            raise ImportRefused("bad_workbook")

    def _read(self, text: str) -> None:
        self.text += len(text)
        if self.text > MAX_CELL:
            raise ImportRefused("cell_too_long", limit=MAX_CELL)


def _no_doctype(*_: object) -> None:
    # No workbook has one; entities are declared in it.
    raise ImportRefused("bad_workbook")


def read_sheets(content: bytes, limit: int, max_rows: int) -> list[tuple[str, Sheet]]:
    """Name and rows of the visible sheets that have any, in their order, at most `limit`.

    Dates come as dates, formulas as the values last computed.

    Errors
    ------
    ImportRefused: bad_workbook, zip_bomb, file_empty, too_many_rows, too_many_columns, too_many_cells,
    too_many_merges, cell_too_long.
    """
    check_archive(content)
    read: list[tuple[str, Sheet]] = []
    try:
        book = load_workbook(
            io.BytesIO(content), read_only=True, data_only=True, keep_links=False, rich_text=False
        )
    except Exception as error:  # the reader raises whatever it trips over in a broken file
        raise ImportRefused("bad_workbook") from error
    try:
        for sheet in book.worksheets:
            if getattr(sheet, "sheet_state", "visible") != "visible":
                continue
            found = _rows(sheet, max_rows)
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


def _rows(sheet: Any, max_rows: int) -> Sheet:
    # What a file says of its own size may be wrong, in both directions.
    sheet.reset_dimensions()
    lines: list[int] = []
    rows: list[tuple[Any, ...]] = []
    blank = 0
    for number, cells in enumerate(
        sheet.iter_rows(max_row=max_rows + SPARE_ROWS, max_col=MAX_COLUMNS + 1, values_only=True), start=1
    ):
        if len(cells) > MAX_COLUMNS and cells[MAX_COLUMNS] is not None:
            raise ImportRefused("too_many_columns", limit=MAX_COLUMNS)
        if all(cell is None for cell in cells):
            blank += 1
            if blank > MAX_BLANK_ROWS:
                break
            continue
        blank = 0
        if len(rows) >= max_rows:
            raise ImportRefused("too_many_rows", limit=max_rows)
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
