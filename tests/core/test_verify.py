"""The script for a card, and what its answer says of the card."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import types
from dataclasses import replace

import pytest

from app.core.faults import InputFault
from app.core.resolve import resolve
from app.core.verify import check_card, script, script_name
from app.core.verify.check import read_measurement
from app.core.verify.script import question_of_work
from app.core.verify.thresholds import TOLERANCE, copy_share, matrix_share
from app.core.workload import Workload
from tests.core.cards import BERT_LARGE, BY_ID, LLAMA_8B, RESNET_50

RTX4090 = replace(BY_ID["rtx4090"], memory_type="GDDR6X")


def text_for(model, **fields) -> str:
    return script(RTX4090, resolve(Workload(model, **fields))[0])


QUESTIONS = {
    "resnet": {"model": RESNET_50, "task": "training", "precision": "fp16", "batch_size": 32},
    "bert": {"model": BERT_LARGE, "task": "training", "precision": "bf16", "sequence_length": 128},
    "llama": {"model": LLAMA_8B, "batch_size": 4, "sequence_length": 1024},
    "tensorflow": {"model": RESNET_50, "task": "training", "precision": "fp32", "engine": "tensorflow"},
}


def namespace(text: str, monkeypatch: pytest.MonkeyPatch) -> dict:
    """The script's own names, without its framework: enough for what needs the standard library alone."""
    for name in ("torch", "torch.nn", "torch.nn.functional"):
        fake = types.ModuleType(name)
        fake.cuda = types.SimpleNamespace(is_available=lambda: False)
        fake.device = lambda kind: types.SimpleNamespace(type=kind)
        fake.float32 = fake.float16 = fake.bfloat16 = name
        fake.nn = types.SimpleNamespace(Module=object, functional=fake)
        fake.Module = object
        monkeypatch.setitem(sys.modules, name, fake)
    found: dict = {"__name__": "card_script"}
    exec(compile(text, "card_script.py", "exec"), found)
    return found


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_script_is_one_file_of_the_standard_library_and_its_framework(name):
    fields = dict(QUESTIONS[name])
    text = text_for(fields.pop("model"), **fields)
    tree = ast.parse(text)
    used = {
        (node.module if isinstance(node, ast.ImportFrom) else alias.name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    framework = {"tensorflow"} if name == "tensorflow" else {"torch", "torchvision", "timm"}
    assert used - framework <= set(sys.stdlib_module_names)
    assert "@" not in text.replace("@tf.function", "")
    assert len(text.splitlines()) < 450


def test_the_file_name_is_plain():
    assert script_name(RTX4090) == "cardworth_verify_rtx4090.py"


def test_names_of_models_cannot_leave_their_place():
    odd = replace(RESNET_50, name='""" \n import os; os.remove("x") # \\')
    tree = ast.parse(text_for(odd, precision="fp32"))
    assert isinstance(tree.body[0], ast.Expr)
    assert not any(isinstance(n, ast.Import) and n.names[0].name == "os" for n in ast.walk(tree))


def test_without_the_framework_it_says_so(tmp_path):
    path = tmp_path / "verify.py"
    path.write_text(text_for(RESNET_50, precision="fp16"), encoding="utf-8")
    # -S hides installed packages, so that PyTorch is missing wherever this runs.
    done = subprocess.run(
        [sys.executable, "-S", "-I", str(path), "--quick"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("PyTorch is not installed for") and "Traceback" not in done.stderr
    helped = subprocess.run(
        [sys.executable, "-S", "-I", str(path), "--help"], capture_output=True, text=True, timeout=60
    )
    assert helped.returncode == 0 and "Needs PyTorch" in helped.stdout


def test_a_part_that_fails_does_not_lose_the_others(monkeypatch, capsys):
    found = namespace(text_for(RESNET_50, task="training", precision="fp16", batch_size=32), monkeypatch)

    def fails(_quick):
        raise RuntimeError("out of memory")

    found.update(
        nvidia_smi=lambda *_: {"memory.total": 24564.0},
        device=lambda _quick: {"kind": "cuda"},
        memory=lambda _quick: {"tried_gib": 1.0, "intact_gib": 1.0},
        under_load=lambda _quick: print("a library talks") or {},
        bandwidth=lambda _quick: {"copy_gb_s": 900.0},
        rates=lambda _quick: {"fp16": 150.0},
        workload=fails,
    )
    monkeypatch.setattr(sys, "argv", ["verify.py", "--quick"])
    found["main"]()
    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert "a library talks" in said.err
    assert read_measurement(answer) is answer
    assert answer["quick"] is True
    assert answer["errors"] == {"workload": "RuntimeError: out of memory"}
    assert (answer["bandwidth"], answer["workload"]) == ({"copy_gb_s": 900.0}, None)
    assert answer["question"]["model_id"] == "resnet-50"
    assert answer["question"]["workload"]["resnet_depth"] == 50


def test_the_clock_takes_the_median_of_repeated_runs(monkeypatch):
    found = namespace(text_for(RESNET_50, precision="fp16"), monkeypatch)
    now = [0.0]
    found["time"] = types.SimpleNamespace(perf_counter=lambda: now[0])

    def call():
        now[0] += 0.002

    assert found["seconds_per_call"](call, lambda: None, 1.0) == pytest.approx(0.002)


def test_without_the_drivers_tool_nothing_is_said_of_the_driver(monkeypatch):
    found = namespace(text_for(RESNET_50, precision="fp16"), monkeypatch)

    def missing(*_, **__):
        raise FileNotFoundError

    found["subprocess"] = types.SimpleNamespace(run=missing, TimeoutExpired=TimeoutError)
    assert found["nvidia_smi"]() == {}
    answers = {"memory.total": "24564", "name": "RTX 4090", "ecc.mode.current": "[N/A]"}

    def run(command, **_):
        field = command[1].split("=")[1]
        return types.SimpleNamespace(
            returncode=0 if field in answers else 1, stdout=answers.get(field, "") + "\n"
        )

    found["subprocess"] = types.SimpleNamespace(run=run, TimeoutExpired=TimeoutError)
    assert found["nvidia_smi"]() == {"memory.total": 24564.0, "name": "RTX 4090"}


def test_quick_sizes_are_small(monkeypatch):
    found = namespace(text_for(LLAMA_8B, batch_size=64, sequence_length=8192), monkeypatch)
    small = found["smaller"](found["QUESTION"]["workload"])
    assert (small["batch_size"], small["sequence_length"], small["dimensions"]["layers"]) == (2, 64, 2)
    assert found["QUESTION"]["workload"]["dimensions"]["layers"] == 32


def test_what_the_script_cannot_build_is_said():
    def skipped(**fields):
        return question_of_work(resolve(Workload(**fields))[0])["skip"]

    assert skipped(model=LLAMA_8B, precision="awq") == "weights in awq need an engine of their own"
    assert skipped(model=LLAMA_8B, task="lora", sequence_length=512).startswith("adapters")
    assert skipped(model=LLAMA_8B) == ""
    assert skipped(model=RESNET_50, engine="tensorflow") == ""


def answer(**changes) -> dict:
    """What a sound RTX 4090 says: 24,564 MiB, 1,008 GB/s and 165.2 TFLOPS on its data sheet.

    Matrix rates as a community table of PyTorch products has them: 54.7 in fp32, 165.9 in fp16.
    """
    data = {
        "format": "cardworth-measurement/1",
        "quick": False,
        "question": {"gpu_id": "rtx4090", "workload": {}},
        "device": {
            "kind": "cuda",
            "name": "NVIDIA GeForce RTX 4090",
            "memory_gib": 23.6,
            "multiprocessors": 128,
            "capability": "8.9",
        },
        "driver": {
            "memory.total": 24564.0,
            "power.limit": 450.0,
            "ecc.errors.uncorrected.aggregate.total": 0.0,
        },
        "memory": {"tried_gib": 21.0, "intact_gib": 21.0},
        "bandwidth": {"copy_gb_s": 905.0},
        "rates_tflops": {"fp32": 54.7, "fp16": 165.9},
        # The power cap: most cards run into it.
        "under_load": {"clocks_throttle_reasons.active": "0x0000000000000004"},
    }
    for name, value in changes.items():
        data[name] = {**data[name], **value} if isinstance(value, dict) else value
    return data


def judged(data, gpu=RTX4090, named=("rtx4090",), multiprocessors=128.0):
    return check_card(data, gpu, named, multiprocessors)


def codes(data, **how) -> set[str]:
    return {f.code for f in judged(data, **how).findings if not f.ok}


def test_a_sound_card_is_what_it_is_sold_as():
    found = judged(answer())
    assert (found.as_sold, found.verdict) == (True, "card_as_sold")
    assert all(f.ok and not f.code for f in found.findings)
    by_figure = {f.figure: f for f in found.findings}
    assert len(by_figure) == 11
    assert by_figure["copy_gb_s"].expected == pytest.approx(1008 * 0.86)
    assert by_figure["fp16_tflops"].expected == pytest.approx(165.2 * 0.98)
    assert by_figure["fp16_tflops"].least == pytest.approx(165.2 * 0.98 * 0.85)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"driver": {"memory.total": 16376.0}}, "memory_too_small"),
        ({"bandwidth": {"copy_gb_s": 1008 * 0.86 * 0.84}}, "bandwidth_low"),
        ({"rates_tflops": {"fp16": 165.2 * 0.98 * 0.84}}, "rate_low"),
        ({"driver": {"ecc.errors.uncorrected.aggregate.total": 2.0}}, "ecc_errors"),
        ({"driver": {"retired_pages.double_bit.count": 1.0}}, "ecc_errors"),
        ({"memory": {"intact_gib": 15.0}}, "memory_not_real"),
        # The 4090 D, of which PyTorch products reach 152.6 TFLOPS: no rate tells it apart, its chip does.
        ({"device": {"multiprocessors": 114}, "rates_tflops": {"fp16": 152.6}}, "other_chip"),
        ({"device": {"capability": "8.6"}}, "other_capability"),
    ],
)
def test_a_card_that_falls_short_is_named(changes, code):
    assert codes(answer(**changes)) == {code}
    assert judged(answer(**changes)).verdict == "card_not_as_sold"


