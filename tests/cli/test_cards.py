"""import measurement and cards on the command line: the same path as POST /api/v1/benchmarks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from app.api.checks import EXAMPLE as PRINTED
from app.cli import main


@pytest.fixture
def database(seeded_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    monkeypatch.setenv("CARDWORTH_DATABASE_URL", f"sqlite:///{path}")


def written(folder: Path, data: dict[str, Any]) -> str:
    file = folder / "measurement.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    return str(file)


@pytest.mark.usefixtures("database")
def test_what_was_measured_is_kept_and_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cards", "--lang", "en"]) == 0
    assert "No measurement of an own card" in capsys.readouterr().out
    # Memory of which half only the firmware claims.
    fake = {**PRINTED, "memory": {"tried_gib": 21.0, "intact_gib": 10.5}}
    assert main(["import", "measurement", written(tmp_path, fake), "--lang", "en"]) == 0
    said = capsys.readouterr().out
    assert "this is not what it is sold as" in said
    assert "intact_gib: 10.5 / 21 GiB  Of 21 GiB written, 10.5 GiB came back unchanged" in said
    assert "is not used" in said
    assert main(["cards", "--gpu", "rtx4090", "--json"]) == 0
    (card,) = json.loads(capsys.readouterr().out)["items"]
    assert (card["as_sold"], card["code"]) == (False, "card_not_as_sold")
    assert [f["code"] for f in card["figures"] if f["fault"]] == ["memory_not_real"]
    assert main(["cards", "--gpu", "rtx3090", "--lang", "zh"]) == 0
    assert main(["cards", "--gpu", "no such card"]) == 2
    capsys.readouterr()


@pytest.mark.usefixtures("database")
def test_a_sound_card_is_said_to_be_one_with_its_speed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, PRINTED)
    assert main(["import", "measurement", file, "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["kept"], body["import"]["inserted"], body["card"]["as_sold"]) == (True, 1, True)
    assert main(["cards", "--lang", "en"]) == 0
    said = capsys.readouterr().out
    assert "agrees with what it is sold as" in said
    assert "speed: 1321 images/s, estimated without it" in said
