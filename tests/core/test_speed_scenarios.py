"""Rows whose question is fixed by a benchmark's rules, by a note or by a tool's defaults."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.catalog.imports.recipes import recipe_of
from app.core.calibration import installed
from app.core.gpu import Benchmark, Source
from app.core.gpu_table import GpuTable
from app.core.resolve import resolve
from app.core.speed import constants as c
from app.core.speed.fitting import Fitter
from app.core.speed.hidden import is_fitted
from app.core.speed.measurements import observe, question_of
from app.core.speed.scenarios import MLPERF, replica_plan, stated_plan, stated_precision
from app.core.workload import Parallelism, Workload
from tests.core.cards import BY_ID, GPUS, LLAMA_8B, LLAMA_70B

LLAMA_2_70B = replace(LLAMA_70B, id="llama-2-70b", name="Llama 2 70B")
GPT_J = replace(LLAMA_8B, id="gpt-j-6b", name="GPT-J 6B")
MODELS = {m.id: m for m in (LLAMA_8B, LLAMA_2_70B, GPT_J)}
TABLE = GpuTable.from_gpus(GPUS)
POSITION = {g.id: i for i, g in enumerate(GPUS)}


def row(**changes) -> Benchmark:
    fields = {
        "id": "row",
        "gpu_id": "h100-sxm5-80gb",
        "gpu_count": 8,
        "model_id": "llama-2-70b",
        "model_name": "MLPerf llama2-70b-99",
        "task": "inference",
        "phase": "saturated",
        "precision": "fp8",
        "value": 30_000.0,
        "unit": "tokens_per_s",
        "framework": "vendor stack",
        "source": Source("mlperf", "https://github.com/mlcommons/inference_results_v5.1", "MLPerf"),
    }
    found = {**fields, **changes}
    source = found["source"]
    # As rows are stored: what their texts say of the run stands in columns.
    columns = recipe_of({**found, "model_as_written": found["model_name"]}, source.url if source else "")
    return Benchmark(**{**found, **columns})


def test_mlperf_rules_fill_in_lengths_limits_and_replicas():
    offline, plan = question_of(row(), LLAMA_2_70B, 79.2)
    assert (offline.load, offline.output_length, offline.latency_limit_ms) == ("saturated", 294.0, None)
    # 70 GB of FP8 weights leave two fifths of two H100, not of one.
    assert plan == Parallelism(data=4, tensor=2)
    server, _ = question_of(row(phase="server"), LLAMA_2_70B, 79.2)
    # mlperf.conf: llama2-70b.Server.tpot_latency = 200
    assert server.latency_limit_ms == c.MEAN_OVER_P99 * 200.0
    assert replica_plan(offline, 8, 140.0) == Parallelism(data=8)


def test_the_first_token_limit_of_interactive_rows_is_no_question():
    assert question_of(row(phase="interactive"), LLAMA_2_70B, 79.2) is None
    # Another suite's server rows say neither lengths nor limits.
    assert question_of(row(phase="server", model_name="Llama 2 70B"), LLAMA_2_70B, 79.2) is None


def test_whole_answers_per_second_are_tokens_over_their_length():
    tokens = row(model_id="gpt-j-6b", model_name="MLPerf gptj-99", phase="server", value=69.0 * 300)
    answers = replace(tokens, id="answers", unit="samples_per_s", value=300.0)
    found = observe([tokens, answers], MODELS, TABLE, POSITION)
    assert len(found) == 2
    assert found.log_ratio[0] == pytest.approx(found.log_ratio[1])
    assert MLPERF["gpt-j-6b"].output == 69.0


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"precision": "nvfp4"}, "nvfp4"),
        ({"precision": ""}, "fp8"),
        ({"precision": "", "gpu_id": "a100-sxm4-80gb"}, ""),
        (
            {
                "precision": "",
                "framework": "llama.cpp / Ollama",
                "model_id": "llama-3.2-3b",
                "model_name": "Llama 3.2 3B",
            },
            "gguf-q4_k_m",
        ),
        (
            {
                "precision": "",
                "framework": "llama.cpp / Ollama",
                "model_id": "llama-3.2-3b",
                "model_name": "Llama 3.2 3B",
                "note": "Raspberry Pi CM5/5 host, PCIe x1",
            },
            "",
        ),
    ],
)
def test_a_format_is_stated_or_fixed_by_practice_or_unknown(changes, expected):
    assert stated_precision(row(**changes)) == expected


@pytest.mark.parametrize(
    ("note", "count", "trains", "plan"),
    [
        ("max-throughput offline trtllm-bench; TP1 PP8", 8, False, Parallelism(pipeline=8)),
        ("trtllm-bench; TP4; as written 700 per card, times 4", 4, False, Parallelism(tensor=4)),
        ("trtllm-bench; DEP8", 8, False, Parallelism(data=8, expert=8)),
        ("PP4DP2TP8; mem 55/80; MFU 36.1%", 64, True, Parallelism(2, 8, 4, 1, 1)),
        ("TP4PP8DP1; mem 74/80", 32, True, Parallelism(1, 4, 8)),
        ("TP4", 2, False, None),
        ("no plan here", 8, False, None),
    ],
)
def test_a_plan_that_a_note_spells_out(note, count, trains, plan):
    assert stated_plan(row(note=note, gpu_count=count), trains) == plan


def test_full_rates_are_told_apart_by_what_they_write():
    long, short = (
        row(
            id=name,
            gpu_count=1,
            model_id="llama-3.1-8b",
            model_name="Llama 3.1 8B",
            framework="TensorRT-LLM",
            input_length=prompt,
            output_length=output,
        )
        for name, prompt, output in (("long", 128.0, 2048.0), ("short", 2048.0, 128.0))
    )
    found = observe([long, short], MODELS, TABLE, POSITION)
    assert found.length[0] == found.length[1]
    assert found.batch[0] - found.batch[1] == pytest.approx(4.0)


def test_constants_know_the_fitted_rows_behind_them():
    rows = [
        row(id=f"row-{i}", framework="llama.cpp", precision="gguf-q4_k_m", phase="decode", batch_per_gpu=1.0)
        for i in range(20)
    ]
    fitter = Fitter(rows, MODELS, TABLE, list(POSITION))
    fitted = sum(is_fitted(r.id) for r in rows)
    entries = installed().entries
    assert 0 < fitted < 20
    assert fitter.counted(entries["QUANTIZED_KERNEL_SHARE.gguf"]).n == fitted
    assert fitter.counted(entries["MOE_SHARE"]).n == 0
    assert fitter.counted(entries["PREFILL_LLAMA_CPP.rdna"]).n == 0


def test_a_card_of_the_tests_that_has_no_room_takes_one_replica():
    work = resolve(Workload(LLAMA_70B, precision="bf16", sequence_length=1024))[0]
    assert replica_plan(work, 4, BY_ID["rtx4090"].usable_gib) == Parallelism(tensor=4)
