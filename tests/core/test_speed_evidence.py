"""Measurements correct the model: where, by how much, and how sure it then is."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from app.core.gpu import Benchmark
from app.core.gpu_table import GpuTable
from app.core.resolve import resolve
from app.core.speed import BenchmarkIndex, estimate, speed_grid
from app.core.workload import Parallelism, Workload
from tests.core.cards import BY_ID, GPUS, LLAMA_8B, RESNET_50

ONE = Parallelism()
TABLE = GpuTable.from_gpus(GPUS)
ROW = {g.id: i for i, g in enumerate(GPUS)}
RESNET = resolve(Workload(RESNET_50, task="training", precision="fp16", batch_size=64))[0]


def measured(gpu_id="rtx3090", value=800.0, **changes) -> Benchmark:
    fields = {
        "id": f"{gpu_id}-{value}",
        "gpu_id": gpu_id,
        "gpu_count": 1,
        "model_id": "resnet-50",
        "model_name": "ResNet-50",
        "task": "training",
        "precision": "fp16",
        "value": value,
        "unit": "images_per_s",
        "batch_per_gpu": 64.0,
        "image_size": 224.0,
        "framework": "PyTorch",
    }
    return Benchmark(**{**fields, **changes})


def ask(rows, work=RESNET, gpu_id="rtx3090", plan=ONE):
    return speed_grid(work, (plan,), TABLE, GPUS, rows).estimate(ROW[gpu_id], 0)


def moved(found, plain, to) -> float:
    """Share of the way, in logarithms, from the plain estimate to a measurement."""
    return math.log(found.expected / plain.expected) / math.log(to / plain.expected)


def width(found) -> float:
    return math.log(found.high / found.expected)


PLAIN = ask([])


def test_a_published_measurement_of_the_question_nearly_replaces_the_model():
    found = ask([measured(value=1234.0)])
    # One source may deviate by what two sources differ (11 % at the median), so a little of the model stays.
    assert 0.8 < moved(found, PLAIN, 1234.0) < 1.0
    assert (found.basis, found.sources) == ("measured", ("rtx3090-1234.0",))
    assert width(found) < width(PLAIN)


def test_the_teams_own_measurement_replaces_it_and_counts_before_published_ones():
    own = measured(value=PLAIN.expected * 0.8, id="own", own=True)
    found = ask([own])
    assert found.expected == pytest.approx(PLAIN.expected * 0.8, rel=0.01)
    published = [measured(value=PLAIN.expected * 1.5, id=f"p{i}") for i in range(5)]
    both = ask([*published, own])
    assert both.basis == "measured"
    assert both.expected == pytest.approx(PLAIN.expected * 0.8, rel=0.04)
    # The team's software is that of the next question too: other cards of the team move with it.
    other = ask([own], gpu_id="rtx3060-12gb")
    assert other.expected < 0.95 * ask([], gpu_id="rtx3060-12gb").expected


def test_another_batch_takes_most_of_the_correction_along():
    double, far = (replace(RESNET, batch_size=n) for n in (128, 4096))
    rows = [measured(value=PLAIN.expected * 1.4)]
    near_plain, far_plain = ask([], double), ask([], far)
    near, away = ask(rows, double), ask(rows, far)
    same = math.log(ask(rows).expected / PLAIN.expected)
    assert 0.8 * same < math.log(near.expected / near_plain.expected) < same
    assert 0 < math.log(away.expected / far_plain.expected) < math.log(near.expected / near_plain.expected)
    assert (near.basis, away.basis) == ("measured", "calibrated")
    assert width(near) < width(away)


def test_far_rows_of_a_group_count_less():
    rows = [measured(value=PLAIN.expected * f, id=str(f)) for f in (1.08, 1.1, 1.12, 30.0)]
    assert ask(rows).expected / PLAIN.expected == pytest.approx(1.1, abs=0.06)


def test_neighbours_of_the_family_move_a_card_without_a_measurement():
    rows = [measured("rtx3090", PLAIN.expected * 1.4, id=str(i)) for i in range(4)]
    plain, found = (ask(r, gpu_id="rtx3060-12gb") for r in ([], rows))
    assert plain.basis == "derived"
    assert found.basis == "calibrated"
    assert 1.1 < found.expected / plain.expected < 1.4
    other_family = ask(rows, gpu_id="h100-sxm5-80gb")
    assert (
        1.0
        < other_family.expected / ask([], gpu_id="h100-sxm5-80gb").expected
        < found.expected / plain.expected
    )
    assert width(ask(rows)) < width(found) < width(other_family)


@pytest.mark.parametrize(
    "changes",
    [
        {"flag": "over dense peak"},
        {"precision": ""},
        {"task": "inference"},
        {"unit": "samples_per_s"},
        {"model_id": "a-model-of-another-catalogue"},
        {"gpu_count": 4096},
        {"gpu_id": "a-card-of-another-catalogue"},
        {"framework": "pencil and paper"},
    ],
)
def test_rows_that_say_nothing_of_the_class_are_not_used(changes):
    found = ask([measured(**changes)])
    assert found.expected == PLAIN.expected
    assert found.basis == "derived"


@pytest.mark.parametrize(
    "changes",
    [{"precision": "fp32"}, {"framework": "TensorFlow 2"}, {"framework": "TensorRT / vendor stack"}],
)
def test_rows_of_another_stack_move_a_little_and_are_no_measurement(changes):
    rows = [measured(value=3 * PLAIN.expected, **changes)]
    found = ask(rows)
    assert found.basis == "calibrated"
    assert abs(math.log(found.expected / PLAIN.expected)) < math.log(2.5)
    assert found.expected != PLAIN.expected


def test_fp16_and_bf16_are_one_precision():
    assert ask([measured(precision="bf16")]) == ask([measured()])


def test_each_phase_of_a_language_model_is_corrected_by_its_own_measurements():
    work = resolve(
        Workload(
            LLAMA_8B,
            engine="llama.cpp",
            precision="gguf-q4_k_m",
            batch_size=1,
            sequence_length=1152,
            output_length=128,
        )
    )[0]
    row = {
        "model_id": "llama-3.1-8b",
        "task": "inference",
        "unit": "tokens_per_s",
        "precision": "gguf-q4_k_m",
        "framework": "llama.cpp",
        "batch_per_gpu": 1.0,
        "image_size": None,
        "input_length": 1024.0,
        "output_length": 128.0,
        "own": True,
    }
    rows = [
        measured(value=110.0, id="decode", phase="decode", **row),
        measured(value=4000.0, id="prefill", phase="prefill", **row),
    ]
    found = ask(rows, work)
    assert found.decode.expected == pytest.approx(110.0, rel=0.02)
    assert found.prefill.expected == pytest.approx(4000.0, rel=0.02)
    assert found.expected == pytest.approx(128 / (1024 / 4000 + 128 / 110), rel=0.02)
    assert set(found.sources) == {"decode", "prefill"}
    assert found.basis == "measured"
    # With one of the two phases known, the whole is only as sure as the other.
    assert ask(rows[:1], work).basis == "derived"


def test_rows_of_another_engine_say_nothing_of_one_that_serves():
    work = resolve(Workload(LLAMA_8B, batch_size=1, sequence_length=1152, output_length=128))[0]
    rows = [
        measured(
            value=50.0 + i,
            id=str(i),
            phase="decode",
            model_id="llama-3.1-8b",
            task="inference",
            unit="tokens_per_s",
            precision="bf16",
            framework="llama.cpp",
            image_size=None,
        )
        for i in range(20)
    ]
    known, plain = (ask(r, work).decode for r in (rows, []))
    assert known == plain


def test_measurements_at_another_count_are_scaled():
    two = ask([], plan=Parallelism(data=2)).expected
    found = ask([measured(value=two * 1.2, gpu_count=2)])
    assert 1.05 < found.expected / PLAIN.expected < 1.2
    both = ask([measured(value=two * 1.2, gpu_count=2)], plan=Parallelism(data=2))
    assert both.expected / two > found.expected / PLAIN.expected
    assert both.basis == "measured"


def test_the_index_changes_nothing_but_the_time():
    rows = [measured(value=900.0), measured("a100-sxm4-80gb", 2000.0)]
    index = BenchmarkIndex(rows)
    assert len(index) == 2
    assert list(index) == rows
    assert index[0] is rows[0]
    assert ask(index) == ask(rows)
    named = BenchmarkIndex(rows, {"resnet-50": RESNET_50})
    assert ask(named) == ask(rows)


def test_cards_taken_alone_keep_their_figures():
    rows = [measured(value=900.0)]
    grid = speed_grid(RESNET, (ONE, Parallelism(data=2)), TABLE, GPUS, rows)
    taken = np.array([ROW["rtx3060-12gb"], ROW["rtx3090"]])
    part = speed_grid(RESNET, (ONE, Parallelism(data=2)), TABLE, GPUS, rows, taken)
    assert part.estimate(1, 1) == grid.estimate(ROW["rtx3090"], 1)
    cells = [(ROW["rtx3090"], 0), (ROW["rtx3060-12gb"], 1)]
    alone = [float(grid.widths([cell])[0]) for cell in cells]
    assert np.asarray(speed_grid(RESNET, (ONE, Parallelism(data=2)), TABLE, GPUS, rows).widths(cells)) == (
        pytest.approx(alone)
    )


def test_one_card_with_the_catalogue_gives_the_number_of_the_grid():
    rows = [measured("rtx3090", 900.0)]
    single = estimate(RESNET, ONE, BY_ID["rtx3060-12gb"], rows, GPUS, TABLE)
    assert single == ask(rows, gpu_id="rtx3060-12gb")
    own_only = estimate(RESNET, ONE, BY_ID["rtx3060-12gb"], rows)
    assert own_only.basis == "derived"
