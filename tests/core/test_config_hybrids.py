"""config.json of decoders whose layers differ and of image models: counts and caches as published."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.memory import kv_bytes_per_token
from app.core.model.config_reader import read_config

DELTA_NET = {
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
    "full_attention_interval": 4,
}
SHARED = {
    "model_type": "deepseek_v32", "num_attention_heads": 128, "num_hidden_layers": 61, "hidden_size": 7168,
    "intermediate_size": 18432, "vocab_size": 129280, "kv_lora_rank": 512, "q_lora_rank": 1536,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256,
    "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "n_shared_experts": 1,
    "first_k_dense_replace": 3,
}  # fmt: skip
COUNTED: dict[str, tuple[dict[str, Any], int]] = {
    "DeepSeek-V3.2": (SHARED, 671_877_944_064),
    "GLM-5": (
        SHARED | {
            "model_type": "glm_moe_dsa", "num_attention_heads": 64, "num_hidden_layers": 78,
            "hidden_size": 6144,
            "intermediate_size": 12288, "vocab_size": 154880, "q_lora_rank": 2048, "qk_nope_head_dim": 192,
            "v_head_dim": 256, "index_n_heads": 32, "index_head_dim": 128,
        },
        743_911_218_432,
    ),
    "Qwen3.5-35B-A3B": (
        {
            "model_type": "qwen3_5_moe",
            "text_config": {
                "model_type": "qwen3_5_moe_text", "hidden_size": 2048, "num_hidden_layers": 40,
                "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "vocab_size": 248320,
                "num_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 512,
                "shared_expert_intermediate_size": 512, **DELTA_NET,
            },
        },
        34_660_610_688,
    ),
    "MiniMax-Text-01": (
        {
            "model_type": "minimax_text_01", "hidden_size": 6144, "intermediate_size": 9216,
            "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128,
            "vocab_size": 200064, "num_local_experts": 32, "num_experts_per_tok": 2,
            "attn_type_list": ([0] * 7 + [1]) * 10,
        },
        456_089_655_296,
    ),
    "Llama-4-Maverick": (
        {
            "model_type": "llama4",
            "text_config": {
                "model_type": "llama4_text", "hidden_size": 5120, "intermediate_size": 8192,
                "intermediate_size_mlp": 16384, "num_hidden_layers": 48, "num_attention_heads": 40,
                "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 202048, "num_local_experts": 128,
                "num_experts_per_tok": 1, "interleave_moe_layer_step": 2,
            },
        },
        400_711_848_960,
    ),
    # torchvision and open_clip.
    "ResNet-50": ({"model_type": "resnet"}, 25_557_032),
    "ResNet-18": (
        {
            "model_type": "resnet", "layer_type": "basic", "hidden_sizes": [64, 128, 256, 512],
            "depths": [2, 2, 2, 2],
        },
        11_689_512,
    ),
    "ConvNeXt-T": ({"model_type": "convnext"}, 28_589_128),
    "Swin-T": ({"model_type": "swin"}, 28_288_354),
    "CLIP ViT-B/32": (
        {"model_type": "clip", "text_config": {"model_type": "clip_text_model"}, "vision_config": {}},
        151_277_313,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
def test_count_is_exact(name: str) -> None:
    config, published = COUNTED[name]
    model = read_config(config)
    assert model.parameters == published
    assert "unknown_model_type" not in model.warnings


def test_jamba_keeps_kv_in_every_eighth_layer_only() -> None:
    # Jamba-v0.1: 51.6 B parameters, 12 B active.
    config = {
        "model_type": "jamba", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 65536, "num_experts": 16,
        "num_experts_per_tok": 2,
    }  # fmt: skip
    model = read_config(config)
    assert model.parameters == pytest.approx(51.6e9, rel=0.002)
    assert model.active_parameters == pytest.approx(12e9, rel=0.03)
    assert kv_bytes_per_token(model) == 4 * 2 * 8 * 128 * 2
    assert model.linear_state_bytes > 0


def test_gemma_4_windows_have_heads_of_their_own() -> None:
    config = {
        "model_type": "gemma4_text", "hidden_size": 5376, "intermediate_size": 21504, "num_hidden_layers": 60,
        "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 256, "global_head_dim": 512,
        "num_global_key_value_heads": 4, "attention_k_eq_v": True, "vocab_size": 262144,
        "sliding_window": 1024, "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 10,
    }  # fmt: skip
    model = read_config(config)
    assert (model.kv_heads, model.head_dim) == (4, 512)
    assert (model.sliding_kv_heads, model.sliding_head_dim, model.sliding_layers) == (16, 256, 50)
    assert model.parameters == pytest.approx(31e9, rel=0.015)


def test_nemotron_nas_reads_each_block() -> None:
    blocks = [
        {"attention": {"n_heads_in_group": 16, "no_op": False}, "ffn": {"ffn_mult": 5.25, "no_op": False}},
        {"attention": {"no_op": True}, "ffn": {"ffn_mult": 1.0, "no_op": False}},
        {"attention": {"replace_with_linear": True}, "ffn": {"no_op": True}},
    ]
    model = read_config(
        {
            "model_type": "nemotron-nas", "hidden_size": 8192, "num_attention_heads": 64,
            "vocab_size": 128256, "block_configs": blocks,
        }
    )  # fmt: skip
    assert model.kv_heads == (4, 0, 0)
    assert kv_bytes_per_token(model) == 2 * 4 * 128 * 2
    # 5.25 x 8,192 x 2 / 3 = 28,672; 1.0: 5,461 rounded up to 5,632.
    matrices = 2 * 8192 * 8192 + 2 * 8192 * 512 + 3 * 8192 * (28_672 + 5_632) + 8192 * 8192
    assert model.parameters == matrices + 2 * 128_256 * 8192 + 3 * 8192 + 8192
    assert model.warnings == ()


def test_values_narrower_than_keys() -> None:
    # MiMo-V2-Flash: 309 B; keys of 192 and values of 128, so K : V = 1.5.
    config = {
        "model_type": "mimo_v2_flash", "hidden_size": 4096, "intermediate_size": 16384,
        "num_hidden_layers": 48, "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 192,
        "v_head_dim": 128, "swa_num_key_value_heads": 8, "swa_head_dim": 192, "sliding_window": 128,
        "hybrid_layer_pattern": [0] + [1, 1, 1, 1, 0] * 9 + [1, 1], "moe_layer_freq": [0] + [1] * 47,
        "n_routed_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
        "vocab_size": 152576,
    }  # fmt: skip
    model = read_config(config)
    assert (model.full_layers, model.sliding_layers, model.dense_layers) == (10, 38, 1)
    assert kv_bytes_per_token(model) == (10 * 4 + 38 * 8) * (192 + 128) * 2
    assert model.parameters == pytest.approx(309e9, rel=0.01)


def test_llama_3_2_vision_counts_its_cross_attention() -> None:
    text = {
        "model_type": "mllama_text_model", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
        "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38],
    }  # fmt: skip
    model = read_config({"model_type": "mllama", "text_config": text, "vision_config": {}})
    assert model.cross_attention_layers == 8
    # vLLM's pool counts all 40 layers: 163,840 B a token.
    assert kv_bytes_per_token(model) == 163_840
    assert model.warnings == ("vision_tower_not_counted",)


def test_a_flat_multimodal_file_says_that_its_tower_is_not_counted() -> None:
    config = {
        "model_type": "qwen2_5_vl", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "vision_config": {},
    }  # fmt: skip
    assert read_config(config).warnings == ("vision_tower_not_counted",)
    whole = read_config(config, parameters=8.29e9)
    assert whole.vision_tower_parameters == pytest.approx(0.68e9, rel=0.02)
