"""The form: addresses to requests and back, sizes, numbers, faults at their fields."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from app.core.defaults import usual_values
from app.web.form import (
    FORM,
    build_request,
    canonical_query,
    changed_query,
    field_of,
    form_query,
    model_size,
    number_of,
    read_form,
    unknown_model,
)


@pytest.mark.parametrize(
    ("text", "parameters"),
    [("7B", 7e9), ("13 b", 13e9), ("335M", 335e6), ("0.5B", 5e8), ("70亿", 7e9), ("1.5T", 1.5e12)],
)
def test_a_plain_size_is_a_model(text: str, parameters: float) -> None:
    assert model_size(text) == pytest.approx(parameters)


@pytest.mark.parametrize("text", ["Qwen3-14B", "7", "B", "7²B", "1e9", "llama-3.1-8b", "", "-7B", "7BB"])
def test_a_name_is_no_size(text: str) -> None:
    assert model_size(text) is None


def test_the_empty_address_asks_the_opening_question() -> None:
    state = read_form([])
    body, faults = build_request(state, family="decoder")
    assert faults == []
    assert body == {
        "workload": {
            "model": {"preset": "Qwen3-14B"},
            "task": "inference",
            "precision": "bf16",
            "batch_size": 8,
            "sequence_length": 8192,
        },
    }
    assert canonical_query(state, family="decoder") == ""


def test_the_address_holds_only_what_was_typed() -> None:
    state = read_form([("work", ""), ("model", "Qwen3-14B"), ("batch_size", ""), ("precision", "")])
    assert canonical_query(state, family="decoder") == ""
    typed = read_form([("batch_size", "8")])
    assert canonical_query(typed, family="decoder") == "batch_size=8"
    body, _ = build_request(state, family="decoder")
    assert build_request(typed, family="decoder")[0] == body


@pytest.mark.parametrize(
    ("task", "family", "batch", "length", "precision", "recomputes"),
    [
        ("inference", "decoder", 8, 8192, "bf16", None),
        ("lora", "decoder", 1, 2048, "bf16", True),
        ("qlora", "decoder", 1, 2048, "nf4", True),
        ("training", "decoder", 1, 2048, "bf16", True),
        ("training", "encoder", 32, 128, "fp16", False),
        ("inference", "encoder", 32, 256, "fp16", None),
        ("training", "vision", 64, None, "fp16", False),
        ("inference", "vision", 8, None, "fp16", None),
        ("inference", "speech", 8, None, "fp16", None),
        ("lora", "diffusion", 1, None, "bf16", True),
    ],
)
def test_what_was_not_typed_follows_task_and_family(
    task: str, family: str, batch: int, length: int | None, precision: str, recomputes: bool | None
) -> None:
    body, _ = build_request(read_form([("task", task)]), family=family)
    work = body["workload"]
    assert (work["batch_size"], work["precision"]) == (batch, precision)
    assert work.get("sequence_length") == length
    assert work.get("gradient_checkpointing") is recomputes


@pytest.mark.parametrize(
    ("model", "task", "place", "value"),
    [
        ({"max_context": 512}, "training", "workload.sequence_length", 128),
        ({"max_context": 64}, "training", "workload.sequence_length", 64),
        ({"family": "decoder", "max_context": 4096}, "inference", "workload.sequence_length", 4096),
        ({"family": "decoder", "native_precision": "fp8"}, "inference", "workload.precision", "fp8"),
        ({"family": "decoder", "native_precision": "mxfp4"}, "inference", "workload.precision", "mxfp4"),
        ({"family": "decoder", "native_precision": "fp8"}, "lora", "workload.precision", "bf16"),
        ({"family": "vision", "head": "yolo"}, "training", "workload.batch_size", 16),
        ({"id": "bge-m3"}, "inference", "work.unit", "tokens"),
        ({"id": "bge-m3"}, "inference", "workload.sequence_length", 512),
        ({"family": "speech"}, "inference", "work.unit", "hours"),
        ({"family": "vision"}, "training", "work.unit", "epochs"),
    ],
)
def test_defaults_follow_the_model(model: dict[str, Any], task: str, place: str, value: object) -> None:
    made = replace(unknown_model("encoder"), **model)
    assert usual_values(FORM, task, made)[place] == value


def test_work_is_read_in_the_unit_of_its_family() -> None:
    body, _ = build_request(read_form([("work", "10")]), family="speech")
    assert body["work"] == {"amount": 10, "unit": "hours"}
    body, _ = build_request(read_form([("work", "10")]), family="vision")
    assert body["work"] == {"amount": 10e6, "unit": "images"}


def test_only_what_differs_stands_in_the_address() -> None:
    pairs = [
        ("model", "7B"),
        ("batch_size", "16"),
        ("months", "36"),
        ("utilisation", "40"),
        ("conditions", "new"),
    ]
    state = read_form(pairs)
    assert canonical_query(state, family="decoder") == "model=7B&batch_size=16&utilisation=40&conditions=new"
    again, _ = build_request(read_form([tuple(p.split("=")) for p in canonical_query(state).split("&")]))  # type: ignore[misc]
    first, _ = build_request(state)
    assert again == first


def test_per_cent_and_grouped_digits_become_numbers() -> None:
    body, _ = build_request(
        read_form([("utilisation", "40"), ("sequence_length", "32,768"), ("host", "12000.5")])
    )
    assert body["economics"] == {"utilisation": 0.4, "host_cny_per_gpu": 12000.5}
    assert body["workload"]["sequence_length"] == 32768


@pytest.mark.parametrize("text", ["NaN", "inf", "1e999x", "8²", "0x10", "1_000", "--1", "1,00"])
def test_what_is_no_number_is_passed_on_to_be_refused(text: str) -> None:
    body, _ = build_request(read_form([("batch_size", text)]))
    assert body["workload"]["batch_size"] == text


def test_fields_of_another_task_or_family_are_left_out() -> None:
    pairs = [("task", "training"), ("lora_rank", "64"), ("kv_precision", "fp8"), ("image_size", "224x320")]
    body, _ = build_request(read_form(pairs), family="vision")
    named = {"model", "task", "precision", "batch_size", "image_size", "gradient_checkpointing"}
    assert body["workload"].keys() == named
    assert body["workload"]["image_size"] == [224, 320]


def test_work_is_typed_in_millions_and_own_prices_by_line() -> None:
    pairs = [("work", "200"), ("prices", "rtx4090 = 14,000\nL20：25000")]
    body, faults = build_request(read_form(pairs))
    assert faults == []
    assert body["work"] == {"amount": 200e6, "unit": "tokens"}
    assert body["price_overrides"] == {"rtx4090": 14000, "L20": 25000}


@pytest.mark.parametrize("config", ["{", "[1]", "null", '"x"', "[" * 5000])
def test_a_config_that_is_no_object_is_a_fault_of_its_field(config: str) -> None:
    _, faults = build_request(read_form([("config", config)]))
    assert [(f.pointer, f.code) for f in faults] == [("/workload/model/config", "not_json")]


def test_a_plan_leaves_the_counts_to_itself() -> None:
    body, _ = build_request(read_form([("tensor", "2"), ("counts", "1,2")]))
    assert body["workload"]["parallelism"] == {"tensor": 2}
    assert "counts" not in body


@pytest.mark.parametrize(
    ("pointer", "name"),
    [
        ("/workload/batch_size", "batch_size"),
        ("/workload/model/preset", "model"),
        ("/workload/model/config/vocab_size", "config"),
        ("/counts/2", "counts"),
        ("/economics/residual", "residual"),
        ("/price_overrides/rtx4090", "prices"),
        ("/filters/vendors/0", "vendor"),
        ("/nowhere", ""),
    ],
)
def test_a_fault_finds_its_field(pointer: str, name: str) -> None:
    assert field_of(pointer) == name


def test_a_remedy_becomes_an_address() -> None:
    state = read_form([("batch_size", "64")])
    query = changed_query(state, {"workload.precision": "fp8", "workload.kv_precision": "fp8"}, "decoder")
    assert query == "precision=fp8&batch_size=64&kv_precision=fp8"
    assert changed_query(state, {"workload.unheard_of": 1}, "decoder") is None


def test_a_request_becomes_the_address_that_asks_it() -> None:
    pairs = [
        ("model", "335M"),
        ("family", "encoder"),
        ("task", "training"),
        ("precision", "fp16"),
        ("batch_size", "32"),
        ("sequence_length", "512"),
        ("utilisation", "45"),
        ("conditions", "used"),
        ("gradient_checkpointing", "yes"),
        ("prices", "rtx4090 = 14000"),
        ("counts", "1, 2"),
        ("run_over_24h", "no"),
        ("budget", "90000"),
    ]
    body, faults = build_request(read_form(pairs))
    assert faults == []
    query = form_query(body)
    from urllib.parse import parse_qsl

    again, _ = build_request(read_form(parse_qsl(query)))
    assert again["workload"]["model"].pop("name") and body["workload"]["model"].pop("name")
    assert again == body


def test_every_field_has_a_place_of_its_own() -> None:
    pointers = [one.pointer for one in FORM]
    assert len(pointers) == len(set(pointers))


@pytest.mark.parametrize(
    ("millions", "said"), [("200", "2 亿"), ("3", "300 万"), ("0.5", "50 万"), ("many", "many")]
)
def test_chinese_counts_the_work_in_myriads(millions: str, said: str) -> None:
    from app.web.calculator import in_myriads

    assert in_myriads(millions) == said


@pytest.mark.parametrize(
    ("typed", "said"), [("224", "224 × 224"), ("800x1333", "800 × 1333"), ("512*512", "512 × 512")]
)
def test_an_image_size_is_said_as_height_by_width(typed: str, said: str) -> None:
    from app.web.calculator import square

    assert square(typed) == said


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("12,999", 12999),
        ("１２，９９９", None),
        ("８", None),
        ("　0.5 ", 0.5),
        ("10万", 100_000),
        ("1.2万", 12_000),
        ("1.2 万", 12_000),
        ("1.13亿", 113_000_000),
        ("1,200万", 12_000_000),
        ("3e2万", 3_000_000),
        ("万", None),
        ("8²", None),
        ("½", None),
        ("1.2万万", None),
        ("1,2", None),
        ("十万", None),
        ("0x10", None),
        ("٣", None),
    ],
)
def test_numbers_as_people_write_them(typed: str, number: float | None) -> None:
    found = number_of(typed)
    assert (found, type(found)) == (number, type(number))


@pytest.mark.parametrize("typed", ["1e999", "1e999万", "-1e999亿"])
def test_a_number_beyond_all_is_left_to_be_refused(typed: str) -> None:
    found = number_of(typed)
    assert found is not None and math.isinf(found)


def test_amounts_may_carry_their_sign() -> None:
    state = read_form([("budget", "￥1.2万"), ("prices", "rtx4090＝12,999元\nrtx3090=¥6500")])
    body, faults = build_request(state)
    assert not faults
    assert body["budget"] == {"amount": 12_000, "currency": "CNY"}
    assert body["price_overrides"] == {"rtx4090": 12_999, "rtx3090": 6500}


def test_full_width_digits_are_refused_with_their_plain_reading() -> None:
    body, _ = build_request(read_form([("model", "llama-3.1-8b"), ("batch_size", "１６")]))
    assert body["workload"]["batch_size"] == "１６"
    assert model_size("７Ｂ") is None
