"""Cells as people write them: amounts, dates, shares and words, in Chinese or English. Pure.

A reader gives the value or raises `CellFault`; where a cell can be read in two ways it is refused.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as made
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

MAX_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class RowFault:
    """One cell at fault.

    `line` is that of the file (of a JSON list: the index of the item, from 0), 0 for the file as a whole;
    `column` the header as written; `field` the name in the catalogue.
    """

    line: int
    column: str
    field: str
    value: str
    code: str
    params: Mapping[str, Any] = made(default_factory=dict)
    confirmable: bool = False
    """Readable, but far from what is known: accepted when a person confirms it."""


class ImportRefused(ValueError):
    """The file as a whole cannot be read; nothing was looked at row by row."""

    def __init__(self, code: str, **params: Any) -> None:
        super().__init__(code)
        self.code = code
        self.params = params


MAX_TEXT = 2_000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_GUARDED = ("=", "+", "-", "@", "\t", "\r", "'")
_PLAIN = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]{1,3})?|\.[0-9]+")
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_SCALES = {"万": 1e4, "萬": 1e4, "w": 1e4, "千": 1e3, "k": 1e3, "亿": 1e8, "億": 1e8}
_COUNT_SCALES = _SCALES | {"m": 1e6, "million": 1e6, "b": 1e9, "billion": 1e9, "t": 1e12, "百万": 1e6}
# The longest first: NT$ before $.
_SYMBOLS = (
    ("us$", "USD"),
    ("nt$", "TWD"),
    ("hk$", "HKD"),
    ("s$", "SGD"),
    ("usd", "USD"),
    ("cny", "CNY"),
    ("rmb", "CNY"),
    ("twd", "TWD"),
    ("ntd", "TWD"),
    ("hkd", "HKD"),
    ("eur", "EUR"),
    ("jpy", "JPY"),
    ("gbp", "GBP"),
    ("人民币", "CNY"),
    ("新台币", "TWD"),
    ("新臺幣", "TWD"),
    ("台币", "TWD"),
    ("臺幣", "TWD"),
    ("港币", "HKD"),
    ("港元", "HKD"),
    ("美元", "USD"),
    ("美金", "USD"),
    ("欧元", "EUR"),
    ("日元", "JPY"),
    ("英镑", "GBP"),
    ("元整", "CNY"),
    ("元", "CNY"),
    ("块", "CNY"),
    ("€", "EUR"),
    ("£", "GBP"),
    ("¥", "CNY"),
    ("$", "$"),
)
DOLLAR = "$"
"""A bare dollar sign: of the US, Taiwan or Hong Kong, which only another cell can say."""
CURRENCY_WORDS: Mapping[str, str] = {
    **{word: code for word, code in _SYMBOLS if code != DOLLAR},
    "cnh": "CNY",
    "yuan": "CNY",
    "dollar": "USD",
}
CURRENCIES = frozenset(
    "AED ARS AUD BDT BGN BHD BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KRW KWD"
    " KZT LKR MAD MOP MXN MYR NGN NOK NZD OMR PEN PHP PKR PLN QAR RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD"
    " VND ZAR".split()
)
"""ISO 4217 codes of the currencies in which hardware is sold; whatever else is written is a slip."""
_DATE = re.compile(r"([0-9]{4})(?:[-/.年]([0-9]{1,2})(?:[-/.月]([0-9]{1,2})日?|月?)|年)?")
_COMPACT = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
_DAY_FIRST = re.compile(r"[0-9]{1,2}[-/.][0-9]{1,2}[-/.](?:[0-9]{4}|[0-9]{2})")
_SERIAL = re.compile(r"[0-9]{5}(\.[0-9]+)?")
_EXCEL_EPOCH = date(1899, 12, 30)
# 1954 .. 2119: outside of it a bare number is no date that a table of prices would hold.
_SERIALS = (20_000, 80_000)
_CLOCK = re.compile(r"(?<=[0-9])t[0-9:.]+(z|[+-][0-9:]+)?$|(?<=[0-9日])[0-9]{2}:[0-9]{2}(:[0-9]{2})?$")
_TRUE = frozenset({"true", "yes", "y", "1", "是", "有", "√", "对"})
_FALSE = frozenset({"false", "no", "n", "0", "否", "无", "×", "x", "不"})
_DIGITS = {"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10}


class CellFault(ValueError):
    """A cell cannot be read; `code` and `params` say why."""

    def __init__(self, code: str, **params: Any) -> None:
        super().__init__(code)
        self.code = code
        self.params = params


@dataclass(frozen=True, slots=True)
class Money:
    """An amount, with the currency if the cell says it."""

    amount: float
    currency: str = ""


def guard(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_GUARDED) else text


def unguard(text: str) -> str:
    """The text behind `guard`; any other stays as it is."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_GUARDED) else text


