"""The lint rules: planted errors are found, what is right passes, and exceptions must earn their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from app.catalog.lint import (
    LintCard,
    LintPrice,
    explain,
    export_limits,
    lint_cards,
    lint_database,
    price_history,
    provenance,
)
from app.catalog.seed import load_seed
from tests.catalog.samples import sample_seed, write_seed

ADA = {
    "memory_gib": 24.0,
    "driver_total_gib": 23.99,
    "usable_gib": 23.6,
    "fp32_tflops": 82.6,
    "shader_cores": 16384.0,
    "boost_clock_mhz": 2520.0,
    "fp16_tflops": 165.2,
    "bf16_tflops": 165.2,
    "tf32_tflops": 82.6,
    "fp8_tflops": 330.3,
    "int8_tops": 660.6,
    "bandwidth_gb_s": 1008.0,
    "memory_bus_bits": 384.0,
    "memory_rate_gbps": 21.0,
}
L40S = {
    "memory_gib": 48.0,
    "fp32_tflops": 91.6,
    "fp16_tflops": 362.0,
    "fp8_tflops": 733.0,
    "int8_tops": 733.0,
}
MI300X = {
    "memory_gib": 192.0,
    "fp32_tflops": 163.4,
    "shader_cores": 19456.0,
    "boost_clock_mhz": 2100.0,
    "fp16_tflops": 1307.4,
    "fp8_tflops": 2614.9,
    "tf32_tflops": 653.7,
}


def found(
    architecture: str, figures: dict[str, float], half: bool = False, boards: int = 1
) -> list[tuple[str, str]]:
    cards = [LintCard("card", architecture, half, boards, figures)]
    return [(f.rule, f.figure) for f in lint_cards(cards)]


def test_published_figures_pass() -> None:
    assert found("Ada Lovelace", ADA, half=True) == []
    assert found("Ada Lovelace", L40S) == []
    assert found("CDNA 3", MI300X) == []


@pytest.mark.parametrize(
    ("figure", "value", "rule"),
    [
        ("fp16_tflops", 330.3, "dense_ratio"),
        ("tf32_tflops", 165.2, "dense_ratio"),
        ("int8_tops", 1321.2, "dense_ratio"),
        ("bf16_tflops", 82.6, "dense_ratio"),
        ("fp8_tflops", 660.6, "fp8_ratio"),
        ("fp32_tflops", 79.5, "fp32_rate"),
        ("shader_cores", 18432.0, "fp32_rate"),
        ("bandwidth_gb_s", 1030.0, "bandwidth"),
        ("memory_gib", 25.0, "memory_size"),
        ("usable_gib", 24.1, "memory_size"),
        ("driver_total_gib", 12.0, "memory_size"),
    ],
)
def test_a_planted_error_is_found(figure: str, value: float, rule: str) -> None:
    assert rule in {r for r, _ in found("Ada Lovelace", ADA | {figure: value}, half=True)}


def test_the_popular_traps_are_found() -> None:
    # L40S fp8 1466 beside bf16 362 is the sparse figure; A100 624 is the sparse headline; MI300X 2615 too.
    assert ("fp8_ratio", "fp8_tflops") in found("Ada Lovelace", L40S | {"fp8_tflops": 1466.0})
    a100 = {"memory_gib": 80.0, "fp32_tflops": 19.5, "fp16_tflops": 624.0}
    assert found("Ampere GA100", a100) == [("dense_ratio", "fp16_tflops")]
    assert ("dense_ratio", "fp16_tflops") in found("CDNA 3", MI300X | {"fp16_tflops": 2615.0})


def test_a_sparse_figure_is_named_as_such() -> None:
    cards = [
        LintCard(
            "card", "Ampere GA100", figures={"memory_gib": 80.0, "fp32_tflops": 19.5, "fp16_tflops": 624.0}
        )
    ]
    assert "looks like a sparse figure" in str(lint_cards(cards)[0])


@pytest.mark.parametrize(
    ("figures", "finding"),
    [
        # H100: 989 dense, 1979 sparse; L40S: 362 dense, fp8 733 dense and 1466 sparse (NVIDIA data sheets).
        ({"fp16_tflops": 989.0, "bf16_tflops": 1979.0}, ("dense_ratio", "bf16_tflops")),
        ({"fp16_tflops": 1979.0, "bf16_tflops": 989.0}, ("dense_ratio", "fp16_tflops")),
        ({"bf16_tflops": 362.0, "fp8_tflops": 1466.0}, ("fp8_ratio", "fp8_tflops")),
        ({"fp16_tflops": 362.0, "fp8_tflops": 1466.0}, ("fp8_ratio", "fp8_tflops")),
    ],
)
@pytest.mark.parametrize("architecture", ["", "Something new"])
def test_a_sparse_rate_beside_a_dense_one_is_found_whatever_the_architecture(
    architecture: str, figures: dict[str, float], finding: tuple[str, str]
) -> None:
    assert found(architecture, {"memory_gib": 48.0} | figures) == [finding]
    dense = {"fp16_tflops": 362.0, "bf16_tflops": 362.0, "fp8_tflops": 733.0}
    assert found(architecture, {"memory_gib": 48.0} | dense) == []


def test_a_bf16_rate_alone_is_held_against_fp32_and_fp8() -> None:
    only = {name: value for name, value in L40S.items() if name != "fp16_tflops"}
    assert found("Ada Lovelace", only | {"bf16_tflops": 362.0}) == []
    assert ("dense_ratio", "bf16_tflops") in found("Ada Lovelace", only | {"bf16_tflops": 733.0})
    assert found("Ada Lovelace", only | {"bf16_tflops": 362.0, "fp8_tflops": 1466.0}) == [
        ("fp8_ratio", "fp8_tflops")
    ]


@pytest.mark.parametrize(
    ("figure", "value", "half", "hint"),
    [
        ("bandwidth_gb_s", 2016.0, True, "a data rate counted twice"),
        ("fp16_tflops", 330.3, True, "the rate with fp16 accumulate, or a sparse figure"),
        ("int8_tops", 1321.2, True, "looks like a sparse figure"),
        ("fp32_tflops", 165.2, True, ""),
    ],
)
def test_what_a_doubled_figure_most_likely_is(figure: str, value: float, half: bool, hint: str) -> None:
    cards = [LintCard("card", "Ada Lovelace", half, 1, ADA | {figure: value})]
    said = next(f.text for f in lint_cards(cards) if f.figure == figure)
    assert said.endswith(hint) if hint else "looks like" not in said


def test_two_gpus_on_a_board_each_see_their_half() -> None:
    figures = {"memory_gib": 128.0, "driver_total_gib": 128.0, "usable_gib": 63.9}
    assert found("CDNA 2", figures, boards=2) == []
    assert found("CDNA 2", figures) == [("memory_size", "usable_gib")]


def test_a_card_without_memory_is_found() -> None:
    assert found("Volta", {}) == [("memory_size", "memory_gib")]


def prices(*amounts: float, **changes: Any) -> list[LintPrice]:
    values: dict[str, Any] = {"gpu_id": "card", "condition": "new", "currency": "CNY"} | changes
    return [
        LintPrice(id=f"p{i}", amount=a, observed_on=f"2026-{i + 1:02d}-01", **values)
        for i, a in enumerate(amounts)
    ]


@pytest.mark.parametrize(("odd", "count"), [(22100.0, 1), (21900.0, 0), (4500.0, 1), (4600.0, 0)])
def test_a_price_far_from_its_neighbours_is_found(odd: float, count: int) -> None:
    assert len(list(price_history(prices(10000, 10000, 10000, odd, 10000, 10000, 10000)))) == count


def test_a_price_is_compared_with_its_own_condition_currency_and_unit_only() -> None:
    rows = [
        *prices(10000, 10000, 10000, 10000),
        *prices(80000, per="server-8"),
        *prices(1400, currency="USD"),
    ]
    assert list(price_history(rows)) == []


def test_a_slow_fall_is_no_error() -> None:
    assert list(price_history(prices(30000, 25000, 20000, 16000, 13000, 10000, 8000))) == []


def test_held_and_undated_prices_are_left_out() -> None:
    odd = [*prices(10000, 10000, 10000), *prices(99000, held="8 cards")]
    assert list(price_history(odd)) == []


def test_a_source_and_a_date_on_everything() -> None:
    sources = {"a": {"title": "A", "read_on": ""}, "b": {"title": "B", "read_on": "2026-11-30"}}
    rows = [
        {"id": "1", "source_id": "a", "as_of": "2026"},
        {"id": "2", "source_id": "a", "as_of": ""},
        {"id": "3", "source_id": "b", "as_of": ""},
        {"id": "4", "source_id": "none", "as_of": "2026"},
    ]
    assert [(f.figure, f.text) for f in provenance("x.csv", rows, sources, "as_of")] == [
        ("x.csv 2", "has no date"),
        ("x.csv 4", "has no source"),
    ]


def test_exceptions_explain_and_idle_ones_are_named(engine: Engine, tmp_path: Path) -> None:
    rows = sample_seed()
    next(r for r in rows["gpu_figures.csv"] if r["figure"] == "fp8_tflops")["value"] = "660.6"
    load_seed(engine, write_seed(tmp_path / "seed", rows))
    report = lint_database(engine)
    assert [(f.rule, f.gpu_id) for f in report.unexplained] == [("fp8_ratio", "rtx4090")]
    exceptions = [
        {"rule": "fp8_ratio", "gpu_id": "rtx4090", "figure": "fp8_tflops", "reason": "planted"},
        {"rule": "bandwidth", "gpu_id": "t4", "figure": "", "reason": "nothing to explain"},
    ]
    report = explain(report.unexplained, exceptions)
    assert report.unexplained == ()
    assert len(report.explained) == 1
    assert report.idle_exceptions == (("bandwidth", "t4", ""),)


def test_the_sample_is_clean(seeded: Engine) -> None:
    assert lint_database(seeded).unexplained == ()


def test_a_card_over_an_export_limit_needs_a_remark_on_its_sale() -> None:
    cards = [
        LintCard("mi300x", vendor="AMD", figures={"fp16_tflops": 1307.4}),
        LintCard("wide", vendor="Intel", figures={"bandwidth_gb_s": 1400.0}),
        LintCard("l20", vendor="NVIDIA", figures={"fp16_tflops": 119.5, "bandwidth_gb_s": 864.0}),
        LintCard("ascend-910c", vendor="Huawei", figures={"fp16_tflops": 752.0}),
    ]
    assert [(f.gpu_id, f.figure) for f in export_limits(cards, ())] == [
        ("mi300x", "total"),
        ("wide", "bandwidth_gb_s"),
    ]
    assert not list(export_limits(cards, ("mi300x", "wide")))
