"""One table into typed rows: what its headers mean, every cell read, every fault named."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from app.catalog.columns.kinds import Column, DataKind, Row, header_key
from app.catalog.imports import values
from app.catalog.imports.files import refuse_deep
from app.catalog.imports.references import References
from app.catalog.imports.values import (
    CURRENCY_WORDS,
    MAX_KEPT,
    CellFault,
    ImportRefused,
    Money,
    RowFault,
    is_empty,
    shown,
)
from app.catalog.names import normalise_name, normalise_region
from app.catalog.records import effective_date
from app.core.estimates import Message

SEARCHED_ROWS = 30
"""Titles, dates and addresses may stand above the header; it is looked for among so many rows."""
MAX_HEADERS = 1_000
"""Different keys of JSON objects that are read as headers; what else there is means nothing."""
JOINED = frozenset({"item_as_written"})
"""Fields that may have several columns: 型号 beside 配置."""
_BRACKET = re.compile(r"\(([^)]*)\)")
_TEN_THOUSAND = 1e4


@dataclass(frozen=True, slots=True)
class HeaderCell:
    """One column of a file: where it stands, what it means, and what its header says of every cell below."""

    at: int
    text: str
    column: Column
    scale: float = 1.0
    """10,000 under 价格(万元)."""
    currency: str = ""


@dataclass(frozen=True, slots=True)
class Header:
    """The header row that was found."""

    row: int
    cells: tuple[HeaderCell, ...]
    ignored: tuple[str, ...]
    """Headers that mean nothing here."""
    twice: tuple[str, ...] = ()
    """Pairs of columns that mean the same: 含税单价 / 含税价."""
    joined: tuple[HeaderCell, ...] = ()
    """Further columns of a field that may have several, the one that names the model being the first."""


def read_header(cells: Sequence[object], kind: DataKind, row: int = 0) -> Header:
    """What the cells of a row mean as headers."""
    known = kind.by_header
    found: list[HeaderCell] = []
    ignored: list[str] = []
    twice: list[str] = []
    joined: list[HeaderCell] = []
    seen: dict[str, int] = {}
    for at, cell in enumerate(cells):
        if is_empty(cell):
            continue
        text = shown(cell).strip()
        meant = _meaning(text, known)
        if meant is None:
            ignored.append(text)
            continue
        scale, currency = _said_by(text) if meant.reader == "money" else (1.0, "")
        here = HeaderCell(at, text, meant, scale, currency)
        if meant.name not in seen:
            seen[meant.name] = len(found)
            found.append(here)
        elif meant.name in JOINED:
            first = found[seen[meant.name]]
            if "型号" in text and "型号" not in first.text:
                found[seen[meant.name]], here = here, first
            joined.append(here)
        else:
            twice.append(f"{found[seen[meant.name]].text} / {text}")
    return Header(row, tuple(found), tuple(ignored), tuple(twice), tuple(joined))


def find_header(rows: Sequence[Sequence[object]], kind: DataKind) -> Header | None:
    """The row among the first that names the most columns, at least two; None when there is none."""
    best: Header | None = None
    for row, cells in enumerate(rows[:SEARCHED_ROWS]):
        header = read_header(cells, kind, row)
        if len(header.cells) >= min(2, len(kind.imported)) and (
            best is None or len(header.cells) > len(best.cells)
        ):
            best = header
    return best


def _meaning(text: str, known: Mapping[str, Column]) -> Column | None:
    plain = normalise_name(text)
    inside = "".join(_BRACKET.findall(plain))
    outside = _BRACKET.sub("", plain)
    attempts = [plain.replace("(", "").replace(")", "")]
    # 单价(元,含税) is a price with tax, not a price of which nothing is known.
    if "不含税" in inside or "未税" in inside:
        attempts.append(outside + "不含税")
    elif "含税" in inside:
        attempts.append(outside + "含税")
    attempts.append(outside)
    return next((known[key] for key in map(header_key, attempts) if key in known), None)


def _said_by(text: str) -> tuple[float, str]:
    """Scale and currency that a header states for its cells."""
    inside = "".join(_BRACKET.findall(unicodedata.normalize("NFKC", text).lower()))
    scale = _TEN_THOUSAND if "万" in inside else 1.0
    words = re.split(r"[,/、;\s]+", inside.replace("万", ""))
    currency = next((CURRENCY_WORDS[word] for word in words if word in CURRENCY_WORDS), "")
    return scale, currency


@dataclass(frozen=True, slots=True)
class Record:
    """One row as it was sent: its line, and its cells by field with the header each stands under."""

    line: int
    cells: Mapping[str, tuple[HeaderCell, Any]]


@dataclass(slots=True)
class Parsed:
    """One row with typed values; a field that was not given is not there."""

    record: Record
    values: Row
    confirmed: bool = False
    notes: list[Message] = field(default_factory=list)
    """What was taken for granted."""

    @property
    def line(self) -> int:
        """Line of the file, or index of the item."""
        return self.record.line


class Faults:
    """What was found so far; the first thousand are kept, all are counted."""

    def __init__(self) -> None:
        self.kept: list[RowFault] = []
        self.total = 0

    def add(
        self, record: Record | None, name: str, code: str, confirmable: bool = False, **params: Any
    ) -> None:
        """Note a fault of one field of a record, or of the file."""
        self.total += 1
        if len(self.kept) >= MAX_KEPT:
            return
        cell = record.cells.get(name) if record else None
        header = cell[0].text if cell else name
        value = shown(cell[1]) if cell and cell[1] is not None else ""
        line = record.line if record else 0
        self.kept.append(RowFault(line, header, name, value, code, params, confirmable))


class RowReader:
    """Reads the records of one kind."""

    def __init__(self, kind: DataKind, references: References, today: date, faults: Faults) -> None:
        self.kind = kind
        self.columns = kind.imported
        self.references = references
        self.today = today
        self.faults = faults
        self._names: dict[tuple[str, str], str | CellFault] = {}
        self._words: dict[str, dict[str, str]] = {}

    def read(self, record: Record) -> Parsed | None:
        """Typed values of a record; None when one of its cells is at fault."""
        before = self.faults.total
        found: Row = {}
        for column in self.columns:
            cell = record.cells.get(column.name)
            if cell is None or is_empty(cell[1]):
                if column.asked:
                    self.faults.add(record, column.name, "required")
                continue
            try:
                found[column.name] = self._cell(column, *cell)
            except CellFault as fault:
                params = {"value": shown(cell[1])} | fault.params
                self.faults.add(record, column.name, fault.code, **params)
        if self.faults.total != before:
            return None
        return Parsed(record, found, bool(found.pop("confirm", False)))

    def _cell(self, column: Column, header: HeaderCell, value: Any) -> Any:
        if column.reader == "money":
            return _money(header, value)
        if column.reader in ("gpu", "model"):
            return self._name(column.reader, values.text_of(value, 200))
        if column.reader == "date":
            return self._date(column, value)
        if column.reader == "word":
            return self._word(column, value)
        parsed = _READERS[column.reader or "text"](value)
        check_cell(column, parsed)
        return parsed

    def _name(self, kind: str, text: str) -> str:
        found = self._names.get((kind, text))
        if found is None:
            look_up = self.references.gpu if kind == "gpu" else self.references.model
            try:
                found = look_up(text)
            except CellFault as fault:
                found = fault
            self._names[kind, text] = found
        if isinstance(found, CellFault):
            raise found
        return found

    def _word(self, column: Column, value: Any) -> str:
        allowed = column.accepted
        known = self._words.get(column.name)
        if known is None:
            spellings = {**{word: word for word in allowed}, **column.words}
            if column.name == "tax":
                spellings |= {"true": "included", "是": "included", "false": "excluded", "否": "excluded"}
            known = self._words[column.name] = {normalise_name(w): meant for w, meant in spellings.items()}
        text = str(value).lower() if isinstance(value, bool) else values.text_of(value, 200)
        meant = known.get(normalise_name(text))
        if meant is None:
            raise CellFault("unknown_value", allowed=list(allowed))
        return meant

    def _date(self, column: Column, value: Any) -> str:
        text = values.date_of(value)
        counted_from = effective_date(text)
        # A month counts from its last day and may still be running; a day that has not come is a slip.
        started = date.fromisoformat(f"{text}-01-01"[:10]) if len(text) < 10 else counted_from
        if started is not None and started > self.today and column.name != "launch_date":
            raise CellFault("in_future", day=self.today.isoformat())
        return text


def records_of_table(header: Header, lines: Sequence[int], rows: Sequence[Sequence[Any]]) -> list[Record]:
    """Records below a header row; rows that are wholly blank are left out."""
    found = []
    for line, row in zip(lines[header.row + 1 :], rows[header.row + 1 :], strict=True):
        cells = {c.column.name: (c, row[c.at]) for c in header.cells if c.at < len(row)}
        if any(not is_empty(value) for _, value in cells.values()):
            found.append(Record(line, cells))
    return found


def records_of_objects(kind: DataKind, items: Iterable[Any], faults: Faults, *, strict: bool) -> list[Record]:
    """Records of JSON objects; with `strict` a key that means nothing is a fault."""
    from app.catalog.imports.rows import read_header

    found = []
    headers: dict[str, HeaderCell | None] = {}
    for index, item in enumerate(items):
        if not isinstance(item, Mapping):
            faults.add(Record(index, {}), "", "not_an_object")
            continue
        cells: dict[str, tuple[HeaderCell, Any]] = {}
        record = Record(index, cells)
        for key, value in _flat(item).items():
            if key not in headers and len(headers) < MAX_HEADERS:
                headers[key] = next(iter(read_header([key], kind).cells), None)
            cell = headers.get(key)
            if cell is None or cell.column.name in cells:
                if strict:
                    faults.add(
                        record, key[:80], "unknown_field" if cell is None else "named_twice", value=key[:80]
                    )
                continue
            cells[cell.column.name] = (cell, value)
        found.append(record)
    return found


def check_cell(column: Column, value: Any) -> None:
    """Refuse a value that the table does not take: not allowed, of another form, or out of range."""
    broken = column.broken_rule(value)
    if broken:
        code, params = _BROKEN[broken](column)
        raise CellFault(code, **params)


def _flat(item: Mapping[str, Any]) -> dict[str, Any]:
    """An object with its source's parts beside the others: {"source": {"title", "url"}} is usual."""
    flat = {str(key): value for key, value in item.items() if value is not None}
    source = flat.get("source")
    if isinstance(source, Mapping):
        flat["source"] = source.get("id") or source.get("title") or ""
        if source.get("url"):
            flat["source_url"] = source["url"]
    return flat


