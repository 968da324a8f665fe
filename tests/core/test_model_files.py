"""Published config.json files: counts, cache, state and bytes as their sources have them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from app.core.faults import InputFault
from app.core.model.architecture import ModelArchitecture
from app.core.model.config_reader import read_config
from app.core.model.reading import ModelFile, Reading, read_model

DATA = Path(__file__).parent.parent / "data" / "configs"
CONFIGS: dict[str, dict[str, Any]] = {
    row["file"]: row["config"] for row in map(json.loads, (DATA / "published.jsonl").read_text().splitlines())
}
FORMAT_ALONE = "mixtral8x7b_hqq_quantization_config"
TRUTH = {
    row["file"]: row
    for row in csv.DictReader((DATA / "truth.csv").read_text().splitlines())
    if row["file"] != FORMAT_ALONE
}


def reading(name: str) -> Reading:
    return read_model(ModelFile(config=CONFIGS[name]))


def model_of(found: Reading) -> ModelArchitecture:
    assert found.model is not None
    return found.model


@pytest.mark.parametrize("name", TRUTH)
def test_a_published_file_is_read_as_its_engine_reads_it(name: str) -> None:
    truth, found = TRUTH[name], reading(name)
    if truth["parameters"]:
        assert found.parameters == pytest.approx(float(truth["parameters"]), rel=0.005)
    if truth["kv_bytes_per_token"]:
        assert found.kv_bytes_per_token == pytest.approx(float(truth["kv_bytes_per_token"]), rel=1e-9)
    assert found.state_bytes_per_sequence == float(truth["state_bytes_per_sequence"])
    assert model_of(found).index_bytes_per_token == float(truth["index_bytes_per_token"])
    if truth["weight_gib"]:
        assert found.weight_gib == pytest.approx(float(truth["weight_gib"]), rel=0.02)
    assert "unknown_model_type" not in [w.code for w in found.warnings]


def test_a_format_without_a_model_is_refused() -> None:
    with pytest.raises(InputFault) as caught:
        read_config(CONFIGS[FORMAT_ALONE])
    assert caught.value.errors[0].code == "unknown_model_type"


@pytest.mark.parametrize(
    ("file", "active"),
    [
        # Published: 3.6 B; 37 B; 10 B; 3 B; 12 B; 3 B. A row of the token table is no weight that is read.
        ("gpt_oss_20b", 3.61e9),
        ("deepseek_v3.1_nvfp4_no_quant_key", 36.6e9),
        ("minimax_m2.5", 10.4e9),
        ("nemotron_NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 3.23e9),
        ("nemotron_NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", 12.23e9),
        ("qwen3_vl_30b_a3b", 3.04e9),
    ],
)
def test_active_parameters_are_what_a_token_reads(file: str, active: float) -> None:
    assert reading(file).active_parameters == pytest.approx(active, rel=0.005)


def test_a_dense_model_is_all_active() -> None:
    found = reading("olmo3.1_32b")
    assert found.active_parameters == found.parameters


def codes(config: dict[str, Any], name: str = "") -> list[str]:
    return [w.code for w in read_model(ModelFile(config=config, name=name)).warnings]


LLAMA: dict[str, Any] = {
    "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14_336, "vocab_size": 128_256,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Llama-3.1-8B", []),
        ("Llama-3.1-13B", ["size_differs_from_name"]),
        ("acme/Llama-8B-Instruct-FP8", ["precision_not_in_file"]),
        ("Llama-3.1-8B-Instruct", []),
        ("my_model_8b_v2", []),
        ("Llama-4-8B-16E", []),
        ("no size", []),
    ],
)
def test_a_name_that_says_something_else_is_said(name: str, said: list[str]) -> None:
    assert codes(LLAMA, name) == said


def test_a_name_with_active_parameters_is_checked_on_both() -> None:
    nemotron = CONFIGS["nemotron_NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"]
    assert codes(nemotron, "Nemotron-3-Nano-31.6B-A3B") == []
    assert codes(nemotron, "Nemotron-3-Nano-102B-A8B") == [
        "size_differs_from_name",
        "active_differs_from_name",
    ]


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ({"moe_latent_size": 1024}, "key_not_understood_factor"),
        ({"attn_type_list": [1, 0] * 16}, "key_not_understood_layout"),
        ({"swa_head_dim": 64}, "key_not_understood_cache"),
        ({"share_layers_enum": 3, "num_mem_blocks": 2, "model_type": "llama"}, "key_not_understood_size"),
    ],
)
def test_a_key_that_matters_and_is_not_read_is_named(keys: dict[str, Any], code: str) -> None:
    found = read_model(ModelFile(config=LLAMA | keys)).warnings
    named = next(w for w in found if w.code == code)
    assert named.params["key"] in keys


@pytest.mark.parametrize(
    "unused",
    [
        {"time_step_limit": [0.0, float("inf")]},
        {"rope_scaling": {"factor": float("nan")}},
        {"note": "x" * 1_000_000},
        {"big": 10**400},
        {"list": [0] * 200_000},
        {"deep": {"a": {"b": [[[[[[[[[[[[1]]]]]]]]]]]]}}},
    ],
)
def test_a_key_that_nobody_reads_refuses_no_file(unused: dict[str, Any]) -> None:
    assert read_config(LLAMA | unused).parameters == read_config(LLAMA).parameters


def test_an_unknown_type_is_read_by_the_keys_of_its_layout() -> None:
    nemotron = CONFIGS["nemotron_NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"]
    found = read_config(nemotron | {"model_type": "nemotron_h_next"})
    assert found.parameters == read_config(nemotron).parameters
    assert found.warnings == ("unknown_model_type",)


def test_widths_by_layer_are_summed() -> None:
    # Gemma 3n E4B: a list of widths, layers that share caches, embeddings for each layer: 7.85 B.
    config = {
        "model_type": "gemma3n",
        "text_config": {
            "model_type": "gemma3n_text", "hidden_size": 2048, "intermediate_size": [16_384] * 35,
            "num_hidden_layers": 35, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 256,
            "vocab_size": 262_400, "num_kv_shared_layers": 15, "hidden_size_per_layer_input": 256,
            "sliding_window": 512, "laurel_rank": 64,
        },
    }  # fmt: skip
    found = read_model(ModelFile(config=config))
    assert found.parameters == pytest.approx(7.85e9, rel=0.01)
    # Four of the twenty layers that write a cache attend to everything.
    assert found.kv_bytes_per_token == 4 * 2 * 2 * 256 * 2


def test_compressed_attention_keeps_little() -> None:
    # DeepSeek-V4-Flash: 284.3 B, experts FP4; one vector for 4 or 128 tokens, keys of indexers beside.
    config = {
        "model_type": "deepseek_v4", "hidden_size": 4096, "num_hidden_layers": 43, "num_attention_heads": 64,
        "num_key_value_heads": 1, "head_dim": 512, "q_lora_rank": 1024, "o_lora_rank": 1024, "o_groups": 8,
        "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
        "num_experts_per_tok": 6, "vocab_size": 129_280, "index_n_heads": 64, "index_head_dim": 128,
        "qk_rope_head_dim": 64, "sliding_window": 128, "hc_mult": 4, "tie_word_embeddings": False,
        "compress_ratios": [0, 0, *([4, 128] * 20), 4, 0],
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
    }  # fmt: skip
    found = read_model(ModelFile(config=config))
    assert found.parameters == pytest.approx(284.3e9, rel=0.001)
    vectors = 21 / 4 + 20 / 128
    assert found.kv_bytes_per_token == pytest.approx(vectors * 512 * 2)
    assert model_of(found).index_bytes_per_token == pytest.approx(21 / 4 * 132)
    assert found.weight_gib == pytest.approx(145, rel=0.01)
    assert found.precision == "mxfp4"
    assert "experts_assumed_fp4" in [w.code for w in found.warnings]
    narrow = read_model(ModelFile(config=config, kv_precision="fp8"))
    # vLLM keeps 584 bytes of a vector: 448 in FP8, 64 rotated elements at 16 bit, scales.
    assert narrow.kv_bytes_per_token == pytest.approx(vectors * 584)


def test_blocks_of_keys_are_indexed_beside_whole_attention() -> None:
    # MiniMax-M3: 428 B; 57 of 60 layers choose blocks by an index key of 128 for each token.
    config = {
        "model_type": "minimax_m3", "hidden_size": 6144, "num_hidden_layers": 60, "num_attention_heads": 64,
        "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 3072, "moe_intermediate_size": 3072,
        "dense_intermediate_size": 12_288, "shared_intermediate_size": 3072, "n_shared_experts": 1,
        "num_local_experts": 128, "num_experts_per_tok": 4, "moe_layer_freq": [0] * 3 + [1] * 57,
        "vocab_size": 200_064, "use_qk_norm": True,
        "sparse_attention_config": {
            "sparse_attention_freq": [0] * 3 + [1] * 57, "sparse_index_dim": 128, "sparse_num_index_heads": 4,
        },
    }  # fmt: skip
    found = read_model(ModelFile(config=config))
    assert found.parameters == pytest.approx(428e9, rel=0.01)
    assert found.kv_bytes_per_token == 60 * 2 * 4 * 128 * 2
    assert model_of(found).index_bytes_per_token == 57 * 128 * 2
