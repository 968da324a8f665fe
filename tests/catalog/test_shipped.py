"""The data that ships: it loads, nothing in it is unexplained, and the figures people get wrong are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.catalog.db import create_engine_from_url, upgrade
from app.catalog.lint import lint_database, shipped_exceptions
from app.catalog.seed import load_seed
from app.catalog.snapshot import COVERAGE, Snapshot
from app.catalog.snapshot_load import load_snapshot
from app.core.question import CONDITIONS
from app.resources import resource_path

DAY = date(2026, 11, 30)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = create_engine_from_url(f"sqlite:///{tmp_path_factory.mktemp('shipped') / 'catalog.db'}")
    upgrade(engine)
    load_seed(engine)
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def snapshot(shipped: Engine) -> Snapshot:
    return load_snapshot(shipped)


def test_nothing_is_unexplained_and_no_exception_is_idle(shipped: Engine) -> None:
    report = lint_database(shipped)
    assert [str(finding) for finding in report.unexplained] == []
    assert report.idle_exceptions == ()
    assert len(report.explained) >= len(shipped_exceptions())


def test_loading_it_again_changes_nothing(shipped: Engine, snapshot: Snapshot) -> None:
    again = load_seed(shipped, Path(resource_path("seed_data")))
    assert (again.inserted, again.updated, again.retired) == (0, 0, 0)
    assert again.version == snapshot.version
    assert again.version.startswith("2026.")


def test_there_is_as_much_as_was_promised(snapshot: Snapshot) -> None:
    assert len(snapshot.gpus) >= 180
    assert len(snapshot.models) >= 200
    assert len(snapshot.benchmarks) >= 5500
    assert len(snapshot.rentals) >= 300
    assert {s.framework for s in snapshot.framework_support} >= {"tensorflow", "pytorch"}


@pytest.mark.parametrize(
    ("gpu_id", "figure", "value"),
    [
        # Ada whitepaper, appendix A: dense, fp32 accumulate. 330.3 is the fp16-accumulate rate.
        ("rtx4090", "fp16_tflops", 165.2),
        ("rtx4090", "bf16_tflops", 165.2),
        ("rtx3090", "fp16_tflops", 71.0),
        ("l40s", "bf16_tflops", 362.0),
        ("h20-96gb", "bf16_tflops", 148.0),
        ("a100-sxm4-80gb", "bf16_tflops", 312.0),
        ("h100-sxm5-80gb", "bf16_tflops", 989.4),
    ],
)
def test_training_rates_are_dense_with_fp32_accumulate(
    snapshot: Snapshot, gpu_id: str, figure: str, value: float
) -> None:
    assert snapshot.gpu(gpu_id).rate_tflops(figure) == pytest.approx(value, rel=0.003)


@pytest.mark.parametrize(
    ("gpu_id", "usable"),
    [("rtx4090", 23.6), ("rtx3090", 23.7), ("t4", 14.75), ("a100-sxm4-80gb", 79.2), ("h100-sxm5-80gb", 79.2)],
)
def test_usable_memory_is_what_was_measured(snapshot: Snapshot, gpu_id: str, usable: float) -> None:
    assert snapshot.gpu(gpu_id).usable_gib == pytest.approx(usable, abs=0.11)


def test_every_card_has_usable_memory_and_every_figure_its_source(snapshot: Snapshot) -> None:
    for gpu in snapshot.gpus:
        assert (gpu.usable_gib is None) == (gpu.memory_gib is None and gpu.driver_total_gib is None), gpu.id
        for name, figure in snapshot.figures(gpu.id).items():
            assert figure.source.title and figure.as_of, (gpu.id, name)


def test_coverage_is_told_card_by_card(snapshot: Snapshot) -> None:
    coverage = snapshot.price_coverage(DAY)
    count = Counter(coverage.values())
    assert set(coverage) == {gpu.id for gpu in snapshot.gpus}
    assert set(count) <= set(COVERAGE)
    assert count["fresh"] + count["ageing"] >= 22
    assert count["fresh"] + count["ageing"] + count["old"] >= 50
    assert count["none"] < len(coverage) * 0.6


def test_no_price_that_counts_is_beyond_reason(snapshot: Snapshot) -> None:
    for (gpu_id, condition), choice in snapshot.price_choices(DAY, None, CONDITIONS).items():
        assert 100 < choice.amount_cny < 700_000, (gpu_id, condition, choice.amount_cny)
        if choice.evidence == "none":
            assert choice.expected_cny is None and choice.refused, (gpu_id, condition)
        else:
            assert choice.low_cny and choice.expected_cny and choice.high_cny
            assert choice.low_cny <= choice.expected_cny <= choice.high_cny <= 4.01 * choice.low_cny
        assert choice.per == "card" and choice.source.title and choice.observed_on


def test_feature_31_partitions_and_ecc(snapshot: Snapshot) -> None:
    assert snapshot.gpu("a30").mig_instances == 4
    assert snapshot.gpu("rtx-pro-6000-bw-server").mig_instances == 4
    assert snapshot.gpu("rtx5090").mig_instances in (0, 1)
    assert (snapshot.gpu("rtx5090").ecc, snapshot.gpu("a30").ecc) == ("no", "yes (on)")


@pytest.mark.parametrize("gpu_id", ["a100-pcie-40gb", "h100-sxm5-80gb"])
def test_feature_34_export_rules_of_a100_and_h100(snapshot: Snapshot, gpu_id: str) -> None:
    facts = snapshot.availability(gpu_id, "CN")
    assert any(fact.status in ("licence_required", "not_permitted", "restricted") for fact in facts), facts
