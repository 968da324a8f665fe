"""Frameworks, systems, drivers: whether a card runs what is asked, and whether a driver knows it.

References
----------
1. vLLM, installation: "does not support Windows natively"; WSL is named. docs.vllm.ai, read 2026-11-30.
2. TensorRT-LLM, installing on Windows: a beta for one card that ended with 0.17.
   nvidia.github.io/TensorRT-LLM, read 2026-11-30.
3. ROCm 7.1 on Radeon: on Windows PyTorch alone; its wheels are for RDNA 3 and 4.
   rocm.docs.amd.com/projects/radeon-ryzen, read 2026-11-30.
4. CUDA minor version compatibility: a driver has to satisfy the CUDA release, and has to know the card.
   docs.nvidia.com/deploy/cuda-compatibility, read 2026-11-30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from app.core.engines import engine, framework, framework_of, frameworks
from app.core.engines.record import Hardware
from app.core.estimates import Message
from app.core.formats import format_of
from app.core.gpu import Gpu, Source
from app.core.gpu_table import CARD_CLASSES, Flags, GpuTable, card_class

RUNS = ("native", "yes", "ok")
JIT = ("ptx", "jit")


class FrameworkRelease(Protocol):
    """One release of a framework and the hardware its packages carry code for, as the catalogue holds it."""

    @property
    def framework(self) -> str:
        """tensorflow, pytorch."""

    @property
    def version(self) -> str:
        """2.15.0."""

    @property
    def min_driver_linux(self) -> str:
        """525.60.13."""

    @property
    def min_driver_windows(self) -> str:
        """528.33."""

    @property
    def support(self) -> Mapping[str, Any]:
        """sm_70 … : native, ptx, no, unknown; windows_native_gpu, rocm, ascend …: text."""

    @property
    def source(self) -> Source | None:
        """Where it was read."""


@dataclass(frozen=True, slots=True)
class Support:
    """Whether one card runs one framework."""

    runs: bool
    message: Message | None = None
    """Why not, or with what reservation."""
    code: str = "framework"
    """Filter under which it is refused: framework, or os for the system and its driver."""


Stack = tuple[Support | None, tuple[Message, ...]]
"""What refuses a card, if anything does, and the reservations if nothing does."""


def format_capability(name: str, precision: str) -> float:
    """Lowest NVIDIA compute capability for a weight format in an engine; 0 where it asks for none."""
    return engine(name).kernels[format_of(precision).kernels] if precision else 0.0


def runs(
    gpu: Gpu, wanted: str, releases: Sequence[FrameworkRelease], os: str = "", driver: str = ""
) -> Support:
    """Whether a card runs a framework.

    Parameters
    ----------
    gpu: the card. wanted: `pytorch`, or with a version, `tensorflow==2.15`.
    releases: the release tables of the catalog. os: linux, windows, wsl2 or empty. driver: NVIDIA driver
    version.

    Returns
    -------
    The verdict and its reason.
    """
    name, _, version = wanted.partition("==")
    name = name.strip().lower()
    there, said = on_system(gpu, name, os)
    if not there:
        return Support(False, said, "os")
    found = _on_any_release(gpu, name, version, releases, os, driver)
    return Support(True, said) if found.runs and said is not None else found


def stack(
    gpu: Gpu,
    engine: str,
    frameworks: Sequence[str],
    releases: Sequence[FrameworkRelease],
    os: str = "",
    driver: str = "",
) -> Stack:
    """All that a card has to run: the frameworks asked for, the engine of the workload, under a driver.

    Parameters
    ----------
    gpu: the card. engine: of the workload. frameworks: asked for, each with a version or without.
    releases: the release tables of the catalog. os, driver: as stated, or empty.

    Returns
    -------
    What refuses the card, if anything does, and the reservations if nothing does.
    """
    notes = []
    named = [wanted.partition("==")[0].strip().lower() for wanted in frameworks]
    found = [runs(gpu, wanted, releases, os, driver) for wanted in frameworks]
    if engine not in named:
        found.append(_engine_stack(gpu, engine, releases, os, driver))
    # A driver that a framework accepts may still be older than the card.
    knows, said = driver_knows(gpu, os, driver)
    found.append(Support(knows, said, "os"))
    for one in found:
        if not one.runs:
            return one, ()
        if one.message is not None and one.message not in notes:
            notes.append(one.message)
    return None, tuple(notes)


def stacks(
    gpus: Sequence[Gpu],
    engine: str,
    frameworks: Sequence[str],
    releases: Sequence[FrameworkRelease],
    os: str = "",
    driver: str = "",
) -> list[Stack]:
    """`stack` for a list of cards."""
    # NVIDIA's differ by capability and first driver only; names matter where there is something to say.
    nothing_to_say: set[tuple[str, str, str]] = set()
    found: list[Stack] = []
    for gpu in gpus:
        kind = (gpu.compute_capability, gpu.driver_min_linux, gpu.driver_min_windows)
        if kind in nothing_to_say and gpu.vendor.upper() == "NVIDIA":
            found.append(CLEAR)
            continue
        one = stack(gpu, engine, frameworks, releases, os, driver)
        if one == CLEAR and gpu.vendor.upper() == "NVIDIA":
            nothing_to_say.add(kind)
        found.append(one)
    return found


CLEAR: Stack = (None, ())
"""Nothing refuses the card, and there is no reservation."""


ENGINE_NOTES = (
    "framework_no_release_compiled",
    "framework_needs_older_release",
    "framework_capability_unknown",
    "rocm_in_part_on_windows",
)
"""Reservations that are said of a workload's engine although nobody named it as a framework."""


