"""How a measurement was run: columns filled once from what a source wrote."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from app.catalog.imports.recipes import COLUMNS, recipe_of
from app.core.gpu import Benchmark
from app.core.speed.measurements import question_of
from app.resources import resource_path
from tests.core.cards import LLAMA_8B, RESNET_50

CONV_NETS = (
    "https://github.com/NVIDIA/DeepLearningExamples/tree/master/PyTorch/Classification/ConvNets/resnet50"
)
IMAGES = {
    "gpu_id": "a100-sxm4-80gb",
    "model_id": "resnet-50",
    "model_as_written": "ResNet-50",
    "task": "inference",
    "precision": "fp16",
    "framework": "PyTorch (timm)",
    "observed_on": "2026-01-01",
}


def told(url: str = "", **cells: str) -> dict[str, str]:
    return {name: text for name, text in recipe_of({**IMAGES, **cells}, url).items() if text}


@pytest.mark.parametrize(
    ("cells", "columns"),
    [
        ({"note": "NHWC, inference"}, {"layout": "channels_last"}),
        ({"note": "channels last, inference"}, {"layout": "channels_last"}),
        ({"note": "NCHW, inference"}, {"layout": "channels_first"}),
        (
            {"note": "NCHW, inference, compiled by TorchDynamo"},
            {"layout": "channels_first", "compiled": "torch.compile"},
        ),
        ({"note": "batch 64", "framework": "PyTorch torch.compile"}, {"compiled": "torch.compile"}),
        ({"note": "batch 64 packed 2048, compile; peak mem 40 GiB"}, {"compiled": "torch.compile"}),
        ({"note": "XLA=ON"}, {"compiled": "xla"}),
        ({"note": "XLA=OFF"}, {}),
        ({"note": "XLA=No"}, {}),
        ({"note": "FULL_SHARD; act ckpt True; params 7"}, {"checkpointing": "full"}),
        ({"note": "FULL_SHARD; act ckpt False; params 7"}, {"checkpointing": "none"}),
        ({"note": "trtllm-bench; TP4 PP2"}, {"plan": "tp4 pp2"}),
        ({"note": "TP2PP2DP2; mem 74/80"}, {"plan": "tp2 pp2 dp2"}),
        ({"note": "trtllm-bench; DEP8"}, {"plan": "dp8 ep8"}),
        ({"task": "finetune", "model_as_written": "Qwen 7B (Q-LoRA), QLoRA"}, {"method": "qlora"}),
        ({"task": "finetune", "model_as_written": "Llama 2 7B LoRA"}, {"method": "lora"}),
        ({"task": "finetune", "model_as_written": "Aquila2 34B SFT"}, {"method": "full"}),
        (
            {"model_as_written": "MLPerf resnet", "precision": "", "framework": "vendor stack"},
            {"scenario": "mlperf", "inferred_precision": "int8"},
        ),
        ({"framework": "llama.cpp", "observed_on": "2025-03-01"}, {"software": "new"}),
        ({"framework": "llama.cpp", "observed_on": "2024-03-01"}, {}),
    ],
)
def test_what_a_source_wrote_becomes_columns(cells: dict[str, str], columns: dict[str, str]) -> None:
    assert told(**cells) == columns


@pytest.mark.parametrize(
    ("host", "precision"),
    [("eval rate; desktop Intel 265K, PCIe slot", "gguf-q4_k_m"), ("eval rate; Raspberry Pi CM5 host", "")],
)
def test_the_format_of_a_default_tag_is_that_of_usual_hosts(host: str, precision: str) -> None:
    cells = {"model_id": "llama-3.2-3b", "framework": "llama.cpp / Ollama", "precision": "", "note": host}
    assert told(**cells).get("inferred_precision", "") == precision


def test_an_address_tells_the_layout_of_half_precision_training_alone() -> None:
    assert told(CONV_NETS, task="training") == {"layout": "channels_last"}
    assert told(CONV_NETS, task="training", precision="tf32") == {}
    assert told(CONV_NETS) == {}


def test_a_stated_column_counts_before_any_text() -> None:
    assert told(note="NHWC, inference", layout="channels_first")["layout"] == "channels_first"


def test_the_shipped_rows_are_filled_by_these_rules() -> None:
    with resource_path("seed_data", "sources.csv").open(encoding="utf-8", newline="") as opened:
        urls = {row["id"]: row["url"] for row in csv.DictReader(opened)}
    with resource_path("seed_data", "benchmarks.csv").open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    for row in rows:
        texts = {name: cell for name, cell in row.items() if name not in COLUMNS}
        assert recipe_of(texts, urls[row["source_id"]]) == {name: row[name] for name in COLUMNS}, row
    assert sum(row["compiled"] == "torch.compile" for row in rows) == 50
    assert sum(row["layout"] == "channels_last" for row in rows) == 146


def row(**columns: Any) -> Benchmark:
    fields: dict[str, Any] = {
        "id": "row",
        "gpu_id": "a100-sxm4-80gb",
        "gpu_count": 1,
        "model_id": "resnet-50",
        "model_name": "ResNet-50",
        "task": "inference",
        "precision": "fp16",
        "value": 1500.0,
        "unit": "images_per_s",
        "batch_per_gpu": 128.0,
        "framework": "PyTorch",
    }
    return Benchmark(**{**fields, **columns})


def test_questions_read_columns_and_no_texts() -> None:
    """A note of the same words, or a model of that name, changes nothing."""
    work, _ = question_of(row(layout="channels_last"), RESNET_50) or (None, None)
    assert work is not None and work.software == "new"
    work, _ = question_of(row(compiled="torch.compile"), RESNET_50) or (None, None)
    assert work is not None and work.compile
    words = row(note="NHWC, inference, compile; act ckpt True; TP4", gpu_count=4, model_name="MLPerf LoRA")
    work, plan = question_of(words, RESNET_50) or (None, None)
    assert work is not None and plan is not None
    assert (work.software, work.compile, work.gradient_checkpointing) == ("usual", False, False)
    assert (plan.data, plan.tensor) == (4, 1)
    tuned = {"task": "finetune", "unit": "tokens_per_s", "sequence_length": 2048.0, "precision": "bf16"}
    assert question_of(row(**tuned, model_name="Llama LoRA"), LLAMA_8B) is None
    for method, task in (("full", "training"), ("lora", "lora"), ("qlora", "qlora")):
        precision = "nf4" if method == "qlora" else "bf16"
        work, _ = question_of(row(**{**tuned, "precision": precision}, method=method), LLAMA_8B) or (
            None,
            None,
        )
        assert work is not None and work.task == task
    work, _ = question_of(row(**{**tuned, "task": "training"}, checkpointing="selective"), LLAMA_8B) or (
        None,
        None,
    )
    assert work is not None and work.gradient_checkpointing == "selective"
