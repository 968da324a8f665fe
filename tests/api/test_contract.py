"""One question, one answer: the command line prints what the API answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.api import examples
from app.cli import main
from tests.api.conftest import AS_OF

LLAMA = examples.LLAMA_INFERENCE
LLAMA_FLAGS = "--model llama-3.1-8b --task inference --precision bf16 --batch 16 --sequence 8192"
BERT_FLAGS = "--model bert-large-uncased --task training --precision fp32 --batch 32 --sequence 128"

# command, flags, body; ten questions over tasks, families and frames
QUESTIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("memory", LLAMA_FLAGS, {"workload": LLAMA}),
    ("memory", BERT_FLAGS, {"workload": examples.BERT_TRAINING}),
    (
        "memory",
        "--family decoder --parameters 7B --task qlora --precision nf4 --batch 1 --sequence 2048",
        {"workload": examples.SIZE_ONLY},
    ),
    (
        "memory",
        "--model resnet50 --task training --precision bf16 --batch 64 --image-size 224",
        {
            "workload": {
                "model": {"preset": "resnet50"},
                "task": "training",
                "precision": "bf16",
                "batch_size": 64,
                "image_size": 224,
            }
        },
    ),
    ("fit", f"{LLAMA_FLAGS} --gpu rtx4090", {"workload": LLAMA, "gpu": "rtx4090"}),
    (
        "fit",
        f"{LLAMA_FLAGS} --tensor 2 --used-gib 1.5 --gpu l20 --count 2",
        {"workload": {**LLAMA, "parallelism": {"tensor": 2}, "used_gib": 1.5}, "gpu": "l20", "count": 2},
    ),
    ("speed", f"{LLAMA_FLAGS} --gpu L20 --count 2", {"workload": LLAMA, "gpu": "L20", "count": 2}),
    ("speed", f"{BERT_FLAGS} --gpu rtx3090", {"workload": examples.BERT_TRAINING, "gpu": "rtx3090"}),
    (
        "shortlist",
        f"{LLAMA_FLAGS} --budget 100000 --work 2e8 --objective total_cost --counts 1,2 --vendor NVIDIA",
        {
            "workload": LLAMA,
            "budget": {"amount": 100000, "currency": "CNY"},
            "work": {"amount": 200000000},
            "objective": "total_cost",
            "counts": [1, 2],
            "filters": {"vendors": ["NVIDIA"]},
        },
    ),
    (
        "shortlist",
        f"{BERT_FLAGS} --objective tflops_per_yuan --price rtx3090=6500 --condition used --condition new "
        "--months 24 --electricity 0.65 --limit 3",
        {
            "workload": examples.BERT_TRAINING,
            "objective": "tflops_per_yuan",
            "price_overrides": {"rtx3090": 6500},
            "filters": {"conditions": ["used", "new"]},
            "economics": {"months": 24, "electricity_cny_per_kwh": 0.65},
            "limit": 3,
        },
    ),
]


@pytest.mark.parametrize(
    ("command", "flags", "body"), QUESTIONS, ids=[f"{i}-{q[0]}" for i, q in enumerate(QUESTIONS)]
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_command_line_prints_what_the_api_answers(
    api: TestClient,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    flags: str,
    body: dict[str, Any],
    language: str,
) -> None:
    monkeypatch.setenv("CARDWORTH_DATABASE_URL", api.app.state.settings.database_url)  # type: ignore[attr-defined]
    body = {**body, "as_of": AS_OF}
    answer = api.post(f"/api/v1/{command}", json=body, params={"lang": language})
    assert answer.status_code == 200, answer.text
    status = main([command, *flags.split(), "--as-of", AS_OF, "--lang", language, "--json"])
    printed = capsys.readouterr()
    assert status == 0, printed.err
    assert json.loads(printed.out) == answer.json()


def test_a_file_and_flags_make_one_question(
    api: TestClient,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("CARDWORTH_DATABASE_URL", api.app.state.settings.database_url)  # type: ignore[attr-defined]
    path = tmp_path / "question.json"
    path.write_text(json.dumps({"workload": LLAMA, "as_of": AS_OF}), encoding="utf-8")
    assert main(["memory", "--request", str(path), "--batch", "4", "--lang", "en", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    body = {"workload": {**LLAMA, "batch_size": 4}, "as_of": AS_OF}
    assert printed == api.post("/api/v1/memory?lang=en", json=body).json()
