"""What Pydantic finds wrong in a body, in the codes of the contract and with its JSON pointers."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import BaseModel, ValidationError

from app.core.faults import FieldError, InputFault, escape, shown
from app.core.fields import Field, Range
from app.core.model.architecture import architecture_from_fields
from app.core.question_fields import BY_PLACE
from app.services.bodies import MAX_TEXT, is_plain, model_kinds

Loc: TypeAlias = tuple[str | int, ...]
_MODEL = ("workload", "model")
_NUMBER_FAULTS = frozenset(
    {"not_a_number", "greater_than_equal", "less_than_equal", "int_from_float", "finite_number", "float_type"}
    | {"int_type", "int_parsing", "int_parsing_size", "float_parsing"}
)
_CODES: Mapping[str, str] = {
    "missing": "required",
    "model_type": "not_an_object",
    "model_attributes_type": "not_an_object",
    "dict_type": "not_an_object",
    "list_type": "not_a_list",
    "bool_type": "not_a_boolean",
    "string_type": "not_a_text",
    "string_unicode": "not_plain_text",
    "string_pattern_mismatch": "not_a_version",
    "string_too_long": "too_long",
    "too_short": "empty_list",
    "too_long": "too_many",
    "literal_error": "unknown_value",
    "extra_forbidden": "unknown_field",
}


def pointer_of(at: Loc) -> str:
    """JSON pointer of a place."""
    return "".join(f"/{escape(key)}" for key in at)


def faults_of(error: ValidationError, body: Mapping[str, Any], vendors: Sequence[str]) -> list[FieldError]:
    """The faults of a body that Pydantic refuses.

    Parameters
    ----------
    error: what it found.
    body: what it read.
    vendors: the makers of the catalogue, for the name of an unknown one.
    """
    found = error.errors(include_url=False)
    family = [e for e in found if e["loc"][:3] == (*_MODEL, "family") and len(e["loc"]) > 3]
    faults: dict[tuple[str, str], FieldError] = {}
    if family and all(e["type"] != "extra_forbidden" for e in family):
        # The core has its own words for dimensions, which a family's faults are put in.
        try:
            architecture_from_fields(body["workload"]["model"])
        except InputFault as fault:
            faults = {(e.pointer, e.code): e for e in fault.errors}
            found = [e for e in found if e not in family]
    else:
        found = [e for e in found if e not in family or e["type"] == "extra_forbidden"]
    for item in found:
        fault_found = _fault_of(item, body, vendors)
        faults.setdefault((fault_found.pointer, fault_found.code), fault_found)
    return list(faults.values())


def _fault_of(found: Any, body: Mapping[str, Any], vendors: Sequence[str]) -> FieldError:
    kind, loc, value = found["type"], plain_loc(found["loc"]), found.get("input")
    one = field_at(loc)
    if kind == "union_tag_not_found":
        return _model_fault(value)
    if one is not None and kind != "extra_forbidden" and one.kind in ("size", "level"):
        # A field of two shapes: Pydantic has a finding for each.
        value = _value_at(body, one.place)
        return FieldError(one.pointer, *_of_two_shapes(one, value))
    if kind in _NUMBER_FAULTS:
        return FieldError(pointer_of(loc), *number_fault(value, one.limits if one else None))
    if one is not None and one.kind in ("vendors", "frameworks") and kind.startswith("string"):
        allowed = list(one.choices or vendors)
        return FieldError(pointer_of(loc), "unknown_value", {"value": shown(value), "allowed": allowed})
    code, params = _CODES.get(kind, kind), dict(found.get("ctx") or {})
    if code == "not_a_version" and not is_plain(value):
        code = "not_plain_text"
    if kind in _CODES:
        params = _params_of(code, value, params, one)
    return FieldError(pointer_of(loc), code, params)


def _model_fault(value: Any) -> FieldError:
    if not isinstance(value, Mapping):
        return FieldError(pointer_of(_MODEL), "not_an_object", {})
    kinds = model_kinds(value)
    at = (*_MODEL, kinds[1] if kinds else "preset")
    return FieldError(pointer_of(at), "model_kinds" if kinds else "model_missing", {})


def _of_two_shapes(one: Field, value: Any) -> tuple[str, dict[str, Any]]:
    if one.kind == "size" and one.limits is not None:
        return _size_fault(value, one.limits)
    allowed = [str(word).lower() if isinstance(word, bool) else word for word in one.choices]
    return "unknown_value", {"value": shown(value), "allowed": allowed}


def number_fault(value: Any, limits: Range | None) -> tuple[str, dict[str, Any]]:
    """What is wrong with a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        plain = unicodedata.normalize("NFKC", value[:80]) if isinstance(value, str) else value
        code = "not_a_number" if plain == value else "full_width_digits"
        return code, {"value": shown(value), "plain": shown(plain)}
    if isinstance(value, float) and not math.isfinite(value):
        return "not_finite", {}
    if limits is None or not limits.low <= value <= limits.high:
        low, high = (limits.low, limits.high) if limits else (0, 0)
        return "out_of_range", {"value": shown(value), "low": low, "high": high}
    return "not_an_integer", {"value": shown(value)}


