"""The command line: what it prints, in which language, with which exit code."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli import build_parser, main
from app.commands.output import table

FLAGS = "--model llama-3.1-8b --precision bf16 --batch 16 --sequence 8192 --as-of 2026-11-30".split()
BERT = "--model bert-large-uncased --task training --precision fp32 --batch 32 --sequence 128".split()


@pytest.fixture
def seeded(seeded_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    monkeypatch.setenv("CARDWORTH_DATABASE_URL", f"sqlite:///{path}")
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(arguments)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_only_commands_that_exist_are_listed() -> None:
    text = build_parser().format_help()
    for name in ("serve", "memory", "fit", "speed", "shortlist", "seed", "migrate", "doctor"):
        assert re.search(rf"^    {name}\b", text, re.MULTILINE)


@pytest.mark.usefixtures("seeded")
def test_memory_in_both_languages(capsys: pytest.CaptureFixture[str]) -> None:
    status, english, _ = run(capsys, "memory", *FLAGS, "--lang", "en")
    assert status == 0
    assert "KV cache" in english and "16.00" in english and "14.96" in english
    _, chinese, _ = run(capsys, "memory", *FLAGS, "--lang", "zh")
    assert "KV 缓存" in chinese and "每卡需要" in chinese


@pytest.mark.usefixtures("seeded")
def test_fit_names_verdict_margin_and_remedies(capsys: pytest.CaptureFixture[str]) -> None:
    status, printed, _ = run(capsys, "fit", *FLAGS, "--gpu", "RTX 4090", "--lang", "en")
    assert status == 0
    assert "1 × RTX 4090" in printed and "does not fit" in printed
    assert "What would make it fit" in printed and "Take a batch of" in printed


@pytest.mark.usefixtures("seeded")
def test_speed_has_interval_bound_and_basis(capsys: pytest.CaptureFixture[str]) -> None:
    status, printed, _ = run(capsys, "speed", *BERT, "--gpu", "rtx3090", "--lang", "en")
    assert status == 0
    assert "samples/s" in printed and "bound by" in printed and "basis" in printed


@pytest.mark.usefixtures("seeded")
def test_shortlist_is_an_aligned_table_with_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    status, printed, _ = run(capsys, "shortlist", *FLAGS, "--limit", "3", "--lang", "en")
    assert status == 0
    assert "Lowest total cost" in printed and "Not on the list" in printed
    assert "prices as of 2026-11-30" in printed
    _, dollars, _ = run(capsys, "shortlist", *FLAGS, "--limit", "3", "--lang", "en", "--currency", "USD")
    assert "US$" in dollars


@pytest.mark.usefixtures("seeded")
def test_a_config_file_can_be_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.json"
    config = {
        "model_type": "llama",
        "num_hidden_layers": 32,
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "vocab_size": 32000,
        "tie_word_embeddings": False,
    }
    path.write_text(json.dumps(config), encoding="utf-8")
    status, printed, _ = run(capsys, "memory", "--config", str(path), "--precision", "bf16", "--json")
    assert status == 0
    weights = next(p for p in json.loads(printed)["memory"]["parts"] if p["part"] == "weights")
    # 6,738,415,616 parameters x 2 bytes
    assert weights["gib"] == pytest.approx(6_738_415_616 * 2 / 1024**3, rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "pointer"),
    [
        (["memory", "--model", "llama-99"], "/workload/model/preset"),
        (["memory", *BERT[:-2]], "/workload/sequence_length"),
        (["fit", *FLAGS], "/gpu"),
        (["shortlist", *FLAGS, "--objective", "best"], "/objective"),
    ],
)
@pytest.mark.usefixtures("seeded")
def test_a_fault_of_the_question_is_named_and_exits_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], pointer: str
) -> None:
    status, printed, complaint = run(capsys, *arguments, "--lang", "en")
    assert (status, printed) == (2, "")
    assert pointer in complaint


@pytest.mark.parametrize(
    ("flag", "value"),
    [("--parameters", "seven"), ("--request", "nothing.json"), ("--config", "nothing.json")],
)
@pytest.mark.usefixtures("seeded")
def test_a_flag_that_cannot_be_read_exits_2(
    capsys: pytest.CaptureFixture[str], flag: str, value: str
) -> None:
    status, _, complaint = run(capsys, "memory", flag, value)
    assert status == 2 and value in complaint


@pytest.mark.usefixtures("seeded")
def test_a_request_that_is_no_json_object_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "question.json"
    for content in ("{", "[1]", "[" * 100_000):
        path.write_text(content, encoding="utf-8")
        assert run(capsys, "memory", "--request", str(path))[0] == 2


@pytest.mark.usefixtures("seeded")
def test_a_stale_price_exits_4_when_it_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    late = [*FLAGS[:-1], "2028-01-01", "--only", "l20", "--refuse-stale", "--lang", "en"]
    status, _, complaint = run(capsys, "shortlist", *late)
    assert status == 4 and "older than 180 days" in complaint


def test_a_missing_database_is_a_sentence_and_exit_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none.db"
    monkeypatch.setenv("CARDWORTH_DATABASE_URL", f"sqlite:///{path}")
    for command in (["memory", *FLAGS], ["seed"], ["doctor"]):
        status, _, complaint = run(capsys, *command)
        assert status == 3
        assert "cardworth migrate" in complaint and "Traceback" not in complaint
    assert not path.exists()


@pytest.mark.parametrize("revision", ["000000000000", "ffffffffffff"])
def test_serve_refuses_a_database_of_another_version(
    seeded: Path, capsys: pytest.CaptureFixture[str], revision: str
) -> None:
    connection = sqlite3.connect(seeded)
    connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))
    connection.commit()
    connection.close()
    status, _, complaint = run(capsys, "serve")
    assert status == 3 and "cardworth" in complaint and "version" in complaint


def test_prepare_sets_up_an_empty_database_once(tmp_path: Path) -> None:
    from app.services import maintenance

    url = f"sqlite:///{tmp_path / 'new.db'}"
    with pytest.raises(maintenance.DatabaseProblem, match="cardworth migrate"):
        maintenance.prepare(url, auto_seed=False)
    maintenance.prepare(url, auto_seed=True)
    with maintenance.open_catalogue(url) as snapshot:
        assert len(snapshot.gpus) >= 180
        version = snapshot.version
    maintenance.prepare(url, auto_seed=True)
    assert maintenance.seed(url).version == version


@pytest.mark.usefixtures("seeded")
def test_migrate_and_seed_can_be_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    status, printed, _ = run(capsys, "migrate", "--json")
    assert status == 0 and json.loads(printed) == {"backup": None}
    status, printed, _ = run(capsys, "seed", "--json")
    report = json.loads(printed)
    assert status == 0 and report["inserted"] == 0 and report["unchanged"] > 10_000


@pytest.mark.usefixtures("seeded")
def test_doctor_counts_what_is_there_and_hides_passwords(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARDWORTH_PROT", "8000")
    status, printed, complaint = run(capsys, "doctor", "--json")
    body = json.loads(printed)
    assert status == 0
    assert body["cards"] >= 180 and body["models"] >= 200 and sum(body["prices"].values()) == body["cards"]
    assert "CARDWORTH_PROT" in complaint


def test_a_wrong_setting_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CARDWORTH_PORT", "many")
    status, _, complaint = run(capsys, "doctor")
    assert status == 2 and "CARDWORTH_PORT" in complaint


def test_tables_align_chinese_and_latin_text() -> None:
    lines = table([["卡", "GiB"], ["RTX 4090", "24"], ["昇腾", "64"]])
    assert lines == ["卡        GiB", "────────  ───", "RTX 4090   24", "昇腾       64"]


@pytest.mark.usefixtures("seeded")
def test_a_backup_is_restored_and_the_database_before_it_kept(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy.db"
    status, printed, _ = run(capsys, "backup", str(copy), "--json")
    assert status == 0 and json.loads(printed)["size_bytes"] == copy.stat().st_size > 1e6
    monkeypatch.setenv("CARDWORTH_DATABASE_URL", f"sqlite:///{tmp_path / 'new.db'}")
    status, printed, _ = run(capsys, "restore", str(copy), "--json")
    assert status == 0 and json.loads(printed) == {"previous": None}
    status, printed, _ = run(capsys, "restore", str(copy), "--json")
    assert status == 0 and Path(json.loads(printed)["previous"]).is_file()
    status, printed, _ = run(capsys, "doctor", "--json")
    assert status == 0 and json.loads(printed)["cards"] >= 180
    status, _, complaint = run(capsys, "restore", str(tmp_path / "none.db"))
    assert status == 3 and "none.db" in complaint
    # The copy of a moment ago is not overwritten unasked, nor is the live file ever.
    for target, options in ((copy, ()), (tmp_path / "new.db", ("--force",))):
        status, _, complaint = run(capsys, "backup", str(target), *options)
        assert status == 3 and target.name in complaint
    assert run(capsys, "backup", str(copy), "--force")[0] == 0
    # A database that cannot be read any more is set aside and replaced.
    (tmp_path / "new.db").write_bytes(b"no database at all" * 100)
    assert run(capsys, "restore", str(copy))[0] == 0
    newest = max(tmp_path.glob("new.db.before-restore-*.bak"), key=lambda p: p.name)
    assert newest.read_bytes().startswith(b"no database")
    status, printed, _ = run(capsys, "doctor", "--json")
    assert status == 0 and json.loads(printed)["cards"] >= 180


def _all_commands(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    groups = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not groups:
        yield path
    for group in groups:
        for name, command in group.choices.items():
            yield from _all_commands(command, (*path, name))


def test_every_command_takes_a_language(capsys: pytest.CaptureFixture[str]) -> None:
    commands = list(_all_commands(build_parser()))
    assert ("key", "list") in commands and ("doctor",) in commands
    for command in commands:
        with pytest.raises(SystemExit) as left:
            main([*command, "--lang", "zh", "--help"])
        assert left.value.code == 0, command
        assert "--lang" in capsys.readouterr().out


@pytest.mark.usefixtures("seeded")
def test_what_runs_an_instance_speaks_chinese(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, _ = run(capsys, "doctor", "--lang", "zh")
    assert status == 0 and "数据库" in out and "人民币" in out and "价格" in out
    status, out, _ = run(capsys, "key", "create", "采购", "--lang", "zh")
    assert status == 0 and "只显示这一次" in out
    status, out, _ = run(capsys, "backup", str(tmp_path / "copy.db"), "--lang", "zh")
    assert status == 0 and "已备份并校验" in out


def test_a_database_that_is_not_there_is_said_in_chinese(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARDWORTH_DATABASE_URL", f"sqlite:///{tmp_path}/none.db")
    status, _, said = run(capsys, "doctor", "--lang", "zh")
    assert status == 3
    assert "数据库还没有初始化" in said and "请运行：cardworth migrate" in said


@pytest.mark.usefixtures("seeded")
def test_a_port_that_is_taken_names_the_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        status, _, said = run(capsys, "serve", "--port", str(port), "--lang", "en")
        assert status == 2
        assert f"port {port}" in said and f"CARDWORTH_PORT={port + 1}" in said and "Errno" not in said
        _, _, said = run(capsys, "serve", "--port", str(port), "--lang", "zh")
        assert f"端口 {port} 已被别的程序占用" in said
    status, _, said = run(capsys, "serve", "--host", "192.0.2.1", "--port", "0")
    assert status == 2 and "CARDWORTH_HOST" in said
