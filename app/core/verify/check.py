"""Whether a card is what it is sold as: its own measurement against the data sheet."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from app.core.faults import FieldError, InputFault
from app.core.gpu import Gpu
from app.core.gpu_table import card_class
from app.core.verify import thresholds as t

FORMAT = "cardworth-measurement/1"
RATE_FIGURES = {"fp32": "fp32_tflops", "tf32": "tf32_tflops", "fp16": "fp16_tflops", "bf16": "bf16_tflops"}
ECC_FIELDS = ("ecc.errors.uncorrected.aggregate.total", "retired_pages.double_bit.count")
UNITS: Mapping[str, str] = {
    "memory_gib": "GiB",
    "intact_gib": "GiB",
    "copy_gb_s": "GB/s",
    **dict.fromkeys(RATE_FIGURES.values(), "TFLOPS"),
    "power_limit_w": "W",
}
DOUBTS = frozenset({"power_limited", "throttled", "memory_larger"})
"""What explains a low rate or names another variant, without saying that the card is not what it is."""
_LIMITS = frozenset({"power_limited"})
_PARTS = ("bandwidth", "rates_tflops", "driver", "workload", "memory", "under_load")


@dataclass(frozen=True, slots=True)
class Finding:
    """One figure of the card beside what it should be."""

    figure: str
    """A name of UNITS, or name, multiprocessors, compute_capability, ecc_errors, throttle."""
    measured: float
    expected: float
    least: float
    """Below this it is a fault; for figures that must be equal, the expected value."""
    ok: bool
    code: str = ""
    """Why not: memory_too_small, memory_not_real, memory_larger, bandwidth_low, rate_low, ecc_errors,
    power_limited, throttled, other_name, other_chip, other_capability; empty when it is."""
    reported: str = ""
    """What the driver says, where that is a text."""


@dataclass(frozen=True, slots=True)
class CardCheck:
    """All figures of one card."""

    gpu_id: str
    findings: tuple[Finding, ...]
    on_card: bool
    """False: the script ran without a GPU, so nothing is said of the card."""

    @property
    def faults(self) -> tuple[Finding, ...]:
        """What a card of the kind does not do. A low rate is none while the power limit explains it."""
        limited = any(f.code in _LIMITS for f in self.findings)
        excused = DOUBTS | ({"rate_low"} if limited else set())
        return tuple(f for f in self.findings if not f.ok and f.code not in excused)

    @property
    def as_sold(self) -> bool | None:
        """Whether the card is what it is sold as; None where nothing was measured on it."""
        if not self.on_card or not self.findings:
            return None
        return not self.faults

    @property
    def verdict(self) -> str:
        """Code: card_as_sold, card_doubtful, card_not_as_sold or card_not_measured."""
        if self.as_sold is None:
            return "card_not_measured"
        if not self.as_sold:
            return "card_not_as_sold"
        return "card_as_sold" if all(f.ok for f in self.findings) else "card_doubtful"


def read_measurement(data: Any) -> Mapping[str, Any]:
    """The script's answer, checked for its shape.

    Errors
    ------
    InputFault: no object, another format, parts that are none.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputFault.at("/format", "unknown_value", value=_short(data), allowed=[FORMAT])
    faults = [
        FieldError(f"/{name}", "not_an_object", {})
        for name in ("question", "device")
        if not isinstance(data.get(name), dict)
    ]
    for name in _PARTS:
        if data.get(name) is not None and not isinstance(data[name], dict):
            faults.append(FieldError(f"/{name}", "not_an_object", {}))
    if faults:
        raise InputFault(faults)
    return data


def check_card(
    data: Mapping[str, Any], gpu: Gpu, named: Collection[str] = (), multiprocessors: float | None = None
) -> CardCheck:
    """Compare a measurement with the card that it should be.

    Parameters
    ----------
    data: answer of the script. gpu: the card as it is sold.
    named: ids of the cards that the driver's name of the card may mean; empty where it is not known.
    multiprocessors: of the kind as it is sold; None where the catalogue does not say.

    Returns
    -------
    One finding per figure that both sides know.

    Notes
    -----
    More than 15 % under what sound cards of the kind at least reach is a fault of the card, of its cooling or
    of its slot; another chip or name, less memory, memory that does not keep what is written, or uncorrected
    ECC errors are faults of the card. A firmware can claim any name and size; the number of multiprocessors
    and the memory that comes back cannot be written into it.
    """
    driver, device = data.get("driver") or {}, data["device"]
    on_card = device.get("kind") == "cuda" and not data.get("quick")
    if not on_card:
        return CardCheck(gpu.id, (), False)
    findings = [
        *_identity(device, driver, gpu, named, multiprocessors),
        *_memory(driver, device, gpu),
        *_intact(data.get("memory") or {}),
        *_bandwidth(data.get("bandwidth") or {}, gpu),
        *_rates(data.get("rates_tflops") or {}, gpu),
        *_errors(driver),
        *_power(driver, gpu),
        *_throttle(data.get("under_load") or {}),
    ]
    return CardCheck(gpu.id, tuple(findings), True)


def reported_name(data: Mapping[str, Any]) -> str:
    """Name of the card as its driver or framework gives it; empty without one."""
    for part, field in (("driver", "name"), ("device", "name")):
        found = (data.get(part) or {}).get(field)
        if isinstance(found, str) and found.strip():
            return found.strip()[:80]
    return ""


