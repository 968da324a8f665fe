"""What the dataclasses of an answer say to the serializer, without core knowing one.

A result type is a frozen dataclass made by `@answer`; its fields have the names of the JSON, and the string
under a field is its meaning, with the unit, in the schema of the API. The marks below say how a value is
written: `Figure` and `units.Number` to nine significant digits, whole numbers whole, unknown as null; a
`Message` as its sentence in the reader's language, or as {code, params} where there is no reader: that is
what is stored.
`services.answers` is the one place that serializes and reads again.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from types import MappingProxyType
from typing import Annotated, Any, Protocol, TypeVar, dataclass_transform, get_type_hints

import numpy as np

SIGNIFICANT_DIGITS = 9
WHOLE_LIMIT = 2.0**53
"""From here on a float says nothing about the digit of the units."""
_SIGNIFICANT = f"%.{SIGNIFICANT_DIGITS}g"
_AS_THEY_ARE = frozenset({str, bool, int, type(None)})

T = TypeVar("T")
NOTHING: Mapping[str, str] = MappingProxyType({})
Schema = dict[str, Any]


class Reader(Protocol):
    """Who an answer is written for: the context of its serialization."""

    @property
    def say(self) -> Callable[[str, Mapping[str, Any]], str]:
        """Gives the sentence of a code and its parameters."""

    @property
    def label(self) -> Callable[[str], str]:
        """Gives the label of an option, its condition in the reader's language."""

    def text(self, text: str) -> str:
        """A source text in the reader's language."""


def number(value: Any) -> float | int | None:
    """A plain JSON number to nine significant digits; whole numbers stay whole, unknown stays null."""
    if type(value) is not float:
        if value is None or type(value) is int:
            return value
        value = float(value)
    if value.is_integer() and -WHOLE_LIMIT < value < WHOLE_LIMIT:
        # Parameter counts and yuan are whole: no digit of theirs is false precision.
        return int(value)
    # Through the text: an answer has a thousand figures, and this takes a third of the time of `round`.
    return float(_SIGNIFICANT % value) if math.isfinite(value) else None


def plain(value: Any) -> Any:
    """A value that no field describes as JSON: arrays and tuples as lists, numbers as `number` has them."""
    kind = type(value)
    # Exact types first: nearly everything is one of these.
    if kind in _AS_THEY_ARE:
        return value
    if kind is float:
        return number(value)
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | float | np.integer | np.floating):
        return number(value)
    if hasattr(value, "stored"):
        return value.stored
    if is_dataclass(value):
        hidden = getattr(value, "__hidden__", ())
        return {f.name: plain(getattr(value, f.name)) for f in fields(value) if f.name not in hidden}
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return [plain(v) for v in value]
    return str(value)


class Written:
    """A mark: how a value is read and written, and what the schema says of it."""

    def __init__(
        self,
        write: Callable[..., Any],
        json: Schema,
        read: Callable[[Any], Any] = lambda value: value,
        *,
        to_reader: bool = False,
    ) -> None:
        self.write, self.json, self.read, self.to_reader = write, json, read, to_reader

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Schema:
        return written(self.read, self.write, self.to_reader)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Schema:
        return dict(self.json)


def written(read: Callable[[Any], Any], write: Callable[..., Any], to_reader: bool) -> Schema:
    """A schema of values that functions read and write; `write` takes the context where `to_reader`."""
    return {
        "type": "function-plain",
        "function": {"type": "no-info", "function": read},
        "serialization": {"type": "function-plain", "function": write, "info_arg": to_reader},
    }


def _label(text: str, info: Any) -> str:
    reader: Reader | None = info.context
    return text if reader is None or not text else reader.label(text)


def _source_text(text: str, info: Any) -> str:
    reader: Reader | None = info.context
    return text if reader is None or not text else reader.text(text)


SourceText = Annotated[str, Written(_source_text, {"type": "string"}, to_reader=True)]
"""An English source text; it is translated where there is a reader."""
FIGURE = Written(number, {"type": "number"})
Figure = Annotated[float, FIGURE]
"""A number of an answer; `units.Number` is one that may be an array while it is computed."""
_SCALARS = [{"type": kind} for kind in ("string", "number", "boolean", "null")]
_ANY = {
    "anyOf": [
        *_SCALARS,
        {"type": "array", "items": {"anyOf": _SCALARS}},
        {"type": "object", "additionalProperties": {"anyOf": _SCALARS}},
    ]
}
AnyValue = Annotated[Any, Written(plain, _ANY)]
"""A value of any kind: what a field of a question holds."""
AnyMap = Annotated[Mapping[str, Any], Written(plain, {"type": "object", "additionalProperties": True})]
"""A map whose keys no schema can list; the text under the field says what they are."""
OptionLabel = Annotated[str, Written(_label, {"type": "string"}, to_reader=True)]
"""The label of an option: 2 x RTX 4090 (used), the condition in the reader's language."""


