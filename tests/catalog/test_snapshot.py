"""The snapshot: what it holds, how names resolve, and how many queries it costs."""

from __future__ import annotations

import sqlite3
from dataclasses import FrozenInstanceError
from datetime import date
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.catalog.db import session
from app.catalog.problems import DatabaseProblem
from app.catalog.seed import load_seed
from app.catalog.snapshot import Snapshot
from app.catalog.snapshot_load import load_snapshot
from app.catalog.tables import QuoteRow
from app.catalog.versions import bump
from app.core.faults import InputFault
from app.core.question import PriceRules
from app.services.store import CatalogStore
from tests.catalog.queries import statements
from tests.catalog.samples import sample_seed, write_seed

DAY = date(2026, 11, 30)


@pytest.fixture
def snapshot(seeded: Engine) -> Snapshot:
    return load_snapshot(seeded)


def test_a_card_is_filled_from_its_figures(snapshot: Snapshot) -> None:
    gpu = snapshot.gpu("rtx4090")
    assert (gpu.memory_gib, gpu.driver_total_gib, gpu.usable_gib, gpu.usable_basis) == (
        24.0,
        23.99,
        23.6,
        "measured",
    )
    assert (gpu.bandwidth_gb_s, gpu.tdp_w, gpu.pcie_gen, gpu.pcie_lanes) == (1008.0, 450.0, 4, 16)
    assert gpu.rate_tflops("fp16_tflops") == 165.2
    assert gpu.rate_tflops("fp64_tflops") is None
    assert gpu.aliases == ("RTX 4090",)
    assert gpu.attributes["die"] == "AD102" and gpu.attributes["half_rate_fp32_accumulate"] is True
    other = snapshot.gpu("t4")
    assert (other.mig_instances, other.link_gb_s, other.pcie_gen, other.tdp_w) == (7, 32.0, None, None)
    assert [g.id for g in snapshot.gpus] == ["rtx4090", "t4"]


def test_usable_memory_is_derived_where_it_was_not_measured(snapshot: Snapshot) -> None:
    gpu, figure = snapshot.gpu("t4"), snapshot.figures("t4")["usable_gib"]
    # Measured on a T4: 14.75 GiB (NVIDIA driver 15.0); the rule is good to 1 %.
    assert gpu.usable_gib == pytest.approx(14.75, rel=0.01)
    assert (gpu.usable_basis, figure.basis, bool(figure.formula)) == ("derived", "derived", True)


def test_every_figure_opens(snapshot: Snapshot) -> None:
    figure = snapshot.figures("rtx4090")["fp32_tflops"]
    assert (figure.value, figure.unit, figure.basis) == (82.6, "TFLOPS", "derived")
    assert figure.source.url == "https://example.org/shop"
    assert (figure.as_of, figure.formula) == ("2026-11-30", "2 x cores x boost")


def test_a_disagreeing_value_is_kept_beside_the_chosen_one(engine: Engine, tmp_path: Path) -> None:
    rows = sample_seed()
    tdp = next(r for r in rows["gpu_figures.csv"] if r["figure"] == "tdp_w")
    rows["gpu_figures.csv"].append(tdp | {"value": "480", "chosen": "false", "note": "a board partner"})
    load_seed(engine, write_seed(tmp_path / "two", rows))
    snapshot = load_snapshot(engine)
    kept = [e for e in snapshot.all_figures("rtx4090") if e.name == "tdp_w"]
    assert [(e.figure.value, e.chosen) for e in kept] == [(450.0, True), (480.0, False)]
    assert snapshot.figures("rtx4090")["tdp_w"].value == 450.0


def test_a_model_has_its_architecture(snapshot: Snapshot) -> None:
    preset = snapshot.models["llama-3.1-8b"]
    assert (preset.architecture.layers, preset.architecture.kv_heads) == (32, 8)
    assert preset.architecture.parameters == 8030261248


