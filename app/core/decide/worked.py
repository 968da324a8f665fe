"""The formulas of one option: memory, speed, money and figures per yuan, over one list of operands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from app.core.decide.candidates import idle_w
from app.core.decide.cost import UNIT_NAMES, ownership, per_1000_cny, work_hours
from app.core.decide.host import LOOSE, SERVER_CARDS
from app.core.decide.options import Formulas
from app.core.memory.estimator import traced_parts
from app.core.question import RENTS, Economics, Work
from app.core.speed.worked import traced_speed
from app.core.tracing import Probe, given, named, worked_together
from app.core.units import TERA

if TYPE_CHECKING:
    from app.core.decide.shortlist import Cell, Ranking


def option_formulas(ranking: Ranking, cell: Cell) -> Formulas:
    """How every figure of an option was computed.

    Parameters
    ----------
    ranking: the arrays of the answer. cell: card, count and condition.

    Returns
    -------
    Formulas by the path of the figure in the option; figures that are unknown have none.
    """
    row, n, _ = cell
    grid, best = ranking.grid, ranking.best
    plan = int(best.plan[row, n])
    parts = traced_parts(ranking.question.workload, grid.plans[plan])
    found = {f"memory.parts.{i}.gib": gib for i, gib in enumerate(parts.values())}
    need = sum(parts.values(), 0.0)
    usable = given(float(ranking.usable_gib[row]), "usable_gib")
    used = Probe(ranking.question.workload).used_gib
    found["memory.per_gpu_gib.expected"] = need
    found["fit.margin_gib"] = usable - used - named(need, "expected_gib")
    speed = traced_speed(grid.speed, row, plan)
    for name, figure in speed.figures.items():
        found[f"speed.{_PLACES.get(name, name)}"] = figure
    rate = named(speed.figures["expected"], "speed")
    found |= {f"cost.{name}": value for name, value in _costs(ranking, cell, rate).items()}
    found |= {
        f"metrics.{name}": value
        for name, value in _metrics(ranking, cell, rate * speed.flops_per_unit / TERA).items()
    }
    texts, operands = worked_together({path: v for path, v in found.items() if math.isfinite(float(v))})
    return Formulas(texts, operands)


_PLACES = {
    "prefill": "prefill.expected",
    "decode": "decode.expected",
    "whole_run": "whole_run.expected",
    "time_to_first_token_s": "detail.time_to_first_token_s",
    "time_per_output_token_s": "detail.time_per_output_token_s",
}
"""Where figures of a speed stand in its JSON, other than under their own name."""


def _purchase(ranking: Ranking, cell: Cell) -> tuple[Any, Any]:
    """Purchase and host of an option, traced."""
    row, n, k = cell
    price = given(ranking.prices.choice(row, n, k).today_cny or math.nan, "price_cny")
    by_server = bool(ranking.prices.by_server[row, n, k])
    host = _host(ranking, cell)
    if by_server:
        servers = ranking.best.counts[n] // SERVER_CARDS
        bought = price if servers == 1 else price * given(servers, "servers")
    else:
        bought = price * given(ranking.best.counts[n], "count")
    spares = ranking.prices.machines(row, n, k).with_spares
    return (bought if spares == 1.0 else bought * given(spares, "with_spares")), host


def _host(ranking: Ranking, cell: Cell) -> Any:
    """Machines and network of an option, traced."""
    row, n, k = cell
    need = ranking.prices.machines(row, n, k)
    stated = ranking.question.economics.host_cny_per_gpu
    if stated is not None and ranking.prices.how[row, n, k] == LOOSE:
        economics = cast(Economics, Probe(ranking.question.economics))
        each = economics.host_cny_per_gpu * given(ranking.best.counts[n], "count")
        return each if need.with_spares == 1.0 else each * given(need.with_spares, "with_spares")
    machines, network = 0.0, 0.0
    if need.machines_cny and need.host is not None:
        machines = given(need.host.expected_cny, "machine_cny") * given(need.bought, "machines_bought")
    if need.network_cny and need.host is not None and need.host.network_cny is not None:
        further = given(need.nodes - need.spare, "machines") - 1.0
        network = given(need.host.network_cny, "network_cny") * further
    return machines + network


def _rent(ranking: Ranking, cell: Cell) -> Mapping[str, Any]:
    """The total of a rent, traced."""
    row, n, k = cell
    costs, shape = ranking.candidates.costs, ranking.candidates.score.shape
    rate = float(ranking.prices.rent_cny_h[row, n, k])
    total = float(np.broadcast_to(costs.total_cny, shape)[row, n, k])
    return {"total_cny": given(rate, "rent_cny_h") * given(total / rate, "hours_paid")}


def _costs(ranking: Ranking, cell: Cell, speed: float) -> Mapping[str, Any]:
    row, n, k = cell
    question = ranking.question
    if ranking.prices.acquisition(k) in RENTS:
        return _rent(ranking, cell)
    economics = cast(Economics, Probe(question.economics))
    purchase, host = _purchase(ranking, cell)
    count = ranking.best.counts[n]
    power = given(float(ranking.candidates.power_w[row, n]) / count, "tdp_w") * given(count, "count")
    load, idle = (float(getattr(ranking.prices, name)[row, n, k]) for name in ("host_load_w", "host_idle_w"))
    power = power + (given(load, "host_load_w") if load else 0.0)
    idle = float(idle_w(question, np.asarray(idle)))
    unit = ranking.grid.speed.terms.unit
    busy: Any = None
    if question.work is not None:
        length = question.workload.sequence_length
        tokens = given(float(cast(float, length)), "tokens_per_sample") if length is not None else None
        hours = work_hours(cast(Work, Probe(question.work)), speed, unit, tokens)
        busy = hours if question.workload.trains else hours * economics.months
    costs = ownership(
        economics,
        purchase,
        host,
        power,
        speed,
        UNIT_NAMES[unit][1],
        busy,
        given(idle, "host_idle_w") if idle else 0.0,
    )
    names = (
        "purchase_cny",
        "host_cny",
        "energy_cny",
        "residual_cny",
        "total_cny",
        "per_hour_cny",
        "energy_kwh",
    )
    found = {name: getattr(costs, name) for name in names}
    outlay = named(costs.purchase_cny + costs.host_cny, "outlay_cny")
    return {**found, "outlay_cny": outlay, "per_unit.amount_cny": costs.per_unit_cny}


def _metrics(ranking: Ranking, cell: Cell, sustained: Any) -> Mapping[str, Any]:
    row, n, _ = cell
    gpu = ranking.gpus[row]
    if ranking.prices.acquisition(cell[2]) in RENTS:
        return {"sustained_tflops": sustained}
    purchase = named(_purchase(ranking, cell)[0], "purchase_cny")
    count = given(ranking.best.counts[n], "count")
    peak = given(float(ranking.grid.rate.tflops[row]), "peak_tflops") * count
    found = {
        "peak_tflops": peak,
        "sustained_tflops": sustained,
        "peak_tflops_per_1000_cny": per_1000_cny(named(peak, "peak_total_tflops"), purchase),
        "sustained_tflops_per_1000_cny": per_1000_cny(named(sustained, "sustained_tflops"), purchase),
    }
    if gpu.memory_gib is not None:
        found["gib_per_1000_cny"] = per_1000_cny(given(gpu.memory_gib, "memory_gib") * count, purchase)
    if gpu.bandwidth_gb_s is not None:
        found["gb_s_per_1000_cny"] = per_1000_cny(
            given(gpu.bandwidth_gb_s, "bandwidth_gb_s") * count, purchase
        )
    return found
