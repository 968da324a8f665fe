"""Measurements as a team sends them: whose they are, what was taken for granted, what cannot be used."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from app.catalog.changes import Author
from app.catalog.importing import ImportOptions, import_file, import_items
from app.core.gpu import Benchmark
from app.services import calculator, maintenance
from app.services.measurements import notes_of, why_unused
from app.services.store import CatalogStore

DAY = date(2026, 11, 30)
ROW = {
    "gpu": "rtx4090",
    "model": "resnet-50",
    "task": "training",
    "precision": "fp16",
    "batch_size": 64,
    "image_size": 224,
    "value": 1000.0,
    "unit": "images_per_s",
    "observed_on": "2026-11-29",
    "confirm": True,
}
PUBLIC = {"source": {"title": "A paper", "url": "https://example.com/paper"}}


@dataclass
class Team:
    """A catalogue of its own."""

    engine: Engine

    def send(self, **changes: Any) -> tuple[Benchmark, list[str]]:
        """The row as it is stored, and the codes of what is said of it."""
        items = [{k: v for k, v in {**ROW, **changes}.items() if v is not None}]
        report = import_items(self.engine, "benchmarks", items, Author("test"), ImportOptions(DAY))
        assert report.ok, report.faults
        snapshot = CatalogStore(self.engine).snapshot()
        stored = next(b for b in snapshot.benchmarks if b.id == report.ids[0])
        return stored, [m.code for _, m in notes_of(report, snapshot)]


@pytest.fixture(scope="module")
def team(seeded_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    path = tmp_path_factory.mktemp("team") / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    with maintenance.open_database(f"sqlite:///{path}") as engine:
        yield Team(engine)


def test_a_row_is_own_unless_it_names_a_public_source(team: Team) -> None:
    own, said = team.send()
    assert own.own and own.source is not None and own.source.title == "Own measurements"
    assert "own_by_default" in said
    assert team.send(source="bench in room 3")[0].own
    published, said = team.send(**PUBLIC, framework="PyTorch")
    assert not published.own and said == ["published_by_source"]
    stated, said = team.send(**PUBLIC, own=True, framework="PyTorch", value=1001)
    assert stated.own and said == []
    assert not team.send(own=False, source="bench in room 3", value=1002)[0].own


def test_the_same_holds_for_a_file(team: Team) -> None:
    head = "gpu,model,task,precision,batch_per_gpu,image_size,value,unit,observed_on,source_url,own,confirm\n"
    row = "rtx4090,resnet-50,training,fp16,64,224,{},images_per_s,2026-11-28,{},{},yes\n"
    address = "https://example.com/table"
    text = head + row.format(901, "", "") + row.format(902, address, "") + row.format(903, address, "yes")
    report = import_file(team.engine, "benchmarks", text.encode(), Author("test"), ImportOptions(DAY))
    assert report.ok, report.faults
    assert [row["own"] for _, row in report.measured] == [True, False, True]


@pytest.mark.parametrize(
    ("changes", "engine"),
    [
        ({}, "pytorch"),
        ({"task": "inference"}, "pytorch"),
        ({"task": "qlora", "model": "llama-3.1-8b", "unit": "tokens_per_s", "precision": "nf4"}, "pytorch"),
        ({"model": "llama-3.1-8b", "task": "inference", "unit": "tokens_per_s", "phase": "decode"}, "vllm"),
        (
            {
                "model": "llama-3.1-8b",
                "task": "inference",
                "unit": "tokens_per_s",
                "phase": "decode",
                "precision": "gguf-q4_k_m",
            },
            "llama.cpp",
        ),
        ({"model": "whisper-large-v3", "task": "inference", "unit": "realtime_factor"}, "faster-whisper"),
        (
            {
                "model": None,
                "model_as_written": "our 7B",
                "model_parameters": 7e9,
                "task": "inference",
                "unit": "tokens_per_s",
                "phase": "decode",
            },
            "vllm",
        ),
    ],
)
def test_an_own_row_runs_on_the_engine_that_a_question_would(
    team: Team, changes: dict[str, Any], engine: str
) -> None:
    stored, said = team.send(**{"value": 55.5, "batch_size": 2, "image_size": None, **changes})
    assert stored.framework == engine
    assert "measured_engine_assumed" in said
    if stored.task != "finetune" or stored.sequence_length:
        assert not [code for code in said if code.startswith("row_unused")]


def test_what_was_measured_is_the_answer(team: Team) -> None:
    team.send(gpu="rtx3090", value=777.0)
    work = {"model": {"preset": "resnet-50"}, "task": "training", "precision": "fp16", "batch_size": 64}
    snapshot = CatalogStore(team.engine).snapshot()
    found = calculator.speed({"workload": {**work, "image_size": 224}, "gpu": "rtx3090"}, snapshot, DAY)
    assert found.speed.basis == "measured"
    assert found.speed.expected == pytest.approx(777.0, rel=0.03)


@pytest.mark.parametrize(("task", "name"), [("lora", "LoRA"), ("qlora", "QLoRA")])
def test_adapters_are_kept_as_the_estimator_reads_them(team: Team, task: str, name: str) -> None:
    stored, said = team.send(
        task=task,
        model="llama-3.1-8b",
        precision="nf4" if task == "qlora" else "bf16",
        unit="tokens_per_s",
        sequence_length=2048,
        image_size=None,
        batch_size=1,
        value=1500,
    )
    assert (stored.task, stored.model_id) == ("finetune", "llama-3.1-8b")
    assert stored.model_name.endswith(f"({name})")
    assert "measurement_task_stored" in said and not [c for c in said if c.startswith("row_unused")]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"precision": None}, "row_unused_precision"),
        ({"framework": "abacus"}, "row_unused_engine"),
        ({"unit": "tokens_per_s"}, "row_unused_unit"),
        ({"model": None, "model_as_written": "ours"}, "row_unused_model"),
        ({"model": "llama-3.1-8b", "task": "inference", "unit": "tokens_per_s"}, "row_unused_lengths"),
        ({"flag": "slow disk"}, "row_unused_flag"),
    ],
)
def test_a_row_that_estimates_cannot_use_says_so(team: Team, changes: dict[str, Any], code: str) -> None:
    assert code in team.send(**changes)[1]


def test_a_shipped_row_in_use_has_no_reason(team: Team) -> None:
    snapshot = CatalogStore(team.engine).snapshot()
    models = {key: preset.architecture for key, preset in snapshot.models.items()}
    rows = [b for b in snapshot.benchmarks if b.model_id == "resnet-50" and b.unit == "images_per_s"]
    unused = [b for b in rows if why_unused(b, models) is not None]
    assert len(rows) > 50 and len(unused) < len(rows) / 2
