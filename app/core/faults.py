"""Faults of an input: field pointers and codes, without a language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class FieldError:
    """One fault of one field: a JSON pointer, a code of the catalogue of texts, and its parameters."""

    pointer: str
    code: str
    params: Mapping[str, Any] = field(default_factory=dict)


class InputFault(ValueError):
    """The question cannot be computed as asked; each field at fault is named."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(f"{e.pointer}: {e.code}" for e in errors))
        self.errors = tuple(errors)

    @classmethod
    def at(cls, pointer: str, code: str, **params: Any) -> InputFault:
        """A fault with a single field error."""
        return cls([FieldError(pointer, code, params)])


_SHOWN = 80


def escape(key: object) -> str:
    """One part of a JSON pointer (RFC 6901), short whatever was sent."""
    return str(key)[:_SHOWN].replace("~", "~0").replace("/", "~1")


def shown(value: object) -> str:
    """What was sent, short enough to stand in a message."""
    if isinstance(value, int) and abs(value) > 10**18:
        return "…"
    text = str(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
