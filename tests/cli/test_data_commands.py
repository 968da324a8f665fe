"""import, export, template, pull on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from app.cli import main
from app.commands.importing import KINDS

GOOD = "显卡,成色,价格,日期,来源\nrtx4090,新,1.6万元,2026/11/1,京东\n"


@pytest.fixture
def database(seeded_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    monkeypatch.setenv("CARDWORTH_DATABASE_URL", f"sqlite:///{path}")
    return path


@pytest.mark.usefixtures("database")
def test_a_table_is_checked_then_stored_then_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "prices.csv"
    file.write_text(GOOD + "rtx4090,新,面议,7/1/2026,京东\n", encoding="utf-8")
    assert main(["import", "prices", str(file), "--dry-run", "--lang", "en"]) == 2
    said = capsys.readouterr()
    assert "prices.csv:3:价格: '面议': This must be a number." in said.out
    assert "prices.csv:3:日期: '7/1/2026': 7/1/2026 may be two dates." in said.out
    assert "2 rows: 0 would be new, 0 would be changed, 0 as before, 1 at fault." in said.out
    # One row with two cells at fault.
    assert "nothing was stored: 1 rows at fault, 2 faults" in said.err
    assert main(["import", "prices", str(file), "--dry-run", "--lang", "zh"]) == 2
    said = capsys.readouterr()
    assert "共 2 行：将新增 0，将更改 0，不变 0，有误 1。" in said.out
    assert "1 行有误，共 2 处" in said.err
    file.write_text(GOOD, encoding="utf-8")
    for expected in ({"inserted": 1, "stored": True}, {"unchanged": 1, "stored": False}):
        assert main(["import", "prices", str(file), "--json", "--why", "weekly"]) == 0
        body = json.loads(capsys.readouterr().out)
        assert {name: body[name] for name in expected} == expected


@pytest.mark.usefixtures("database")
def test_what_is_far_needs_confirmation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "prices.csv"
    file.write_text(GOOD.replace("1.6万元", "160元"), encoding="utf-8")
    assert main(["import", "prices", str(file), "--lang", "en"]) == 2
    assert "confirm that it is right" in capsys.readouterr().out
    assert main(["import", "prices", str(file), "--confirm"]) == 0


@pytest.mark.usefixtures("database")
def test_the_whole_catalogue_goes_out_and_comes_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, kind in (("out", "csv"), ("out.zip", "csv"), ("out.db", "sqlite")):
        assert main(["export", str(tmp_path / name), "--json"]) == 0
        made = json.loads(capsys.readouterr().out)
        assert made["format"] == kind
        assert main(["import", "catalog", str(tmp_path / name), "--json"]) == 0
        body = json.loads(capsys.readouterr().out)
        assert (body["inserted"], body["updated"], body["unchanged"]) == (0, 0, made["rows"])
        assert body["versions"]["catalog"] == made["catalog"]


@pytest.mark.usefixtures("database")
def test_what_cannot_be_read_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "prices", str(tmp_path / "none.csv"), "--lang", "en"]) == 2
    assert "There is no file none.csv." in capsys.readouterr().err
    (tmp_path / "x.csv").write_text("hello\n", encoding="utf-8")
    assert main(["import", "prices", str(tmp_path / "x.csv"), "--lang", "zh"]) == 2
    assert "找不到表头行" in capsys.readouterr().err
    assert main(["import", "catalog", str(tmp_path / "x.csv")]) == 2


def test_templates_in_both_languages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["template", "prices", "--lang", "zh"]) == 0
    assert capsys.readouterr().out.startswith("显卡,成色,价格,")
    assert main(["template", "prices", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"][0]["field"] == "gpu_id"


# The library leaves closing its files to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("database")
def test_rents_are_pulled_from_files_at_hand_and_a_dead_provider_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_vendor"
    (tmp_path / "lambdalabs.csv").write_text(
        f"{head},flags,cpu_arch,provider_data\ngpu_1x_a10,us,0.75,30,200,1,A10,24,False,,nvidia,,x86,{{}}\n",
        encoding="utf-8",
    )
    (tmp_path / "nobody.csv").write_text("x\n", encoding="utf-8")
    assert main(["pull", "rentals", "--folder", str(tmp_path), "--json"]) == 0
    found = {p["provider"]: p for p in json.loads(capsys.readouterr().out)["providers"]}
    assert found["lambdalabs"]["report"]["inserted"] == 1
    assert "Unknown provider" in found["nobody"]["error"]


@pytest.mark.usefixtures("database")
def test_an_empty_folder_of_rents_is_a_sentence_and_an_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "rents"
    empty.mkdir()
    assert main(["pull", "rentals", "--folder", str(empty), "--json"]) == 2
    printed = capsys.readouterr()
    body = json.loads(printed.out)
    assert body["providers"] == [] and body["error"].endswith("holds no catalogue file, such as runpod.csv")
    assert printed.err == f"cardworth: {body['error']}\n"


@pytest.mark.usefixtures("database")
def test_a_measurement_that_names_no_source_is_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "measured.csv"
    table.write_text(
        "gpu,model,task,precision,batch_per_gpu,image_size,value,unit,observed_on,confirm\n"
        "rtx4090,resnet-50,training,fp16,64,224,1310,images_per_s,2026-11-29,yes\n",
        encoding="utf-8",
    )
    assert main(["import", "benchmarks", str(table), "--dry-run", "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert [note["code"] for note in notes] == ["own_by_default", "measured_engine_assumed"]
    assert main(["import", "benchmarks", str(table), "--lang", "en"]) == 0
    assert "measured.csv:2: No source was named" in capsys.readouterr().out


def test_kinds_of_import_are_a_table_that_others_may_extend() -> None:
    assert {"prices", "rentals", "rates", "gpus", "benchmarks", "models", "quotes", "catalog"} <= set(KINDS)
