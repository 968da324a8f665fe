"""Printed formulas give their number: every part of every answer is the value of the formula beside it."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.core.estimates import Interval
from app.core.formulas import Worked, evaluate
from app.core.gpu import Benchmark
from app.core.gpu_table import GpuTable
from app.core.memory import estimate
from app.core.memory.estimator import formulas
from app.core.memory.kv import elements
from app.core.memory.weights import model_bytes
from app.core.resolve import resolve
from app.core.speed import SpeedGrid, speed_grid
from app.core.symbols import SYMBOLS
from app.core.workload import Parallelism, Workload
from tests.core.cards import GPUS
from tests.core.model_examples import LLAMA_3_1_8B
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
        if re.sub(r"_\d$", "", operand.name) not in SYMBOLS:
            yield f"nothing says what {operand.name} is"


STRUCTURAL = {*range(17), 0.5, 1.5, 20, 30, 64, 640, 1_000_000}
"""Numbers of a count (two bytes, four matrices, powers): all others have a name, a unit and a meaning."""


FLOORS = {1e-6, 1e-3}
"""Least arguments of powers, which no model comes near."""


def unnamed(worked: Worked) -> set[float]:
    """Numbers of a formula that nothing explains."""
    texts = [worked.expression, *(o.expression for o in worked.operands if o.expression)]
    nodes = [node for text in texts for node in ast.walk(ast.parse(text, mode="eval"))]
    numbers = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return {float(n) for n in numbers if isinstance(n, int | float)} - STRUCTURAL


def test_no_factor_of_memory_is_hidden() -> None:
    found: dict[float, str] = {}
    for name, work, plan in QUESTIONS:
        for part, worked in formulas(work, plan).items():
            found |= dict.fromkeys(unnamed(worked), f"{name}: {part}: {worked.expression}")
    assert not found


def test_opening_a_figure_leaves_nothing_traced_behind() -> None:
    fresh = replace(LLAMA_3_1_8B, name="Opened first")
    formulas(Workload(fresh, precision="awq"), Parallelism(tensor=2))
    sizes = model_bytes(fresh, "awq", "vllm")
    assert type(sizes.layers) is float and type(elements(fresh, 2).full) is float


def test_factors_of_engines_stand_in_the_formula() -> None:
    sglang = formulas(Workload(LLAMA_3_1_8B, precision="fp8", engine="sglang"), Parallelism(tensor=2))
    engine = {o.name: o.value for o in sglang["engine"].operands}
    weights = {o.name: o.value for o in sglang["weights"].operands}
    assert engine["graph_factor"] == 1.3 and engine["graphs_gib"] == 0.2 and engine["non_torch_gib"] == 0.12
    assert weights["replicated_share"] == 0.01 and weights["load_buffers_gib"] == 0.06


def test_every_part_of_memory_is_the_value_of_its_formula() -> None:
    found = []
    for name, work, plan in QUESTIONS:
        shown = estimate(work, plan)
        printed = formulas(work, plan)
        assert set(printed) == {part.part for part in shown.parts}
        for part in shown.parts:
            found += [f"{name}: {part.part}: {f}" for f in faults(printed[part.part], float(part.gib))]
    assert not found, "\n".join(found[:20]) + f"\n{len(found)} in {len(QUESTIONS)} questions"


PHASES = ("prefill", "decode", "whole_run")
SHOWN_CARDS = ("rtx4090", "h100-sxm5-80gb", "p40", "rtx3050-8gb")


def speed_faults(grid: SpeedGrid, card: int) -> Iterator[str]:
    """What a reader would object to in the formulas of one speed."""
    shown, printed = grid.estimate(card, 0), grid.formulas(card, 0)
    if not math.isfinite(float(shown.expected)):
        return
    figures: dict[str, object] = {**shown.detail}
    figures |= {n: getattr(shown, n) for n in ("low", "expected", "high", "steps_per_s", *PHASES)}
    for name, expression in printed.figures.items():
        figure = figures[name]
        expected = figure.expected if isinstance(figure, Interval) else figure
        worked = Worked(expression, printed.operands)
        yield from (f"{name}: {fault}" for fault in faults(worked, float(expected)))  # type: ignore[arg-type]
        if "stated_speed" in expression:
            yield f"{name}: no formula was found"
        for number in unnamed(worked) - FLOORS:
            yield f"{name}: nothing says what {number} is in {expression}"
    if shown.decode is not None and not set(PHASES) <= printed.figures.keys():
        yield "a phase has no formula"
    for part in printed.parts:
        worked = Worked(part.expression, printed.operands)
        yield from (f"part {part.part}: {fault}" for fault in faults(worked, float(part.seconds)))
    whole = sum(float(part.seconds) for part in printed.parts)
    if not math.isclose(whole * float(shown.steps_per_s), 1.0, rel_tol=1e-9):
        yield f"parts make {whole} s, the step takes {1.0 / float(shown.steps_per_s)} s"


def test_every_figure_of_speed_is_the_value_of_its_formula() -> None:
    gpus = [gpu for gpu in GPUS if gpu.id in SHOWN_CARDS]
    table = GpuTable.from_gpus(gpus)
    found = []
    # The formulas of neighbours differ in little: a third of them still has every branch.
    for i, (name, asked, plan) in enumerate(QUESTIONS[::3]):
        work, _ = resolve(asked)
        grid = speed_grid(work, (plan,), table, gpus)
        card = i % len(gpus)
        found += [f"{name} on {gpus[card].id}: {f}" for f in speed_faults(grid, card)]
    assert not found, "\n".join(found[:20]) + f"\n{len(found)} in {len(QUESTIONS)} questions"


@pytest.mark.parametrize("own", [False, True])
def test_speed_that_measurements_correct_says_by_what(own: bool) -> None:
    rows = [
        Benchmark(
            id=f"row-{phase}", gpu_id="rtx4090", gpu_count=1, model_id="llama-3.1-8b", model_name="Llama",
            task="inference", precision="bf16", value=value, unit="tokens_per_s", phase=phase, own=own,
            batch_per_gpu=8.0, sequence_length=8192.0, input_length=7680.0, output_length=512.0,
            framework="vLLM",
        )
        for phase, value in (("prefill", 9000.0), ("decode", 300.0), ("saturated", 900.0))
    ]  # fmt: skip
    table = GpuTable.from_gpus(GPUS)
    card = next(i for i, gpu in enumerate(GPUS) if gpu.id == "rtx4090")
    corrected = 0
    for load in ("single", "batch", "saturated"):
        work, _ = resolve(
            Workload(LLAMA_3_1_8B, load=load, batch_size=8, sequence_length=8192, output_length=512)
        )
        grid = speed_grid(work, (Parallelism(),), table, GPUS, rows)
        assert not list(speed_faults(grid, card))
        printed = grid.formulas(card, 0)
        corrected += any(o.name.endswith("_correction") for o in printed.operands)
    assert corrected


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
