"""Remedies of rejected cards: a question with one put in has the card among its options."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from app.catalog.snapshot import Snapshot
from app.core.decide.options import Rejected
from app.services.calculator import shortlist
from app.services.maintenance import open_catalogue
from app.texts.say import say_message

DAY = date(2026, 12, 1)
QUESTIONS = 60
APPLIED = 500
"""Remedies put in, over all questions."""
MODELS = {
    "inference": (
        "qwen3-14b",
        "llama-3.3-70b",
        "bert-base",
        "resnet-50",
        "flux.1-dev",
        "whisper-large-v3",
        "qwen3-30b-a3b",
    ),
    "training": ("llama-3.1-8b", "bert-large", "resnet-50", "qwen3-1.7b"),
    "lora": ("qwen3-14b", "bert-large", "llama-3.3-70b"),
    "qlora": ("qwen3-32b", "llama-3.3-70b"),
}


@pytest.fixture(scope="module")
def snapshot(seeded_database: Path) -> Iterator[Snapshot]:
    with open_catalogue(f"sqlite:///{seeded_database}") as opened:
        yield opened


def draw(chance: random.Random) -> dict[str, Any]:
    """A question with limits that reject many cards."""
    task = chance.choice(["inference", "inference", "training", "lora", "qlora"])
    work: dict[str, Any] = {"model": {"preset": chance.choice(MODELS[task])}, "task": task}
    trains = task != "inference"
    if trains or chance.random() < 0.5:
        work["batch_size"] = chance.choice([1, 2, 8, 32])
    if trains:
        work["sequence_length"] = chance.choice([128, 512, 2048])
        work["precision"] = "nf4" if task == "qlora" else chance.choice(["bf16", "fp16", "fp32"])
    elif chance.random() < 0.5:
        work["precision"] = chance.choice(["bf16", "fp16", "fp8"])
    body = {"workload": work, "limit": 1, **limits(chance)}
    if work["model"]["preset"].startswith(("qwen", "llama")) and chance.random() < 0.2:
        body["work"] = {"amount": chance.choice([1e7, 1e9, 2e10]), "unit": "tokens"}
        body["deadline_hours"] = chance.choice([20, 300])
    return body


def limits(chance: random.Random) -> dict[str, Any]:
    """What else a question asks for, each of it now and then."""
    usual: list[tuple[float, str, str, list[Any]]] = [
        (0.4, "", "counts", [[1], [1, 2], [2, 4], [8]]),
        (0.4, "budget", "amount", [3_000, 12_000, 60_000, 400_000]),
        (0.25, "filters", "max_power_w", [200, 400, 1500]),
        (0.15, "filters", "vendors", [["NVIDIA"], ["AMD"], ["Huawei"]]),
        (0.15, "filters", "needs", [["ecc"], ["mig"], ["nvlink"]]),
        (0.2, "price_rules", "evidence", ["any"]),
        (0.15, "questions", "tenants", [True]),
    ]
    found: dict[str, Any] = {}
    for share, part, name, values in usual:
        if chance.random() < share:
            at = found.setdefault(part, {}) if part else found
            at[name] = chance.choice(values)
    return found


def put_in(body: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """The body with a remedy's change made."""
    changed = copy.deepcopy(dict(body))
    for place, value in change.items():
        at = changed
        *parts, key = place.split(".")
        for part in parts:
            at = at.setdefault(part, {})
        at[key] = value
    return {**changed, "limit": 200}


def offers(body: Mapping[str, Any], gpu: str, snapshot: Snapshot) -> bool:
    only = copy.deepcopy(dict(body))
    only.setdefault("filters", {})["gpus"] = [gpu]
    return any(option.gpu.id == gpu for option in shortlist(only, snapshot, DAY).options)


def remedied(chance: random.Random, snapshot: Snapshot) -> Iterator[tuple[dict[str, Any], Rejected]]:
    for _ in range(QUESTIONS):
        body = draw(chance)
        found = [r for r in shortlist(body, snapshot, DAY).rejected if r.remedy is not None]
        for item in chance.sample(found, min(len(found), -(-APPLIED // QUESTIONS) + 4)):
            yield body, item


def test_every_remedy_put_in_makes_the_card_an_option(snapshot: Snapshot) -> None:
    applied, codes = 0, set()
    for body, item in remedied(random.Random(20261201), snapshot):
        assert item.remedy is not None and item.remedy.change, item
        assert None not in item.remedy.change.values()
        assert say_message(item.remedy.text, "en") and say_message(item.remedy.text, "zh")
        changed = put_in(body, item.remedy.change)
        assert offers(changed, item.gpu.id, snapshot), (body, item.gpu.id, item.code, item.remedy.change)
        applied += 1
        codes.add(item.code)
        if applied == APPLIED:
            break
    assert applied == APPLIED
    assert codes >= {"memory", "budget", "evidence", "precision", "power", "vendor", "feature"}