def shown(value: object) -> str:
    """What a cell holds, short enough to stand in a report."""
    text = value.isoformat() if isinstance(value, date) else str(value)
    return text if len(text) <= 80 else text[:79] + "…"


def is_empty(value: object) -> bool:
    """Whether a cell says nothing: empty, blank, or a dash in its place."""
    return value is None or (
        isinstance(value, str) and value.strip() in ("", "-", "—", "–", "/", "N/A", "n/a")
    )


def text_of(value: object, limit: int = MAX_TEXT) -> str:
    """A trimmed text without control characters; a number as it would be written."""
    if isinstance(value, bool):
        raise CellFault("not_a_text")
    if isinstance(value, (datetime, date)):
        return value.isoformat()[:10]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    if not isinstance(value, (str, int, float)):
        raise CellFault("not_a_text")
    text = unguard(str(value).replace("\r\n", "\n").strip()).strip()
    if len(text) > limit:
        raise CellFault("too_long", limit=limit)
    if _CONTROL.search(text):
        raise CellFault("not_plain_text")
    return text


def number_of(value: object, scales: Mapping[str, float] = _SCALES) -> float:
    """A finite number: 12999, 12,999.00, １２９９９, 1.2万."""
    if isinstance(value, bool):
        raise CellFault("not_a_number")
    if isinstance(value, (int, float)):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise CellFault("not_finite")
        return number
    if not isinstance(value, str):
        raise CellFault("not_a_number")
    return _number(_normal(value), scales)


def count_of(value: object) -> float:
    """A large count: 8.03B, 70亿, 7e9."""
    return number_of(value, _COUNT_SCALES)


def integer_of(value: object) -> int:
    """A whole number; a unit of pieces behind it may stand."""
    if isinstance(value, str):
        value = re.sub(r"\s*(张|片|块|卡|台|套|个|pcs|pc|件)$", "", _normal(value))
    number = number_of(value)
    if number != int(number) or abs(number) >= 2**31:
        raise CellFault("not_an_integer")
    return int(number)


def money_of(value: object) -> Money:
    """An amount with or without a currency: ¥12999, ￥12,999.00, 12,999元, 1.2万, US$1,599, NT$ 39,990."""
    if not isinstance(value, str):
        return Money(number_of(value))
    text = _normal(value)
    found = ""
    for word, code in _SYMBOLS:
        if text.startswith(word) or text.endswith(word):
            text = text.removeprefix(word).removesuffix(word).strip()
            if found not in ("", code):
                raise CellFault("currency_twice")
            found = code
    return Money(_number(text, _SCALES), found)


def currency_of(value: object) -> str:
    """ISO code of a currency in any usual spelling."""
    text = _normal(text_of(value))
    code = CURRENCY_WORDS.get(text, text.upper())
    if code not in CURRENCIES:
        raise CellFault("unknown_currency")
    return code


def date_of(value: object, *, whole_day: bool = False) -> str:
    """An observation's date as YYYY-MM-DD, YYYY-MM or YYYY.

    Notes
    -----
    The year comes first; 7/1/2026 may be January or July and is refused. A bare number is the serial date of
    a spreadsheet (day 1 = 1900-01-01).
    """
    if isinstance(value, date):
        return value.isoformat()[:10]
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise CellFault("not_a_date")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = _CLOCK.sub("", _normal(unguard(str(value).strip())).replace(" ", ""))
    if _DAY_FIRST.fullmatch(text):
        raise CellFault("ambiguous_date")
    return _serial_day(text) if _SERIAL.fullmatch(text) else _written_day(text, whole_day)


