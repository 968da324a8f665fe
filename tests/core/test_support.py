"""Frameworks, drivers and operating systems, by the release tables."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from app.core.gpu_table import GpuTable
from app.core.support import engine_runs, runs, without_engine
from tests.core.cards import BY_ID, card


@dataclass
class Release:
    framework: str
    version: str
    support: dict[str, str] = field(default_factory=dict)
    min_driver_linux: str = ""
    min_driver_windows: str = ""


# tensorflow/docs install pages and wheels, read 2026-11-30; torch wheels' arch lists.
TABLE = (
    Release(
        "tensorflow", "2.11.0", {"sm_86": "native", "windows_native_gpu": "no (WSL2)"}, "450.80.02", "452.39"
    ),
    Release("tensorflow", "2.13.0", {"sm_86": "native", "sm_89": "native"}, "450.80.02", "452.39"),
    Release("tensorflow", "2.16.1", {"sm_86": "native", "sm_89": "native"}, "525.60.13", "528.33"),
    Release("tensorflow", "2.21.0", {"sm_89": "native", "sm_120": "ptx"}, "525.60.13", "528.33"),
    Release("pytorch", "2.7.1", {"sm_70": "native", "sm_89": "native", "sm_120": "no"}),
    Release("pytorch", "2.8.0", {"sm_70": "native", "sm_89": "native", "sm_120": "native"}),
    Release("pytorch", "2.11.0", {"sm_70": "no", "sm_89": "native (runs sm_86 code)", "sm_120": "native"}),
)
RTX_5090 = card(
    "rtx5090", name="GeForce RTX 5090", architecture="Blackwell (GB20x)", compute_capability="12.0"
)
ASCEND = card("ascend-910b", vendor="Huawei", architecture="Da Vinci", name="Ascend 910B")
MI300X = card("mi300x", vendor="AMD", architecture="CDNA 3", name="Instinct MI300X")
MI50 = card("mi50", vendor="AMD", architecture="GCN 5.1 (Vega 20)", name="Radeon Instinct MI50 32GB")


@pytest.mark.parametrize(
    ("gpu", "wanted", "expected"),
    [
        (RTX_5090, "pytorch==2.7.1", (False, "framework_lacks_capability")),
        (RTX_5090, "pytorch==2.8.0", (True, None)),
        (RTX_5090, "tensorflow==2.21.0", (True, "framework_jit_only")),
        (BY_ID["v100-sxm2-16gb"], "pytorch==2.11", (False, "framework_lacks_capability")),
        (BY_ID["v100-sxm2-16gb"], "pytorch", (True, "framework_needs_older_release")),
        (BY_ID["rtx4090"], "pytorch", (True, None)),
        (BY_ID["rtx4090"], "pytorch==1.0", (False, "framework_version_unknown")),
        (BY_ID["rtx4090"], "abacus", (False, "framework_unknown")),
        (ASCEND, "pytorch", (True, "framework_vendor_build")),
        (ASCEND, "tensorflow==2.13", (False, "framework_not_on_vendor")),
        (ASCEND, "mindspore", (True, "framework_vendor_build")),
        (BY_ID["rtx4090"], "mindspore", (False, "framework_lacks_capability")),
    ],
)
def test_verdicts(gpu, wanted, expected):
    found = runs(gpu, wanted, TABLE)
    assert (found.runs, found.message.code if found.message else None) == expected


def test_tensorflow_on_windows_ended_with_2_10():
    found = runs(BY_ID["rtx3090"], "tensorflow==2.11", TABLE, os="windows")
    assert (found.runs, found.message.code) == (False, "framework_no_windows_gpu")
    assert runs(BY_ID["rtx3090"], "tensorflow==2.11", TABLE, os="linux").runs


@pytest.mark.parametrize(
    ("driver", "version", "good"),
    [
        ("450.80.02", "2.13", True),
        ("450.66", "2.13", False),
        ("470.57", "2.16", False),
        ("535.10", "2.16", True),
    ],
)
def test_driver(driver, version, good):
    found = runs(BY_ID["rtx4090"], f"tensorflow=={version}", TABLE, os="linux", driver=driver)
    if version == "2.13" and good:
        assert found.runs
    assert found.runs == good
    if not good:
        assert found.message.code == "driver_too_old"


@pytest.mark.parametrize(
    ("gpu", "engine", "good"),
    [
        (BY_ID["p40"], "vllm", False),
        (BY_ID["p40"], "llama.cpp", True),
        (BY_ID["v100-sxm2-16gb"], "vllm", True),
        (BY_ID["v100-sxm2-16gb"], "tensorrt-llm", False),
        (MI300X, "vllm", True),
        (MI300X, "tensorrt-llm", False),
        (MI50, "vllm", False),
        (MI50, "llama.cpp", True),
        (ASCEND, "vllm", True),
        (ASCEND, "faster-whisper", False),
    ],
)
def test_engines(gpu, engine, good):
    assert engine_runs(gpu, engine).runs is good


@pytest.mark.parametrize(
    ("capability", "precision", "good"),
    [
        ("7.0", "awq", False),
        ("7.0", "gptq", True),
        ("7.0", "mxfp4", False),
        ("7.5", "awq", True),
        ("9.0", "fp8", True),
    ],
)
def test_an_engine_needs_kernels_for_the_weight_format(capability: str, precision: str, good: bool) -> None:
    """vLLM, Supported Hardware table: Volta has GPTQ and neither AWQ nor Marlin."""
    card = replace(BY_ID["v100-sxm2-16gb"], compute_capability=capability)
    assert engine_runs(card, "vllm", precision).runs is good
    table = GpuTable.from_gpus([card])
    assert bool(without_engine(table, "vllm", precision)[0]) is not good
