"""A made-up engine and a made-up format, each one record and nothing else, reach every face."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.core.engines.vllm import ENGINE as VLLM
from app.core.gpu_table import CARD_CLASSES

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import json
from dataclasses import replace

from app.core import engines, formats
from app.core.engines.record import PublishedRows
from app.core.engines.vllm import ENGINE as VLLM
from app.core.formats import format_of

engines.register(replace(
    VLLM,
    framework=replace(VLLM.framework, name="lmdeploy", title="LMDeploy", filter_place=40,
                      hardware=replace(VLLM.framework.hardware, nvidia_from=8.6, classes=("ascend",),
                                       stated_by_card=False,
                                       runs_on="lmdeploy", release_name="lmdeploy")),
    place=3,
    chosen_for=(),
    kernels={**VLLM.kernels, "packed": 9.0},
    reserved_share=0.5,
    narrow_kv="int8",
    alternative="",
    memory=replace(VLLM.memory, context_gib=VLLM.memory.context_gib._replace(usual=2.0)),
    speed=replace(VLLM.speed, step_s=0.05),
    serving=replace(VLLM.serving, constants=VLLM.serving.old_constants),
    plans=replace(VLLM.plans, tensor=False),
    rows=PublishedRows(words=("lmdeploy",), stands_in_for=(), stands_in_for_unknown=(), new_since=""),
))
formats.register(replace(
    format_of("int4"), name="int3", title="INT3 made up", bits=3.125, form_place=3, kv_place=None,
    advised_for=("decoder",), checkpoint_methods=("quip",)))

from fastapi.testclient import TestClient
from app.core.engines import label_of
from app.core.formats import of_checkpoint
from app.main import create_app
from app.settings import Settings

SMALL = {"model": {"preset": "llama-3.1-8b"}, "task": "inference", "precision": "bf16", "batch_size": 8,
         "sequence_length": 4096}
found = {"label": label_of("LMDeploy 0.6"), "method": of_checkpoint("quip")}
app = create_app(Settings(calculations_per_minute=1000))
with TestClient(app, headers={"accept-language": "en"}) as client:
    def ask(route, workload, **more):
        answer = client.post(f"/api/v1/{route}", json={"workload": workload, "as_of": "2026-11-30", **more})
        assert answer.status_code == 200, (route, workload, answer.text)
        return answer.json()

    for key, change in (("vllm", {"engine": "vllm"}), ("lmdeploy", {"engine": "lmdeploy"}),
                        ("int4", {"precision": "int4"}), ("int3", {"precision": "int3"})):
        work = {**SMALL, **change}
        found[key] = {
            "memory": ask("memory", work),
            "fit": ask("fit", work, gpu="h100-sxm5-80gb", count=1),
            "speed": ask("speed", work, gpu="h100-sxm5-80gb", count=1),
            "shortlist": ask("shortlist", work, counts=[1, 2]),
        }
    found["remedies"] = ask("fit", {**SMALL, "engine": "lmdeploy", "batch_size": 6, "sequence_length": 8192},
                            gpu="rtx4090", count=1)["remedies"]
    large = {**SMALL, "model": {"family": "decoder", "parameters": 90e9}, "batch_size": 1}
    found["narrower"] = ask("fit", large, gpu="l40", count=1)["remedies"]
    found["old"] = client.post("/api/v1/speed", json={
        "workload": {**SMALL, "engine": "lmdeploy"}, "gpu": "t4", "count": 1}).json()
    found["training"] = ask("memory", {**SMALL, "engine": "lmdeploy", "task": "lora"})
    found["unknown"] = client.post("/api/v1/memory", json={"workload": {**SMALL, "engine": "mlc"}}).json()
    found["openapi"] = client.get("/openapi.json").json()
    found["form"] = client.get("/?model=llama-3.1-8b&engine=lmdeploy&precision=int3&lang=en").text
    found["filtered"] = ask("shortlist", SMALL, filters={"frameworks": ["lmdeploy"]}, counts=[1])
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(seeded_database: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process answers in which two records were added before anything else was imported."""
    path = tmp_path_factory.mktemp("records") / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env={**os.environ, "CARDWORTH_DATABASE_URL": f"sqlite:///{path}"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answers


def names(openapi: dict[str, Any], value: str) -> bool:
    return f'"{value}"' in json.dumps(openapi)


def parts_of(answer: dict[str, Any]) -> dict[str, float]:
    return {part["part"]: part["gib"] for part in answer["memory"]["parts"]}


def test_the_choices_of_api_and_form_name_them(found: dict[str, Any]):
    assert names(found["openapi"], "lmdeploy") and names(found["openapi"], "int3")
    page = found["form"]
    assert 'value="lmdeploy"' in page and ">LMDeploy<" in page.replace("\n", "").replace(" <", "<")
    assert 'value="int3"' in page and "INT3 made up" in page


def test_memory_has_the_parts_of_the_record(found: dict[str, Any]):
    own, usual = found["lmdeploy"]["memory"], found["vllm"]["memory"]
    parts, others = parts_of(own), parts_of(usual)
    assert parts["context"] == pytest.approx(2.0) and others["context"] == pytest.approx(0.55)
    assert {k: v for k, v in parts.items() if k != "context"} == pytest.approx(
        {k: v for k, v in others.items() if k != "context"}
    )
    noted = {a["field"]: a["value"] for a in own["assumptions"]}
    assert noted["memory_fraction"] == 0.5


def test_memory_of_a_format_follows_its_bits(found: dict[str, Any]):
    narrow, wide = (parts_of(found[name]["memory"])["weights"] for name in ("int3", "int4"))
    assert 0.7 < narrow / wide < 0.95


def test_fit_speed_and_list_are_those_of_the_record(found: dict[str, Any]):
    slow, fast = found["lmdeploy"]["speed"]["speed"], found["vllm"]["speed"]["speed"]
    # It takes the constants of vLLM of 2024, whose steps cost more on the host.
    assert slow["detail"]["time_per_output_token_s"] > 1.1 * fast["detail"]["time_per_output_token_s"]
    for name in ("lmdeploy", "int3"):
        assert found[name]["fit"]["fit"]["verdict"] == "fits"
        assert found[name]["shortlist"]["options"]
    # It splits no matrix: two cards are two replicas, or two stages.
    plans = [option["plan"] for option in found["lmdeploy"]["shortlist"]["options"]]
    assert {plan["tensor"] for plan in plans} == {1}


def test_hardware_that_the_record_does_not_name_is_refused(found: dict[str, Any]):
    options = found["lmdeploy"]["shortlist"]["options"]
    vendors = {option["gpu"]["vendor"] for option in options}
    assert "NVIDIA" in vendors and "AMD" not in vendors
    rejected = {r["gpu"]["id"]: r["code"] for r in found["lmdeploy"]["shortlist"]["rejected"]}
    assert rejected["a100-sxm4-80gb"] == "framework"
    assert "lmdeploy" in json.dumps(found["old"]).lower()
    assert all(option["gpu"]["vendor"] != "AMD" for option in found["filtered"]["options"])
    assert set(VLLM.framework.hardware.classes) <= set(CARD_CLASSES)


def test_advice_turns_to_what_the_records_say(found: dict[str, Any]):
    changes = {remedy["code"]: remedy["change"] for remedy in found["remedies"]}
    assert changes["kv_int8"] == {"workload.kv_precision": "int8"}
    # Narrower than all others: the only one that lets 90 billion parameters onto the card.
    assert {"workload.precision": "int3"} in [remedy["change"] for remedy in found["narrower"]]


def test_other_faces_know_them(found: dict[str, Any]):
    assert found["label"] == "lmdeploy" and found["method"] == "int3"
    engine = next(a for a in found["training"]["assumptions"] if a["field"] == "engine")
    assert engine["value"] == "pytorch"
    assert "lmdeploy" in json.dumps(found["unknown"]) and found["unknown"]["status"] == 422
