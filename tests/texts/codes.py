"""Finds every code of a message or fault in the sources, by reading their syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

APP = Path(__file__).resolve().parents[2] / "app"
FOLDERS = ("core", "catalog", "services", "api", "web")
# Which argument holds the code: by the name of what is called.
POSITIONS = {
    "Message": (0, "code"),
    "FieldError": (1, "code"),
    "at": (1, "code"),
    "fault": (1, "code"),
    "default": (2, "why"),
    "Assumption": (2, "why"),
    "_with": (2, "code"),
    "_remedy": (0, "code"),
}
# Calls whose code is a part: the message's code is made from it.
PREFIXES = {"_with": "remedy_", "_remedy": "remedy_"}


def codes_in(path: Path) -> Iterator[tuple[str, str]]:
    """(place, code) for every code that a source file writes out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name not in POSITIONS:
            continue
        position, keyword = POSITIONS[name]
        argument = next((k.value for k in node.keywords if k.arg == keyword), None)
        if argument is None and len(node.args) > position:
            argument = node.args[position]
        for code in _texts(argument):
            yield f"{path.relative_to(APP.parent)}:{node.lineno}", PREFIXES.get(name, "") + code


def _texts(node: ast.expr | None) -> Iterator[str]:
    """The texts an expression may become: itself, or either branch of a conditional."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)


def all_codes() -> dict[str, str]:
    """Every code with the first place that uses it."""
    found: dict[str, str] = {}
    for folder in FOLDERS:
        for path in sorted((APP / folder).rglob("*.py")):
            for place, code in codes_in(path):
                found.setdefault(code, place)
    return found
