"""Headers of checkpoints: bytes by tensor, dimensions by metadata, and what is cut off or hostile."""

from __future__ import annotations

import random
import struct
import time
from typing import Any

import pytest

from app.core.faults import InputFault
from app.core.model.headers.gguf_types import TYPES
from app.core.model.reading import ModelFile, Reading, read_model
from tests.core.test_model_files import CONFIGS, LLAMA

F32, Q4_K, Q6_K, IQ4_KS_R4 = 0, 12, 14, 344


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def entry(key: str, value: Any) -> bytes:
    if isinstance(value, str):
        return text(key) + struct.pack("<I", 8) + text(value)
    if isinstance(value, list) and value and isinstance(value[0], str):
        return text(key) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    if isinstance(value, list):
        return text(key) + struct.pack("<IIQ", 9, 4, len(value)) + struct.pack(f"<{len(value)}I", *value)
    return text(key) + struct.pack("<II", 4, value)


def gguf(metadata: dict[str, Any], tensors: list[tuple[str, tuple[int, ...], int]]) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    body = b"".join(entry(k, v) for k, v in metadata.items())
    offset = 0
    for name, shape, kind in tensors:
        body += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        body += struct.pack("<IQ", kind, offset)
        known = TYPES.get(kind)
        count = 1
        for n in shape:
            count *= n
        offset += count // known.elements * known.size if known else count // 2
    return head + body


def llama_file(kind: int = Q4_K, layers: int = 2) -> bytes:
    metadata: dict[str, Any] = {
        "general.architecture": "llama",
        "general.name": "Small",
        "general.file_type": 15,
        "llama.block_count": layers,
        "llama.embedding_length": 1024,
        "llama.feed_forward_length": 4096,
        "llama.attention.head_count": 16,
        "llama.attention.head_count_kv": 4,
        "llama.context_length": 8192,
        "tokenizer.ggml.tokens": ["a", "bc"] * 500,
    }
    tensors: list[tuple[str, tuple[int, ...], int]] = [
        ("token_embd.weight", (1024, 1000), Q6_K),
        ("output.weight", (1024, 1000), Q6_K),
        ("output_norm.weight", (1024,), F32),
    ]
    for i in range(layers):
        tensors += [
            (f"blk.{i}.attn_q.weight", (1024, 1024), kind),
            (f"blk.{i}.attn_k.weight", (1024, 256), kind),
            (f"blk.{i}.attn_v.weight", (1024, 256), kind),
            (f"blk.{i}.attn_output.weight", (1024, 1024), kind),
            (f"blk.{i}.ffn_up.weight", (1024, 4096), kind),
        ]
    return gguf(metadata, tensors)


def read_gguf(data: bytes) -> Reading:
    return read_model(ModelFile(gguf=data))


@pytest.mark.parametrize(
    ("kind", "bits", "precision"),
    [
        (Q4_K, 4.5, "gguf-q4_k_m"),
        (IQ4_KS_R4, 4.25, "gguf-q4_k_m"),
        (18, 3.0625, "gguf-q4_k_m"),
        (39, 4.25, "gguf-q4_k_m"),
    ],
)
def test_a_gguf_says_its_bytes_by_tensor(kind: int, bits: float, precision: str) -> None:
    found = read_gguf(llama_file(kind))
    matrices = 2 * (2 * 1024 * 1024 + 2 * 1024 * 256 + 1024 * 4096)
    assert found.parameters == matrices + 2 * 1024 * 1000 + 1024
    size = matrices * bits / 8 + 2 * 1024 * 1000 * 6.5625 / 8 + 4 * 1024
    assert found.weight_gib * 2**30 == pytest.approx(size, rel=1e-9)
    assert found.kv_bytes_per_token == 2 * 2 * 4 * 64 * 2
    assert found.precision == precision
    assert found.warnings == ()


def test_every_type_of_both_programs_has_its_block() -> None:
    assert len(TYPES) > 85
    for kind in TYPES.values():
        assert 0 < kind.size * 8 / kind.elements <= 64
    by_name = {t.name: t for t in TYPES.values()}
    for name in ("iq1_s", "iq2_xxs", "iq3_s", "iq4_xs", "iq2_k_r4", "iq5_ks_r4", "q8_0_r8", "mxfp4", "nvfp4"):
        assert name in by_name
    # Rows interleaved are the same blocks.
    for name in ("q4_k", "q6_k", "iq4_ks", "iq3_xxs"):
        plain, repacked = by_name[name], by_name[f"{name}_r4"]
        assert plain.size / plain.elements == repacked.size / repacked.elements


