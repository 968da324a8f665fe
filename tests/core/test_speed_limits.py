"""What no answer may contradict: TF32 and FP32, a limit on the time per token, a full engine and a batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.core.decide.options import latency_rejection, latency_unreachable
from app.core.decide.shortlist import rank
from app.core.gpu import Benchmark, Source
from app.core.gpu_table import Floats, GpuTable
from app.core.question import ShortlistQuestion
from app.core.resolve import resolve
from app.core.speed import BenchmarkIndex, SpeedGrid, estimate, speed_grid
from app.core.workload import Parallelism, Workload
from tests.core.cards import ALL_PRICES, BERT_LARGE, BY_ID, GPUS, LLAMA_8B, RESNET_50

TABLE = GpuTable.from_gpus(GPUS)
PLACE = {g.id: i for i, g in enumerate(GPUS)}
H100 = BY_ID["h100-sxm5-80gb"]
ONE = Parallelism()
PLANS = (ONE, Parallelism(tensor=2), Parallelism(data=4), Parallelism(data=2, tensor=2))
CHAT = Workload(LLAMA_8B, sequence_length=2048, output_length=256.0)
WIDE_QUESTIONS = (
    Workload(RESNET_50, task="training", batch_size=64),
    Workload(RESNET_50, batch_size=64),
    Workload(replace(RESNET_50, id="vgg-16", backbone="vgg"), batch_size=32),
    Workload(BERT_LARGE, task="training", batch_size=8, sequence_length=384),
    Workload(BERT_LARGE, batch_size=8, sequence_length=384),
    Workload(LLAMA_8B, task="training", batch_size=1, sequence_length=2048),
    CHAT,
)
SOURCE = Source("lambda", "https://github.com/lambdal/deeplearning-benchmark", "Lambda")


def measured(gpu_id: str, precision: str, value: float) -> Benchmark:
    return Benchmark(
        id=f"{gpu_id}-{precision}",
        gpu_id=gpu_id,
        gpu_count=1,
        model_id=RESNET_50.id,
        model_name="ResNet-50",
        task="training",
        precision=precision,
        value=value,
        unit="images_per_s",
        batch_per_gpu=64.0,
        framework="PyTorch",
        source=SOURCE,
    )


def grid(work: Workload, rows: tuple[Benchmark, ...] = ()) -> SpeedGrid:
    models = {RESNET_50.id: RESNET_50}
    return speed_grid(resolve(work)[0], (ONE,), TABLE, GPUS, BenchmarkIndex(rows, models))


def both(work: Workload, rows: tuple[Benchmark, ...] = ()) -> tuple[SpeedGrid, SpeedGrid]:
    return grid(replace(work, precision="fp32"), rows), grid(replace(work, precision="tf32"), rows)


# Made up so that fp32 of the V100 runs high and tf32 of the 3090 low: fp32 guessed for the 3090 lies above.
ROWS = (measured("v100-sxm2-16gb", "fp32", 400.0), measured("rtx3090", "tf32", 330.0))


@pytest.mark.parametrize("work", WIDE_QUESTIONS, ids=lambda w: f"{w.model.id}-{w.task}")
@pytest.mark.parametrize("rows", [(), ROWS], ids=["model", "measured"])
def test_tf32_is_never_slower_than_fp32_and_is_fp32_where_it_is_missing(work, rows):
    plain, matrix = both(work, rows)
    known = np.isfinite(plain.expected)
    assert np.all(matrix.expected[known] >= plain.expected[known])
    lacks = np.isnan(TABLE.rate("tf32_tflops"))
    assert np.any(lacks)
    assert np.any(~lacks)
    for row in np.flatnonzero(lacks & known[:, 0]).tolist():
        one, other = plain.estimate(row, 0), matrix.estimate(row, 0)
        assert (one.low, one.expected, one.high) == (other.low, other.expected, other.high)
        assert matrix.widths([(row, 0)]) == plain.widths([(row, 0)])


def test_tf32_multiplies_faster_where_products_bind():
    plain, matrix = both(WIDE_QUESTIONS[3])
    a100 = PLACE["a100-sxm4-80gb"]
    # DeepLearningExamples, BERT large on an A100: TF32 2.2 to 3.3 times FP32.
    assert 2.0 <= matrix.expected[a100, 0] / plain.expected[a100, 0] <= 4.0


def test_fp32_yields_to_tf32_unless_it_was_measured_itself():
    work, card = WIDE_QUESTIONS[0], PLACE["rtx3090"]
    plain, matrix = both(work, ROWS)
    assert plain.expected[card, 0] == matrix.expected[card, 0]
    assert matrix.expected[card, 0] == grid(replace(work, precision="tf32"), ROWS).expected[card, 0]
    fast = (*ROWS, measured("rtx3090", "fp32", 480.0))
    raised_plain, raised = both(work, fast)
    assert raised_plain.estimate(card, 0).basis == "measured"
    assert raised.expected[card, 0] == raised_plain.expected[card, 0] > matrix.expected[card, 0]


def asked(**changes: object) -> Workload:
    return replace(CHAT, load="saturated", **changes)


def rates(work: Workload) -> tuple[Floats, Floats]:
    found = speed_grid(resolve(work)[0], PLANS, TABLE, GPUS)
    return found.expected, np.broadcast_to(found.terms.detail["concurrent_sequences"], found.expected.shape)


def test_a_saturated_engine_is_no_slower_than_a_batch_of_as_many():
    for batch in (1, 2, 7, 32, 128):
        full, running = rates(asked(batch_size=batch, batch_stated=True))
        batched, _ = rates(replace(CHAT, batch_size=batch))
        same = np.isclose(running, batch) & np.isfinite(full)
        assert np.any(same)
        assert np.all(full[same] >= batched[same] * (1.0 - 1e-9))


def test_more_sequences_allowed_never_slow_a_saturated_engine():
    before = None
    for batch in (1, 2, 3, 4, 5, 8, 9, 16, 17, 64, 128, 256, 512):
        rate, running = rates(asked(batch_size=batch, batch_stated=True))
        assert np.all(running[np.isfinite(rate)] <= batch)
        if before is not None:
            known = np.isfinite(rate)
            assert np.all(rate[known] >= before[known] * (1.0 - 1e-9))
        before = rate
    # 512 sequences on one card: no fewer than where nobody says how many.
    free, _ = rates(asked())
    assert free[:, 0] == pytest.approx(before[:, 0], nan_ok=True)


def test_an_open_batch_fills_the_engine_and_the_answer_says_with_how_many():
    full = estimate(asked(), ONE, H100)
    one = estimate(asked(batch_size=1, batch_stated=True), ONE, H100)
    held = full.detail["concurrent_sequences"]
    # 80 GB x 0.9 less 16 GB of weights and 3 GiB: about 55 GB at 0.25 GB for 1,920 tokens of Llama 3.1 8B.
    assert 180 <= held <= 280
    assert [(a.value, a.why) for a in full.assumptions if a.field == "batch_size"] == [
        (held, "saturated_sequences")
    ]
    assert one.detail["concurrent_sequences"] == 1.0
    assert not [a for a in one.assumptions if a.field == "batch_size"]
    assert full.expected > 10.0 * one.expected


def test_a_limit_below_one_step_is_said_with_what_can_be_reached():
    late = replace(CHAT, load="saturated", latency_limit_ms=1.0)
    found = estimate(late, ONE, H100)
    said = latency_unreachable(late, found)
    assert said is not None
    assert said.code == "latency_limit_unreachable"
    # 16 GB of weights at 3.35 TB/s cannot be read in less than 4.8 ms.
    assert 4.8 <= said.params["reachable_ms"] <= 9.0
    assert said.params["limit_ms"] == 1.0
    assert found.detail["concurrent_sequences"] == 1.0
    for limit in (said.params["reachable_ms"] + 0.01, 20.0, 1000.0):
        kept = replace(late, latency_limit_ms=limit)
        answer = estimate(kept, ONE, H100)
        assert latency_unreachable(kept, answer) is None
        assert answer.detail["time_per_output_token_s"] * 1000.0 <= limit * 1.000001
    assert latency_unreachable(replace(late, load="single"), found) is None


def test_a_limit_under_a_stated_load_does_not_send_users_away():
    free = estimate(replace(CHAT, batch_size=64), ONE, H100)
    late = replace(CHAT, batch_size=64, latency_limit_ms=1.0)
    found = estimate(late, ONE, H100)
    assert found.detail["concurrent_sequences"] == 64.0
    assert found.detail == free.detail
    said = latency_unreachable(late, found)
    assert said is not None
    assert said.params["reachable_ms"] == found.detail["time_per_output_token_s"] * 1000.0


def listed(limit_ms: float | None):
    work = replace(CHAT, batch_size=16, latency_limit_ms=limit_ms)
    return rank(ShortlistQuestion(work), TABLE, GPUS, ALL_PRICES)


def test_the_shortlist_rejects_cards_that_cannot_keep_the_limit():
    free, tight, none = listed(None), listed(15.0), listed(0.5)
    assert free.options
    assert not none.options
    late = [r for r in none.rejected if r.code == "deadline"]
    assert {o.gpu.id for o in free.options} <= {r.gpu.id for r in late}
    for entry in late:
        assert entry.text.code == "rejected_latency"
        assert entry.text.params["reachable_ms"] > 0.5
        assert entry.remedy is not None
    assert tight.options
    for option in tight.options:
        assert option.speed.detail["time_per_output_token_s"] * 1000.0 <= 15.0 * 1.000001


def test_the_limit_that_a_rejection_proposes_is_one_that_its_card_keeps():
    entry = next(r for r in listed(2.0).rejected if r.code == "deadline" and r.gpu.id == "rtx4090")
    assert entry.remedy is not None
    allowed = entry.remedy.change["workload.latency_limit_ms"]
    assert allowed >= entry.text.params["reachable_ms"]
    assert "rtx4090" not in {r.gpu.id for r in listed(allowed).rejected if r.code == "deadline"}


def test_a_proposed_limit_is_rounded_up():
    message, remedy = latency_rejection("H100", 1, 7.0712, 1.0)
    assert message.params["reachable_ms"] == 7.0712
    assert remedy.change == {"workload.latency_limit_ms": 7.08}