def test_a_3060_that_is_sold_as_a_4090_is_found_out_by_everything_but_its_name():
    # 28 multiprocessors, 12,288 MiB, 360 GB/s; 8.2 and 24.8 TFLOPS in the community table.
    fake = answer(
        device={"multiprocessors": 28, "capability": "8.6", "memory_gib": 11.6},
        driver={"memory.total": 12288.0, "power.limit": 170.0},
        bandwidth={"copy_gb_s": 331.0},
        rates_tflops={"fp32": 8.2, "fp16": 24.8},
    )
    assert codes(fake) == {
        "other_chip",
        "other_capability",
        "memory_too_small",
        "bandwidth_low",
        "rate_low",
        "power_limited",
    }
    assert judged(fake).as_sold is False
    honest = answer(device={"name": "NVIDIA GeForce RTX 3060"})
    assert codes(honest, named=("rtx3060-12gb",)) == {"other_name"}


def test_memory_that_only_the_firmware_claims_does_not_come_back():
    # A card of 16 GB whose firmware says 32: the driver believes it, the numbers written do not survive.
    sold = replace(RTX4090, memory_gib=32.0, driver_total_gib=31.84, usable_gib=31.36)
    fake = answer(driver={"memory.total": 32607.0}, memory={"tried_gib": 28.0, "intact_gib": 12.0})
    assert codes(fake, gpu=sold) == {"memory_not_real"}
    assert judged(fake, gpu=sold).as_sold is False


