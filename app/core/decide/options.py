"""What a shortlist answers: options with their evidence, rejected cards; objectives, front, latency limit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.core.estimates import Assumption, MemoryEstimate, Message, SpeedEstimate, Verdict
from app.core.faults import InputFault
from app.core.gpu import Gpu, PriceChoice
from app.core.gpu_table import Flags, Floats, Index
from app.core.question import OBJECTIVES
from app.core.units import YUAN_PER_KILO, Number
from app.core.workload import Parallelism, Workload

REJECTION_CODES = (
    "memory",
    "budget",
    "power",
    "count",
    "vendor",
    "framework",
    "os",
    "feature",
    "region",
    "precision",
    "unpriced",
    "stale_price",
    "deadline",
)


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change that makes it fit, with its own estimate."""

    code: str
    message: Message
    change: Mapping[str, Any]
    """Fields of the request to change, dotted paths: {"workload.kv_precision": "fp8"}."""
    memory: MemoryEstimate | None = None
    fit: Fit | None = None
    speed_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether the busiest card holds its share."""

    verdict: Verdict
    usable_gib: float
    margin_gib: float
    """usable - used - expected."""
    max_batch_size: int | None = None
    max_sequence_length: int | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """Money of one option, in yuan."""

    purchase_cny: float
    """count x card price (an 8-card server price: the server)."""
    host_cny: float
    energy_cny: float
    residual_cny: float
    """What the cards are still worth at the end, positive; subtracted from the total."""
    total_cny: float
    per_hour_cny: float
    """total over the hours of the horizon in which the cards work (months x hours x utilisation)."""
    per_unit_cny: float | None
    per_unit: str
    """million_tokens, thousand_samples, thousand_images, hour_of_audio."""
    energy_kwh: float
    months: float
    work_hours: float | None = None
    """Hours the given work takes, per month (inference) or in all (training); None without work."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """Figures per yuan; None where a term is unknown."""

    precision: str
    """The rate that peak figures are of, e.g. bf16 with fp32 accumulate."""
    peak_tflops: float | None
    sustained_tflops: float | None
    peak_tflops_per_1000_cny: float | None
    sustained_tflops_per_1000_cny: float | None
    gib_per_1000_cny: float | None
    gb_s_per_1000_cny: float | None


@dataclass(frozen=True, slots=True)
class Flip:
    """Where one input, changed alone, changes the first place."""

    factor: str
    """price, rival_price, utilisation, electricity, context, months."""
    now: float
    at: float | None
    """None: no value within the stated range flips it."""
    distance: float | None
    """(at - now) / now."""
    winner: str = ""
    """Label of the option that is first afterwards."""


@dataclass(frozen=True, slots=True)
class Robustness:
    """How firmly an option stands."""

    share_first: float
    draws: int
    seed: int
    flips: tuple[Flip, ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """One way to buy: count x card in a condition under the best plan."""

    rank: int
    gpu: Gpu
    count: int
    condition: str
    plan: Parallelism
    fit: Fit
    memory: MemoryEstimate
    speed: SpeedEstimate
    price: PriceChoice
    cost: Cost
    metrics: Metrics
    reasons: tuple[Message, ...]
    flags: tuple[Message, ...] = ()
    """Warnings: tight, stale price, precision falls back to 16 bit, modded card without warranty …"""
    robustness: Robustness | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A card that is not on the list, at its nearest count, and what would change it."""

    gpu: Gpu
    count: int
    code: str
    message: Message
    shortfall_gib: float | None = None
    remedy: Remedy | None = None


@dataclass(frozen=True, slots=True)
class Shortlist:
    """The ranked answer."""

    options: tuple[Option, ...]
    rejected: tuple[Rejected, ...]
    pareto: tuple[int, ...]
    """Ranks on the front of total cost against speed."""
    feasible: int
    """Options that passed, before `limit`."""
    assumptions: tuple[Assumption, ...] = ()
    advice: tuple[Message, ...] = field(default=())
    """Class advice of the four questions, N+1 note, utilisation warning, VRAM tier."""


