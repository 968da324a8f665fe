"""The faces of the table of fields: what a test walks, and the table in docs/api.md."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from app.commands.question import option_of
from app.core.fields import Field

START, END = "<!-- fields -->", "<!-- end of fields -->"
EXAMPLES: dict[str, Any] = {
    "integer": 3,
    "number": 2.5,
    "fraction": 0.25,
    "flag": True,
    "answer": True,
    "text": "words",
    "version": "550.54",
    "day": "2026-11-30",
    "size": [224, 320],
    "counts": [2, 4],
    "cards": ["rtx4090", "l20"],
    "card": "rtx4090",
    "prices": {"rtx4090": 14000.5},
    "vendors": ["NVIDIA", "AMD"],
    "level": "selective",
}


def example(one: Field) -> Any:
    """A value of a field that is not its default."""
    if one.kind in ("choice", "choices", "frameworks"):
        other = next(choice for choice in reversed(one.choices) if choice != one.default)
        return other if one.kind == "choice" else [other]
    if one.kind in ("integer", "number") and one.limits is not None:
        value = min(max(EXAMPLES[one.kind], one.limits.low), one.limits.high)
        return value if value != one.default else one.limits.high
    return EXAMPLES[one.kind]


def range_of(one: Field) -> str:
    """Range, words or shape of a field's values, for a reader."""
    if one.choices and len(one.choices) <= 12:
        return ", ".join(f"`{str(c).lower() if isinstance(c, bool) else c}`" for c in one.choices)
    if one.choices:
        return f"{len(one.choices)} words, see /openapi.json"
    if one.limits is not None:
        whole = "whole, " if one.limits.integer else ""
        return f"{whole}{one.limits.low:g} to {one.limits.high:g}"
    return {"flag": "true, false", "answer": "true, false", "day": "a date", "prices": "yuan by card"}.get(
        one.kind, one.kind
    )


def default_of(one: Field) -> str:
    """The default, for a reader."""
    if one.required or one.required_for:
        return "required" if one.required else f"required in {', '.join(one.required_for)}"
    if one.default in (None, "", (), False):
        return ""
    return ", ".join(str(v) for v in one.default) if isinstance(one.default, tuple) else f"{one.default}"


def documented(fields: Iterable[Field]) -> str:
    """The table of every field."""
    lines = ["| field | values | default | in the form | flag | meaning |", "|---|---|---|---|---|---|"]
    for one in fields:
        unit = f" {one.unit}" if one.unit and one.kind != "fraction" else ""
        name = f"`{one.name}`" if one.group else ""
        cells = (
            f"`{one.place}`",
            range_of(one) + unit,
            default_of(one),
            name,
            f"`{option_of(one)}`",
            one.help,
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def with_table(text: str, fields: Iterable[Field]) -> str:
    """A document with the table renewed."""
    head, rest = text.split(START, 1)
    return f"{head}{START}\n{documented(fields)}\n{END}{rest.split(END, 1)[1]}"
