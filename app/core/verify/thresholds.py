"""What sound cards measurably reach of their data sheets, and how far below that a card is not what it is."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.formulas import Formula, Reference, register

TOLERANCE = 0.15
"""A rate this far below the least that sound cards of the kind reach is a fault."""
MEMORY_TOLERANCE = 0.03
"""Drivers keep some; a card with less than 97 % of what its kind reports is another card."""
MEMORY_EXCESS = 0.10
"""A card with a tenth more memory than its kind is another kind, or says more than it has."""
INTACT_SHARE = 0.97
"""Of the memory that was written, what must come back unchanged; the rest is for blocks of odd size."""
ECC_SHARE = 15.0 / 16.0
"""What inline error correction leaves of GDDR memory."""
NAMEPLATE_SHARE = 15.0 / 16.0
"""What drivers at least report of a nameplate size; ECC and the firmware keep up to a sixteenth."""

COPY_SHARE: Mapping[str, float] = {"GDDR": 0.86, "HBM": 0.80}
"""What a copy inside the card reaches of the bandwidth on the data sheet. GDDR: decoding one sequence, which
reads each weight once, reaches 0.87 to 0.93 of it on Ada cards; HBM: a stream copy reaches 0.85 on the A100
and 0.77 on the C550."""

MATRIX_SHARE: Mapping[str, Mapping[str, float]] = {
    "pascal": {"fp32": 0.86, "fp16": 0.83},
    "volta": {"fp32": 0.83, "fp16": 0.68},
    "turing_geforce": {"fp32": 0.86, "fp16": 0.97},
    "turing": {"fp32": 0.54, "fp16": 0.51},
    "ampere_geforce": {"fp32": 0.64, "tf32": 0.98, "fp16": 0.97, "bf16": 0.97},
    "ampere_dc": {"fp32": 0.90, "tf32": 0.69, "fp16": 0.77, "bf16": 0.75},
    "ampere_pro": {"fp32": 0.62, "tf32": 0.80, "fp16": 0.78, "bf16": 0.80},
    "ada_geforce": {"fp32": 0.54, "tf32": 0.98, "fp16": 0.98, "bf16": 0.98},
    "ada_pro": {"fp32": 0.51, "tf32": 0.53, "fp16": 0.57, "bf16": 0.59},
    "hopper": {"fp32": 0.72, "tf32": 0.64, "fp16": 0.61, "bf16": 0.66},
    "blackwell_dc": {"fp32": 0.88, "fp16": 0.72, "bf16": 0.75},
    "blackwell_geforce": {"fp32": 0.60, "tf32": 0.90, "fp16": 0.91, "bf16": 0.91},
    "blackwell_pro": {"fp32": 0.60, "tf32": 0.73, "fp16": 0.70, "bf16": 0.78},
    "rdna": {"fp32": 0.31, "fp16": 0.64, "bf16": 0.64},
    "cdna": {"fp16": 0.51, "bf16": 0.51},
    "gaudi": {"bf16": 0.74},
    "intel": {"fp32": 0.77},
}
"""Least share of the dense fp32-accumulate peak that large matrix products reached on a card of the family.
GeForce cards pass 1: they clock above the rate on their data sheet. Vector fp32 stays far below it where the
peak counts two pipes that ordinary products do not fill."""
OTHER_MATRIX_SHARE = 0.50
"""Of families that nobody has measured: half, so that only a gross shortfall is named."""

THROTTLE_REASONS: Mapping[int, str] = {0x08: "hardware", 0x20: "heat", 0x40: "heat", 0x80: "power_brake"}
"""Bits of the driver's clock reasons that tell of a fault of cooling or supply. The power cap (0x04) is not
among them: most cards run into it under full load."""

register(
    Formula(
        "verify.expectation",
        "What a sound card measures",
        "memory >= 0.97 x that of its kind; copy >= 0.85 x 0.80 (HBM) or 0.86 (GDDR) x bandwidth; matrix "
        "product >= 0.85 x least share of its family x dense fp32-accumulate rate; all memory written comes "
        "back; no uncorrected ECC errors",
        "1",
        "calibrated",
        "One card, nothing else running on it. A power limit below that of the kind, or clocks that the "
        "driver holds down, are named, as they explain a low rate.",
        (
            Reference("Community table of PyTorch matrix products, 62 cards, medians of the runs read"),
            Reference("stas00, ml-engineering: maximum achievable matmul FLOPS (MI300X 51 %, Gaudi 3 74 %)",
                      "https://github.com/stas00/ml-engineering"),
            Reference("FlagPerf: stream bandwidth, A100 85 %, C550 77 %",
                      "https://github.com/FlagOpen/FlagPerf"),
        ),
    )
)  # fmt: skip


def copy_share(memory_type: str) -> float:
    """Share of the nominal bandwidth that a copy inside the card reaches.

    Parameters
    ----------
    memory_type: GDDR6X, HBM3 …; what is no GDDR counts as HBM, the lower of the two.

    Returns
    -------
    Share [1].
    """
    return COPY_SHARE["GDDR" if memory_type.upper().startswith("GDDR") else "HBM"]


def matrix_share(family: str, kind: str) -> float:
    """Share of the dense peak that the best matrix product reaches at least on sound cards of a family.

    Parameters
    ----------
    family: of `gpu_table.CARD_CLASSES`. kind: fp32, tf32, fp16 or bf16.

    Returns
    -------
    Share [1].
    """
    return MATRIX_SHARE.get(family, {}).get(kind, OTHER_MATRIX_SHARE)
