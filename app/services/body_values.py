"""What a body states, before and after it is read: bounded, without nulls, in the types of the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from app.core.faults import InputFault
from app.core.fields import LISTS
from app.core.model.readers.bounded import storable
from app.core.question_fields import BY_PLACE
from app.services.bodies import stated
from app.services.body_faults import Loc, pointer_of

_NESTING = 4
"""Objects in objects, a config.json left out: its labels may be thousands."""
MAX_KEYS = 500
"""Of one object of a body."""


def storable_body(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body with a config.json that can be written as JSON again; anything else is as it was sent."""
    workload = data.get("workload")
    model = workload.get("model") if isinstance(workload, Mapping) else None
    config = model.get("config") if isinstance(model, Mapping) else None
    if not isinstance(workload, Mapping) or not isinstance(model, Mapping) or not isinstance(config, Mapping):
        return data
    return {**data, "workload": {**workload, "model": {**model, "config": storable(config)}}}


def without_nulls(data: Mapping[str, Any], depth: int = 3) -> dict[str, Any]:
    """What a body states: null counts as not given, except inside a config.json."""
    return {
        key: without_nulls(value, depth - 1)
        if depth and isinstance(value, Mapping) and key != "config"
        else value
        for key, value in data.items()
        if value is not None
    }


def values_of(part: BaseModel, place: str) -> dict[str, Any]:
    """What an object states, in the types of the core: tuples, and floats except where ints count."""
    found: dict[str, Any] = {}
    for name, value in stated(part).items():
        declared = BY_PLACE.get(f"{place}.{name}")
        if declared is None or value is None:
            continue
        if declared.kind in LISTS:
            found[name] = tuple(dict.fromkeys(value)) if declared.kind == "choices" else tuple(value)
        elif declared.kind == "size":
            found[name] = (value, value) if isinstance(value, int) else tuple(value)
        elif declared.limits is not None and not declared.whole:
            found[name] = float(value)
        else:
            found[name] = value
    return found


def refuse_wide(data: Mapping[str, Any]) -> None:
    """Refuse a body with an object of more keys than any has, before each of them is a fault of its own."""
    level: list[tuple[Loc, Mapping[str, Any]]] = [((), data)]
    for _ in range(_NESTING):
        for at, part in level:
            if len(part) > MAX_KEYS:
                raise InputFault.at(pointer_of(at), "too_many_keys", limit=MAX_KEYS)
        level = [
            ((*at, key), value)
            for at, part in level
            for key, value in part.items()
            if isinstance(value, Mapping) and key != "config"
        ]
