"""The script for a card, and what its answer says of the card."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import types

import pytest

from app.core.faults import InputFault
from app.core.verify import check_card, script, script_name
from app.core.verify.check import read_measurement
from app.core.verify.script import question_of_work
from app.core.workload import Workload, resolve
from tests.core.cards import BERT_LARGE, BY_ID, LLAMA_8B, RESNET_50

RTX4090 = BY_ID["rtx4090"]


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
    from dataclasses import replace

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
    assert done.returncode != 0
    assert "No module named 'torch'" in done.stderr


def test_a_part_that_fails_does_not_lose_the_others(monkeypatch, capsys):
    found = namespace(text_for(RESNET_50, task="training", precision="fp16", batch_size=32), monkeypatch)

    def fails(_quick):
        raise RuntimeError("out of memory")

    found.update(
        nvidia_smi=lambda: {"memory.total": 24564.0},
        device=lambda _quick: {"kind": "cuda"},
        bandwidth=lambda _quick: {"copy_gb_s": 900.0},
        rates=lambda _quick: {"fp16": 150.0},
        workload=fails,
    )
    monkeypatch.setattr(sys, "argv", ["verify.py", "--quick"])
    found["main"]()
    answer = json.loads(capsys.readouterr().out)
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
    """What a sound RTX 4090 says: 24,564 MiB, 1,008 GB/s and 165.2 TFLOPS on its data sheet."""
    data = {
        "format": "cardworth-measurement/1",
        "quick": False,
        "question": {"gpu_id": "rtx4090", "workload": {}},
        "device": {"kind": "cuda", "memory_gib": 23.6},
        "driver": {
            "memory.total": 24564.0,
            "power.limit": 450.0,
            "ecc.errors.uncorrected.aggregate.total": 0.0,
        },
        "bandwidth": {"copy_gb_s": 905.0},
        "rates_tflops": {"fp32": 66.0, "fp16": 150.0},
    }
    for name, value in changes.items():
        data[name] = {**data[name], **value} if isinstance(value, dict) else value
    return data


def codes(data) -> set[str]:
    return {f.code for f in check_card(data, RTX4090).findings if not f.ok}


def test_a_sound_card_is_what_it_is_sold_as():
    found = check_card(answer(), RTX4090)
    assert found.as_sold is True
    assert all(f.ok and not f.code for f in found.findings)
    by_figure = {f.figure: f for f in found.findings}
    assert by_figure["copy_gb_s"].expected == pytest.approx(1008 * 0.86)
    assert by_figure["fp16_tflops"].expected == pytest.approx(165.2 * 0.80)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"driver": {"memory.total": 16376.0}}, "memory_too_small"),
        ({"bandwidth": {"copy_gb_s": 1008 * 0.86 * 0.84}}, "bandwidth_low"),
        ({"rates_tflops": {"fp16": 165.2 * 0.8 * 0.84}}, "rate_low"),
        ({"driver": {"ecc.errors.uncorrected.aggregate.total": 2.0}}, "ecc_errors"),
        ({"driver": {"retired_pages.double_bit.count": 1.0}}, "ecc_errors"),
    ],
)
def test_a_card_that_falls_short_is_named(changes, code):
    assert codes(answer(**changes)) == {code}
    assert check_card(answer(**changes), RTX4090).as_sold is False


def test_fifteen_percent_are_allowed():
    data = answer(bandwidth={"copy_gb_s": 1008 * 0.86 * 0.86}, rates_tflops={"fp16": 165.2 * 0.8 * 0.86})
    assert codes(data) == set()


def test_a_power_limit_explains_and_does_not_accuse():
    found = check_card(answer(driver={"power.limit": 250.0}), RTX4090)
    assert [f.code for f in found.findings if not f.ok] == ["power_limited"]
    assert found.as_sold is True


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
    assert {f.figure for f in check_card(data, RTX4090).findings} == {
        "memory_gib",
        "ecc_errors",
        "power_limit_w",
    }
