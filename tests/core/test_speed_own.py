"""The team's own measurements decide what they measured, and no more than a published row elsewhere."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from app.core.gpu import Benchmark
from app.core.resolve import resolve
from app.core.speed import BenchmarkIndex, speed_grid
from app.core.speed import constants as c
from app.core.speed.own import own_rows, place_of
from app.core.workload import Parallelism, Workload
from tests.core.cards import GPUS, LLAMA_8B
from tests.core.test_speed_evidence import ONE, RESNET, ROW, TABLE, ask, measured, width

CHAT = resolve(
    Workload(
        LLAMA_8B,
        precision="bf16",
        batch_size=16,
        sequence_length=1024,
        output_length=256,
        engine="vllm",
    )
)[0]


def served(value: float, **changes: object) -> Benchmark:
    fields: dict[str, object] = {
        "id": "own",
        "model_id": "llama-3.1-8b",
        "task": "inference",
        "unit": "tokens_per_s",
        "precision": "bf16",
        "framework": "vLLM",
        "batch_per_gpu": 16.0,
        "image_size": None,
        "input_length": 768.0,
        "output_length": 256.0,
        "own": True,
    }
    return measured("a100-sxm4-80gb", value, **{**fields, **changes})


def asked(rows: list[Benchmark], work: Workload = CHAT, plan: Parallelism = ONE):
    return ask(rows, work, "a100-sxm4-80gb", plan)


def test_a_whole_run_is_answered_as_it_was_measured() -> None:
    plain = asked([])
    found = asked([served(plain.expected * 0.6)])
    assert plain.phase == "whole_run"
    assert found.expected == pytest.approx(plain.expected * 0.6, rel=1e-6)
    assert (found.basis, found.sources) == ("measured", ("own",))
    assert width(found) <= c.OWN_WIDTH * (1 + 1e-12) < width(plain)


def test_a_saturated_server_is_answered_as_it_was_measured() -> None:
    full = replace(CHAT, load="saturated")
    plain = asked([], full)
    found = asked([served(plain.expected * 1.3, phase="saturated", batch_per_gpu=16.0)], full)
    assert found.expected == pytest.approx(plain.expected * 1.3, rel=1e-6)
    assert found.basis == "measured"


def test_nearby_questions_follow_in_part() -> None:
    rows = [served(asked([]).expected * 0.6)]
    moves = []
    for batch in (16, 32, 64, 256):
        work = replace(CHAT, batch_size=batch)
        moves.append(math.log(asked(rows, work).expected / asked([], work).expected))
    assert moves == sorted(moves)
    assert moves[0] == pytest.approx(math.log(0.6), rel=1e-6)
    far = replace(CHAT, batch_size=256)
    published = [replace(rows[0], own=False)]
    assert asked(rows, far).expected == pytest.approx(asked(published, far).expected, rel=0.001)


def test_it_speaks_of_its_own_count_of_cards() -> None:
    rows = [served(asked([]).expected * 0.6)]
    two = Parallelism(tensor=2)
    published = [replace(rows[0], own=False)]
    assert asked(rows, CHAT, two).expected == pytest.approx(asked(published, CHAT, two).expected)


def test_two_own_measurements_meet_in_the_middle() -> None:
    plain = asked([]).expected
    found = asked([served(plain * 0.8, id="one"), served(plain * 1.25, id="two")])
    assert found.expected == pytest.approx(plain, rel=1e-6)
    assert found.sources == ("one", "two")


def test_published_rows_of_another_card_keep_their_say() -> None:
    published = [measured("rtx3090", 850.0, id=f"p{i}", source=None) for i in range(3)]
    own = measured("rtx4090", ask([], RESNET, "rtx4090").expected * 1.6, id="own", own=True)
    before, after = ask(published), ask([*published, own])
    assert after.expected == pytest.approx(before.expected, rel=0.1)
    assert after.low < 850.0 < after.high


def test_flagged_and_published_rows_are_no_own_measurement() -> None:
    models = {LLAMA_8B.id: LLAMA_8B}
    rows = [served(100.0, own=False), served(100.0, flag="not as sold"), served(100.0, framework="")]
    assert own_rows(rows, models) == ()


def test_a_figure_is_worked_out_once() -> None:
    index = BenchmarkIndex([served(asked([]).expected * 0.6)], {LLAMA_8B.id: LLAMA_8B})
    grids = [speed_grid(CHAT, (ONE,), TABLE, GPUS, index) for _ in range(2)]
    assert grids[0].expected[ROW["a100-sxm4-80gb"], 0] == grids[1].expected[ROW["a100-sxm4-80gb"], 0]
    calls: list[str] = []
    index.figure(index.own(LLAMA_8B)[0], TABLE, lambda own: calls.append(own.row.id) or 1.0)
    assert calls == []


def test_places_are_octaves_of_what_a_phase_depends_on() -> None:
    double = replace(CHAT, batch_size=32)
    for phase in ("run", "prefill", "decode"):
        first, second = place_of(CHAT, 1, phase), place_of(double, 1, phase)
        assert second[0] - first[0] == pytest.approx(1.0)
        assert second[1:] == first[1:]
    assert place_of(CHAT, 1, "prefill")[1] == pytest.approx(math.log2(768))