def test_a_type_that_is_too_new_has_the_bytes_of_the_file() -> None:
    found = read_gguf(llama_file(777))
    assert [w.code for w in found.warnings] == ["gguf_type_unknown"]
    assert found.weight_gib > 0


def test_the_first_bytes_alone_give_the_dimensions() -> None:
    whole = llama_file(layers=40)
    found = read_gguf(whole[: len(whole) - 4000])
    assert [w.code for w in found.warnings] == ["gguf_cut_off"]
    assert found.kv_bytes_per_token == 40 * 2 * 4 * 64 * 2
    assert found.precision == "gguf-q4_k_m"


def test_a_mixture_of_experts_reads_some_of_them() -> None:
    metadata = {
        "general.architecture": "qwen3moe", "qwen3moe.block_count": 1, "qwen3moe.embedding_length": 256,
        "qwen3moe.attention.head_count": 4, "qwen3moe.attention.head_count_kv": 2,
        "qwen3moe.expert_count": 8, "qwen3moe.expert_used_count": 2,
        "qwen3moe.expert_feed_forward_length": 256,
    }  # fmt: skip
    tensors = [
        ("token_embd.weight", (256, 512), 1),
        ("output.weight", (256, 512), 1),
        ("blk.0.attn_k.weight", (256, 128), 1),
        ("blk.0.ffn_up_exps.weight", (256, 256, 8), Q4_K),
    ]
    found = read_gguf(gguf(metadata, tensors))
    assert found.parameters == 2 * 256 * 512 + 256 * 128 + 8 * 256 * 256
    assert found.active_parameters == 256 * 512 + 256 * 128 + 2 * 256 * 256


def test_a_hybrid_keeps_state_in_the_layers_without_keys() -> None:
    metadata = {
        "general.architecture": "nemotron_h", "nemotron_h.block_count": 4, "nemotron_h.embedding_length": 256,
        "nemotron_h.attention.head_count": 4, "nemotron_h.attention.head_count_kv": [0, 0, 2, 0],
        "nemotron_h.attention.key_length": 64, "nemotron_h.ssm.inner_size": 512,
        "nemotron_h.ssm.state_size": 16, "nemotron_h.ssm.group_count": 2, "nemotron_h.ssm.conv_kernel": 4,
    }  # fmt: skip
    found = read_gguf(gguf(metadata, []))
    assert found.kv_bytes_per_token == 2 * 2 * 64 * 2
    assert found.state_bytes_per_sequence == 3 * (512 * 16 * 4 + (512 + 2 * 2 * 16) * 3 * 2)


INDEX: dict[str, Any] = {
    "metadata": {"total_size": 16_060_522_496},
    "weight_map": {"model.layers.0.self_attn.q_proj.weight": "model-00001-of-00004.safetensors"},
}


def test_an_index_alone_says_its_bytes() -> None:
    found = read_model(ModelFile(index=INDEX))
    assert found.weight_gib == pytest.approx(16_060_522_496 / 2**30)
    assert found.parameters == 8_030_261_248
    assert found.kv_bytes_per_token is None
    assert {w.code for w in found.warnings} == {"no_dimensions", "count_assumes_16_bit"}


@pytest.mark.parametrize(
    ("tensor", "precision"),
    [
        ("model.layers.0.mlp.up_proj.weight_scale_inv", "fp8"),
        ("model.layers.0.mlp.up_proj.qweight", "awq"),
        ("model.layers.0.mlp.up_proj.g_idx", "gptq"),
        ("model.layers.0.mlp.up_proj.weight_scale_2", "nvfp4"),
        ("model.layers.0.mlp.experts.down_proj_blocks", "mxfp4"),
        ("model.layers.0.mlp.up_proj.weight.absmax", "nf4"),
    ],
)
def test_packed_elements_are_no_parameters(tensor: str, precision: str) -> None:
    found = read_model(ModelFile(index=INDEX | {"weight_map": {tensor: "model.safetensors"}}))
    assert found.precision == precision
    assert found.parameters is None
    assert "packed_count_unknown" in [w.code for w in found.warnings]


def test_an_index_beside_its_config_is_exact() -> None:
    found = read_model(ModelFile(config=LLAMA, index=INDEX))
    assert found.parameters == 8_030_261_248
    assert found.weight_gib == pytest.approx(16_060_522_496 / 2**30)
    assert found.warnings == ()
    other = INDEX | {"metadata": {"total_size": 9_000_000_000}}
    smaller = read_model(ModelFile(config=LLAMA, index=other))
    assert smaller.weight_gib == pytest.approx(9e9 / 2**30)
    assert [w.code for w in smaller.warnings] == ["size_differs_from_index"]


