"""The formulas of one speed: the model run once more on one card and plan, with numbers that remember."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from app.core.estimates import SpeedEstimate, SpeedPart
from app.core.formulas import Operand
from app.core.gpu import RATE_FIGURES
from app.core.gpu_table import ComputeRate, Floats, GpuTable
from app.core.speed.predict import predict
from app.core.speed.terms import Plans, Shape, Terms, cell_of
from app.core.tracing import Probe, Traced, addends, given, named, worked_together
from app.core.units import Number
from app.core.workload import Parallelism, Workload

if TYPE_CHECKING:
    from app.core.speed.estimate import SpeedGrid

REGISTERED: Mapping[str, str] = {
    "cnn_training": "speed.vision",
    "cnn_inference": "speed.vision",
    "decoder_training": "speed.train_decoder",
    "moe_training": "speed.train_decoder",
    "lora": "speed.train_decoder",
    "qlora": "speed.train_decoder",
    "encoder_training": "speed.train_encoder",
    "encoder_inference": "speed.encoder_forward",
    "diffusion": "speed.diffusion",
    "diffusion_training": "speed.diffusion",
    "speech": "speed.speech",
    "prefill": "speed.prefill",
    "serving": "speed.serving",
}
"""General formula by class of the terms; what language models write is told by the phase."""
PHASES = ("prefill", "decode", "whole_run")
LATENCIES = {"time_to_first_token_s": "prefill", "time_per_output_token_s": "decode"}


@dataclass(frozen=True)
class Question:
    """What a grid was computed of, to open one of its cells."""

    work: Workload
    plans: tuple[Parallelism, ...]
    cards: GpuTable
    """(cards, 1)."""
    rate: ComputeRate
    shape: Shape


class TracedCard(GpuTable):
    """One card as the formulas see it, its figures traced."""

    def by_class(self, values: Floats) -> Floats:
        """The value of the card's class, to be named where it is used."""
        value = float(values[int(self.card_class)])
        return cast(Floats, Traced(value, ("number", value)))

    def rate(self, figure: str) -> Floats:
        """Dense TFLOPS of one figure."""
        return cast(Floats, given(float(self.rates[RATE_FIGURES.index(figure)]), figure))


@dataclass(frozen=True)
class SpeedFormulas:
    """How the figures of one speed were computed."""

    formula: str
    """Id of the general formula."""
    figures: Mapping[str, str]
    """By name: expected, low, high, steps_per_s; of language models the phases and the times of a token."""
    parts: tuple[SpeedPart, ...]
    """The times that make up a step: `units_per_step` over their sum is the speed."""
    operands: tuple[Operand, ...]

    def added_to(self, speed: SpeedEstimate) -> SpeedEstimate:
        """The estimate of the same cell with its formulas."""
        return replace(
            speed,
            formula=self.formula,
            parts=self.parts,
            expressions=self.figures,
            operands=self.operands,
        )


def formulas(grid: SpeedGrid, card: int, plan: int) -> SpeedFormulas:
    """The formulas of one cell of a grid.

    Parameters
    ----------
    grid: as of `speed_grid`. card, plan: of the cell.

    Returns
    -------
    Formulas of which each gives the figure of `SpeedGrid.estimate`.
    """
    traced = traced_speed(grid, card, plan)
    times = {f"part {name}": seconds for name, seconds in traced.parts if float(seconds)}
    texts, operands = worked_together(traced.figures | times)
    return SpeedFormulas(
        formula=traced.formula,
        figures={name: texts[name] for name in traced.figures},
        parts=tuple(SpeedPart(n.removeprefix("part "), float(s), texts[n]) for n, s in times.items()),
        operands=operands,
    )


@dataclass(frozen=True)
class TracedSpeed:
    """The figures of one cell as traced numbers."""

    formula: str
    figures: dict[str, float]
    parts: list[tuple[str, float]]
    flops_per_unit: float


def traced_speed(grid: SpeedGrid, card: int, plan: int) -> TracedSpeed:
    """As `formulas`, before the texts are written."""
    other = grid.elsewhere(card)
    if other is not None:
        return traced_speed(other[0], other[1], plan)
    asked = grid.question
    terms = predict(
        cast(Workload, Probe(asked.work)),
        _plan(asked.plans[plan]),
        _card(asked.cards, card),
        _shape(asked, card, plan),
        _rate(asked.rate, card),
    )
    expected = float(grid.expected[card, plan])
    found = next((f for f in _candidates(grid, terms, card, plan) if _same(f[0], expected)), None)
    if found is None and grid.twin is not None:
        return traced_speed(grid.twin, card, plan)
    rate, parts = found or (given(expected, "stated_speed"), [])
    width = given(math.exp(float(grid.width(card, plan))), "interval_factor")
    speed = named(rate, "speed")
    figures = {
        "expected": rate,
        "low": speed / width,
        "high": speed * width,
        "steps_per_s": speed / _units(terms),
    }
    if "decode" in terms.detail:
        figures |= _phases(grid, terms, rate, card, plan)
    flops = named(cast(float, terms.flops_per_unit), "flops_per_unit")
    return TracedSpeed(_registered(terms), figures, parts, flops)


def _units(terms: Terms) -> float:
    return named(cast(float, terms.units_per_step), "units_per_step")


