"""The calculator's form: URL parameters to a request, and back to the shortest URL that asks the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from app.services.contract import FieldError
from app.web.fields import FIELDS, FormField

MAX_TEXT = 300
MAX_LONG = 60_000
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_GROUPED = re.compile(r"\d{1,3}([, \u00a0\u202f]\d{3})+(\.\d+)?", re.ASCII)
_SCALED = re.compile(r"(.{1,40}?)\s*([\u4e07\u842c\u4ebf\u5104])")
_SCALES = {"\u4e07": 10**4, "\u842c": 10**4, "\u4ebf": 10**8, "\u5104": 10**8}
_SIZE = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*(k|m|b|t|\u4e07|\u4ebf)", re.ASCII | re.IGNORECASE)
_SCALE = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12, "\u4e07": 1e4, "\u4ebf": 1e8}
_IMAGE = re.compile(r"(\d{1,5})(?:\s*[x\u00d7*]\s*(\d{1,5}))?", re.ASCII | re.IGNORECASE)
_PRICE = re.compile(r"\s*([^=:\uff1a\uff1d]{1,80}?)\s*[=:\uff1a\uff1d]\s*(\S{1,40})\s*")
CHINESE_VENDORS = "chinese"
ALWAYS_SENT = ("task", "precision", "batch_size", "sequence_length")
"""The other fields at their default are left to the calculation, which then lists them as assumptions."""
OPENING: Mapping[str, list[str]] = {"work": ["200"]}
"""The question of a first visit: without an amount of work the lowest total cost is a slow card's."""
MILLIONS = ("tokens", "samples", "images")
"""Units of work that the form takes in millions: monthly work is never small."""


@dataclass(slots=True)
class FormState:
    """What the form holds: the text of each field as typed, with the default where the URL says nothing."""

    values: dict[str, tuple[str, ...]]
    given: frozenset[str]
    errors: dict[str, list[Any]] = field(default_factory=dict)
    """Field name -> messages, in the reader's language; "" for those that belong to no field."""

    def one(self, name: str) -> str:
        """The single text of a field."""
        values = self.values.get(name, ())
        return values[0] if values else ""

    def many(self, name: str) -> tuple[str, ...]:
        """All texts of a field."""
        return self.values.get(name, ())


def read_form(parameters: Iterable[tuple[str, str]]) -> FormState:
    """Collect the parameters of a URL (or of a posted form); unknown ones are left out."""
    found: dict[str, list[str]] = {}
    for name, value in parameters:
        if name in FIELDS:
            limit = MAX_LONG if FIELDS[name].kind == "long" else MAX_TEXT
            found.setdefault(name, []).append(value[: limit + 1])
    asked = found or OPENING
    values: dict[str, tuple[str, ...]] = {}
    for spec in FIELDS.values():
        given = tuple(asked.get(spec.name, ()))
        if spec.kind == "many":
            values[spec.name] = tuple(v for v in given if v) or spec.default
        else:
            text = given[-1].strip() if given else ""
            # An emptied field that has a default falls back to it; the others may well be empty.
            values[spec.name] = (text,) if text else spec.default
    return FormState(values, frozenset(found))


def canonical_query(state: FormState, extra: Mapping[str, str] | None = None, family: str = "") -> str:
    """The shortest query string that asks the same question."""
    pairs: list[tuple[str, str]] = []
    for spec in FIELDS.values():
        current = state.many(spec.name)
        if current == spec.default or not applies(spec, state, family):
            continue
        if spec.name == "family" and not is_size(state.one("model")):
            continue
        if spec.name == "work_unit" and not state.one("work"):
            continue
        pairs.extend((spec.name, value) for value in current)
    if not pairs:
        # An address without a question is the opening one.
        pairs.append(("model", state.one("model")))
    pairs.extend((extra or {}).items())
    return urlencode(pairs)


def applies(spec: FormField, state: FormState, family: str) -> bool:
    """Whether the question has this field, by its task and the model's family (unknown: all fields)."""
    if state.one("task") not in spec.tasks:
        return False
    return not spec.families or not family or family in spec.families


