"""Every family and task picked on the form answers; what was not typed follows them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.settings import Settings

DAY = "2026-11-30"
MODELS = (
    "Qwen3-14B",
    "bert-base-chinese",
    "t5-base",
    "resnet-50",
    "yolov8n",
    "vit-b-16",
    "sdxl-base-1.0",
    "flux.1-dev",
    "whisper-large-v3",
    "gpt-oss-120b",
)
TASKS = ("inference", "training", "lora", "qlora")
CONVOLUTIONAL = ("resnet-50", "yolov8n")


@pytest.fixture(scope="module")
def site(seeded_database: Path) -> Iterator[TestClient]:
    """The whole application over the seeded catalogue."""
    path = seeded_database.with_name("defaults.db")
    shutil.copyfile(seeded_database, path)
    with TestClient(create_app(Settings(database_url=f"sqlite:///{path}"))) as client:
        yield client


def as_served(page: str) -> dict[str, str]:
    """What a browser would send of a page's form that nobody has touched, its texts and choices."""
    inputs = re.findall(r'<input id="(\w+)" name="\w+" value="([^"]*)"', page)
    selects = re.findall(r'<select id="(\w+)".*?</select>', page, re.DOTALL)
    found = dict(inputs)
    for name in selects:
        block = page.partition(f'<select id="{name}"')[2].partition("</select>")[0]
        chosen = re.search(r'<option value="([^"]*)" selected', block)
        first = re.search(r'<option value="([^"]*)"', block)
        found[name] = chosen[1] if chosen else first[1] if first else ""
    return found


@pytest.mark.parametrize("model", MODELS)
def test_every_family_picked_on_the_served_form_answers(site: TestClient, model: str) -> None:
    form = as_served(site.get("/", params={"as_of": DAY}).text)
    assert form["model"] == "Qwen3-14B" and form["batch_size"] == form["precision"] == ""
    for task in TASKS if model not in CONVOLUTIONAL else TASKS[:2]:
        answer = site.get("/", params={**form, "model": model, "task": task, "as_of": DAY})
        assert answer.status_code == 200, (model, task)
        assert "errsum" not in answer.text


def test_qlora_by_one_click_is_one_card(site: TestClient) -> None:
    answer = site.get("/result.json", params={"task": "qlora", "as_of": DAY, "rows": "100"}).json()
    used = {a["field"]: a["value"] for a in answer["assumptions"]}
    assert (used["batch_size"], used["sequence_length"], used["precision"]) == (1, 2048, "nf4")
    assert used["gradient_checkpointing"] is True and used["work.amount"] == 20e6
    assert answer["recommendation"]["kind"] == "buy"
    bought = answer["options"][answer["recommendation"]["rank"] - 1]
    assert bought["count"] == 1 and bought["cost"]["purchase_cny"] < 15_000
    assert bought["fit"]["verdict"] == "fits" and bought["price"]["evidence"] in ("firm", "current")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_first_page_rests_on_a_price_of_today(site: TestClient, language: str) -> None:
    assert site.get("/", headers={"accept-language": language}).status_code == 200
    answer = site.get("/result.json", params={"as_of": DAY}).json()
    bought = answer["options"][answer["recommendation"]["rank"] - 1]
    assert answer["recommendation"]["kind"] == "buy" and bought["price"]["evidence"] == "current"


def shortlist(site: TestClient, **body: Any) -> dict[str, Any]:
    found: dict[str, Any] = site.post("/api/v1/shortlist", json={"as_of": DAY, **body}).json()
    return found


@pytest.mark.parametrize(
    ("model", "precision"), [("deepseek-r1", "fp8"), ("gpt-oss-120b", "mxfp4"), ("qwen3-14b", "bf16")]
)
def test_the_checkpoint_says_its_format(site: TestClient, model: str, precision: str) -> None:
    answer = shortlist(site, workload={"model": {"preset": model}, "task": "inference"})
    used = {a["field"]: a["value"] for a in answer["assumptions"]}
    assert (used["precision"], used["batch_size"], used["sequence_length"]) == (precision, 8, 8192)
    assert answer["question"]["work_per"] == "month" and used["work.amount"] == 200e6


def test_assumed_work_rejects_nothing_and_stated_work_may(site: TestClient) -> None:
    asked = {"workload": {"model": {"preset": "qwen3-14b"}}, "price_rules": {"evidence": "any"}}
    assumed = shortlist(site, **asked)
    stated = shortlist(site, **asked, work={"amount": 2e12, "unit": "tokens"})
    assert not [r for r in assumed["rejected"] if r["code"] == "deadline"]
    assert [r for r in stated["rejected"] if r["code"] == "deadline"]
    assert "work" not in assumed["question"]


def test_a_stated_utilisation_stands_in_the_place_of_assumed_work(site: TestClient) -> None:
    answer = shortlist(site, workload={"model": {"preset": "qwen3-14b"}}, economics={"utilisation": 0.1})
    assert not [a for a in answer["assumptions"] if a["field"].startswith("work.")]


@pytest.mark.parametrize("model", ["resnet-50", "bert-base-uncased", "llama-3.1-8b"])
def test_epochs_are_work_with_the_samples_of_one(site: TestClient, model: str) -> None:
    workload = {
        "model": {"preset": model},
        "task": "training" if model != "llama-3.1-8b" else "lora",
        "precision": "bf16",
        "batch_size": 1,
    } | ({"sequence_length": 128} if model != "resnet-50" else {})
    asked = {"workload": workload, "filters": {"gpus": ["rtx3090"]}, "price_rules": {"evidence": "any"}}
    open_set = shortlist(site, **asked, work={"amount": 3, "unit": "epochs"})
    used = {a["field"]: a["value"] for a in open_set["assumptions"]}
    samples = used["work.samples_per_epoch"]
    told = shortlist(site, **asked, work={"amount": 3, "unit": "epochs", "samples_per_epoch": samples})
    same = shortlist(site, **asked, work={"amount": 3 * samples, "unit": "samples"})
    costs = [a["options"][0]["cost"]["total_cny"] for a in (open_set, told, same)]
    assert costs[0] == costs[1] == costs[2]
    assert open_set["question"]["work_per"] == "all"


@pytest.mark.parametrize(("model", "length"), [("bert-base-uncased", 2048), ("llama-2-7b", 32_768)])
def test_context_beyond_the_model_is_said_and_never_called_fits(
    site: TestClient, model: str, length: int
) -> None:
    workload = {"model": {"preset": model}, "batch_size": 1, "precision": "bf16"}
    card = {"gpu": "h200-sxm-141gb", "as_of": DAY}
    for tokens, verdict in ((length, "tight"), (256, "fits")):
        answer = site.post("/api/v1/fit", json={"workload": {**workload, "sequence_length": tokens}, **card})
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert found["fit"]["verdict"] == verdict
        assert ("context_beyond_model" in found["warning_codes"]) is (tokens == length)
    ranked = shortlist(site, workload={**workload, "sequence_length": length})
    assert "fits" not in {option["fit"]["verdict"] for option in ranked["options"]}
    assert "context_beyond_model" in ranked["warning_codes"]


def test_an_open_budget_shows_no_amount(site: TestClient) -> None:
    found = re.search(r'<input[^>]*id="budget"[^>]*>', site.get("/").text)
    assert found is not None
    assert not re.search(r'placeholder="[0-9]', found[0])
