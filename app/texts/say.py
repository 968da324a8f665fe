"""Says messages and faults in a language: a code finds its English template and its translation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from string import Formatter
from typing import Any

from app.core.estimates import Message
from app.core.faults import FieldError
from app.core.gpu import short_card_name
from app.texts import figures
from app.texts.answers import ANSWERS
from app.texts.faults import FAULTS
from app.texts.language import translations
from app.texts.recommendation import RECOMMENDATION
from app.texts.words import in_sentence

TEMPLATES: dict[str, str] = {**FAULTS, **ANSWERS, **RECOMMENDATION}
"""English source texts of every message, by code."""
KIND_OF_PARAMETER: dict[str, str] = {
    "condition": "condition",
    "conditions": "condition",
    "bound": "bound",
    "basis": "basis",
    "unit": "unit",
    "units": "unit",
    "task": "task",
    "objective": "objective",
    "framework": "framework",
    "form_factor": "form_factor",
    "need": "feature",
    "needs": "feature",
    "os": "system",
    "tax": "tax",
    "region": "region",
    "regions": "region",
    "phase": "phase",
    "family": "family",
    "tier": "tier",
    "answers": "question",
    "feature": "feature",
    "speed_unit": "unit",
    "precision": "precision",
    "kv_precision": "precision",
    "compute_type": "precision",
}
"""Kind of word that a parameter of a message names, where it is a code of the contract."""

UNKNOWN = "…"
_SEPARATOR = {"zh": "、", "en": ", "}
_CLAUSES = {"zh": "；", "en": "; "}
_LIST_SHOWN = 12
_UNGROUPED = frozenset({"year", "seed"})
_YUAN = frozenset({"amount", "needed", "over"})
_LABELS = frozenset({"first", "next", "winner", "option"})
_CLAUSE_LISTS = frozenset({"changes", "quotes"})
"""Lists of sentences that are parts of one."""
_CARDS = frozenset({"gpu", "card"})
_CONDITION = re.compile(r"(.+) \((new|used|refurbished|modded)\)")
_FRACTIONS = frozenset({"utilisation", "threshold"})


_ABSENT = object()


class _Parameters(dict[str, str]):
    def __missing__(self, key: str) -> str:
        # A hint is said only where there is one.
        return "" if key == "hint" else UNKNOWN


def say_message(message: Message, language: str) -> str:
    """The sentence of a message."""
    return say_code(message.code, message.params, language)


def in_dollars(message: Message, cny_per_usd: float, language: str) -> Message:
    """A message whose amounts of money are said in US dollars: a page has one currency."""

    def shown(name: str, value: Any) -> Any:
        if isinstance(value, Message):
            return in_dollars(value, cny_per_usd, language)
        if isinstance(value, list | tuple):
            return [shown(name, item) for item in value]
        money = name in _YUAN or (name.endswith("_cny") and not name.endswith("_per_1000_cny"))
        if money and isinstance(value, int | float) and not isinstance(value, bool):
            return figures.format_money(value / cny_per_usd, "USD", language)
        return value

    return Message(message.code, {name: shown(name, value) for name, value in message.params.items()})


def say_fault(fault: FieldError, language: str) -> str:
    """The sentence of a fault, without its pointer."""
    return say_code(fault.code, fault.params, language)


def say_code(code: str, params: Mapping[str, Any], language: str) -> str:
    """The sentence of a code with its parameters put in."""
    text, names = _sentence(code, language)
    if not names:
        return text
    try:
        return _filled(code, language, *[_parameter(params, name, language) for name in names])
    except TypeError:
        # A list or a message among the parameters: such a sentence is made anew each time.
        values = [_parameter(params, name, language) for name in names]
        return _filled.__wrapped__(code, language, *values)


def _parameter(params: Mapping[str, Any], name: str, language: str) -> Any:
    """A parameter, in the reader's language where it is a sentence of the data that was translated."""
    return params.get(f"{name}_{language}") or params.get(name, _ABSENT)


