"""Formulas in two forms: the general one of /method, and the one of a figure, which gives its number.

The formula of a figure is arithmetic over named operands: + - * / ** and parentheses, max, min, ceil, floor,
log2. `evaluate` works it out and takes nothing else: whoever has the printed text can check the figure.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.core.answer import Figure, SourceText, answer

if TYPE_CHECKING:
    from app.core.estimates import Basis


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a formula or constant was read."""

    text: str
    url: str = ""
    read_on: str = "2026-11-30"


@dataclass(frozen=True, slots=True)
class Formula:
    """One formula: symbols in the standard notation, unit of the result, where it stops being valid."""

    id: str
    """Dotted: memory.kv_cache, speed.decode, cost.energy …"""
    title: str
    """English source text; translated through the catalogue."""
    expression: str
    unit: str
    basis: Basis
    validity: str
    references: tuple[Reference, ...] = field(default=())


FORMULAS: dict[str, Formula] = {}


def register(*formulas: Formula) -> None:
    """Add formulas at import of the module that computes them; an id is given once."""
    for formula in formulas:
        if formula.id in FORMULAS:
            raise ValueError(f"formula {formula.id} is registered twice")
        FORMULAS[formula.id] = formula


@answer(omit=("expression",))
class Operand:
    """One name in the formula of a figure."""

    name: str
    """As it stands in the formula."""
    value: Figure
    """Its number, in `unit`."""
    unit: str
    """Unit; empty for counts and shares."""
    text: SourceText
    """What it is."""
    expression: str | None = None
    """How it follows from other operands of the same list; absent for what is given."""


@dataclass(frozen=True, slots=True)
class Worked:
    """The formula of one figure as it was computed: evaluating it with its operands gives the figure."""

    expression: str
    operands: tuple[Operand, ...]

    @property
    def value(self) -> float:
        """The figure, from the text and the operands alone."""
        return evaluate(self.expression, {o.name: o.value for o in self.operands})


def named_in(expression: str, operands: Sequence[Operand]) -> tuple[Operand, ...]:
    """The operands of one formula, with those that they follow from, each before its own."""
    by_name = {operand.name: operand for operand in operands}
    found: dict[str, Operand] = {}

    def add(text: str) -> None:
        for name in _NAME.findall(text):
            operand = by_name.get(name)
            if operand is not None and name not in found:
                found[name] = operand
                add(operand.expression or "")

    add(expression)
    return tuple(found.values())


_NAME = re.compile(r"[a-z]\w*")
_BINARY: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_CALLS: Mapping[str, Callable[..., float]] = {
    "max": max,
    "min": min,
    "ceil": math.ceil,
    "floor": math.floor,
    "log2": math.log2,
}
LONGEST = 20_000
"""Characters of an expression; what is computed here stays far below."""


def evaluate(expression: str, values: Mapping[str, float]) -> float:
    """Value of a printed formula.

    Parameters
    ----------
    expression: arithmetic as in the head of this module. values: of every name in it.

    Returns
    -------
    The number.

    Errors
    ------
    ValueError for anything that is no such arithmetic, or a name without a value.
    """
    if len(expression) > LONGEST:
        raise ValueError("expression too long")
    try:
        return float(_value(ast.parse(expression, mode="eval").body, values))
    except (SyntaxError, RecursionError, MemoryError, TypeError, ArithmeticError) as error:
        raise ValueError(f"no number: {expression[:200]}") from error


def _value(node: ast.expr, values: Mapping[str, float]) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name) and node.id in values:
        return values[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, values)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](_value(node.left, values), _value(node.right, values))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        call = _CALLS.get(node.func.id)
        if call is not None and node.args:
            return float(call(*(_value(argument, values) for argument in node.args)))
    raise ValueError(f"not in a formula: {ast.unparse(node)[:200]}")
