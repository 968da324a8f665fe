"""The bodies of requests as Pydantic models, made from the table of fields: what they say OpenAPI says.

They check kinds, ranges and words. What names mean and how fields combine is found after them, in
`services.questions`, which also puts every fault into the codes of the contract.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Strict,
    StringConstraints,
    Tag,
    create_model,
)
from pydantic import Field as Described
from pydantic_core import PydanticCustomError

from app.core.faults import shown
from app.core.field_values import limits_of
from app.core.fields import DAYS, Field, parse_day, written_day
from app.core.model.architecture import FAMILY_FIELDS
from app.core.question_fields import FIELDS

MAX_TEXT = 200
MODEL_KINDS = ("preset", "config", "family")
MODEL = "workload.model"
DESCRIPTIONS: Mapping[str, str] = {
    "workload": "What is to be run; what is left open gets a default, which the answer lists as assumption.",
    "workload.parallelism": "A plan; data x tensor x pipeline is the number of cards.",
    "workload.offload": "What is kept in host memory.",
    "service": "What users of a served language model are to get; null asks for nothing.",
    "work": "Amount of work: per month for inference, in all for training.",
    "budget": "Upper bound on the purchase with host.",
    "economics": "The economic frame; fractions are 0 to 1.",
    "price_rules": "Which observations may count.",
    "filters": "What an option must satisfy.",
    "questions": "The four questions; null is answered from the workload where it can be.",
    "memory": "Body of /memory.",
    "fit": "Body of /fit and /speed.",
    "shortlist": "Body of /shortlist.",
    "comparison": "Body of /comparisons: a shortlist to freeze, and its title.",
}
Type: TypeAlias = Any
# The types are made at run time, which a type checker does not follow.
_annotated: Any = Annotated
_literal: Any = Literal
_list: Any = list
_dict: Any = dict
Route = Literal["memory", "fit", "shortlist", "comparison"]


class Strictly(BaseModel):
    """No field but those named."""

    model_config = ConfigDict(extra="forbid")


def stated(part: BaseModel | None) -> dict[str, Any]:
    """The fields that an object of a body states."""
    return {} if part is None else {name: part.__dict__[name] for name in part.model_fields_set}


def is_plain(text: str) -> bool:
    """Whether a text has no control characters and no lone surrogates, which no database takes."""
    return not any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) <= 0xDFFF for c in text)


def _number(value: Any) -> Any:
    # Pydantic would take a text of digits or a bool for a number.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("not_a_number", "a number")
    return value


def _plain(text: str) -> str:
    if not is_plain(text):
        raise PydanticCustomError("not_plain_text", "plain text")
    return text.strip()


def _day(value: Any) -> Any:
    if not isinstance(value, str):
        raise PydanticCustomError("not_a_text", "a text", {"value": shown(value)})
    if len(value) > MAX_TEXT:
        raise PydanticCustomError("string_too_long", "a date", {"max_length": MAX_TEXT})
    parsed = parse_day(_plain(value))
    if parsed is None and written_day(value.strip()) is not None:
        first, last = (day.isoformat() for day in DAYS)
        raise PydanticCustomError(
            "date_out_of_range", "a date", {"value": shown(value), "first": first, "last": last}
        )
    if parsed is None:
        raise PydanticCustomError("not_a_date", "a date", {"value": shown(value)})
    return parsed


Name = Annotated[str, Described(max_length=MAX_TEXT), AfterValidator(_plain)]


def _one_of(words: Sequence[Any]) -> Type:
    return _literal[tuple(words)]


def _in(field: Field, kind: type) -> Type:
    assert field.limits is not None
    limits = Described(ge=kind(field.limits.low), le=kind(field.limits.high))
    return _annotated[kind, limits, BeforeValidator(_number)]


def type_of(field: Field) -> Type:
    """The type that validates one field."""
    whole = field.limits is not None and field.limits.integer
    match field.kind:
        case "integer" | "number" | "fraction":
            return _in(field, int if whole else float)
        case "choice":
            return _one_of(field.choices)
        case "level":
            # Strictly: 1 is not True.
            return _annotated[bool, Strict()] | _one_of([w for w in field.choices if isinstance(w, str)])
        case "choices":
            return _annotated[_list[_one_of(field.choices)], Described(max_length=field.longest)]
        case "flag" | "answer":
            return _annotated[bool, Strict()]
        case "version":
            return _annotated[
                str,
                StringConstraints(
                    strip_whitespace=True, max_length=MAX_TEXT, pattern=f"^(?:{field.pattern})?$"
                ),
            ]
        case "day":
            return _annotated[date, BeforeValidator(_day)]
        case "size":
            side = _in(field, int)
            return side | _annotated[_list[side], Described(min_length=2, max_length=2)]
        case "counts":
            return _annotated[_list[_in(field, int)], Described(min_length=1, max_length=field.longest)]
        case "cards" | "vendors" | "frameworks":
            item: Type = Name if field.kind == "cards" else str
            return _annotated[_list[item], Described(max_length=field.longest)]
        case "prices":
            return _annotated[_dict[str, _in(field, float)], Described(max_length=field.longest)]
        case "long":
            return _dict[str, Any]
        case _:
            return Name


def _notes(field: Field) -> dict[str, Any]:
    more: dict[str, Any] = {"description": field.help}
    if field.example is not None:
        more["examples"] = [field.example]
    if field.unit:
        more["json_schema_extra"] = {"unit": field.unit}
    return more


def _described(field: Field, whole: bool) -> tuple[Type, Any]:
    """Type and default of a field; in a body that is not `whole` nothing is required."""
    more = _notes(field)
    if field.required and whole:
        return type_of(field), Described(**more)
    if field.default in (None, "", ()) or field.required:
        default: Any = [] if field.default == () else None
        kind = type_of(field) if default is not None else type_of(field) | None
        return kind, Described(default, **more)
    default = list(field.default) if isinstance(field.default, tuple) else field.default
    return type_of(field), Described(default, **more)


class ModelPart(Strictly):
    """One part of a composite model."""

    name: Name
    parameters: float = Described(gt=0)
    precision: str | None = None


def _dimension(name: str, kind: str) -> Type:
    low, high = limits_of(name)
    limits = Described(ge=low, le=high)
    found: Mapping[str, Type] = {
        "text": Name,
        "flag": bool,
        "real": _annotated[float, limits],
        "integers": int | list[int],
        "parts": list[ModelPart],
    }
    return found.get(kind, _annotated[int, limits])


def _model_type(fields: Mapping[str, Field], whole: bool) -> Type:
    """A preset, a config.json, or a family with what is known of its size."""
    size = _described(fields[f"{MODEL}.parameters"], whole)

    def by_kind(title: str, doc: str, kind: str, **more: Any) -> type[BaseModel]:
        said = fields[f"{MODEL}.{kind}"]
        own: Any = {kind: (type_of(said), Described(**_notes(said)))}
        return create_model(title, __base__=Strictly, __doc__=doc, **own, **more)

    dimensions: Any = {
        name: (_dimension(name, kind) | None, None)
        for name, kind in FAMILY_FIELDS.items()
        if name not in ("family", "parameters")
    }
    made = {
        "preset": by_kind("PresetModel", "A model that the catalogue knows.", "preset"),
        "config": by_kind(
            "ConfigModel",
            "A model by its Hugging Face config.json.",
            "config",
            name=(Name | None, None),
            parameters=size,
        ),
        "family": by_kind(
            "FamilyModel",
            "A model by its family and whatever is known of its size.",
            "family",
            parameters=size,
            **dimensions,
        ),
    }
    preset, config, family = (_annotated[made[kind], Tag(kind)] for kind in MODEL_KINDS)
    return _annotated[preset | config | family, Discriminator(model_kind)]


def model_kinds(value: Any) -> list[str]:
    """By what a model is named: exactly one of `MODEL_KINDS` where it is right."""
    return [kind for kind in MODEL_KINDS if value.get(kind) is not None] if isinstance(value, Mapping) else []


def model_kind(value: Any) -> str | None:
    """The one kind of a model, or None."""
    kinds = model_kinds(value)
    return kinds[0] if len(kinds) == 1 else None


@dataclass(frozen=True, slots=True)
class Bodies:
    """The models of the four kinds of body."""

    memory: type[BaseModel]
    fit: type[BaseModel]
    shortlist: type[BaseModel]
    comparison: type[BaseModel]

    def of(self, route: Route) -> type[BaseModel]:
        """The model of a route's body."""
        found: type[BaseModel] = getattr(self, route)
        return found


