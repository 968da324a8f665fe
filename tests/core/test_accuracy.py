"""The split, the classes and the statistics of predicted against measured."""

from __future__ import annotations

import pytest

from app.core.accuracy import (
    GROUPS,
    Bracket,
    CaseClass,
    Comparison,
    RunVerdict,
    brackets_of,
    errors_of,
    family_of,
    group_of,
    part_of,
    relative_error,
    span_error,
    step_above,
    step_below,
    verdicts_of,
)
from app.core.estimates import Interval, Verdict

KIND = CaseClass("training", "decoder", "pytorch", "allocated")


def figure(measured: float, predicted: float, inside: bool | None = None) -> Comparison:
    interval = Interval(predicted, predicted, predicted)
    error = relative_error(predicted, measured)
    return Comparison("case", "report", KIND, "full_training", measured, interval, error, inside)


def bracket(ran: int, failed: int | None, predicted: int, said: Verdict | None = None) -> Bracket:
    return Bracket("case", "report", KIND, "vision_batch", ran, failed, predicted, said, said)


@pytest.mark.parametrize(
    ("name", "first_byte"),
    # First bytes of SHA-256, from sha256sum.
    [("ik-003", 60), ("vllm-001", 161), ("qwen-7B-lora-256", 233), ("timm-resnet18-224-nchw", 153)],
)
def test_the_first_byte_of_the_hash_decides_the_part(name: str, first_byte: int) -> None:
    assert part_of(name) == ("report" if first_byte % 2 else "fit")


def test_the_parts_are_about_equal() -> None:
    report = sum(part_of(f"case-{i}") == "report" for i in range(2_000))
    assert 900 < report < 1_100


def test_errors_are_signed_and_relative_to_the_measured_value() -> None:
    assert relative_error(9.0, 12.0) == pytest.approx(-0.25)
    assert relative_error(0.0, 0.0) == 0.0
    assert relative_error(1.0, 0.0) == float("inf")


@pytest.mark.parametrize(
    ("measured", "error"), [(8.0, 0.25), (10.0, 0.0), (11.0, 0.0), (12.0, 0.0), (16.0, -0.25)]
)
def test_a_measurement_of_unknown_kind_is_right_between_allocated_and_reserved(
    measured: float, error: float
) -> None:
    assert span_error(10.0, 12.0, measured) == pytest.approx(error)


def test_statistics_of_errors() -> None:
    # Errors -20 %, -10 %, 0, +10 %, +40 %: absolute values 0, 10, 10, 20, 40.
    rows = [
        figure(10.0, predicted, inside)
        for predicted, inside in ((8.0, False), (9.0, True), (10.0, True), (11.0, None), (14.0, False))
    ]
    found = errors_of(rows)
    assert found is not None
    assert found.n == 5
    assert found.median_signed == pytest.approx(0.0)
    assert found.median == pytest.approx(0.10)
    assert found.percentile_90 == pytest.approx(0.32)
    assert found.inside_n == 4
    assert found.inside_share == pytest.approx(0.5)
    assert errors_of([]) is None


@pytest.mark.parametrize(
    ("ran", "failed", "predicted", "inside", "one_step"),
    [
        (192, 256, 192, True, True),
        (192, 256, 255, True, True),
        (192, 256, 256, False, True),
        (192, 256, 128, False, True),
        (192, 256, 127, False, False),
        (192, 256, 384, False, False),
        (512, None, 4_000, True, True),
        (512, None, 511, False, True),
        (512, None, 383, False, False),
        (0, 1, 0, True, True),
        (0, 1, 1, False, True),
        (0, 1, 2, False, False),
    ],
)
def test_brackets(ran: int, failed: int | None, predicted: int, inside: bool, one_step: bool) -> None:
    found = bracket(ran, failed, predicted)
    assert (found.in_bracket, found.within_one_step) == (inside, one_step)


def test_statistics_of_brackets() -> None:
    found = brackets_of(
        [
            bracket(64, 96, 70, "tight"),
            bracket(64, 96, 100, "fits"),
            bracket(64, 96, 10, "does_not_fit"),
            bracket(64, 96, 64),
        ]
    )
    assert found is not None
    assert (found.n, found.in_bracket, found.within_one_step) == (4, 0.5, 0.75)
    assert found.false_fits == pytest.approx(1 / 3)
    assert found.false_refusals == pytest.approx(1 / 3)
    assert brackets_of([]) is None


def test_the_ladder_steps_by_half_powers_of_two() -> None:
    assert [step_above(batch) for batch in (0, 1, 12, 14, 512, 1_024)] == [1, 2, 16, 16, 768, 2_048]
    assert [step_below(batch) for batch in (0, 1, 14, 16)] == [0, 0, 12, 12]


def test_only_fits_counts_against_a_failed_run_and_only_does_not_fit_against_one_that_ran() -> None:
    said: list[tuple[bool, Verdict]] = [
        (False, "fits"),
        (False, "tight"),
        (False, "does_not_fit"),
        (True, "tight"),
        (True, "does_not_fit"),
    ]
    found = verdicts_of([RunVerdict("case", "fit", KIND, ran, verdict) for ran, verdict in said])
    assert found.false_fits == pytest.approx(1 / 3)
    assert found.false_refusals == pytest.approx(1 / 2)
    assert (found.failed_n, found.ran_n) == (3, 2)
    assert verdicts_of([]).false_fits is None


@pytest.mark.parametrize(
    ("kind", "group"),
    [
        (("inference", "decoder", "vllm", "weights"), "inference_weights"),
        (("inference", "decoder", "sglang", "kv_bytes_per_token"), "kv_per_token"),
        (("inference", "decoder", "llama.cpp", "kv_cache"), "kv_layout"),
        (("inference", "decoder", "llama.cpp", "compute_buffer"), "engine_buffer"),
        (("inference", "decoder", "transformers", "allocated"), "inference_peak"),
        (("training", "decoder", "pytorch", "reserved"), "full_training"),
        (("training", "encoder-decoder", "pytorch", "allocated"), "full_training"),
        (("qlora", "decoder", "pytorch", "peak"), "adapters"),
        (("training", "encoder", "pytorch", "process"), "encoders"),
        (("training", "encoder", "tensorflow", "batch"), "encoder_batch"),
        (("training", "vision", "pytorch", "batch"), "vision_batch"),
        (("training", "dense vision", "pytorch", "batch"), "dense_vision_batch"),
        (("training", "dense vision", "pytorch", "allocated"), "dense_vision"),
        (("inference", "speech", "faster-whisper", "process"), "generation_inference"),
        (("training", "diffusion", "pytorch", "peak"), "generation_training"),
        (("training", "decoder", "pytorch", "batch"), "training_batch"),
    ],
)
def test_groups(kind: tuple[str, str, str, str], group: str) -> None:
    assert group_of(CaseClass(*kind)) == group
    assert group in GROUPS


def test_models_that_answer_for_each_place_stand_apart() -> None:
    assert family_of("vision", "mask-rcnn") == "dense vision"
    assert family_of("vision", "classifier") == "vision"
    assert family_of("vision", "") == "vision"
    assert family_of("decoder", "") == "decoder"