def _money(header: HeaderCell, value: Any) -> Money:
    money = values.money_of(value)
    # 1.2万 under 价格(万元) means 12,000, not 120 million.
    scaled = header.scale != 1 and not (isinstance(value, str) and re.search("[万萬wW]", value))
    amount = money.amount * header.scale if scaled else money.amount
    if not 1e-6 <= amount <= 1e12:
        raise CellFault("out_of_range", low=1e-6, high=1e12)
    return Money(amount, money.currency or header.currency)


def _region(value: Any) -> str:
    region = normalise_region(values.text_of(value, 200))
    if region is None:
        raise CellFault("unknown_region")
    return region


def _json_object(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(values.unguard(value))
        except (ValueError, RecursionError) as error:
            raise CellFault("not_json") from error
    if not isinstance(value, dict):
        raise CellFault("not_an_object")
    try:
        refuse_deep(value)
    except ImportRefused as refused:
        raise CellFault(refused.code, **refused.params) from refused
    return value


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "text": values.text_of,
    "number": values.number_of,
    "count": values.count_of,
    "integer": values.integer_of,
    "currency": values.currency_of,
    "boolean": values.boolean_of,
    "fraction": values.fraction_of,
    "days": values.days_of,
    "months": values.months_of,
    "region": _region,
    "json": _json_object,
}
_BROKEN: Mapping[str, Callable[[Column], tuple[str, dict[str, Any]]]] = {
    "choices": lambda column: ("unknown_value", {"allowed": [word for word in column.choices if word]}),
    "pattern": lambda _: ("not_valid", {}),
    "low": lambda column: ("too_small", {"limit": column.low}),
    "high": lambda column: ("too_large", {"limit": column.high}),
}