def is_size(text: str) -> bool:
    """Whether the text of the model field is a size (7B, 335M, 70 亿) rather than a name."""
    return model_size(text) is not None


def model_size(text: str) -> float | None:
    """Parameters meant by a plain size, or None when the text is a name."""
    match = _SIZE.fullmatch(text.strip())
    return float(match[1]) * _SCALE[match[2].lower()] if match else None


def number_of(text: str) -> float | int | None:
    """The number that a text of a form means, or None: 12999, 12,999, 1.2e4, 1.2\u4e07, 3\u4ebf."""
    cleaned = text.strip()
    scaled = _SCALED.fullmatch(cleaned)
    scale = _SCALES[scaled[2]] if scaled else 1
    if scaled:
        cleaned = scaled[1]
    if _GROUPED.fullmatch(cleaned):
        cleaned = re.sub(r"[, \u00a0\u202f]", "", cleaned)
    if len(cleaned) > 40 or not _NUMBER.fullmatch(cleaned):
        return None
    # 1.13 times 10^8 is whole, which binary fractions do not know; powers beyond a float's are none of ours.
    number = float(Decimal(cleaned) * scale) if scaled else float(cleaned)
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


@dataclass(slots=True)
class _Reader:
    state: FormState
    family: str
    names: Mapping[str, str]
    errors: list[FieldError] = field(default_factory=list)

    def fault(self, spec: FormField, code: str, **params: Any) -> None:
        self.errors.append(FieldError(spec.pointer, code, params))

    def number(self, text: str) -> float | int | str:
        """The number a text means; any other text is passed on, for the reader of requests to refuse."""
        number = number_of(text)
        return text[:60] if number is None else number

    def amount(self, text: str) -> float | int | str:
        """An amount of yuan, with or without its sign: \xa512999, 12,999\u5143."""
        number = number_of(text.strip().lstrip("\xa5\uffe5").removesuffix("\u5143"))
        return text[:60] if number is None else number

    def value(self, spec: FormField) -> Any:
        """The value of one field, None when it is left open or at fault."""
        text = self.state.one(spec.name)
        if spec.kind in ("integer", "number", "percent"):
            if not text:
                return None
            number = self.number(text)
            return number / 100.0 if spec.kind == "percent" and not isinstance(number, str) else number
        if spec.kind == "flag":
            return text in ("1", "on", "yes", "true") or None
        if spec.kind == "yes_no":
            return {"yes": True, "no": False}.get(text)
        if spec.kind == "many":
            return list(self.state.many(spec.name)) or None
        return text or None


_SPECIAL = {
    "model",
    "family",
    "config",
    "image_size",
    "counts",
    "vendor",
    "framework",
    "framework_version",
    "gpus",
    "prices",
    "gradient_checkpointing",
    "work",
    "work_unit",
    "zero_stage",
    "budget",
    "region",
}


def build_request(
    state: FormState,
    *,
    family: str = "",
    names: Mapping[str, str] | None = None,
    chinese_vendors: Iterable[str] = (),
) -> tuple[dict[str, Any], list[FieldError]]:
    """Body of a shortlist request from the form.

    Parameters
    ----------
    state: the form.
    family: family of the chosen model where it is known; fields of other families are then left out.
    names: shown model name (lower case) -> preset id.
    chinese_vendors: what the choice "Chinese" stands for.

    Returns
    -------
    The body, and the faults that the form itself finds; their pointers are those of the body.
    """
    reader = _Reader(state, family, names or {})
    body: dict[str, Any] = {"workload": {"model": _model(reader)}}
    for spec in FIELDS.values():
        if spec.name in _SPECIAL or not applies(spec, state, family):
            continue
        if state.many(spec.name) == spec.default and spec.name not in ALWAYS_SENT:
            continue
        value = reader.value(spec)
        if value is not None and (value != "" or spec.default):
            _put(body, spec.pointer, value)
    if family in ("vision", "diffusion", ""):
        _image(reader, body)
    _training(reader, body)
    _cards(reader, body, tuple(chinese_vendors))
    _money(reader, body)
    return body, reader.errors


