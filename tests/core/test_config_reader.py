"""Reading config.json: exact counts, layer patterns, native formats, hostile files."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.faults import InputFault
from app.core.model.config_reader import read_config
from tests.core.config_examples import CONFIGS


@pytest.mark.parametrize("name", CONFIGS)
def test_count_is_that_of_the_published_checkpoint(name: str) -> None:
    config, published = CONFIGS[name]
    assert read_config(config).parameters == published


def test_feature_3_qwen3_8b() -> None:
    model = read_config(CONFIGS["qwen3-8b"][0])
    assert model.parameters == 8_190_735_360
    assert (model.layers, model.hidden_size, model.kv_heads, model.head_dim) == (36, 4096, 8, 128)
    assert model.warnings == ()


@pytest.mark.parametrize(
    ("name", "full", "sliding", "window"),
    [
        ("gemma2-2b", 13, 13, 4096),
        ("gemma3-4b", 5, 29, 1024),
        ("gpt-oss-20b", 12, 12, 128),
        ("qwen3-30b", 48, 0, 0),
        ("mixtral", 32, 0, 0),
        ("qwen3-next", 12, 0, 0),
    ],
)
def test_layer_patterns(name: str, full: int, sliding: int, window: int) -> None:
    model = read_config(CONFIGS[name][0])
    assert (model.full_layers, model.sliding_layers, model.sliding_window) == (full, sliding, window)


def test_hybrid_linear_attention_keeps_a_constant_state() -> None:
    model = read_config(CONFIGS["qwen3-next"][0])
    assert model.linear_attention_layers == 36
    # 32 heads x 128 x 128 fp32 state plus the convolution window of 8,192 channels, 36 layers.
    assert model.linear_state_bytes == 36 * (32 * 128 * 128 * 4 + 8192 * 3 * 2)


@pytest.mark.parametrize(
    ("quantization", "native"),
    [
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "awq", "bits": 4}, "awq"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        ({"quant_method": "gptq", "bits": 4}, "gptq"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4"),
        ({"quant_method": "compressed-tensors", "format": "float-quantized"}, "fp8"),
        ({"quant_method": "something-new"}, ""),
    ],
)
def test_quantization_config_is_noted(quantization: dict[str, Any], native: str) -> None:
    config = CONFIGS["qwen3-8b"][0] | {"quantization_config": quantization}
    model = read_config(config)
    assert model.native_precision == native
    assert model.parameters == 8_190_735_360


def test_multimodal_file_reads_its_text_model_and_says_so() -> None:
    config = {
        "model_type": "llava",
        "text_config": CONFIGS["qwen3-8b"][0],
        "vision_config": {"hidden_size": 1024},
    }
    model = read_config(config)
    assert model.parameters == 8_190_735_360
    assert model.warnings == ("vision_tower_not_counted",)
    whole = read_config(config, parameters=8.6e9)
    assert whole.vision_tower_parameters == pytest.approx(8.6e9 - 8_190_735_360)
    assert "vision_tower_not_counted" not in whole.warnings


def test_unknown_type_with_all_dimensions_is_read_with_a_warning() -> None:
    model = read_config(CONFIGS["qwen2.5-7b"][0] | {"model_type": "brand_new"})
    assert "unknown_model_type" in model.warnings
    assert model.parameters == pytest.approx(7.6155e9, rel=1e-3)


def test_unknown_type_without_dimensions_is_refused() -> None:
    with pytest.raises(InputFault) as caught:
        read_config({"model_type": "brand_new", "hidden_size": 4096})
    fault = caught.value.errors[0]
    assert fault.code == "unknown_model_type"
    assert "num_hidden_layers" in fault.params["missing"]


def _nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"text_config": value}
    return value


@pytest.mark.parametrize(
    ("config", "code"),
    [
        (_nested(5000), "config_too_deep"),
        (CONFIGS["qwen3-8b"][0] | {"hidden_size": 10**400}, "out_of_range"),
        (CONFIGS["qwen3-8b"][0] | {"hidden_size": float("nan")}, "not_finite"),
        (CONFIGS["gpt-oss-20b"][0] | {"layer_types": ["full_attention"] * 200_000}, "too_long"),
        ({"model_type": "llama", "x": [[1] * 30_000] * 40}, "config_too_large"),
        ({"model_type": "x" * 100_000}, "unknown_model_type"),
        (CONFIGS["qwen3-8b"][0] | {"hidden_size": True}, "not_whole"),
        (CONFIGS["qwen3-8b"][0] | {"num_hidden_layers": -3}, "out_of_range"),
        (CONFIGS["qwen3-8b"][0] | {"num_hidden_layers": "36"}, "not_whole"),
        (CONFIGS["qwen3-8b"][0] | {"tie_word_embeddings": "no"}, "not_a_flag"),
        (CONFIGS["qwen3-8b"][0] | {"quantization_config": 5}, "not_an_object"),
        (CONFIGS["gpt-oss-20b"][0] | {"layer_types": 5}, "not_a_list"),
        (CONFIGS["qwen3-8b"][0] | {"vocab_size": None}, "required"),
        ({}, "unknown_model_type"),
        # Of a type that nobody knows, too, a dimension out of range is named first.
        ({"architectures": ["LlamaForCausalLM"], "hidden_size": -1}, "out_of_range"),
        ([], "not_an_object"),
    ],
)
def test_hostile_files_are_refused(config: Any, code: str) -> None:
    with pytest.raises(InputFault) as caught:
        read_config(config)
    assert caught.value.errors[0].code == code
    assert caught.value.errors[0].pointer.startswith("/workload/model/config")
