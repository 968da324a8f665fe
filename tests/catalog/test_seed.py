"""Loading the seed: idempotent, all or nothing, every fault by file, line and column."""

from __future__ import annotations

import sqlite3
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, select

from app.catalog import tables
from app.catalog.changes import Author
from app.catalog.columns import CATALOG_ROWS
from app.catalog.db import create_engine_from_url, session, sqlite_path, upgrade
from app.catalog.exporting import export_catalog, import_catalog
from app.catalog.importing import ImportOptions, import_items
from app.catalog.problems import MAX_FAULTS, SeedFault
from app.catalog.seed import load_seed, read_seed
from app.catalog.snapshot_load import load_snapshot
from app.catalog.versions import table_of
from tests.catalog.samples import sample_seed, write_seed


def counts(engine: Engine) -> dict[str, int]:
    with session(engine) as active:
        return {
            str(row.__tablename__): active.connection()
            .execute(select(func.count()).select_from(t))
            .scalar_one()
            for row in CATALOG_ROWS
            if (t := table_of(row)) is not None
        }


def test_every_row_of_the_sample_arrives(seeded: Engine) -> None:
    expected = {"source": 1, "gpu": 2, "gpu_figure": 20, "alias": 3, "price": 2, "rental": 1, "benchmark": 2}
    assert counts(seeded).items() >= expected.items()


def test_the_version_is_the_newest_month_and_the_digest(seeded: Engine) -> None:
    with session(seeded) as active:
        row = active.get(tables.CatalogVersionRow, 1)
    assert row is not None
    assert row.version == f"2026.11-{row.digest[:8]}"
    assert row.rows == sum(counts(seeded).values())


def test_loading_again_changes_nothing_and_keeps_the_version(seeded: Engine, tmp_path: Path) -> None:
    path = sqlite_path(seeded.url)
    assert path is not None

    def dump() -> list[str]:
        connection = sqlite3.connect(path)
        try:
            return list(connection.iterdump())
        finally:
            connection.close()

    before = dump()
    report = load_seed(seeded, tmp_path / "seed")
    assert (report.inserted, report.updated, report.retired) == (0, 0, 0)
    assert dump() == before


def test_the_digest_does_not_depend_on_order_or_time(seeded: Engine, tmp_path: Path) -> None:
    rows = {name: list(reversed(records)) for name, records in sample_seed().items()}
    other = create_engine_from_url(f"sqlite:///{tmp_path / 'other.db'}")
    upgrade(other)
    reversed_version = load_seed(other, write_seed(tmp_path / "reversed", rows))
    other.dispose()
    assert reversed_version.version == load_seed(seeded, tmp_path / "seed").version


def test_a_changed_row_gives_a_new_version_and_an_entry_in_the_log(seeded: Engine, tmp_path: Path) -> None:
    first = load_seed(seeded, tmp_path / "seed").version
    rows = sample_seed()
    rows["gpus.csv"][0]["note"] = "corrected"
    report = load_seed(seeded, write_seed(tmp_path / "next", rows))
    assert (report.inserted, report.updated) == (0, 1)
    assert report.version != first
    with session(seeded) as active:
        logged = active.connection().execute(select(table_of(tables.ChangeLogRow).c.after)).scalars().all()
    assert [entry["updated"] for entry in logged] == [0, 1]


def test_a_newer_choice_retires_the_older_figure(seeded: Engine, tmp_path: Path) -> None:
    rows = sample_seed()
    row = next(r for r in rows["gpu_figures.csv"] if r["figure"] == "tdp_w")
    row["value"] = "460"
    report = load_seed(seeded, write_seed(tmp_path / "next", rows))
    assert (report.inserted, report.retired) == (1, 1)
    figure = table_of(tables.GpuFigureRow)
    with session(seeded) as active:
        kept = active.connection().execute(
            select(figure.c.value, figure.c.chosen).where(figure.c.figure == "tdp_w").order_by(figure.c.value)
        )
        assert [tuple(r) for r in kept] == [(450.0, False), (460.0, True)]


def test_ids_of_observations_are_digests_of_what_they_say(seeded: Engine) -> None:
    price = table_of(tables.PriceRow)
    with session(seeded) as active:
        ids = active.connection().execute(select(price.c.id)).scalars().all()
    assert all(len(i) == 16 and int(i, 16) >= 0 for i in ids)


def faults_of(tmp_path: Path, rows: dict[str, list[dict[str, Any]]]) -> list[tuple[str, int, str, str]]:
    with pytest.raises(SeedFault) as caught:
        read_seed(write_seed(tmp_path / "seed", rows))
    return [(f.file, f.line, f.column, f.code) for f in caught.value.faults]