def _serial_day(text: str) -> str:
    serial = int(float(text))
    if not _SERIALS[0] <= serial <= _SERIALS[1]:
        raise CellFault("not_a_date")
    return (_EXCEL_EPOCH + timedelta(days=serial)).isoformat()


def _written_day(text: str, whole_day: bool) -> str:
    found = _COMPACT.fullmatch(text) or _DATE.fullmatch(text)
    if found is None:
        raise CellFault("not_a_date")
    year, month, day = int(found[1]), int(found[2] or 0), int(found[3] or 0)
    try:
        checked = date(year, month or 1, day or 1)
    except ValueError:
        raise CellFault("not_a_date") from None
    if not 1990 <= year <= 2100 or (whole_day and not day):
        raise CellFault("not_a_date")
    return checked.isoformat()[: 10 if day else 7 if month else 4]


def fraction_of(value: object) -> float:
    """A share: 13%, 0.13, or 13 (from 1 on, percent is meant)."""
    if isinstance(value, str):
        text = _normal(value)
        percent = text.endswith("%")
        number = _number(text.removesuffix("%").strip(), {})
        number = number / 100 if percent or number >= 1 else number
    else:
        number = number_of(value)
        number = number / 100 if number >= 1 else number
    if not 0 <= number <= 1:
        raise CellFault("out_of_range", low=0, high=1)
    return round(number, 6)


def days_of(value: object) -> int:
    """Days until delivery: 7, 现货, 2周, 3-5天 (the later), 10个工作日, 1个月."""
    if not isinstance(value, str):
        return integer_of(value)
    text = _chinese_digits(_normal(value)).replace(" ", "")
    if text.startswith(("现货", "in stock", "instock", "即时")):
        return 0
    found = re.search(
        r"([0-9]+)(?:[-~至到]([0-9]+))?(?:个)?(工作日|天|日|周|星期|月|days?|weeks?|months?|business)?", text
    )
    if found is None:
        raise CellFault("not_a_duration")
    unit = found[3] or ""
    factor = 7 if unit.startswith(("周", "星期", "week")) else 30 if unit.startswith(("月", "month")) else 1
    return int(found[2] or found[1]) * factor


def months_of(value: object) -> int:
    """Months of warranty: 36, 3年, 三年质保, 36个月."""
    if not isinstance(value, str):
        return integer_of(value)
    text = _chinese_digits(_normal(value)).replace(" ", "")
    if text in ("无", "没有", "none", "no"):
        return 0
    found = re.search(r"([0-9]+)(?:个)?(年|月|years?|months?)?", text)
    if found is None:
        raise CellFault("not_a_duration")
    return int(found[1]) * (12 if (found[2] or "").startswith(("年", "year")) else 1)


def boolean_of(value: object) -> bool:
    """是 / 否, yes / no, true / false, 1 / 0."""
    if isinstance(value, bool):
        return value
    text = _normal(str(value)) if isinstance(value, (str, int)) else ""
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise CellFault("not_a_boolean")


def _normal(text: str) -> str:
    """Half width, lower case, no blanks around; ￥ and ¥ become one sign, full-width digits plain ones."""
    return unicodedata.normalize("NFKC", text).strip().lower().replace("，", ",")


def _number(text: str, scales: Mapping[str, float]) -> float:
    factor = 1.0
    for word in sorted(scales, key=len, reverse=True):
        if text.endswith(word) and len(text) > len(word):
            text, factor = text.removesuffix(word).strip(), scales[word]
            break
    sign = -1.0 if text.startswith("-") else 1.0
    text = text.removeprefix("-").removeprefix("+").strip()
    if "," in text:
        # 12,99 may be a European decimal or a slip: only groups of three are groups.
        if not _GROUPED.fullmatch(text):
            raise CellFault("not_a_number")
        text = text.replace(",", "")
    if len(text) > 40 or not _PLAIN.fullmatch(text):
        raise CellFault("not_a_number")
    number = float(text)
    if not math.isfinite(number):
        raise CellFault("not_finite")
    # In decimals: 8.03 x 1e9 is 8,030,000,000, not 8,029,999,999.999999.
    return sign * float(Decimal(text) * Decimal(factor))


def _chinese_digits(text: str) -> str:
    return "".join(str(_DIGITS[c]) if c in _DIGITS else c for c in text)
