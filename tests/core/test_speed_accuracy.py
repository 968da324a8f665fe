"""What is compared with what, what is hidden, and what the errors say."""

from __future__ import annotations

import math
import random

import pytest

from app.core.engines import label_of
from app.core.gpu import Benchmark, Source
from app.core.gpu_table import GpuTable
from app.core.speed.accuracy import errors_of, hidden_rows, observations, spearman, speed_accuracy
from app.core.speed.hidden import SPLITS, is_fitted
from app.core.speed.measurements import observe, question_of, source_family
from app.core.workload import Parallelism
from tests.core.cards import BERT_LARGE, GPUS, LLAMA_8B, RESNET_50

MODELS = {m.id: m for m in (RESNET_50, BERT_LARGE, LLAMA_8B)}
TABLE = GpuTable.from_gpus(GPUS)
POSITION = {g.id: i for i, g in enumerate(GPUS)}


def row(number=0, **changes) -> Benchmark:
    fields = {
        "id": f"row-{number}",
        "gpu_id": "a100-sxm4-80gb",
        "gpu_count": 1,
        "model_id": "resnet-50",
        "model_name": "ResNet-50",
        "task": "training",
        "precision": "fp16",
        "value": 1500.0,
        "unit": "images_per_s",
        "batch_per_gpu": 128.0,
        "framework": "PyTorch",
    }
    return Benchmark(**{**fields, **changes})


def seen(rows):
    return observe(rows, MODELS, TABLE, POSITION)


def test_a_row_becomes_the_question_it_answers():
    work, plan = question_of(row(gpu_count=4, image_size=160.0), RESNET_50)
    assert (work.task, work.precision, work.batch_size, work.image_size) == (
        "training",
        "fp16",
        128.0,
        (160, 160),
    )
    assert plan == Parallelism(data=4)
    decode = row(
        model_id="llama-3.1-8b",
        task="inference",
        phase="decode",
        unit="tokens_per_s",
        precision="gguf-q4_k_m",
        framework="llama.cpp CUDA",
        batch_per_gpu=None,
        gpu_count=2,
    )
    work, plan = question_of(decode, LLAMA_8B)
    assert (work.engine, work.batch_size, plan) == ("llama.cpp", 1.0, Parallelism(pipeline=2))


@pytest.mark.parametrize(
    "changes",
    [
        {"flag": "outlier"},
        {"precision": ""},
        {"framework": "pencil and paper"},
        {"unit": "frames_per_s"},
        {"gpu_count": 4096},
        {"phase": "server"},
    ],
)
def test_rows_that_do_not_state_their_question_are_left_out(changes):
    assert question_of(row(**changes), RESNET_50) is None
    assert len(seen([row(**changes)])) == 0


def test_a_vendor_stack_is_an_engine_of_its_own():
    assert label_of("TensorRT / vendor stack") == "vendor"
    found = seen([row(framework="vendor stack", task="inference"), row(1, task="inference")])
    assert sorted(found.labels["engine"]) == ["pytorch", "vendor"]
    # Graphs and fused kernels: the model expects more of it.
    by_engine = dict(zip(found.labels["engine"], found.predicted, strict=True))
    assert by_engine["vendor"] > by_engine["pytorch"]


def test_a_model_that_is_no_preset_counts_by_its_parameters():
    changes = {"model_id": "", "model_name": "MPT-7B", "unit": "tokens_per_s", "sequence_length": 2048.0}
    changes |= {"precision": "bf16", "batch_per_gpu": 4.0, "gpu_count": 8, "value": 70_000.0}
    assert len(seen([row(**changes)])) == 0
    found = seen([row(**changes, model_parameters=6.66e9)])
    assert found.kinds == ("decoder_training",)
    # llm-foundry: MPT-7B on eight A100-80 reaches about 50 % of 312 TFLOPS, 19,500 tokens/s to 25,000.
    assert 15_000 < found.predicted[0] < 35_000


def test_logs_of_one_repository_are_one_source():
    def at(url):
        return source_family(row(source=Source("x", url, "")))

    one = at("https://github.com/lambdal/deeplearning-benchmark/blob/main/pytorch/a.txt")
    assert one == at("https://github.com/lambdal/deeplearning-benchmark/blob/main/pytorch/b.txt")
    assert one != at("https://github.com/NVIDIA/DeepLearningExamples")
    assert source_family(row(own=True)) == "own"


