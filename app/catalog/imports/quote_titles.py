"""What stands around the table of a quote: who made it, when, on which terms, with or without tax."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.catalog.columns.observations import QUOTES
from app.catalog.imports.headers import Header, HeaderCell
from app.catalog.imports.rows import Record
from app.catalog.imports.values import is_empty
from app.catalog.names import normalise_name
from app.core.quote_words import TaxWords, amount_words, tax_words

Cell = tuple[HeaderCell, Any]
Cells = Mapping[str, Cell]
JOIN = "; "
"""Between the model and what further columns say of the item."""
PRICES = ("unit_price", "unit_price_gross", "unit_price_net")
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
    nothing = ("item_as_written", "gpu_id", *PRICES)
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


def said_around(rows: Sequence[Sequence[Any]]) -> dict[str, Cell]:
    """Terms that hold for the whole table, by field, from the lines around it."""
    known = {normalise_name(h): QUOTES.by_name[n] for n in _SAID_ONCE for h in QUOTES.by_name[n].headers}
    known |= {normalise_name(word): QUOTES.by_name["supplier"] for word in _SELLER}
    found: dict[str, Cell] = {}

    def note(label: str, value: Any) -> None:
        column = known.get(normalise_name(label))
        if column is not None and not is_empty(value):
            found.setdefault(column.name, (HeaderCell(-1, column.english, column), value))

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
    texts = [str(cell).strip() for row in rows for cell in row if isinstance(cell, str)]
    if "supplier" not in found and (companies := [c for c in map(company_of, texts) if c]):
        found["supplier"] = _cell("supplier", companies[0])
    for name, value in _agreed(map(tax_words, texts)).items():
        found.setdefault(name, _cell(name, value))
    return found


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
    price = next((n for n in PRICES if n in cells and not is_empty(cells[n][1])), "")
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
