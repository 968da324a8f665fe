"""Files into rows of cells: CSV in the usual encodings, XLSX, JSON; bounded while they are read.

Nothing is interpreted. What is packed is read by a process of its own (`apart.py`).
"""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from app.catalog.imports.apart import is_workbook, read_workbook, read_workbook_sheets
from app.catalog.imports.deadline import Deadline
from app.catalog.imports.sheets import MAX_BYTES, MAX_CELL, MAX_COLUMNS, MAX_ROWS, Objects, Sheet
from app.catalog.imports.values import ImportRefused

__all__ = ["is_workbook", "read_file", "read_workbook_sheets", "refuse_deep"]

MAX_JSON_DEPTH = 20
"""A catalogue's own rows are five deep at most."""
MAX_VALUES = 1_000_000
"""Cells of a text, or values of a JSON file: each takes some sixty bytes of memory."""
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf\x27\x1c", b"Rar!", b"\x28\xb5\x2f\xfd")
"""First bytes of gzip, bzip2, xz, 7z, rar and zstd."""
_ENCODINGS = ("utf-8-sig", "gb18030")
_CHUNK_BYTES = 65_536
_HEAD_CHARACTERS = 20_000


def read_file(content: bytes, deadline: Deadline | None = None, max_rows: int = MAX_ROWS) -> Sheet | Objects:
    """Rows or objects of a file, whatever its name says; more rows than `max_rows` are refused.

    Errors
    ------
    ImportRefused: file_empty, file_too_large, old_excel, packed_file, not_text, bad_csv, not_json,
    json_too_deep, too_many_rows, too_many_columns, too_many_values, file_takes_too_long, nobody_waits; of
    workbooks those of `apart.read_workbook` too.
    """
    limit = deadline or Deadline()
    if len(content) > MAX_BYTES:
        raise ImportRefused("file_too_large", limit=MAX_BYTES)
    if not content.strip():
        raise ImportRefused("file_empty")
    if content.startswith(_OLD_EXCEL):
        raise ImportRefused("old_excel")
    if content.startswith(_PACKED):
        raise ImportRefused("packed_file")
    if is_workbook(content):
        return read_workbook(content, limit, max_rows)
    encoding = _encoding(content, limit)
    head = _head(content, encoding)
    if head.lstrip()[:1] in ("{", "["):
        return _objects(content, encoding, limit, max_rows)
    return (
        _markdown(content, encoding, limit, max_rows)
        if _is_markdown(head)
        else _table(content, encoding, _delimiter(head), limit, max_rows)
    )


def _encoding(content: bytes, deadline: Deadline) -> str:
    """The first encoding in which the whole file is text; decoded piece by piece, nothing is kept."""
    encodings = ("utf-16",) if content[:2] in (b"\xff\xfe", b"\xfe\xff") else _ENCODINGS
    for encoding in encodings:
        deadline.check()
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            pieces = (content[at : at + _CHUNK_BYTES] for at in range(0, len(content), _CHUNK_BYTES))
            plain = all("\x00" not in decoder.decode(piece) for piece in pieces)
            decoder.decode(b"", True)
        except UnicodeDecodeError:
            continue
        if plain:
            return encoding
    raise ImportRefused("not_text")


def _head(content: bytes, encoding: str) -> str:
    """The beginning of the text."""
    text = codecs.getincrementaldecoder(encoding)().decode(content[: 4 * _HEAD_CHARACTERS])
    return text.lstrip()[:_HEAD_CHARACTERS]


def _objects(content: bytes, encoding: str, deadline: Deadline, max_rows: int) -> Objects:
    # Each value but the first follows one of these bytes, whatever else they may be part of.
    if sum(content.count(mark) for mark in (b",", b"[", b"{", b":")) > MAX_VALUES:
        raise ImportRefused("too_many_values", limit=MAX_VALUES)
    text = content.decode(encoding)
    deadline.check()
    try:
        value = _json(text)
    except ImportRefused:
        # One object a line is JSON too, in its way.
        return _limited(_lines_of_json(text, deadline, max_rows), max_rows)
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        value = value["items"]
    return _limited(value, max_rows) if isinstance(value, list) else Objects((value,), single=True)