def _size_fault(value: Any, limits: Range) -> tuple[str, dict[str, Any]]:
    sides: Sequence[Any] = value if isinstance(value, list | tuple) else (value,)
    if len(sides) not in (1, 2) or (isinstance(value, list | tuple) and len(sides) != 2):
        return "not_an_image_size", {}
    wrong = (side for side in sides if _is_no_side(side, limits))
    return number_fault(next(wrong, None), limits)


def _is_no_side(side: Any, limits: Range) -> bool:
    number = isinstance(side, int | float) and not isinstance(side, bool)
    return not (number and limits.low <= side <= limits.high and float(side).is_integer())


def _params_of(code: str, value: Any, context: dict[str, Any], declared: Field | None) -> dict[str, Any]:
    if code == "too_long":
        return {"limit": context.get("max_length", MAX_TEXT)}
    if code == "too_many":
        return {"limit": declared.longest if declared else context.get("max_length", 0)}
    if code == "unknown_value":
        return {"value": shown(value), "allowed": list(declared.choices) if declared else []}
    if code in ("not_a_list", "not_a_boolean", "not_a_text", "not_a_version"):
        return {"value": shown(value)}
    return {}


def rest_of(clean: dict[str, Any], error: ValidationError, kind: type[BaseModel]) -> BaseModel:
    """What is left of a body when what is at fault is taken out."""
    rest = clean
    for _ in range(len(error.errors(include_url=False)) + 1):
        for item in error.errors(include_url=False):
            loc = plain_loc(item["loc"])
            rest = _taken_out(rest, loc[:2] if loc[:2] == _MODEL else loc)
        try:
            return kind.model_validate(rest)
        except ValidationError as more:
            error = more
    return kind.model_validate({})


def _taken_out(data: Any, loc: Loc) -> Any:
    """A copy without what stands at a place; a list with a fault inside goes as a whole."""
    if not isinstance(data, Mapping) or not loc or loc[0] not in data:
        return data
    inner = data[loc[0]]
    if len(loc) > 1 and isinstance(inner, Mapping):
        return {**data, loc[0]: _taken_out(inner, loc[1:])}
    return {key: value for key, value in data.items() if key != loc[0]}


def plain_loc(loc: Loc) -> Loc:
    """A place as the body has it: without the kind of model that Pydantic puts in."""
    return (*loc[:2], *loc[3:]) if loc[:2] == _MODEL else loc


def field_at(loc: Loc) -> Field | None:
    """The declared field that a place lies in."""
    for length in range(len(loc), 0, -1):
        found = BY_PLACE.get(".".join(str(key) for key in loc[:length]))
        if found is not None:
            return found
    return None


def _value_at(body: Any, place: str) -> Any:
    for key in place.split("."):
        body = body.get(key) if isinstance(body, Mapping) else None
    return body
