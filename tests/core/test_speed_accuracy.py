"""What is compared with what, and on which half."""

from __future__ import annotations

import math

import pytest

from app.core.gpu import Benchmark
from app.core.speed.accuracy import cases, errors_by_class, is_fitted, question_of
from app.core.workload import Parallelism
from tests.core.cards import BERT_LARGE, GPUS, LLAMA_8B, RESNET_50

MODELS = {m.id: m for m in (RESNET_50, BERT_LARGE, LLAMA_8B)}


def row(number=0, **changes) -> Benchmark:
    fields = {
        "id": f"row-{number}",
        "gpu_id": "a100-sxm4-80gb",
        "gpu_count": 1,
        "model_id": "resnet-50",
        "model_name": "ResNet-50",
        "task": "training",
        "precision": "fp16",
        "value": 1500.0,
        "unit": "images_per_s",
        "batch_per_gpu": 128.0,
        "framework": "PyTorch",
    }
    return Benchmark(**{**fields, **changes})


def test_a_row_becomes_the_question_it_answers():
    work, plan = question_of(row(gpu_count=4, image_size=160.0), RESNET_50)
    assert (work.task, work.precision, work.batch_size, work.image_size) == (
        "training",
        "fp16",
        128.0,
        (160, 160),
    )
    assert plan == Parallelism(data=4)
    decode = row(
        model_id="llama-3.1-8b",
        task="inference",
        phase="decode",
        unit="tokens_per_s",
        precision="gguf-q4_k_m",
        framework="llama.cpp CUDA",
        batch_per_gpu=None,
        gpu_count=2,
    )
    work, plan = question_of(decode, LLAMA_8B)
    assert (work.engine, work.batch_size, plan) == ("llama.cpp", 1.0, Parallelism(pipeline=2))


@pytest.mark.parametrize(
    "changes",
    [
        {"flag": "outlier"},
        {"precision": ""},
        {"framework": "TensorRT / vendor stack"},
        {"unit": "frames_per_s"},
        {"gpu_count": 64},
        {"phase": "server"},
    ],
)
def test_rows_that_do_not_state_their_question_are_left_out(changes):
    assert question_of(row(**changes), RESNET_50) is None
    assert cases([row(**changes)], MODELS, GPUS) == []


def test_unknown_models_and_cards_are_left_out():
    assert cases([row(model_id="other"), row(gpu_id="other")], MODELS, GPUS) == []


def test_errors_are_of_the_half_that_was_not_fitted():
    rows = [row(i, value=1000.0 + 37.0 * i) for i in range(60)]
    found = cases(rows, MODELS, GPUS)
    assert len(found) == 60
    assert {c.fitted for c in found} == {True, False}
    assert all(c.fitted == is_fitted(c.benchmark.id) for c in found)
    (errors,) = errors_by_class(found)
    ratios = sorted(abs(math.log(c.benchmark.value / c.predicted)) for c in found if not c.fitted)
    assert errors.kind == "cnn_training"
    assert errors.n == len(ratios)
    middle = (ratios[(len(ratios) - 1) // 2] + ratios[len(ratios) // 2]) / 2
    assert errors.median == pytest.approx(middle)
    assert errors.within == pytest.approx(sum(r <= math.log(1.5) for r in ratios) / len(ratios))
    assert errors_by_class(found, fitted=True)[0].n == 60 - errors.n