@pytest.mark.parametrize(
    ("file", "row", "column", "value", "code"),
    [
        ("prices.csv", 0, "amount", "12,999", "not_a_number"),
        ("prices.csv", 1, "amount", "nan", "not_a_number"),
        ("prices.csv", 1, "amount", "1e999", "not_finite"),
        ("prices.csv", 1, "amount", "-5", "too_small"),
        ("prices.csv", 1, "amount", "１２", "not_a_number"),
        ("prices.csv", 1, "amount", "1_000", "not_a_number"),
        ("prices.csv", 0, "amount", "", "required"),
        ("prices.csv", 0, "condition", "mint", "not_allowed"),
        ("prices.csv", 0, "currency", "yuan", "pattern"),
        ("prices.csv", 0, "observed_on", "2026-02-30", "not_a_date"),
        ("prices.csv", 0, "observed_on", "2026-Q1", "not_a_date"),
        ("prices.csv", 0, "gpu_id", "rtx9999", "unknown_reference"),
        ("prices.csv", 0, "source_id", "nowhere", "unknown_reference"),
        ("prices.csv", 0, "region", "Mars", "not_allowed"),
        ("prices.csv", 0, "channel", "a\x07b", "control_character"),
        ("gpus.csv", 1, "has_tensor_cores", "maybe", "not_a_boolean"),
        ("availability.csv", 0, "status", "Quite forbidden", "not_allowed"),
        ("availability.csv", 0, "until", "2023-01", "valid_before_quoted"),
        ("gpus.csv", 0, "form_factor", "Dual-slot", "not_allowed"),
        ("gpu_facts.csv", 0, "fact", "colour", "not_allowed"),
        ("gpu_facts.csv", 0, "value", "525", "pattern"),
        ("gpu_facts.csv", 1, "value", "a fan", "pattern"),
        ("gpu_facts.csv", 0, "formula", "", "formula_required"),
        ("gpu_facts.csv", 0, "source_id", "nowhere", "unknown_reference"),
        ("gpu_figures.csv", 3, "figure", "speed", "not_allowed"),
        ("gpu_figures.csv", 3, "unit", "TB/s", "wrong_unit"),
        ("gpu_figures.csv", 8, "formula", "", "formula_required"),
        ("gpu_figures.csv", 8, "basis", "guessed", "not_allowed"),
        ("gpu_figures.csv", 8, "as_of", "", "required"),
        ("gpu_aliases.csv", 0, "target_id", "rtx9999", "unknown_reference"),
        ("gpu_aliases.csv", 1, "candidates", "t4|rtx9999", "unknown_reference"),
        ("gpu_aliases.csv", 0, "candidates", "t4", "target_or_candidates"),
        ("rentals.csv", 0, "gpu_count", "1.5", "not_an_integer"),
        ("rentals.csv", 0, "per_gpu_hour", "16", "per_gpu_mismatch"),
        ("benchmarks.csv", 1, "model_id", "gpt-9", "unknown_reference"),
        ("benchmarks.csv", 1, "precision", "half", "not_allowed"),
        ("models.jsonl", 0, "family", "poem", "not_allowed"),
        ("models.jsonl", 0, "parameters", "many", "not_a_number"),
        ("models.jsonl", 0, "architecture", [1], "not_object"),
        ("models.jsonl", 0, "architecture", {"layer_count": 3}, "architecture"),
        ("models.jsonl", 0, "name", 7, "not_text"),
        ("models.jsonl", 0, "colour", "red", "header_unknown"),
        ("availability.csv", 0, "from", "soon", "not_a_date"),
    ],
)
def test_a_fault_names_file_line_and_column(
    tmp_path: Path, file: str, row: int, column: str, value: Any, code: str
) -> None:
    rows = sample_seed()
    rows[file][row][column] = value
    line = row + 1 if file.endswith(".jsonl") else row + 2
    assert faults_of(tmp_path, rows) == [(file, line, column, code)]


def test_all_faults_are_listed_up_to_a_hundred(tmp_path: Path) -> None:
    rows = sample_seed()
    good = rows["prices.csv"][0]
    rows["prices.csv"] = [good | {"amount": "x", "note": str(i)} for i in range(150)]
    with pytest.raises(SeedFault) as caught:
        read_seed(write_seed(tmp_path / "seed", rows))
    assert len(caught.value.faults) == MAX_FAULTS
    assert [f.line for f in caught.value.faults] == list(range(2, 102))
    assert str(caught.value).splitlines()[0] == "prices.csv:2:amount: 'x' is not a number"
    assert str(caught.value).endswith("and 50 more faults")


def test_a_line_is_the_one_where_the_record_begins(tmp_path: Path) -> None:
    rows = sample_seed()
    good = rows["prices.csv"][0]
    rows["prices.csv"] = [good | {"note": "two\nlines"}, good | {"note": "next", "amount": "x"}]
    assert faults_of(tmp_path, rows) == [("prices.csv", 4, "amount", "not_a_number")]


def test_a_row_said_twice_names_the_first(tmp_path: Path) -> None:
    rows = sample_seed()
    rows["prices.csv"].append(dict(rows["prices.csv"][0]))
    with pytest.raises(SeedFault, match=r"prices\.csv:4: says the same as line 2"):
        read_seed(write_seed(tmp_path / "seed", rows))


def test_a_bad_card_does_not_make_faults_of_its_figures(tmp_path: Path) -> None:
    rows = sample_seed()
    rows["gpus.csv"][0]["gpus_per_board"] = "two"
    assert faults_of(tmp_path, rows) == [("gpus.csv", 2, "gpus_per_board", "not_a_number")]


