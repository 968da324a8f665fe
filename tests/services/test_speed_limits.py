"""A limit that nobody keeps and a full engine, as the API answers them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from app.catalog.snapshot import Snapshot
from app.services import calculator, maintenance
from app.services.answers import as_json
from app.services.results import SpeedAnswer

DAY = date(2026, 11, 30)
LLAMA = {"preset": "llama-3.1-8b"}
CHAT = {"model": LLAMA, "precision": "bf16", "sequence_length": 2048, "output_length": 256}


@pytest.fixture(scope="module")
def snapshot(seeded_database: Path) -> Iterator[Snapshot]:
    with maintenance.open_catalogue(f"sqlite:///{seeded_database}") as opened:
        yield opened


def speed(snapshot: Snapshot, language: str = "en", **workload: Any) -> dict[str, Any]:
    body = {"workload": {**CHAT, **workload}, "gpu": "h100-sxm5-80gb"}
    return dict(as_json(calculator.speed(body, snapshot, DAY), language))


def batch_of(answer: dict[str, Any]) -> dict[str, Any]:
    return {a["field"]: a for a in answer["assumptions"]}.get("batch_size", {})


@pytest.mark.parametrize(("language", "words"), [("en", "cannot be kept"), ("zh", "达不到")])
def test_a_limit_out_of_reach_is_a_warning_with_what_is_reachable(snapshot, language, words):
    (said,) = speed(snapshot, language, latency_limit_ms=1, batch_size=64)["warnings"]
    assert words in said
    (coded,) = calculator.speed(
        {"workload": {**CHAT, "latency_limit_ms": 1}, "gpu": "h100-sxm5-80gb"}, snapshot, DAY
    ).warnings
    assert coded.code == "latency_limit_unreachable"
    # vLLM on one H100, 8B in bf16: 6.5 to 8 ms per token for the one sequence that is asked for.
    assert 6.0 <= coded.params["reachable_ms"] <= 9.0
    # Prompts of others hold a token up: the bare step of 64 users takes 14 ms, a token about twice that.
    assert speed(snapshot, language, latency_limit_ms=40, batch_size=64)["warnings"] == []


@pytest.mark.parametrize(
    ("language", "words"), [("en", "Under this load a token takes at least"), ("zh", "在这个负载下")]
)
def test_the_shortlist_rejects_what_cannot_keep_the_limit(snapshot, language, words):
    body = {"workload": {**CHAT, "batch_size": 16, "latency_limit_ms": 1}}
    answer = as_json(calculator.shortlist(body, snapshot, DAY), language)
    assert answer["options"] == []
    late = [r for r in answer["rejected"] if r["code"] == "deadline"]
    assert late
    assert all(r["text"].startswith(words) for r in late)
    assert all(list(r["remedy"]["change"]) == ["workload.latency_limit_ms"] for r in late)


def test_an_open_batch_under_a_standing_load_is_answered_with_its_number(snapshot):
    full, one = speed(snapshot, load="saturated"), speed(snapshot, load="saturated", batch_size=1)
    assert batch_of(full)["why_code"] == "saturated_sequences"
    assert 180 <= batch_of(full)["value"] <= 280
    assert batch_of(one) == {}
    assert full["speed"]["expected"] > 10 * one["speed"]["expected"]
    many = speed(snapshot, load="saturated", batch_size=128)["speed"]["expected"]
    assert full["speed"]["expected"] >= many >= speed(snapshot, batch_size=128)["speed"]["expected"]
    asked = {"workload": {**CHAT, "load": "saturated"}, "limit": 1}
    listed = calculator.shortlist(asked, snapshot, DAY)
    assert batch_of(as_json(listed, "en"))["why_code"] == "saturated_up_to"


def test_tf32_on_a_card_without_it_is_fp32_and_says_so(snapshot):
    def train(precision: str, gpu: str) -> SpeedAnswer:
        work = {
            "model": {"preset": "resnet-50"},
            "task": "training",
            "precision": precision,
            "batch_size": 64,
        }
        return calculator.speed({"workload": work, "gpu": gpu}, snapshot, DAY)

    for gpu in ("v100-sxm2-32gb", "rtx2080ti"):
        plain, matrix = train("fp32", gpu), train("tf32", gpu)
        assert matrix.speed.expected == plain.speed.expected
        assert matrix.speed.high == plain.speed.high
        assert [w.code for w in matrix.warnings] == ["tf32_runs_as_fp32"]
    for gpu in ("rtx3090", "rtx4090", "a100-sxm4-80gb"):
        assert train("tf32", gpu).speed.expected >= train("fp32", gpu).speed.expected
