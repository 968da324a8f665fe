"""Hopper cards beside the H100 SXM: fewer multiprocessors for their bandwidth, less power for their rate."""

from __future__ import annotations

import numpy as np

from app.core.gpu_table import CARD_CLASSES, Floats, GpuTable
from app.core.speed import constants as c
from app.core.tracing import named
from app.core.units import GB, TERA


def multiprocessor_share(cards: GpuTable, weights: str = "half") -> Floats:
    """Part of their bandwidth that Hopper cards with few multiprocessors for it can ask for; 1 for others.

    Parameters
    ----------
    cards: the cards. weights: half, narrow (FP8) or widened (4 bit, computed in 16).

    Notes
    -----
    (FLOP per byte / 295)^x, at most 1, with the dense 16-bit rate standing for the multiprocessors, x 0.40
    (FP8 0.33, widened 0.62): H100 SXM 1, H200 0.87, H20 0.44 (0.50, 0.28). SGLang on an H20 reaches 27 to
    35 % of 4.0 TB/s with dense BF16 models, 20 to 38 % with FP8, 10 to 20 % with AWQ, large models most.
    """
    ratio = cards.rate("bf16_tflops") * TERA / (cards.bandwidth_gb_s * GB) / c.HOPPER_FLOP_PER_BYTE
    found = np.minimum(ratio, 1.0) ** c.HOPPER_RATIO_EXPONENT[weights]
    return _of_hopper(cards, found, "multiprocessor_share")


def power_share(cards: GpuTable) -> Floats:
    """Factor on the sustained share of peak of Hopper cards by watts per TFLOPS; 1 for others.

    Notes
    -----
    (W per 16-bit TFLOPS / 0.708)^0.7 below the H100 SXM, ^0.18 above it: H100 PCIe 0.74, H100 NVL 0.76, H20
    1.33. Matrix products reach 96 % of peak on an H20, about 75 % on an H100 SXM.
    """
    ratio = cards.tdp_w / cards.rate("bf16_tflops") / c.HOPPER_WATTS_PER_TFLOPS
    found = np.where(ratio < 1.0, ratio**c.HOPPER_STARVED_EXPONENT, ratio**c.HOPPER_FED_EXPONENT)
    return _of_hopper(cards, found, "power_share")


def _of_hopper(cards: GpuTable, values: Floats, name: str) -> Floats:
    hopper = cards.card_class == CARD_CLASSES.index("hopper")
    return np.where(hopper & np.isfinite(values), named(values, name), 1.0)