@pytest.mark.parametrize(
    ("content", "line", "code"),
    [
        (b"", 1, "file_empty"),
        (b"base,quote,rate,observed_on,source_id\nUSD,CNY,7\n", 2, "cells"),
        (
            b"base,quote,rate,observed_on,source_id\nUSD,CNY,7,2026-10-31,shop\n\xff,CNY,7,2026,shop\n",
            3,
            "not_utf8",
        ),
        (b'base,quote,rate,observed_on,source_id\n"USD,CNY,7,2026-10-31,shop\n', 2, "csv"),
    ],
)
def test_files_that_are_no_tables(tmp_path: Path, content: bytes, line: int, code: str) -> None:
    folder = write_seed(tmp_path / "seed")
    (folder / "rates.csv").write_bytes(content)
    with pytest.raises(SeedFault) as caught:
        read_seed(folder)
    assert [(f.file, f.line, f.code) for f in caught.value.faults] == [("rates.csv", line, code)]


def test_headers_are_checked(tmp_path: Path) -> None:
    folder = write_seed(tmp_path / "seed")
    (folder / "rates.csv").write_text("base,quote,rate,rate,colour,source_id\n", encoding="utf-8")
    with pytest.raises(SeedFault) as caught:
        read_seed(folder)
    assert [(f.line, f.column, f.code) for f in caught.value.faults] == [
        (1, "rate", "header_twice"),
        (1, "colour", "header_unknown"),
        (1, "observed_on", "header_missing"),
    ]


def test_a_missing_file_is_a_fault(tmp_path: Path) -> None:
    folder = write_seed(tmp_path / "seed")
    (folder / "gpus.csv").unlink()
    with pytest.raises(SeedFault) as caught:
        read_seed(folder)
    assert [(f.file, f.code) for f in caught.value.faults] == [("gpus.csv", "file_missing")]


@pytest.mark.parametrize("text", ["{", "[1]", '{"id": NaN}', "[" * 100_000])
def test_json_lines_that_are_not_objects(tmp_path: Path, text: str) -> None:
    folder = write_seed(tmp_path / "seed")
    with (folder / "models.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(text + "\n")
    with pytest.raises(SeedFault) as caught:
        read_seed(folder)
    assert [(f.file, f.line) for f in caught.value.faults] == [("models.jsonl", 2)]


def test_a_byte_order_mark_of_a_spreadsheet_is_no_fault(tmp_path: Path) -> None:
    folder = write_seed(tmp_path / "seed")
    path = folder / "rates.csv"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_seed(folder)["rates.csv"][0]["rate"] == 7.1


def test_a_fault_anywhere_leaves_the_database_as_it_was(seeded: Engine, tmp_path: Path) -> None:
    before = counts(seeded)
    rows = sample_seed()
    rows["prices.csv"].append(rows["prices.csv"][0] | {"amount": "15000"})
    rows["availability.csv"][0]["from"] = "soon"
    with pytest.raises(SeedFault):
        load_seed(seeded, write_seed(tmp_path / "bad", rows))
    assert counts(seeded) == before


def test_a_failure_of_the_database_in_mid_load_leaves_it_empty(engine: Engine, tmp_path: Path) -> None:
    with session(engine, write=True) as active:
        active.connection().exec_driver_sql(
            "CREATE TRIGGER refuse BEFORE INSERT ON availability BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    with pytest.raises(Exception, match="no"):
        load_seed(engine, write_seed(tmp_path / "seed"))
    assert set(counts(engine).values()) == {0}


def test_seeding_after_an_export_was_imported_changes_nothing(seeded: Engine, tmp_path: Path) -> None:
    """The import logs every figure as added; that makes none of them the team's own."""
    made = export_catalog(seeded, tmp_path / "all.zip")
    other = create_engine_from_url(f"sqlite:///{tmp_path / 'other.db'}")
    upgrade(other)
    assert import_catalog(other, made.path, Author("tester")).version == made.version
    for _ in range(2):
        report = load_seed(other, tmp_path / "seed")
        assert (report.inserted, report.updated, report.retired) == (0, 0, 0)
        assert report.version == made.version
    assert load_snapshot(other).gpu("rtx4090").memory_gib == 24
    other.dispose()


def test_a_correction_survives_an_export_and_the_seed(seeded: Engine, tmp_path: Path) -> None:
    item = {"gpu": "rtx4090", "figure": "tdp_w", "value": 460, "basis": "measured", "source": "A meter"}
    item |= {"as_of": "2026-11-30"}
    assert import_items(seeded, "figures", [item], Author("tester"), ImportOptions(date(2026, 11, 30))).stored
    made = export_catalog(seeded, tmp_path / "all.zip")
    other = create_engine_from_url(f"sqlite:///{tmp_path / 'other.db'}")
    upgrade(other)
    import_catalog(other, made.path, Author("tester"))
    assert load_seed(other, tmp_path / "seed").version == made.version
    assert load_snapshot(other).gpu("rtx4090").tdp_w == 460
    other.dispose()