def _registered(terms: Terms) -> str:
    if terms.queues:
        return "speed.load"
    if terms.phase in ("decode", "whole_run"):
        return f"speed.{terms.phase}"
    return REGISTERED[terms.kind]


def _same(a: float, b: float) -> bool:
    return math.isclose(float(a), b, rel_tol=1e-9)


def _correction(grid: SpeedGrid, phase: str, card: int, plan: int) -> float:
    """Measured over estimated of one phase; 1 where nothing is measured."""
    factor = grid.factor(phase, card, plan)
    return given(factor, f"{phase}_correction") if factor != 1.0 else 1.0


def _candidates(
    grid: SpeedGrid, terms: Terms, card: int, plan: int
) -> Iterator[tuple[float, list[tuple[str, float]]]]:
    """Ways in which the speed of a cell may have been found, each with the times that make up its step."""
    units = _units(terms)
    if terms.phase == "whole_run":
        run = grid.corrections.own.offset.get("run")
        factor = 1.0 if run is None else math.exp(run[card, plan])
        applied = given(factor, "run_correction") if factor != 1.0 else 1.0
        yield _over(units, _turns(grid, terms, card, plan), applied)
        return
    headline = grid.headline
    factor = _correction(grid, headline, card, plan)
    yield _over(units, addends(cast(float, terms.seconds)), factor)
    if terms.phase == "saturated":
        yield _over(units, _turns(grid, terms, card, plan), 1.0)


def _over(
    units: float, times: list[tuple[str, float]], factor: float
) -> tuple[float, list[tuple[str, float]]]:
    """Units over the sum of times, each corrected by what is measured."""
    total = sum((time for _, time in times), 0.0)
    return units / total * factor, [(name or "step_s", time / factor) for name, time in times]


def _turns(grid: SpeedGrid, terms: Terms, card: int, plan: int) -> list[tuple[str, float]]:
    """Reading and writing one after the other, each corrected by its own measurements."""
    found = []
    for phase in ("prefill", "decode"):
        time = cast(float, terms.detail[f"{phase}_s"]) / _correction(grid, phase, card, plan)
        if terms.queues:
            time = time / _correction(grid, "serving", card, plan)
        found.append((f"{phase}_s", named(time, f"corrected_{phase}_s")))
    return found


def _phases(grid: SpeedGrid, terms: Terms, rate: float, card: int, plan: int) -> dict[str, float]:
    """The figures of a language model beside its speed."""
    detail = cast(Mapping[str, float], terms.detail)
    by = {phase: _correction(grid, phase, card, plan) for phase in ("prefill", "decode")}
    whole = rate if terms.phase in ("whole_run", "saturated") else detail["whole_run"] * by["decode"]
    found = {
        "prefill": detail["prefill"] * by["prefill"],
        "decode": detail["decode"] * by["decode"],
        "whole_run": whole,
    }
    if terms.queues:
        whole = _correction(grid, "serving", card, plan)
        by = {phase: factor * whole for phase, factor in by.items()}
        steps = max(float(np.mean(grid.question.shape.output)) - 1.0, 1.0)
        waits = queued(detail, by["prefill"], by["decode"], given(steps, "steps"))
        return found | dict(zip(LATENCIES, waits, strict=True))
    for name, phase in LATENCIES.items():
        found[name] = detail[name] / by[phase]
    return found


def queued(detail: Mapping[str, Any], prefill: Any, decode: Any, steps: Any) -> tuple[Any, Any]:
    """Seconds until the first token and of each later one, as measurements of both phases correct them.

    Parameters
    ----------
    detail: of `serving_terms`. prefill, decode: measured over predicted rate. steps: after the first token.
    """
    cycle = named(detail["prefill_s"] / prefill + detail["decode_s"] / decode, "corrected_cycle_s")
    own = named(detail["first_own_s"] / prefill, "corrected_first_own_s")
    queue = detail["queue_s"] * cycle / (detail["prefill_s"] + detail["decode_s"])
    return own + queue, (cycle - own) / steps


def _plan(plan: Parallelism) -> Plans:
    names = ("data", "tensor", "pipeline", "expert")
    degrees: dict[str, Any] = {name: getattr(Probe(plan), name) * 1.0 for name in names}
    return Plans(**degrees, zero_stage=cast(Floats, float(plan.zero_stage)))


def _card(cards: GpuTable, card: int) -> TracedCard:
    def figure(name: str) -> Any:
        values = getattr(cards, name)
        if name == "rates":
            return values[:, card, 0]
        value = values[card, 0]
        return given(float(value), name) if isinstance(value, np.floating) else value

    return TracedCard(**{f.name: figure(f.name) for f in fields(GpuTable)})


def _rate(rate: ComputeRate, card: int) -> ComputeRate:
    tflops = given(float(rate.tflops[card, 0]), "peak_tflops")
    return ComputeRate(cast(Floats, tflops), rate.fallback[card, 0], rate.lacks_type[card, 0])


def _shape(asked: Question, card: int, plan: int) -> Shape:
    shape = Shape.of(cast(Workload, Probe(asked.work)))
    limit: Number | None = asked.shape.token_limit_s
    if limit is None:
        return shape
    seconds = cell_of(np.broadcast_to(limit, (len(asked.cards), len(asked.plans))), card, plan)
    return Shape(shape.batch, shape.sequence, shape.output, shape.pixels, given(seconds, "token_limit_s"))
