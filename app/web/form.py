"""The calculator's form: URL parameters to a request, and back to the shortest URL that asks the same.

Its fields are those of `core.question.FIELDS`; each kind of value has one way into a text and one out of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from app.core.defaults import usual_values
from app.core.faults import FieldError
from app.core.fields import Field
from app.core.model.architecture import ModelArchitecture
from app.core.question_fields import BY_PLACE, FIELDS

MAX_TEXT = 300
MAX_LONG = 60_000
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_GROUPED = re.compile(r"\d{1,3}([, \u00a0\u202f]\d{3})+(\.\d+)?", re.ASCII)
_SCALED = re.compile(r"(.{1,40}?)\s*([\u4e07\u842c\u4ebf\u5104])")
_SCALES = {"\u4e07": 10**4, "\u842c": 10**4, "\u4ebf": 10**8, "\u5104": 10**8}
_SIZE = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*(k|m|b|t|\u4e07|\u4ebf)", re.ASCII | re.IGNORECASE)
_SCALE = {"k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12, "\u4e07": 10**4, "\u4ebf": 10**8}
_IMAGE = re.compile(r"(\d{1,5})(?:\s*[x\u00d7*]\s*(\d{1,5}))?", re.ASCII | re.IGNORECASE)
_PRICE = re.compile(r"\s*([^=:\uff1a\uff1d]{1,80}?)\s*[=:\uff1a\uff1d]\s*(\S{1,40})\s*")
_COMMAS = re.compile(r"[,;\n\uff0c\uff1b\u3001]+")
CHINESE_VENDORS = "chinese"
VERSION_OF_FRAMEWORK = "framework_version"
"""The one text of the form that is half a field: the version behind `framework`."""
MODEL_TEXTS = ("model", "family", "config")
ALWAYS_SENT = ("task", "work_unit", "budget_currency")
"""The other fields at their default are left to the calculation, which then lists them as assumptions."""
MILLIONS = ("tokens", "samples", "images")
"""Units of work that the form takes in millions: monthly work is never small."""
_MILLION = 10**6
FRAME_PARAMETERS = frozenset(
    "lang theme currency cols rows open pin rejected comparison title figure rank pick sure".split()
)
"""Parameters of the page around the question."""
_SWITCH = {True: "yes", False: "no"}

FORM: tuple[Field, ...] = tuple(one for one in FIELDS if one.group not in ("", "table"))
BY_NAME: Mapping[str, Field] = {one.name: one for one in FORM}
NAMES = frozenset(BY_NAME) | {VERSION_OF_FRAMEWORK}


@dataclass(slots=True)
class FormState:
    """What the form holds: the text of each field as typed, with the default where the URL says nothing."""

    values: dict[str, tuple[str, ...]]
    given: frozenset[str]
    errors: dict[str, list[Any]] = field(default_factory=dict)
    """Field name -> messages, in the reader's language; "" for those that belong to no field."""
    unknown: tuple[str, ...] = ()
    """Parameters of the address that nobody reads."""
    usual: Mapping[str, str] = field(default_factory=dict)
    """What is taken where a field is left open, by task and model: it changes with them."""

    def one(self, name: str) -> str:
        """The single text of a field."""
        values = self.values.get(name, ())
        return values[0] if values else ""

    def said(self, name: str) -> str:
        """The single text of a field, or of the default in its place."""
        return self.one(name) or self.usual.get(name, "")

    def many(self, name: str) -> tuple[str, ...]:
        """All texts of a field."""
        return self.values.get(name, ())


def read_form(parameters: Iterable[tuple[str, str]]) -> FormState:
    """Collect the parameters of a URL (or of a posted form); those that nobody reads are named."""
    found: dict[str, list[str]] = {}
    unknown: dict[str, None] = {}
    for name, value in parameters:
        if name in NAMES:
            long = name in BY_NAME and BY_NAME[name].kind in ("long", "prices")
            found.setdefault(name, []).append(value[: (MAX_LONG if long else MAX_TEXT) + 1])
        elif name not in FRAME_PARAMETERS:
            unknown[name[:40]] = None
    values: dict[str, tuple[str, ...]] = {}
    for one in FORM:
        given = tuple(found.get(one.name, ()))
        if is_many(one):
            values[one.name] = tuple(v for v in given if v) or one.shown
        else:
            text = given[-1].strip() if given else ""
            # An emptied field that has a default falls back to it; the others may well be empty.
            values[one.name] = (text,) if text else one.shown
    version = found.get(VERSION_OF_FRAMEWORK, [""])[-1].strip()
    values[VERSION_OF_FRAMEWORK] = (version,) if version else ()
    return FormState(values, frozenset(found), unknown=tuple(unknown)[:8])


