"""What the engine needs to know of a card, a price and a rate."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core.answer import Figure as Amount
from app.core.answer import answer
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


@answer(hide=("kind", "licence", "read_on"))
class Source:
    """Where a figure was read."""

    id: str
    """Id of the source."""
    url: str
    """Its address; empty for what was entered here."""
    title: str
    """Its title."""
    publisher: str = ""
    """Who published it."""
    kind: str = ""
    licence: str = ""
    read_on: str = ""


@answer(omit=("formula", "note"))
class Figure:
    """One figure of a card with its provenance."""

    value: Amount
    """The figure, in `unit`."""
    unit: str
    """GiB, GB/s, TFLOPS, TOPS, W …; 1 for counts and ratios."""
    basis: Basis
    """How it is known."""
    source: Source
    """Where it was read."""
    as_of: str
    """Day of the figure, ISO 8601."""
    formula: str = ""
    """How it was worked out; absent where it was read."""
    note: str = ""
    """What is to be said of it; absent where nothing is."""


_SERIES = re.compile(
    r"\b(?:NVIDIA |AMD |Intel )?(?:GeForce |Radeon (?=RX |PRO |AI ))"
    r"|\b(?:NVIDIA|AMD|Intel) "
)


def short_card_name(text: str) -> str:
    """A name, or a label that holds one, without the words of the series: RTX 4090, not GeForce RTX 4090.

    Vendors whose cards nobody knows by a bare number keep their name: MetaX C500, Hygon DCU K100.
    """
    return _SERIES.sub("", text)


@answer()
class GpuRef:
    """A card by id and name."""

    id: str
    """Id of the card in the catalogue, as in /gpus/{id}."""
    name: str
    """Its whole name."""
    vendor: str
    """Who makes it."""

    def label(self, count: int) -> str:
        """So many of the card by its short name: 1 × RTX 4090."""
        return f"{count} × {short_card_name(self.name)}"


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
    llvm_target: str = ""
    """Of ROCm: gfx942 …"""
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

    @property
    def label(self) -> str:
        """Its short name, as tables have it: RTX 4090."""
        return short_card_name(self.name)

    @property
    def ref(self) -> GpuRef:
        """The card as answers name it."""
        return GpuRef(self.id, self.name, self.vendor)

    def rate_tflops(self, figure: str) -> float | None:
        """Dense rate in TFLOPS (TOPS for integers), None when the card has none or it is unknown."""
        return self.rates.get(figure)


CARRIED_SHARE = 0.005


@answer(hide=("gpu_id",), omit=("formula",), shown=("basis", "formula"))
class PriceChoice:
    """The price that counts for one card and condition, and how it was chosen."""

    condition: str
    """new, used, refurbished or modded."""
    amount: Amount
    """The price in `currency`."""
    currency: str
    """ISO 4217 code."""
    amount_cny: Amount
    """What was observed, in yuan, at the dated rate where it was in another currency."""
    per: str
    """card, or server-8: a whole 8-card machine, host included, never divided."""
    tax: str
    """included, excluded or unknown."""
    region: str
    """Where it holds: CN, US, HK, TW, EU or global."""
    channel: str
    """Who sells."""
    channel_kind: str
    """What kind of seller: retail, listings, asking price, article …"""
    observed_on: str
    """Day, month or year of the observation, ISO 8601."""
    age_days: int | None
    """Days from the observation to the day of the question; null where no day is known."""
    ageing: bool
    """Whether it is older than 90 days."""
    stale: bool
    """Whether it is older than the question allows."""
    converted: bool
    """Whether it was observed in another currency than yuan."""
    n: int
    """Observations that it is the median of."""
    source: Source | None
    """Where it was read."""
    evidence: str = ""
    """firm (quote, own price), current (sold at it), estimate, or none: no amount of today can be stated.
    Empty in answers that were kept before it was said."""
    rests_on: str = ""
    """What the amount of today rests on: own, launch, foreign, quote, override; empty without one."""
    low_cny: Amount | None = None
    """10th percentile of what it costs today, yuan; null where no amount can be stated."""
    expected_cny: Amount | None = None
    """What it costs today, yuan: carried by the index of its class; purchase and cost follow it."""
    high_cny: Amount | None = None
    """90th percentile of what it costs today, yuan."""
    refused: str = ""
    """Why no amount is stated for today; empty where one is."""
    kind: str = "observation"
    """observation, quote, launch (list price at launch) or override (given by the question)."""
    variant_assumed: bool = False
    """Whether the form factor was not stated, so that it serves each variant."""
    rate: Amount | None = None
    """Yuan for one unit of `currency`; null where nothing was converted."""
    rate_on: str = ""
    """Day of the rate."""
    rate_old: bool = False
    """Whether that day is more than 45 days before the day of the question."""
    note: str = ""
    """What the observation says beside."""
    observation_ids: tuple[str, ...] = ()
    """Ids of the observations in /prices, the first the newest."""
    stated_amount: Amount | None = None
    """What a quote says, where `amount` puts it on the other tax basis; `stated_tax` is its own."""
    stated_tax: str = ""
    """Tax basis of `stated_amount`."""
    tax_rate: Amount | None = None
    """Fraction between the two."""
    tax_rate_assumed: bool = False
    """Whether the quote did not state it."""
    gpu_id: str = ""

    @property
    def today_cny(self) -> float | None:
        """What it costs today, yuan; None where nothing can be said; as observed in answers of long ago."""
        return self.expected_cny if self.evidence else self.amount_cny

    @property
    def carried(self) -> bool:
        """Whether the amount of today is more than a rounding away from what was observed."""
        today = self.today_cny
        return today is not None and abs(today / self.amount_cny - 1.0) > CARRIED_SHARE

    @property
    def basis(self) -> Basis:
        """How the price is known: exact as observed, derived where it was worked out, assumed where given."""
        if self.kind == "override":
            return "assumed"
        return "derived" if self.formula else "exact"

    @property
    def formula(self) -> str | None:
        """How it was worked out, in the fields beside it; absent where it is as observed."""
        steps = []
        if self.kind == "override":
            return None
        if len(self.observation_ids) > 1:
            steps.append("amount = median of observation_ids")
        if self.stated_amount is not None and self.tax_rate is not None:
            sign = "/" if self.tax == "excluded" else "*"
            steps.append(f"amount = stated_amount {sign} (1 + tax_rate)")
        if self.converted:
            steps.append("amount_cny = amount * rate")
        return "; ".join(steps) or None


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
    software: str = ""
    """new, usual or old; empty: as its framework usually is."""
    compiled: str = ""
    """Compiler of the graph: torch.compile, xla; none; empty: not stated."""
    checkpointing: str = ""
    """full, selective or none; empty: not stated."""
    layout: str = ""
    """channels_first, channels_last; empty: not stated."""
    plan: str = ""
    """Degrees over several cards, "tp4 pp2 dp2 ep8"; empty: not stated."""
    scenario: str = ""
    """mlperf: the rules of the suite fix lengths and limits."""
    method: str = ""
    """How weights are trained: full, lora, qlora; empty: not stated."""
    inferred_precision: str = ""
    """Format that field practice fixes where the source states none."""
    observed_on: str = ""
    source: Source | None = None
    note: str = ""
    flag: str = ""
    """Empty = usable; else the reason why the row is not used to predict."""
    own: bool = False
    model_parameters: float | None = None
    """Stated by rows whose model is none of the presets."""
    more: tuple[tuple[str, Any], ...] = ()
    """Further columns of the row, which nothing here calculates with."""
