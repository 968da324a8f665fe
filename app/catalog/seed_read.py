"""Reading the seed files: every cell is checked, every fault named by file, line and column."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.catalog.faults import DataFault, SeedFault
from app.catalog.names import normalise_name
from app.catalog.seed_spec import SEED_FILES, Column, Row, SeedFile, check_date

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
        """By file; a file that is missing is not there, and what refers to it is not checked."""

    def fault(self, file: str, line: int, column: str, code: str, **params: Any) -> None:
        self.total += 1
        if self.total <= MAX_COUNTED:
            self.faults.append(DataFault(file, line, column, code, params))

    def read(self, spec: SeedFile) -> list[Row]:
        """Rows of one file; faults are collected, and a row at fault is left out."""
        path = self.folder / spec.name
        if not path.is_file():
            if not spec.optional:
                self.fault(spec.name, 0, "", "file_missing")
            return []
        if path.stat().st_size > MAX_FILE_BYTES:
            self.fault(spec.name, 0, "", "too_large", limit=MAX_FILE_BYTES)
            return []
        records = self._json_lines(spec, path) if spec.json_lines else self._csv(spec, path)
        lines_by_id: dict[str, int] = {}
        chosen: dict[tuple[str, str], int] = {}
        rows = []
        known = self.ids.setdefault(spec.name, set())
        for line, cells in records:
            # Even if its row is at fault: one bad card must not make a fault of every figure of that card.
            known.add(cells.get("id"))
            row = self._row(spec, line, cells)
            if row is None:
                continue
            if "candidates" in row:
                row["normalised"] = normalise_name(row["name"])
            row_id = row["id"] = row["id"] if not spec.key else natural_id(spec, row)
            if row_id in lines_by_id:
                column = "name" if "candidates" in row else "id" if not spec.key else ""
                self.fault(spec.name, line, column, "duplicate", earlier=lines_by_id[row_id])
                continue
            lines_by_id[row_id] = line
            if "figure" in row and row.get("chosen"):
                other = chosen.setdefault((row["gpu_id"], row["figure"]), line)
                if other != line:
                    self.fault(spec.name, line, "chosen", "two_chosen", earlier=other)
            rows.append(row)
        return rows

    def _csv(self, spec: SeedFile, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
        try:
            # newline="" keeps line breaks inside cells; utf-8-sig takes the mark that spreadsheets write.
            with path.open(encoding="utf-8-sig", newline="") as stream:
                reader = csv.reader(stream, strict=True)
                header = next(reader, None)
                if not header:
                    self.fault(spec.name, 1, "", "file_empty")
                    return
                if not self._header(spec, header):
                    return
                names = [spec.field_of(name) for name in header]
                start = reader.line_num + 1
                for cells in reader:
                    if len(cells) == len(names):
                        yield start, dict(zip(names, cells, strict=True))
                    elif cells:
                        self.fault(spec.name, start, "", "cells", found=len(cells), expected=len(names))
                    start = reader.line_num + 1
        except UnicodeDecodeError:
            self.fault(spec.name, _line_of_bad_bytes(path), "", "not_utf8")
        except csv.Error as error:
            self.fault(spec.name, reader.line_num, "", "csv", detail=str(error))

    def _header(self, spec: SeedFile, header: list[str]) -> bool:
        good = True
        fields = [spec.field_of(name) for name in header]
        for index, name in enumerate(header):
            if fields[index] not in spec.columns:
                known = ", ".join(spec.header_of(f) for f in spec.columns)
                self.fault(spec.name, 1, name, "header_unknown", known=known)
                good = False
            elif fields[index] in fields[:index]:
                self.fault(spec.name, 1, name, "header_twice")
                good = False
        for name, column in spec.columns.items():
            if column.required and name not in fields:
                self.fault(spec.name, 1, spec.header_of(name), "header_missing")
                good = False
        return good

    def _json_lines(self, spec: SeedFile, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
        try:
            with path.open(encoding="utf-8-sig") as stream:
                for line, text in enumerate(stream, start=1):
                    if not text.strip():
                        continue
                    try:
                        value = json.loads(text, parse_constant=_refuse_constant)
                    except (ValueError, RecursionError) as error:
                        self.fault(spec.name, line, "", "json", detail=str(error)[:200])
                        continue
                    if not isinstance(value, dict):
                        self.fault(spec.name, line, "", "not_object")
                        continue
                    unknown = [k for k in value if spec.field_of(k) not in spec.columns]
                    for name in unknown:
                        self.fault(
                            spec.name, line, name[:80], "header_unknown", known=", ".join(spec.columns)
                        )
                    yield line, {spec.field_of(k): v for k, v in value.items() if k not in unknown}
        except UnicodeDecodeError:
            self.fault(spec.name, _line_of_bad_bytes(path), "", "not_utf8")

    def _row(self, spec: SeedFile, line: int, cells: dict[str, Any]) -> Row | None:
        before = self.total
        row: Row = dict(spec.fixed)
        for name, column in spec.columns.items():
            value = cells.get(name)
            if isinstance(value, str) and column.kind != "text":
                value = value.strip()
            if value is None or value == "":
                if column.required:
                    self.fault(spec.name, line, spec.header_of(name), "required")
                row[name] = None if column.nullable else column.default
                continue
            complaint = self._cell(column, value, row, name)
            if complaint:
                code, params = complaint
                self.fault(spec.name, line, spec.header_of(name), code, **params)
        if self.total == before and spec.check:
            for name, code, params in spec.check(row):
                self.fault(spec.name, line, spec.header_of(name), code, **params)
        if self.total == before and "candidates" in row:
            self._candidates(spec, line, row)
        return row if self.total == before else None

    def _cell(self, column: Column, value: Any, row: Row, name: str) -> tuple[str, dict[str, Any]] | None:
        parsed, code = _parse(column, value)
        if code:
            return code, {"value": value if isinstance(value, (int, float)) else str(value)[:80]}
        row[name] = parsed
        if column.kind == "text":
            if column.allowed and parsed not in column.allowed:
                return "not_allowed", {
                    "value": parsed[:80],
                    "allowed": ", ".join(filter(None, column.allowed)),
                }
            if column.pattern and not re.fullmatch(column.pattern, parsed):
                return "pattern", {"value": parsed[:80], "pattern": column.pattern}
            if column.dated and not check_date(parsed):
                return "not_a_date", {"value": parsed[:80]}
            if column.refers_to and parsed not in self.ids.get(column.refers_to, (parsed,)):
                return "unknown_reference", {"value": parsed[:80], "target": column.refers_to}
        elif column.kind in ("number", "integer"):
            if column.low is not None and parsed < column.low:
                return "too_small", {"value": parsed, "low": column.low}
            if column.high is not None and parsed > column.high:
                return "too_large_number", {"value": parsed, "high": column.high}
        return None

    def _candidates(self, spec: SeedFile, line: int, row: Row) -> None:
        file = spec.columns["target_id"].refers_to
        for candidate in filter(None, row["candidates"].split("|")):
            if candidate not in self.ids.get(file, (candidate,)):
                params = {"value": candidate[:80], "target": file}
                self.fault(spec.name, line, "candidates", "unknown_reference", **params)


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
    data = {spec.name: reader.read(spec) for spec in SEED_FILES}
    if reader.total:
        raise SeedFault(reader.faults, reader.total)
    return data


def natural_id(spec: SeedFile, row: Row) -> str:
    """First 16 hex digits of the SHA-256 of what makes a row the same row."""
    parts = [spec.row.__name__]
    for name in spec.key:
        value = row[name]
        parts.append(json.dumps(value, ensure_ascii=False, sort_keys=True))
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]


def _parse(column: Column, value: Any) -> tuple[Any, str]:
    """The value of a cell and the code of what is wrong with it, if anything."""
    if column.kind == "text":
        if not isinstance(value, str):
            return None, "not_text"
        return (value.strip(), "") if not _CONTROL.search(value) else (None, "control_character")
    if column.kind == "json":
        return (value, "") if isinstance(value, dict) else (None, "not_object")
    if column.kind == "boolean":
        if isinstance(value, bool):
            return value, ""
        known = _BOOLEANS.get(value.lower()) if isinstance(value, str) else None
        return known, "" if known is not None else "not_a_boolean"
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None, "not_a_number"
    try:
        # Underscores, full-width digits and words such as "nan" are numbers to Python, not to a reader.
        number = float(value) if not isinstance(value, str) or _NUMBER.fullmatch(value) else None
    except OverflowError:
        number = math.inf
    if number is None:
        return None, "not_a_number"
    if not math.isfinite(number):
        return None, "not_finite"
    if column.kind == "integer":
        return (
            (int(number), "") if number == int(number) and abs(number) < 2**31 else (None, "not_an_integer")
        )
    return number, ""


_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not a number")


def _line_of_bad_bytes(path: Path) -> int:
    content = path.read_bytes()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        return content.count(b"\n", 0, error.start) + 1
    return 0
