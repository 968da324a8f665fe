"""Frameworks, drivers and operating systems, by the release tables."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from app.core.decide.reasons import filtered
from app.core.decide.support import CLEAR, engine_runs, runs, stack, stacks, without_engine
from app.core.gpu_table import GpuTable
from app.core.question import Filters, ShortlistQuestion
from app.core.workload import Workload
from tests.core.cards import BY_ID, LLAMA_8B, card


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
        (BY_ID["rtx4090"], "mindspore", (False, "framework_not_on_vendor")),
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
        # Nobody states that it does not: engine_support says how well it is known to.
        (MI50, "vllm", True),
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


RTX_4090 = replace(BY_ID["rtx4090"], driver_min_linux="520.56.06", driver_min_windows="522.25")
RX_7900 = card("rx7900xtx", vendor="AMD", architecture="RDNA 3", name="Radeon RX 7900 XTX")
RX_6900 = card("rx6900xt", vendor="AMD", architecture="RDNA 2", name="Radeon RX 6900 XT")


@pytest.mark.parametrize(
    ("gpu", "engine", "os", "code"),
    [
        (RTX_4090, "vllm", "windows", "engine_not_on_windows"),
        (RTX_4090, "sglang", "windows", "engine_not_on_windows"),
        (RTX_4090, "tensorrt-llm", "windows", "engine_not_on_windows"),
        (RTX_4090, "vllm", "wsl2", None),
        (RTX_4090, "vllm", "linux", None),
        (RTX_4090, "vllm", "", None),
        (RTX_4090, "pytorch", "windows", None),
        (RTX_4090, "llama.cpp", "macos", "no_driver_on_macos"),
        (RX_7900, "llama.cpp", "windows", None),
        (RX_6900, "pytorch", "windows", "card_not_on_system"),
        (MI300X, "pytorch", "windows", "card_not_on_system"),
        (MI300X, "vllm", "wsl2", "card_not_on_system"),
        (MI300X, "vllm", "linux", None),
        (ASCEND, "pytorch", "windows", "card_not_on_system"),
    ],
)
def test_a_stack_exists_only_under_some_systems(gpu, engine, os, code):
    refused, notes = stack(gpu, engine, (), TABLE, os)
    assert (refused.message.code if refused else None) == code
    if refused:
        assert (refused.code, notes) == ("os", ())


def test_rocm_on_windows_is_pytorch_in_part():
    refused, notes = stack(RX_7900, "transformers", (), TABLE, "windows")
    assert refused is None
    assert [m.code for m in notes] == ["rocm_in_part_on_windows"]


@pytest.mark.parametrize(
    ("driver", "os", "frameworks", "code"),
    [
        # "meets CUDA 11.x minimum, but too old for RTX 40"
        ("450.80", "linux", ("tensorflow==2.13",), "driver_too_old_for_card"),
        ("450.80", "", (), "driver_too_old_for_card"),
        ("470.57", "linux", ("tensorflow==2.16",), "driver_too_old"),
        ("520.56", "linux", ("tensorflow==2.13",), None),
        ("521.00", "windows", (), "driver_too_old_for_card"),
        ("521.00", "wsl2", (), "driver_too_old_for_card"),
        ("521.00", "linux", (), None),
        # Without a system either driver will do.
        ("521.00", "", (), None),
        ("535.104.05", "linux", ("pytorch", "tensorflow==2.16"), None),
    ],
)
def test_a_driver_has_to_know_the_card_too(driver, os, frameworks, code):
    refused, _ = stack(RTX_4090, "pytorch", frameworks, TABLE, os, driver)
    assert (refused.message.code if refused else None) == code
    if refused:
        assert refused.code == "os"


def test_a_card_without_a_recorded_driver_is_not_refused_but_marked():
    refused, notes = stack(BY_ID["rtx3090"], "pytorch", (), TABLE, "linux", "450.80")
    assert refused is None
    assert "driver_of_card_unknown" in [m.code for m in notes]
    assert stack(MI300X, "pytorch", (), TABLE, "linux", "450.80") == (None, ())


@pytest.mark.parametrize("engine", ["pytorch", "vllm", "tensorrt-llm", "llama.cpp", "transformers"])
def test_an_unknown_compute_capability_refuses_nothing_and_is_said(engine: str) -> None:
    new = replace(RTX_5090, compute_capability="")
    refused, notes = stack(new, engine, [engine], TABLE)
    assert refused is None
    assert [note.code for note in notes] == ["framework_capability_unknown"]
    assert engine_runs(new, engine, "fp8").runs
    assert not without_engine(GpuTable.from_gpus([new]), engine, "fp8").any()
    # An engine that runs on no NVIDIA card at all is refused nevertheless.
    assert without_engine(GpuTable.from_gpus([new]), "mindspore").all()
    assert not engine_runs(new, "mindspore").runs


def test_no_tensorflow_package_is_compiled_for_blackwell():
    found = runs(RTX_5090, "tensorflow", TABLE)
    assert (found.runs, found.message.code) == (True, "framework_no_release_compiled")
    assert found.message.params["capability"] == "12.0"
    # Said too when TensorFlow is the engine and nobody named it as a framework.
    assert [m.code for m in stack(RTX_5090, "tensorflow", (), TABLE)[1]] == ["framework_no_release_compiled"]
    assert stack(RTX_5090, "pytorch", (), TABLE)[1] == ()


def test_tensorflow_without_a_version_falls_back_to_the_last_native_windows_release():
    table = (*TABLE, Release("tensorflow", "2.10.0", {"sm_86": "native", "windows_native_gpu": "yes"}))
    windows = tuple(
        replace(r, support={**r.support, "windows_native_gpu": "no (WSL2)"})
        if r.framework == "tensorflow" and r.version != "2.10.0"
        else r
        for r in table
    )
    found = runs(BY_ID["rtx3090"], "tensorflow", windows, os="windows")
    assert (found.runs, found.message.code) == (True, "framework_needs_older_release")
    assert found.message.params["version"] == "2.10.0"
    assert not runs(BY_ID["rtx3090"], "tensorflow==2.13", windows, os="windows").runs


@pytest.mark.parametrize(("os", "driver"), [("", ""), ("windows", ""), ("linux", "450.80")])
def test_a_list_of_cards_gets_what_each_gets(os, driver):
    cards = [RTX_4090, BY_ID["rtx4090"], BY_ID["v100-sxm2-16gb"], RTX_5090, RX_7900, MI300X, RTX_4090]
    together = stacks(cards, "pytorch", (), TABLE, os, driver)
    assert together == [stack(gpu, "pytorch", (), TABLE, os, driver) for gpu in cards]
    assert CLEAR in together


def test_the_remedy_for_an_old_driver_is_a_newer_one():
    asked = ShortlistQuestion(Workload(LLAMA_8B), filters=Filters(os="linux", driver="450.80"))
    refused, _ = stack(RTX_4090, "pytorch", (), TABLE, "linux", "450.80")
    remedy = filtered(RTX_4090, 1, "os", refused.message, asked, False).remedy
    assert (remedy.code, remedy.change) == ("change_driver", {"filters.driver": "520.56.06"})


def test_only_a_filter_that_was_set_is_offered_to_be_left_out():
    refused, _ = stack(RTX_4090, "vllm", (), TABLE, "windows")
    on_windows = ShortlistQuestion(Workload(LLAMA_8B), filters=Filters(os="windows"))
    assert filtered(RTX_4090, 1, "os", refused.message, on_windows, False).remedy.change == {
        "filters.os": "linux"
    }
    for code in ("vendor", "framework", "os", "feature"):
        open_question = ShortlistQuestion(Workload(LLAMA_8B, engine="transformers"))
        assert filtered(RTX_4090, 1, code, refused.message, open_question, False).remedy is None
