"""What the engine needs to know of a card, a price and a rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core.estimates import Basis

RATE_FIGURES = (
    "fp64_tflops",
    "fp32_tflops",
    "tf32_tflops",
    "fp16_tflops",
    "bf16_tflops",
    "fp8_tflops",
    "int8_tops",
    "int4_tops",
    "fp4_tflops",
)
"""Dense rates with fp32 accumulate (int32 for integers). The fp16-accumulate rates stand beside them as
`fp16_fp16acc_tflops` and `fp8_fp16acc_tflops` and are never used for ranking."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a figure was read."""

    id: str
    url: str
    title: str
    publisher: str = ""
    kind: str = ""
    licence: str = ""
    read_on: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a card with its provenance."""

    value: float
    unit: str
    basis: Basis
    source: Source
    as_of: str
    formula: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One accelerator card (or module). Missing figures are None: unknown is not zero."""

    id: str
    name: str
    vendor: str
    family: str = ""
    architecture: str = ""
    segment: str = ""
    """consumer, workstation, data-centre …"""
    memory_gib: float | None = None
    """Nameplate size as the vendor prints it."""
    driver_total_gib: float | None = None
    usable_gib: float | None = None
    usable_basis: Basis = "derived"
    bandwidth_gb_s: float | None = None
    rates: Mapping[str, float] = field(default_factory=dict)
    """RATE_FIGURES by name, in TFLOPS or TOPS; absent = unknown or not supported (see `supports`)."""
    tdp_w: float | None = None
    compute_capability: str = ""
    memory_type: str = ""
    ecc: str = ""
    mig_instances: int = 0
    link: str = ""
    """NVLink 4, NVLink bridge, Infinity Fabric, HCCS … or empty."""
    link_gb_s: float | None = None
    """Interconnect, both directions together, as vendors print it."""
    pcie_gen: int | None = None
    pcie_lanes: int | None = None
    form_factor: str = ""
    """PCIe card, SXM module, OAM module …: a module is not sold as a card and needs its own baseboard."""
    launch_date: str = ""
    driver_min_linux: str = ""
    """First NVIDIA driver that knows the card, on Linux: 525.60.13. Empty: no release was read."""
    driver_min_windows: str = ""
    cooling: str = ""
    """passive, active, blower, open fans, liquid; empty where makers differ or nothing was read."""
    slot_width: float | None = None
    has_tensor_cores: bool = False
    gpus_per_board: int = 1
    aliases: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Text facts shown on the page: die, power connector, partition note, availability …"""

    def rate_tflops(self, figure: str) -> float | None:
        """Dense rate in TFLOPS (TOPS for integers), None when the card has none or it is unknown."""
        return self.rates.get(figure)


@dataclass(frozen=True, slots=True)
class PriceChoice:
    """The price that counts for one card and condition, and how it was chosen."""

    gpu_id: str
    condition: str
    """new, used, refurbished, modded."""
    amount: float
    currency: str
    amount_cny: float
    per: str
    """card, or server-8: a whole 8-card machine, host included, never divided."""
    tax: str
    """included, excluded, unknown."""
    region: str
    channel: str
    channel_kind: str
    observed_on: str
    age_days: int | None
    ageing: bool
    stale: bool
    converted: bool
    n: int
    low_cny: float
    high_cny: float
    source: Source
    kind: str = "observation"
    """quote, observation, launch, override."""
    variant_assumed: bool = False
    rate: float | None = None
    rate_on: str = ""
    rate_old: bool = False
    note: str = ""
    observation_ids: tuple[str, ...] = ()
    stated_amount: float | None = None
    """What a quote says, where `amount` puts it on the other tax basis; `stated_tax` is its own."""
    stated_tax: str = ""
    tax_rate: float | None = None
    """Fraction between the two."""
    tax_rate_assumed: bool = False


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One published (or the team's own) measurement of throughput, normalised."""

    id: str
    gpu_id: str
    gpu_count: int
    model_id: str
    """Empty when the row's model is none of the presets."""
    model_name: str
    task: str
    """training, inference, finetune."""
    precision: str
    """A name of `formats`, normalised by the table of the seed; empty = unknown."""
    value: float
    unit: str
    """images_per_s, samples_per_s, tokens_per_s, realtime_factor … as normalised."""
    phase: str = ""
    """prefill, decode, saturated … for language models."""
    batch_per_gpu: float | None = None
    sequence_length: float | None = None
    image_size: float | None = None
    input_length: float | None = None
    output_length: float | None = None
    framework: str = ""
    framework_version: str = ""
    interconnect: str = ""
    observed_on: str = ""
    source: Source | None = None
    note: str = ""
    flag: str = ""
    """Empty = usable; else the reason why the row is not used to predict."""
    own: bool = False
    model_parameters: float | None = None
    """Stated by rows whose model is none of the presets."""
