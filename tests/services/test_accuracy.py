"""The memory cases of the catalogue against their predictions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.catalog.records import MemoryCase
from app.catalog.snapshot import Snapshot
from app.cli import main
from app.core.accuracy import part_of
from app.services.accuracy import memory_accuracy, memory_report, name_of
from app.services.answers import as_json
from app.services.maintenance import open_catalogue


@pytest.fixture(scope="module")
def snapshot(seeded_database: Path) -> Iterator[Snapshot]:
    with open_catalogue(f"sqlite:///{seeded_database}") as opened:
        yield opened


def with_cases(snapshot: Snapshot, *cases: dict[str, Any]) -> Snapshot:
    """The catalogue with other memory cases; each takes what it does not state from the first one."""
    first = snapshot.memory_cases[0]
    plain = MemoryCase("0", "inference", {}, {}, "", 1, "parts", "", "2026", first.source)
    made = [replace(plain, id=str(i), note=f"case-{i}: x", **case) for i, case in enumerate(cases)]
    return replace(snapshot, memory_cases=tuple(made))


def reported(snapshot: Snapshot, *wanted: Any, **named: Any) -> Any:
    """The report as the API has it."""
    return as_json(memory_report(snapshot, *wanted, **named), "en")


LLAMA = {"model": {"preset": "llama-3-8b"}, "precision": "bf16", "engine": "vllm", "sequence_length": 8192}


def test_more_than_85_percent_of_the_cases_are_expressed_and_none_is_refused(snapshot: Snapshot) -> None:
    cases = reported(snapshot, None, rows=False)["cases"]
    assert cases["total"] >= 1_500
    assert cases["expressed"] >= 0.85 * cases["total"]
    assert [row for row in cases["unexpressed"] if row["code"].startswith("refused")] == []
    assert sum(row["cases"] for row in cases["unexpressed"]) == cases["total"] - cases["expressed"]


def test_names_are_those_of_the_sources_and_stay_unique(snapshot: Snapshot) -> None:
    names = [name_of(case) for case in snapshot.memory_cases]
    assert len(set(names)) == len(names)
    assert {"ik-003", "vllm-001", "qwen25-7B-BF16-30720", "gbert-BERT-Large-384"} <= set(names)
    assert name_of(replace(snapshot.memory_cases[0], note="no name here")) == snapshot.memory_cases[0].id


@pytest.mark.parametrize(
    ("case", "figure", "measured", "tolerance"),
    [
        # vLLM pull 10511: "model weights take 14.96GiB", Llama-3-8B at 16 bit.
        ("vllm-001", "weights", 14.96, 0.005),
        # SGLang on four H100: 16.46 GiB for 367,404 tokens of Qwen3-235B-A22B, one KV head a card.
        ("sgl-001", "kv_bytes_per_token", 48_105.0, 0.001),
        # ik_llama.cpp: Qwen3-235B-A22B with an 8-bit cache, 3,196 MiB at 32,768 tokens.
        ("ik-036", "kv_cache", 3.121, 0.001),
        # Qwen2.5 speed benchmark: 7B at 16 bit, 30,720 tokens of prompt and 2,048 of answer.
        ("qwen25-7B-BF16-30720", "allocated", 19.97, 0.05),
        # Transformers, "Model training anatomy": BERT-large, batch 4, 512 tokens, fp32, 14,949 MB.
        ("hf-bertL-vanilla", "process", 14.6, 0.06),
    ],
)
def test_published_figures_are_met(
    snapshot: Snapshot, case: str, figure: str, measured: float, tolerance: float
) -> None:
    (row,) = [r for r in memory_accuracy(snapshot).comparisons if r.case == case and r.kind.figure == figure]
    assert row.measured == measured
    assert row.error == pytest.approx(0.0, abs=tolerance)


def test_only_the_report_part_is_quoted(snapshot: Snapshot) -> None:
    report, fit, both = (reported(snapshot, part) for part in ("report", "fit", None))
    assert {row["part"] for row in report["rows"]} == {"report"}
    assert all(part_of(row["case"]) == "fit" for row in fit["rows"])
    assert len(report["rows"]) + len(fit["rows"]) == len(both["rows"])
    assert reported(snapshot)["part"] == "report"


def test_faulty_cases_are_listed_with_their_reason_and_not_counted(snapshot: Snapshot) -> None:
    answer = reported(snapshot, None)
    faulty = {row["case"]: row["reason"] for row in answer["cases"]["faulty"]}
    assert "4096" in faulty["swift-qwen-1_8b-chat-full-2048"]
    shown = [row for row in answer["rows"] if row["case"] == "swift-qwen-1_8b-chat-full-2048"]
    assert [row["faulty"] for row in shown] == [faulty["swift-qwen-1_8b-chat-full-2048"]]
    listed = [r for r in answer["rows"] if r["group"] == "full_training" and not r["faulty"]]
    (group,) = [g for g in answer["groups"] if g["group"] == "full_training"]
    assert group["errors"]["n"] == len(listed)


def test_classes_add_up_to_their_groups(snapshot: Snapshot) -> None:
    answer = reported(snapshot, None, rows=False)
    for kind in ("errors", "batches"):
        for group in answer["groups"]:
            inner = [c[kind]["n"] for c in answer["classes"] if c["group"] == group["group"] and c[kind]]
            assert sum(inner) == (group[kind]["n"] if group[kind] else 0), group["group"]


def test_the_answer_is_json_without_infinities(snapshot: Snapshot) -> None:
    text = json.dumps(reported(snapshot, None), allow_nan=False)
    assert json.loads(text)["verdicts"]["limit"] == 0.04


def test_a_sum_over_cards_counts_weights_once_and_buffers_once_a_card(snapshot: Snapshot) -> None:
    work = {**LLAMA, "engine": "transformers", "output_length": 64}
    split = {**work, "parallelism": {"pipeline": 2}}
    found = memory_accuracy(
        with_cases(
            snapshot,
            {
                "workload": work,
                "measured": {"weights_gib": 15.0, "peak_gib": 17.0},
                "measure_kind": "allocated",
            },
            {
                "workload": split,
                "measured": {"weights_gib": 15.0, "peak_gib": 17.0, "scope": "all_cards"},
                "measure_kind": "allocated",
                "gpu_count": 2,
            },
            {"workload": split, "measured": {"weights_gib": 15.0}, "gpu_count": 2},
        )
    )
    weights = [row.predicted.expected for row in found.comparisons if row.kind.figure == "weights"]
    assert weights[0] == weights[1]
    assert weights[2] < 0.6 * float(weights[0])
    one, two = [row.predicted.expected for row in found.comparisons if row.kind.figure == "allocated"]
    assert float(two) > float(one)


def test_an_unknown_kind_is_right_anywhere_between_allocated_and_reserved(snapshot: Snapshot) -> None:
    work = {
        "model": {"preset": "llama-2-7b"}, "task": "lora", "precision": "bf16", "batch_size": 2,
        "sequence_length": 2048, "engine": "pytorch",
    }  # fmt: skip
    kinds = ("allocated", "reserved", "unknown")
    cases = [{"workload": work, "measured": {"peak_gib": 20.0}, "measure_kind": kind} for kind in kinds]
    allocated, reserved, unknown = memory_accuracy(with_cases(snapshot, *cases)).comparisons
    low, high = float(allocated.predicted.expected), float(reserved.predicted.expected)
    assert low < high
    middle = {"workload": work, "measured": {"peak_gib": (low + high) / 2}, "measure_kind": "unknown"}
    (inside,) = memory_accuracy(with_cases(snapshot, middle)).comparisons
    assert inside.error == 0.0
    assert inside.inside is True
    assert unknown.error == min(allocated.error, reserved.error, key=abs)


def test_verdicts_need_a_card_and_take_off_what_others_hold(snapshot: Snapshot) -> None:
    found = memory_accuracy(
        with_cases(
            snapshot,
            {"workload": LLAMA, "outcome": "fits", "gpu_id": "rtx3090"},
            {"workload": {**LLAMA, "used_gib": 12}, "outcome": "oom", "gpu_id": "rtx3090"},
            {"workload": LLAMA, "outcome": "oom", "measured": {"nameplate_gib": 12}},
            {"workload": {**LLAMA, "memory_fraction": 0.3}, "outcome": "oom", "gpu_id": "rtx3090"},
            {"workload": LLAMA, "outcome": "fits"},
            {
                "workload": LLAMA,
                "outcome": "oom",
                "gpu_id": "rtx3090",
                "measured": {"left_out": {"outcome": "x"}},
            },
        )
    )
    said = {row.case: (row.ran, row.verdict) for row in found.verdicts}
    assert said["case-0"][1] != "does_not_fit"
    assert [said[f"case-{i}"] for i in (1, 2, 3)] == [(False, "does_not_fit")] * 3
    assert "case-4" not in said
    assert "case-5" not in said
    assert found.left_out == (("case-5", "outcome", "x"),)


def test_a_case_that_the_api_would_refuse_is_counted_with_the_reason(snapshot: Snapshot) -> None:
    wrong = {**LLAMA, "no_such_field": 1}
    found = memory_accuracy(
        with_cases(snapshot, {"workload": wrong}, {"flag": "unexpressed: model_not_named"})
    )
    assert dict(found.unexpressed) == {"case-0": "refused:unknown_field", "case-1": "model_not_named"}


def test_the_command_prints_a_table_and_the_json_of_the_api(
    seeded_database: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CARDWORTH_DATABASE_URL", f"sqlite:///{seeded_database}")
    assert main(["accuracy", "memory", "--lang", "en", "--worst", "2", "--classes"]) == 0
    text = capsys.readouterr().out
    assert "inference · decoder · transformers · allocated" in text
    assert "faulty" in text
    assert main(["accuracy", "memory", "--part", "fit", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["part"] == "fit"
    assert {row["part"] for row in answer["rows"]} == {"fit"}