def bodies_of(fields: Sequence[Field], whole: bool = True) -> Bodies:
    """The models of a table of fields.

    Parameters
    ----------
    fields: the table.
    whole: required fields are required; else they may be missing, to read the rest of a body at fault.
    """
    at = {field.place: field for field in fields}

    def part(name: str, place: str, **inner: Any) -> type[BaseModel]:
        own = [f for f in fields if f.place.startswith(f"{place}.") and "." not in f.place[len(place) + 1 :]]
        made: Any = {f.key: _described(f, whole) for f in own}
        return create_model(name, __base__=Strictly, __doc__=DESCRIPTIONS[place], **made, **inner)

    def inside(name: str, place: str) -> tuple[Type, Any]:
        return part(name, place) | None, None

    workload = part(
        "Workload",
        "workload",
        model=(_model_type(at, whole), ...) if whole else (_model_type(at, whole) | None, None),
        offload=inside("OffloadRequest", "workload.offload"),
        parallelism=inside("ParallelismRequest", "workload.parallelism"),
    )
    base: dict[str, Any] = {
        "workload": (workload, ...) if whole else (workload | None, None),
        "as_of": _described(at["as_of"], whole),
    }
    tops = [f for f in fields if "." not in f.place and f.place not in ("as_of", "gpu", "count", "title")]
    ranked = {
        "counts": _described(at["counts"], whole),
        "filters": inside("FiltersRequest", "filters"),
        "budget": inside("BudgetRequest", "budget"),
        "economics": inside("EconomicsRequest", "economics"),
        "price_rules": inside("PriceRulesRequest", "price_rules"),
        "service": inside("ServiceRequest", "service"),
        "work": inside("WorkRequest", "work"),
        "questions": inside("QuestionsRequest", "questions"),
        **{f.key: _described(f, whole) for f in tops},
    }
    card = {"gpu": _described(at["gpu"], whole), "count": _described(at["count"], whole)}

    def body(name: str, route: str, **own: Any) -> type[BaseModel]:
        return create_model(name, __base__=Strictly, __doc__=DESCRIPTIONS[route], **base, **own)

    return Bodies(
        memory=body("MemoryRequest", "memory"),
        fit=body("FitRequest", "fit", **card),
        shortlist=body("ShortlistRequest", "shortlist", **ranked),
        comparison=body("ComparisonRequest", "comparison", **ranked, title=_described(at["title"], whole)),
    )


BODIES = bodies_of(FIELDS)


@cache
def open_bodies() -> Bodies:
    """The same with nothing required: what is right in a body at fault is still read."""
    return bodies_of(FIELDS, whole=False)
