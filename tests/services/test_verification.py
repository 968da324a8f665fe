"""A card's own measurement: checked against the card, stored as the team's benchmark, used at once."""

from __future__ import annotations

import json
from datetime import date

import pytest

from app.catalog.changes import Author
from app.catalog.importing import ImportOptions
from app.core.estimates import SpeedEstimate
from app.core.faults import InputFault
from app.services import calculator, verification
from app.services.maintenance import open_database
from app.services.measurements import predict_now
from app.services.own_cards import own_checks, said_check
from app.services.store import CatalogStore

TODAY = date(2026, 11, 30)
BODY = {
    "workload": {
        "model": {"preset": "resnet-50"},
        "task": "training",
        "precision": "fp16",
        "batch_size": 64,
    },
    "gpu": "rtx4090",
}


def answer(**changes) -> dict:
    data = {
        "format": "cardworth-measurement/1",
        "quick": False,
        "measured_on": "2026-11-29",
        "errors": {},
        "question": {
            "gpu_id": "rtx4090",
            "model_id": "resnet-50",
            "model_name": "ResNet-50",
            "workload": {"task": "training", "family": "vision", "image_size": 224},
        },
        "device": {"kind": "cuda", "framework": "PyTorch", "framework_version": "2.13.0"},
        "driver": {"memory.total": 24564.0},
        "bandwidth": {"copy_gb_s": 905.0},
        "rates_tflops": {"fp16": 150.0},
        "workload": {
            "value": 1321.0,
            "unit": "images_per_s",
            "batch_size": 64,
            "precision": "fp16",
            "task": "training",
        },
    }
    return {**data, **changes}


@pytest.fixture
def engine(settings):
    with open_database(settings.database_url) as opened:
        yield opened


def put(engine, data, **options):
    snapshot = CatalogStore(engine).snapshot()
    wanted = ImportOptions(TODAY, **options)
    content = json.dumps(data).encode()
    return verification.import_measurement(engine, snapshot, content, Author("a test"), wanted)


def speed(engine) -> SpeedEstimate:
    return calculator.speed(BODY, CatalogStore(engine).snapshot(), TODAY).speed


def test_the_script_is_made_for_the_card_and_the_workload(engine):
    name, text = verification.verify_script(BODY, CatalogStore(engine).snapshot(), TODAY)
    assert name == "cardworth_verify_rtx4090.py"
    assert "GeForce RTX 4090" in text
    compile(text, name, "exec")
    # The question travels with the script, so that its answer can be compared with the estimate.
    assert '"asked": {"batch_size": 64, "model": {"preset": "resnet-50"}' in text
    with pytest.raises(InputFault):
        verification.verify_script({**BODY, "gpu": "no such card"}, CatalogStore(engine).snapshot(), TODAY)


def test_a_stored_measurement_is_what_the_estimate_then_says(engine):
    before = speed(engine)
    stored = put(engine, answer())
    report = stored.report
    assert (stored.own.check.as_sold, stored.own.gpu.id, stored.notes) == (True, "rtx4090", ())
    assert report is not None and report.ok and report.inserted >= 1
    after = speed(engine)
    assert before.expected != pytest.approx(1321.0, rel=0.02)
    assert after.expected == pytest.approx(1321.0, rel=0.02)
    assert after.basis == "measured"
    assert after.high / after.low < before.high / before.low
    row = next(b for b in CatalogStore(engine).snapshot().benchmarks if b.own)
    assert (row.model_id, row.precision, row.batch_per_gpu, row.observed_on) == (
        "resnet-50",
        "fp16",
        64.0,
        "2026-11-29",
    )
    again = put(engine, answer())
    assert (again.report.inserted, again.kept) == (0, False)


def test_a_dry_run_stores_nothing(engine):
    stored = put(engine, answer(), dry_run=True)
    assert stored.report is not None and not stored.report.stored and stored.kept
    assert own_checks(CatalogStore(engine).snapshot()) == []
    assert not any(b.own for b in CatalogStore(engine).snapshot().benchmarks)


