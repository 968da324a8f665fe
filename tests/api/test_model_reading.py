"""POST /models/read: a config, an index or a header, as fields or as the body itself."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.core.test_model_files import CONFIGS, LLAMA
from tests.core.test_model_headers import INDEX, llama_file

KEYS = [
    "parameters",
    "active_parameters",
    "kv_bytes_per_token",
    "state_bytes_per_sequence",
    "weight_gib",
    "precision",
    "warnings",
]
NEMOTRON = CONFIGS["nemotron_NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4"]


def read(api: TestClient, body: Any, **more: Any) -> dict[str, Any]:
    # Python writes Infinity as published files have it.
    answer = api.post("/api/v1/models/read", content=json.dumps(body), **more)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_config_gives_its_figures_and_no_more(api: TestClient) -> None:
    found = read(api, {"config": NEMOTRON})
    assert list(found) == KEYS
    assert found["parameters"] == 120_668_687_360
    assert found["kv_bytes_per_token"] == 8192
    assert found["state_bytes_per_sequence"] == 170_229_760
    assert found["precision"] == "bf16"
    assert found["warnings"] == []


def test_the_file_may_be_the_body(api: TestClient) -> None:
    assert read(api, NEMOTRON) == read(api, {"config": NEMOTRON})
    assert read(api, INDEX) == read(api, {"index": INDEX})
    as_bytes = api.post("/api/v1/models/read", content=llama_file())
    as_field = read(api, {"gguf": base64.b64encode(llama_file()).decode()})
    assert as_bytes.json() == as_field
    header = json.dumps({"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}).encode()
    begun = api.post("/api/v1/models/read", content=len(header).to_bytes(8, "little") + header + b"\0" * 24)
    assert begun.json()["parameters"] == 6


def test_the_cache_may_be_asked_for_in_8_bit(api: TestClient) -> None:
    assert read(api, {"config": LLAMA, "kv_precision": "fp8"})["kv_bytes_per_token"] == 65_536


def test_warnings_are_sentences_in_the_language_asked_for(api: TestClient) -> None:
    body = {"config": LLAMA, "name": "Llama-13B"}
    (english,) = read(api, body)["warnings"]
    assert english == "The name says 13\u00a0B parameters, the dimensions come to 8.03\u00a0B."
    (chinese,) = read(api, body, params={"lang": "zh"})["warnings"]
    assert "13" in chinese
    assert english != chinese


def test_a_file_of_3_mb_is_read(api: TestClient) -> None:
    listed = [f"model.layers.{i}.mlp.experts.{e}.gate_proj" for i in range(93) for e in range(896)]
    config = LLAMA | {"quantization_config": {"quant_method": "fp8", "modules_to_not_convert": listed}}
    assert len(json.dumps(config)) > 3_000_000
    assert read(api, {"config": config})["precision"] == "fp8"
    workload = {"model": {"config": config}, "sequence_length": 2048, "batch_size": 1}
    assert api.post("/api/v1/memory", json={"workload": workload}).status_code == 200


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({}, "", "no_model_file"),
        ([], "", "not_an_object"),
        ({"config": 5}, "/config", "not_an_object"),
        ({"config": {"model_type": "llama"}}, "/config/num_hidden_layers", "required"),
        ({"config": LLAMA, "colour": 1}, "/colour", "unknown_field"),
        ({"config": LLAMA, "name": 5}, "/name", "not_a_text"),
        ({"config": LLAMA, "parameters": -1}, "/parameters", "out_of_range"),
        ({"config": LLAMA, "kv_precision": "int3"}, "/kv_precision", "unknown_value"),
        ({"gguf": "?"}, "/gguf", "not_base64"),
        ({"gguf": "AAAA"}, "/gguf", "not_gguf"),
        ({"index": {"weight_map": {}}}, "/index/metadata/total_size", "required"),
        ({"index": {"a": 1}}, "/index", "not_an_index"),
    ],
)
def test_what_cannot_be_read_is_named(api: TestClient, body: Any, pointer: str, code: str) -> None:
    answer = api.post("/api/v1/models/read", json=body)
    assert answer.status_code == 422
    (fault,) = answer.json()["errors"]
    assert (fault["pointer"], fault["code"]) == (pointer, code)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"null", b'{"config": {"a": ' * 5000]
)
def test_bytes_that_are_nothing_are_refused(api: TestClient, content: bytes) -> None:
    answer = api.post("/api/v1/models/read", content=content)
    assert answer.status_code == 422
    assert answer.json()["errors"]


def test_a_hybrid_keeps_its_state_apart_from_the_cache(api: TestClient) -> None:
    config = CONFIGS["nemotron_NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"]
    workload = {"model": {"config": config}, "sequence_length": 32_768, "batch_size": 1, "engine": "vllm"}
    memory = api.post("/api/v1/memory", json={"workload": workload}).json()["memory"]
    assert memory["kv_bytes_per_token"] == pytest.approx(6144)
    assert memory["state_bytes_per_sequence"] == pytest.approx(49_082_368)


@pytest.mark.parametrize("path", ["memory", "fit", "shortlist", "comparisons"])
def test_a_published_file_with_infinity_is_calculated_with(api: TestClient, path: str) -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    config = NEMOTRON | {"half": "a\ud800b", "deep": deep, "large": 10**400, "note": "\x00"}
    workload = {"model": {"config": config}, "sequence_length": 4096, "batch_size": 1}
    body: dict[str, Any] = {"workload": workload}
    if path == "fit":
        body |= {"gpu": "h200-sxm-141gb", "count": 4}
    if path == "comparisons":
        body |= {"title": "Nemotron"}
    sent = json.dumps(body)
    assert "Infinity" in sent
    answer = api.post(f"/api/v1/{path}", content=sent, headers={"content-type": "application/json"})
    assert answer.status_code in (200, 201), answer.text
    if path == "comparisons":
        assert api.get(f"/api/v1/comparisons/{answer.json()['id']}").status_code == 200
