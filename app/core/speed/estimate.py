"""Speed with its interval and basis: the model corrected by measurements, for a grid or for one option."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.core.estimates import Basis, Interval, SpeedEstimate
from app.core.gpu import Benchmark, Gpu
from app.core.gpu_table import Floats, GpuTable, compute_rate
from app.core.plan import check_plan
from app.core.speed.anchors import Corrections, corrections
from app.core.speed.generation import speed_assumptions
from app.core.speed.predict import predict
from app.core.speed.terms import Plans, Terms, cell_of
from app.core.workload import Parallelism, Workload, resolve


@dataclass(frozen=True)
class SpeedGrid:
    """Throughput of cards x plans, corrected by measurements."""

    terms: Terms
    corrections: Corrections
    expected: Floats
    """Units per second over all cards, (cards, plans)."""
    prefill_factor: Floats
    decode_factor: Floats
    """Measured over predicted of each phase, (cards, 1)."""

    def estimate(self, card: int, plan: int) -> SpeedEstimate:
        """One cell as a result of its own."""
        expected = float(self.expected[card, plan])
        band = float(np.exp(self.corrections.width[card]))
        detail: dict[str, object] = {}
        terms = self.terms
        if "decode" in terms.detail:
            prefill = float(self.prefill_factor[card, 0])
            decode = float(self.decode_factor[card, 0])
            whole = expected if terms.phase in ("whole_run", "saturated") else None
            rates = {
                "prefill": cell_of(terms.detail["prefill"], card, plan) * prefill,
                "decode": cell_of(terms.detail["decode"], card, plan) * decode,
                "whole_run": whole or cell_of(terms.detail["whole_run"], card, plan) * decode,
            }
            for name, rate in rates.items():
                detail[name] = Interval(rate / band, rate, rate * band)
            detail["time_to_first_token_s"] = (
                cell_of(terms.detail["time_to_first_token_s"], card, plan) / prefill
            )
            detail["time_per_output_token_s"] = (
                cell_of(terms.detail["time_per_output_token_s"], card, plan) / decode
            )
        for name, seconds in terms.parts.items():
            detail[f"{name}_s"] = cell_of(seconds, card, plan)
        units = cell_of(terms.units_per_step, card, plan)
        return SpeedEstimate(
            low=expected / band,
            expected=expected,
            high=expected * band,
            unit=terms.unit,
            basis=self.basis(card),
            bound=terms.bound(card, plan),
            phase=terms.phase,
            steps_per_s=expected / units,
            detail=detail,
            sources=self.corrections.sources.get(card, ()),
        )

    def basis(self, card: int) -> Basis:
        """How the speed of a card is known."""
        if self.corrections.measured[card]:
            return "measured"
        return "calibrated" if self.corrections.calibrated[card] else "derived"


def speed_grid(
    work: Workload,
    plans: Sequence[Parallelism],
    table: GpuTable,
    gpus: Sequence[Gpu],
    benchmarks: Sequence[Benchmark] = (),
) -> SpeedGrid:
    """Throughput of every card under every plan.

    Parameters
    ----------
    work: a resolved workload. plans: any number. table, gpus: the cards, in one order.
    benchmarks: measurements that may correct the model.

    Returns
    -------
    A grid (cards, plans); NaN where a figure of the card is unknown.
    """
    column = table.column()
    terms = predict(work, Plans.of(plans), column, rate=compute_rate(column, work.format))
    position = {g.id: i for i, g in enumerate(gpus)} if len(benchmarks) else {}
    found = corrections(work, table, position, benchmarks, terms.kind, terms.unit)
    prefill = np.exp(found.offset["prefill"])[:, np.newaxis]
    decode = np.exp(found.offset["decode"])[:, np.newaxis]
    factor = np.exp(found.offset["other"])[:, np.newaxis]
    if "decode_s" in terms.detail and terms.phase in ("whole_run", "saturated"):
        # Each phase is corrected by its own measurements; the rate of the run follows from both times.
        plain = terms.detail["prefill_s"] + terms.detail["decode_s"]
        corrected = terms.detail["prefill_s"] / prefill + terms.detail["decode_s"] / decode
        factor = plain / corrected
        if terms.phase == "saturated":
            factor = factor * np.exp(found.offset["saturated"])[:, np.newaxis]
    elif terms.phase in ("prefill", "decode"):
        factor = prefill if terms.phase == "prefill" else decode
    return SpeedGrid(terms, found, terms.rate * factor, prefill, decode)


def estimate(
    work: Workload,
    plan: Parallelism,
    gpu: Gpu,
    benchmarks: Sequence[Benchmark] = (),
    gpus: Sequence[Gpu] = (),
    table: GpuTable | None = None,
) -> SpeedEstimate:
    """Throughput of one card type under one plan: one cell of the same grid.

    Parameters
    ----------
    work: the question, resolved or not. plan: how its cards share the model. gpu: the card.
    benchmarks: measurements that may correct the model.
    gpus, table: the catalogue; without it measurements of other cards do not carry over to this one.

    Returns
    -------
    Low, expected and high over all cards, with basis, bound and the terms.

    Errors
    ------
    InputFault when the plan is not legal for the model.
    """
    resolved, notes = resolve(work)
    check_plan(resolved, plan)
    cards = list(gpus)
    row = next((i for i, g in enumerate(cards) if g.id == gpu.id), None)
    if row is None:
        cards, row, table = [gpu, *cards], 0, None
    grid = speed_grid(resolved, (plan,), table or GpuTable.from_gpus(cards), cards, benchmarks)
    found = grid.estimate(row, 0)
    return SpeedEstimate(
        **{name: getattr(found, name) for name in SpeedEstimate.__slots__ if name != "assumptions"},
        assumptions=(*notes, *speed_assumptions(resolved)),
    )
