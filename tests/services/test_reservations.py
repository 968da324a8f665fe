"""What speaks against a question, and advice on an option: said by every answer, by one rule."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from app.catalog.snapshot import Snapshot
from app.core.decide.reasons import precision_on
from app.core.faults import InputFault
from app.core.resolve import resolve
from app.core.workload import Workload
from app.services import calculator, maintenance
from app.services.answers import as_json
from app.services.questions import parse_workload
from app.services.store import CatalogStore

DAY = date(2026, 11, 30)
WITHOUT_BF16 = ("v100-sxm2-32gb", "rtx2080ti", "t4", "p100-pcie-16gb", "gtx1080ti")
SMALL = {"model": {"preset": "bert-base-uncased"}, "batch_size": 4, "sequence_length": 128}
RESNET = {"model": {"preset": "resnet-50"}, "precision": "fp16", "batch_size": 32}


@pytest.fixture(scope="module")
def snapshot(seeded_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    path = tmp_path_factory.mktemp("reservations") / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    with maintenance.open_database(f"sqlite:///{path}") as engine:
        yield CatalogStore(engine).snapshot()


def codes(answer: Any) -> list[str]:
    return list(answer.warning_codes)


def asked(snapshot: Snapshot, workload: dict[str, Any]) -> Workload:
    return resolve(parse_workload({"workload": workload}, snapshot))[0]


@pytest.mark.parametrize("gpu", WITHOUT_BF16)
def test_a_card_without_bf16_is_judged_by_one_rule(snapshot: Snapshot, gpu: str) -> None:
    body = {"workload": {**SMALL, "precision": "bf16"}, "gpu": gpu}
    fit = calculator.fit(body, snapshot, DAY)
    assert codes(fit) == ["card_lacks_precision"]
    assert "no BF16 arithmetic: use FP16" in as_json(fit, "en")["warnings"][0]
    assert "请用 FP16" in as_json(fit, "zh")["warnings"][0]
    with pytest.raises(InputFault) as refused:
        calculator.speed(body, snapshot, DAY)
    assert [(e.pointer, e.code) for e in refused.value.errors] == [("/workload/precision", "precision")]
    half = {**body, "workload": {**SMALL, "precision": "fp16"}}
    assert codes(calculator.speed(half, snapshot, DAY)) == []


def test_speed_refuses_a_format_where_the_shortlist_does(snapshot: Snapshot) -> None:
    body = {"workload": {**SMALL, "precision": "bf16"}, "counts": [1], "limit": 200}
    found = calculator.shortlist(body, snapshot, DAY)
    # Those whose rate nobody knows are refused too, in other words.
    lacking = {
        r.gpu.id for r in found.rejected if r.code == "precision" and r.text.code == "rejected_precision"
    }
    listed = {o.gpu.id for o in found.options}
    work = asked(snapshot, {**SMALL, "precision": "bf16"})
    assert set(WITHOUT_BF16) & {r.gpu.id for r in found.rejected} <= lacking
    assert lacking and listed
    for gpu_id in lacking | listed:
        assert precision_on(snapshot.gpu(gpu_id), work).lacks == (gpu_id in lacking), gpu_id


def test_narrow_weights_train_in_fp16_where_bf16_is_missing(snapshot: Snapshot) -> None:
    """QLoRA on a T4 is the free notebook's case: NF4 is a format of weights, not of arithmetic."""
    work = {
        "model": {"preset": "llama-3.1-8b"},
        "task": "qlora",
        "precision": "nf4",
        "batch_size": 1,
        "sequence_length": 512,
        "gradient_checkpointing": True,
    }
    # None of them has a price of today.
    body = {"workload": work, "counts": [1], "limit": 200, "price_rules": {"evidence": "any"}}
    found = calculator.shortlist(body, snapshot, DAY)
    assert {"t4", "v100-sxm2-32gb", "rtx2080ti"} <= {o.gpu.id for o in found.options}
    assert calculator.speed({"workload": work, "gpu": "t4"}, snapshot, DAY).speed.expected > 0


