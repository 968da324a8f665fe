"""Where a reader begins: the scenarios of the first page and the two stories that the product grew from."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from app.catalog.snapshot import Snapshot
from app.services.calculator import shortlist
from app.services.maintenance import open_catalogue
from app.services.results import ShortlistAnswer
from app.texts.say import say_message
from app.web.scenarios import scenarios
from tests.question.test_doors import body_of

DAY = date(2026, 12, 1)


@pytest.fixture(scope="module")
def snapshot(seeded_database: Path) -> Iterator[Snapshot]:
    with open_catalogue(f"sqlite:///{seeded_database}") as opened:
        yield opened


def answer_to(title: str, snapshot: Snapshot) -> ShortlistAnswer:
    (url,) = (s.url for s in scenarios(str) if s.title == title)
    body, _ = body_of(parse_qsl(urlsplit(url).query, keep_blank_values=True), snapshot)
    return shortlist(body, snapshot, DAY)


@pytest.mark.parametrize(("title", "within_cny"), [("Student", 15_000), ("Lab workstation", 12_000)])
def test_a_desk_gets_one_24_gb_geforce_at_a_price_of_today(
    title: str, within_cny: float, snapshot: Snapshot
) -> None:
    answer = answer_to(title, snapshot)
    advised = answer.recommendation
    assert advised is not None and advised.kind == "buy"
    chosen = next(o for o in answer.options if o.rank == advised.rank)
    card = snapshot.gpu(chosen.gpu.id)
    assert chosen.count == 1 and card.name.startswith("GeForce") and card.memory_gib == 24
    assert chosen.price.evidence == "current" and chosen.fit.verdict == "fits"
    assert chosen.cost.outlay_cny <= within_cny and chosen.cost.host_cny == 0, "the machine is there"


def test_a_data_centre_gets_its_class_or_the_quotes_that_are_missing(snapshot: Snapshot) -> None:
    answer = answer_to("Data centre", snapshot)
    assert answer.recommendation is not None
    segments = {gpu.id: gpu.segment for gpu in snapshot.gpus}
    named = [o.gpu.id for o in answer.options] + [item.gpu.id for item in answer.inquire]
    assert named and {segments[gpu] for gpu in named} == {"data-centre"}
    if answer.recommendation.kind == "inquire":
        assert answer.inquire and all(item.estimate_cny.low > 0 for item in answer.inquire)


def test_the_laboratory_hears_why_fp32_per_yuan_misleads(snapshot: Snapshot) -> None:
    """BERT-large in FP32, batch 32, 128 tokens, TensorFlow, ¥12,000, one machine that is there."""
    body: dict[str, Any] = {
        "workload": {
            "model": {"preset": "bert-large"},
            "task": "training",
            "precision": "fp32",
            "batch_size": 32,
            "sequence_length": 128,
            "engine": "tensorflow",
        },
        "budget": {"amount": 12_000},
        "counts": [1],
    }
    answer = shortlist(body, snapshot, DAY)
    said = " ".join(say_message(message, "en") for message in answer.advice)
    assert "0.28" in said and "4.46" in said and "19.5" in said
    assert answer.recommendation is not None and answer.recommendation.kind == "inquire"
    first = next(o for o in answer.options if o.acquisition == "buy")
    assert (first.gpu.id, first.fit.verdict) == ("rtx3090", "tight")
    because = " ".join(say_message(message, "en") for message in answer.recommendation.because)
    assert "mixed precision" in because
    mixed = {**body, "workload": {**body["workload"], "precision": "bf16", "recipe": "mixed"}}
    certain = shortlist(mixed, snapshot, DAY)
    assert certain.recommendation is not None and certain.recommendation.kind == "buy"
    third = next(o for o in certain.options if o.gpu.id == "rtx3090")
    assert third.fit.verdict == "fits"


def test_a_bank_with_tenants_and_a_strict_level_gets_its_class_and_a_spare(snapshot: Snapshot) -> None:
    body = {
        "workload": {"model": {"preset": "bert-base"}, "task": "inference"},
        "questions": {"run_over_24h": True, "tenants": True, "strict_sla": True},
    }
    answer = shortlist(body, snapshot, DAY)
    segments = {gpu.id: gpu.segment for gpu in snapshot.gpus}
    assert {segments[o.gpu.id] for o in answer.options} <= {"data-centre"}
    assert {segments[item.gpu.id] for item in answer.inquire} <= {"data-centre"}
    for option in answer.options:
        assert option.acquisition != "buy" or option.host is not None and option.host.spare == 1
        partitions = snapshot.gpu(option.gpu.id).mig_instances
        assert option.plan.data >= 2 or partitions >= 2, "no two tenants share a card unparted"
