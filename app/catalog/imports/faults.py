"""What is wrong with an imported table, cell by cell, without a language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as made
from typing import Any

MAX_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class RowFault:
    """One cell at fault.

    `line` is that of the file (of a JSON list: the index of the item, from 0), 0 for the file as a whole;
    `column` the header as written; `field` the name in the catalogue.
    """

    line: int
    column: str
    field: str
    value: str
    code: str
    params: Mapping[str, Any] = made(default_factory=dict)
    confirmable: bool = False
    """Readable, but far from what is known: accepted when a person confirms it."""


class ImportRefused(ValueError):
    """The file as a whole cannot be read; nothing was looked at row by row."""

    def __init__(self, code: str, **params: Any) -> None:
        super().__init__(code)
        self.code = code
        self.params = params
