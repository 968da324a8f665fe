"""What engines and versions lay out differently: published pools, buffers and loads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.core.memory import estimate
from app.core.memory.kv import padded_window_share, stores_windows_in_full
from app.core.memory.weights import model_bytes
from app.core.model.architecture import ModelArchitecture, architecture_from_fields
from app.core.units import GIB
from app.core.workload import Offload, Parallelism, Workload
from tests.core.model_examples import DEEPSEEK_V3, GEMMA_3_27B, LLAMA_3_1_8B, QWEN3_30B

GEMMA_3_1B = architecture_from_fields(
    {
        "family": "decoder", "name": "gemma-3-1b", "layers": 26, "hidden_size": 1152,
        "intermediate_size": 6912, "attention_heads": 4, "kv_heads": 1, "head_dim": 256,
        "vocab_size": 262_144, "tied_embeddings": True, "sliding_window": 512, "full_attention_layers": 4,
    }
)  # fmt: skip
QWEN2_72B = architecture_from_fields(
    {
        "family": "decoder", "name": "qwen2.5-72b", "layers": 80, "hidden_size": 8192,
        "intermediate_size": 29568, "attention_heads": 64, "kv_heads": 8, "head_dim": 128,
        "vocab_size": 152_064, "tied_embeddings": False,
    }
)  # fmt: skip


def test_ik_llama_cpp_holds_windows_in_full() -> None:
    # Log of Gemma-3-27B: 507,904 B a token, 15.5 GiB at 32,768 tokens.
    work = Workload(GEMMA_3_27B, precision="gguf-q4_k_m", kv_precision="fp16", sequence_length=32_768)
    old = estimate(replace(work, software="old"))
    assert old.kv_bytes_per_token == pytest.approx(507_904)
    assert old.kv_reserved_gib == pytest.approx(15.5)
    assert float(estimate(work).kv_reserved_gib) < 0.25 * float(old.kv_reserved_gib)


def test_vllm_pads_groups_of_unequal_layers() -> None:
    # vLLM 0.13, gemma-3-1b: 26 layers become 28 ("may waste at most 9.09 %"): 28,671 B a token in its log.
    work = Workload(GEMMA_3_1B, precision="bf16", engine="vllm", engine_version="0.13", sequence_length=256)
    assert estimate(work).kv_bytes_per_token == pytest.approx(28_671, rel=0.001)
    assert padded_window_share(4, 22) == pytest.approx(24 / 22)
    assert padded_window_share(5, 6) == pytest.approx(1.0)
    assert padded_window_share(0, 26) == 1.0


@pytest.mark.parametrize(
    ("engine", "version", "unequal", "full"),
    [
        ("vllm", "0.9.2", False, True),
        ("vllm", "0.13", False, False),
        # Gemma 4: heads of windowed layers differ; 0.20 held about 55k tokens where 0.21 held 525k.
        ("vllm", "0.20", True, True),
        ("vllm", "0.21", True, False),
        ("sglang", "0.4.4", False, True),
        ("sglang", "", False, False),
        ("tensorrt-llm", "", False, True),
        ("llama.cpp", "", False, False),
    ],
)
def test_which_engines_hold_windows_in_full(engine: str, version: str, unequal: bool, full: bool) -> None:
    model = replace(GEMMA_3_1B, sliding_kv_heads=2, sliding_head_dim=128) if unequal else GEMMA_3_1B
    work = Workload(model, engine=engine, engine_version=version, sequence_length=4096)
    assert stores_windows_in_full(work) is full


def test_layers_left_on_the_host_keep_their_cache_there() -> None:
    # llama.cpp log of a 72B model, 43 of 80 layers on the card: 344 MiB of KV at 2,048 tokens.
    work = Workload(
        QWEN2_72B, precision="gguf-q6_k", kv_precision="fp16", sequence_length=2048, weights_gib=62.0,
        offload=Offload(layers_on_gpu=43),
    )  # fmt: skip
    assert float(estimate(work).kv_reserved_gib) == pytest.approx(0.336, abs=0.001)


def test_the_last_layers_go_to_the_card_first_and_hold_the_experts() -> None:
    # DeepSeek-R1 F16, 1,252 GiB, three of 61 layers on cards: 64.4 GiB.
    work = Workload(
        DEEPSEEK_V3, precision="gguf-f16", sequence_length=512, weights_gib=1251.99,
        offload=Offload(layers_on_gpu=3),
    )  # fmt: skip
    assert float(estimate(work).part("weights")) == pytest.approx(64.4, rel=0.01)


def test_a_gguf_mixture_keeps_its_shared_tensors_at_more_bits() -> None:
    # DeepSeek-V3 Q4_K_M, 379.03 GiB: the part beside the experts is 11.6 GiB on the cards.
    work = Workload(
        DEEPSEEK_V3, precision="gguf-q4_k_m", sequence_length=2048, weights_gib=379.03,
        offload=Offload(experts=True),
    )  # fmt: skip
    assert float(estimate(work).part("weights")) == pytest.approx(11.62, rel=0.05)
    sizes = model_bytes(DEEPSEEK_V3, "gguf-q4_k_m", "vllm", 379.03)
    assert sizes.total == pytest.approx(379.03 * GIB)


def test_towers_and_named_components_keep_their_own_format() -> None:
    fields = {"family": "decoder", "parameters": 8.29e9, "layers": 28, "hidden_size": 3584,
              "intermediate_size": 18944, "attention_heads": 28, "kv_heads": 4, "head_dim": 128,
              "vocab_size": 152_064, "tied_embeddings": False}  # fmt: skip

    def loaded(**tower: object) -> float:
        part = {"name": "vision tower", "parameters": 0.676e9, **tower}
        model = architecture_from_fields({**fields, "components": [part]})
        return model_bytes(model, "nf4", "vllm").total / GIB

    # unsloth, Qwen2.5-VL-7B in 4 bit: 6.59-6.79 GiB with the tower at 16 bit.
    assert loaded() == pytest.approx(6.6, rel=0.05)
    assert loaded() - loaded(precision="nf4") == pytest.approx(0.676e9 * (2 - 4.127 / 8) / GIB)


def test_transformers_keeps_the_head_of_an_fp8_checkpoint() -> None:
    # Qwen3-1.7B, 30,720 tokens of prompt: 6,151 MB in FP8; the tied head is loaded twice.
    model = architecture_from_fields(
        {"family": "decoder", "name": "qwen3-1.7b", "layers": 28, "hidden_size": 2048,
         "intermediate_size": 6144, "attention_heads": 16, "kv_heads": 8, "head_dim": 128,
         "vocab_size": 151_936, "tied_embeddings": True}
    )  # fmt: skip
    assert model_bytes(model, "fp8", "transformers").head > 0
    assert model_bytes(model, "bf16", "transformers").head == model_bytes(model, "fp8", "vllm").head == 0
    work = Workload(model, precision="fp8", engine="transformers", sequence_length=32_768, output_length=2048)
    answer = estimate(work)
    resident = float(answer.allocated_gib.expected) - float(answer.part("activations"))
    assert resident == pytest.approx(6.007, rel=0.04)


def _buffer(model: ModelArchitecture, **fields: object) -> float:
    work = Workload(model, precision="gguf-q4_k_m", batch_size=1, **fields)  # type: ignore[arg-type]
    memory = estimate(work)
    return float(memory.part("engine")) - (float(memory.kv_reserved_gib) - float(memory.part("kv_cache")))


def test_latent_attention_needs_a_buffer_that_grows_with_the_context() -> None:
    # ik_llama.cpp, DeepSeek-V3, ubatch 1,024 at 131,072 tokens: 11,718 MiB.
    found = _buffer(DEEPSEEK_V3, sequence_length=131_072, max_batched_tokens=1024)
    assert found == pytest.approx(11.44, rel=0.10)
    assert _buffer(DEEPSEEK_V3, sequence_length=131_072, software="old") > found


def test_only_serving_engines_hold_collective_buffers() -> None:
    split = Parallelism(pipeline=2)
    for engine, holds in (("vllm", True), ("llama.cpp", False), ("transformers", False)):
        precision = "gguf-q8_0" if engine == "llama.cpp" else "bf16"
        work = Workload(LLAMA_3_1_8B, precision=precision, engine=engine, sequence_length=2048)
        assert (float(estimate(work, split).part("communication")) > 0) is holds


def test_unquantized_weights_are_exact() -> None:
    for model in (LLAMA_3_1_8B, QWEN3_30B):
        for engine in ("vllm", "transformers"):
            work = Workload(model, precision="bf16", engine=engine, sequence_length=2048)
            assert float(estimate(work).part("weights")) == pytest.approx(2 * model.parameters / GIB)