@pytest.mark.parametrize("name", ["rtx4090", "RTX 4090", "rtx  4090 ", "ＲＴＸ 4090", "geforce rtx 4090"])
def test_names_of_cards(snapshot: Snapshot, name: str) -> None:
    assert snapshot.resolve_gpu(name) == "rtx4090"


@pytest.mark.parametrize("name", ["llama-3.1-8b", "Llama 8B", "meta-llama/llama-3.1-8b", "LLAMA 3.1 8B"])
def test_names_of_models(snapshot: Snapshot, name: str) -> None:
    assert snapshot.resolve_model(name) == "llama-3.1-8b"


@pytest.mark.parametrize("name", ["RTX 409", "rtx-4090", "RTX4090Ti", "", "4090"])
def test_names_are_never_guessed(snapshot: Snapshot, name: str) -> None:
    with pytest.raises(InputFault) as caught:
        snapshot.resolve_gpu(name, "/gpu")
    assert [(e.pointer, e.code) for e in caught.value.errors] == [("/gpu", "unknown_gpu")]


@pytest.mark.parametrize(("name", "close"), [("rtx-4090", ["rtx4090"]), ("qqq", []), ("9", [])])
def test_close_names_are_offered_and_never_taken(snapshot: Snapshot, name: str, close: list[str]) -> None:
    with pytest.raises(InputFault) as caught:
        snapshot.resolve_gpu(name)
    error = caught.value.errors[0]
    assert error.code == "unknown_gpu"
    hint = error.params.get("hint")
    assert (hint.params["candidates"] if hint else []) == close


def test_an_ambiguous_name_is_refused_with_the_candidates(snapshot: Snapshot) -> None:
    with pytest.raises(InputFault) as caught:
        snapshot.resolve_gpu("geforce")
    error = caught.value.errors[0]
    assert (error.code, error.params["candidates"]) == ("ambiguous_name", ["rtx4090", "t4"])


def test_a_name_of_a_card_that_is_not_in_the_catalogue_is_refused_too(engine: Engine, tmp_path: Path) -> None:
    rows = sample_seed()
    rows["gpu_aliases.csv"].append({"name": "Tesla", "target_id": "", "candidates": "t4"})
    load_seed(engine, write_seed(tmp_path / "one", rows))
    with pytest.raises(InputFault) as caught:
        load_snapshot(engine).resolve_gpu("tesla")
    assert caught.value.errors[0].params["candidates"] == ["t4"]


def test_an_unknown_model(snapshot: Snapshot) -> None:
    with pytest.raises(InputFault) as caught:
        snapshot.resolve_model("gpt-9")
    assert caught.value.errors[0].code == "unknown_model"


def test_benchmarks_of_a_card(snapshot: Snapshot) -> None:
    assert [b.value for b in snapshot.benchmarks_of_gpu("rtx4090")] == [950.0]
    assert len(snapshot.benchmarks) == 2
    assert snapshot.benchmarks_of_gpu("none") == ()


def test_the_rest_of_the_data(snapshot: Snapshot) -> None:
    assert snapshot.rentals[0].per_gpu_hour == 2.0
    assert snapshot.framework_support[0].support == {"sm_89": "native"}
    assert [a.status for a in snapshot.availability("rtx4090", "CN")] == ["restricted"]
    assert snapshot.availability("rtx4090", "US") == ()
    assert [o.amount for o in snapshot.price_rows("rtx4090")] == [14999.0]
    assert snapshot.sources["shop"].title == "A shop"


def test_price_choices(snapshot: Snapshot) -> None:
    choices = snapshot.price_choices(DAY)
    assert choices["rtx4090", "new"].amount_cny == 14999.0
    assert choices["t4", "new"].amount_cny == pytest.approx(700 * 7.1)
    assert ("t4", "used") not in choices
    assert snapshot.price_choices(date(2026, 10, 1)) == {}


