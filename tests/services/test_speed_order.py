"""Orders of cards that no measurement turns: a cut card below its parent, 16 bit without units for it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from app.catalog.snapshot import Snapshot
from app.services.calculator import shortlist, speed
from app.services.maintenance import open_catalogue
from app.services.results import ShortlistAnswer

DAY = date(2026, 12, 1)
QUESTIONS: dict[str, dict[str, Any]] = {
    "chat": {"model": {"preset": "llama-3.1-8b"}, "batch_size": 8, "sequence_length": 4096},
    "images": {"model": {"preset": "resnet-50"}, "task": "training", "precision": "fp16", "batch_size": 64},
    "tuning": {
        "model": {"preset": "llama-3.1-8b"},
        "task": "qlora",
        "precision": "nf4",
        "batch_size": 1,
        "sequence_length": 2048,
    },
}
CUT = [
    ("rtx5090d", "rtx5090"),
    ("rtx4090d", "rtx4090"),
    ("a800-pcie-80gb", "a100-pcie-80gb"),
    ("a800-sxm4-80gb", "a100-sxm4-80gb"),
    ("h800-sxm5-80gb", "h100-sxm5-80gb"),
    ("ascend-910b3", "ascend-910b1"),
]
VECTOR_ONLY = ["gtx1080ti", "p40", "titan-xp", "gtx1070"]


@pytest.fixture(scope="module")
def snapshot(seeded_database: Path) -> Iterator[Snapshot]:
    with open_catalogue(f"sqlite:///{seeded_database}") as opened:
        yield opened


def units_per_s(workload: dict[str, Any], gpu: str, snapshot: Snapshot) -> float:
    return float(speed({"workload": workload, "gpu": gpu}, snapshot, DAY).speed.expected)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(("cut", "whole"), CUT)
def test_a_cut_card_is_never_faster(cut: str, whole: str, question: str, snapshot: Snapshot) -> None:
    found = {gpu: units_per_s(QUESTIONS[question], gpu, snapshot) for gpu in (cut, whole)}
    assert found[cut] <= found[whole] * (1 + 1e-9)


@pytest.mark.parametrize("gpu", VECTOR_ONLY)
def test_half_precision_gains_nothing_without_units_for_it(gpu: str, snapshot: Snapshot) -> None:
    """PyTorch 0.3 on a GTX 1080 Ti: ResNet-152 fell from 77.5 to 62.3 images/s in FP16."""
    images = QUESTIONS["images"] | {"batch_size": 16}
    half, single = (units_per_s(images | {"precision": p}, gpu, snapshot) for p in ("fp16", "fp32"))
    assert half <= single * (1 + 1e-9)


def codes_of(workload: dict[str, Any], gpu: str, snapshot: Snapshot) -> set[str]:
    body = {"workload": workload, "counts": [1], "filters": {"gpus": [gpu]}, "price_overrides": {gpu: 1000}}
    answer: ShortlistAnswer = shortlist(body, snapshot, DAY)
    return {flag.code for option in answer.options for flag in option.flags}


def test_the_flag_stands_where_the_figure_agrees(snapshot: Snapshot) -> None:
    images = QUESTIONS["images"] | {"batch_size": 16}
    assert "no_tensor_cores" in codes_of(images, "p40", snapshot)
    # Half the bytes of weights are read in half the time: there is a gain where tokens are written.
    writing = {
        "model": {"preset": "qwen3-1.7b"},
        "precision": "fp16",
        "batch_size": 1,
        "engine": "transformers",
    }
    assert "no_tensor_cores" not in codes_of(writing, "p40", snapshot)
    assert "no_tensor_cores" not in codes_of(images | {"precision": "fp32"}, "p40", snapshot)


@pytest.mark.parametrize(("asked", "engine"), [("torch==2.6", "pytorch"), ("tf", "tensorflow")])
def test_a_framework_may_be_named_by_its_package(asked: str, engine: str, snapshot: Snapshot) -> None:
    body = {"workload": QUESTIONS["images"], "filters": {"frameworks": [asked]}}
    assert shortlist(body, snapshot, DAY).question.workload["engine"] == engine


def test_an_empty_field_of_partitions_is_not_known(snapshot: Snapshot) -> None:
    answer = shortlist({"workload": QUESTIONS["images"], "filters": {"needs": ["mig"]}}, snapshot, DAY)
    said = {r.gpu.id: r.text.code for r in answer.rejected if r.code == "feature"}
    assert said["rtx3090"] == "rejected_feature_unknown"
