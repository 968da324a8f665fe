"""Remedies and the small checks around a purchase."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from app.core.decide.guidance import (
    availability_note,
    growth,
    power_advice,
    power_supply,
    tensorflow_snippet,
    used_card_checks,
    utilisation_warning,
    vram_tier,
)
from app.core.decide.remedies import remedies
from app.core.gpu import Gpu
from app.core.memory import estimate
from app.core.workload import Workload
from tests.core.model_examples import BERT_LARGE, LLAMA_2_7B, LLAMA_3_1_8B, RESNET_50

RTX_4090 = Gpu(id="rtx4090", name="RTX 4090", vendor="NVIDIA", memory_gib=24.0, usable_gib=23.6)
RTX_3060 = Gpu(id="rtx3060-12gb", name="RTX 3060", vendor="NVIDIA", memory_gib=12.0, usable_gib=11.6)

QUESTIONS = [
    Workload(LLAMA_3_1_8B, batch_size=16, sequence_length=8192),
    Workload(LLAMA_3_1_8B, batch_size=7, sequence_length=8192),
    Workload(LLAMA_3_1_8B, precision="gguf-f16", batch_size=12, sequence_length=8192),
    Workload(LLAMA_3_1_8B, task="training", batch_size=1, sequence_length=2048),
    Workload(LLAMA_3_1_8B, task="lora", batch_size=4, sequence_length=2048),
    Workload(BERT_LARGE, task="training", precision="fp32", batch_size=64, sequence_length=256),
    Workload(RESNET_50, task="training", precision="fp32", batch_size=400),
]


@pytest.mark.parametrize("work", QUESTIONS)
def test_every_remedy_makes_it_fit_with_its_own_estimate(work: Workload) -> None:
    before = estimate(work).per_gpu_gib.expected
    answers = remedies(work, None, RTX_4090)
    assert answers
    assert len({r.code for r in answers}) == len(answers)
    for remedy in answers:
        assert remedy.change
        assert remedy.memory is not None and remedy.memory.per_gpu_gib.expected < before
        assert remedy.fit is not None and remedy.fit.verdict != "does_not_fit"
        assert remedy.text.code == f"remedy_{remedy.code}"


def test_what_fits_needs_no_remedy() -> None:
    assert remedies(Workload(LLAMA_3_1_8B, batch_size=1, sequence_length=2048), None, RTX_4090) == ()


def test_the_cheapest_comes_first() -> None:
    answers = remedies(Workload(LLAMA_3_1_8B, batch_size=7, sequence_length=8192), None, RTX_4090)
    codes = [r.code for r in answers]
    assert codes[0] == "kv_fp8"
    assert answers[0].change == {"workload.kv_precision": "fp8"}
    assert codes.index("smaller_batch") < codes.index("quantized_weights") < codes.index("more_cards")


def test_full_fine_tuning_on_one_small_card_takes_several_changes() -> None:
    work = Workload(LLAMA_3_1_8B, task="training", batch_size=1, sequence_length=2048)
    (remedy,) = remedies(work, None, RTX_4090, max_cards=1)
    assert remedy.code == "combined"
    assert remedy.change["workload.task"] in ("lora", "qlora")


def test_a_smaller_batch_keeps_the_effective_one() -> None:
    work = Workload(BERT_LARGE, task="training", precision="fp32", batch_size=64, sequence_length=128)
    remedy = next(r for r in remedies(work, None, RTX_4090) if r.code == "smaller_batch_accumulated")
    change = remedy.change
    assert change["workload.batch_size"] * change["workload.gradient_accumulation"] >= 64


@pytest.mark.parametrize(("batch", "tier"), [(64, "8"), (256, "12-16")])
def test_feature_9_tiers_come_from_the_estimate(batch: int, tier: str) -> None:
    need = estimate(Workload(RESNET_50, task="training", precision="fp16", batch_size=batch))
    message = vram_tier(float(need.per_gpu_gib.expected))
    assert (message.code, message.params["tier"]) == ("vram_tier", tier)


@pytest.mark.parametrize(
    ("gib", "code", "value"),
    [(20.0, "tier", "24"), (40.0, "tier", "48"), (70.0, "tier", "80"), (500.0, "cards", 7)],
)
def test_higher_tiers(gib: float, code: str, value: Any) -> None:
    assert vram_tier(gib).params[code] == value


def test_feature_39_next_size_that_no_longer_fits() -> None:
    work = Workload(LLAMA_2_7B, task="lora", batch_size=1, sequence_length=512, gradient_checkpointing=True)
    best, following = growth(work, RTX_4090)
    assert best is not None and 7e9 <= best <= 8e9
    assert following is not None and 13e9 <= following <= 14e9


@pytest.mark.parametrize(
    ("cards", "cpu_w", "minimum", "advised"), [(1, 125.0, 750, 800), (2, 200.0, 1200, 1350)]
)
def test_feature_23_power_supply(cards: int, cpu_w: float, minimum: int, advised: int) -> None:
    params = power_supply(cards, 350.0, cpu_w).params
    assert (params["minimum_w"], params["advised_w"]) == (minimum, advised)
    card = replace(RTX_4090, tdp_w=350.0, form_factor="PCIe card", cooling="open fans")
    said = power_advice(card, cards)
    assert said[0] == power_supply(cards, 350.0, cpu_w)
    assert [m.code for m in said[1:]] == (["open_fans_heat"] if cards == 2 else [])
    assert power_advice(card, 8) == () and power_advice(replace(card, form_factor="SXM5"), 1) == ()


def test_feature_33_a_3090_is_too_old_for_the_age_rule() -> None:
    age, *checks = used_card_checks("2020-09-24", date(2026, 11, 30))
    assert age.code == "used_age"
    assert age.params["passes"] is False
    assert age.params["years"] == pytest.approx(6.2, abs=0.05)
    assert {c.code for c in checks} >= {"used_mining", "used_warranty", "used_stress_test"}
    assert used_card_checks("", date(2026, 11, 30))[0].code == "used_age_unknown"
    assert used_card_checks("2025-03", date(2026, 11, 30))[0].params["passes"] is True


def test_feature_32_and_26_notes() -> None:
    note = availability_note(99.99)
    assert note is not None and note.params["nodes"] == 2
    assert availability_note(99.0) is None
    warning = utilisation_warning(0.25)
    assert warning is not None and warning.code == "low_utilisation"
    assert utilisation_warning(0.30) is None


def test_feature_35_snippet_keeps_the_last_activation_in_float32() -> None:
    text = tensorflow_snippet(mixed=True, cards=2)
    assert "dtype='float32'" in text
    assert "set_memory_growth" in text and "MirroredStrategy" in text
    compile(text, "snippet", "exec")
    assert "MirroredStrategy" not in tensorflow_snippet(mixed=False, cards=1)
