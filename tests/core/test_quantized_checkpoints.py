"""quantization_config: every method by its own fields, and what it leaves at 16 bit."""

from __future__ import annotations

import time
from typing import Any

import pytest

from app.core.memory import estimate
from app.core.model.quantization.patterns import Patterns
from app.core.model.reading import ModelFile, Reading, read_model
from app.core.workload import Workload

LLAMA_70B: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 8192, "intermediate_size": 28_672, "num_hidden_layers": 80,
    "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128_256, "tie_word_embeddings": False,
}  # fmt: skip
LLAMA_405B = LLAMA_70B | {
    "hidden_size": 16_384, "intermediate_size": 53_248, "num_hidden_layers": 126, "num_attention_heads": 128,
}  # fmt: skip
HEAD = {"ignore": ["lm_head"]}
WEIGHTS_4 = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": True}
LINEAR = 70.553706496e9 - 2 * 128_256 * 8192 - 161 * 8192
"""Weights of the linear layers of a 70B."""
REST_GIB = 2 * (2 * 128_256 * 8192 + 161 * 8192) / 2**30
"""Tables, head and norms at 16 bit."""


def read(quantization: dict[str, Any], config: dict[str, Any] = LLAMA_70B) -> Reading:
    return read_model(ModelFile(config=config | {"quantization_config": quantization}))


def linear(bits: float) -> float:
    """GiB of a 70B whose linear layers have so many bits, scales included."""
    return LINEAR * bits / 8 / 2**30 + REST_GIB


def groups(weights: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}},
        **HEAD,
        **more,
    }


METHODS: dict[str, tuple[dict[str, Any], str, float]] = {
    "fp8 blocks": ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8", 8 + 32 / 16_384),
    "fp8 static": ({"quant_method": "fp8", "activation_scheme": "static"}, "fp8", 8.0),
    "fbgemm": ({"quant_method": "fbgemm_fp8"}, "fp8", 8.001),
    "modelopt fp8": ({"quant_method": "modelopt", "quant_algo": "FP8", **HEAD}, "fp8", 8.0),
    "modelopt without a method": ({"quant_algo": "FP8", "exclude_modules": ["lm_head"]}, "fp8", 8.0),
    "modelopt nvfp4": ({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16}, "nvfp4", 4.5),
    "ct int8 packed": (groups({"num_bits": 8, "type": "int"}, format="pack-quantized"), "int8", 8.002),
    "ct int4 packed": (groups(WEIGHTS_4, format="pack-quantized"), "int4", 4.125),
    "ct int4 asymmetric": (groups(WEIGHTS_4 | {"symmetric": False}, format="pack-quantized"), "int4", 4.156),
    "ct int4 groups of 32": (groups(WEIGHTS_4 | {"group_size": 32}, format="pack-quantized"), "int4", 4.5),
    "ct fp8": (
        groups({"num_bits": 8, "type": "float", "strategy": "channel"}, format="float-quantized"),
        "fp8",
        8.002,
    ),
    "ct nvfp4": (
        groups({"num_bits": 4, "type": "float", "group_size": 16}, format="nvfp4-pack-quantized"),
        "nvfp4",
        4.5,
    ),
    "ct mxfp4": (
        groups({"num_bits": 4, "type": "float", "group_size": 32}, format="mxfp4-pack-quantized"),
        "mxfp4",
        4.25,
    ),
    "awq": ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, "awq", 4.156),
    "gptq": ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "gptq", 4.156),
    "gptq 3 bit": ({"quant_method": "gptq", "bits": 3, "group_size": 128}, "int4", 3.148),
    "gptq 8 bit": ({"quant_method": "gptq", "bits": 8, "group_size": -1}, "int8", 8.003),
    "auto-round": ({"quant_method": "auto-round", "bits": 4, "group_size": 128}, "gptq", 4.156),
    "intel auto-round": ({"quant_method": "intel/auto-round", "bits": 2, "group_size": 64}, "int4", 2.281),
    "auto-round mxfp4": (
        {"quant_method": "auto-round", "bits": 4, "group_size": 32, "data_type": "mx_fp"},
        "mxfp4",
        4.25,
    ),
    "bnb nf4": ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4", 4.5),
    "bnb nf4 twice": (
        {"quant_method": "bitsandbytes", "_load_in_4bit": True, "bnb_4bit_use_double_quant": True},
        "nf4",
        4.127,
    ),
    "bnb int8": ({"load_in_8bit": True}, "int8", 8.003),
    "hqq": (
        {"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}},
        "int4",
        4.5,
    ),
    "torchao int4": (
        {
            "quant_method": "torchao",
            "quant_type": {"default": {"_type": "Int4WeightOnlyConfig", "_data": {"group_size": 128}}},
        },
        "int4",
        4.25,
    ),
    "torchao int8": ({"quant_method": "torchao", "quant_type": "int8_weight_only"}, "int8", 8.002),
    "torchao fp8": (
        {
            "quant_method": "torchao",
            "quant_type": {"default": {"_type": "Float8DynamicActivationFloat8WeightConfig", "_data": {}}},
        },
        "fp8",
        8.002,
    ),
    "quark fp8": (
        {
            "quant_method": "quark",
            "global_quant_config": {"weight": {"dtype": "fp8_e4m3", "qscheme": "per_tensor"}},
            "exclude": ["lm_head"],
        },
        "fp8",
        8.0,
    ),
    "quark fp4 in two stages": (
        {
            "quant_method": "quark",
            "global_quant_config": {
                "weight": [
                    {"dtype": "fp8_e4m3", "qscheme": "per_tensor"},
                    {"dtype": "fp4", "qscheme": "per_group", "group_size": 32},
                ]
            },
        },
        "mxfp4",
        4.25,
    ),
    "bitnet": ({"quant_method": "bitnet"}, "int4", 2.0),
    "eetq": ({"quant_method": "eetq"}, "int8", 8.002),
}


