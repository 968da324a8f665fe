"""Which constants speak of a question on a card: by card class, vendor, form of weights, engine and link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from app.core.formats import Format
from app.core.gpu_table import CARD_CLASSES, GpuTable, Index
from app.core.kept import keep

CLASSES = (*CARD_CLASSES, "hopper_cut", "cdna_old")
"""Card classes of the speed model, two of them divided: Hopper cards with few multiprocessors for their
bandwidth, Instinct cards without FP8."""
VENDORS = ("cuda", "rocm", "rdna", "ascend", "intel", "other")
FORMS = ("half", "fp8", "fp8_widened", "four_bit", "mxfp4", "int8")
CUT_FORMS = ("fp8", "four_bit")
"""Forms that were measured on such cards."""
MEDIUM_BITS = 7.0
"""Bits below which kernels unpack several weights of a word."""
CUT_FLOP_PER_BYTE = 100.0
"""Dense 16-bit FLOP per byte: H20 37, H200 206, H100 SXM 295."""
_VENDOR_OF = {
    "cdna": "rocm",
    "cdna_old": "rocm",
    "gcn": "rocm",
    "rdna": "rdna",
    "ascend": "ascend",
    "intel": "intel",
    "gaudi": "intel",
    "other": "other",
}
LINK_OF = {"cuda": "nvlink", "rocm": "xgmi", "ascend": "hccs"}
"""Direct link by vendor; others are taken for the nearest of these."""
DEFAULT = "default"


class CardKey(NamedTuple):
    """What decides about the constants of a card."""

    card_class: str
    widened: bool
    """It has no matrix rate of the format: weights are widened to 16 bit."""

    @property
    def vendor(self) -> str:
        """Of VENDORS."""
        return _VENDOR_OF.get(self.card_class, "cuda")


@dataclass(frozen=True, slots=True)
class Setting:
    """What decides about the constants beside the card."""

    engine: str
    """Key of the tables by engine."""
    form: str
    """Of FORMS, as on a card that has its type."""
    experts: bool
    tuned: bool
    """Its engine brings kernels for quantized weights to every card it runs on."""
    eager: bool
    """Decode steps are launched kernel by kernel."""


def form_of(fmt: Format) -> str:
    """The form of the weights of a format, of FORMS."""
    if "experts_only" in fmt.quirks or fmt.compute.group == "fp4":
        return "mxfp4"
    if fmt.weight_only:
        return "four_bit" if fmt.bits < MEDIUM_BITS else "int8"
    return fmt.compute.group if fmt.quantized else "half"


def classes_of(table: GpuTable) -> Index:
    """Index into CLASSES of each card, of the shape of the table."""
    return keep(table, "serving_classes", (), lambda: _classes_of(table))


def _classes_of(table: GpuTable) -> Index:
    found = np.array(table.card_class)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = table.rate("bf16_tflops") * 1e3 / table.bandwidth_gb_s
    hopper = found == CLASSES.index("hopper")
    cdna = found == CLASSES.index("cdna")
    found[hopper & (ratio < CUT_FLOP_PER_BYTE)] = CLASSES.index("hopper_cut")
    found[cdna & np.isnan(table.rate("fp8_tflops"))] = CLASSES.index("cdna_old")
    return found


def labels(setting: Setting, card: CardKey) -> Mapping[str, tuple[str, ...]]:
    """By field of `terms.Rates`, the constants whose product it is, as `NAME` or `NAME.key`."""
    vendor = card.vendor
    form = "fp8_widened" if setting.form == "fp8" and card.widened else setting.form
    engine = setting.engine
    bandwidth: tuple[str, ...] = (f"READ_SHARE.{card.card_class}",)
    compute: tuple[str, ...] = (f"PRODUCT_SHARE.{card.card_class}", f"PRODUCT_ENGINE.{engine}")
    experts: tuple[str, ...] = ("EXPERT_SHARE",)
    if form != "half":
        bandwidth += (f"FORM_READ_SHARE.{form}",)
        compute += (f"FORM_PRODUCT_SHARE.{form}",)
        if card.card_class == "hopper_cut" and form in CUT_FORMS:
            bandwidth += (f"CUT_READ_SHARE.{form}",)
        if setting.experts:
            experts += (f"FORM_EXPERT_SHARE.{form}",)
        if _untuned(setting, card, form):
            bandwidth += ("SLOW_KERNELS",)
    launch = (f"LAUNCH_VENDOR.{vendor}",) + (("EAGER_LAUNCH",) if setting.eager else ())
    link = LINK_OF.get(vendor, "nvlink")
    return {
        "bandwidth": bandwidth,
        "kv": (f"KV_READ_SHARE.{_kv_key(card)}",),
        "compute": compute,
        "experts": compute + experts,
        "layer_s": (f"LAYER_LAUNCH.{engine}", *launch),
        "routed_s": (f"ROUTED_LAUNCH.{engine}", *launch),
        "latent_s": (f"LATENT_LAUNCH.{engine}", *launch),
        "narrow_s": (f"NARROW_LAUNCH.{engine}", *launch),
        "linear_s": (f"LINEAR_LAUNCH.{engine}", *launch),
        "step_s": (f"STEP_HOST.{engine}",),
        "sequence_s": (f"SEQUENCE_HOST.{engine}",),
        "link_latency_s": (f"REDUCE_LATENCY.{link}", f"REDUCE_ENGINE.{engine}"),
        "pcie_latency_s": ("REDUCE_LATENCY.pcie", f"REDUCE_ENGINE.{engine}"),
        "link_share": (f"REDUCE_SHARE.{link}",),
        "pcie_share": ("REDUCE_SHARE.pcie",),
        "floor_layer_s": (f"FLOOR_LAYER.{engine}", f"FLOOR_VENDOR.{vendor}"),
        "floor_routed_s": (f"FLOOR_ROUTED.{engine}", f"FLOOR_VENDOR.{vendor}"),
        "floor_linear_s": (f"FLOOR_LINEAR.{engine}", f"FLOOR_VENDOR.{vendor}"),
        "stall": (f"STALL_SHARE.{engine}",),
        "activation_hidden": (f"ACTIVATION_HIDDEN.{engine}",),
        "activation_logits": (f"ACTIVATION_LOGITS.{engine}",),
        "together": (f"TOGETHER_SHARE.{engine}",),
    }


MICROSECONDS = frozenset(
    "layer_s routed_s latent_s narrow_s linear_s step_s sequence_s link_latency_s pcie_latency_s "
    "floor_layer_s floor_routed_s floor_linear_s".split()
)
"""Fields whose first constant is in microseconds."""


def _kv_key(card: CardKey) -> str:
    if card.card_class == "hopper_cut":
        return card.card_class
    return card.vendor


def _untuned(setting: Setting, card: CardKey, form: str) -> bool:
    """Whether a stack has no tuned kernels for these weights."""
    if card.vendor in ("cuda", "other") or setting.tuned:
        return False
    return not (form == "fp8" and card.card_class == "cdna" and not card.widened)
