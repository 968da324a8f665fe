"""compare and bench on the command line."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from app.cli import main

FLAGS = "--model llama-3.1-8b --batch 16 --sequence 8192 --as-of 2026-11-30 --limit 3".split()


@pytest.fixture
def database(seeded_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    monkeypatch.setenv("CARDWORTH_DATABASE_URL", f"sqlite:///{path}")
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def freeze(capsys: pytest.CaptureFixture[str], *more: str) -> str:
    made = json.loads(run(capsys, "compare", *FLAGS, *more, "--title", "Spring purchase", "--json"))
    assert made["url"] == f"/c/{made['id']}" and made["manage_token"]
    return str(made["id"])


@pytest.mark.usefixtures("database")
def test_a_decision_is_frozen_from_flags_and_shown_again(capsys: pytest.CaptureFixture[str]) -> None:
    printed = run(capsys, "compare", *FLAGS, "--lang", "en")
    found = re.search(r"comparison  (\S+)\npage  /c/(\S+)\nmanage token  \S+", printed)
    assert found is not None and found[1] == found[2]
    token = freeze(capsys)
    asked = json.loads(run(capsys, "shortlist", *FLAGS, "--json", "--lang", "en"))
    shown = json.loads(run(capsys, "compare", "--show", token, "--json", "--lang", "en"))
    assert shown["title"] == "Spring purchase" and shown["as_of"] == "2026-11-30"
    assert shown["result"]["options"] == asked["options"]
    text = run(capsys, "compare", "--show", token, "--lang", "en")
    assert text.startswith("Spring purchase\nfrozen on ") and asked["options"][0]["label"] in text
    assert "冻结于" in run(capsys, "compare", "--show", token, "--lang", "zh")


@pytest.mark.usefixtures("database")
def test_a_body_from_a_file_is_frozen_as_the_api_takes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = {"workload": {"model": {"preset": "bert-base-uncased"}}, "title": "T", "as_of": "2026-11-30"}
    path = tmp_path / "body.json"
    path.write_text(json.dumps(body), encoding="utf-8")
    token = json.loads(run(capsys, "compare", "--request", str(path), "--json"))["id"]
    shown = json.loads(run(capsys, "compare", "--show", token, "--json"))
    assert shown["title"] == "T" and shown["question"]["workload"] == body["workload"]


@pytest.mark.usefixtures("database")
def test_what_has_changed_since_is_said_by_day(capsys: pytest.CaptureFixture[str]) -> None:
    # Estimates are ranked too: by default a stale price leaves the list, and none could be seen to age.
    token = freeze(capsys, "--evidence", "any", "--only", "rtx5090", "--only", "rx9070")
    same = run(capsys, "compare", "--changes", token, "--as-of", "2026-11-30", "--lang", "en")
    assert "The order is the same." in same and "Prices that moved" not in same
    # A year on, every price that was fresh is stale, and that is said of each.
    asked = ("compare", "--changes", token, "--as-of", "2027-11-30")
    body = json.loads(run(capsys, *asked, "--json"))
    assert body["then"]["as_of"] == "2026-11-30" and body["now"]["as_of"] == "2027-11-30"
    aged = [p for p in body["prices"] if p["now"]["stale"] and not p["then"]["stale"]]
    assert aged and len(aged) == len(body["prices"]) == len(body["options"])
    later = run(capsys, *asked, "--lang", "en")
    assert "→ 2027-11-30" in later and later.count("now stale") == len(aged)
    assert run(capsys, *asked, "--lang", "zh").count("现已过期") == len(aged)
    # Asked on current evidence, none of them stands in the list a year on.
    asked = ("compare", "--changes", freeze(capsys), "--as-of", "2027-11-30")
    body = json.loads(run(capsys, *asked, "--json"))
    assert len(body["left"]) == 3 and body["options"] == body["prices"] == []


@pytest.mark.usefixtures("database")
def test_what_cannot_be_compared_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--show", "nowhere"]) == 2
    assert "there is no comparison nowhere" in capsys.readouterr().err
    assert main(["compare", "--changes", freeze(capsys), "--as-of", "yesterday"]) == 2
    assert "--as-of yesterday" in capsys.readouterr().err
    assert main(["compare", "--model", "no such model", "--lang", "en"]) == 2
    assert "/workload/model" in capsys.readouterr().err


@pytest.mark.usefixtures("database")
def test_bench_names_what_it_measures_and_whether_the_budget_holds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.commands.bench.QUICK_REPEATS", 1)
    body = json.loads(run(capsys, "bench", "--quick", "--json"))
    rows = {row["name"]: row for row in body["results"]}
    best = rows["grid, best question: candidates evaluated in full, one core"]
    assert best["value"] > 0 and best["budget"] == 1e6 and best["met"] == (best["value"] >= 1e6)
    over = [row for name, row in rows.items() if name.startswith("... over the empty route")]
    assert {row["budget"] for row in over} == {10.0, 15.0} and all(row["value"] > 0 for row in over)