def usual_texts(state: FormState, model: ModelArchitecture) -> Mapping[str, str]:
    """What the form takes for its open fields, as it would be typed."""
    values = usual_values(FORM, state.one("task"), model)
    unit = str(values.get("work.unit", ""))
    return {
        BY_PLACE[place].name: "".join(texts_of(BY_PLACE[place], value, unit)[:1])
        for place, value in values.items()
    }


def is_many(one: Field) -> bool:
    """Whether the form has boxes to tick for a field; other lists are one text with commas."""
    return one.kind == "choices" and one.name == one.key


def canonical_query(state: FormState, extra: Mapping[str, str] | None = None, family: str = "") -> str:
    """The shortest query string that asks the same question."""
    pairs: list[tuple[str, str]] = []
    for one in FORM:
        current = state.many(one.name)
        if current == one.shown or not applies(one, state, family) or _says_nothing(one, state):
            continue
        pairs.extend((one.name, value) for value in current)
        if one.kind == "frameworks" and state.one(VERSION_OF_FRAMEWORK):
            pairs.append((VERSION_OF_FRAMEWORK, state.one(VERSION_OF_FRAMEWORK)))
    pairs.extend((extra or {}).items())
    return urlencode(pairs)


_NEEDED = {
    "family": "model",
    "work_unit": "work",
    "samples_per_epoch": "work",
    "budget_currency": "budget",
}


def _says_nothing(one: Field, state: FormState) -> bool:
    """A unit without its amount, or the kind of a model that is named."""
    needed = _NEEDED.get(one.name)
    if needed is None:
        return False
    return not state.one(needed) or (needed == "model" and not is_size(state.one("model")))


def applies(one: Field, state: FormState, family: str) -> bool:
    """Whether the question has this field, by its task and the model's family (unknown: all fields)."""
    if state.one("task") not in one.tasks:
        return False
    return not one.families or not family or family in one.families


def is_size(text: str) -> bool:
    """Whether the text of the model field is a size (7B, 335M, 70 亿) rather than a name."""
    return model_size(text) is not None


def model_size(text: str) -> float | None:
    """Parameters meant by a plain size, or None when the text is a name."""
    match = _SIZE.fullmatch(text.strip())
    return float(Decimal(match[1]) * _SCALE[match[2].lower()]) if match else None


def _decimal(text: str) -> Decimal | None:
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
    return Decimal(cleaned) * scale


