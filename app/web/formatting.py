"""Filters of the templates: figures by `texts.figures`, words by `texts.words`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.core.answer import plain
from app.core.estimates import Message
from app.texts import figures
from app.texts.say import say_message
from app.texts.words import label, precision_name, proper_name

Gettext = Callable[[str], str]
NO_DATA = "\u2014"
_BETWEEN_CHINESE = re.compile("(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])")


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from 0: its end, labelled ticks and the small ones between."""

    top: float
    ticks: tuple[float, ...]
    minor: tuple[float, ...]


def axis(values: list[float]) -> Axis:
    """The smallest scale of six or so even steps that holds all values."""
    largest = max([v for v in values if v] or [1.0])
    step = 0.5
    for candidate in (0.5, 1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096):
        step = candidate
        if largest <= candidate * 6:
            break
    count = int(-(-largest // step))
    if largest / step > count - 0.02:
        count += 1
    ticks = tuple(i * step for i in range(count + 1))
    return Axis(ticks[-1], ticks, tuple(i * step / 4 for i in range(count * 4 + 1)))


def share(value: float, whole: float) -> str:
    """A length as SVG per cent, held inside the drawing."""
    return f"{min(max(value / whole, 0.0), 1.0) * 100:.2f}%" if whole else "0%"


def close_up(text: str) -> str:
    """Text without the spaces that a pattern left between two Chinese characters."""
    return _BETWEEN_CHINESE.sub("", text)


def at_path(value: Any, path: str) -> Any:
    """The value at a dotted path of attributes, None where one of them is missing."""
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def raw(value: Any) -> str:
    """The value as JSON has it, for `data-value`."""
    if value is None:
        return ""
    return str(plain(value))


def speed_digits(value: float) -> int:
    """Decimals of a speed: none from ten on, below that two significant figures."""
    size = abs(value)
    return 0 if size >= 10 or size == 0 else 1 if size >= 1 else 2 if size >= 0.1 else 3


class Formats:
    """All filters of one language."""

    def __init__(self, language: str, gettext: Gettext) -> None:
        self.language = language
        self.gettext = gettext

    def number(self, value: float | None, digits: int = 0) -> str:
        """Grouped digits; a dash where there is no figure."""
        return NO_DATA if value is None else figures.format_number(value, digits, self.language)

    def plain_number(self, value: float | None) -> str:
        """As many decimals as the figure needs."""
        return NO_DATA if value is None else figures.format_plain(value, self.language)

    def operand(self, value: float) -> str:
        """A number of a printed formula."""
        return figures.format_operand(value, self.language)

    def figure(self, value: float | None) -> str:
        """A catalogue figure with the decimals its source gives, four at most."""
        if value is None:
            return NO_DATA
        text = self.number(value, 1 if abs(value) >= 100 else 2 if abs(value) >= 1 else 4)
        return text.rstrip("0").rstrip(".") if "." in text else text

    def gib(self, value: float | None) -> str:
        """GiB, one decimal (two below one)."""
        if value is None:
            return NO_DATA
        return self.number(value, 2 if 0 < abs(value) < 0.95 else 1)

    def speed(self, value: float | None) -> str:
        """A throughput without its unit."""
        return NO_DATA if value is None else self.number(value, speed_digits(value))

    def percent(self, fraction: float | None, digits: int = 0) -> str:
        """A fraction as per cent."""
        return NO_DATA if fraction is None else figures.format_percent(fraction, self.language, digits)

    def signed_percent(self, fraction: float | None) -> str:
        """A change as per cent with its sign."""
        if fraction is None:
            return NO_DATA
        digits = 0 if abs(fraction) >= 0.1 else 1
        text = figures.format_percent(abs(fraction), self.language, digits)
        return ("+" if fraction > 0 else figures.MINUS if fraction < 0 else "") + text

    def parameters(self, count: float | None) -> str:
        """A parameter count as model cards print it."""
        return NO_DATA if not count else figures.format_parameters(count, self.language)

    def label(self, code: Any, kind: str) -> str:
        """The word for a code; the code itself where no word is known."""
        return label(kind, str(code), self.gettext)

    def said(self, message: Message | None) -> str:
        """The sentence of a message; empty where there is none."""
        return say_message(message, self.language) if message else ""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """By their names in the templates."""
        return {
            "number": self.number,
            "plain_number": self.plain_number,
            "figure": self.figure,
            "operand": self.operand,
            "gib": self.gib,
            "speed": self.speed,
            "percent": self.percent,
            "signed_percent": self.signed_percent,
            "parameters": self.parameters,
            "label": self.label,
            # For data: `_` in a template marks what it gives as markup, and reads per cent signs.
            "translated": self.gettext,
            "precision": precision_name,
            "proper": proper_name,
            "share": share,
            "at_path": at_path,
            "raw": raw,
            "said": self.said,
        }