def objective_score(
    objective: str,
    total_cny: Number,
    purchase_cny: Number,
    sustained_tflops: Number,
    speed_per_s: Number,
    power_w: Number,
) -> Floats:
    """Score of options under an objective.

    Parameters
    ----------
    objective: total_cost, purchase, tflops_per_yuan, speed or power.
    total_cny, purchase_cny: yuan. sustained_tflops, speed_per_s: over all cards. power_w: TDP of all cards.

    Returns
    -------
    Yuan, yuan, -TFLOPS per 1000 yuan, -units per second, or watts; broadcast.

    Errors
    ------
    InputFault at `/objective` for an unknown objective.
    """
    if objective == "total_cost":
        return np.asarray(total_cny, dtype=np.float64)
    if objective == "purchase":
        return np.asarray(purchase_cny, dtype=np.float64)
    if objective == "tflops_per_yuan":
        return np.asarray(-np.divide(sustained_tflops, purchase_cny) * YUAN_PER_KILO, dtype=np.float64)
    if objective == "speed":
        return np.asarray(np.negative(speed_per_s), dtype=np.float64)
    if objective == "power":
        return np.asarray(power_w, dtype=np.float64)
    raise InputFault.at("/objective", "unknown_value", value=objective, allowed=list(OBJECTIVES))


def pareto_front(cost: Floats, speed: Floats) -> Index:
    """Positions that no other point beats in both cost and speed.

    Parameters
    ----------
    cost: lower is better. speed: higher is better. Both (options,).

    Returns
    -------
    Positions in the order given; of equal points the first counts.
    """
    order = np.lexsort((-speed, cost))
    fastest = np.maximum.accumulate(np.concatenate(([-np.inf], speed[order][:-1])))
    return np.sort(order[speed[order] > fastest])


LATENCY_ROUNDING = 1.0 + 1e-6
"""The limit that an answer itself proposes is kept, rounding apart."""
HUNDREDTHS = 100.0
"""Proposed limits are rounded up to hundredths of a millisecond."""


def too_late(token_ms: Floats | None, limit_ms: float | None) -> Flags | None:
    """Where a token takes longer than the limit, even with one sequence at a time.

    Parameters
    ----------
    token_ms: milliseconds of one output token, with as many sequences as keep the limit; at least one.
    limit_ms: asked; None: no limit.

    Returns
    -------
    Flags of the shape of `token_ms`; None where nothing is asked.
    """
    if token_ms is None or limit_ms is None:
        return None
    return np.asarray(token_ms > limit_ms * LATENCY_ROUNDING, dtype=bool)


def within_latency_first(
    relative: Floats, token_ms: Floats | None, limit_ms: float | None, above: float
) -> Floats:
    """Scores of plans: those that keep the limit by speed, `above` the others, which go by how near it."""
    late = too_late(token_ms, limit_ms)
    if late is None or token_ms is None or limit_ms is None:
        return relative
    return np.where(late, limit_ms / token_ms, relative + above)


def latency_unreachable(work: Workload, estimate: SpeedEstimate) -> Message | None:
    """The warning of a speed whose limit no number of sequences keeps; None where it is kept."""
    limit_ms = work.latency_limit_ms
    token_s = estimate.detail.get("time_per_output_token_s")
    if work.load == "single" or limit_ms is None or token_s is None or estimate.phase == "prefill":
        return None
    reachable = float(token_s) * 1000.0
    if not reachable > limit_ms * LATENCY_ROUNDING:
        return None
    params = {"limit_ms": limit_ms, "reachable_ms": reachable}
    return Message("latency_limit_unreachable", params)


def latency_rejection(gpu: str, count: int, reachable_ms: float, limit_ms: float) -> tuple[Message, Remedy]:
    """Why cards are too slow for a limit, and the limit that they would keep.

    Parameters
    ----------
    gpu, count: the option. reachable_ms: of one token, one sequence at a time. limit_ms: asked.
    """
    params = {"gpu": gpu, "count": count, "reachable_ms": reachable_ms, "limit_ms": limit_ms}
    allowed = math.ceil(reachable_ms * HUNDREDTHS) / HUNDREDTHS
    remedy = Remedy(
        "change_latency_limit",
        Message("remedy_latency_limit", {**params, "allowed_ms": allowed}),
        {"workload.latency_limit_ms": allowed},
    )
    return Message("rejected_latency", params), remedy
