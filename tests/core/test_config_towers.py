"""Vision towers of config.json: totals of the published safetensors files, read 2026-11-30."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.faults import InputFault
from app.core.memory import estimate
from app.core.model.config_reader import read_config
from app.core.workload import Workload

QWEN2_VISION = {
    "depth": 32,
    "embed_dim": 1280,
    "mlp_ratio": 4,
    "num_heads": 16,
    "in_chans": 3,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}
QWEN25_VISION = {
    "depth": 32,
    "hidden_size": 1280,
    "intermediate_size": 3420,
    "num_heads": 16,
    "in_chans": 3,
    "out_hidden_size": 3584,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}
QWEN_7B = {
    "hidden_size": 3584,
    "intermediate_size": 18_944,
    "num_attention_heads": 28,
    "num_hidden_layers": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152_064,
    "tie_word_embeddings": False,
}
SIGLIP = {
    "hidden_size": 1152,
    "image_size": 896,
    "intermediate_size": 4304,
    "model_type": "siglip_vision_model",
    "num_attention_heads": 16,
    "num_hidden_layers": 27,
    "patch_size": 14,
    "vision_use_head": False,
}
PUBLISHED: dict[str, tuple[int, dict[str, Any]]] = {
    "Qwen/Qwen2-VL-2B-Instruct": (
        2_208_985_600,
        {
            "model_type": "qwen2_vl",
            "hidden_size": 1536,
            "intermediate_size": 8960,
            "num_attention_heads": 12,
            "num_hidden_layers": 28,
            "num_key_value_heads": 2,
            "vocab_size": 151_936,
            "tie_word_embeddings": True,
            "vision_config": {**QWEN2_VISION, "hidden_size": 1536},
        },
    ),
    "Qwen/Qwen2-VL-7B-Instruct": (
        8_291_375_616,
        {"model_type": "qwen2_vl", **QWEN_7B, "vision_config": {**QWEN2_VISION, "hidden_size": 3584}},
    ),
    "Qwen/Qwen2.5-VL-7B-Instruct": (
        8_292_166_656,
        {"model_type": "qwen2_5_vl", **QWEN_7B, "vision_config": QWEN25_VISION},
    ),
    "Qwen/Qwen3-VL-8B-Instruct": (
        8_767_123_696,
        {
            "model_type": "qwen3_vl",
            "text_config": {
                "model_type": "qwen3_vl_text",
                "hidden_size": 4096,
                "intermediate_size": 12_288,
                "head_dim": 128,
                "num_attention_heads": 32,
                "num_hidden_layers": 36,
                "num_key_value_heads": 8,
                "vocab_size": 151_936,
            },
            "tie_word_embeddings": False,
            "vision_config": {
                "depth": 27,
                "hidden_size": 1152,
                "intermediate_size": 4304,
                "in_channels": 3,
                "num_heads": 16,
                "num_position_embeddings": 2304,
                "out_hidden_size": 4096,
                "patch_size": 16,
                "spatial_merge_size": 2,
                "temporal_patch_size": 2,
                "deepstack_visual_indexes": [8, 16, 24],
            },
        },
    ),
    "google/gemma-3-4b-it": (
        4_300_079_472,
        {
            "model_type": "gemma3",
            "text_config": {
                "hidden_size": 2560,
                "intermediate_size": 10_240,
                "model_type": "gemma3_text",
                "num_hidden_layers": 34,
                "sliding_window": 1024,
            },
            "vision_config": SIGLIP,
        },
    ),
    "meta-llama/Llama-3.2-11B-Vision-Instruct": (
        10_670_220_835,
        {
            "model_type": "mllama",
            "text_config": {
                "model_type": "mllama_text_model",
                "hidden_size": 4096,
                "intermediate_size": 14_336,
                "num_attention_heads": 32,
                "num_hidden_layers": 40,
                "num_key_value_heads": 8,
                "vocab_size": 128_256,
                "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38],
                "tie_word_embeddings": False,
            },
            "vision_config": {
                "hidden_size": 1280,
                "image_size": 560,
                "intermediate_size": 5120,
                "max_num_tiles": 4,
                "num_global_layers": 8,
                "num_hidden_layers": 32,
                "patch_size": 14,
                "supported_aspect_ratios": [[1, 1], [1, 2], [1, 3], [1, 4], [2, 1], [2, 2], [3, 1], [4, 1]],
                "vision_output_dim": 7680,
            },
        },
    ),
    "OpenGVLab/InternVL2_5-8B": (
        8_075_365_376,
        {
            "model_type": "internvl_chat",
            "downsample_ratio": 0.5,
            "llm_config": {
                "model_type": "internlm2",
                "hidden_size": 4096,
                "intermediate_size": 14_336,
                "num_attention_heads": 32,
                "num_hidden_layers": 32,
                "num_key_value_heads": 8,
                "vocab_size": 92_553,
                "bias": False,
                "tie_word_embeddings": False,
            },
            "vision_config": {
                "hidden_size": 1024,
                "image_size": 448,
                "intermediate_size": 4096,
                "norm_type": "layer_norm",
                "num_attention_heads": 16,
                "num_hidden_layers": 24,
                "patch_size": 14,
                "qk_normalization": False,
                "qkv_bias": True,
            },
        },
    ),
    "mistralai/Mistral-Small-3.1-24B-Instruct-2503": (
        24_011_361_280,
        {
            "model_type": "mistral3",
            "multimodal_projector_bias": False,
            "spatial_merge_size": 2,
            "text_config": {
                "model_type": "mistral",
                "hidden_size": 5120,
                "head_dim": 128,
                "intermediate_size": 32_768,
                "num_attention_heads": 32,
                "num_hidden_layers": 40,
                "num_key_value_heads": 8,
                "vocab_size": 131_072,
            },
            "vision_config": {
                "model_type": "pixtral",
                "hidden_size": 1024,
                "intermediate_size": 4096,
                "num_hidden_layers": 24,
                "num_attention_heads": 16,
                "patch_size": 14,
                "image_size": 1540,
            },
        },
    ),
    "llava-hf/llava-1.5-7b-hf": (
        7_063_427_072,
        {
            "model_type": "llava",
            # The file leaves the sizes of the language model to the defaults of its class.
            "text_config": {"model_type": "llama", "max_position_embeddings": 4096, "vocab_size": 32_064},
            "vision_config": {
                "model_type": "clip_vision_model",
                "hidden_size": 1024,
                "image_size": 336,
                "intermediate_size": 4096,
                "num_attention_heads": 16,
                "num_hidden_layers": 24,
                "patch_size": 14,
            },
        },
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_count_is_that_of_the_published_file(name: str) -> None:
    published, config = PUBLISHED[name]
    model = read_config(config)
    assert model.parameters == published
    assert model.warnings == ()
    assert 0.2e9 < model.vision_tower_parameters < 1e9


def test_llama_4_counts_its_tower_and_projector() -> None:
    """Llama-4-Scout-17B-16E: 108,641,793,536 with, 107,769,861,120 without what images need."""
    vision = {
        "hidden_size": 1408,
        "intermediate_size": 5632,
        "num_hidden_layers": 34,
        "num_attention_heads": 16,
        "image_size": 336,
        "patch_size": 14,
        "projector_input_dim": 4096,
        "projector_output_dim": 4096,
        "vision_output_dim": 4096,
    }
    text = {
        "model_type": "llama4_text",
        "hidden_size": 5120,
        "intermediate_size": 8192,
        "intermediate_size_mlp": 16_384,
        "num_attention_heads": 40,
        "num_key_value_heads": 8,
        "num_hidden_layers": 48,
        "num_local_experts": 16,
        "num_experts_per_tok": 1,
        "interleave_moe_layer_step": 1,
        "head_dim": 128,
        "vocab_size": 202_048,
    }
    model = read_config({"model_type": "llama4", "text_config": text, "vision_config": vision})
    assert model.vision_tower_parameters == 108_641_793_536 - 107_769_861_120


def test_the_tower_stays_at_16_bits_when_the_rest_is_quantized() -> None:
    model = read_config(PUBLISHED["Qwen/Qwen2.5-VL-7B-Instruct"][1])
    text = read_config({**PUBLISHED["Qwen/Qwen2.5-VL-7B-Instruct"][1], "vision_config": None})

    def weights_bytes(of: Any) -> float:
        need = estimate(Workload(of, precision="awq", engine="transformers", sequence_length=512.0))
        return next(float(p.gib) for p in need.parts if p.part == "weights") * 2**30

    assert weights_bytes(model) - weights_bytes(text) == pytest.approx(2 * 676_550_144, rel=1e-6)


def test_a_stated_count_keeps_the_counted_tower() -> None:
    published, config = PUBLISHED["google/gemma-3-4b-it"]
    model = read_config(config, parameters=4.3e9)
    assert model.parameters == 4.3e9
    assert model.vision_tower_parameters == read_config(config).vision_tower_parameters
    assert published - model.vision_tower_parameters == pytest.approx(3_880_263_168)


def test_a_tower_of_an_unknown_type_is_counted_as_a_plain_one() -> None:
    config = {**PUBLISHED["Qwen/Qwen2.5-VL-7B-Instruct"][1], "model_type": "novel_vl"}
    model = read_config(config)
    assert "vision_tower_estimated" in model.warnings
    assert model.vision_tower_parameters == pytest.approx(676_550_144, rel=0.35)


def test_without_dimensions_the_tower_is_left_out_and_said() -> None:
    config = {**PUBLISHED["Qwen/Qwen2.5-VL-7B-Instruct"][1], "vision_config": {"hidden_size": 1280}}
    model = read_config(config)
    assert model.warnings == ("vision_tower_not_counted",)
    assert model.vision_tower_parameters == 0


def test_an_audio_tower_is_said_to_be_missing() -> None:
    config = {**PUBLISHED["Qwen/Qwen2.5-VL-7B-Instruct"][1], "audio_config": {"d_model": 1280}}
    assert read_config(config).warnings == ("audio_tower_not_counted",)


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("depth", 10**6, "out_of_range"),
        ("hidden_size", "wide", "not_whole"),
        ("hidden_size", -1, "out_of_range"),
        ("patch_size", 1.5, "not_whole"),
        ("deepstack_visual_indexes", 7, "not_a_list"),
    ],
)
def test_a_hostile_tower_is_refused_at_its_key(key: str, value: Any, code: str) -> None:
    published, config = PUBLISHED["Qwen/Qwen3-VL-8B-Instruct"]
    del published
    with pytest.raises(InputFault) as caught:
        read_config({**config, "vision_config": {**config["vision_config"], key: value}})
    (error,) = caught.value.errors
    assert (error.pointer, error.code) == (f"/workload/model/config/vision_config/{key}", code)


LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 11_008,
    "vocab_size": 32_000,
}


@pytest.mark.parametrize(
    ("changes", "key", "code"),
    [
        ({"num_key_value_heads": 7}, "num_key_value_heads", "kv_heads_do_not_divide"),
        ({"num_key_value_heads": 64}, "num_key_value_heads", "out_of_range"),
        ({"head_dim": 10**6}, "head_dim", "out_of_range"),
        ({"intermediate_size": 10**8}, "intermediate_size", "out_of_range"),
        ({"num_local_experts": 8, "num_experts_per_tok": 9}, "num_experts_per_tok", "out_of_range"),
        ({"n_routed_experts": 8, "moe_topk": 9}, "moe_topk", "out_of_range"),
        ({"num_experts": 8, "moe_intermediate_size": 10**8}, "moe_intermediate_size", "out_of_range"),
        ({"num_experts": 4, "first_k_dense_replace": 40}, "first_k_dense_replace", "out_of_range"),
    ],
)
def test_a_fault_names_the_key_of_the_file(changes: dict[str, Any], key: str, code: str) -> None:
    with pytest.raises(InputFault) as caught:
        read_config({**LLAMA, **changes})
    (error,) = caught.value.errors
    assert (error.pointer, error.code) == (f"/workload/model/config/{key}", code)
    # In the part of the file where the key stands.
    with pytest.raises(InputFault) as caught:
        read_config({"model_type": "llava", "text_config": {**LLAMA, **changes}, "vision_config": {}})
    assert caught.value.errors[0].pointer == f"/workload/model/config/text_config/{key}"


def test_a_model_that_speaks_counts_all_its_parts() -> None:
    """Qwen2.5-Omni at the defaults of its classes, tables apart: 18.39 B, of which 7.05 B speak."""
    text = {
        "model_type": "qwen2_5_omni_text", "hidden_size": 3584, "intermediate_size": 18_944,
        "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152_064,
        "tie_word_embeddings": False,
    }  # fmt: skip
    vision = {"depth": 32, "hidden_size": 3584, "intermediate_size": 3420, "num_heads": 16, "patch_size": 14}
    audio = {"d_model": 1280, "encoder_layers": 32, "encoder_ffn_dim": 5120, "num_mel_bins": 128}
    talker = {**text, "vocab_size": 8448, "model_type": "qwen2_5_omni_talker"}
    config = {
        "model_type": "qwen2_5_omni",
        "thinker_config": {"text_config": text, "vision_config": vision, "audio_config": audio},
        "talker_config": talker,
        "token2wav_config": {},
    }
    model = read_config(config)
    assert model.parameters == pytest.approx(18_386_365_824, rel=0.002)
    silent = read_config({**config, "enable_audio_output": False})
    assert silent.parameters == pytest.approx(11_338_288_896, rel=0.002)
