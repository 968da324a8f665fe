"""The whole catalogue out and in again, and no cell that a spreadsheet would run."""

from __future__ import annotations

import csv
import zipfile
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.catalog.access import create_key
from app.catalog.changes import Author
from app.catalog.db import create_engine_from_url, upgrade
from app.catalog.exporting import export_catalog, import_catalog
from app.catalog.importing import ImportOptions, import_file, import_items
from app.catalog.imports.values import ImportRefused
from app.catalog.snapshot_load import load_snapshot
from tests.catalog.test_importing import DAY

AUTHOR = Author("tester")


@pytest.fixture
def filled(seeded: Engine) -> Engine:
    """The sample with what is hard to carry: formulas, quotes, line breaks, apostrophes."""
    item = {
        "gpu": "rtx4090",
        "condition": "new",
        "currency": "CNY",
        "observed_on": "2026-11-02",
        "source": "shop",
    }
    notes = [
        "=HYPERLINK(1)",
        "+1",
        "-1",
        "@x",
        "'quoted",
        "'=x",
        "two\nlines",
        'with "quotes", commas',
        "1.10",
    ]
    rows = [item | {"amount": 15000 + n, "note": note} for n, note in enumerate(notes)]
    assert import_items(seeded, "prices", rows, AUTHOR, ImportOptions(DAY)).stored
    quote = {"supplier": "=甲", "gpu": "rtx4090", "unit_price": 14800, "valid_until": "2026-12-31"}
    assert import_items(seeded, "quotes", [quote], AUTHOR, ImportOptions(DAY)).stored
    create_key(seeded, "secret")
    return seeded


@pytest.mark.parametrize(("name", "kind"), [("all.zip", "csv"), ("folder", "csv"), ("all.db", "sqlite")])
def test_the_same_version_at_the_other_end(filled: Engine, tmp_path: Path, name: str, kind: str) -> None:
    made = export_catalog(filled, tmp_path / name, kind)
    assert made.version == load_snapshot(filled).version
    assert import_catalog(filled, made.path, AUTHOR).unchanged == made.rows
    other = create_engine_from_url(f"sqlite:///{tmp_path / 'other.db'}")
    upgrade(other)
    report = import_catalog(other, made.path, AUTHOR)
    assert (report.version, report.inserted, report.faults) == (made.version, made.rows, ())
    assert load_snapshot(other).digest == load_snapshot(filled).digest
    again = export_catalog(other, tmp_path / f"again-{name}", kind)
    assert again.version == made.version
    other.dispose()


def test_no_cell_is_a_formula_and_no_secret_leaves(filled: Engine, tmp_path: Path) -> None:
    folder = export_catalog(filled, tmp_path / "out").path
    assert {"price.csv", "quote.csv", "gpu_figure.csv"} <= {p.name for p in folder.iterdir()}
    assert not {"api_key.csv", "comparison.csv", "change_log.csv"} & {p.name for p in folder.iterdir()}
    for path in folder.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as stream:
            for row in csv.reader(stream):
                assert not any(cell.startswith(("=", "+", "@", "\t")) for cell in row)
                assert not any(cell.startswith("-") and not cell[1:2].isdigit() for cell in row)


def test_one_exported_table_can_be_imported_alone(filled: Engine, tmp_path: Path) -> None:
    folder = export_catalog(filled, tmp_path / "out").path
    for kind, table in (("prices", "price"), ("rentals", "rental"), ("rates", "exchange_rate")):
        content = (folder / f"{table}.csv").read_bytes()
        report = import_file(filled, kind, content, AUTHOR, ImportOptions(DAY))
        assert report.ok and not report.stored, (kind, report.faults)


def test_the_same_catalogue_gives_the_same_archive(filled: Engine, tmp_path: Path) -> None:
    first = export_catalog(filled, tmp_path / "a.zip").path.read_bytes()
    assert export_catalog(filled, tmp_path / "b.zip").path.read_bytes() == first


def test_a_damaged_export_changes_nothing(filled: Engine, tmp_path: Path) -> None:
    folder = export_catalog(filled, tmp_path / "out").path
    price = folder / "price.csv"
    price.write_text(price.read_text(encoding="utf-8").replace(",shop,", ",nobody,"), encoding="utf-8")
    (folder / "source.csv").write_text("id,title\n", encoding="utf-8")
    before = load_snapshot(filled).digest
    report = import_catalog(filled, folder, AUTHOR)
    assert {(file, fault.code) for file, fault in report.faults} == {
        ("source.csv", "columns_differ"),
        ("price.csv", "unknown_reference"),
    }
    assert load_snapshot(filled).digest == before


def test_what_is_no_export_is_refused(filled: Engine, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("hello", encoding="utf-8")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "diary.txt").write_text("mine", encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("price.csv", b"0" * 50_000_000)
    for path, code in (("x.txt", "no_catalog"), ("own", "no_catalog"), ("bomb.zip", "zip_bomb")):
        with pytest.raises(ImportRefused) as refused:
            import_catalog(filled, tmp_path / path, AUTHOR)
        assert refused.value.code == code
    with pytest.raises(ImportRefused) as refused:
        export_catalog(filled, tmp_path / "own")
    assert refused.value.code == "export_target" and (tmp_path / "own" / "diary.txt").exists()
