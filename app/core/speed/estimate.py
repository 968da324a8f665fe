"""Speed with its interval and basis: the model corrected by measurements, for a grid or for one option."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.core.estimates import Basis, Interval, SpeedEstimate
from app.core.gpu import Benchmark, Gpu
from app.core.gpu_table import Floats, GpuTable, Index, compute_rate
from app.core.plan import check_plan
from app.core.speed.anchors import Corrections, corrections
from app.core.speed.generation import speed_assumptions
from app.core.speed.predict import predict
from app.core.speed.terms import Plans, Terms, cell_of
from app.core.units import Number
from app.core.workload import Parallelism, Workload, resolve

BASES: tuple[Basis, ...] = ("measured", "calibrated", "derived")
"""From the surest to the least sure."""
PARTS = ("prefill", "decode")
HEADLINE = {"prefill": "prefill", "decode": "decode", "saturated": "serving"}
"""Phase of `anchors.PHASES` that corrects the headline figure, by phase of the terms; else "other"."""


@dataclass(frozen=True)
class SpeedGrid:
    """Throughput of cards x plans, corrected by measurements."""

    terms: Terms
    corrections: Corrections
    expected: Floats
    """Units per second over all cards, (cards, plans)."""

    def only(self, rows: Index) -> SpeedGrid:
        """The same grid for some of its cards."""
        size = self.expected.shape
        terms = self.terms

        def narrow(values: Number) -> Floats:
            return np.asarray(np.broadcast_to(values, size)[rows], dtype=np.float64)

        return SpeedGrid(
            terms=replace(
                terms,
                seconds=narrow(terms.seconds),
                units_per_step=narrow(terms.units_per_step),
                flops_per_unit=narrow(terms.flops_per_unit),
                parts={k: narrow(v) for k, v in terms.parts.items()},
                detail={k: narrow(v) for k, v in terms.detail.items()},
            ),
            corrections=self.corrections.only(rows),
            expected=self.expected[rows],
        )

    def factor(self, phase: str, card: int, plan: int) -> float:
        """Measured over predicted of one phase in one cell."""
        offset = self.corrections.offset.get(phase)
        return 1.0 if offset is None else float(np.exp(offset[card, plan]))

    def widths(self, cells: Sequence[tuple[int, int]]) -> Floats:
        """Half-widths of the 80 % interval of the headline figure in some cells (card, plan), logarithms."""
        terms = self.terms
        if terms.phase != "whole_run":
            return self.corrections.widths(cells, HEADLINE.get(terms.phase, "other"))
        # A sum of two times is as uncertain as its parts, by their shares.
        times = [np.array([cell_of(terms.detail[f"{p}_s"], *cell) for cell in cells]) for p in PARTS]
        parts = [t * self.corrections.widths(cells, p) for t, p in zip(times, PARTS, strict=True)]
        return np.asarray(np.hypot(parts[0], parts[1]) / (times[0] + times[1]), dtype=np.float64)

    def width(self, card: int, plan: int) -> float:
        """One of `widths`."""
        phase = self.terms.phase
        if phase == "whole_run":
            prefill, decode = (cell_of(self.terms.detail[f"{p}_s"], card, plan) for p in PARTS)
            first, second = (self.corrections.width(card, plan, p) for p in PARTS)
            return float(np.hypot(prefill * first, decode * second)) / (prefill + decode)
        return self.corrections.width(card, plan, HEADLINE.get(phase, "other"))

    def prepare(self, cells: Sequence[tuple[int, int]]) -> None:
        """Work out the intervals of several cells (card, plan) together; `estimate` then finds them."""
        for phase in self.corrections.phases:
            self.corrections.widths(cells, phase)

    def estimate(self, card: int, plan: int) -> SpeedEstimate:
        """One cell as a result of its own."""
        terms = self.terms
        expected = float(self.expected[card, plan])
        width = self.width(card, plan)
        detail = self._phases(card, plan, expected, width)
        for name, seconds in terms.parts.items():
            detail[f"{name}_s"] = cell_of(seconds, card, plan)
        basis, sources = self.basis(card, plan)
        return SpeedEstimate(
            low=expected / float(np.exp(width)),
            expected=expected,
            high=expected * float(np.exp(width)),
            unit=terms.unit,
            basis=basis,
            bound=terms.bound(card, plan),
            phase=terms.phase,
            steps_per_s=expected / cell_of(terms.units_per_step, card, plan),
            detail=detail,
            sources=sources,
        )

    def basis(self, card: int, plan: int = 0) -> tuple[Basis, tuple[str, ...]]:
        """How the speed of a cell is known, and the benchmark rows behind it; of two phases the weaker."""
        phase = self.terms.phase
        asked = PARTS if phase == "whole_run" else (HEADLINE.get(phase, "other"),)
        found = [self.corrections.basis(card, plan, p) for p in asked]
        weakest = max((b for b, _ in found), key=BASES.index)
        return weakest, tuple(dict.fromkeys(row for _, rows in found for row in rows))

    def _phases(self, card: int, plan: int, expected: float, width: float) -> dict[str, object]:
        """Prefill, decode and whole run of a language model, each with its interval."""
        terms = self.terms
        if "decode" not in terms.detail:
            return {}
        prefill, decode = (self.factor(p, card, plan) for p in PARTS)
        headline = terms.phase in ("whole_run", "saturated")
        whole = expected if headline else cell_of(terms.detail["whole_run"], card, plan) * decode
        narrow = {p: self.corrections.width(card, plan, p) for p in PARTS}
        rates = {
            "prefill": (cell_of(terms.detail["prefill"], card, plan) * prefill, narrow["prefill"]),
            "decode": (cell_of(terms.detail["decode"], card, plan) * decode, narrow["decode"]),
            "whole_run": (whole, width if headline else max(narrow.values())),
        }
        found: dict[str, object] = {
            name: Interval(rate / float(np.exp(w)), rate, rate * float(np.exp(w)))
            for name, (rate, w) in rates.items()
        }
        for name, by in (("time_to_first_token_s", prefill), ("time_per_output_token_s", decode)):
            found[name] = cell_of(terms.detail[name], card, plan) / by
        found["concurrent_sequences"] = cell_of(terms.detail["concurrent_sequences"], card, plan)
        return found


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
    kinds = {"other": terms.kind}
    if "decode" in terms.detail:
        kinds = {"prefill": "prefill", "decode": "decode_moe" if work.model.experts else "decode"}
        if terms.phase == "saturated":
            kinds["serving"] = "serving"
    found = corrections(work, table, position, benchmarks, kinds, [p.cards for p in plans])
    rate = np.broadcast_to(terms.rate, (len(table), len(plans)))
    if terms.phase == "whole_run":
        # Each phase is corrected by its own measurements; the rate of the run follows from both times.
        plain = terms.detail["prefill_s"] + terms.detail["decode_s"]
        corrected = sum(terms.detail[f"{p}_s"] / np.exp(found.offset.get(p, 0.0)) for p in PARTS)
        return SpeedGrid(terms, found, np.asarray(rate * plain / corrected, dtype=np.float64))
    offset = found.offset.get(HEADLINE.get(terms.phase, "other"))
    return SpeedGrid(terms, found, rate if offset is None else rate * np.exp(offset))


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
