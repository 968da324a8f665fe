"""Memory of serving, against published sizes, pools and peaks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.core.formulas import FORMULAS
from app.core.gpu import Gpu
from app.core.memory import estimate, kv_bytes_per_token
from app.core.memory.kv import sequence_bytes
from app.core.model.architecture import architecture_from_fields
from app.core.units import GIB
from app.core.workload import Offload, Parallelism, Workload
from tests.core.model_examples import (
    BERT_LARGE,
    DEEPSEEK_V3,
    GEMMA_3_27B,
    GPT_OSS_120B,
    LLAMA_2_7B,
    LLAMA_3_1_8B,
    QWEN2_5_7B,
    QWEN3_30B,
    decoder,
)


def test_llama_3_1_8b_at_8192_tokens_and_16_sequences() -> None:
    answer = estimate(Workload(LLAMA_3_1_8B, precision="bf16", batch_size=16, sequence_length=8192))
    assert answer.part("weights") == pytest.approx(14.96, abs=0.005)
    assert answer.part("kv_cache") == 16.0
    assert answer.kv_reserved_gib == 16.0
    assert answer.kv_bytes_per_token == 131_072


def test_feature_38_kv_of_one_request() -> None:
    answer = estimate(Workload(LLAMA_3_1_8B, batch_size=1, sequence_length=8192))
    assert float(answer.part("kv_cache")) * GIB / 1e9 == pytest.approx(1.0737, abs=1e-3)


def test_deepseek_v3_keeps_the_latent_only() -> None:
    work = Workload(DEEPSEEK_V3, precision="fp8", batch_size=1, sequence_length=8192)
    assert estimate(work).part("kv_cache") == pytest.approx(0.536, abs=0.0005)
    # The latent is whole on every tensor rank.
    assert estimate(work, Parallelism(tensor=8)).part("kv_cache") == pytest.approx(0.536, abs=0.0005)


@pytest.mark.parametrize(
    ("model", "full", "sliding", "window", "per_layer"),
    [
        (GEMMA_3_27B, 10, 52, 1024, 2 * 16 * 128 * 2),
        (GPT_OSS_120B, 18, 18, 128, 2 * 8 * 64 * 2),
        (QWEN3_30B, 48, 0, 0, 2 * 4 * 128 * 2),
    ],
    ids=["gemma-3", "gpt-oss", "qwen3-moe"],
)
def test_kv_follows_the_layer_pattern(
    model: Any, full: int, sliding: int, window: int, per_layer: int
) -> None:
    tokens = 32_768
    expected = per_layer * (full * tokens + sliding * min(tokens, window))
    answer = estimate(Workload(model, batch_size=3, sequence_length=tokens))
    assert float(answer.part("kv_cache")) * GIB == pytest.approx(3 * expected, rel=1e-12)


def test_windows_are_worth_nothing_on_engines_that_keep_all_tokens() -> None:
    # TensorRT-LLM log of gpt-oss-120b: 73,671 bytes a token, all 36 layers in full.
    work = Workload(
        GPT_OSS_120B, precision="mxfp4", engine="tensorrt-llm", batch_size=1, sequence_length=32_768
    )
    answer = estimate(work)
    assert answer.kv_bytes_per_token == pytest.approx(73_728, rel=1e-6)
    assert answer.kv_reserved_gib > 1.9 * answer.part("kv_cache")
    # SGLang 0.4.4 log of gemma-3-4b had no window either; newer ones do.
    old = estimate(replace(work, engine="sglang", engine_version="0.4.4"))
    new = estimate(replace(work, engine="sglang", engine_version="0.5.2"))
    assert old.kv_reserved_gib > new.kv_reserved_gib


def test_llama_cpp_pads_windows_to_256_cells() -> None:
    # Log of gpt-oss-120b, two sequences of 131,072: SWA cells pad256(128 + 512) = 768 each.
    work = Workload(
        GPT_OSS_120B, precision="gguf-mxfp4", kv_precision="fp16", batch_size=1, sequence_length=131_072
    )
    per_layer = 2 * 8 * 64 * 2
    expected = 18 * per_layer * 131_072 + 18 * per_layer * 768
    assert float(estimate(work).kv_reserved_gib) * GIB == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("model", "tensor", "measured"),
    [
        (LLAMA_3_1_8B, 1, 131_072),
        (LLAMA_3_1_8B, 8, 16_384),
        (LLAMA_3_1_8B, 16, 16_384),
        (QWEN3_30B, 1, 98_304),
        (QWEN3_30B, 4, 24_576),
        (QWEN3_30B, 8, 24_576),
        (DEEPSEEK_V3, 8, 70_272),
    ],
)
def test_heads_are_replicated_once_ranks_outnumber_them(model: Any, tensor: int, measured: int) -> None:
    # SGLang log of Qwen3-Omni-30B at TP 4: 24,574 bytes; DeepSeek-V3 latent 61 x 576 x 2.
    assert kv_bytes_per_token(model, "bf16", tensor) == measured


@pytest.mark.parametrize(
    ("kv_precision", "ratio"), [("fp8", 0.5), ("int8", 0.5), ("q8_0", 0.53125), ("q4_0", 0.28125)]
)
def test_kv_formats_with_their_scales(kv_precision: str, ratio: float) -> None:
    base = kv_bytes_per_token(LLAMA_3_1_8B, "bf16")
    assert kv_bytes_per_token(LLAMA_3_1_8B, kv_precision) == pytest.approx(base * ratio)


def test_heads_by_layer_and_layers_without_attention() -> None:
    model = decoder(
        layers=4,
        hidden_size=256,
        intermediate_size=512,
        attention_heads=8,
        head_dim=32,
        kv_heads=[8, 2, 0, 1],
        vocab_size=1000,
    )
    assert kv_bytes_per_token(model, "fp16") == 2 * 32 * (8 + 2 + 0 + 1) * 2
    assert kv_bytes_per_token(model, "fp16", 4) == 2 * 32 * (2 + 1 + 0 + 1) * 2


def test_linear_attention_adds_a_constant_state() -> None:
    model = decoder(
        layers=8,
        hidden_size=256,
        intermediate_size=512,
        attention_heads=8,
        kv_heads=2,
        vocab_size=1000,
        full_attention_layers=2,
        linear_attention_layers=6,
        linear_state_bytes=1_000_000,
    )
    per_token = 2 * 2 * 32 * 2 * 2
    assert sequence_bytes(model, 100.0) == 1_000_000 + 100 * per_token
    assert sequence_bytes(model, 200.0) == 1_000_000 + 200 * per_token


@pytest.mark.parametrize(
    ("model", "precision", "engine", "measured", "tolerance"),
    [
        (LLAMA_3_1_8B, "bf16", "vllm", 14.96, 0.001),
        (GPT_OSS_120B, "mxfp4", "vllm", 65.97, 0.03),
        (QWEN2_5_7B, "awq", "transformers", 5.20, 0.02),
        (QWEN3_30B, "bf16", "sglang", 56.98, 0.005),
        (LLAMA_2_7B, "nf4", "vllm", 3.56, 0.03),
    ],
)
def test_loaded_weights(model: Any, precision: str, engine: str, measured: float, tolerance: float) -> None:
    work = Workload(model, precision=precision, engine=engine, sequence_length=2048)
    assert estimate(work).part("weights") == pytest.approx(measured, rel=tolerance)


def test_a_known_checkpoint_size_wins_over_the_label() -> None:
    # Gemma-4-31B "NVFP4" loads at 31.18 GiB: 8.6 bits a parameter.
    work = Workload(LLAMA_3_1_8B, precision="nvfp4", weights_gib=9.9, sequence_length=2048)
    assert estimate(work).part("weights") == pytest.approx(9.9)
    assert estimate(work, Parallelism(tensor=2)).part("weights") == pytest.approx(4.95, rel=0.02)


def test_llama_cpp_leaves_the_token_table_on_the_host() -> None:
    untied = Workload(LLAMA_3_1_8B, precision="gguf-f16", sequence_length=2048)
    table = 128_256 * 4096 * 2 / GIB
    assert estimate(untied).part("weights") == pytest.approx(14.957 - table, abs=0.002)


@pytest.mark.parametrize(
    ("hidden", "vocab", "experts", "measured_mib"),
    [
        (2048, 151_936, 0, 300.75),
        (5376, 262_208, 0, 522.62),
        (2048, 151_936, 128, 304.75),
        (4096, 151_936, 128, 312.75),
    ],
)
def test_llama_cpp_compute_buffer(hidden: int, vocab: int, experts: int, measured_mib: float) -> None:
    # 512 x (4 V + 4 h) bytes, 8 h with experts; logs of Qwen2.5-3B, Gemma-3-27B, Qwen3-30B, Qwen3-235B.
    model = decoder(
        layers=36,
        hidden_size=hidden,
        intermediate_size=4 * hidden,
        attention_heads=16,
        kv_heads=2,
        vocab_size=vocab,
        experts=experts,
        experts_per_token=8 if experts else 0,
    )
    work = Workload(model, precision="gguf-q8_0", batch_size=1, sequence_length=4096)
    assert float(estimate(work).part("engine")) * 1024 == pytest.approx(measured_mib, abs=0.02)


@pytest.mark.parametrize(
    ("precision", "prompt", "measured"),
    [
        ("bf16", 1, 14.38),
        ("bf16", 6144, 15.38),
        ("bf16", 30_720, 19.97),
        ("int8", 1, 8.42),
        ("int8", 30_720, 14.01),
        ("gptq", 6144, 6.52),
        ("awq", 30_720, 10.98),
    ],
)
def test_transformers_peak_of_qwen2_5_7b(precision: str, prompt: int, measured: float) -> None:
    # Published peak (torch max_memory_allocated) of generating 2,048 tokens; every row within 3 %.
    work = Workload(
        QWEN2_5_7B,
        precision=precision,
        engine="transformers",
        batch_size=1,
        sequence_length=prompt + 2048,
        output_length=2048,
    )
    allocated = estimate(work).allocated_gib
    assert allocated.expected == pytest.approx(measured, rel=0.03)
    assert allocated.low <= measured <= allocated.high


def test_vllm_activation_peak_of_llama_3_8b() -> None:
    # Start log with 8,192 scheduled tokens: 1.26 GiB.
    work = Workload(LLAMA_3_1_8B, sequence_length=8192, max_batched_tokens=8192)
    answer = estimate(work)
    assert float(answer.part("activations")) + float(answer.part("logits")) == pytest.approx(1.26, rel=0.05)


def test_moe_needs_all_experts_and_can_keep_them_on_the_host() -> None:
    work = Workload(QWEN3_30B, sequence_length=2048)
    whole = float(estimate(work).part("weights"))
    assert whole == pytest.approx(30_532_122_624 * 2 / GIB, rel=1e-9)
    offloaded = float(estimate(replace(work, offload=Offload(experts=True))).part("weights"))
    experts = 48 * 128 * 3 * 2048 * 768
    assert whole - offloaded == pytest.approx(experts * 2 / GIB, rel=1e-9)


def test_sharding_divides_the_need_of_each_card() -> None:
    work = Workload(LLAMA_3_1_8B, batch_size=16, sequence_length=8192)
    one = estimate(work)
    tensor = estimate(work, Parallelism(tensor=2))
    assert tensor.part("kv_cache") == 8.0
    assert tensor.part("weights") == pytest.approx(float(one.part("weights")) / 2, rel=0.02)
    data = estimate(work, Parallelism(data=3))
    assert data.part("weights") == one.part("weights")
    assert data.part("kv_cache") == 6.0  # ceil(16 / 3) = 6 sequences of 1 GiB
    stages = estimate(work, Parallelism(pipeline=4))
    assert stages.part("kv_cache") == 4.0
    assert tensor.part("communication") > 0


def test_reserved_is_the_fraction_of_a_given_card() -> None:
    card = Gpu(id="h100", name="H100", vendor="NVIDIA", usable_gib=79.2)
    work = Workload(LLAMA_3_1_8B, batch_size=1, sequence_length=2048)
    assert estimate(work, None, card).reserved_gib.expected == pytest.approx(0.9 * 79.2)
    assert estimate(work, None, card).per_gpu_gib == estimate(work).per_gpu_gib
    assert estimate(replace(work, memory_fraction=0.5), None, card).reserved_gib.high == pytest.approx(39.6)


@pytest.mark.parametrize(
    ("engine", "precision", "measured"),
    [("faster-whisper", "fp16", 4.644), ("faster-whisper", "int8", 3.019), ("pytorch", "fp16", 11.06)],
)
def test_whisper_large_by_engine(engine: str, precision: str, measured: float) -> None:
    model = architecture_from_fields(
        {
            "family": "speech",
            "layers": 32,
            "encoder_layers": 32,
            "hidden_size": 1280,
            "intermediate_size": 5120,
            "attention_heads": 20,
            "vocab_size": 51_865,
        }
    )
    work = Workload(model, precision=precision, engine=engine, batch_size=1)
    need = estimate(work).per_gpu_gib
    assert need.expected == pytest.approx(measured, rel=0.12)
    assert need.low <= measured <= need.high


def test_encoders_and_encoder_decoders_serve() -> None:
    encoder = estimate(Workload(BERT_LARGE, precision="fp16", batch_size=32, sequence_length=512))
    assert encoder.part("weights") == pytest.approx(335_141_888 * 2 / GIB)
    assert encoder.part("kv_cache") == 0
    t5 = architecture_from_fields(
        {
            "family": "encoder-decoder",
            "layers": 24,
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "attention_heads": 16,
        }
    )
    both = estimate(Workload(t5, batch_size=4, sequence_length=128, source_length=512))
    assert float(both.part("kv_cache")) * GIB == pytest.approx(4 * 24 * 2 * 1024 * 2 * (128 + 512))


def test_diffusion_holds_every_component() -> None:
    parts = [{"name": "backbone", "parameters": 11.9e9}, {"name": "text_t5_xxl", "parameters": 4.76e9}]
    model = architecture_from_fields({"family": "diffusion", "name": "flux", "components": parts})
    answer = estimate(Workload(model, batch_size=1, image_size=(1024, 1024)))
    assert answer.part("weights") == pytest.approx((11.9e9 + 4.76e9) * 2 / GIB)
    # Published peak minus loaded for FLUX at 1024 x 1024: 3.9-4.8 GiB.
    assert 3.9 <= float(answer.part("activations")) <= 4.8


def test_assumed_dimensions_widen_the_interval() -> None:
    guess = architecture_from_fields({"family": "decoder", "parameters": 8.03e9})
    wide = estimate(Workload(guess, batch_size=4, sequence_length=4096))
    sure = estimate(Workload(LLAMA_3_1_8B, batch_size=4, sequence_length=4096))
    assert wide.per_gpu_gib.high - wide.per_gpu_gib.low > 1.5 * (sure.per_gpu_gib.high - sure.per_gpu_gib.low)
    assert any(a.why == "dimensions_from_family_pattern" for a in wide.assumptions)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers", "pytorch"])
@pytest.mark.parametrize("model", [LLAMA_3_1_8B, GEMMA_3_27B, DEEPSEEK_V3], ids=lambda m: m.id)
def test_array_form_equals_the_scalar_form(model: Any, engine: str) -> None:
    batches = np.array([1.0, 2.0, 7.0, 64.0])
    lengths = np.array([512.0, 700.0, 4096.0, 70_000.0])
    work = Workload(model, engine=engine, batch_size=batches, sequence_length=lengths, output_length=256)
    together = estimate(work, Parallelism(data=2, tensor=2))
    for i in range(4):
        single = replace(work, batch_size=batches[i].item(), sequence_length=lengths[i].item())
        alone = estimate(single, Parallelism(data=2, tensor=2))
        assert together.per_gpu_gib.expected[i] == pytest.approx(alone.per_gpu_gib.expected, rel=1e-12)
        assert together.per_gpu_gib.high[i] == pytest.approx(alone.per_gpu_gib.high, rel=1e-12)
        assert together.kv_reserved_gib[i] == pytest.approx(alone.kv_reserved_gib, rel=1e-12)


@pytest.mark.parametrize("engine", ["vllm", "llama.cpp", "transformers"])
def test_parts_sum_exactly_and_name_registered_formulas(engine: str) -> None:
    answer = estimate(Workload(LLAMA_3_1_8B, engine=engine, batch_size=5, sequence_length=3000))
    assert sum(p.gib for p in answer.parts) == answer.per_gpu_gib.expected
    assert {p.formula for p in answer.parts} <= FORMULAS.keys()
    assert len({p.part for p in answer.parts}) == len(answer.parts)
    assert answer.per_gpu_gib.low < answer.per_gpu_gib.expected < answer.per_gpu_gib.high
    assert answer.allocated_gib.expected <= answer.reserved_gib.expected < answer.per_gpu_gib.expected
