"""Bad input: refused with a pointer, a code and a sentence in the reader's language; never a 500."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.api.examples import BERT_TRAINING, LLAMA_INFERENCE

LLAMA_CONFIG = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "intermediate_size": 14_336,
    "vocab_size": 128_256,
}
FAMILY = {"family": "decoder", "parameters": 7e9}


def workload(**changes: Any) -> dict[str, Any]:
    return {"workload": {**LLAMA_INFERENCE, **changes}}


def model(value: Any) -> dict[str, Any]:
    return workload(model=value)


# what is sent, pointer, code
TABLE: list[tuple[str, Any, str, str]] = [
    ("no object", [1, 2], "", "not_an_object"),
    ("a text", "hello", "", "not_an_object"),
    ("null", None, "", "not_an_object"),
    ("nothing in it", {}, "/workload", "required"),
    ("workload no object", {"workload": []}, "/workload", "not_an_object"),
    ("unknown field", {**workload(), "wrokload": 1}, "/wrokload", "unknown_field"),
    ("unknown field inside", workload(batchsize=3), "/workload/batchsize", "unknown_field"),
    ("pointer is escaped", workload(**{"a/b~c": 3}), "/workload/a~1b~0c", "unknown_field"),
    ("zero", workload(batch_size=0), "/workload/batch_size", "out_of_range"),
    ("negative", workload(batch_size=-4), "/workload/batch_size", "out_of_range"),
    ("absurd", workload(batch_size=10**400), "/workload/batch_size", "out_of_range"),
    ("absurd float", workload(sequence_length=1e308), "/workload/sequence_length", "out_of_range"),
    ("half a sequence", workload(batch_size=1.5), "/workload/batch_size", "not_an_integer"),
    ("text for number", workload(batch_size="16"), "/workload/batch_size", "not_a_number"),
    ("full-width digits", workload(batch_size="１６"), "/workload/batch_size", "full_width_digits"),
    ("bool for number", workload(batch_size=True), "/workload/batch_size", "not_a_number"),
    ("list for number", workload(batch_size=[16]), "/workload/batch_size", "not_a_number"),
    ("number for bool", workload(compile=1), "/workload/compile", "not_a_boolean"),
    ("unknown precision", workload(precision="fp13"), "/workload/precision", "unknown_value"),
    ("number for word", workload(task=3), "/workload/task", "unknown_value"),
    ("three sides", workload(image_size=[1, 2, 3]), "/workload/image_size", "not_an_image_size"),
    ("fraction above 1", workload(memory_fraction=1.5), "/workload/memory_fraction", "out_of_range"),
    (
        "output too long",
        workload(output_length=9000),
        "/workload/output_length",
        "output_longer_than_sequence",
    ),
    ("version", workload(engine_version="<script>"), "/workload/engine_version", "not_a_version"),
    ("no model", model({}), "/workload/model/preset", "model_missing"),
    ("two models", model({"preset": "llama-3.1-8b", **FAMILY}), "/workload/model/family", "model_kinds"),
    ("unknown preset", model({"preset": "llama-99"}), "/workload/model/preset", "unknown_model"),
    ("preset no text", model({"preset": 7}), "/workload/model/preset", "not_a_text"),
    ("zero byte", model({"preset": "a\x00b"}), "/workload/model/preset", "not_plain_text"),
    ("lone surrogate", model({"preset": "a\ud800b"}), "/workload/model/preset", "not_plain_text"),
    ("long name", model({"preset": "x" * 5000}), "/workload/model/preset", "too_long"),
    ("unknown dimension", model({**FAMILY, "warnings": ["x"]}), "/workload/model/warnings", "unknown_field"),
    ("unknown family", model({"family": "oracle"}), "/workload/model/family", "unknown_value"),
    (
        "size as text",
        model({"family": "decoder", "parameters": "7B"}),
        "/workload/model/parameters",
        "not_a_number",
    ),
    (
        "precision of a component",
        model(
            {"family": "diffusion", "components": [{"name": "vae", "parameters": 8e7, "precision": "fp13"}]}
        ),
        "/workload/model/components/0/precision",
        "unknown_value",
    ),
    ("no size", model({"family": "vision"}), "/workload/model/parameters", "required"),
    ("config no object", model({"config": "x"}), "/workload/model/config", "not_an_object"),
    (
        "KV heads that do not divide",
        model({**FAMILY, "attention_heads": 32, "kv_heads": 7}),
        "/workload/model/kv_heads",
        "kv_heads_do_not_divide",
    ),
    (
        "KV heads of a config that do not divide",
        model({"config": {**LLAMA_CONFIG, "num_key_value_heads": 7}}),
        "/workload/model/config/num_key_value_heads",
        "kv_heads_do_not_divide",
    ),
    ("empty config", model({"config": {}}), "/workload/model/config", ""),
    ("plan", workload(parallelism={"tensor": 3}), "/workload/parallelism/tensor", ""),
    ("ZeRO 4", workload(parallelism={"zero_stage": 4}), "/workload/parallelism/zero_stage", "out_of_range"),
    ("date", {**workload(), "as_of": "30.11.2026"}, "/as_of", "not_a_date"),
    ("long ago", {**workload(), "as_of": "1066-10-14"}, "/as_of", "date_out_of_range"),
    ("no such day", {**workload(), "as_of": "2026-02-30"}, "/as_of", "not_a_date"),
    (
        "4-bit training",
        {"workload": {**BERT_TRAINING, "precision": "awq"}},
        "/workload/precision",
        "precision_cannot_train",
    ),
]


@pytest.mark.parametrize(("sent", "pointer", "code"), [row[1:] for row in TABLE], ids=[r[0] for r in TABLE])
def test_memory_names_the_field_at_fault(api: TestClient, sent: Any, pointer: str, code: str) -> None:
    # As bytes: the client's own encoder refuses some of what a hostile sender does not.
    answer = api.post(
        "/api/v1/memory", content=json.dumps(sent), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == 422 and problem["title"] and problem["request_id"]
    found = {e["pointer"]: e for e in problem["errors"]}
    if code == "":
        assert any(p.startswith(pointer) for p in found)
        return
    assert found[pointer]["code"] == code
    assert found[pointer]["detail"] and "{" not in found[pointer]["detail"]


SHORTLIST: list[tuple[str, dict[str, Any], str, str]] = [
    ("counts no list", {"counts": 4}, "/counts", "not_a_list"),
    ("counts empty", {"counts": []}, "/counts", "empty_list"),
    ("count of zero", {"counts": [1, 0]}, "/counts/1", "out_of_range"),
    ("too many counts", {"counts": list(range(1, 40))}, "/counts", "too_many"),
    ("objective", {"objective": "best"}, "/objective", "unknown_value"),
    ("limit", {"limit": 201}, "/limit", "out_of_range"),
    ("vendor", {"filters": {"vendors": ["Matrox"]}}, "/filters/vendors/0", "unknown_value"),
    ("condition", {"filters": {"conditions": ["stolen"]}}, "/filters/conditions/0", "unknown_value"),
    ("card", {"filters": {"gpus": ["rtx4090", "rtx9999"]}}, "/filters/gpus/1", "unknown_gpu"),
    ("framework", {"filters": {"frameworks": ["caffe==1"]}}, "/filters/frameworks/0", "unknown_value"),
    ("driver", {"filters": {"driver": "new"}}, "/filters/driver", "not_a_version"),
    ("filter", {"filters": {"colour": "red"}}, "/filters/colour", "unknown_field"),
    ("budget amount", {"budget": {"currency": "CNY"}}, "/budget/amount", "required"),
    ("budget currency", {"budget": {"amount": 1, "currency": "XAU"}}, "/budget/currency", "unknown_value"),
    (
        "no rate",
        {"budget": {"amount": 1, "currency": "USD"}, "as_of": "1991-01-01"},
        "/budget/currency",
        "no_exchange_rate",
    ),
    ("own price", {"price_overrides": {"rtx4090": 0}}, "/price_overrides/rtx4090", "out_of_range"),
    ("own price of", {"price_overrides": {"rtx9999": 5}}, "/price_overrides/rtx9999", "unknown_gpu"),
    ("twice", {"price_overrides": {"rtx4090": 5, "RTX 4090": 6}}, "/price_overrides/RTX 4090", "named_twice"),
    ("utilisation", {"economics": {"utilisation": 60}}, "/economics/utilisation", "out_of_range"),
    ("months", {"economics": {"months": 0}}, "/economics/months", "out_of_range"),
    ("work", {"work": {"amount": 5, "unit": "miles"}}, "/work/unit", "unknown_value"),
    ("question", {"questions": {"tenants": "yes"}}, "/questions/tenants", "not_a_boolean"),
    ("rules", {"price_rules": {"refuse_stale": "true"}}, "/price_rules/refuse_stale", "not_a_boolean"),
    ("title", {"title": "only comparisons have one"}, "/title", "unknown_field"),
]


@pytest.mark.parametrize(
    ("part", "pointer", "code"), [row[1:] for row in SHORTLIST], ids=[r[0] for r in SHORTLIST]
)
def test_shortlist_names_the_field_at_fault(
    api: TestClient, part: dict[str, Any], pointer: str, code: str
) -> None:
    answer = api.post("/api/v1/shortlist", json={"workload": LLAMA_INFERENCE, **part})
    assert answer.status_code == 422, answer.text
    found = {e["pointer"]: e["code"] for e in answer.json()["errors"]}
    assert found.get(pointer) == code, found


def test_all_faults_are_named_at_once(api: TestClient) -> None:
    body = {
        "workload": {**LLAMA_INFERENCE, "batch_size": -1, "task": "dreaming"},
        "gpu": "rtx9999",
        "count": 0,
        "extra": 1,
    }
    errors = api.post("/api/v1/fit", json=body).json()["errors"]
    assert {e["pointer"] for e in errors} == {
        "/workload/batch_size",
        "/workload/task",
        "/gpu",
        "/count",
        "/extra",
    }


def test_an_ambiguous_name_is_refused_with_its_candidates(api: TestClient) -> None:
    answer = api.post("/api/v1/fit", json={"workload": LLAMA_INFERENCE, "gpu": "A100 80GB"})
    (error,) = answer.json()["errors"]
    assert error["code"] == "ambiguous_name"
    assert "a100-sxm4-80gb" in error["detail"] and "a100-pcie-80gb" in error["detail"]


def test_the_sentence_is_in_the_readers_language(api: TestClient) -> None:
    body = workload(batch_size=0)
    chinese = api.post("/api/v1/memory?lang=zh", json=body).json()
    english = api.post("/api/v1/memory?lang=en", json=body).json()
    assert chinese["title"] == "请求无效"
    assert "取值须在" in chinese["errors"][0]["detail"]
    assert "must be between 1 and 1,000,000" in english["errors"][0]["detail"]
    assert chinese["errors"][0]["code"] == english["errors"][0]["code"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"workload": NaN}',
        b'{"workload": {"batch_size": Infinity}}',
        b'{"workload": {"batch_size": -Infinity}}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"workload": {"batch_size": ' + b"9" * 5000 + b"}}",
        b'{"workload": {"model": {"config": ' + b'{"a":' * 400 + b"1" + b"}" * 400 + b"}}}",
        b'{"workload": {"model": {"preset": "\xed\xa0\x80"}}}',
        b'{"\\ud800": 1}',
    ],
    ids=["empty", "cut", "utf-16", "NaN", "inf", "-inf", "deep list", "deep object", "digits", "deep config"]
    + ["surrogate bytes", "surrogate key"],
)
def test_unreadable_and_hostile_bodies_are_the_senders_fault(api: TestClient, content: bytes) -> None:
    answer = api.post("/api/v1/memory", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["errors"]


@pytest.mark.parametrize("route", ["memory", "fit", "speed", "shortlist", "comparisons", "quotes/compare"])
@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"9" * 5000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"workload": {"model": {"config": ' + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"}}}",
        b'{"workload": "\xff"}',
    ],
    ids=["cut", "digits", "deep list", "deep config", "no UTF-8"],
)
def test_what_the_parser_refuses_is_said_to_be_no_json(api: TestClient, route: str, content: bytes) -> None:
    answer = api.post(f"/api/v1/{route}", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 422, answer.text
    (error,) = answer.json()["errors"]
    assert (error["pointer"], error["code"]) == ("", "not_json") and error["detail"]


def test_a_body_of_10_mb_is_refused_unread(api: TestClient) -> None:
    answer = api.post(
        "/api/v1/memory", content=b"x" * 10_000_000, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 413


def test_a_wide_config_is_refused_in_bounded_time(api: TestClient) -> None:
    config = {f"k{i}": [0] * 20 for i in range(60_000)}
    answer = api.post("/api/v1/memory", json=model({"config": config}))
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["code"] == "config_too_large"


@pytest.mark.parametrize(
    ("path", "pointer", "code"),
    [
        ("/gpus?limit=0", "/limit", "too_small"),
        ("/gpus?limit=201", "/limit", "too_large"),
        ("/gpus?limit=many", "/limit", "not_a_number"),
        ("/gpus?cursor=bm90aGluZw", "/cursor", "unknown_cursor"),
        ("/gpus?cursor=%F0%9F%92%A9", "/cursor", "unknown_cursor"),
        ("/prices?gpu=rtx9999", "/gpu", "unknown_gpu"),
        ("/prices?as_of=yesterday", "/as_of", "not_a_date"),
        ("/prices?as_of=1066-10-14", "/as_of", "date_out_of_range"),
        ("/quotes?as_of=2101-01-01", "/as_of", "date_out_of_range"),
        ("/prices?conditon=new", "/conditon", "unknown_field"),
        ("/benchmarks?model=llama-99", "/model", "unknown_model"),
        ("/gpus?lang=fr", "/lang", "unknown_value"),
    ],
)
def test_query_parameters_are_checked_too(api: TestClient, path: str, pointer: str, code: str) -> None:
    answer = api.get(f"/api/v1{path}")
    assert answer.status_code == 422, answer.text
    assert [(e["pointer"], e["code"]) for e in answer.json()["errors"]] == [(pointer, code)]


def test_other_methods_and_addresses_are_problems(api: TestClient) -> None:
    assert api.get("/api/v1/memory").status_code == 405
    assert api.get("/api/v1/nothing").headers["content-type"] == "application/problem+json"