def _put(body: dict[str, Any], pointer: str, value: Any) -> None:
    *parents, last = pointer.strip("/").split("/")
    for part in parents:
        body = body.setdefault(part, {})
    body[last] = value


def _model(reader: _Reader) -> dict[str, Any]:
    config = reader.state.one("config")
    if config:
        spec = FIELDS["config"]
        if len(config) > MAX_LONG:
            reader.fault(spec, "too_long", limit=MAX_LONG)
            return {}
        try:
            parsed = json.loads(config)
        except (ValueError, RecursionError):
            reader.fault(spec, "not_json")
            return {}
        if not isinstance(parsed, dict):
            reader.fault(spec, "not_json")
            return {}
        return {"config": parsed}
    text = reader.state.one("model")
    size = model_size(text)
    if size is not None:
        return {"family": reader.state.one("family"), "parameters": size, "name": text}
    return {"preset": reader.names.get(text.casefold(), text)}


def _image(reader: _Reader, body: dict[str, Any]) -> None:
    text = reader.state.one("image_size")
    if not text:
        return
    match = _IMAGE.fullmatch(text)
    if not match:
        _put(body, "/workload/image_size", text[:60])
        return
    height, width = int(match[1]), int(match[2] or match[1])
    _put(body, "/workload/image_size", height if height == width else [height, width])


def _training(reader: _Reader, body: dict[str, Any]) -> None:
    state = reader.state
    spec = FIELDS["gradient_checkpointing"]
    if applies(spec, state, reader.family):
        chosen = reader.value(spec)
        if chosen in ("yes", "selective"):
            _put(body, spec.pointer, True if chosen == "yes" else "selective")
    spec = FIELDS["zero_stage"]
    if state.one("zero_stage") and applies(spec, state, reader.family):
        _put(body, spec.pointer, reader.number(state.one("zero_stage")))


def _cards(reader: _Reader, body: dict[str, Any], chinese: tuple[str, ...]) -> None:
    state = reader.state
    counts = [reader.number(part) for part in _split(state.one("counts"))]
    if state.many("counts") != FIELDS["counts"].default and not _has_plan(body):
        body["counts"] = counts
    vendor = state.one("vendor")
    if vendor:
        _put(body, "/filters/vendors", list(chinese) if vendor == CHINESE_VENDORS else [vendor])
    if state.one("region"):
        _put(body, "/filters/regions", [state.one("region")])
    framework = state.one("framework")
    if framework:
        version = state.one("framework_version")
        _put(body, "/filters/frameworks", [f"{framework}=={version}" if version else framework])
    gpus = _split(state.one("gpus"))
    if gpus:
        _put(body, "/filters/gpus", gpus)


def _has_plan(body: Mapping[str, Any]) -> bool:
    # A plan fixes the number of cards; counts beside it could only contradict it.
    return bool(body["workload"].get("parallelism", {}).keys() & {"data", "tensor", "pipeline"})


def _split(text: str) -> list[str]:
    return [part for part in re.split(r"[,\s\uff0c\u3001]+", text) if part]


def _money(reader: _Reader, body: dict[str, Any]) -> None:
    state = reader.state
    if state.one("budget"):
        body["budget"] = {"amount": reader.amount(state.one("budget")), "currency": "CNY"}
    if state.one("work"):
        amount, unit = reader.number(state.one("work")), state.one("work_unit")
        if not isinstance(amount, str) and unit in MILLIONS:
            amount *= 1e6
        body["work"] = {"amount": amount, "unit": unit}
    overrides: dict[str, Any] = {}
    for line in re.split(r"[\n;\uff1b]+", state.one("prices")):
        if not line.strip():
            continue
        match = _PRICE.fullmatch(line)
        if not match:
            reader.fault(FIELDS["prices"], "not_a_price_line", value=line.strip()[:40])
            return
        overrides[match[1]] = reader.amount(match[2])
    if overrides:
        body["price_overrides"] = overrides