_YUAN = re.compile(r"(?<!_per_1000)_cny(?=$|_per_card$|_per_sustained_tflops$|_total$)")
"""Names of amounts in yuan. Figures per 1000 yuan and the yuan per kWh of a question are none."""


def dollar_name(name: str) -> str:
    """The name of an amount in dollars beside the one in yuan; empty where a name is no amount in yuan."""
    found = _YUAN.sub("_usd", name)
    return "" if found == name else found


def parts_of(value: Any) -> dict[str, Any]:
    """The fields of an answer by name: what a fuller one is made of."""
    return {each.name: getattr(value, each.name) for each in fields(value)}


def _is_missing(value: Any) -> bool:
    return value is None or (type(value) is str and not value)


def _inherited_texts(kind: type) -> dict[str, str]:
    """The strings under the fields of the answers that a class is made from: pydantic reads its own alone."""
    found: dict[str, str] = {}
    for base in kind.__mro__[-1:0:-1]:
        if "__pydantic_config__" not in vars(base):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0].body  # type: ignore[attr-defined]
        for line, text in itertools.pairwise(body):
            if isinstance(line, ast.AnnAssign) and isinstance(text, ast.Expr):
                found[ast.unparse(line.target)] = inspect.cleandoc(ast.literal_eval(text.value))
    return found


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def answer(
    *,
    omit: Sequence[str] = (),
    hide: Sequence[str] = (),
    shown: Sequence[str] = (),
    renamed: Mapping[str, str] = NOTHING,
) -> Callable[[type[T]], type[T]]:
    """A frozen dataclass with slots that is an answer, or a part of one.

    Parameters
    ----------
    omit: fields that are left out of the JSON where they are None or an empty text.
    hide: fields that never are in it.
    shown: properties that are in it beside the fields, such as the codes of messages.
    renamed: names in the JSON of fields whose name there is a word of Python: from, class.
    """

    def made_answer(cls: type[T]) -> type[T]:
        made = dataclass(frozen=True, slots=True)(cls)

        def core_schema(_kind: Any, source: Any, handler: Any) -> Schema:
            schema: Schema = handler(source)
            inner = schema
            while inner["type"] != "dataclass-args":
                inner = inner["schema"]
            for described in inner["fields"]:
                _mark(described, omit, hide, renamed)
            inner["computed_fields"] = [_computed(made, name, name in omit, handler) for name in shown]
            return schema

        def json_schema(_kind: Any, schema: Any, handler: Any) -> Schema:
            written: Schema = handler(schema)
            described = handler.resolve_ref_schema(written).get("properties", {})
            for name, text in _inherited_texts(made).items():
                if (written_name := renamed.get(name, name)) in described:
                    described[written_name] = {"description": text, **described[written_name]}
            for name, value in list(described.items()):
                if dollars := dollar_name(name):
                    described[dollars] = _in_dollars(name, value)
            return written

        made.__hidden__ = frozenset(hide)  # type: ignore[attr-defined]
        made.__pydantic_config__ = {"use_attribute_docstrings": True}  # type: ignore[attr-defined]
        made.__get_pydantic_core_schema__ = classmethod(core_schema)  # type: ignore[attr-defined]
        made.__get_pydantic_json_schema__ = classmethod(json_schema)  # type: ignore[attr-defined]
        return made

    return made_answer


def _mark(described: Schema, omit: Sequence[str], hide: Sequence[str], renamed: Mapping[str, str]) -> None:
    """Say in the schema of a field whether it is written, and under which name."""
    name = described["name"]
    if name in omit:
        described["serialization_exclude_if"] = _is_missing
    if name in hide:
        described["serialization_exclude"] = True
    if name in renamed:
        described |= {"serialization_alias": renamed[name], "validation_alias": renamed[name]}


def _computed(kind: type, name: str, omit: bool, handler: Any) -> Schema:
    written = getattr(kind, name)
    found: Schema = {
        "type": "computed-field",
        "property_name": name,
        "return_schema": handler.generate_schema(get_type_hints(written.fget, include_extras=True)["return"]),
        "metadata": {"pydantic_js_updates": {"description": written.__doc__}},
    }
    return found | ({"serialization_exclude_if": _is_missing} if omit else {})


def _in_dollars(name: str, value: Schema) -> Schema:
    text = f"`{name}` in US dollars at `rate` of the answer; only with `currency=USD`."
    return {k: v for k, v in value.items() if k not in ("title", "default")} | {"description": text}