def test_an_unread_rate_is_not_called_a_missing_format(snapshot: Snapshot) -> None:
    body = {"workload": {**RESNET, "task": "training"}, "counts": [1], "limit": 1}
    found = calculator.shortlist(body, snapshot, DAY)
    text = {r.gpu.id: r.text.code for r in found.rejected if r.code == "precision"}
    assert text["rtx-6000d"] == "rejected_rate_unknown"


def test_a_rate_of_another_format_is_said_by_each_answer(snapshot: Snapshot) -> None:
    work = {"model": {"preset": "llama-3.1-8b"}, "precision": "fp8"}
    body = {"workload": work, "gpu": "a100-sxm4-80gb"}
    assert codes(calculator.fit(body, snapshot, DAY)) == ["precision_falls_back"]
    assert codes(calculator.speed(body, snapshot, DAY)) == ["precision_falls_back"]
    assert codes(calculator.speed({**body, "gpu": "h100-sxm-80gb"}, snapshot, DAY)) == []
    # Modules are bought eight at a time, and their server has no price of today.
    asked = {"gpus": ["a100-sxm4-80gb"], "availability": "any"}
    question = {"workload": work, "counts": [8], "filters": asked, "price_rules": {"evidence": "any"}}
    (option,) = calculator.shortlist(question, snapshot, DAY).options[:1]
    assert "precision_falls_back" in [flag.code for flag in option.flags]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"engine": "vllm"}, "engine_not_for_family"),
        ({"engine": "diffusers"}, "engine_not_for_family"),
        ({"precision": "awq"}, "format_not_for_family"),
        ({"engine": "vllm", "task": "training"}, "engine_cannot_train"),
    ],
)
def test_what_does_not_go_with_the_model_is_said(
    snapshot: Snapshot, change: dict[str, str], code: str
) -> None:
    workload = {**RESNET, **change}
    body = {"workload": workload, "gpu": "rtx4090"}
    assert codes(calculator.memory({"workload": workload}, snapshot, DAY)) == [code]
    assert codes(calculator.fit(body, snapshot, DAY)) == [code]
    assert codes(calculator.speed(body, snapshot, DAY)) == [code]
    assert codes(calculator.shortlist({"workload": workload}, snapshot, DAY)) == [code]


@pytest.mark.parametrize("engine", ["auto", "pytorch", "tensorflow", "transformers"])
def test_what_goes_together_is_not_remarked_on(snapshot: Snapshot, engine: str) -> None:
    assert codes(calculator.memory({"workload": {**RESNET, "engine": engine}}, snapshot, DAY)) == []


def test_advice_stands_with_the_options_that_it_is_for(snapshot: Snapshot) -> None:
    body = {
        "workload": {**RESNET, "task": "training", "engine": "tensorflow"},
        "counts": [1, 2],
        "limit": 200,
        "filters": {"conditions": ["new", "used", "modded"], "vendors": ["NVIDIA"], "acquisition": ["buy"]},
        "questions": {"strict_sla": True},
    }
    options = calculator.shortlist(body, snapshot, DAY).options
    assert {o.condition for o in options} >= {"new", "used"}
    for option in options:
        said = list(option.advice_codes)
        assert ("used_mining" in said) == (option.condition != "new")
        assert "sla_needs_redundancy" in said and said[-1] == "tensorflow_setup"
        assert ("MirroredStrategy" in (option.setup or "")) == (option.count > 1)
        assert "mixed_float16" in (option.setup or "")
    plain = {"workload": RESNET, "filters": {"conditions": ["new"], "acquisition": ["buy"]}}
    for option in as_json(calculator.shortlist(plain, snapshot, DAY), "en")["options"]:
        assert set(option.get("advice_codes", ())) <= {"power_supply"} and "setup" not in option


def test_the_age_of_a_used_card_is_reckoned_to_the_day_of_the_question(snapshot: Snapshot) -> None:
    body = {"workload": RESNET, "counts": [1]}
    body["filters"] = {"gpus": ["rtx3090"], "conditions": ["used"], "acquisition": ["buy"]}
    (option,) = as_json(calculator.shortlist(body, snapshot, DAY), "en")["options"]
    # Launched in September 2020.
    assert option["advice"][0] == "Age 6.2 years since launch."
