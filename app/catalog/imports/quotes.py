"""Suppliers' quotes as they come: titles and dates above the table, totals below it, items in free words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from sqlalchemy import Connection, select

from app.catalog import tables
from app.catalog.imports import values
from app.catalog.imports.columns import PER_WORDS, QUOTES
from app.catalog.imports.complete import Completer, Incomplete, Rows, take_money
from app.catalog.imports.doubts import Doubt
from app.catalog.imports.files import Sheet
from app.catalog.imports.headers import Header, HeaderCell
from app.catalog.imports.references import References, read_rates
from app.catalog.imports.rows import Parsed, Record
from app.catalog.imports.values import CellFault, is_empty
from app.catalog.market import market_prices
from app.catalog.names import normalise_name
from app.catalog.seed_read import natural_id
from app.catalog.seed_spec import SeedFile
from app.catalog.versions import table_of
from app.core.gpu import RATE_FIGURES
from app.core.quotes import DOUBTFUL, QuotedCard, QuoteLine, flags, normalise

MAX_CANDIDATES = 8
_KEY = SeedFile(
    "quotes",
    tables.QuoteRow,
    {},
    key=(
        "supplier",
        "item_as_written",
        "gpu_id",
        "quantity",
        "unit_price",
        "currency",
        "per",
        "tax",
        "tax_rate",
        "invoice",
        "condition",
        "quoted_on",
        "valid_until",
        "note",
    ),
)
_TITLES = (
    "supplier",
    "quoted_on",
    "valid_until",
    "currency",
    "payment_terms",
    "invoice",
    "tax_rate",
    "delivery_days",
    "warranty_months",
)
"""What may be said once for all rows, above the table or below it."""
_FOOTER = re.compile(r"合\s*计|总\s*计|小\s*计|总\s*价|total|备\s*注|说\s*明|注\s*[:：]")
_LABELLED = re.compile(r"\s*([^:：]{1,20})[:：]\s*(.+)", re.DOTALL)
_COMPANY = re.compile(r"(?:公司|厂|集团|经营部|工作室|co\.?,? ?ltd\.?|inc\.?|gmbh)\s*$", re.IGNORECASE)
_BUYER = re.compile(r"致|客户|需方|买方|甲方|采购方|采购单位|收件")
_EIGHT = re.compile(r"8\s*卡|八卡|8\s*[x×*]|[x×*]\s*8(?![0-9])|8[- ]?gpu", re.IGNORECASE)
_WHOLE = re.compile(r"台|套|整机|服务器|server|node|machine", re.IGNORECASE)
_RELATIVE = re.compile(r"([0-9]+)\s*(?:个)?\s*(?:工作日|天|日|days?)")
_WORD = re.compile(r"[a-z0-9]")


def with_titles(records: Sequence[Record], sheet: Sheet, header: Header) -> list[Record]:
    """The records of the table, totals left out, with what the lines around it say for all of them."""
    rows = dict(zip(sheet.lines, sheet.rows, strict=True))
    table = [record for record in records if not _is_footer(record, rows[record.line])]
    lines = {record.line for record in table} | {sheet.lines[header.row]}
    said = _said_around([row for line, row in rows.items() if line not in lines])
    found = []
    for record in table:
        cells = dict(record.cells)
        for name, cell in said.items():
            if name not in cells or is_empty(cells[name][1]):
                cells[name] = cell
        found.append(Record(record.line, cells))
    return found


def make(maker: Completer, parsed: Parsed) -> Rows:
    """A quote row from typed cells; the card must have been confirmed."""
    given = dict(parsed.values)
    for name in ("source", "source_url"):
        given.pop(name, None)
    _price(given)
    if not given.get("supplier"):
        raise Incomplete("supplier", "required")
    item = given.setdefault("item_as_written", "")
    if "gpu_id" not in given:
        given["gpu_id"] = _card(item, maker.references)
    _unit(given)
    quoted_on = given.setdefault("quoted_on", maker.today.isoformat())
    if len(quoted_on) != 10:
        raise Incomplete("quoted_on", "day_needed")
    given["valid_until"] = _valid_until(given.get("valid_until", ""), quoted_on)
    if given.get("quantity", 1) < 1:
        raise Incomplete("quantity", "too_small", limit=1)
    row = {
        name: given.get(name, info.get_default())
        for name, info in tables.QuoteRow.model_fields.items()
        if name not in ("id", "withdrawn", "held")
    }
    row |= {"withdrawn": False, "held": ""}
    row["id"] = natural_id(_KEY, row)
    return {tables.QuoteRow: [row]}


def candidates(item: str, references: References) -> list[str]:
    """Cards whose name or alias stands in a text, word for word; the longest names first.

    Never fuzzy: a name counts where it begins and ends at the edge of a word. The buyer chooses.
    """
    text = normalise_name(item)
    found: dict[str, int] = {}
    for name, gpu_id in references.names_of_gpus.items():
        if len(name) < 2 or name.isdigit() and len(name) < 4:
            continue
        at = text.find(name)
        while at >= 0:
            before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
            if not (_WORD.match(before) and _WORD.match(name[0])) and not (
                _WORD.match(after) and _WORD.match(name[-1])
            ):
                found[gpu_id] = max(found.get(gpu_id, 0), len(name))
                break
            at = text.find(name, at + 1)
    ranked = sorted(found, key=lambda gpu_id: (-found[gpu_id], gpu_id))
    return ranked[:MAX_CANDIDATES]


def doubts_of(connection: Connection, rows: Sequence[Mapping[str, Any]], today: date) -> dict[int, Doubt]:
    """Quotes that should drive no choice before somebody has looked: position -> the first doubt."""
    cards = quoted_cards(connection, sorted({row["gpu_id"] for row in rows}))
    rates = read_rates(connection)
    market = market_prices(connection, sorted({row["gpu_id"] for row in rows}), today, rates)
    found: dict[int, Doubt] = {}
    for at, row in enumerate(rows):
        line = line_of(row)
        use = rates.to_cny(line.currency, today)
        if use is None:
            continue
        price = normalise(line, use.rate).gross_cny_per_card
        usual = market.get((line.gpu_id, line.condition))
        for flag in flags(line, cards[line.gpu_id], price, usual, today):
            if flag.code in DOUBTFUL:
                name = "item_as_written" if flag.code == "quote_memory_mismatch" else "unit_price"
                found[at] = Doubt(name, flag.code, dict(flag.params))
                break
    return found


def line_of(row: Mapping[str, Any]) -> QuoteLine:
    """The quote of a row as the comparison takes it."""
    names = QuoteLine.__dataclass_fields__
    return QuoteLine(**{name: row[name] for name in names})


def quoted_cards(connection: Connection, gpu_ids: Sequence[str]) -> dict[str, QuotedCard]:
    """What the checks need of cards."""
    gpu, figure = table_of(tables.GpuRow), table_of(tables.GpuFigureRow)
    figures: dict[str, dict[str, float]] = {}
    wanted = ("memory_gib", *RATE_FIGURES)
    query = select(figure).where(figure.c.chosen, figure.c.gpu_id.in_(gpu_ids), figure.c.figure.in_(wanted))
    for r in connection.execute(query):
        figures.setdefault(r.gpu_id, {})[r.figure] = r.value
    found = {}
    for r in connection.execute(select(gpu).where(gpu.c.id.in_(gpu_ids))):
        values_of = figures.get(r.id, {})
        found[r.id] = QuotedCard(r.name, values_of.pop("memory_gib", None), r.gpus_per_board, values_of)
    return found


def _is_footer(record: Record, row: Sequence[Any]) -> bool:
    first = next((str(cell) for cell in row if not is_empty(cell)), "")
    prices = ("unit_price", "unit_price_gross", "unit_price_net")
    nothing = ("item_as_written", "gpu_id", *prices)
    return bool(_FOOTER.match(first.strip().lower())) or all(
        name not in record.cells or is_empty(record.cells[name][1]) for name in nothing
    )


def _said_around(rows: Sequence[Sequence[Any]]) -> dict[str, tuple[HeaderCell, Any]]:
    known = {normalise_name(h): QUOTES.column(n) for n in _TITLES for h in QUOTES.column(n).headers}
    found: dict[str, tuple[HeaderCell, Any]] = {}

    def note(label: str, value: Any) -> None:
        column = known.get(normalise_name(label))
        if column is not None and not is_empty(value):
            found.setdefault(column.field, (HeaderCell(-1, label.strip(), column), value))

    for row in rows:
        cells = [cell for cell in row if not is_empty(cell)]
        for at, cell in enumerate(cells):
            if not isinstance(cell, str):
                continue
            # Several of them may share a cell, one below the other or with wide gaps between.
            for part in re.split(r"\n|\s{3,}|；|;", cell):
                labelled = _LABELLED.fullmatch(part)
                if labelled:
                    note(labelled[1], labelled[2].strip())
            if at + 1 < len(cells):
                note(cell.rstrip(":： "), cells[at + 1])
    if "supplier" not in found:
        titles = [str(c).strip() for row in rows for c in row if isinstance(c, str)]
        companies = [t for t in titles if _COMPANY.search(t) and not _BUYER.search(t) and len(t) <= 60]
        if companies:
            found["supplier"] = (HeaderCell(-1, "supplier", QUOTES.column("supplier")), companies[0])
    return found


def _price(given: dict[str, Any]) -> None:
    """One unit price with its tax basis, from whichever of the three columns is filled."""
    named = [n for n in ("unit_price_gross", "unit_price_net", "unit_price") if n in given]
    if not named:
        raise Incomplete("unit_price", "required")
    gross, net = given.get("unit_price_gross"), given.get("unit_price_net")
    rate = given.get("tax_rate")
    if gross and net:
        implied = gross.amount / net.amount - 1
        if rate is not None and abs(implied - rate) > 0.005:
            raise Incomplete("unit_price_gross", "tax_mismatch", implied_percent=round(implied * 100, 1))
        given["tax_rate"] = round(implied, 2) if rate is None else rate
    amount = take_money(given, named[0], "CNY")
    for name in ("unit_price_gross", "unit_price_net", "unit_price"):
        given.pop(name, None)
    if amount <= 0:
        raise Incomplete(named[0], "too_small", limit=0)
    given["unit_price"] = amount
    if named[0] != "unit_price":
        given["tax"] = "included" if named[0] == "unit_price_gross" else "excluded"


def _card(item: str, references: References) -> str:
    if not item:
        raise Incomplete("item_as_written", "required")
    try:
        return references.gpu(item)
    except CellFault as fault:
        named = fault.params.get("candidates") or candidates(item, references)
        raise Incomplete(
            "item_as_written", "card_not_confirmed", value=item[:200], candidates=named
        ) from fault


def _unit(given: dict[str, Any]) -> None:
    """Card or server of eight; a machine of which nobody says how many cards it holds is asked about."""
    text = normalise_name(str(given.pop("per", "card")))
    known = {"card": "card", "server-8": "server-8"} | {normalise_name(k): v for k, v in PER_WORDS.items()}
    if text in known:
        given["per"] = known[text]
    elif _WHOLE.search(text):
        if not _EIGHT.search(f"{text} {given['item_as_written']} {given.get('note', '')}"):
            raise Incomplete("per", "unit_unclear", value=text[:80])
        given["per"] = "server-8"
    else:
        raise Incomplete("per", "unknown_value", value=text[:80], allowed=["card", "server-8"])


def _valid_until(text: str, quoted_on: str) -> str:
    """The last day: as written, or so many days after the quote."""
    if not text:
        return ""
    relative = _RELATIVE.search(values.text_of(text))
    try:
        last = values.date_of(text, whole_day=True)
    except CellFault as fault:
        if relative is None:
            raise Incomplete(
                "valid_until", "not_a_date" if fault.code != "ambiguous_date" else fault.code
            ) from fault
        last = (date.fromisoformat(quoted_on) + timedelta(days=int(relative[1]))).isoformat()
    if last < quoted_on:
        raise Incomplete("valid_until", "valid_before_quoted")
    return last
