"""calibrate: the shipped measurements make every fitted constant again; what moved is said."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.catalog.snapshot import Snapshot
from app.cli import main
from app.core.calibration import COLUMNS, Calibration, installed
from app.core.gpu_table import GpuTable
from app.core.speed.fitting import Fitter, fitted_entries
from app.resources import read_table
from app.services.calibrating import as_table, refit
from app.services.maintenance import open_catalogue

FEW = ("MOE_SHARE", "QUANTIZED_KERNEL_SHARE.gguf", "LAYER_S.llama.cpp new", "WIDTHS.lora")


@pytest.fixture(scope="module")
def snapshot(seeded_database: Path) -> Iterator[Snapshot]:
    with open_catalogue(f"sqlite:///{seeded_database}") as found:
        yield found


@pytest.fixture(scope="module")
def fitter(snapshot: Snapshot) -> Fitter:
    models = {key: preset.architecture for key, preset in snapshot.models.items()}
    table = GpuTable.from_gpus(snapshot.gpus)
    return Fitter(snapshot.benchmarks, models, table, [gpu.id for gpu in snapshot.gpus])


def test_every_fitted_constant_has_the_rows_that_the_fitter_needs(fitter: Fitter) -> None:
    """Of each the rows that its conditions name are there: as many as are said to speak of it, or more."""
    entries = fitted_entries()
    assert len(entries) >= 140
    for entry in entries:
        assert 0 < entry.n <= len(fitter.rows_of(entry)), entry.label


@pytest.mark.parametrize("label", FEW)
def test_the_shipped_table_says_what_the_measurements_say(fitter: Fitter, label: str) -> None:
    entry = installed().entries[label]
    found = fitter.counted(entry)
    assert found.n == entry.n
    assert found.spread == (None if entry.spread is None else pytest.approx(entry.spread, rel=0.01))


def test_the_new_table_is_one_that_can_be_read(snapshot: Snapshot, tmp_path: Path) -> None:
    found = list(refit(snapshot, FEW))
    assert [one.entry.label for one in found] == [e.label for e in fitted_entries() if e.label in FEW]
    file = tmp_path / "calibration.csv"
    file.write_text(as_table(found), encoding="utf-8")
    again = Calibration.read(read_table(file), file.name)
    assert again.entries.keys() == installed().entries.keys()
    for label, entry in again.entries.items():
        if label not in FEW:
            assert entry.value == installed().entries[label].value
    moe = next(one for one in found if one.entry.label == "MOE_SHARE")
    assert again.entries["MOE_SHARE"].value == pytest.approx(moe.value, rel=0.01)
    with file.open(encoding="utf-8", newline="") as opened:
        assert tuple(next(csv.reader(opened))) == COLUMNS


def test_the_command_prints_what_moved(
    seeded_database: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CARDWORTH_DATABASE_URL", f"sqlite:///{seeded_database}")
    assert main(["calibrate", "MOE_SHARE", "--lang", "en"]) == 0
    said = capsys.readouterr().out
    assert "refitted" in said and "MOE_SHARE" in said
    assert main(["calibrate", "WIDTHS.serving", "--json", "--check"]) == 1
    body = json.loads(capsys.readouterr().out)["constants"][0]
    assert body["moved"] and body["shipped"] == 0.6 and abs(body["change"]) > body["spread"]
    assert main(["calibrate", "LORA_SHARE", "--check"]) == 0
    assert main(["calibrate", "NO_SUCH_SHARE"]) == 2
