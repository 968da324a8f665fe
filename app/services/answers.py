"""The one adapter between an answer and JSON.

How to make an answer: a dataclass by `@answer(...)` of `app.core.answer`, whose fields have the names of the
JSON and a string under each that says its meaning and unit; numbers are `Figure`, texts that are to be said
`Message`, figures that broadcast `Number`. Pages and templates read its attributes, a route writes it:

    @router.get("/things", response_model=Things)             # the schema is made from the same dataclass
    def things(...) -> Response:
        return json_response(encode(Things(...), language))

`as_json` gives the same as plain lists and dicts (for `--json` and for tests), `canonical` the form that is
stored, with codes for texts, and `load` reads that again. An answer with the fields `currency` and `rate` is
put into a currency by `with_currency`; its dollars are then written beside its yuan.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import lru_cache, partial
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from app.catalog.snapshot import Snapshot
from app.core.answer import Figure, answer, dollar_name
from app.core.answer import number as rounded
from app.texts.language import translations
from app.texts.say import say_code, say_label

T = TypeVar("T")


class NotAnAnswer(ValueError):
    """Stored JSON that is no answer of the kind asked for."""


@answer()
class DollarRate:
    """The dated rate of exchange behind amounts in US dollars."""

    rate: Figure
    """Yuan (CNY) for one US dollar."""
    observed_on: str
    """Day of the rate, ISO 8601."""
    old: bool
    """Whether that day is more than 45 days before the day of the question."""
    base: str = "USD"
    """The currency that `rate` is the price of."""
    quote: str = "CNY"
    """The currency that `rate` is in."""


class ReaderIn:
    """A reader of one language."""

    def __init__(self, language: str) -> None:
        # Parts, not methods: an answer has some four hundred sentences.
        self.say = partial(say_code, language=language)
        self.label = partial(say_label, language=language)
        self.text = translations(language).gettext


_adapters: dict[Any, TypeAdapter[Any]] = {}


def adapter(kind: Any) -> TypeAdapter[Any]:
    """The serializer of one kind of answer, made once."""
    found = _adapters.get(kind)
    if found is None:
        found = _adapters[kind] = TypeAdapter(kind)
    return found


@lru_cache(maxsize=8)
def _reader(language: str) -> ReaderIn:
    return ReaderIn(language)


def encode(body: Any, language: str) -> bytes:
    """An answer as the JSON that goes out, its texts said in a language."""
    if getattr(body, "rate", None) is not None and getattr(body, "currency", "CNY") == "USD":
        return to_json(as_json(body, language))
    return adapter(type(body)).dump_json(body, by_alias=True, context=_reader(language))


def as_json(body: Any, language: str) -> Any:
    """The same as lists and dicts."""
    written = adapter(type(body)).dump_python(body, mode="json", by_alias=True, context=_reader(language))
    rate = getattr(body, "rate", None)
    if rate is not None and getattr(body, "currency", "CNY") == "USD":
        _add_dollars(written, rate.rate)
    return written


def canonical(body: Any) -> Any:
    """An answer as it is stored: codes with their parameters where texts would be."""
    return adapter(type(body)).dump_python(body, mode="json", by_alias=True)


def load(kind: type[T], stored: Any) -> T:
    """An answer from its stored form; NotAnAnswer when it is none."""
    try:
        found: T = adapter(kind).validate_python(stored)
    except ValidationError as fault:
        raise NotAnAnswer(str(fault)) from fault
    return found


def _add_dollars(value: Any, rate: float) -> None:
    """`…_usd` beside every `…_cny`, whether one amount or several by name."""
    if isinstance(value, list):
        for item in value:
            _add_dollars(item, rate)
    elif isinstance(value, dict):
        for key, amount in list(value.items()):
            name = dollar_name(key)
            if not name or (isinstance(amount, dict) and "unit" in amount):
                # What has a unit of its own, such as the launch price among the figures of a card, keeps it.
                _add_dollars(amount, rate)
            elif isinstance(amount, dict):
                value[name] = {part: _dollars(inner, rate) for part, inner in amount.items()}
            elif amount is not None:
                value[name] = _dollars(amount, rate)


def _dollars(amount: Any, rate: float) -> float | int | None:
    return rounded(amount / rate) if isinstance(amount, int | float) else None


def to_cny(amount: float, currency: str, snapshot: Snapshot, as_of: date) -> float | None:
    """Yuan, or None when no rate on or before the day is known."""
    use = snapshot.rates.to_cny(currency, as_of)
    return None if use is None else amount * use.rate


def with_currency(answer: T, currency: str, snapshot: Snapshot, as_of: date) -> T:
    """An answer that says its currency; for USD with the dated rate, None where none is known."""
    use = snapshot.rates.to_cny("USD", as_of) if currency == "USD" else None
    rate = None if use is None else DollarRate(use.rate, use.observed_on.isoformat(), use.old)
    found: T = replace(answer, currency=currency, rate=rate)  # type: ignore[type-var]
    return found
