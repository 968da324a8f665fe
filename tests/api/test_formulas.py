"""What the API prints can be worked out: each figure is the value of the formula beside it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.core.formulas import evaluate
from tests.api.conftest import AS_OF

LLAMA = {"model": {"preset": "llama-3.1-8b"}, "precision": "fp8", "batch_size": 8, "sequence_length": 8192}
TRAINING = {
    "model": {"preset": "llama-3.1-8b"},
    "task": "training",
    "precision": "bf16",
    "batch_size": 1,
    "sequence_length": 2048,
    "gradient_checkpointing": True,
}
RESNET = {"model": {"preset": "resnet-50"}, "task": "training", "precision": "fp16", "batch_size": 64}
SDXL = {"model": {"preset": "sdxl-base-1.0"}, "precision": "fp16"}
SATURATED = {**LLAMA, "engine": "sglang", "load": "saturated"}
BERT = {
    "model": {"preset": "bert-large-uncased"},
    "task": "training",
    "precision": "bf16",
    "batch_size": 16,
    "sequence_length": 384,
}
PRINTED = 1e-6
"""Figures are printed to nine digits, operands too."""


def values(operands: list[dict[str, Any]]) -> dict[str, float]:
    return {o["name"]: o["value"] for o in operands}


def same(expression: str, operands: list[dict[str, Any]], figure: float) -> bool:
    found = evaluate(expression, values(operands))
    return math.isclose(found, figure, rel_tol=PRINTED, abs_tol=1e-9)


def at(body: Any, path: str) -> Any:
    for step in path.split("."):
        body = body[int(step)] if isinstance(body, list) else body[step]
    return body


@pytest.mark.parametrize("workload", [LLAMA, TRAINING, RESNET, SDXL, SATURATED, BERT])
def test_memory_speed_and_fit_print_what_they_computed(api: TestClient, workload: dict[str, Any]) -> None:
    asked = {"workload": workload, "gpu": "h100-sxm5-80gb", "count": 8, "as_of": AS_OF}
    fit = api.post("/api/v1/fit", json=asked).json()
    memory = api.post("/api/v1/memory", json={"workload": workload}).json()["memory"]
    for part in (*memory["parts"], *fit["memory"]["parts"]):
        assert same(part["expression"], part["operands"], part["gib"]), part
        assert all(o["text"] for o in part["operands"])
    speed = api.post("/api/v1/speed", json=asked).json()["speed"]
    for name, expression in speed["expressions"].items():
        figure = speed.get(name, speed["detail"].get(name))
        figure = figure["expected"] if isinstance(figure, dict) else figure
        assert same(expression, speed["operands"], figure), (name, expression)
    seconds = sum(part["seconds"] for part in speed["parts"])
    assert seconds * speed["steps_per_s"] == pytest.approx(1.0, rel=PRINTED)
    for part in speed["parts"]:
        assert same(part["expression"], speed["operands"], part["seconds"]), part


@pytest.mark.parametrize(
    "asked",
    [
        {"workload": LLAMA},
        {"workload": LLAMA, "work": {"amount": 2e8, "unit": "tokens"}, "price_overrides": {"rtx4090": 14000}},
        {
            "workload": RESNET,
            "work": {"amount": 9e6, "unit": "images"},
            "economics": {"host_cny_per_gpu": 3000},
        },
        {"workload": TRAINING, "economics": {"residual": 0.5, "utilisation": 0.25, "months": 24}},
        {"workload": {"model": {"preset": "resnet-50"}, "precision": "fp32", "batch_size": 8}},
        {"workload": {"model": {"preset": "whisper-large-v3"}}, "work": {"amount": 500, "unit": "hours"}},
    ],
)
def test_every_figure_of_an_option_is_the_value_of_its_formula(
    api: TestClient, asked: dict[str, Any]
) -> None:
    body = {**asked, "as_of": AS_OF, "limit": 12}
    answer = api.post("/api/v1/shortlist?formulas=true", json=body)
    assert answer.status_code == 200, answer.text
    options = answer.json()["options"]
    assert options
    for option in options:
        formulas = option["formulas"]
        given = values(formulas["operands"])
        for path, expression in formulas["expressions"].items():
            figure = at(option, path)
            assert same(expression, formulas["operands"], figure), (option["label"], path, expression)
        for operand in formulas["operands"]:
            if "expression" in operand:
                found = evaluate(operand["expression"], given)
                assert math.isclose(found, operand["value"], rel_tol=PRINTED, abs_tol=1e-9), operand
        named = set(formulas["expressions"])
        assert {"fit.margin_gib", "speed.expected", "cost.total_cny"} <= named
        # What is rented has no purchase to divide by.
        assert ("metrics.gib_per_1000_cny" in named) == (option["acquisition"] == "buy")


def test_formulas_are_written_only_where_they_are_asked_for(api: TestClient) -> None:
    options = api.post("/api/v1/shortlist", json={"workload": LLAMA, "as_of": AS_OF}).json()["options"]
    assert options and not any("formulas" in option for option in options)


def test_operands_are_said_in_the_language_of_the_answer(api: TestClient) -> None:
    body = {"workload": LLAMA}
    texts = {}
    for lang in ("zh", "en"):
        parts = api.post(f"/api/v1/memory?lang={lang}", json=body).json()["memory"]["parts"]
        texts[lang] = {o["name"]: o["text"] for part in parts for o in part["operands"]}
    assert texts["en"]["batch_size"].startswith("sequences or images")
    same_words = [name for name, text in texts["zh"].items() if text == texts["en"][name]]
    assert not same_words


def test_a_frozen_comparison_keeps_its_formulas_for_those_who_ask(api: TestClient) -> None:
    made = api.post("/api/v1/comparisons", json={"workload": LLAMA, "as_of": AS_OF, "limit": 3}).json()
    address = f"/api/v1/comparisons/{made['id']}"
    assert not any("formulas" in option for option in api.get(address).json()["result"]["options"])
    kept = api.get(f"{address}?formulas=true").json()["result"]["options"]
    for option in kept:
        total = option["formulas"]["expressions"]["cost.total_cny"]
        assert same(total, option["formulas"]["operands"], option["cost"]["total_cny"])
    page = api.get(f"/explain?comparison={made['id']}&figure=options.0.cost.total_cny")
    assert kept[0]["formulas"]["expressions"]["cost.total_cny"] in page.text
