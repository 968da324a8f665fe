"""What fails under the program: one sentence, exit code 3, the next step; a running server goes on."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.catalog.backup import restore_file
from app.cli import main
from app.main import create_app
from app.settings import Settings

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def database(seeded_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    monkeypatch.setenv("CARDWORTH_DATABASE_URL", f"sqlite:///{path}")
    return path


def flip(path: Path, seed: int, count: int = 400) -> None:
    """Other bytes in random places, the header of the file left alone."""
    draw, content = random.Random(seed), bytearray(path.read_bytes())
    for _ in range(count):
        at = draw.randrange(100, len(content))
        content[at] ^= draw.randrange(1, 256)
    path.write_bytes(bytes(content))


def spoil_text(path: Path) -> None:
    """A text that is no UTF-8, as one flipped byte makes it; the file is a whole database."""
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE price SET name_as_written = CAST(x'ff' AS TEXT)")
        connection.execute("UPDATE gpu SET name = CAST(x'ff41' AS TEXT)")


def spoil_json(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE model SET architecture = '{\"family'")


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


DAMAGE: dict[str, Callable[[Path], None]] = {
    "400 flipped bytes": lambda path: flip(path, 1),
    "400 others": lambda path: flip(path, 2),
    "400 more": lambda path: flip(path, 3),
    "a text that is none": spoil_text,
    "JSON that is none": spoil_json,
    "half a file": truncate,
    "no database": lambda path: path.write_bytes(b"no database" * 1_000) and None,
}


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main([*arguments])
    return code, capsys.readouterr().err


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("command", [("doctor",), ("export", "out.zip"), ("import", "catalog", "out.zip")])
def test_a_damaged_database_is_one_sentence_with_the_next_step(
    database: Path, damage: str, command: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "out.zip"
    if command[0] == "import":
        assert main(["export", str(out)]) == 0
    capsys.readouterr()
    DAMAGE[damage](database)
    code, text = said(capsys, *(str(out) if word == "out.zip" else word for word in command))
    if command[0] != "doctor" and code in (0, 2):
        # What this command reads need not be what was damaged.
        return
    assert code == 3, text
    assert "Traceback" not in text and len(text.splitlines()) == 1
    assert "cardworth restore" in text or "cardworth doctor" in text or "cardworth migrate" in text


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_database_gives_no_backup(
    database: Path, damage: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    DAMAGE[damage](database)
    copy = tmp_path / "copy.db"
    code, text = said(capsys, "backup", str(copy))
    assert code in (0, 3), text
    assert (code == 0) == copy.exists()
    assert "address" not in text and "Traceback" not in text


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_backup_changes_nothing(
    database: Path, damage: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    shutil.copyfile(database, copy)
    DAMAGE[damage](copy)
    before = database.read_bytes()
    if damage in ("a text that is none", "JSON that is none"):
        return  # A whole database: only reading its rows finds it.
    for arguments in (("restore", str(copy), "--dry-run"), ("restore", str(copy))):
        code, text = said(capsys, *arguments)
        assert code == 3 and "nothing was changed" in text and "address" not in text
    assert database.read_bytes() == before
    assert not list(tmp_path.glob("*.bak"))


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_running_server_says_503_and_never_500(settings: Settings, damage: str) -> None:
    path = Path(settings.database_url.removeprefix("sqlite:///"))
    with TestClient(create_app(settings), raise_server_exceptions=False) as client:
        assert client.get("/readyz").status_code == 200
        DAMAGE[damage](path)
        for asked in ("/", "/quotes", "/prices", "/api/v1/gpus", "/api/v1/quotes", "/readyz", "/healthz"):
            answer = client.get(asked)
            assert answer.status_code in (200, 503), (asked, answer.text[:300])
    with TestClient(create_app(settings), raise_server_exceptions=False) as client:
        for asked in ("/", "/api/v1/gpus", "/readyz"):
            answer = client.get(asked)
            assert answer.status_code in (200, 503), (asked, answer.text[:300])


def test_a_full_disk_during_an_import_stores_nothing(database: Path, tmp_path: Path) -> None:
    """No file may grow: what a full disk does, done by a limit of the process."""
    rows = [
        f"rtx4090,{10_000 + n},CNY,CN,new,asking,2026-11-{1 + n % 28:02d},shop {n},https://shop.example/{n}"
        for n in range(3_000)
    ]
    table = tmp_path / "prices.csv"
    table.write_text(
        "gpu_id,amount,currency,region,condition,channel,observed_on,source,source_url\n" + "\n".join(rows)
    )
    limit = 65_536

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        [sys.executable, "-m", "app.cli", "import", "prices", str(table), "--confirm"],
        cwd=ROOT,
        env={**os.environ, "CARDWORTH_DATABASE_URL": f"sqlite:///{database}"},
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=bound,
    )
    assert done.returncode == 3, (done.stdout[-300:], done.stderr[-500:])
    assert "Traceback" not in done.stderr and "cardworth doctor" in done.stderr
    with sqlite3.connect(database) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert connection.execute("SELECT count(*) FROM price WHERE channel LIKE 'shop %'").fetchone()[0] == 0


def test_each_restore_keeps_what_was_there(database: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    shutil.copyfile(database, copy)
    original = catalogue(database)
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE gpu SET name = 'first' WHERE id = 'rtx4090'")
    assert original != catalogue(database)
    kept = []
    for _ in range(3):
        made = restore_file(copy, database)
        assert made is not None
        kept.append(made.path)
    assert len(set(kept)) == 3 and all(path.exists() for path in kept)
    assert catalogue(kept[0]) == "first"
    assert catalogue(kept[1]) == catalogue(kept[2]) == original


def catalogue(path: Path) -> str:
    with sqlite3.connect(path) as connection:
        found: str = connection.execute("SELECT name FROM gpu WHERE id = 'rtx4090'").fetchone()[0]
    return found


def test_a_dry_run_of_restore_says_what_it_would_put_there(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.db"
    assert main(["backup", str(copy)]) == 0
    capsys.readouterr()
    before = database.read_bytes()
    assert main(["restore", str(copy), "--dry-run", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["dry_run"] and answer["previous"] is None and answer["catalog"] and answer["size_bytes"] > 0
    assert database.read_bytes() == before
    assert not list(tmp_path.glob("*.bak"))