def test_price_choices_are_kept_by_what_they_depend_on(snapshot: Snapshot) -> None:
    first = snapshot.price_choices(DAY, PriceRules(), ("new",))
    assert snapshot.price_choices(DAY, PriceRules(), ("new",)) is first
    assert snapshot.price_choices(DAY, PriceRules(max_age_days=10), ("new",))["rtx4090", "new"].stale
    assert snapshot.price_choices(DAY, PriceRules(), ("used",)) == {}
    with pytest.raises(TypeError):
        first["rtx4090", "new"] = first["t4", "new"]  # type: ignore[index]


def test_an_override_stands_once_and_leaves_the_others_alone(snapshot: Snapshot) -> None:
    conditions = ("used", "new")
    choices = snapshot.price_choices(DAY, PriceRules(), conditions, {"rtx4090": 12000.0})
    assert [(key, c.kind) for key, c in choices.items() if key[0] == "rtx4090"] == [
        (("rtx4090", "new"), "override")
    ]
    assert choices["t4", "new"].kind == "observation"
    assert snapshot.price_choices(DAY, PriceRules(), conditions)["rtx4090", "new"].amount == 14999.0


def test_coverage_card_by_card(snapshot: Snapshot) -> None:
    assert snapshot.price_coverage(DAY) == {"rtx4090": "fresh", "t4": "foreign"}
    assert snapshot.price_coverage(date(2027, 3, 1)) == {"rtx4090": "ageing", "t4": "foreign"}
    assert snapshot.price_coverage(date(2028, 1, 1))["rtx4090"] == "old"
    assert snapshot.price_coverage(date(2026, 10, 1)) == {"rtx4090": "none", "t4": "none"}


def test_a_snapshot_does_not_change(snapshot: Snapshot) -> None:
    with pytest.raises(FrozenInstanceError):
        snapshot.version = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        snapshot.figures("t4")["tdp_w"] = snapshot.figures("t4")["memory_gib"]  # type: ignore[index]


def test_loading_is_one_query_per_table(seeded: Engine) -> None:
    with statements(seeded) as sent:
        load_snapshot(seeded)
    # version, source, alias, gpu_figure, gpu_fact, gpu, model, benchmark, exchange_rate, rental,
    # framework_support, engine_support, host_class, memory_case, price, quote, availability
    assert len(sent) == 17


def test_a_warm_store_costs_one_query(seeded: Engine) -> None:
    store = CatalogStore(seeded)
    first = store.snapshot()
    pooled = seeded.raw_connection()
    asked: list[str] = []
    assert isinstance(pooled.driver_connection, sqlite3.Connection)
    pooled.driver_connection.set_trace_callback(asked.append)
    pooled.close()
    with statements(seeded) as sent:
        again = store.snapshot()
        again.price_choices(DAY)
        again.price_coverage(DAY)
        again.resolve_gpu("RTX 4090")
        again.benchmarks_of_gpu("rtx4090")
    assert again is first
    # The version is asked of the driver itself.
    assert sent == []
    assert len(asked) == 1 and "catalog_version" in asked[0]


def test_the_store_reads_again_when_the_data_has_changed(seeded: Engine) -> None:
    store = CatalogStore(seeded)
    first = store.snapshot()
    with session(seeded, write=True) as active:
        active.add(
            QuoteRow(
                id="q1",
                supplier="S",
                gpu_id="rtx4090",
                unit_price=13000,
                quoted_on="2026-11-10",
                valid_until="2026-12-10",
            )
        )
        active.flush()
        bump(active.connection())
    second = store.snapshot()
    assert second.version != first.version
    assert first.price_choices(DAY)["rtx4090", "new"].amount == 14999
    assert second.price_choices(DAY)["rtx4090", "new"].kind == "quote"


def test_an_unseeded_database_says_so(engine: Engine) -> None:
    with pytest.raises(DatabaseProblem) as caught:
        CatalogStore(engine).snapshot()
    assert (caught.value.kind, caught.value.command) == ("unseeded", "cardworth seed")