def _lines_of_json(text: str, deadline: Deadline, max_rows: int) -> list[Any]:
    found: list[Any] = []
    for line in io.StringIO(text):
        if not line.strip():
            continue
        if len(found) % 100 == 0:
            deadline.check()
        if len(found) > max_rows:
            break
        found.append(_json(line))
    if len(found) < 2:
        raise ImportRefused("not_json")
    return found


def _limited(items: list[Any], max_rows: int) -> Objects:
    if len(items) > max_rows:
        raise ImportRefused("too_many_rows", limit=max_rows)
    if any(isinstance(item, dict) and len(item) > MAX_COLUMNS for item in items):
        raise ImportRefused("too_many_columns", limit=MAX_COLUMNS)
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


class _Rows:
    """The rows of a table as they are read, with what bounds them."""

    def __init__(self, deadline: Deadline, max_rows: int) -> None:
        self._deadline = deadline
        self._max_rows = max_rows
        self._cells = 0
        self._lines: list[int] = []
        self._rows: list[tuple[Any, ...]] = []

    def add(self, line: int, row: list[Any]) -> None:
        """Keep a row; ImportRefused when it is one too many, too wide, or too late."""
        self._cells += len(row)
        if len(row) > MAX_COLUMNS:
            raise ImportRefused("too_many_columns", limit=MAX_COLUMNS)
        if len(self._rows) >= self._max_rows:
            raise ImportRefused("too_many_rows", limit=self._max_rows)
        if self._cells > MAX_VALUES:
            raise ImportRefused("too_many_values", limit=MAX_VALUES)
        if len(self._rows) % 100 == 0:
            self._deadline.check()
        self._lines.append(line)
        self._rows.append(tuple(row))

    def sheet(self) -> Sheet:
        """What was read."""
        return Sheet(tuple(self._lines), tuple(self._rows))


def _text_lines(content: bytes, encoding: str) -> Iterator[str]:
    """Lines with their ends as they stand, decoded as they are asked for."""
    return io.TextIOWrapper(io.BytesIO(content), encoding, newline="")


def _table(content: bytes, encoding: str, delimiter: str, deadline: Deadline, max_rows: int) -> Sheet:
    rows = _Rows(deadline, max_rows)
    reader = csv.reader(_text_lines(content, encoding), delimiter=delimiter, strict=True)
    start = 1
    previous = csv.field_size_limit(MAX_CELL)
    try:
        for count, row in enumerate(reader):
            if count % 10_000 == 0:
                deadline.check()
            if row:
                rows.add(start, row)
            start = reader.line_num + 1
    except csv.Error as error:
        raise ImportRefused("bad_csv", line=reader.line_num or start) from error
    finally:
        csv.field_size_limit(previous)
    return rows.sheet()


def _delimiter(head: str) -> str:
    """Tab where a table was pasted from a spreadsheet, semicolon where a locale asks for it, else a comma."""
    lines = head.splitlines()[:20]
    counts = {mark: sum(line.count(mark) for line in lines) for mark in "\t;,"}
    if counts["\t"] >= max(1, len(lines) // 2):
        return "\t"
    return ";" if counts[";"] > counts[","] else ","


def _is_markdown(head: str) -> bool:
    lines = [line.strip() for line in head.strip().splitlines()[:3]]
    return len(lines) > 1 and all(line.startswith("|") and line.endswith("|") for line in lines)


def _markdown(content: bytes, encoding: str, deadline: Deadline, max_rows: int) -> Sheet:
    rows = _Rows(deadline, max_rows)
    for number, line in enumerate(io.TextIOWrapper(io.BytesIO(content), encoding), start=1):
        if line.count("|") > 2 * MAX_COLUMNS:
            raise ImportRefused("too_many_columns", limit=MAX_COLUMNS)
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.strip() and not all(set(cell) <= set("-: ") for cell in cells):
            rows.add(number, cells)
    return rows.sheet()