def number_of(text: str, scale: Decimal = Decimal(1)) -> float | int | None:
    """The number that a text of a form means, or None: 12999, 12,999, 1.2e4, 1.2\u4e07, 3\u4ebf."""
    found = _decimal(text)
    if found is None:
        return None
    number = float(found * scale)
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def text_of_number(value: float, scale: Decimal = Decimal(1)) -> str:
    """A number as a form writes it: every digit of it, no powers; `number_of` reads the same number."""
    plain = format(Decimal(repr(value)) * scale, "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _number(text: str, scale: Decimal = Decimal(1)) -> float | int | str:
    """The number a text means; any other text is passed on, for the reader of requests to refuse."""
    number = number_of(text, scale)
    return text[:60] if number is None else number


def _amount(text: str) -> float | int | str:
    """An amount of yuan, with or without its sign: \xa512999, 12,999\u5143."""
    number = number_of(text.strip().lstrip("\xa5\uffe5").removesuffix("\u5143"))
    return text[:60] if number is None else number


_PER_CENT = Decimal("0.01")


@dataclass(slots=True)
class _Reader:
    state: FormState
    names: Mapping[str, str]
    chinese: tuple[str, ...] = ()
    is_card: Callable[[str], bool] | None = None
    errors: list[FieldError] = field(default_factory=list)

    def fault(self, one: Field, code: str, **params: Any) -> None:
        self.errors.append(FieldError(one.pointer, code, params))

    def value(self, one: Field) -> Any:
        """The value of one field, None when it is left open or at fault."""
        text = self.state.said(one.name) if one.name != "work" else self.state.one(one.name)
        if is_many(one):
            return list(self.state.many(one.name)) or None
        if not text:
            return None
        match one.kind:
            case "integer" | "number":
                if one.name == "work" and self.state.said("work_unit") in MILLIONS:
                    return _number(text, Decimal(_MILLION))
                return _amount(text) if one.unit == "¥" else _number(text)
            case "fraction":
                return _number(text, _PER_CENT)
            case "flag":
                return text in ("1", "on", "yes", "true") or None
            case "answer" | "level":
                return {"yes": True, "no": False}.get(text, text)
            case "size":
                return _image(text)
            case "counts":
                return [_number(part) for part in _split(text)]
            case "vendors":
                return list(self.chinese) if text == CHINESE_VENDORS else _parts(text)
            case "frameworks":
                version = self.state.one(VERSION_OF_FRAMEWORK)
                return [f"{text}=={version}"] if version and "," not in text else _parts(text)
            case "choices":
                return _parts(text)
            case "cards":
                return self.cards(text)
            case "prices":
                return self.prices(one, text)
        return text

    def cards(self, text: str) -> list[str]:
        """Names between commas; where a piece with spaces names no card but its words do, those."""
        found: list[str] = []
        for part in _parts(text):
            words = part.split()
            known = self.is_card
            apart = len(words) > 1 and known is not None and not known(part) and all(known(w) for w in words)
            found += words if apart else [part]
        return found

    def prices(self, one: Field, text: str) -> dict[str, Any] | None:
        """Own prices, one card a line."""
        found: dict[str, Any] = {}
        for line in re.split(r"[\n;\uff1b]+", text):
            if not line.strip():
                continue
            match = _PRICE.fullmatch(line)
            if not match:
                self.fault(one, "not_a_price_line", value=line.strip()[:40])
                return None
            found[match[1]] = _amount(match[2])
            if len(found) > one.longest:
                self.fault(one, "too_many", limit=one.longest)
                return None
        return found or None

    def model(self) -> dict[str, Any]:
        """A preset, a bare size, or the JSON that was pasted."""
        config = self.state.one("config")
        if config:
            one = BY_NAME["config"]
            if len(config) > MAX_LONG:
                self.fault(one, "config_too_long", limit=MAX_LONG)
                return {}
            try:
                parsed = json.loads(config)
            except (ValueError, RecursionError):
                parsed = None
            if not isinstance(parsed, dict):
                self.fault(one, "not_json")
                return {}
            return parsed if is_model(parsed) else {"config": parsed}
        text = self.state.one("model")
        size = model_size(text)
        if size is not None:
            return {"family": self.state.one("family"), "parameters": size, "name": text}
        return {"preset": self.names.get(text.casefold(), text)}


def is_model(parsed: Mapping[str, Any]) -> bool:
    """Whether pasted JSON is a model as the API takes it, rather than a config.json."""
    return ("family" in parsed and "model_type" not in parsed) or (
        "config" in parsed and parsed.keys() <= {"config", "name", "parameters"}
    )


def build_request(
    state: FormState,
    *,
    family: str = "",
    model: ModelArchitecture | None = None,
    names: Mapping[str, str] | None = None,
    chinese_vendors: Iterable[str] = (),
    is_card: Callable[[str], bool] | None = None,
) -> tuple[dict[str, Any], list[FieldError]]:
    """Body of a shortlist request from the form.

    Parameters
    ----------
    state: the form.
    family: family of the chosen model where it is known; fields of other families are then left out.
    model: the chosen model where it is known: open fields follow it; else one of the family.
    names: shown model name (lower case) -> preset id.
    chinese_vendors: what the choice "Chinese" stands for.
    is_card: whether the catalogue knows a card by a name.

    Returns
    -------
    The body, and the faults that the form itself finds; their pointers are those of the body.
    """
    if not state.usual:
        state.usual = usual_texts(state, model or unknown_model(family))
    reader = _Reader(state, names or {}, tuple(chinese_vendors), is_card)
    body: dict[str, Any] = {"workload": {"model": reader.model()}}
    filled = open_places(state, family)
    for one in FORM:
        if one.name in MODEL_TEXTS or not applies(one, state, family) or _says_nothing(one, state):
            continue
        at_default = state.many(one.name) == one.shown
        if at_default and one.place not in filled and one.name not in ALWAYS_SENT:
            continue
        value = reader.value(one)
        if value is not None:
            _put(body, one.place, value)
    if body["workload"].get("parallelism", {}).keys() & {"data", "tensor", "pipeline"}:
        # A plan fixes the number of cards; counts beside it could only contradict it.
        body.pop("counts", None)
    return body, reader.errors


def unknown_model(family: str) -> ModelArchitecture:
    """A model of which only the family is known, or not even that."""
    return ModelArchitecture("", family or "decoder", 1.0, 1.0)


def open_places(state: FormState, family: str = "") -> frozenset[str]:
    """Places of the body that the form fills by task and model, since nobody has typed there."""
    return frozenset(
        one.place
        for one in FORM
        if one.usual and one.place.startswith("workload.") and one.name in state.usual
        if not state.one(one.name) and applies(one, state, family)
        # A saturated engine takes as many as it holds.
        if one.name != "batch_size" or state.one("load") != "saturated" or state.one("task") != "inference"
    )


def _put(body: dict[str, Any], place: str, value: Any) -> None:
    *parents, last = place.split(".")
    for part in parents:
        body = body.setdefault(part, {})
    body[last] = value


def _image(text: str) -> Any:
    match = _IMAGE.fullmatch(text)
    if not match:
        return text[:60]
    height, width = int(match[1]), int(match[2] or match[1])
    return height if height == width else [height, width]


def _split(text: str) -> list[str]:
    return [part for part in re.split(r"[,\s\uff0c\u3001]+", text) if part]


def _parts(text: str) -> list[str]:
    return [part.strip() for part in _COMMAS.split(text) if part.strip()]


# From a body back to the form.


def changed_query(state: FormState, change: Mapping[str, Any], family: str) -> str | None:
    """The question with a remedy's change put in; None when the form has no field for it."""
    values = dict(state.values)
    for place, value in change.items():
        if place == "workload.parallelism" and isinstance(value, Mapping):
            for name in ("data", "tensor", "pipeline", "expert", "zero_stage"):
                values[name] = (str(value[name]),) if value.get(name) else ()
            continue
        if place == "count":
            place, value = "counts", [value]
        one = BY_PLACE.get(place)
        if one is None or one.name not in BY_NAME or one.name in MODEL_TEXTS:
            return None
        if one.kind == "counts" and "workload.parallelism" not in change:
            # The plan of another number of cards goes with it.
            values |= dict.fromkeys(("data", "tensor", "pipeline"), ())
        if one.kind == "frameworks":
            values[VERSION_OF_FRAMEWORK] = ()
        unit = str(change.get("work.unit") or state.said("work_unit"))
        values[one.name] = texts_of(one, value, unit) or one.shown
    return canonical_query(replace(state, values=values), family=family)


def state_of(question: Mapping[str, Any], chinese: Collection[str] = ()) -> FormState:
    """The form that asks what a request body asks, as far as it can; the day stays open."""
    values: dict[str, tuple[str, ...]] = {one.name: one.shown for one in FORM}
    values[VERSION_OF_FRAMEWORK] = ()
    values |= _model_texts(question.get("workload", {}).get("model", {}))
    unit = str((question.get("work") or {}).get("unit") or "tokens")
    for one in FORM:
        value: Any = question
        for part in one.place.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is None or one.name in MODEL_TEXTS or one.kind == "day":
            continue
        if one.kind == "vendors" and chinese and set(value) == set(chinese):
            value = [CHINESE_VENDORS]
        values[one.name] = texts_of(one, value, unit) or one.shown
    return FormState(values, frozenset(values))


def form_query(question: Mapping[str, Any], chinese: Collection[str] = ()) -> str:
    """The form's address for a request body."""
    limit = question.get("limit")
    rows = {BY_PLACE["limit"].name: str(limit)} if limit and limit != BY_PLACE["limit"].default else {}
    return canonical_query(state_of(question, chinese), rows)


def _model_texts(model: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    if "preset" in model:
        return {"model": (str(model["preset"]),)}
    if set(model) == {"config"}:
        return {"config": (json.dumps(model["config"], ensure_ascii=False),)}
    if model.keys() <= {"family", "parameters", "name"} and model.get("parameters"):
        size = float(model["parameters"])
        for text in (str(model.get("name") or ""), text_of_number(size, Decimal("1e-6")) + "M"):
            if model_size(text) == size:
                return {"model": (text,), "family": (str(model.get("family", "decoder")),)}
    return {"config": (json.dumps(model, ensure_ascii=False),)} if model else {}


def texts_of(one: Field, value: Any, work_unit: str = "tokens") -> tuple[str, ...]:
    """The texts by which the form says a value: what `_Reader.value` reads as the same."""
    if is_many(one):
        return tuple(str(item) for item in value)
    match one.kind:
        case "prices":
            return ("\n".join(f"{gpu} = {text_of_number(price)}" for gpu, price in value.items()),)
        case "counts":
            return (", ".join(str(count) for count in value),)
        case "size":
            return (
                "x".join(
                    text_of_number(side) for side in (value if isinstance(value, list | tuple) else [value])
                ),
            )
        case "fraction":
            return (text_of_number(value, Decimal(100)),)
        case "flag":
            return ("1",) if value else ()
        case "answer" | "level":
            return (_SWITCH[value] if isinstance(value, bool) else str(value),)
        case "vendors" | "frameworks" | "choices" | "cards":
            return (", ".join(str(item) for item in value),) if value else ()
        case "integer" | "number":
            scale = Decimal("1e-6") if one.name == "work" and work_unit in MILLIONS else Decimal(1)
            return (text_of_number(value, scale),)
    return (str(value),) if value != "" else ()


def field_of(pointer: str) -> str:
    """Name of the form's field for an error's JSON pointer; empty when no field stands for it."""
    place = pointer.strip("/").replace("/", ".")
    while place:
        one = BY_PLACE.get(place)
        if one is not None and one.name in BY_NAME:
            name = one.name
            return "model" if name == "family" and not pointer.endswith("/family") else name
        place = place.rpartition(".")[0]
        if place == "workload.model":
            return "model"
    return ""
