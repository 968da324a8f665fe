"""What a shortlist answers: options with their evidence, rejected cards; objectives, front, latency limit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from app.core.answer import AnyMap, Figure, OptionLabel, answer
from app.core.decide.engine_support import CardSupport
from app.core.decide.host import HostUse
from app.core.decide.service import Served
from app.core.estimates import (
    Assumption,
    Basis,
    Expressions,
    MemoryEstimate,
    Message,
    MessageWithCode,
    SpeedEstimate,
    Verdict,
    codes_of,
)
from app.core.faults import InputFault
from app.core.formulas import Operand
from app.core.gpu import GpuRef, PriceChoice, Source
from app.core.gpu_table import Flags, Floats, Index
from app.core.question import OBJECTIVES
from app.core.units import YUAN_PER_KILO, Number
from app.core.workload import Parallelism, Workload

if TYPE_CHECKING:
    from app.core.decide.recommendation import Outcome

REJECTION_CODES = (
    "memory",
    "service",
    "budget",
    "power",
    "count",
    "vendor",
    "framework",
    "os",
    "support",
    "feature",
    "precision",
    "availability",
    "unpriced",
    "stale_price",
    "evidence",
    "deadline",
)


@answer(omit=("memory", "fit", "speed_ratio"))
class Remedy:
    """One change of the question that makes it fit, with its own estimate."""

    code: str
    """Which change."""
    text: Message
    """The change in words."""
    change: AnyMap
    """Fields of the request to change by their dotted paths, with the new values, such as
    {"workload.kv_precision": "fp8"}; null where only the asker knows the value."""
    memory: MemoryEstimate | None = None
    """Memory after the change; absent where it does not matter."""
    fit: Fit | None = None
    """Verdict after the change; absent where it does not matter."""
    speed_ratio: Figure | None = None
    """Speed after over speed before; absent where it is not known."""


@answer(omit=("usable_basis", "usable_source"))
class Fit:
    """Whether the busiest card holds its share of the need."""

    verdict: Verdict
    """fits: high need <= usable - used; tight: expected need does; does_not_fit."""
    usable_gib: Figure
    """What CUDA reports to a process on an empty card, GiB."""
    margin_gib: Figure
    """usable - used - expected need, GiB."""
    max_batch_size: int | None = None
    """Largest batch whose expected need fits, as `batch_size` counts; null in a shortlist."""
    max_sequence_length: int | None = None
    """Longest sequence whose expected need fits, tokens; null without tokens and in a shortlist."""
    usable_basis: Basis | None = None
    """How the usable memory is known."""
    usable_source: Source | None = None
    """Where it was read; absent where it is derived from the memory of its kind."""


@answer()
class PerUnit:
    """Cost of one unit of work."""

    amount_cny: Figure
    """Total cost over the units of the term, yuan; null where the speed is unknown."""
    unit: str
    """million_tokens, thousand_samples, thousand_images or hour_of_audio."""


@answer()
class Cost:
    """Money of one option over its term."""

    purchase_cny: Figure
    """Count x card price (an 8-card server price: the server), yuan."""
    host_cny: Figure
    """Machines that are bought and the network between them, yuan; in the price of a whole server but for the
    network."""
    energy_cny: Figure
    """Electricity over the term, yuan."""
    residual_cny: Figure
    """What the cards are still worth at the end, yuan; it is taken off the total."""
    total_cny: Figure
    """purchase + host + energy - residual, yuan."""
    per_hour_cny: Figure
    """Total over the hours worked, yuan: those of the given work, else months x hours x utilisation."""
    per_unit: PerUnit | None
    """Total over the work of the term."""
    energy_kwh: Figure
    """Electricity over the term, kWh."""
    months: Figure
    """The term, months."""
    work_hours: Figure | None = None
    """Hours that the given work takes, per month (inference) or in all (training); null without work."""

    outlay_cny: Figure = field(default_factory=lambda: math.nan)
    """What is paid on the day: purchase + host, yuan."""

    def __post_init__(self) -> None:
        # Stored as it was said: the sum of amounts that were rounded when frozen can end on another digit.
        if math.isnan(self.outlay_cny):
            object.__setattr__(self, "outlay_cny", self.purchase_cny + self.host_cny)


@answer()
class Metrics:
    """Compute, memory and bandwidth of all cards, and what 1000 yuan buy; null where a term is unknown."""

    precision: str
    """The rate that the TFLOPS are of: dense, with fp32 accumulate."""
    peak_tflops: Figure | None
    """Peak of all cards, TFLOPS."""
    sustained_tflops: Figure | None
    """What this work sustains on all cards, TFLOPS."""
    peak_tflops_per_1000_cny: Figure | None
    """Peak TFLOPS per 1000 yuan of the purchase."""
    sustained_tflops_per_1000_cny: Figure | None
    """Sustained TFLOPS per 1000 yuan of the purchase."""
    gib_per_1000_cny: Figure | None
    """Memory per 1000 yuan of the purchase, GiB."""
    gb_s_per_1000_cny: Figure | None
    """Memory bandwidth per 1000 yuan of the purchase, GB/s."""


@answer()
class Flip:
    """Where one input, changed alone, changes the first place."""

    factor: str
    """price, rival_price, utilisation, electricity, context or months."""
    now: Figure
    """Its present value: yuan, yuan, fraction, yuan per kWh, tokens or months."""
    at: Figure | None
    """Where another option becomes first, in the same unit; null: nowhere in the stated range."""
    distance: Figure | None
    """(at - now) / now."""
    winner: OptionLabel = ""
    """Label of the option that is first afterwards."""


@answer()
class Robustness:
    """How firmly an option stands in its place."""

    share_first: Figure
    """Share of the draws in which it is first, 0 to 1."""
    draws: int
    """Draws from the stated intervals."""
    seed: int
    """Seed of the draws: the same question gives the same share."""
    flips: tuple[Flip, ...] = ()
    """Break-evens against the next option, for the first one."""


@answer()
class Rent:
    """What the same cards cost to rent for the same work."""

    per_gpu_hour_cny: Figure
    """Rent of one card for an hour, yuan."""
    hours_per_month: Figure
    """Hours of a month that are paid for each card, h."""
    monthly_cny: Figure
    """Rent of all cards for a month, yuan."""
    total_cny: Figure
    """Rent of all cards over the term, yuan."""
    break_even_month: Figure | None
    """Month from which buying is cheaper; null: never."""
    provider: str
    """Who lets."""
    billing: str
    """on-demand (by the hour), monthly or yearly."""
    amount: Figure
    """Rent of one card for an hour in `currency`, as observed."""
    currency: str
    """ISO 4217 code."""
    converted: bool
    """Whether it was observed in another currency than yuan."""
    observed_on: str
    """Day, month or year of the observation, ISO 8601."""
    age_days: int
    """Days from the observation to the day of the question."""
    stale: bool
    """Whether it is older than the question allows for prices."""
    source: Source | None
    """Where it was read."""


@answer()
class Formulas:
    """How the figures of an option were computed."""

    expressions: Expressions
    """By the path of the figure in the option, such as cost.total_cny or memory.parts.0.gib: arithmetic over
    `operands` that gives it; + - * / ** and parentheses, max, min, ceil, floor, log2."""
    operands: tuple[Operand, ...]
    """The names in `expressions`."""


@answer(
    omit=("setup", "formulas"), shown=("label", "outlay_cny", "total_cny", "reason_codes", "advice_codes")
)
class Option:
    """One way to buy: a count of a card in a condition, under its best plan."""

    rank: int
    """Place under the objective, from 1."""
    gpu: GpuRef
    """The card."""
    count: int
    """How many of it."""
    condition: str
    """new, used, refurbished, modded; rented where it is not bought."""
    plan: Parallelism
    """How the work is spread over the cards."""
    fit: Fit
    """Whether it fits."""
    memory: MemoryEstimate
    """Memory of the busiest card."""
    speed: SpeedEstimate
    """Throughput of all cards together."""
    price: PriceChoice
    """The price that counts."""
    cost: Cost
    """Money over the term."""
    metrics: Metrics
    """What 1000 yuan buy."""
    reasons: tuple[Message, ...]
    """Why it stands where it does, in sentences."""
    acquisition: str = "buy"
    """buy, rent_on_demand (whole instances, for the hours of the work) or rent_monthly (for whole months)."""
    service: Served | None = None
    """What users get; null where nobody waits for tokens."""
    host: HostUse | None = None
    """The machines around the cards; null in answers of before they were counted by class."""
    support: CardSupport = CardSupport("unknown")
    """How well its software is known to run on the card."""
    flags: tuple[MessageWithCode, ...] = ()
    """What to mind: tight, stale price, precision that falls back, no warranty …"""
    robustness: Robustness | None = None
    """How firmly it stands; null behind the first few."""
    rental: Rent | None = None
    """The same cards rented; null where no rent of the card is known."""
    advice: tuple[Message, ...] = ()
    """What to do before it is bought and when it is set up, in sentences."""
    setup: str | None = None
    """Python that sets up TensorFlow; absent for other engines."""
    formulas: Formulas | None = None
    """How its figures were computed; absent where the question did not ask for it."""

    @property
    def label(self) -> str:
        """Count and short name: 2 × RTX 4090."""
        return self.gpu.label(self.count)

    @property
    def outlay_cny(self) -> Figure:
        """What is paid on the day, yuan: cards, machines that are bought, network."""
        return self.cost.outlay_cny

    @property
    def total_cny(self) -> Figure:
        """Total over the term, yuan."""
        return self.cost.total_cny

    @property
    def reason_codes(self) -> tuple[str, ...]:
        """Codes of `reasons`, in their order."""
        return codes_of(self.reasons)

    @property
    def advice_codes(self) -> tuple[str, ...]:
        """Codes of `advice`, in their order."""
        return codes_of(self.advice)


@answer(omit=("shortfall_gib", "remedy", "source"), shown=("label",))
class Rejected:
    """A card that is not on the list, at its nearest count, and what would change it."""

    gpu: GpuRef
    """The card."""
    count: int
    """The count at which least is missing."""
    code: str
    """memory, service, budget, power, count, vendor, framework, os, support, feature, precision,
    availability, unpriced, evidence, stale_price or deadline."""
    text: Message
    """Why, in a sentence."""
    shortfall_gib: Figure | None = None
    """Memory that is missing on each card, GiB; absent where memory is not the reason."""
    remedy: Remedy | None = None
    """One change that would bring it in; absent where none is known."""
    source: Source | None = None
    """Who says that it is not sold; absent where that is not the reason."""

    @property
    def label(self) -> str:
        """Count and short name: 2 × RTX 4090."""
        return self.gpu.label(self.count)


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
    outcome: Outcome | None = None
    """What to do, what to compare, which quotes to ask for."""
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
