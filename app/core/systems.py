"""Operating systems and drivers: where a stack exists at all, and whether a driver knows a card.

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
from functools import lru_cache

from app.core.estimates import Message
from app.core.gpu import Gpu
from app.core.gpu_table import card_class

WINDOWS, WSL, MACOS = "windows", "wsl2", "macos"
WITHOUT_WINDOWS = ("vllm", "sglang", "tensorrt-llm", "mindspore")
"""Frameworks and engines without a current build for native Windows."""
ON_PYTORCH = ("pytorch", "transformers", "diffusers")
NATIVE_ENGINE = "llama.cpp"
"""Its Vulkan and HIP back ends use any driver of a graphics card."""
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
    if os == WINDOWS and name in WITHOUT_WINDOWS:
        return False, Message("engine_not_on_windows", params)
    kind = card_class(gpu)
    if gpu.vendor.upper() == "NVIDIA" or kind == "intel":
        return True, None
    if kind == "rdna" and os == WINDOWS and name == NATIVE_ENGINE:
        return True, None
    if kind == "rdna" and (name in ON_PYTORCH or os == WSL) and _RDNA_WITH_WHEELS.search(gpu.architecture):
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


@lru_cache(maxsize=1024)
def numbers_of(version: str) -> tuple[int, ...]:
    """The parts of a version number that are numbers; what stands behind a space or a plus is left out."""
    digits = version.strip().split(" ")[0].split("+")[0]
    return tuple(int(part) for part in digits.split(".") if part.isdigit())