def test_decoding_and_reading_become_two_rows(engine):
    data = answer(
        question={
            "gpu_id": "RTX 4090",
            "model_id": "llama-3.1-8b",
            "model_name": "Llama 3.1 8B",
            "workload": {"task": "inference", "family": "decoder", "sequence_length": 1024},
        },
        workload={
            "value": 180.0,
            "unit": "tokens_per_s",
            "batch_size": 4,
            "precision": "bf16",
            "phase": "decode",
            "input_length": 768,
            "output_length": 256,
            "prefill_tokens_per_s": 9000.0,
        },
    )
    report = put(engine, data).report
    assert report is not None and report.ok
    own = {b.phase: b for b in CatalogStore(engine).snapshot().benchmarks if b.own}
    assert (own["decode"].value, own["decode"].output_length) == (180.0, 256.0)
    assert (own["prefill"].value, own["prefill"].input_length) == (9000.0, 768.0)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"quick": True}, "measurement_quick"),
        ({"device": {"kind": "cpu"}}, "measurement_without_card"),
        ({"workload": {"skipped": "experts"}}, "measurement_without_workload"),
        ({"workload": None, "errors": {"workload": "OutOfMemoryError"}}, "measurement_without_workload"),
    ],
)
def test_what_is_no_measurement_is_not_stored(engine, changes, code):
    stored = put(engine, answer(**changes))
    assert stored.report is None
    assert [n.code for n in stored.notes] == [code]
    # A card that was measured is kept, even when the workload could not be.
    assert stored.kept is (code == "measurement_without_workload")


def test_a_card_that_is_not_what_it_is_sold_as_is_named_in_words(engine):
    stored = put(engine, answer(driver={"memory.total": 16376.0}), dry_run=True)
    english = said_check(stored.own, "en")
    assert english.as_sold is False
    assert english.text.endswith("RTX 4090: this is not what it is sold as.")
    memory = next(f for f in english.figures if f.figure == "memory_gib")
    assert (memory.ok, memory.code) == (False, "memory_too_small")
    assert "15.99 GiB" in memory.text


def test_an_own_card_is_judged_by_its_chip_its_memory_and_its_estimates(engine):
    asked = {**BODY["workload"]}
    data = answer(
        question={**answer()["question"], "asked": asked},
        device={
            "kind": "cuda",
            "framework": "PyTorch",
            "framework_version": "2.13.0",
            "name": "NVIDIA GeForce RTX 4090 D",
            "multiprocessors": 114,
            "capability": "8.9",
        },
        memory={"tried_gib": 21.0, "intact_gib": 21.0},
        workload={**answer()["workload"], "peak_allocated_gib": 5.6},
    )
    put(engine, data)
    snapshot = CatalogStore(engine).snapshot()
    predict_now(snapshot)
    (own,) = own_checks(snapshot, "rtx4090")
    assert own_checks(snapshot, "rtx3090") == []
    assert (own.reported, own.measured_on) == ("NVIDIA GeForce RTX 4090 D", "2026-11-29")
    assert {f.code for f in own.check.faults} == {"other_name", "other_chip"}
    by_figure = {e.figure: e for e in own.workload}
    speed_row, memory_row = by_figure["speed"], by_figure["peak_memory"]
    # The estimate has not seen the row: it is that of the published measurements, not 1,321 again.
    assert speed_row.measured == 1321.0
    assert speed_row.low < speed_row.expected < speed_row.high
    assert speed_row.expected != pytest.approx(1321.0, rel=0.02)
    assert memory_row.measured == 5.6
    assert memory_row.low < memory_row.expected < memory_row.high
    chinese = said_check(own, "zh")
    assert chinese.code == "card_not_as_sold"
    assert "114" in next(f.text for f in chinese.figures if f.figure == "multiprocessors")


def test_what_is_kept_is_bounded_and_of_plain_text(engine):
    data = answer(workload=None, extra="no field of the script", errors={"workload": "x\x00" * 600})
    stored = put(engine, data)
    assert (stored.kept, stored.report) == (True, None)
    (case,) = [c for c in CatalogStore(engine).snapshot().memory_cases if c.kind == "card_check"]
    assert "extra" not in case.measured
    assert (
        len(case.measured["errors"]["workload"]) <= 400 and "\x00" not in case.measured["errors"]["workload"]
    )
    with pytest.raises(InputFault):
        put(engine, answer(measured_on="yesterday"))


@pytest.mark.parametrize("content", [b"", b"[", b"{}", b"[1, 2]", b"\xff\xfe", b"[" * 5000, b" " * 1_000_001])
def test_files_of_another_kind_are_refused(content):
    with pytest.raises(InputFault):
        verification.read_answer(content)


def test_unknown_cards_are_refused(engine):
    with pytest.raises(InputFault, match="unknown_gpu"):
        put(engine, answer(question={"gpu_id": "a card that nobody made"}))


def test_there_is_no_speed_where_it_cannot_run(engine):
    snapshot = CatalogStore(engine).snapshot()
    body = {"workload": {"model": {"preset": "llama-3.1-70b"}}, "gpu": "rtx4090"}
    with pytest.raises(InputFault, match="cannot_run_there"):
        calculator.speed(body, snapshot, TODAY)
    body = {
        "workload": {"model": {"preset": "llama-3.1-8b"}, "engine": "tensorrt-llm"},
        "gpu": "v100-sxm2-32gb",
    }
    with pytest.raises(InputFault, match="engine_cannot_run_there"):
        calculator.speed(body, snapshot, TODAY)
