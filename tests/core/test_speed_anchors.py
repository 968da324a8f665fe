"""Measurements correct the model: where, by how much, and how sure it then is."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from app.core.gpu import Benchmark
from app.core.gpu_table import GpuTable
from app.core.speed import BenchmarkIndex, estimate, speed_grid
from app.core.speed.anchors import weighted_median
from app.core.workload import Parallelism, Workload, resolve
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


def test_the_same_question_gives_the_measurement_itself():
    found = ask([measured(value=1234.0)])
    assert found.expected == pytest.approx(1234.0)
    assert found.basis == "measured"
    assert found.sources == ("rtx3090-1234.0",)
    assert found.high / found.expected < ask([]).high / ask([]).expected


def test_another_batch_keeps_the_ratio_of_the_model():
    plain = ask([])
    larger = replace(RESNET, batch_size=128)
    found = ask([measured(value=plain.expected * 1.2)], larger)
    assert found.basis == "measured"
    assert found.expected == pytest.approx(ask([], larger).expected * 1.2)


def test_far_measurements_calibrate_only():
    found = ask([measured(batch_per_gpu=2.0, value=100.0)])
    assert found.basis == "calibrated"


def test_several_rows_count_by_their_weighted_median():
    plain = ask([]).expected
    rows = [measured(value=plain * f, id=str(f)) for f in (0.9, 1.1, 30.0)]
    assert ask(rows).expected == pytest.approx(plain * 1.1)
    assert weighted_median(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 5.0])) == 2.0


def test_own_measurements_weigh_more_than_published_ones():
    plain = ask([]).expected
    published = [measured(value=plain * 1.5, id=f"p{i}") for i in range(5)]
    own = measured(value=plain * 0.8, id="own", own=True)
    assert ask([*published, own]).expected == pytest.approx(plain * 0.8)


def test_neighbours_of_the_family_move_a_card_without_a_measurement():
    rows = [measured("rtx3090", ask([]).expected * 1.4, id=str(i)) for i in range(4)]
    plain, moved = (ask(r, gpu_id="rtx3060-12gb") for r in ([], rows))
    assert plain.basis == "derived"
    assert moved.basis == "calibrated"
    assert 1.1 < moved.expected / plain.expected < 1.4
    wild = [measured("rtx3090", ask([]).expected * 50, id=str(i)) for i in range(9)]
    assert ask(wild, gpu_id="rtx3060-12gb").expected / plain.expected <= math.exp(0.7) + 1e-9


@pytest.mark.parametrize(
    "changes",
    [
        {"flag": "over dense peak"},
        {"precision": "fp32"},
        {"precision": ""},
        {"task": "inference"},
        {"unit": "samples_per_s"},
        {"framework": "TensorRT / vendor stack"},
        {"framework": "TensorFlow 2"},
        {"model_id": "resnet-152"},
        {"gpu_count": 64},
        {"gpu_id": "a-card-of-another-catalogue"},
    ],
)
def test_rows_that_do_not_agree_are_not_used(changes):
    assert ask([measured(**changes)]) == ask([])


def test_fp16_and_bf16_are_one_precision():
    assert ask([measured(value=1234.0, precision="bf16")]).expected == pytest.approx(1234.0)


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
    }
    rows = [
        measured(value=110.0, id="decode", phase="decode", **row),
        measured(value=4000.0, id="prefill", phase="prefill", **row),
    ]
    found = ask(rows, work)
    assert found.detail["decode"].expected == pytest.approx(110.0)
    assert found.detail["prefill"].expected == pytest.approx(4000.0)
    assert found.expected == pytest.approx(128 / (1024 / 4000 + 128 / 110))
    assert set(found.sources) == {"decode", "prefill"}


def test_measurements_at_another_count_are_scaled():
    plain = ask([]).expected
    two = ask([], plan=Parallelism(data=2)).expected
    found = ask([measured(value=two * 1.2, gpu_count=2)])
    assert found.expected == pytest.approx(plain * 1.2)


def test_the_index_changes_nothing_but_the_time():
    rows = [measured(value=900.0), measured("a100-sxm4-80gb", 2000.0)]
    index = BenchmarkIndex(rows)
    assert len(index) == 2
    assert list(index) == rows
    assert index[0] is rows[0]
    assert ask(index) == ask(rows)


def test_one_card_with_the_catalogue_gives_the_number_of_the_grid():
    rows = [measured("rtx3090", 900.0)]
    single = estimate(RESNET, ONE, BY_ID["rtx3060-12gb"], rows, GPUS, TABLE)
    assert single == ask(rows, gpu_id="rtx3060-12gb")
    own_only = estimate(RESNET, ONE, BY_ID["rtx3060-12gb"], rows)
    assert own_only.basis == "derived"