def test_more_memory_than_the_kind_has_is_doubted_and_not_accused():
    modified = judged(answer(driver={"memory.total": 49140.0}))
    assert ({f.code for f in modified.findings if not f.ok}, modified.verdict) == (
        {"memory_larger"},
        "card_doubtful",
    )


def test_a_throttled_card_is_named_with_its_reason():
    hot = answer(
        rates_tflops={"fp16": 90.0},
        under_load={"clocks_throttle_reasons.active": "0x0000000000000060"},
    )
    found = judged(hot)
    assert {f.code for f in found.findings if not f.ok} == {"rate_low", "throttled"}
    assert found.as_sold is False
    assert next(f.reported for f in found.findings if f.figure == "throttle") == "heat"
    # Fast enough all the same: worth a look, no accusation.
    warm = judged(answer(under_load={"clocks_throttle_reasons.active": "0x0000000000000020"}))
    assert (warm.as_sold, warm.verdict) == (True, "card_doubtful")


def test_error_correction_takes_its_part_of_gddr_memory():
    # An RTX A6000: 49,140 MiB without, 46,068 MiB (44.99 GiB) with error correction.
    sold = replace(RTX4090, memory_gib=48.0, driver_total_gib=47.99, usable_gib=47.5)
    on = answer(driver={"memory.total": 46068.0, "ecc.mode.current": "Enabled"})
    assert codes(on, gpu=sold) == set()
    assert codes(answer(driver={"memory.total": 46068.0}), gpu=sold) == {"memory_too_small"}


