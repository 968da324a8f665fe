"""Verdicts, the largest batch and the longest sequence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.core.decide.fit import fit, judge, max_batch_size, max_sequence_length, usable_gib
from app.core.estimates import Interval, MemoryEstimate
from app.core.faults import InputFault
from app.core.gpu import Gpu
from app.core.memory import estimate
from app.core.model.architecture import architecture_from_fields
from app.core.resolve import resolve
from app.core.workload import Parallelism, Workload
from tests.core.model_examples import BERT_LARGE, LLAMA_3_1_8B, RESNET_50

RTX_4090 = Gpu(id="rtx4090", name="RTX 4090", vendor="NVIDIA", memory_gib=24.0, usable_gib=23.6)


def _estimate(low: float, expected: float, high: float) -> MemoryEstimate:
    span = Interval(low, expected, high)
    return MemoryEstimate(span, span, span, ())


@pytest.mark.parametrize(
    ("usable", "used", "verdict", "margin"),
    [
        (24.0, 0.0, "fits", 4.0),
        (23.0, 0.0, "fits", 3.0),
        (22.9, 0.0, "tight", 2.9),
        (20.0, 0.0, "tight", 0.0),
        (19.9, 0.0, "does_not_fit", -0.1),
        (24.0, 2.0, "tight", 2.0),
        (24.0, 5.0, "does_not_fit", -1.0),
    ],
)
def test_verdict_is_by_high_and_expected(usable: float, used: float, verdict: str, margin: float) -> None:
    found, left = judge(_estimate(18.0, 20.0, 23.0), usable, used)
    assert found == verdict
    assert left == pytest.approx(margin)


@pytest.mark.parametrize(
    ("work", "plan", "usable"),
    [
        (Workload(LLAMA_3_1_8B, sequence_length=8192), None, 23.6),
        (Workload(LLAMA_3_1_8B, sequence_length=1024), Parallelism(data=3, tensor=2), 47.5),
        (Workload(LLAMA_3_1_8B, task="lora", sequence_length=1024), None, 39.5),
        (Workload(BERT_LARGE, task="training", sequence_length=128, precision="fp32"), None, 15.6),
        (Workload(RESNET_50, task="training", precision="fp16"), None, 79.2),
    ],
)
def test_largest_batch_is_exact(work: Workload, plan: Parallelism | None, usable: float) -> None:
    best = max_batch_size(work, plan, usable)
    assert best >= 1
    assert estimate(replace(work, batch_size=best), plan).per_gpu_gib.expected <= usable
    assert estimate(replace(work, batch_size=best + 1), plan).per_gpu_gib.expected > usable


@pytest.mark.parametrize("usable", [18.0, 23.6, 30.0])
def test_longest_sequence_is_exact(usable: float) -> None:
    work = Workload(LLAMA_3_1_8B, batch_size=4, output_length=128)
    best = max_sequence_length(work, None, usable)
    assert best is not None and 128 < best < LLAMA_3_1_8B.max_context
    assert estimate(replace(work, sequence_length=best), None).per_gpu_gib.expected <= usable
    assert estimate(replace(work, sequence_length=best + 1), None).per_gpu_gib.expected > usable


@pytest.mark.parametrize("field", ["batch_size", "sequence_length"])
@pytest.mark.parametrize("task", ["inference", "training", "lora", "qlora"])
@pytest.mark.parametrize("family", ["decoder", "encoder", "encoder-decoder", "speech", "diffusion"])
def test_the_need_never_falls_as_the_question_grows(family: str, task: Any, field: str) -> None:
    # Both searches rest on it.
    model = architecture_from_fields({"family": family, "parameters": 1.5e9})
    values = np.unique(np.floor(np.geomspace(1, 200_000, 300)))
    for checkpointing in (False, True, "selective"):
        work = Workload(
            model, task=task, sequence_length=512, source_length=512, gradient_checkpointing=checkpointing
        )
        resolved, _ = resolve(work)
        need = estimate(replace(resolved, **{field: values}), Parallelism(data=2, tensor=2)).per_gpu_gib
        steps = np.diff(np.broadcast_to(np.asarray(need.expected), values.shape))
        assert (steps >= -1e-9).all()


def test_the_bounds_of_both_searches() -> None:
    work = Workload(LLAMA_3_1_8B, sequence_length=1)
    assert max_batch_size(work, None, 5.0) == 0
    assert max_batch_size(work, None, 1e6) == 1_000_000
    assert max_sequence_length(replace(work, batch_size=1), None, 5.0) == 0
    # Never beyond what the model accepts.
    assert max_sequence_length(replace(work, batch_size=1), None, 79.2) == LLAMA_3_1_8B.max_context
    assert max_sequence_length(Workload(RESNET_50), None, 24.0) is None


def test_fit_of_a_card_and_plan() -> None:
    work = Workload(LLAMA_3_1_8B, batch_size=2, sequence_length=8192)
    answer = fit(work, None, RTX_4090)
    assert answer.verdict == "fits"
    assert answer.usable_gib == 23.6
    assert answer.max_batch_size is not None and 2 < answer.max_batch_size < 8
    used = fit(replace(work, used_gib=4.0), None, RTX_4090)
    assert used.margin_gib == pytest.approx(answer.margin_gib - 4.0)
    assert used.max_batch_size == answer.max_batch_size - 4


def test_inference_batch_counts_all_replicas() -> None:
    work = Workload(LLAMA_3_1_8B, sequence_length=8192)
    one = max_batch_size(work, Parallelism(), 23.0)
    assert max_batch_size(work, Parallelism(data=4), 22.0 + 1.0 + _collectives(work)) == 4 * one


def _collectives(work: Workload) -> float:
    return float(estimate(work, Parallelism(data=4)).part("communication"))


@pytest.mark.parametrize(
    ("figures", "expected"),
    [({"usable_gib": 14.75, "memory_gib": 16.0}, 14.75), ({"memory_gib": 50.0}, 48.0)],
)
def test_usable_memory_is_measured_or_a_share(figures: dict[str, Any], expected: float) -> None:
    assert usable_gib(Gpu(id="x", name="x", vendor="x", **figures)) == pytest.approx(expected)


def test_unknown_memory_is_refused() -> None:
    with pytest.raises(InputFault) as caught:
        fit(Workload(LLAMA_3_1_8B), None, Gpu(id="x", name="x", vendor="x"))
    assert caught.value.errors[0].code == "gpu_memory_unknown"
