"""Defaults of a question, its ranges and the combinations that do not exist."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.core.faults import InputFault
from app.core.resolve import resolve
from app.core.workload import Offload, Parallelism, Workload
from tests.core.model_examples import BERT_LARGE, GPT_OSS_120B, LLAMA_3_1_8B, RESNET_50


def _fault(work: Workload) -> tuple[str, str, dict[str, Any]]:
    with pytest.raises(InputFault) as caught:
        resolve(work)
    first = caught.value.errors[0]
    return first.pointer, first.code, dict(first.params)


def test_feature_4_training_needs_a_sequence_length() -> None:
    work = Workload(BERT_LARGE, task="training", batch_size=32)
    assert _fault(work)[:2] == ("/workload/sequence_length", "sequence_length_required")
    resolved, _ = resolve(Workload(BERT_LARGE, batch_size=32))
    assert resolved.sequence_length == 2048


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("batch_size", 0, "out_of_range"),
        ("batch_size", -4, "out_of_range"),
        ("batch_size", 10**400, "out_of_range"),
        ("batch_size", math.nan, "not_finite"),
        ("batch_size", -math.inf, "not_finite"),
        ("batch_size", True, "not_a_number"),
        ("batch_size", "16", "not_a_number"),
        ("batch_size", 1.5, "not_whole"),
        ("batch_size", np.array([1.0, np.nan]), "not_finite"),
        ("batch_size", np.array([0.0, 4.0]), "out_of_range"),
        ("batch_size", np.array([]), "not_a_number"),
        ("sequence_length", 30_000_000, "out_of_range"),
        ("lora_rank", 5000, "out_of_range"),
        ("memory_fraction", 1.2, "out_of_range"),
        ("used_gib", -1.0, "out_of_range"),
        ("weights_gib", math.inf, "not_finite"),
        ("max_batched_tokens", 0, "out_of_range"),
        ("image_size", (4, 224), "out_of_range"),
        ("image_size", (224,), "list_length"),
        ("precision", "fp7", "unknown_value"),
        ("precision", "q8_0", "unknown_value"),
        ("kv_precision", "awq", "unknown_value"),
        ("engine", "magic", "unknown_value"),
        ("engine", ["vllm"], "unknown_value"),
        ("task", "pretraining", "unknown_value"),
        ("optimizer", "adam2", "unknown_value"),
    ],
)
def test_values_out_of_range_are_named(field: str, value: Any, code: str) -> None:
    work = replace(Workload(LLAMA_3_1_8B, sequence_length=2048), **{field: value})
    pointer, found, _ = _fault(work)
    assert (pointer, found) == (f"/workload/{field}", code)


def test_range_faults_carry_their_limits() -> None:
    assert _fault(Workload(LLAMA_3_1_8B, batch_size=0))[2] == {"low": 1, "high": 1_000_000}


@pytest.mark.parametrize(
    ("plan", "pointer"),
    [
        (Parallelism(tensor=0), "/workload/parallelism/tensor"),
        (Parallelism(data=10**9), "/workload/parallelism/data"),
        (Parallelism(zero_stage=4), "/workload/parallelism/zero_stage"),
    ],
)
def test_degrees_of_a_plan_are_checked(plan: Parallelism, pointer: str) -> None:
    assert _fault(Workload(LLAMA_3_1_8B, parallelism=plan))[:2] == (pointer, "out_of_range")


def test_offloaded_layers_are_checked() -> None:
    work = Workload(LLAMA_3_1_8B, offload=Offload(layers_on_gpu=-1))
    assert _fault(work)[0] == "/workload/offload/layers_on_gpu"


@pytest.mark.parametrize("precision", ["awq", "nf4", "gguf-q4_k_m", "int8", "mxfp4"])
def test_integer_and_weight_only_formats_cannot_be_trained_in_full(precision: str) -> None:
    work = Workload(LLAMA_3_1_8B, task="training", sequence_length=512, precision=precision)
    assert _fault(work)[:2] == ("/workload/precision", "precision_cannot_train")


def test_output_is_part_of_the_sequence() -> None:
    work = Workload(LLAMA_3_1_8B, sequence_length=1000, output_length=1001)
    assert _fault(work) == ("/workload/output_length", "output_longer_than_sequence", {"limit": 1000.0})


def test_adapters_need_a_transformer() -> None:
    assert _fault(Workload(RESNET_50, task="lora"))[:2] == ("/workload/task", "task_needs_transformer")


@pytest.mark.parametrize(
    ("asked", "field", "value"),
    [
        ({}, "engine", "vllm"),
        ({"precision": "gguf-q4_k_m"}, "engine", "llama.cpp"),
        ({"task": "training", "sequence_length": 512}, "engine", "pytorch"),
        ({"task": "training", "sequence_length": 512}, "optimizer", "adamw"),
        ({"task": "training", "sequence_length": 512}, "recipe", "mixed"),
        ({"task": "training", "sequence_length": 512, "precision": "fp32"}, "recipe", "fp32"),
        ({"task": "training", "sequence_length": 512, "precision": "fp32"}, "attention", "eager"),
        ({"task": "training", "sequence_length": 512, "engine": "tensorflow"}, "attention", "eager"),
        ({}, "attention", "flash"),
        ({}, "sequence_length", 2048),
        ({}, "kv_precision", "bf16"),
        ({"precision": "awq"}, "kv_precision", "fp16"),
        ({"task": "qlora", "sequence_length": 512}, "precision", "nf4"),
    ],
)
def test_every_default_is_filled_and_said(asked: dict[str, Any], field: str, value: Any) -> None:
    resolved, notes = resolve(Workload(LLAMA_3_1_8B, **asked))
    assert getattr(resolved, field) == value
    assert [n.value for n in notes if n.field == field] == [value]


def test_momentum_is_the_default_of_vision() -> None:
    assert resolve(Workload(RESNET_50, task="training"))[0].optimizer == "momentum"


def test_open_precision_takes_the_native_format() -> None:
    assert resolve(Workload(GPT_OSS_120B, precision=""))[0].precision == "mxfp4"
    assert resolve(Workload(LLAMA_3_1_8B, precision=""))[0].precision == "bf16"


def test_resolving_twice_changes_nothing() -> None:
    once, _ = resolve(Workload(LLAMA_3_1_8B, batch_size=4))
    twice, notes = resolve(once)
    assert twice is once
    assert notes == ()


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm", "llama.cpp", "faster-whisper"])
def test_an_engine_that_only_serves_trains_nothing(engine: str) -> None:
    asked = Workload(LLAMA_3_1_8B, task="training", engine=engine, sequence_length=512.0)
    work, notes = resolve(asked)
    assert work.engine == "pytorch"
    assert [(n.value, n.why) for n in notes if n.field == "engine"] == [("pytorch", "engine_cannot_train")]
    kept, _ = resolve(Workload(LLAMA_3_1_8B, engine=engine))
    assert kept.engine == engine