def test_a_header_counts_shapes() -> None:
    header = {
        "__metadata__": {"format": "pt"},
        "model.embed_tokens.weight": {"dtype": "BF16", "shape": [1000, 64], "data_offsets": [0, 128_000]},
        "model.layers.0.self_attn.k_proj.weight": {
            "dtype": "F8_E4M3",
            "shape": [32, 64],
            "data_offsets": [0, 1],
        },
        "model.layers.0.self_attn.v_proj.weight": {
            "dtype": "F8_E4M3",
            "shape": [32, 64],
            "data_offsets": [0, 1],
        },
        "model.layers.0.self_attn.v_proj.weight_scale": {
            "dtype": "F32",
            "shape": [1],
            "data_offsets": [0, 4],
        },
    }
    found = read_model(ModelFile(index=header))
    assert found.parameters == 1000 * 64 + 2 * 32 * 64
    assert found.weight_gib * 2**30 == pytest.approx(2 * 64_000 + 2 * 32 * 64 + 4)
    assert found.kv_bytes_per_token == 64 * 2
    assert found.precision == "fp8"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "not_gguf"),
        (b"PK\x03\x04" + b"\0" * 100, "not_gguf"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "not_gguf"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 1), "gguf_broken"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), "gguf_broken"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<I", 99), "gguf_broken"),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", 9, 9, 2**60),
            "gguf_broken",
        ),
        (gguf({"general.architecture": "llama"}, []), "gguf_broken"),
        (gguf({}, [("t", (2**50,), 0)]), "gguf_broken"),
    ],
)
def test_a_hostile_gguf_is_refused(data: bytes, code: str) -> None:
    with pytest.raises(InputFault) as caught:
        read_gguf(data)
    assert caught.value.errors[0].code == code


def mutated(value: Any, chance: random.Random, depth: int = 0) -> Any:
    """A copy in which some values are replaced, dropped or nested."""
    strange = (
        None,
        True,
        -1,
        0,
        1,
        7,
        1 << 40,
        10**30,
        0.5,
        float("nan"),
        float("inf"),
        "",
        "x",
        "4",
        [],
        {},
        [0],
        [[]],
    )
    if isinstance(value, dict):
        found = {k: mutated(v, chance, depth + 1) for k, v in value.items() if chance.random() > 0.02}
        if chance.random() < 0.1:
            found[chance.choice(KEYS)] = chance.choice(strange)
        return found
    if isinstance(value, list) and value and chance.random() < 0.1:
        return value[: chance.randrange(len(value))]
    if chance.random() < 0.04:
        return chance.choice(strange)
    if isinstance(value, int) and not isinstance(value, bool) and chance.random() < 0.05:
        return max(0, value * chance.choice((0, 2, 1000, -1)) + chance.choice((0, 1)))
    return value


KEYS = sorted({key for config in CONFIGS.values() for key in config})


def attempt(sent: ModelFile) -> float:
    start = time.perf_counter()
    try:
        found = read_model(sent)
        assert found.weight_gib >= 0.0
    except InputFault as fault:
        assert all(e.code and len(str(e.params)) < 4_000 for e in fault.errors)
    return time.perf_counter() - start


@pytest.mark.parametrize("seed", range(4))
def test_mutated_files_give_a_figure_or_a_fault_in_time(seed: int) -> None:
    chance = random.Random(seed)
    configs = list(CONFIGS.values())
    slowest = 0.0
    for _ in range(250):
        config = mutated(chance.choice(configs), chance)
        slowest = max(slowest, attempt(ModelFile(config=config, name="Some-7B-A1B")))
        index = mutated(INDEX, chance)
        slowest = max(slowest, attempt(ModelFile(index=index)))
        data = bytearray(llama_file(layers=3))
        for _ in range(chance.randrange(1, 12)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        slowest = max(slowest, attempt(ModelFile(gguf=bytes(data[: chance.randrange(len(data))]))))
    assert slowest < 1.0


def test_long_lists_of_texts_take_no_time() -> None:
    data = (
        b"GGUF"
        + struct.pack("<IQQ", 3, 0, 1)
        + text("k")
        + struct.pack("<IIQ", 9, 8, 2**60)
        + b"\0" * 8_000_000
    )
    start = time.perf_counter()
    with pytest.raises(InputFault):
        read_gguf(data)
    assert time.perf_counter() - start < 1.0