def _identity(
    device: Mapping[str, Any],
    driver: Mapping[str, Any],
    gpu: Gpu,
    named: Collection[str],
    multiprocessors: float | None,
) -> list[Finding]:
    findings = []
    name = reported_name({"device": device, "driver": driver})
    if name and named:
        same = gpu.id in named
        findings.append(
            Finding("name", float(same), 1.0, 1.0, same, "" if same else "other_name", reported=name)
        )
    # Other vendors count workgroup processors or compute units, as the framework likes.
    if gpu.vendor.upper() != "NVIDIA":
        return findings
    units = number(device.get("multiprocessors"))
    if units and multiprocessors:
        same = units == multiprocessors
        findings.append(
            Finding(
                "multiprocessors", units, multiprocessors, multiprocessors, same, "" if same else "other_chip"
            )
        )
    said = device.get("capability")
    version = _version(said) if isinstance(said, str) else None
    own = _version(gpu.compute_capability)
    if version and own:
        same = version == own
        findings.append(
            Finding("compute_capability", version, own, own, same, "" if same else "other_capability")
        )
    return findings


def _memory(driver: Mapping[str, Any], device: Mapping[str, Any], gpu: Gpu) -> list[Finding]:
    total = number(driver.get("memory.total"))
    nominal = gpu.memory_gib * t.NAMEPLATE_SHARE if gpu.memory_gib else None
    corrects = str(driver.get("ecc.mode.current", "")).lower() == "enabled"
    share = t.ECC_SHARE if corrects and gpu.memory_type.upper().startswith("GDDR") else 1.0
    pairs = (
        (
            total / 1024.0 if total else None,
            gpu.driver_total_gib * share if gpu.driver_total_gib else nominal,
        ),
        (number(device.get("memory_gib")), gpu.usable_gib * share if gpu.usable_gib else None),
    )
    for measured, expected in pairs:
        if measured and expected:
            least = expected * (1.0 - t.MEMORY_TOLERANCE)
            small, large = measured < least, measured > _most(expected, gpu)
            code = "memory_too_small" if small else "memory_larger" if large else ""
            return [Finding("memory_gib", measured, expected, least, not code, code)]
    return []


def _most(expected: float, gpu: Gpu) -> float:
    return max(expected, gpu.memory_gib or 0.0) * (1.0 + t.MEMORY_EXCESS)


def _intact(found: Mapping[str, Any]) -> list[Finding]:
    tried, intact = number(found.get("tried_gib")), number(found.get("intact_gib"))
    if not tried or intact is None:
        return []
    least = tried * t.INTACT_SHARE
    ok = intact >= least
    return [Finding("intact_gib", intact, tried, least, ok, "" if ok else "memory_not_real")]


def _bandwidth(found: Mapping[str, Any], gpu: Gpu) -> list[Finding]:
    measured = number(found.get("copy_gb_s"))
    if not measured or not gpu.bandwidth_gb_s:
        return []
    expected = gpu.bandwidth_gb_s * t.copy_share(gpu.memory_type)
    least = expected * (1.0 - t.TOLERANCE)
    ok = measured >= least
    return [Finding("copy_gb_s", measured, expected, least, ok, "" if ok else "bandwidth_low")]


def _rates(found: Mapping[str, Any], gpu: Gpu) -> list[Finding]:
    family = card_class(gpu)
    findings = []
    for kind, figure in RATE_FIGURES.items():
        measured, peak = number(found.get(kind)), gpu.rate_tflops(figure)
        if not measured or not peak or _emulated(kind, family, gpu):
            continue
        expected = peak * t.matrix_share(family, kind)
        least = expected * (1.0 - t.TOLERANCE)
        ok = measured >= least
        findings.append(Finding(figure, measured, expected, least, ok, "" if ok else "rate_low"))
    return findings


def _emulated(kind: str, family: str, gpu: Gpu) -> bool:
    """Half precision of NVIDIA cards without tensor cores: libraries run it in ways of their own."""
    tensor = gpu.has_tensor_cores or gpu.vendor.upper() != "NVIDIA"
    return kind != "fp32" and not tensor and family != "pascal"


def _errors(driver: Mapping[str, Any]) -> list[Finding]:
    known = [n for n in (number(driver.get(field)) for field in ECC_FIELDS) if n is not None]
    if not known:
        return []
    count = sum(known)
    return [Finding("ecc_errors", count, 0.0, 0.0, count == 0, "" if count == 0 else "ecc_errors")]


def _power(driver: Mapping[str, Any], gpu: Gpu) -> list[Finding]:
    limit = number(driver.get("power.limit"))
    if not limit or not gpu.tdp_w:
        return []
    least = gpu.tdp_w * (1.0 - t.TOLERANCE)
    ok = limit >= least
    return [Finding("power_limit_w", limit, gpu.tdp_w, least, ok, "" if ok else "power_limited")]


def _throttle(found: Mapping[str, Any]) -> list[Finding]:
    text = found.get("clocks_throttle_reasons.active")
    if not isinstance(text, str):
        return []
    try:
        bits = int(text.strip()[:18], 16)
    except ValueError:
        return []
    reasons = sorted({name for bit, name in t.THROTTLE_REASONS.items() if bits & bit})
    reported = ", ".join(reasons)
    return [
        Finding("throttle", len(reasons), 0.0, 0.0, not reasons, "throttled" if reasons else "", reported)
    ]


def number(value: Any) -> float | None:
    """A finite number that is not negative, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) and found >= 0 else None


def _version(text: str) -> float | None:
    try:
        return number(float(text))
    except ValueError:
        return None


def _short(data: Any) -> str:
    return str(data.get("format") if isinstance(data, dict) else type(data).__name__)[:60]
