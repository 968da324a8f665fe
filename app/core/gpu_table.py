"""Cards as columns: what the grid needs of each card, in arrays. NaN stands for unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.core.formats import Format
from app.core.gpu import RATE_FIGURES, Gpu
from app.core.kept import keep
from app.core.tracing import floats

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Index = npt.NDArray[np.intp]

CARD_CLASSES = (
    "pascal",
    "volta",
    "turing_geforce",
    "turing",
    "ampere_dc",
    "ampere_geforce",
    "ampere_pro",
    "ada_geforce",
    "ada_pro",
    "hopper",
    "blackwell_dc",
    "blackwell_geforce",
    "blackwell_pro",
    "cdna",
    "gcn",
    "rdna",
    "intel",
    "gaudi",
    "ascend",
    "other",
)
"""Architecture families that share their achieved fractions of peak."""

_MAYBE_WITHOUT_BF16 = (CARD_CLASSES.index("rdna"), CARD_CLASSES.index("cdna"))

PCIE_NOMINAL_GB_S = {3: 16.0, 4: 32.0, 5: 64.0, 6: 128.0}
"""One-way nominal rate of 16 lanes, GB/s."""
PCIE_GB_S = {1: 2.5, 2: 5.0, 3: 10.0, 4: 20.0, 5: 40.0, 6: 80.0}
"""Effective one-way rate of 16 lanes in collective operations, GB/s (measured, speed findings 4)."""
LINK_EFFICIENCY = 0.8
"""Share of the one-way link rate that a ring reaches."""


@dataclass(frozen=True)
class GpuTable:
    """Columns over cards, all of one shape: (cards,) or, as a column, (cards, 1)."""

    card_class: Index
    """Index into CARD_CLASSES."""
    usable_gib: Floats
    memory_gib: Floats
    bandwidth_gb_s: Floats
    tdp_w: Floats
    link_gb_s: Floats
    """Effective one-way GB/s of the card-to-card link, 0 without one."""
    link_cards: Floats
    """Cards that the link joins: 2 for a bridge."""
    pcie_gb_s: Floats
    """Effective one-way GB/s between cards over PCIe, halved where the driver allows no peer access."""
    copy_gb_s: Floats
    """Effective one-way GB/s between host and card."""
    rates: Floats
    """(figures, …) dense TFLOPS by RATE_FIGURES."""
    nvlink: Flags
    ecc: Flags
    mig: Flags
    tensor_cores: Flags
    is_nvidia: Flags
    capability: Floats
    """CUDA compute capability as a number, NaN for other vendors."""

    def __len__(self) -> int:
        return int(self.usable_gib.shape[0])

    @classmethod
    def from_gpus(cls, gpus: Sequence[Gpu]) -> GpuTable:
        """Columns of a list of cards, in its order.

        Parameters
        ----------
        gpus: the cards; figures that are None become NaN.

        Returns
        -------
        A table of shape (cards,).
        """
        classes = np.array([CARD_CLASSES.index(card_class(g)) for g in gpus], dtype=np.intp)
        return cls(
            card_class=classes,
            usable_gib=_floats([g.usable_gib for g in gpus]),
            memory_gib=_floats([g.memory_gib for g in gpus]),
            bandwidth_gb_s=_floats([_unknown_unless_positive(g.bandwidth_gb_s) for g in gpus]),
            tdp_w=_floats([g.tdp_w for g in gpus]),
            link_gb_s=_floats([_link(g) for g in gpus]),
            link_cards=_floats([_link_cards(g) for g in gpus]),
            pcie_gb_s=_floats([_pcie(g) * (1.0 if _peer_access(g) else 0.5) for g in gpus]),
            copy_gb_s=_floats([_pcie(g) for g in gpus]),
            rates=np.array(
                [
                    [_none_is_nan(_unknown_unless_positive(g.rate_tflops(f))) for g in gpus]
                    for f in RATE_FIGURES
                ],
                dtype=np.float64,
            ),
            nvlink=np.array(["nvlink" in g.link.lower() and bool(g.link_gb_s) for g in gpus], dtype=bool),
            ecc=np.array([has_ecc(g) for g in gpus], dtype=bool),
            mig=np.array([g.mig_instances > 1 for g in gpus], dtype=bool),
            tensor_cores=np.array([g.has_tensor_cores for g in gpus], dtype=bool),
            is_nvidia=np.array([g.vendor.upper() == "NVIDIA" for g in gpus], dtype=bool),
            capability=_floats([_capability(g) for g in gpus]),
        )

    def take(self, index: Index | Sequence[int]) -> GpuTable:
        """Rows by index, repeated as asked."""
        rows = np.asarray(index, dtype=np.intp)
        changed = {f.name: getattr(self, f.name)[..., rows] for f in fields(self)}
        return replace(self, **changed)

    def column(self) -> GpuTable:
        """The same cards as a column (cards, 1) that broadcasts against plans."""
        return self._column

    @cached_property
    def _column(self) -> GpuTable:
        return replace(self, **{f.name: getattr(self, f.name)[..., np.newaxis] for f in fields(self)})

    def by_class(self, values: Floats) -> Floats:
        """Look up one value per card in a vector over CARD_CLASSES."""
        return np.asarray(values[self.card_class], dtype=np.float64)

    def rate(self, figure: str) -> Floats:
        """Dense TFLOPS of one figure."""
        return np.asarray(self.rates[RATE_FIGURES.index(figure)], dtype=np.float64)


@dataclass(frozen=True)
class ComputeRate:
    """The rate that counts for a format on each card."""

    tflops: Floats
    fallback: Flags
    """The card has no rate of this format: the 16-bit (or vector) rate counts, flagged."""
    lacks_type: Flags
    """The card cannot compute in this 16-bit type at all (bf16 before Ampere)."""

    def take(self, rows: Index) -> ComputeRate:
        """The same for some of the cards."""
        return ComputeRate(self.tflops[rows], self.fallback[rows], self.lacks_type[rows])


def compute_rate(table: GpuTable, fmt: Format) -> ComputeRate:
    """Dense fp32-accumulate TFLOPS that count for a weight format on each card.

    Parameters
    ----------
    table: the cards.
    fmt: the weight format; weight-only formats count the 16-bit rate.

    Returns
    -------
    Rates, and where they are those of another type.

    Notes
    -----
    fp8, fp4 and int8 on a card without them run at the 16-bit rate (weights are widened). tf32 on a card
    without it is fp32. Half precision on cards without matrix units runs at the fp32 rate.
    """
    return keep(table, "rates", fmt.compute.rate, lambda: _compute_rate(table, fmt))


def _compute_rate(table: GpuTable, fmt: Format) -> ComputeRate:
    fp32 = table.rate("fp32_tflops")
    # Where matrix units exist, the vector rate does not stand for a matrix rate that nobody has read.
    vector = np.where(table.tensor_cores, np.nan, fp32)
    fp16 = _first(table.rate("fp16_tflops"), table.rate("bf16_tflops"), vector)
    bf16 = _first(table.rate("bf16_tflops"), table.rate("fp16_tflops"), vector)
    old_nvidia = table.is_nvidia & (table.capability < 8.0)
    old_amd = np.isin(table.card_class, _MAYBE_WITHOUT_BF16) & np.isnan(table.rate("bf16_tflops"))
    vega = table.card_class == CARD_CLASSES.index("gcn")
    lacks_bf16 = np.asarray(old_nvidia | old_amd | vega, dtype=bool)
    no = np.zeros(np.shape(table.usable_gib), dtype=bool)
    if fmt.compute.rate == "fp32_tflops":
        return ComputeRate(fp32, no, no)
    if fmt.compute.rate == "fp16_tflops":
        return ComputeRate(fp16, no, no)
    if fmt.compute.rate == "bf16_tflops":
        return ComputeRate(bf16, lacks_bf16, lacks_bf16)
    own = table.rate(fmt.compute.rate)
    if fmt.compute.rate == "tf32_tflops":
        return ComputeRate(_first(own, fp32), np.isnan(own), no)
    # Blackwell workstation cards and newer list fp4; a card with fp8 only runs fp4 weights at 16 bit.
    return ComputeRate(_first(own, bf16), np.isnan(own), no)


def link_over_pcie(gpu: Gpu) -> float | None:
    """Direct link over PCIe, both one way and nominal; None without a link or a known bus. A100 SXM: 9.4."""
    nominal = PCIE_NOMINAL_GB_S.get(gpu.pcie_gen or 0)
    if not gpu.link_gb_s or nominal is None:
        return None
    return gpu.link_gb_s / 2.0 / (nominal * (gpu.pcie_lanes or 16) / 16.0)


def card_class(gpu: Gpu) -> str:
    """Family of CARD_CLASSES by architecture and market segment."""
    arch = gpu.architecture.lower()
    name = f"{gpu.family} {gpu.name}".lower()
    consumer = gpu.segment == "consumer" or "geforce" in name
    if "pascal" in arch:
        return "pascal"
    if "volta" in arch:
        return "volta"
    if "turing" in arch:
        return "turing_geforce" if consumer and "titan" not in name else "turing"
    if "ga100" in arch:
        return "ampere_dc"
    if "ampere" in arch:
        return "ampere_geforce" if consumer else "ampere_pro"
    if "ada" in arch:
        return "ada_geforce" if consumer else "ada_pro"
    if "hopper" in arch:
        return "hopper"
    if "blackwell" in arch or "rubin" in arch:
        if "gb20" in arch:
            return "blackwell_geforce" if consumer else "blackwell_pro"
        return "blackwell_pro" if "gb10)" in arch else "blackwell_dc"
    if "gcn" in arch or "vega" in arch:
        return "gcn"
    if "cdna" in arch or "instinct" in name:
        return "cdna"
    if "rdna" in arch or "radeon" in name:
        return "rdna"
    if "gaudi" in arch or "gaudi" in name:
        return "gaudi"
    if gpu.vendor.lower() == "intel":
        return "intel"
    if "ascend" in name or "da vinci" in arch or gpu.vendor.lower() == "huawei":
        return "ascend"
    return "other"


def has_ecc(gpu: Gpu) -> bool:
    """ECC memory, optional (soft) ECC included."""
    return gpu.ecc.lower().startswith(("yes", "optional", "native"))


def _link(gpu: Gpu) -> float:
    return (gpu.link_gb_s or 0.0) / 2.0 * LINK_EFFICIENCY


def _link_cards(gpu: Gpu) -> float:
    text = gpu.link.lower()
    if not gpu.link_gb_s:
        return 1.0
    if "4-way" in text:
        return 4.0
    if "bridge" in text or "2-way" in text or "2 cards" in text:
        return 2.0
    return 8.0


def _pcie(gpu: Gpu) -> float:
    # A module without a stated bus hangs on the host by 16 lanes of its time; generation 4 is the middle.
    return PCIE_GB_S.get(gpu.pcie_gen or 4, 20.0) * (gpu.pcie_lanes or 16) / 16.0


def _peer_access(gpu: Gpu) -> bool:
    return not (gpu.vendor.upper() == "NVIDIA" and gpu.segment == "consumer")


def _capability(gpu: Gpu) -> float | None:
    try:
        return float(gpu.compute_capability)
    except ValueError:
        return None


def _none_is_nan(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _unknown_unless_positive(value: float | None) -> float | None:
    """No card has a rate or a bandwidth of 0: such a figure is a slip, and divides by zero."""
    return value if value is not None and value > 0 else None


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([_none_is_nan(v) for v in values], dtype=np.float64)


def _first(*columns: Floats) -> Floats:
    """First known value of each row."""
    result = columns[0]
    for column in columns[1:]:
        result = np.where(np.isnan(result), column, result)
    return floats(result)