def _engine_stack(
    gpu: Gpu, engine: str, releases: Sequence[FrameworkRelease], os: str, driver: str
) -> Support:
    known = framework(engine)
    base = known.hardware.runs_on if known else engine
    found = runs(gpu, base, releases, os, driver)
    if found.runs or found.code == "os":
        told = found.message is not None and (not found.runs or found.message.code in ENGINE_NOTES)
        return found if told else Support(True)
    # Engines are refused by `engine_runs`, which knows the weight format too.
    return Support(True)


def _on_any_release(
    gpu: Gpu, name: str, version: str, releases: Sequence[FrameworkRelease], os: str, driver: str
) -> Support:
    known = framework(name)
    named = (name, known.hardware.release_name if known else name)
    table = [r for r in releases if r.framework.lower() in named]
    nvidia = gpu.vendor.upper() == "NVIDIA"
    if not table or not nvidia:
        return _by_rule(gpu, name, version, table)
    chosen = _matching(table, version)
    if not chosen:
        params = {"framework": name, "version": version, "known": [r.version for r in table]}
        return Support(False, Message("framework_version_unknown", params))
    verdicts = [(r, _on_release(gpu, r, os, driver)) for r in chosen]
    for release, verdict in verdicts:
        if verdict.runs and verdict.message is None:
            if release is chosen[0] or version:
                return verdict
            params = {"framework": name, "version": release.version, "gpu": gpu.name}
            return Support(True, Message("framework_needs_older_release", params))
    found = next((v for _, v in verdicts if v.runs), verdicts[0][1])
    jit = found.message is not None and found.message.code == "framework_jit_only"
    if jit and not version:
        params = {"framework": name, "gpu": gpu.name, "capability": gpu.compute_capability}
        return Support(True, Message("framework_no_release_compiled", params))
    return found


def engine_runs(gpu: Gpu, name: str, precision: str = "") -> Support:
    """Whether any release of an engine runs a weight format on a card."""
    needed = format_capability(name, precision)
    if gpu.vendor.upper() == "NVIDIA" and gpu.compute_capability and float(gpu.compute_capability) < needed:
        params = {"framework": name, "precision": precision, "gpu": gpu.name, "needed": f"{needed:.1f}"}
        return Support(False, Message("engine_lacks_format", params))
    return _by_rule(gpu, name, "", ())


def without_engine(table: GpuTable, name: str, precision: str = "") -> Flags:
    """Cards on which no release of an engine runs a format: `engine_runs` for a whole table."""
    rule = framework_of(name).hardware
    wanted = [CARD_CLASSES.index(kind) for kind in rule.classes]
    least = np.inf if rule.nvidia_from is None else max(rule.nvidia_from, format_capability(name, precision))
    capable = np.nan_to_num(table.capability, nan=least if np.isfinite(least) else 0.0) >= least
    others = _others_may_run(rule) | np.isin(table.card_class, wanted)
    runs_there = np.where(table.is_nvidia, capable, others)
    return np.asarray(~runs_there, dtype=bool)


def _others_may_run(rule: Hardware) -> bool:
    """Whether makers of cards bring back ends of their own for an engine."""
    return rule.stated_by_card and bool(rule.classes)


def _windows_by_release(release_name: str) -> bool:
    """Whether a framework's releases say that they use a card under native Windows."""
    return any(f.hardware.windows_by_release for f in frameworks() if f.hardware.release_name == release_name)


def _on_release(gpu: Gpu, release: FrameworkRelease, os: str, driver: str) -> Support:
    params = {"framework": release.framework, "version": release.version, "gpu": gpu.name}
    if os == WINDOWS and _windows_by_release(release.framework.lower()):
        native = str(release.support.get("windows_native_gpu", ""))
        if native.lower().startswith("no"):
            return Support(False, Message("framework_no_windows_gpu", params), "os")
    needed = release.min_driver_windows if os in (WINDOWS, WSL) else release.min_driver_linux
    if driver and needed and is_older(driver, needed):
        said = Message("driver_too_old", {**params, "driver": driver, "needed": needed.split(" ")[0]})
        return Support(False, said, "os")
    capability = gpu.compute_capability.replace(".", "")
    if not capability:
        return Support(True, Message("framework_capability_unknown", params))
    state = str(release.support.get(f"sm_{capability}", "")).lower()
    if state.startswith(RUNS):
        return Support(True)
    if any(word in state for word in JIT):
        return Support(True, Message("framework_jit_only", params))
    if state.startswith("no"):
        return Support(
            False, Message("framework_lacks_capability", {**params, "capability": gpu.compute_capability})
        )
    return Support(True, Message("framework_support_unknown", params))


