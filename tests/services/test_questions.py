"""Ordinary questions of buyers: what is recommended fits at a price of today, else quotes are named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from app.catalog.snapshot import Snapshot
from app.services.calculator import shortlist
from app.services.maintenance import open_catalogue
from app.services.results import ShortlistAnswer
from app.texts.say import say_message

DAY = date(2026, 12, 1)
QUESTIONS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "questions.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
IDS = [f"{q['id']} {q['question']}" for q in QUESTIONS]
DATA_CENTRE_ANSWERS = 3


@pytest.fixture(scope="module")
def snapshot(seeded_database: Path) -> Iterator[Snapshot]:
    with open_catalogue(f"sqlite:///{seeded_database}") as opened:
        yield opened


def answer_to(question: dict[str, Any], snapshot: Snapshot) -> ShortlistAnswer:
    return shortlist(question["body"], snapshot, DAY)


@pytest.mark.parametrize("question", QUESTIONS, ids=IDS)
def test_a_recommendation_rests_on_a_price_of_today_and_fits(
    question: dict[str, Any], snapshot: Snapshot
) -> None:
    answer = answer_to(question, snapshot)
    found = answer.recommendation
    assert found is not None
    assert say_message(found.text, "en") and say_message(found.text, "zh")
    if found.kind == "buy":
        chosen = next(o for o in answer.options if o.rank == found.rank)
        assert chosen.price.evidence in ("firm", "current"), question["expects"]
        assert chosen.fit.verdict == "fits", question["expects"]
        assert found.because, "it says what it rests on"
    elif found.kind == "rent":
        chosen = next(o for o in answer.options if o.rank == found.rank)
        assert chosen.rental is not None and not chosen.rental.stale and chosen.fit.verdict == "fits"
    elif found.kind == "inquire":
        assert found.rank is None and answer.inquire
        assert say_message(found.text, "en").count(";") == min(len(answer.inquire), 3) - 1
    else:
        assert found.kind == "none" and found.rank is None


@pytest.mark.parametrize("question", QUESTIONS, ids=IDS)
def test_quotes_to_ask_for_are_few_and_their_limit_is_inside_the_budget(
    question: dict[str, Any], snapshot: Snapshot
) -> None:
    answer = answer_to(question, snapshot)
    assert len(answer.inquire) <= 5
    assert len({item.gpu.id for item in answer.inquire}) == len(answer.inquire)
    budget = question["body"].get("budget", {}).get("amount")
    for item in answer.inquire:
        band = item.estimate_cny
        assert band.low <= band.expected <= band.high
        if budget:
            assert item.wins_below_cny is not None and item.wins_below_cny * item.count <= budget
    listed = {option.rank for option in answer.options}
    for contender in answer.contenders:
        assert contender.names and contender.rank >= 1
        if contender.rank in listed:
            option = next(o for o in answer.options if o.rank == contender.rank)
            assert (option.label, option.fit.verdict) == (contender.label, "fits")


@pytest.mark.parametrize("question", QUESTIONS[:40], ids=IDS[:40])
def test_a_card_quoted_just_below_its_limit_is_recommended(
    question: dict[str, Any], snapshot: Snapshot
) -> None:
    """The limit is no figure of its own: asked with such a quote, the answer is that card."""
    answer = answer_to(question, snapshot)
    objective = question["body"].get("objective", "total_cost")
    if objective != "total_cost" or answer.recommendation is None or answer.recommendation.kind != "buy":
        return
    for item in answer.inquire[:1]:
        if item.wins_below_cny is None or item.observed.per != "card":
            continue
        own = {**question["body"].get("price_overrides", {}), item.gpu.id: item.wins_below_cny * 0.999}
        asked = shortlist({**question["body"], "price_overrides": own}, snapshot, DAY)
        assert asked.recommendation is not None and asked.recommendation.rank is not None
        chosen = next(o for o in asked.options if o.rank == asked.recommendation.rank)
        assert chosen.gpu.id == item.gpu.id


def test_answers_that_call_for_a_data_centre_card_are_not_contradicted(snapshot: Snapshot) -> None:
    asked = [q for q in QUESTIONS if sum(q["body"].get("questions", {}).values()) >= DATA_CENTRE_ANSWERS]
    assert asked
    segments = {gpu.id: gpu.segment for gpu in snapshot.gpus}
    for question in asked:
        answer = answer_to(question, snapshot)
        assert "class_data_centre" in answer.advice_codes
        rank = answer.recommendation.rank if answer.recommendation else None
        chosen = [o.gpu.id for o in answer.options if o.rank == rank] + [i.gpu.id for i in answer.inquire]
        assert {segments[gpu] for gpu in chosen} == {"data-centre"}, question["question"]


def test_an_hour_costs_what_the_hours_worked_cost(snapshot: Snapshot) -> None:
    body = {
        "workload": {"model": {"preset": "llama-3.1-8b"}, "task": "inference", "batch_size": 16},
        "work": {"amount": 2e8, "unit": "tokens"},
    }
    for option in shortlist(body, snapshot, DAY).options:
        assert option.cost.work_hours is not None
        hours = option.cost.work_hours * option.cost.months
        assert option.cost.per_hour_cny == pytest.approx(option.cost.total_cny / hours)
        assert option.cost.outlay_cny == option.cost.purchase_cny + option.cost.host_cny


def test_stated_use_is_rented_where_that_costs_less_and_assumed_use_never_is(snapshot: Snapshot) -> None:
    workload = {"model": {"preset": "llama-3.1-8b"}, "task": "qlora", "precision": "nf4", "batch_size": 1}
    workload |= {"sequence_length": 2048, "gradient_checkpointing": True}
    cards = {"gpus": ["rtx4090"]}
    assumed = shortlist({"workload": workload, "filters": cards}, snapshot, DAY).recommendation
    assert assumed is not None and assumed.kind != "rent"
    job = {"workload": workload, "filters": cards, "work": {"amount": 2e7, "unit": "tokens"}}
    answer = shortlist(job, snapshot, DAY)
    assert answer.recommendation is not None and answer.recommendation.kind == "rent"
    chosen = next(o for o in answer.options if o.rank == answer.recommendation.rank)
    assert chosen.acquisition == "rent_on_demand" and chosen.condition == "rented"
    assert chosen.rental is not None and chosen.rental.total_cny == pytest.approx(chosen.cost.total_cny)
    assert chosen.cost.purchase_cny == chosen.cost.host_cny == chosen.cost.outlay_cny == 0
    assert chosen.metrics.peak_tflops_per_1000_cny is None and chosen.price.per == "gpu_hour"
    bought = shortlist({**job, "filters": {**cards, "acquisition": ["buy"]}}, snapshot, DAY)
    assert {o.acquisition for o in bought.options} == {"buy"}
    assert chosen.cost.total_cny < min(o.cost.total_cny for o in bought.options)
    rent = next(c for c in answer.contenders if "rent" in c.names)
    assert rent.rank == chosen.rank and rent.text is not None and rent.text.code == "buying_pays_from_jobs"
    own = next(c for c in answer.contenders if "cheapest" in c.names)
    assert rent.text.params["jobs"] == -(-own.total_cny // rent.total_cny)
    beside = shortlist({"workload": workload, "filters": cards}, snapshot, DAY)
    assert [o.acquisition for o in beside.options].count("buy") == len(beside.options) - 1
    assert any("rent" in c.names for c in beside.contenders)


CHAT = {"workload": {"model": {"preset": "qwen3-14b"}, "precision": "int4", "sequence_length": 4096}}


def test_users_wait_for_tokens_unless_the_question_says_that_nobody_does(snapshot: Snapshot) -> None:
    answer = shortlist(CHAT, snapshot, DAY)
    assumed = {a.field: a.value for a in answer.assumptions}
    assert (assumed["service.tokens_per_s_per_user"], assumed["service.first_token_s"]) == (8.0, 10.0)
    for option in answer.options:
        assert option.service is not None and option.service.met
        assert option.service.tokens_per_s_per_user >= 8.0
    free = shortlist({**CHAT, "service": None}, snapshot, DAY)
    assert not {a.field for a in free.assumptions} & set(assumed) & {"service.first_token_s"}
    assert free.feasible >= answer.feasible
    crowd = shortlist({**CHAT, "service": {"users": 64}}, snapshot, DAY)
    assert {o.service.users for o in crowd.options if o.service} == {64}
    assert crowd.question.workload["batch_size"] == 64


@pytest.mark.parametrize("model", ["bert-base", "qwen3-14b"])
def test_a_strict_service_level_pays_for_a_spare_machine(model: str, snapshot: Snapshot) -> None:
    body = {"workload": {"model": {"preset": model}, "task": "inference"}, "limit": 50}
    plain = shortlist(body, snapshot, DAY)
    strict = shortlist({**body, "questions": {"strict_sla": True}}, snapshot, DAY)
    assert {a.field: a.value for a in strict.assumptions}["service.spare_hosts"] == 1
    assert "sla_spare_is_counted" in strict.advice_codes
    before = {o.label + o.condition: o for o in plain.options}
    compared = [(before[o.label + o.condition], o) for o in strict.options if o.label + o.condition in before]
    assert compared
    for without, spared in compared:
        if spared.acquisition != "buy":
            continue
        assert spared.host is not None and spared.host.spare == 1
        # One machine more, with its cards.
        nodes = spared.host.count - 1
        assert spared.cost.purchase_cny == pytest.approx(without.cost.purchase_cny * (nodes + 1) / nodes)
        assert spared.cost.host_cny > without.cost.host_cny
    none = shortlist(
        {**body, "questions": {"strict_sla": True}, "service": {"spare_hosts": 0}}, snapshot, DAY
    )
    assert [o.cost.total_cny for o in none.options] == [o.cost.total_cny for o in plain.options]


def test_prices_are_of_the_region_that_is_asked_for(snapshot: Snapshot) -> None:
    body = {"workload": {"model": {"preset": "qwen3-1.7b"}, "task": "inference", "batch_size": 1}}
    abroad = shortlist(
        {**body, "filters": {"regions": ["US"]}, "price_rules": {"evidence": "any"}}, snapshot, DAY
    )
    assert {a.field: a.value for a in abroad.assumptions}["price_rules.region"] == "US"
    observed = {o.price.region for o in abroad.options if o.price.evidence == "current"}
    assert observed <= {"US", "global"}
    both = shortlist({**body, "filters": {"regions": ["US", "CN"]}}, snapshot, DAY)
    assert {o.price.region for o in both.options} <= {"CN", "global"}