def many(count=80):
    """Rows of three cards and two sources, 10 % noise about a law that the model does not know."""
    draw = random.Random(4)
    bias = {"a100-sxm4-80gb": 0.3, "rtx3090": -0.2, "h100-sxm5-80gb": 0.1}
    base = {gpu: float(seen([row(gpu_id=gpu, batch_per_gpu=64.0)]).predicted[0]) for gpu in bias}
    rows = []
    for i in range(count):
        gpu = list(bias)[i % 3]
        source = Source("s", f"https://example.org{i % 2}/x/y", "")
        value = base[gpu] * math.exp(bias[gpu] + draw.gauss(0, 0.1))
        rows.append(row(i, gpu_id=gpu, batch_per_gpu=64.0, value=value, source=source))
    return rows


def test_hidden_rows_are_estimated_from_the_others_alone():
    rows = many()
    found, table = observations(rows, MODELS, GPUS)
    held = hidden_rows(found, table, GPUS)
    per_split = {split: [h for h in held if h.split == split] for split in SPLITS}
    assert len(per_split["row"]) == len(per_split["source"]) == len(per_split["card"]) == len(rows)
    assert len(per_split["report_half"]) == sum(not is_fitted(r.id) for r in rows)
    # With one model all rows are hidden together: the model alone is left.
    alone = {r.id: float(e) for r, e in zip(found.rows, found.log_ratio, strict=True)}
    assert all(h.log_error == alone[h.row_id] and h.basis == "derived" for h in per_split["model"])
    assert all(h.basis == "measured" and h.same_source for h in per_split["row"])
    assert all(h.basis == "measured" and not h.same_source for h in per_split["source"])
    assert all(h.basis == "calibrated" for h in per_split["card"])

    def size(split):
        return errors_of([h.log_error for h in per_split[split]]).median

    assert size("row") < 0.12 < size("model")
    assert max(size("row"), size("source")) < 0.12 < size("card")
    # A row that is changed beyond all others does not change its own estimate.
    odd = [
        r
        if r.id != "row-5"
        else row(5, gpu_id=r.gpu_id, value=r.value * 1.3, source=r.source, batch_per_gpu=64.0)
        for r in rows
    ]
    shifted = hidden_rows(*observations(odd, MODELS, GPUS), GPUS)
    before, after = (
        next(h.log_error for h in some if h.row_id == "row-5" and h.split == "row")
        for some in (held, shifted)
    )
    assert after - before == pytest.approx(math.log(1.3), abs=0.02)


def test_errors_are_of_the_half_that_was_not_fitted():
    rows = many()
    report = speed_accuracy(rows, MODELS, GPUS)
    fit = speed_accuracy(rows, MODELS, GPUS, "fit")
    both = speed_accuracy(rows, MODELS, GPUS, "all")
    assert report.rows + fit.rows == both.rows == len(rows)
    assert report.rows == sum(not is_fitted(r.id) for r in rows)
    assert report.by_class["cnn_training"].n == report.rows
    assert report.by_basis["published_same_source"].n == report.rows
    assert report.model_alone["cnn_training"].median > 2 * report.by_class["cnn_training"].median
    assert set(report.intervals) == {"all", "measured", "calibrated", "derived"}
    assert all(0 <= e.inside <= 1 for e in report.intervals.values())
    assert report.scaling.n == 0 and math.isnan(report.scaling.median)


def test_error_figures():
    found = errors_of([0.1, -0.2, 0.5, 0.0], [True, True, False, True])
    assert (found.n, found.median, found.within, found.inside) == (4, pytest.approx(0.15), 0.75, 0.75)
    assert found.signed_median == pytest.approx(0.05)
    assert errors_of([0.1]).inside is None


def test_rank_correlation():
    assert spearman([1, 2, 3, 4], [10, 20, 30, 40]) == pytest.approx(1.0)
    assert spearman([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1.0)
    # Ties take the mean of their places; the textbook pair 1-2-3-4 against 1-3-2-4 gives 0.8.
    assert spearman([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)
    assert spearman([1, 1, 2], [1, 1, 2]) == pytest.approx(1.0)


def test_scaling_is_judged_against_the_one_card_that_was_measured():
    rows = []
    for n in (1, 2, 4, 8):
        for copy in range(6):
            predicted = float(seen([row(gpu_count=n, batch_per_gpu=64.0)]).predicted[0])
            source = Source("s", "https://example.org/x/y", "")
            rows.append(row(100 * n + copy, gpu_count=n, batch_per_gpu=64.0, value=predicted, source=source))
    found = speed_accuracy(rows, MODELS, GPUS)
    assert found.scaling.n == sum(r.gpu_count > 1 and not is_fitted(r.id) for r in rows)
    assert found.scaling.p90 < 3.0