def _by_rule(gpu: Gpu, name: str, version: str, table: Sequence[FrameworkRelease]) -> Support:
    params = {"framework": name, "version": version, "gpu": gpu.name}
    kind = card_class(gpu)
    known = framework(name)
    if known is None:
        return Support(False, Message("framework_unknown", params))
    rule = known.hardware
    column = rule.release_columns.get(kind, "")
    if gpu.vendor.upper() != "NVIDIA" and version and column:
        states = [str(r.support.get(column, "")).lower() for r in _matching(table, version)]
        if any(s and not s.startswith("no") for s in states):
            return Support(True, Message("framework_vendor_build", params))
        return Support(False, Message("framework_not_on_vendor", params))
    if gpu.vendor.upper() == "NVIDIA":
        if rule.nvidia_from is None:
            return Support(False, Message("framework_not_on_vendor", params))
        if not gpu.compute_capability:
            # What is not known refuses nothing; the reader is told what to look up.
            return Support(True, Message("framework_capability_unknown", params))
        if float(gpu.compute_capability) < rule.nvidia_from:
            return Support(
                False, Message("framework_lacks_capability", {**params, "capability": gpu.compute_capability})
            )
        return Support(True)
    if kind in rule.classes:
        return Support(True, Message("framework_vendor_build", params))
    if _others_may_run(rule):
        return Support(True, Message("framework_on_card_unknown", params))
    return Support(False, Message("framework_not_on_vendor", params))


def _matching(table: Sequence[FrameworkRelease], version: str) -> list[FrameworkRelease]:
    """Releases of a version (2.15 matches 2.15.1); without one all of them; the newest first."""
    wanted = numbers_of(version)
    found = [r for r in table if numbers_of(r.version)[: len(wanted)] == wanted]
    return sorted(found, key=lambda r: numbers_of(r.version), reverse=True)


WINDOWS, WSL, MACOS = "windows", "wsl2", "macos"
_RDNA_WITH_WHEELS = re.compile(r"RDNA ?([3-9])", re.IGNORECASE)


def on_system(gpu: Gpu, name: str, os: str) -> tuple[bool, Message | None]:
    """Whether a framework or engine uses a card under an operating system.

    Parameters
    ----------
    gpu: the card. name: framework or engine. os: linux, windows, wsl2, macos or empty.

    Returns
    -------
    The verdict, and its reason or reservation.

    Notes
    -----
    The vendors' stacks are made for Linux, so Linux and an unstated system pass. Builds by third parties do
    not count.
    """
    params = {"framework": name, "gpu": gpu.name, "os": os}
    if os == MACOS:
        return False, Message("no_driver_on_macos", params)
    if os not in (WINDOWS, WSL):
        return True, None
    known = framework(name)
    if os == WINDOWS and known is not None and not known.hardware.windows:
        return False, Message("engine_not_on_windows", params)
    kind = card_class(gpu)
    if gpu.vendor.upper() == "NVIDIA" or kind == "intel":
        return True, None
    if kind == "rdna" and os == WINDOWS and known is not None and known.hardware.any_radeon_driver:
        return True, None
    wheels = known is not None and known.hardware.radeon_wheels
    if kind == "rdna" and (wheels or os == WSL) and _RDNA_WITH_WHEELS.search(gpu.architecture):
        return True, Message("rocm_in_part_on_windows", params)
    return False, Message("card_not_on_system", params)


def driver_knows(gpu: Gpu, os: str, driver: str) -> tuple[bool, Message | None]:
    """Whether a driver is new enough for a card, whatever a framework asks for.

    Parameters
    ----------
    gpu: the card. os: windows and WSL2 have the Windows driver; empty means either.
    driver: NVIDIA driver version, empty when it is not stated.

    Returns
    -------
    The verdict, and its reason or reservation.
    """
    if not driver or gpu.vendor.upper() != "NVIDIA":
        return True, None
    windows, linux = gpu.driver_min_windows, gpu.driver_min_linux
    known = [v for v in ((windows,) if os in (WINDOWS, WSL) else (linux,) if os else (linux, windows)) if v]
    if not known:
        return True, Message("driver_of_card_unknown", {"gpu": gpu.name, "driver": driver})
    if any(not is_older(driver, needed) for needed in known):
        return True, None
    params = {"gpu": gpu.name, "driver": driver, "needed": min(known, key=numbers_of)}
    return False, Message("driver_too_old_for_card", params)


def is_older(driver: str, needed: str) -> bool:
    """Whether a driver is older than another, as far as its version says: 450.80 passes for 450.80.02."""
    given = numbers_of(driver)
    return given < numbers_of(needed)[: len(given)]


def numbers_of(version: str) -> tuple[int, ...]:
    """The parts of a version number that are numbers; what stands behind a space or a plus is left out."""
    digits = version.strip().split(" ")[0].split("+")[0]
    return tuple(int(part) for part in digits.split(".") if part.isdigit())
