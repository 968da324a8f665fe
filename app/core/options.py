"""What a shortlist answers: options with their evidence, rejected cards with their reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core.estimates import Assumption, MemoryEstimate, Message, SpeedEstimate, Verdict
from app.core.gpu import Gpu, PriceChoice
from app.core.workload import Parallelism

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
