"""How a field of a question is declared: once, beside its default; every face of the product is made of it.

Body, OpenAPI, form, address, command line, labels, defaults and documentation read the declarations of
`question.FIELDS`. A new field is one declaration and the calculation that uses it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal, get_type_hints

TASKS: tuple[str, ...] = ("inference", "training", "lora", "qlora")
TRAINING_TASKS = ("training", "lora", "qlora")
ADAPTER_TASKS = ("lora", "qlora")
IMAGE_FAMILIES = ("vision", "diffusion")
TOKEN_FAMILIES = ("decoder", "encoder", "encoder-decoder")
SEQUENCE_FAMILIES = (*TOKEN_FAMILIES, "speech")

Kind = Literal[
    "integer",
    "number",
    "fraction",
    "choice",
    "level",
    "choices",
    "flag",
    "answer",
    "text",
    "version",
    "long",
    "day",
    "size",
    "counts",
    "card",
    "cards",
    "prices",
    "vendors",
    "frameworks",
    "model",
]
"""What a value is: `fraction` 0 to 1 is asked in per cent; `level` is off, on or a word; `answer` yes or no;
`version` a driver's or an engine's; `size` pixels of a square or [height, width]."""
LISTS = frozenset({"choices", "counts", "cards", "vendors", "frameworks"})

Applies = Callable[[Any], bool]
Usual = Callable[[str, Any], Any]
"""(task, model) -> a value; None where it is left to the general rules."""
REQUIRED: Any = object()


@dataclass(frozen=True, slots=True)
class Range:
    """Accepted range of one numeric field; the form's attributes and the API schema come from it."""

    low: float
    high: float
    integer: bool = True


@dataclass(frozen=True, slots=True)
class Condition:
    """When a field does something: `code` says why not, where `applies` fails for a resolved question."""

    code: str
    applies: Applies
    tasks: tuple[str, ...] = TASKS
    """The tasks it can hold for: a form asks the field for no other."""
    families: tuple[str, ...] = ()
    """The families of models it can hold for; empty: any."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a question, as it is declared."""

    kind: Kind
    label: str
    help: str
    limits: Range | None = None
    choices: tuple[Any, ...] = ()
    words: str = ""
    """Which table of words says the choices."""
    unit: str = ""
    pattern: str = ""
    longest: int = 500
    """Of a list."""
    required: bool = False
    required_for: tuple[str, ...] = ()
    """Tasks for which a guess would decide the answer."""
    example: Any = None
    counts: tuple[Condition, ...] = ()
    told: Applies | None = None
    """The questions whose answer lists the default of this field, when it was used."""
    title: str = ""
    """Its name among the assumptions of an answer, where `label` is too short there."""
    group: str = ""
    """Where the form shows it; empty: it has no place there."""
    name: str = ""
    """Its name in the form and in addresses: that of the body where nothing else is said."""
    shown: tuple[str, ...] = ()
    """What the form holds when the address says nothing; empty: the field is left open."""
    hint: str = "auto"
    """What an open field shows in grey."""
    flag: str = ""
    """Its option on the command line: that of the body where nothing else is said."""
    place: str = ""
    """Where it stands in the body: `workload.offload.experts`."""
    default: Any = None
    whole: bool = False
    """The calculation takes an int."""
    usual: Usual | None = None
    """What a purchase question takes by its task and model where it leaves the field open."""

    @property
    def key(self) -> str:
        """Its name in the body, inside its object."""
        return self.place.rpartition(".")[2]

    @property
    def pointer(self) -> str:
        """JSON pointer of its value."""
        return "/" + self.place.replace(".", "/")

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks for which the field is asked."""
        return tuple(task for task in TASKS if all(task in one.tasks for one in self.counts))

    @property
    def families(self) -> tuple[str, ...]:
        """Families for which the field is asked: of images, of sequences, or all of them (empty)."""
        for wide in (IMAGE_FAMILIES, SEQUENCE_FAMILIES):
            if any(one.families and set(one.families) <= set(wide) for one in self.counts):
                return wide
        return ()


def declared(default: Any, kind: Kind, label: str, help: str, **more: Any) -> Any:
    """A field of a dataclass that is one of the question's.

    Parameters
    ----------
    default: value when nothing is said, `REQUIRED`, or `dict` for an empty mapping.
    kind, label, help: what it is, its short name, and one sentence; English, translated where they are shown.
    more: any other attribute of `Field`.
    """
    field = Field(kind, label, help, required=default is REQUIRED, **more)
    # An answer that repeats the field describes it by the same sentence.
    notes: dict[str, Any] = {"field": field, "description": help}
    if default is REQUIRED:
        return dataclasses.field(metadata=notes)
    if default is dict:
        return dataclasses.field(default_factory=dict, metadata=notes)
    return dataclasses.field(default=default, metadata=notes | {"field": replace(field, default=default)})


def fields_of(kind: type, place: str) -> tuple[Field, ...]:
    """The declared fields of a dataclass, in their order, that stand at a place of the body."""
    found = []
    hints = get_type_hints(kind)
    for one in dataclasses.fields(kind):
        field: Field | None = one.metadata.get("field")
        if field is not None:
            whole = hints[one.name] in (int, int | None)
            at = f"{place}.{one.name}" if place else one.name
            found.append(replace(field, place=at, name=field.name or one.name, whole=whole))
    return tuple(found)


DAYS = (date(1990, 1, 1), date(2100, 12, 31))
"""The first and the last day that a question may be about."""


def parse_day(value: str) -> date | None:
    """The date of an ISO text (2026-11-30) within `DAYS`, else None."""
    parsed = written_day(value)
    return parsed if parsed is not None and DAYS[0] <= parsed <= DAYS[1] else None


def written_day(value: str) -> date | None:
    """The date that an ISO text writes out, whenever that is, else None."""
    if len(value) != 10 or not value.isascii():
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None


def placed(place: str, kind: Kind, label: str, help: str, **more: Any) -> Field:
    """A field that is no part of a dataclass of the core, at its place in the body."""
    return Field(kind, label, help, place=place, **more)
