"""Printed formulas give their number: every part of every answer is the value of the formula beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from app.core.formulas import Worked, evaluate
from app.core.memory import estimate
from app.core.memory.estimator import formulas
from tests.core.questions import questions

QUESTIONS = list(questions())


def faults(worked: Worked, figure: float) -> Iterator[str]:
    """What a reader with the printed text and operands alone would object to."""
    if not math.isclose(worked.value, figure, rel_tol=1e-9, abs_tol=1e-12):
        yield f"{worked.expression} gives {worked.value}, shown is {figure}"
    values = {o.name: o.value for o in worked.operands}
    for operand in worked.operands:
        if operand.expression and not math.isclose(
            evaluate(operand.expression, values), operand.value, rel_tol=1e-9, abs_tol=1e-12
        ):
            yield f"{operand.name} = {operand.expression} is not {operand.value}"
        if not operand.text:
            yield f"nothing says what {operand.name} is"


def test_every_part_of_memory_is_the_value_of_its_formula() -> None:
    found = []
    for name, work, plan in QUESTIONS:
        shown = estimate(work, plan)
        printed = formulas(work, plan)
        assert set(printed) == {part.part for part in shown.parts}
        for part in shown.parts:
            found += [f"{name}: {part.part}: {f}" for f in faults(printed[part.part], float(part.gib))]
    assert not found, "\n".join(found[:20]) + f"\n{len(found)} in {len(QUESTIONS)} questions"


@pytest.mark.parametrize(
    ("expression", "value"),
    [("2**30 / 4", 2.0**28), ("max(a - 3, 0) * -b", -4.0), ("ceil(a / 2) + floor(2.9) + log2(8)", 8.0)],
)
def test_formulas_are_arithmetic_over_operands(expression: str, value: float) -> None:
    assert evaluate(expression, {"a": 5.0, "b": 2.0}) == value


@pytest.mark.parametrize(
    "expression",
    ["c", "a.real", "a if a else b", "__import__('os')", "a[0]", "a = 1", "max()", "max(a, key=b)", "1 / 0",
     "9**9**9**9", "'a'", "True", "lambda: 1", "(" * 400 + "1" + ")" * 400, "1 +" * 9000 + "1", "print(a)"],
)  # fmt: skip
def test_nothing_but_arithmetic_is_worked_out(expression: str) -> None:
    with pytest.raises(ValueError):
        evaluate(expression, {"a": 5.0, "b": 2.0})
