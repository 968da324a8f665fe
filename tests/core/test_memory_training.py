"""Memory of training, against published peaks, maxima of batch and limits of cards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.core.decide.fit import judge, max_batch_size
from app.core.formulas import FORMULAS
from app.core.memory import estimate
from app.core.memory.adapters import adapter_parameters
from app.core.model.architecture import architecture_from_fields
from app.core.units import GIB
from app.core.workload import Offload, Parallelism, Workload
from tests.core.model_examples import (
    BERT_BASE,
    BERT_LARGE,
    LLAMA_2_7B,
    LLAMA_3_1_8B,
    QWEN3_30B,
    RESNET_50,
    decoder,
)


def _training(model: Any, **fields: Any) -> Workload:
    return Workload(model, task="training", **fields)


def _verdict(work: Workload, usable: float) -> str:
    return judge(estimate(work), usable)[0]


LINEAR_SHARE = 1.0 - BERT_LARGE.embedding_parameters / BERT_LARGE.parameters


@pytest.mark.parametrize(
    ("fields", "bytes_per_parameter"),
    [
        ({"precision": "fp32"}, 16.0),
        # Autocast keeps 16-bit copies of the linears: 18 B but for the embeddings.
        ({"precision": "bf16", "recipe": "mixed"}, 16.0 + 2.0 * LINEAR_SHARE),
        ({"precision": "bf16", "recipe": "pure"}, 8.0),
        ({"precision": "fp32", "optimizer": "sgd"}, 8.0),
        ({"precision": "fp32", "optimizer": "momentum"}, 12.0),
        ({"precision": "fp32", "optimizer": "lion"}, 12.0),
        ({"precision": "fp32", "optimizer": "adamw-8bit"}, 10.1),
        ({"precision": "fp32", "optimizer": "adafactor"}, 8.05),
    ],
)
def test_states_per_parameter(fields: dict[str, Any], bytes_per_parameter: float) -> None:
    # Batch and length large enough that the step's buffer hides behind the activations.
    answer = estimate(_training(BERT_LARGE, batch_size=16, sequence_length=512, **fields))
    held = sum(float(answer.part(p)) for p in ("weights", "gradients", "optimizer"))
    assert held * GIB / BERT_LARGE.parameters == pytest.approx(bytes_per_parameter, rel=1e-6)


def test_feature_5_bert_large_fp32_batch_32_at_128() -> None:
    work = _training(BERT_LARGE, precision="fp32", batch_size=32, sequence_length=128)
    answer = estimate(work)
    states = sum(float(answer.part(p)) for p in ("weights", "gradients", "optimizer"))
    assert states * GIB / 1e9 == pytest.approx(5.36, abs=0.01)
    # "about 14-16 GB + context": the eager kernels of PyTorch measure 1.26 x the textbook's activations.
    without_context = float(answer.per_gpu_gib.expected - answer.part("context")) * GIB / 1e9
    assert 14.0 <= without_context <= 17.0
    assert _verdict(work, 11.6) == "does_not_fit"  # RTX 3060 12 GB
    assert _verdict(work, 15.76) == "tight"  # RTX 4060 Ti 16 GB
    assert _verdict(work, 23.7) == "fits"  # RTX 3090


def test_feature_5_bert_large_amp_batch_32_at_512() -> None:
    eager = _training(BERT_LARGE, precision="fp16", batch_size=32, sequence_length=512, attention="eager")
    assert estimate(eager).per_gpu_gib.expected == pytest.approx(60, rel=0.08)
    assert _verdict(eager, 23.7) == _verdict(eager, 39.5) == "does_not_fit"
    assert _verdict(eager, 79.2) != "does_not_fit"
    flash = replace(eager, attention="flash")
    assert 20 <= float(estimate(flash).per_gpu_gib.expected) <= 25


@pytest.mark.parametrize(
    ("fields", "measured_gib"),
    [
        ({"precision": "fp32", "batch_size": 4}, 14.60),
        ({"precision": "fp32", "batch_size": 1}, 8.48),
        ({"precision": "fp32", "batch_size": 1, "gradient_checkpointing": True}, 6.62),
        ({"precision": "fp16", "batch_size": 4}, 13.61),
        ({"precision": "fp16", "batch_size": 1, "gradient_checkpointing": True}, 7.10),
        ({"precision": "fp32", "batch_size": 4, "optimizer": "adafactor"}, 12.01),
        ({"precision": "fp32", "batch_size": 4, "optimizer": "adamw-8bit"}, 12.78),
    ],
)
def test_pytorch_bert_large_at_512(fields: dict[str, Any], measured_gib: float) -> None:
    # Hugging Face Trainer with PyTorch 1.10 on a V100, nvidia-smi; within 8 %.
    work = _training(BERT_LARGE, sequence_length=512, attention="eager", software="old", **fields)
    assert estimate(work).per_gpu_gib.expected == pytest.approx(measured_gib, rel=0.08)


@pytest.mark.parametrize(
    ("model", "length", "low", "high"),
    [
        (BERT_LARGE, 128, 4, 9),
        (BERT_LARGE, 256, 1, 3),
        (BERT_LARGE, 384, 0, 1),
        (BERT_LARGE, 512, 0, 0),
        (BERT_BASE, 128, 24, 44),
        (BERT_BASE, 320, 11, 16),
        (BERT_BASE, 512, 5, 8),
    ],
    ids=lambda v: getattr(v, "id", None) or str(v),
)
def test_feature_6_and_7_tensorflow_1_on_12_gb(model: Any, length: int, low: int, high: int) -> None:
    # google-research/bert on a Titan X: 6 / 2 / 0 / 0 for large, 32 / 14 / 6 for base.
    work = _training(model, precision="fp32", sequence_length=length, engine="tensorflow", software="old")
    assert low <= max_batch_size(work, None, 11.9) <= high


@pytest.mark.parametrize(
    ("precision", "usable", "runs", "fails"),
    [("tf32", 39.5, 16, 32), ("tf32", 79.2, 38, 76), ("fp16", 79.2, 76, 512), ("fp32", 15.77, 3, 6)],
)
def test_feature_6_tensorflow_2_bert_large_at_384(
    precision: str, usable: float, runs: int, fails: int
) -> None:
    # NVIDIA DeepLearningExamples: batches that ran and batches stated as out of memory.
    work = _training(BERT_LARGE, precision=precision, sequence_length=384, engine="tensorflow")
    assert runs <= max_batch_size(work, None, usable) < fails


def test_feature_7_fused_kernels_train_larger_batches() -> None:
    work = _training(BERT_BASE, precision="fp32", sequence_length=128, attention="flash")
    assert 80 <= max_batch_size(work, None, 11.9) <= 105


def test_feature_8_llama_2_7b_by_method() -> None:
    full = _training(LLAMA_2_7B, batch_size=1, sequence_length=512, gradient_checkpointing=True)
    assert float(estimate(full).per_gpu_gib.expected) * GIB > 108e9
    assert _verdict(full, 23.6) == "does_not_fit"
    lora = Workload(LLAMA_2_7B, task="lora", batch_size=1, sequence_length=512)
    assert 15 <= float(estimate(lora).per_gpu_gib.expected) <= 20
    assert _verdict(lora, 23.6) != "does_not_fit"
    served = Workload(LLAMA_2_7B, precision="gguf-q4_k_m", batch_size=1, sequence_length=2048)
    assert 4 <= float(estimate(served).per_gpu_gib.expected) <= 6
    assert _verdict(served, 7.6) == "fits"


@pytest.mark.parametrize(
    ("batch", "measured_gib"),
    [(1, 19.84), (2, 27.07)],
)
def test_lora_of_llama_2_7b_without_checkpointing(batch: int, measured_gib: float) -> None:
    # LitGPT, 1,304 tokens, torch max_memory_allocated; within 5 %.
    work = Workload(
        LLAMA_2_7B, task="lora", batch_size=batch, sequence_length=1304, lora_rank=8, lora_targets="attention"
    )
    assert estimate(work).allocated_gib.expected == pytest.approx(measured_gib, rel=0.05)


@pytest.mark.parametrize(("length", "measured_gib"), [(4096, 8.38), (16_384, 17.70), (32_768, 29.80)])
def test_qlora_of_llama_2_7b_grows_with_the_length(length: int, measured_gib: float) -> None:
    # LLaMA-Factory, flash attention and checkpointing; within 8 %.
    work = Workload(
        LLAMA_2_7B, task="qlora", batch_size=1, sequence_length=length, gradient_checkpointing=True
    )
    assert estimate(work).reserved_gib.expected == pytest.approx(measured_gib, rel=0.08)


@pytest.mark.parametrize(
    ("fields", "measured_gib"),
    [
        ({}, 60.0),
        ({"compile": True}, 51.0),
        ({"compile": True, "logits": "chunked"}, 42.9),
        ({"compile": True, "logits": "chunked", "gradient_checkpointing": True}, 24.9),
    ],
)
def test_pure_bf16_training_of_llama_3_2_3b(fields: dict[str, Any], measured_gib: float) -> None:
    # torchtune, two packed sequences of 4,096; within 8 %.
    model = decoder(
        layers=28,
        hidden_size=3072,
        intermediate_size=8192,
        attention_heads=24,
        kv_heads=8,
        head_dim=128,
        vocab_size=128_256,
        tied_embeddings=True,
    )
    work = _training(model, recipe="pure", batch_size=2, sequence_length=4096, **fields)
    assert estimate(work).allocated_gib.expected == pytest.approx(measured_gib, rel=0.08)


def test_eager_scores_cost_five_bytes_an_entry() -> None:
    # Qwen-7B at 2,048: +19.97 GiB without flash attention = 4.99 a s^2 L; with checkpointing nothing.
    model = decoder(
        layers=32,
        hidden_size=4096,
        intermediate_size=11_008,
        attention_heads=32,
        kv_heads=32,
        vocab_size=151_936,
    )
    work = Workload(model, task="lora", batch_size=1, sequence_length=2048, attention="flash")
    eager = replace(work, attention="eager")
    gap = float(estimate(eager).allocated_gib.expected - estimate(work).allocated_gib.expected)
    assert gap == pytest.approx(19.97, rel=0.08)
    checkpointed = [estimate(replace(w, gradient_checkpointing=True)) for w in (work, eager)]
    saved = float(checkpointed[1].allocated_gib.expected - checkpointed[0].allocated_gib.expected)
    assert saved < 1.0


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        ("attention", 16 * 32 * (4 * 4096 + 2 * 4096 + 2 * 1024)),
        ("all-linear", 16 * 32 * (4 * 4096 + 2 * 4096 + 2 * 1024 + 3 * (4096 + 14_336))),
    ],
)
def test_adapter_parameters(targets: str, expected: int) -> None:
    assert adapter_parameters(LLAMA_3_1_8B, 16, targets) == expected


def test_zero_shards_optimizer_then_gradients_then_weights() -> None:
    work = _training(LLAMA_3_1_8B, batch_size=1, sequence_length=512, gradient_checkpointing=True)
    parts = {stage: estimate(work, Parallelism(data=8, zero_stage=stage)) for stage in (0, 1, 2, 3)}
    states = {s: [float(e.part(p)) for p in ("weights", "gradients", "optimizer")] for s, e in parts.items()}
    assert states[1][0] == states[2][0] > 7 * states[3][0] / 2
    assert states[1][1] == pytest.approx(8 * states[2][1])
    assert states[1][2] < states[0][2] / 4
    assert parts[3].per_gpu_gib.expected < parts[2].per_gpu_gib.expected < parts[1].per_gpu_gib.expected
    # Activations and logits never shard over the data degree.
    assert parts[3].part("logits") == parts[0].part("logits")


def test_tensor_and_pipeline_degrees_divide_the_states() -> None:
    work = _training(LLAMA_3_1_8B, batch_size=1, sequence_length=2048)
    one = estimate(work)
    split = estimate(work, Parallelism(tensor=4))
    assert split.part("gradients") == pytest.approx(float(one.part("gradients")) / 4)
    # Sequence parallelism goes with it: norms and layer inputs are sharded as well.
    assert split.part("activations") == pytest.approx(float(one.part("activations")) / 4, rel=0.02)
    stages = estimate(work, Parallelism(pipeline=4))
    assert (
        float(one.part("gradients")) / 4 < float(stages.part("gradients")) < float(one.part("gradients")) / 3
    )


def test_feature_20_llama_2_13b_needs_four_80_gb_cards() -> None:
    model = decoder(
        layers=40,
        hidden_size=5120,
        intermediate_size=13_824,
        attention_heads=40,
        kv_heads=40,
        vocab_size=32_000,
    )
    work = _training(model, batch_size=1, sequence_length=2048, gradient_checkpointing=True)
    verdicts = {n: judge(estimate(work, Parallelism(data=n, zero_stage=3)), 79.2)[0] for n in (2, 4)}
    assert verdicts == {2: "does_not_fit", 4: "fits"}


def test_offloading_removes_what_it_moves() -> None:
    work = _training(LLAMA_2_7B, batch_size=1, sequence_length=2048, gradient_checkpointing=True)
    moved = replace(work, offload=Offload(optimizer=True, activations=True))
    assert estimate(moved).per_gpu_gib.expected < estimate(work).per_gpu_gib.expected


def test_a_mixture_of_experts_trains_all_its_parameters() -> None:
    answer = estimate(_training(QWEN3_30B, batch_size=1, sequence_length=512))
    assert float(answer.part("gradients")) * GIB == pytest.approx(30_532_122_624 * 4)


@pytest.mark.parametrize(
    ("family", "fields"),
    [("encoder-decoder", {"source_length": 512}), ("speech", {})],
)
def test_two_sided_models_train(family: str, fields: dict[str, Any]) -> None:
    model = architecture_from_fields({"family": family, "parameters": 7.4e8})
    one, two, eight = (
        estimate(_training(model, batch_size=batch, sequence_length=128, **fields)) for batch in (1, 2, 8)
    )
    step = float(two.part("activations")) - float(one.part("activations"))
    assert step > 0
    assert float(eight.part("activations")) - float(one.part("activations")) == pytest.approx(7 * step)
    assert one.part("weights") == eight.part("weights")


@pytest.mark.parametrize("task", ["training", "lora", "qlora"])
@pytest.mark.parametrize("model", [LLAMA_3_1_8B, BERT_LARGE], ids=lambda m: m.id)
def test_array_form_equals_the_scalar_form(task: Any, model: Any) -> None:
    batches = np.array([1.0, 3.0, 32.0])
    lengths = np.array([128.0, 2048.0, 512.0])
    work = Workload(model, task=task, batch_size=batches, sequence_length=lengths)
    plan = Parallelism(data=4, zero_stage=2)
    together = estimate(work, plan)
    for i in range(3):
        alone = estimate(replace(work, batch_size=batches[i].item(), sequence_length=lengths[i].item()), plan)
        assert together.per_gpu_gib.expected[i] == pytest.approx(alone.per_gpu_gib.expected, rel=1e-12)
        assert together.per_gpu_gib.low[i] == pytest.approx(alone.per_gpu_gib.low, rel=1e-12)


@pytest.mark.parametrize("model", [LLAMA_3_1_8B, BERT_LARGE, RESNET_50], ids=lambda m: m.id)
def test_parts_sum_exactly_and_name_registered_formulas(model: Any) -> None:
    answer = estimate(_training(model, batch_size=3, sequence_length=300), Parallelism(data=2))
    assert sum(p.gib for p in answer.parts) == answer.per_gpu_gib.expected
    assert {p.formula for p in answer.parts} <= FORMULAS.keys()
    assert answer.per_gpu_gib.low < answer.per_gpu_gib.expected < answer.per_gpu_gib.high
