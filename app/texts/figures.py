"""Figures as a reader sees them: digits by quantity, a no-break space before the unit, a true minus sign."""

from __future__ import annotations

import math

NBSP = "\u00a0"
MINUS = "\u2212"
RANGE = "\u2013"
SIGNIFICANT_DIGITS = 9

UNIT_NAMES = {
    "tokens_per_s": "tokens/s",
    "images_per_s": "images/s",
    "samples_per_s": "samples/s",
    "steps_per_s": "steps/s",
    "realtime_factor": "× real time",
    "gib": "GiB",
    "gb_s": "GB/s",
    "tflops": "TFLOPS",
    "tops": "TOPS",
    "w": "W",
    "kwh": "kWh",
    "hours": "h",
    "ms": "ms",
}
_CHINESE_UNITS = {
    "tokens_per_s": "token/s",
    "images_per_s": "图/s",
    "samples_per_s": "样本/s",
    "steps_per_s": "步/s",
    "realtime_factor": "倍实时",
    "hours": "小时",
}
_CURRENCY_SIGNS = {"CNY": "¥", "USD": "US$", "EUR": "€", "HKD": "HK$", "TWD": "NT$", "JPY": "JP¥", "GBP": "£"}


def round_significant(value: float, digits: int = SIGNIFICANT_DIGITS) -> float:
    """The value to a number of significant digits: what the JSON carries, free of false precision."""
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))


def format_number(value: float, digits: int = 0, language: str = "en") -> str:
    """Grouped digits with a fixed number of decimals."""
    # Both of our languages group by three with a comma; the locale library would take 40 times as long.
    del language
    text = f"{value:,.{digits}f}"
    # "-0.0" would say that a rounding error has a direction.
    if text.startswith("-") and not any(c in "123456789" for c in text):
        text = text[1:]
    return text.replace("-", MINUS)


def format_plain(value: float, language: str = "en") -> str:
    """Up to three significant decimals, none that are zero: for figures whose digits no rule fixes."""
    if float(value).is_integer() or abs(value) >= 1000:
        return format_number(value, 0, language)
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = format_number(value, min(digits, 6), language)
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_operand(value: float, language: str = "en") -> str:
    """Six significant digits, none that are zero: enough to work a formula out again."""
    if float(value).is_integer() or abs(value) >= 1e6:
        return format_number(value, 0, language)
    digits = max(0, 5 - math.floor(math.log10(abs(value))))
    text = format_number(value, min(digits, 12), language)
    return text.rstrip("0").rstrip(".") if "." in text else text


def unit_name(unit: str, language: str = "en") -> str:
    """A unit of the contract as it is written beside a figure."""
    if language == "zh" and unit in _CHINESE_UNITS:
        return _CHINESE_UNITS[unit]
    return UNIT_NAMES.get(unit, unit)


def format_quantity(value: float, unit: str, digits: int, language: str = "en") -> str:
    """A figure and its unit, never parted by a line break."""
    return f"{format_number(value, digits, language)}{NBSP}{unit_name(unit, language)}"


def format_range(low: float, high: float, digits: int, unit: str = "", language: str = "en") -> str:
    """low–high, with the unit once."""
    text = f"{format_number(low, digits, language)}{RANGE}{format_number(high, digits, language)}"
    return f"{text}{NBSP}{unit_name(unit, language)}" if unit else text


def format_gib(value: float, language: str = "en") -> str:
    """GiB with one decimal."""
    return format_quantity(value, "GiB", 1, language)


def format_speed(value: float, unit: str, language: str = "en") -> str:
    """A throughput: no decimals from ten on, below that two significant ones."""
    digits = 0 if abs(value) >= 10 or value == 0 else 1 if abs(value) >= 1 else 2
    return format_quantity(value, unit, digits, language)


def format_money(amount: float, currency: str = "CNY", language: str = "en", digits: int = 0) -> str:
    """Money with the sign before the number: ¥36,908; other currencies by their own sign or code."""
    number = format_number(abs(amount), digits, language)
    sign = _CURRENCY_SIGNS.get(currency, currency + NBSP)
    minus = MINUS if amount < 0 and any(c in "123456789" for c in number) else ""
    return f"{minus}{sign}{number}"


def format_unit_cost(amount: float, currency: str = "CNY", language: str = "en") -> str:
    """Cost of a million tokens or a thousand samples: two decimals, more where two say nothing."""
    return format_money(amount, currency, language, digits=2 if abs(amount) >= 0.1 or not amount else 4)


def format_per_yuan(value: float, language: str = "en") -> str:
    """TFLOPS, GiB or GB/s per 1000 yuan: two decimals."""
    return format_number(value, 2, language)


def format_percent(fraction: float, language: str = "en", digits: int = 0) -> str:
    """A fraction as per cent."""
    return f"{format_number(fraction * 100, digits, language)}{NBSP}%"


def format_parameters(count: float, language: str = "en") -> str:
    """A parameter count in billions or millions, as model cards print it."""
    scale, unit = (1e9, "B") if count >= 1e9 else (1e6, "M")
    return f"{format_plain(count / scale, language)}{NBSP}{unit}"