@pytest.mark.parametrize(
    ("family", "kind", "measured", "peak"),
    [
        # Rows of the community table: the rate that PyTorch reached, the dense peak of the data sheet.
        ("ada_geforce", "fp32", 54.67, 82.58),
        ("ada_geforce", "fp16", 165.9, 165.2),
        ("ampere_geforce", "fp16", 75.6, 71.0),
        ("ampere_dc", "bf16", 264.5, 312.0),
        ("hopper", "fp16", 458.0, 756.0),
        ("hopper", "bf16", 790.6, 989.4),
        ("turing", "fp16", 41.93, 65.0),
        ("volta", "fp16", 96.1, 125.0),
        ("blackwell_geforce", "bf16", 237.0, 209.5),
        ("rdna", "fp16", 96.4, 122.8),
    ],
)
def test_no_card_that_was_measured_is_accused(family, kind, measured, peak):
    share = matrix_share(family, kind)
    assert measured >= share * peak * (1 - TOLERANCE)
    assert measured >= share * peak * 0.99


def test_families_that_nobody_measured_are_only_accused_of_gross_shortfalls():
    assert matrix_share("ascend", "bf16") == 0.5
    assert (copy_share("GDDR6X"), copy_share("HBM3"), copy_share("LPDDR5X")) == (0.86, 0.80, 0.80)


def test_fifteen_percent_are_allowed():
    data = answer(bandwidth={"copy_gb_s": 1008 * 0.86 * 0.86}, rates_tflops={"fp16": 165.2 * 0.98 * 0.86})
    assert codes(data) == set()


def test_a_power_limit_explains_and_does_not_accuse():
    found = judged(answer(driver={"power.limit": 250.0}))
    assert [f.code for f in found.findings if not f.ok] == ["power_limited"]
    assert (found.as_sold, found.verdict) == (True, "card_doubtful")
    slow = judged(answer(driver={"power.limit": 250.0}, rates_tflops={"fp16": 120.0}))
    assert {f.code for f in slow.findings if not f.ok} == {"power_limited", "rate_low"}
    assert slow.as_sold is True


@pytest.mark.parametrize("changes", [{"quick": True}, {"device": {"kind": "cpu"}}])
def test_nothing_is_said_of_a_card_that_was_not_measured(changes):
    found = check_card(answer(**changes), RTX4090)
    assert (found.as_sold, found.findings) == (None, ())


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"format": "cardworth-measurement/2"},
        {"format": "cardworth-measurement/1"},
        {"format": "cardworth-measurement/1", "question": 3, "device": {}},
        {"format": "cardworth-measurement/1", "question": {}, "device": {}, "bandwidth": 7},
    ],
)
def test_answers_of_another_shape_are_refused(data):
    with pytest.raises(InputFault):
        read_measurement(data)


def test_figures_that_are_no_numbers_count_as_missing():
    data = answer(
        bandwidth={"copy_gb_s": "fast"},
        rates_tflops={"fp16": float("nan"), "fp32": -3},
        driver={"memory.total": True},
    )
    data |= {"memory": {"tried_gib": "all"}, "under_load": {"clocks_throttle_reasons.active": "Active"}}
    data["device"] |= {"multiprocessors": None, "capability": "new"}
    assert {f.figure for f in judged(data).findings} == {"name", "memory_gib", "ecc_errors", "power_limit_w"}
