"""Whether a card is what it is sold as: its own measurement against the data sheet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.faults import FieldError, InputFault
from app.core.formulas import Formula, Reference, register
from app.core.gpu import Gpu
from app.core.gpu_table import GpuTable

FORMAT = "cardworth-measurement/1"
TOLERANCE = 0.15
MEMORY_TOLERANCE = 0.03
"""Drivers keep some; a card with less than 97 % of what its kind reports is another card."""
COPY_SHARE = {"GDDR": 0.86, "HBM": 0.80}
"""What a copy inside the card reaches of the bandwidth on the data sheet."""
MATRIX_SHARE = 0.80
"""What the best matrix product reaches of the dense peak (80 to 87 % on A100 and H100)."""
RATE_FIGURES = {"fp32": "fp32_tflops", "tf32": "tf32_tflops", "fp16": "fp16_tflops", "bf16": "bf16_tflops"}
ECC_FIELDS = ("ecc.errors.uncorrected.aggregate.total", "retired_pages.double_bit.count")

register(
    Formula(
        "verify.expectation",
        "What a sound card measures",
        "memory >= 0.97 x that of its kind; copy >= 0.85 x 0.80 (HBM) or 0.86 (GDDR) x bandwidth; matrix "
        "product >= 0.85 x 0.80 x dense fp32-accumulate rate; no uncorrected ECC errors",
        "1",
        "calibrated",
        "One card, nothing else running on it. A power limit below that of the kind is named, as it explains "
        "a low rate.",
        (
            Reference("stas00, ml-engineering: maximum achievable matmul FLOPS (A100 81-87 %, H100 80 %)",
                      "https://github.com/stas00/ml-engineering"),
            Reference("FlagPerf: stream bandwidth, A100 85 %", "https://github.com/FlagOpen/FlagPerf"),
        ),
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """One figure of the card beside what it should be."""

    figure: str
    """memory_gib, copy_gb_s, fp16_tflops …, ecc_errors, power_limit_w."""
    measured: float
    expected: float
    ok: bool
    code: str
    """Why not: memory_too_small, bandwidth_low, rate_low, ecc_errors, power_limited; empty when it is."""


@dataclass(frozen=True, slots=True)
class CardCheck:
    """All figures of one card."""

    gpu_id: str
    findings: tuple[Finding, ...]
    on_card: bool
    """False: the script ran without a GPU, so nothing is said of the card."""

    @property
    def as_sold(self) -> bool | None:
        """Whether the card is what it is sold as; None where nothing was measured on it."""
        if not self.on_card or not self.findings:
            return None
        return all(f.ok or f.code == "power_limited" for f in self.findings)


def read_measurement(data: Any) -> Mapping[str, Any]:
    """The script's answer, checked for its shape.

    Errors
    ------
    InputFault: no object, another format, numbers that are none.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputFault.at("/format", "unknown_value", value=_short(data), allowed=[FORMAT])
    faults = [
        FieldError(f"/{name}", "not_an_object", {})
        for name in ("question", "device")
        if not isinstance(data.get(name), dict)
    ]
    for name in ("bandwidth", "rates_tflops", "driver", "workload"):
        if data.get(name) is not None and not isinstance(data[name], dict):
            faults.append(FieldError(f"/{name}", "not_an_object", {}))
    if faults:
        raise InputFault(faults)
    return data


def check_card(data: Mapping[str, Any], gpu: Gpu) -> CardCheck:
    """Compare a measurement with the card that it should be.

    Parameters
    ----------
    data: answer of the script. gpu: the card as it is sold.

    Returns
    -------
    One finding per figure that both sides know.

    Notes
    -----
    More than 15 % under what a sound card of the kind reaches is a fault of the card, of its cooling or of
    its slot; less memory, or uncorrected ECC errors, are faults of the card.
    """
    driver = data.get("driver") or {}
    device = data["device"]
    on_card = device.get("kind") == "cuda" and not data.get("quick")
    findings = [
        *_memory(driver, device, gpu),
        *_bandwidth(data.get("bandwidth") or {}, gpu),
        *_rates(data.get("rates_tflops") or {}, gpu),
        *_errors(driver),
        *_power(driver, gpu),
    ]
    return CardCheck(gpu.id, tuple(findings) if on_card else (), on_card)


def _memory(driver: Mapping[str, Any], device: Mapping[str, Any], gpu: Gpu) -> list[Finding]:
    total = number(driver.get("memory.total"))
    pairs = (
        (total / 1024.0 if total else None, gpu.driver_total_gib or _reported(gpu)),
        (number(device.get("memory_gib")), gpu.usable_gib),
    )
    for measured, expected in pairs:
        if measured and expected:
            ok = measured >= expected * (1.0 - MEMORY_TOLERANCE)
            return [Finding("memory_gib", measured, expected, ok, "" if ok else "memory_too_small")]
    return []


def _reported(gpu: Gpu) -> float | None:
    """What drivers at least report of a nameplate size; ECC and the firmware keep up to a sixteenth."""
    return gpu.memory_gib * 15.0 / 16.0 if gpu.memory_gib else None


def _bandwidth(found: Mapping[str, Any], gpu: Gpu) -> list[Finding]:
    measured = number(found.get("copy_gb_s"))
    if not measured or not gpu.bandwidth_gb_s:
        return []
    expected = gpu.bandwidth_gb_s * COPY_SHARE["HBM" if "HBM" in gpu.memory_type.upper() else "GDDR"]
    ok = measured >= expected * (1.0 - TOLERANCE)
    return [Finding("copy_gb_s", measured, expected, ok, "" if ok else "bandwidth_low")]


def _rates(found: Mapping[str, Any], gpu: Gpu) -> list[Finding]:
    table = GpuTable.from_gpus([gpu])
    findings = []
    for name, figure in RATE_FIGURES.items():
        measured = number(found.get(name))
        peak = float(table.rate(figure)[0])
        if measured and math.isfinite(peak):
            expected = peak * MATRIX_SHARE
            ok = measured >= expected * (1.0 - TOLERANCE)
            findings.append(Finding(figure, measured, expected, ok, "" if ok else "rate_low"))
    return findings


def _errors(driver: Mapping[str, Any]) -> list[Finding]:
    known = [n for n in (number(driver.get(field)) for field in ECC_FIELDS) if n is not None]
    if not known:
        return []
    count = sum(known)
    return [Finding("ecc_errors", count, 0.0, count == 0, "" if count == 0 else "ecc_errors")]


def _power(driver: Mapping[str, Any], gpu: Gpu) -> list[Finding]:
    limit = number(driver.get("power.limit"))
    if not limit or not gpu.tdp_w:
        return []
    ok = limit >= gpu.tdp_w * (1.0 - TOLERANCE)
    return [Finding("power_limit_w", limit, gpu.tdp_w, ok, "" if ok else "power_limited")]


def number(value: Any) -> float | None:
    """A finite number that is not negative, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def _short(data: Any) -> str:
    return str(data.get("format") if isinstance(data, dict) else type(data).__name__)[:60]