@pytest.mark.parametrize("name", METHODS)
def test_each_method_by_its_own_fields(name: str) -> None:
    quantization, precision, bits = METHODS[name]
    found = read(quantization)
    assert found.precision == precision
    # What vLLM repacks while it loads is within the tolerance.
    assert found.weight_gib == pytest.approx(linear(bits), rel=0.002)
    assert found.parameters == 70_553_706_496


@pytest.mark.parametrize(("bits", "head"), [(2.25, 6), (4.65, 6), (8.0, 8)])
def test_exl2_and_exl3_state_a_mean(bits: float, head: int) -> None:
    for method in ("exl2", "exl3"):
        found = read({"quant_method": method, "bits": bits, "head_bits": head})
        table = 128_256 * 8192
        expected = LINEAR * bits / 8 + table * (2 + head / 8)
        assert found.weight_gib * 2**30 == pytest.approx(expected, rel=0.001)
        assert "bits_are_a_mean" in [w.code for w in found.warnings]


def test_modules_that_are_ignored_stay_wide() -> None:
    # Llama-3.1-405B-FP8: attention, the first and the last layer stay wide: 57.75 GiB on each of 8.
    listed = [f"model.layers.{i}.self_attn.{p}_proj" for i in range(126) for p in "qkvo"]
    ends = [f"model.layers.{i}.mlp.{p}_proj" for i in (0, 125) for p in ("gate", "up", "down")]
    found = read({"quant_method": "fbgemm_fp8", "modules_to_not_convert": [*ends, *listed]}, LLAMA_405B)
    assert found.weight_gib / 8 == pytest.approx(57.75, rel=0.02)


@pytest.mark.parametrize(
    "pattern",
    ["re:.*self_attn.*", "re:model\\.layers\\.\\d+\\.self_attn\\.(q|k|v|o)_proj", "*self_attn*", "self_attn"],
)
def test_attention_is_named_in_any_way(pattern: str) -> None:
    found = read(
        groups({"num_bits": 8, "type": "float"}, format="float-quantized", ignore=["lm_head", pattern])
    )
    attention = 80 * (2 * 8192 * 8192 + 2 * 8192 * 1024)
    assert found.weight_gib * 2**30 == pytest.approx((linear(8.002) * 2**30 + attention), rel=0.001)


def test_some_layers_have_a_scheme_of_their_own() -> None:
    half = [f"model.layers.{i}." for i in range(40)]
    mixed = {
        "quant_method": "modelopt",
        "quant_algo": "MIXED_PRECISION",
        "quantized_layers": {f"{layer}mlp.{p}_proj": {"quant_algo": "NVFP4"} for layer in half
                             for p in ("gate", "up", "down")},
    }  # fmt: skip
    found = read(mixed)
    narrowed = 40 * 3 * 8192 * 28_672
    expected = 2 * 70_553_706_496 - narrowed * (2 - 0.5625)
    assert found.weight_gib * 2**30 == pytest.approx(expected, rel=0.001)
    assert found.precision == "nvfp4"


