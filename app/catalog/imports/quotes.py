"""Suppliers' quotes as they come: titles and dates above the table, totals below it, items in free words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from sqlalchemy import Connection, select

from app.catalog import tables
from app.catalog.columns.cells import PER_WORDS
from app.catalog.columns.observations import QUOTES
from app.catalog.imports import values
from app.catalog.imports.complete import Completer, Incomplete, Rows, take_money
from app.catalog.imports.doubts import Doubt
from app.catalog.imports.files import Sheet
from app.catalog.imports.headers import Header
from app.catalog.imports.quote_titles import JOIN, PRICES, is_total, said_around, tax_cells, with_joined
from app.catalog.imports.references import References, read_rates
from app.catalog.imports.rows import Parsed, Record
from app.catalog.imports.values import CellFault, is_empty
from app.catalog.market import market_prices
from app.catalog.names import normalise_name
from app.catalog.seed_read import natural_id
from app.catalog.versions import table_of
from app.core.estimates import Message
from app.core.gpu import RATE_FIGURES
from app.core.quote_words import UNCLEAR, card_sizes, unit_words
from app.core.quotes import DOUBTFUL, QuotedCard, QuoteLine, flags, normalise

MAX_CANDIDATES = 8
_PER = {"card": "card", "server-8": "server-8"} | {normalise_name(k): v for k, v in PER_WORDS.items()}
_RELATIVE = re.compile(r"([0-9]+)\s*(?:个)?\s*(?:工作日|天|日|days?)")
_WORD = re.compile(r"[a-z0-9]")


def with_titles(records: Sequence[Record], sheet: Sheet, header: Header) -> list[Record]:
    """The records of the table, totals left out, with what the lines around it say for all of them."""
    rows = dict(zip(sheet.lines, sheet.rows, strict=True))
    table = [
        with_joined(record, rows[record.line], header)
        for record in records
        if not is_total(record, rows[record.line])
    ]
    lines = {record.line for record in table} | {sheet.lines[header.row]}
    said = said_around([row for line, row in rows.items() if line not in lines])
    found = []
    for record in table:
        cells = dict(record.cells)
        own = tax_cells(cells)
        cells |= {name: cell for name, cell in own.items() if name in PRICES}
        for name, cell in (*own.items(), *said.items()):
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
    _unit(given, parsed)
    today = maker.today.isoformat()
    quoted_on = given.get("quoted_on") or today
    if len(quoted_on) != 10:
        raise Incomplete("quoted_on", "day_needed")
    last = _valid_until(given.get("valid_until", ""), quoted_on)
    if last and last < quoted_on:
        if "quoted_on" in given:
            raise Incomplete("valid_until", "valid_before_quoted")
        # Without a date of its own a quote that has run out was made on its last day at the latest.
        quoted_on = last
    given["quoted_on"], given["valid_until"] = quoted_on, last
    if given.get("quantity", 1) < 1:
        raise Incomplete("quantity", "too_small", limit=1)
    row = {
        name: given.get(name, info.get_default())
        for name, info in tables.QuoteRow.model_fields.items()
        if name not in ("id", "withdrawn", "held")
    }
    row |= {"withdrawn": False, "held": ""}
    row["id"] = natural_id(QUOTES, row)
    return {tables.QuoteRow: [row]}


def candidates(item: str, references: References) -> list[str]:
    """Cards whose name or alias stands in a text, word for word; the longest names first.

    Never fuzzy: a name counts where it begins and ends at the edge of a word. The buyer chooses.
    """
    text = normalise_name(item)
    found: dict[str, tuple[int, int]] = {}
    for name, gpu_id in references.names_of_gpus.items():
        if len(name) < 2 or name.isdigit() and len(name) < 4:
            continue
        at = text.find(name)
        while at >= 0:
            before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
            if not (_WORD.match(before) and _WORD.match(name[0])) and not (
                _WORD.match(after) and _WORD.match(name[-1])
            ):
                found[gpu_id] = max(found.get(gpu_id, (0, 0)), (len(name), at))
                break
            at = text.find(name, at + 1)
    _by_memory(found, text, references)
    ranked = sorted(found, key=lambda gpu_id: (-found[gpu_id][0], gpu_id))
    return ranked[:MAX_CANDIDATES]


def _by_memory(found: dict[str, tuple[int, int]], text: str, references: References) -> None:
    """Let the memory that a text states decide between the variants of a card: H20 ... 141G is no H20 96 GB.

    A name that lies within a longer one (H20 in H20 141G) is no candidate of its own.
    """
    whole = {gpu_id: (at, at + length) for gpu_id, (length, at) in found.items()}
    for gpu_id, (start, end) in whole.items():
        if any(a <= start and end <= b and (a, b) != (start, end) for a, b in whole.values()):
            del found[gpu_id]
    sizes = card_sizes(text)
    for gpu_id in list(found):
        length, at = found[gpu_id]
        name = text[at : at + length]
        words = name.split()
        # Without its first words too: HGX H20 141G is sold as H20 141G.
        short = [" ".join(words[first:]) for first in range(len(words))]
        sized = (f"{n} {size}{unit}" for n in short for size in sizes for unit in ("g", "gb"))
        meant = next((references.names_of_gpus[n] for n in sized if n in references.names_of_gpus), "")
        if meant and meant != gpu_id:
            del found[gpu_id]
            found[meant] = (length + 1, at)


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
    wanted = ("memory_gib", *RATE_FIGURES, "fp16_fp16acc_tflops", "fp8_fp16acc_tflops")
    query = select(figure).where(figure.c.chosen, figure.c.gpu_id.in_(gpu_ids), figure.c.figure.in_(wanted))
    for r in connection.execute(query):
        figures.setdefault(r.gpu_id, {})[r.figure] = r.value
    found = {}
    for r in connection.execute(select(gpu).where(gpu.c.id.in_(gpu_ids))):
        values_of = figures.get(r.id, {})
        found[r.id] = QuotedCard(r.name, values_of.pop("memory_gib", None), r.gpus_per_board, values_of)
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


def named_exactly(item: str, references: References) -> str:
    """The card whose name a text is, or its first part where further columns were put behind it.

    Errors
    ------
    CellFault when it is no name, with the candidates where it is that of several.
    """
    try:
        return references.gpu(item)
    except CellFault:
        if JOIN not in item:
            raise
        return references.gpu(item.split(JOIN)[0])


def _card(item: str, references: References) -> str:
    if not item:
        raise Incomplete("item_as_written", "required")
    try:
        return named_exactly(item, references)
    except CellFault as fault:
        named = fault.params.get("candidates") or candidates(item, references)
        raise Incomplete(
            "item_as_written", "card_not_confirmed", value=item[:200], candidates=named
        ) from fault


def _unit(given: dict[str, Any], parsed: Parsed) -> None:
    """Card or server of eight; a machine of which nobody says how many cards it holds is asked about."""
    unit = str(given.pop("per", ""))
    stated = _PER.get(normalise_name(unit))
    if stated is not None:
        given["per"] = stated
        return
    item = given["item_as_written"]
    text = f"{item} {given.get('note', '')}" if unit else item
    meant = unit_words(text, unit, given.get("quantity", 1))
    if meant == UNCLEAR:
        raise Incomplete("per", "unit_unclear", value=(unit or item)[:80])
    if unit and not meant:
        raise Incomplete("per", "unknown_value", value=unit[:80], allowed=["card", "server-8"])
    given["per"] = meant or "card"
    if meant == "server-8":
        parsed.notes.append(Message("quote_per_from_words"))


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
    return last
