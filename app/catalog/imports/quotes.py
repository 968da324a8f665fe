"""Suppliers' quotes as they come: titles and dates above the table, totals below it, items in free words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from sqlalchemy import Connection, select

from app.catalog import tables
from app.catalog.columns.cells import PER_WORDS
from app.catalog.columns.observations import PRICES, QUOTES
from app.catalog.imports import values
from app.catalog.imports.complete import Completer, Incomplete, Rows, take_money
from app.catalog.imports.doubts import Doubt
from app.catalog.imports.references import References, read_rates
from app.catalog.imports.rows import Header, HeaderCell, Parsed, Record
from app.catalog.imports.sheets import Sheet
from app.catalog.imports.values import CellFault, is_empty
from app.catalog.names import normalise_name
from app.catalog.prices import CardPrices
from app.catalog.rates import Rates
from app.catalog.records import PriceObservation
from app.catalog.seed import natural_id
from app.catalog.versions import table_of
from app.core.estimates import Message
from app.core.gpu import RATE_FIGURES, Source
from app.core.question import CONDITIONS, PriceRules
from app.core.quotes import (
    DOUBTFUL,
    UNCLEAR,
    QuotedCard,
    QuoteLine,
    TaxWords,
    amount_words,
    card_sizes,
    flags,
    normalise,
    tax_words,
    unit_words,
)

Cell = tuple[HeaderCell, Any]
Cells = Mapping[str, Cell]
JOIN = "; "
"""Between the model and what further columns say of the item."""
MAX_TITLE = 2_000
"""Characters of a title or a term that are looked at."""
MAX_AROUND = 60
"""Lines above and below a table that may say something of all of it."""
PRICE_FIELDS = ("unit_price", "unit_price_gross", "unit_price_net")
_SAID_ONCE = (
    "supplier",
    "quoted_on",
    "valid_until",
    "currency",
    "payment_terms",
    "invoice",
    "tax",
    "tax_rate",
    "delivery_days",
    "warranty_months",
)
"""What may be said once for all rows, above the table or below it."""
_SELLER = ("供方", "卖方", "乙方", "供货单位", "供应单位", "销售方", "报价公司", "报价供应商", "seller")
_TOTAL = re.compile(
    r"(?:[(（]?[0-9一二三四五六七八九十]+[)）、.]\s*)?(?:金额|费用|价税|含税|报价|设备)?\s*(?:合|总|小|共)\s*计|"
    r"总\s*(?:价|额|金额)|(?:grand\s*|sub[\s-]*)?total(?![a-z])|大写"
)
_REMARK = re.compile(r"备\s*注|说\s*明|注\s*[:：]")
# What a lone sentence below the table speaks of; a lone model name is a line without its price.
_TERMS = re.compile(
    r"以上|[此本]报?价|有效|付款|交货|货期|质保|运费|联系|电话|开户|账号|地址|盖章|签字|[:：。]"
)
_LABELLED = re.compile(r"\s*([^:：]{1,20})[:：]\s*(.+)", re.DOTALL)
_COMPANY = re.compile(
    r"(?P<name>[^:：]{1,56}(?:公司|厂|集团|经营部|工作室|co\.?,? ?ltd\.?|inc\.?|gmbh))"
    r"[\s\-—–_·|]*(?P<rest>.*)",
    re.IGNORECASE,
)
_TITLE_WORDS = re.compile(
    r"报\s*价|询\s*价|比\s*价|价格|清单|quot|offer|price|盖章|公章|[(（]", re.IGNORECASE
)
_TITLE_FIRST = re.compile(
    r"(?:产品|设备|服务器|显卡)?(?:报价[单表函书]?|quotation)[\s\-—–:：|_]+", re.IGNORECASE
)
_BUYER = re.compile(r"致|客户|需方|买方|甲方|采购方|采购单位|收件|to\b", re.IGNORECASE)
_PER_IN_HEADER = re.compile(r"[/每]\s*(台|套|整机|张|块|片|卡|server|card|gpu)", re.IGNORECASE)
_NAME_PARTS = re.compile(r"[\s_\-—–()（）\[\]【】.,，、+]+")
_PLAIN_WORDS = re.compile(
    r"(?:最终|正式|新|旧|修订|修改)?(?:产品|设备|服务器|显卡|整机|算力|gpu)*(?:报价|询价|比价|价格|采购|项目)*"
    r"(?:单|表|函|书|版|清单|汇总|对比)*[0-9]*(?:版|年|月|日|号|万|卡|台|张)*|"
    r"v?[0-9.]+|(?:table|sheet|book|quotes?|quotation|price|list|offer|final|copy|new|draft|工作簿|新建|副本|表格|文件|"
    r"upload|file|data|test|导出|xlsx?|csv|json|microsoft|excel)[0-9]*",
    re.IGNORECASE,
)


def is_total(record: Record, row: Sequence[Any]) -> bool:
    """Whether a row of the table is a total, a remark, or holds neither item nor price."""
    texts = [str(cell).strip().lower() for cell in row if not is_empty(cell)]
    worded = next((text for text in texts if re.search(r"[^\W\d_]", text)), "")
    if _TOTAL.match(worded) or (texts and _REMARK.match(texts[0])):
        return True
    if len(texts) == 1 and (_TERMS.search(worded) or tax_words(worded) != TaxWords()):
        return True
    nothing = ("item_as_written", "gpu_id", *PRICE_FIELDS)
    return all(name not in record.cells or is_empty(record.cells[name][1]) for name in nothing)


def with_joined(record: Record, row: Sequence[Any], header: Header) -> Record:
    """The record with what further columns say of the item behind it: H20 141G; 8 卡, 2T 内存."""
    if not header.joined:
        return record
    item = record.cells.get("item_as_written")
    cells = [item[1] if item else None, *(row[c.at] for c in header.joined if c.at < len(row))]
    texts = dict.fromkeys(" ".join(str(cell).split()) for cell in cells if not is_empty(cell))
    if item is None or not texts:
        return record
    return Record(record.line, {**record.cells, "item_as_written": (item[0], JOIN.join(texts))})


_LABELS = {normalise_name(h): QUOTES.by_name[n] for n in _SAID_ONCE for h in QUOTES.by_name[n].headers} | {
    normalise_name(word): QUOTES.by_name["supplier"] for word in _SELLER
}
"""Terms of a whole quote by what stands before them."""


def said_around(rows: Sequence[Sequence[Any]]) -> dict[str, Cell]:
    """Terms that hold for the whole table, by field, from the lines around it."""
    found: dict[str, Cell] = {}
    for label, value in _labelled(rows):
        column = _LABELS.get(normalise_name(label))
        if column is not None and not is_empty(value):
            found.setdefault(column.name, (HeaderCell(-1, column.english, column), value))
    texts = [cell[:MAX_TITLE].strip() for row in rows for cell in row if isinstance(cell, str)]
    if "supplier" not in found and (companies := [c for c in map(company_of, texts) if c]):
        found["supplier"] = _cell("supplier", companies[0])
    for name, value in _agreed(map(tax_words, texts)).items():
        found.setdefault(name, _cell(name, value))
    return found


def _labelled(rows: Sequence[Sequence[Any]]) -> Iterator[tuple[str, Any]]:
    """What may be a label and its value: 付款方式：月结 in one cell, or in two beside each other."""
    for row in rows:
        cells = [cell for cell in row if not is_empty(cell)]
        for at, cell in enumerate(cells):
            if not isinstance(cell, str):
                continue
            # Several of them may share a cell, one below the other or with wide gaps between.
            for part in re.split(r"\n|\s{3,}|；|;", cell[:MAX_TITLE]):
                labelled = _LABELLED.fullmatch(part)
                if labelled:
                    yield labelled[1], labelled[2].strip()
            if at + 1 < len(cells):
                yield cell[:MAX_TITLE].rstrip(":： "), cells[at + 1]


def company_of(title: str) -> str:
    """The company of a title (甲科技有限公司报价单); empty where it names none, or the buyer."""
    text = _TITLE_FIRST.sub("", title.strip(), count=1)
    found = _COMPANY.fullmatch(text)
    if found is None or _BUYER.match(text) or found["rest"] and not _TITLE_WORDS.search(found["rest"]):
        return ""
    return found["name"].strip()


def supplier_of_file(name: str) -> str:
    """The supplier that a file is named after: 甲科技 of 甲科技_H20报价_20261128.xlsx; empty when none is."""
    stem = re.sub(r"\.[A-Za-z]{2,5}$", "", name.replace("\\", "/").rsplit("/", 1)[-1])
    parts = [part for part in _NAME_PARTS.split(stem) if part]
    for part in parts:
        if found := _COMPANY.match(part):
            return found["name"]
    for part in parts:
        text = re.split(r"报价|询价|比价", part)[0] or part
        # Words of an office and names of cards are no supplier's.
        if len(text) > 1 and not _PLAIN_WORDS.fullmatch(text) and not re.search(r"[0-9]", text):
            return text
    return ""


def tax_cells(cells: Cells) -> dict[str, Cell]:
    """What a row's price says beside its amount: tax basis, rate, invoice and unit, and the bare amount.

    The cell itself comes first, then its header, then the note of the row.
    """
    price = next((n for n in PRICE_FIELDS if n in cells and not is_empty(cells[n][1])), "")
    if not price:
        return {}
    header, value = cells[price]
    in_cell = tax_words(value) if isinstance(value, str) else TaxWords()
    words = [in_cell, tax_words(header.text)]
    words += [tax_words(str(cells[n][1])) for n in ("note", "item_as_written") if n in cells]
    found: dict[str, Cell] = {}
    for name in ("tax", "tax_rate", "invoice"):
        stated = next((getattr(w, name) for w in words if getattr(w, name) not in ("", None)), None)
        if stated is not None and (name != "tax" or price == "unit_price"):
            found[name] = _cell(name, stated)
    per = _PER_IN_HEADER.search(header.text)
    if per:
        found["per"] = _cell("per", per[1])
    if in_cell != TaxWords():
        found[price] = (header, amount_words(str(value)))
    return found


def _agreed(words: Iterable[TaxWords]) -> dict[str, Any]:
    """What several texts say of tax where they agree."""
    said = list(words)
    found: dict[str, Any] = {}
    for name in ("tax", "tax_rate", "invoice"):
        stated = {getattr(w, name) for w in said} - {"", None}
        if len(stated) == 1:
            found[name] = stated.pop()
    return found


def _cell(name: str, value: Any) -> Cell:
    column = QUOTES.by_name[name]
    return HeaderCell(-1, column.english, column), value


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
    around = [row for line, row in rows.items() if line not in lines]
    said = said_around(
        around if len(around) <= 2 * MAX_AROUND else around[:MAX_AROUND] + around[-MAX_AROUND:]
    )
    found = []
    for record in table:
        cells = dict(record.cells)
        own = tax_cells(cells)
        cells |= {name: cell for name, cell in own.items() if name in PRICE_FIELDS}
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
    sizes = [f"{size}{unit}" for size in card_sizes(text) for unit in ("g", "gb")]
    for gpu_id in list(found):
        length, at = found[gpu_id]
        meant = _of_size(text[at : at + length], sizes, references.names_of_gpus)
        if meant and meant != gpu_id:
            del found[gpu_id]
            found[meant] = (length + 1, at)


def _of_size(name: str, sizes: Sequence[str], known: Mapping[str, str]) -> str:
    """The card that a name with a size behind it is; without its first words too: HGX H20 is sold as H20."""
    words = name.split()
    for first in range(len(words)):
        for size in sizes:
            meant = known.get(f"{' '.join(words[first:])} {size}")
            if meant:
                return meant
    return ""


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


def market_prices(
    connection: Connection, gpu_ids: Sequence[str], as_of: date, rates: Rates
) -> dict[tuple[str, str], float]:
    """Yuan for one card by (gpu id, condition), by the price rule; launch prices are no market.

    Parameters
    ----------
    gpu_ids: at most some hundreds.
    as_of: the day.
    """
    table = table_of(tables.PriceRow)
    observed = PRICES.maker(PriceObservation, {"source": lambda r: Source(r.source_id, "", r.source_id)})
    rows: dict[str, list[PriceObservation]] = {}
    for r in connection.execute(select(table).where(table.c.gpu_id.in_(gpu_ids))):
        rows.setdefault(r.gpu_id, []).append(observed(r))
    found: dict[tuple[str, str], float] = {}
    for gpu_id, observations in rows.items():
        card = CardPrices(gpu_id, observations)
        for condition in CONDITIONS:
            choice = card.choose_market(as_of, PriceRules(), condition, rates)
            if choice is not None:
                found[gpu_id, condition] = choice.amount_cny
    return found
