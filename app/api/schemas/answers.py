"""Shapes of the answers. They document; the services make the bodies, with more fields beside these."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Open(BaseModel):
    """Fields may be added within a version of the API, never taken away."""

    model_config = ConfigDict(extra="allow")


Basis = Literal["exact", "measured", "calibrated", "derived", "assumed"]
Verdict = Literal["fits", "tight", "does_not_fit"]


class Interval(Open):
    """Low, expected, high."""

    low: float
    expected: float
    high: float


class MemoryPart(Open):
    """One part of the need on one card."""

    part: str = Field(examples=["kv_cache"])
    gib: float
    basis: Basis
    formula: str = Field(description="Id of the formula.", examples=["memory.kv_cache"])


class Memory(Open):
    """Need of the busiest card. The parts sum to `per_gpu_gib.expected`."""

    per_gpu_gib: Interval
    allocated_gib: Interval
    reserved_gib: Interval
    kv_reserved_gib: float
    parts: list[MemoryPart]


class Assumption(Open):
    """A default that was used."""

    field: str
    value: Any
    why: str


class Versions(Open):
    """What the answer was computed with."""

    engine: str
    catalog: str


class Fit(Open):
    """Whether the need goes into the card."""

    verdict: Verdict
    usable_gib: float
    margin_gib: float
    max_batch_size: int | None = None
    max_sequence_length: int | None = None


class Remedy(Open):
    """One change of the request that makes it fit."""

    code: str
    text: str
    change: dict[str, Any]
    memory: Memory | None = None
    fit: Fit | None = None


class Measured(Open):
    """A measurement behind a speed."""

    id: str
    gpu_id: str
    gpu_count: int
    model: str
    value: float
    unit: str
    observed_on: str
    own: bool
    title: str
    url: str


class Speed(Open):
    """Throughput of all cards together."""

    low: float
    expected: float
    high: float
    unit: str = Field(examples=["tokens_per_s"])
    basis: Basis
    bound: str = Field(examples=["bandwidth"])
    phase: str = Field(examples=["decode"])
    steps_per_s: float
    sources: list[str] = Field(description="Ids of the measurements behind the figure.")
    measurements: list[Measured]


class MemoryAnswer(Open):
    """Answer of /memory."""

    memory: Memory
    assumptions: list[Assumption]
    versions: Versions


class FitAnswer(Open):
    """Answer of /fit."""

    fit: Fit
    memory: Memory
    remedies: list[Remedy]
    assumptions: list[Assumption]
    versions: Versions


class SpeedAnswer(Open):
    """Answer of /speed."""

    speed: Speed
    assumptions: list[Assumption]
    versions: Versions


class SourceRef(Open):
    """Where a figure was read."""

    id: str
    url: str
    title: str
    publisher: str = ""


class GpuRef(Open):
    """A card by id and name."""

    id: str
    name: str


class Price(Open):
    """A price, and how it was chosen."""

    amount: float
    currency: str
    amount_cny: float | None
    per: str
    condition: str
    tax: str
    region: str
    channel: str
    observed_on: str
    age_days: int | None
    stale: bool
    converted: bool
    n: int
    basis: Basis | None = None
    formula: str = ""
    source: SourceRef | None


class Cost(Open):
    """Money of one option."""

    purchase_cny: float
    total_cny: float
    per_hour_cny: float
    per_unit: dict[str, Any] | None


class Metrics(Open):
    """Figures per yuan at the named precision; null where a term is unknown."""

    precision: str
    peak_tflops: float | None
    sustained_tflops: float | None
    peak_tflops_per_1000_cny: float | None
    sustained_tflops_per_1000_cny: float | None
    gib_per_1000_cny: float | None
    gb_s_per_1000_cny: float | None


class Option(Open):
    """One way to buy."""

    rank: int
    gpu: GpuRef
    count: int
    condition: str
    plan: dict[str, int]
    fit: Fit
    memory: Memory
    speed: Speed
    price: Price
    cost: Cost
    metrics: Metrics
    reasons: list[str]
    robustness: dict[str, Any] | None = None


class Rejected(Open):
    """A card that is not on the list."""

    gpu: GpuRef
    count: int
    code: str
    text: str
    shortfall_gib: float | None = None
    remedy: Remedy | None = None


class Rank(Open):
    """A rank on the Pareto front."""

    rank: int


class ShortlistAnswer(Open):
    """Answer of /shortlist."""

    options: list[Option]
    rejected: list[Rejected]
    pareto: list[Rank]
    feasible: int
    assumptions: list[Assumption]
    advice: list[str]
    as_of: str
    currency: str
    versions: Versions


class FigureValue(Open):
    """One figure of a card with its provenance."""

    value: float
    unit: str
    basis: Basis
    source: SourceRef
    as_of: str


class GpuAnswer(Open):
    """One card."""

    id: str
    name: str
    vendor: str
    aliases: list[str]
    figures: dict[str, FigureValue]


class GpuList(Open):
    """A page of cards."""

    items: list[GpuAnswer]
    next: str | None


class Items(Open):
    """A page of rows; `next` is the cursor of the following one."""

    items: list[dict[str, Any]]
    next: str | None


class ModelAnswer(Open):
    """One model preset."""

    id: str
    name: str
    family: str
    parameters: float


class ComparisonCreated(Open):
    """A frozen comparison; whoever holds the token may delete it."""

    id: str
    url: str
    manage_token: str


class ComparisonAnswer(Open):
    """A frozen comparison with its full result."""

    id: str
    title: str
    created_at: str
    as_of: str
    digest: str
    result: dict[str, Any]
    versions: Versions


class ChangesAnswer(Open):
    """What has moved since a comparison was frozen."""

    order_changed: bool
    prices: list[dict[str, Any]]
    options: list[dict[str, Any]]
    versions: dict[str, Any]
