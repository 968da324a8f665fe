"""Parameter counts from dimensions, models known by size alone, and refused fields."""

from __future__ import annotations

import math
from typing import Any

import pytest

from app.core.faults import InputFault
from app.core.model.architecture import architecture_from_fields
from tests.core.model_examples import (
    BERT_BASE,
    BERT_LARGE,
    DEEPSEEK_V3,
    GPT_OSS_120B,
    LLAMA_2_7B,
    QWEN2_5_7B,
    QWEN3_30B,
    decoder,
)


@pytest.mark.parametrize(
    ("model", "published"),
    [
        (LLAMA_2_7B, 6_738_415_616),
        (QWEN2_5_7B, 7_615_616_512),
        (QWEN3_30B, 30_532_122_624),
        (DEEPSEEK_V3, 671_026_419_200),
        (GPT_OSS_120B, 116_829_156_672),
        (BERT_BASE, 109_482_240),
        (BERT_LARGE, 335_141_888),
    ],
    ids=lambda m: getattr(m, "id", ""),
)
def test_count_from_dimensions_is_the_published_one(model: Any, published: int) -> None:
    assert model.parameters == published


def test_feature_2_custom_dimensions() -> None:
    model = decoder(
        layers=32,
        hidden_size=4096,
        intermediate_size=11_008,
        attention_heads=32,
        kv_heads=32,
        vocab_size=32_000,
        gated_mlp=True,
        tied_embeddings=False,
    )
    assert model.parameters == 6_738_415_616
    assert model.active_parameters == model.parameters
    assert model.embedding_parameters == 2 * 32_000 * 4096


def test_active_parameters_follow_the_router() -> None:
    # Qwen3-30B-A3B: 3.35 B with the token table, of which a token reads one row; DeepSeek-V3: 37.55 B.
    assert QWEN3_30B.active_parameters == pytest.approx(3.353e9 - 151_936 * 2048, rel=1e-3)
    assert DEEPSEEK_V3.active_parameters == pytest.approx(37.55e9 - 129_280 * 7168, rel=1e-3)


def test_heads_by_layer_are_counted_one_by_one() -> None:
    base = {"layers": 4, "hidden_size": 64, "intermediate_size": 128, "attention_heads": 4, "vocab_size": 100}
    same = decoder(**base, kv_heads=2)
    listed = decoder(**base, kv_heads=[2, 2, 2, 2])
    fewer = decoder(**base, kv_heads=[2, 0, 2, 0])
    assert listed.parameters == same.parameters
    assert same.parameters - fewer.parameters == 2 * 2 * 64 * 2 * 16


@pytest.mark.parametrize("family", ["decoder", "encoder", "encoder-decoder", "speech"])
@pytest.mark.parametrize("size", [2e7, 1.1e8, 3.4e8, 7e9, 7e10, 2e12])
def test_size_alone_gives_dimensions_of_that_size(family: str, size: float) -> None:
    model = architecture_from_fields({"family": family, "parameters": size})
    assert model.dimensions_assumed
    assert model.parameters == size
    assert model.hidden_size % model.attention_heads == 0
    dims = {
        name: getattr(model, name)
        for name in (
            "layers",
            "hidden_size",
            "intermediate_size",
            "attention_heads",
            "kv_heads",
            "vocab_size",
            "tied_embeddings",
        )
    }
    counted = architecture_from_fields({"family": family, **dims, "gated_mlp": model.gated_mlp})
    if 1e8 <= size <= 1e11 and family in ("decoder", "encoder"):
        assert counted.parameters == pytest.approx(size, rel=0.3)


def test_a_size_far_from_its_dimensions_is_said() -> None:
    fields = {"layers": 32, "hidden_size": 4096, "intermediate_size": 11_008, "vocab_size": 32_000}
    assert decoder(**fields, parameters=13e9).warnings == ("parameters_differ",)
    assert decoder(**fields, parameters=6.74e9).warnings == ()


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("parameters", math.nan, "not_finite"),
        ("parameters", math.inf, "not_finite"),
        ("parameters", -7e9, "out_of_range"),
        ("parameters", 1e30, "out_of_range"),
        ("parameters", True, "not_a_number"),
        ("parameters", "7B", "not_a_number"),
        ("layers", 10**40, "out_of_range"),
        ("layers", 2.5, "not_whole"),
        ("layers", False, "not_a_number"),
        ("hidden_size", 0, "out_of_range"),
        ("tied_embeddings", 1, "not_a_flag"),
        ("name", 7, "not_a_text"),
        ("name", "x" * 5000, "too_long"),
        ("kv_heads", [8] * 5000, "too_long"),
        ("image_size", [1, 2, 3], "list_length"),
        ("components", [3], "components/0"),
        ("attributes", {"a": [1]}, "too_long"),
        ("attributes", 3, "not_an_object"),
        ("warnings", "text", "not_a_list"),
        ("colour", "red", "unknown_field"),
    ],
)
def test_bad_fields_are_refused_by_name(field: str, value: Any, code: str) -> None:
    given = {"family": "decoder", "parameters": 7e9, field: value}
    with pytest.raises(InputFault) as caught:
        architecture_from_fields(given, "/workload/model")
    fault = caught.value.errors[0]
    assert fault.pointer.startswith(f"/workload/model/{field}")
    assert code in (fault.code, fault.pointer.removeprefix("/workload/model/"))


@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        ({}, "family"),
        ({"family": "robot"}, "family"),
        ({"family": "decoder"}, "parameters"),
        ({"family": "decoder", "layers": 32}, "hidden_size"),
        ({"family": "decoder", "hidden_size": 4096}, "layers"),
        ({"family": "vision", "name": "resnet50"}, "parameters"),
        ({"family": "diffusion", "components": [{"name": "vae"}]}, "components/0/parameters"),
        ({"family": "decoder", "layers": 4, "hidden_size": 64, "kv_heads": [1, 1]}, "kv_heads"),
        ({"family": "decoder", "layers": 4, "hidden_size": 512, "kv_heads": 900}, "kv_heads"),
        (
            {"family": "decoder", "layers": 4, "hidden_size": 64, "full_attention_layers": 9},
            "full_attention_layers",
        ),
        (
            {"family": "decoder", "layers": 4, "hidden_size": 64, "dense_layers": 9, "experts": 2},
            "dense_layers",
        ),
        ({"family": "decoder", "parameters": 7e9, "active_parameters": 8e9}, "active_parameters"),
    ],
)
def test_what_is_missing_or_contradicts_is_named(given: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InputFault) as caught:
        architecture_from_fields(given)
    assert caught.value.errors[0].pointer == f"/workload/model/{pointer}"


def test_components_add_up() -> None:
    parts = [{"name": "backbone", "parameters": 11.9e9}, {"name": "text_t5_xxl", "parameters": 4.76e9}]
    model = architecture_from_fields({"family": "diffusion", "components": parts})
    assert model.parameters == pytest.approx(16.66e9)