def test_gptq_gives_modules_bits_of_their_own() -> None:
    dynamic = {"+:.*\\.down_proj": {"bits": 8, "group_size": 128}, "-:.*self_attn.*": {}}
    found = read({"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": dynamic})
    down, attention = 80 * 8192 * 28_672, 80 * (2 * 8192 * 8192 + 2 * 8192 * 1024)
    expected = linear(4.156) * 2**30 + down * (8.1875 - 4.156) / 8 + attention * (16 - 4.156) / 8
    assert found.weight_gib * 2**30 == pytest.approx(expected, rel=0.002)


def test_a_file_that_lists_every_module_is_read_at_once() -> None:
    # Mixed checkpoints list each expert: some 3 MB.
    listed = {
        f"model.layers.{i}.mlp.experts.{e}.{p}_proj": {"quant_algo": "NVFP4", "group_size": 16}
        for i in range(48) for e in range(128) for p in ("gate", "up", "down")
    }  # fmt: skip
    moe = LLAMA_70B | {
        "model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 48, "num_experts": 128,
        "num_experts_per_tok": 8, "moe_intermediate_size": 768, "num_attention_heads": 32,
        "num_key_value_heads": 4, "head_dim": 128,
    }  # fmt: skip
    start = time.perf_counter()
    found = read({"quant_algo": "MIXED_PRECISION", "quantized_layers": listed}, moe)
    assert time.perf_counter() - start < 1.0
    experts = 48 * 128 * 3 * 2048 * 768
    assert found.weight_gib * 2**30 == pytest.approx(2 * found.parameters - experts * 1.4375, rel=0.001)


def test_a_cache_with_scales_is_said() -> None:
    scheme = {"num_bits": 8, "type": "float"}
    found = read(groups(WEIGHTS_4, format="pack-quantized", kv_cache_scheme=scheme))
    assert "cache_has_scales" in [w.code for w in found.warnings]
    assert found.kv_bytes_per_token == 80 * 2 * 8 * 128 * 2


def test_a_method_that_nobody_knows_is_said() -> None:
    found = read({"quant_method": "brand-new", "something": 3})
    assert found.precision == "bf16"
    assert [w.code for w in found.warnings] == ["quantization_not_understood"]
    known = read({"quant_method": "brand-new", "bits": 4})
    assert known.precision == "int4"
    assert known.weight_gib == pytest.approx(linear(4.156), rel=0.002)


def test_hf_quant_config_may_be_put_beside_the_dimensions() -> None:
    beside = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "exclude_modules": []}}
    found = read_model(ModelFile(config=LLAMA_70B | {"hf_quant_config": beside}))
    assert found.precision == "fp8"
    assert found.weight_gib == pytest.approx(linear(8.0), rel=0.002)


def test_memory_takes_the_bytes_of_the_file() -> None:
    found = read(groups(WEIGHTS_4 | {"group_size": 32}, format="pack-quantized"))
    assert found.model is not None
    need = estimate(Workload(found.model, engine="vllm", sequence_length=8192.0, precision="int4"))
    assert float(need.part("weights")) == pytest.approx(found.weight_gib, rel=0.01)


@pytest.mark.parametrize(
    "pattern",
    ["re:" + "(a|b)?" * 30, "re:" + ".*a" * 60, "*" * 300, "re:(((((", "re:" + "\\d+" * 90, "re:(?!x)y"],
)
def test_patterns_of_strangers_cost_nothing(pattern: str) -> None:
    start = time.perf_counter()
    Patterns([pattern] * 200).match(["layers.3.mlp.experts.0.gate_proj" + "a" * 200])
    assert time.perf_counter() - start < 0.5


HOSTILE: dict[str, dict[str, Any]] = {
    "globs": {"quant_method": "fp8", "ignore": [f"re:.*a{i}.*b.*" for i in range(5_000)]},
    "layers": {
        "quant_method": "gptq",
        "dynamic": {
            f"+:.*layers\\.({'|'.join(map(str, range(60)))})\\..*x{i}": {"bits": i % 7 + 2}
            for i in range(400)
        },
    },
    "names": {"quant_method": "fp8", "ignore": [f"model.layers.{i}.mlp.up_proj" for i in range(60_000)]},
    "groups": {
        "quant_method": "compressed-tensors",
        "config_groups": {
            str(i): {
                "targets": [f"re:.*a{j}.*" for j in range(300)],
                "weights": {"num_bits": 4, "group_size": i + 1},
            }
            for i in range(300)
        },
    },
}


@pytest.mark.parametrize("name", HOSTILE)
def test_long_lists_for_deep_models_take_no_time(name: str) -> None:
    start = time.process_time()
    read(HOSTILE[name], LLAMA_70B | {"num_hidden_layers": 2_000})
    assert time.process_time() - start < 1.0
