"""Finding the header row of a table and what each of its cells means."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.catalog.columns.kinds import Column, DataKind, header_key
from app.catalog.imports.values import CURRENCY_WORDS, is_empty, shown
from app.catalog.names import normalise_name

SEARCHED_ROWS = 30
"""Titles, dates and addresses may stand above the header; it is looked for among so many rows."""
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