# By type too: 1 and True are equal, and are said differently.
@lru_cache(maxsize=16_384, typed=True)
def _filled(code: str, language: str, *values: Any) -> str:
    """The sentence with the parameters that it shows, in the order of `_sentence`."""
    text, names = _sentence(code, language)
    shown = {
        name: _shown(name, value, language)
        for name, value in zip(names, values, strict=True)
        if value is not _ABSENT
    }
    # After a full-width bracket stands no space, and none twice where a version is not stated.
    return text.format_map(_Parameters(shown)).replace("\uff09 ", "\uff09").replace("  ", " ")


@lru_cache(maxsize=4096)
def _sentence(code: str, language: str) -> tuple[str, tuple[str, ...]]:
    """The translated template of a code and the parameters that it shows."""
    template = TEMPLATES.get(code)
    if template is None:
        return code.replace("_", " "), ()
    text = translations(language).gettext(template)
    return text, tuple({name for _, name, _, _ in Formatter().parse(text) if name})


def term(kind: str, value: str, language: str) -> str:
    """A word of the contract, such as the condition "used", in a language; unknown words stay as they are."""
    return in_sentence(kind, value, translations(language).gettext)


_NUMBERS: tuple[tuple[str, Callable[[float, str], str]], ...] = (
    ("_per_1000_cny", figures.format_per_yuan),
    ("_gib", figures.format_gib),
    ("_cny", lambda v, lang: figures.format_money(v, "CNY", lang)),
    ("_usd", lambda v, lang: figures.format_money(v, "USD", lang)),
    ("_gb_s", lambda v, lang: figures.format_quantity(v, "GB/s", 0, lang)),
    ("_tflops", lambda v, lang: figures.format_quantity(v, "TFLOPS", 1, lang)),
    ("_tops", lambda v, lang: figures.format_quantity(v, "TOPS", 1, lang)),
    ("_w", lambda v, lang: figures.format_quantity(v, "W", 0, lang)),
    ("_percent", lambda v, lang: figures.format_percent(v / 100, lang)),
    ("_share", figures.format_percent),
    ("_fraction", figures.format_percent),
    ("_parameters", figures.format_parameters),
)


def _shown(name: str, value: Any, language: str) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, Message):
        return say_message(value, language)
    if isinstance(value, bool):
        return term("boolean", "yes" if value else "no", language)
    if isinstance(value, list | tuple):
        return _listed(name, value, language)
    if isinstance(value, int | float) or hasattr(value, "__float__"):
        return _number(name, float(value), language)
    if name in _LABELS:
        return say_label(str(value), language)
    if name in _CARDS:
        return short_card_name(str(value))
    kind = KIND_OF_PARAMETER.get(name)
    return str(value) if kind is None else term(kind, str(value), language)


def _listed(name: str, values: Sequence[Any], language: str) -> str:
    items = [_shown(name, v, language) for v in values[:_LIST_SHOWN]]
    if name in _CLAUSE_LISTS:
        items = [item.rstrip(".\u3002") for item in items]
    if len(values) > _LIST_SHOWN:
        items.append(UNKNOWN)
    return (_CLAUSES if name in _CLAUSE_LISTS else _SEPARATOR)[language].join(items)


def say_label(text: str, language: str) -> str:
    """The label of an option, its condition in the reader's language: 2 × RTX 4090 (used)."""
    text = short_card_name(text)
    match = _CONDITION.fullmatch(text)
    if match is None:
        return text
    condition = term("condition", match[2], language)
    # Chinese sentences take full-width brackets.
    return f"{match[1]}\uff08{condition}\uff09" if language == "zh" else f"{match[1]} ({condition})"


def _number(name: str, value: float, language: str) -> str:
    if name in _UNGROUPED:
        return f"{value:.0f}"
    if name in _YUAN:
        return figures.format_money(value, "CNY", language)
    if name in _FRACTIONS:
        return figures.format_percent(value, language)
    return _format_of(name)(value, language)


@lru_cache(maxsize=1024)
def _format_of(name: str) -> Callable[[float, str], str]:
    """How the number of a parameter is written, by the unit at the end of its name."""
    for suffix, show in _NUMBERS:
        if name.endswith(suffix) or name == suffix[1:]:
            return show
    return figures.format_plain
