"""Faults of data files: which file, line and column, and what is wrong there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MAX_FAULTS = 100

TEXTS = {
    "file_missing": "the file is missing",
    "not_utf8": "the file is not UTF-8 text",
    "file_empty": "the file has no header line",
    "too_large": "the file is larger than {limit} bytes",
    "header_unknown": "there is no such column; known are {known}",
    "header_twice": "the column stands twice",
    "header_missing": "the column is missing",
    "cells": "{found} cells where the header has {expected}",
    "csv": "not readable as CSV: {detail}",
    "json": "not readable as JSON: {detail}",
    "not_object": "not a JSON object",
    "required": "must not be empty",
    "not_a_number": "{value!r} is not a number",
    "not_finite": "{value!r} is not a finite number",
    "not_an_integer": "{value!r} is not a whole number",
    "not_a_boolean": "{value!r} is neither true nor false",
    "not_text": "{value!r} is not text",
    "control_character": "holds a control character",
    "not_a_date": "{value!r} is not a date (YYYY-MM-DD, YYYY-MM or YYYY)",
    "not_allowed": "{value!r} is none of {allowed}",
    "pattern": "{value!r} does not have the form {pattern}",
    "too_small": "{value} is less than {low}",
    "too_large_number": "{value} is more than {high}",
    "out_of_range": "{value} is not between {low:g} and {high:g}",
    "unknown_reference": "{value!r} is no id in {target}",
    "wrong_unit": "the unit of {figure} is {expected!r}, not {value!r}",
    "formula_required": "a derived figure needs its formula",
    "target_or_candidates": "needs either an id or candidates, not both",
    "per_gpu_mismatch": "{value} is not {expected:g}, the price of the instance by its cards",
    "valid_before_quoted": "ends before it begins",
    "duplicate": "says the same as line {earlier}",
    "architecture": "no architecture: {detail}",
    "two_chosen": "line {earlier} is already the chosen value of this figure",
    "more": "and {count} more faults",
}


@dataclass(frozen=True, slots=True)
class DataFault:
    """One fault. Line 1 is the header; column is the name in the header, or the key in a JSON line."""

    file: str
    line: int
    column: str
    code: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line or "", self.column) if part)
        return f"{place}: {TEXTS[self.code].format(**self.params)}"


class SeedFault(ValueError):
    """The data files cannot be loaded; nothing was written. `faults` holds up to 100 of them."""

    def __init__(self, faults: Sequence[DataFault], total: int | None = None) -> None:
        self.faults = tuple(faults[:MAX_FAULTS])
        self.total = total if total is not None else len(faults)
        lines = [str(fault) for fault in self.faults]
        if self.total > len(self.faults):
            lines.append(TEXTS["more"].format(count=self.total - len(self.faults)))
        super().__init__("\n".join(lines))
