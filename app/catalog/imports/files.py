"""Files into rows of cells: CSV in the usual encodings, XLSX within limits, JSON. Nothing is interpreted."""

from __future__ import annotations

import csv
import io
import json
import time
from dataclasses import dataclass
from typing import Any

from app.catalog.imports.faults import ImportRefused

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
        from app.catalog.imports.xlsx import read_workbook

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
