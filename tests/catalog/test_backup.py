"""Backup and restore: whole copies or none."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.catalog import db
from app.catalog.backup import back_up_file, restore_file
from app.catalog.db import create_engine_from_url, session
from app.catalog.problems import DatabaseProblem
from app.catalog.snapshot_load import load_snapshot
from app.catalog.tables import SourceRow


def file_of(engine: Engine) -> Path:
    path = db.sqlite_path(engine.url)
    assert path is not None
    return path


def test_a_backup_of_a_database_in_use(seeded: Engine, tmp_path: Path) -> None:
    with session(seeded) as active:
        active.get(SourceRow, "shop")
        made = back_up_file(file_of(seeded), tmp_path / "copy.db")
    assert made.size_bytes == made.path.stat().st_size > 0
    copy = create_engine_from_url(f"sqlite:///{made.path}")
    assert load_snapshot(copy).digest == load_snapshot(seeded).digest
    copy.dispose()
    assert not list(tmp_path.glob(".*partial"))


def test_a_restore_brings_the_old_state_and_saves_the_new_one(seeded: Engine, tmp_path: Path) -> None:
    saved = back_up_file(file_of(seeded), tmp_path / "copy.db")
    with session(seeded, write=True) as active:
        active.add(SourceRow(id="later", title="Later"))
    seeded.dispose()
    previous = restore_file(saved.path, file_of(seeded))
    with session(seeded) as active:
        assert active.get(SourceRow, "later") is None
        assert active.get(SourceRow, "shop") is not None
    assert previous is not None
    with closing(sqlite3.connect(previous.path)) as connection:
        assert connection.execute("SELECT count(*) FROM source WHERE id = 'later'").fetchone() == (1,)


def test_a_restore_into_an_empty_place(seeded: Engine, tmp_path: Path) -> None:
    saved = back_up_file(file_of(seeded), tmp_path / "copy.db")
    assert restore_file(saved.path, tmp_path / "fresh.db") is None
    fresh = create_engine_from_url(f"sqlite:///{tmp_path / 'fresh.db'}")
    db.check_revision(fresh)
    fresh.dispose()


@pytest.mark.parametrize("content", [b"Dear reader, " * 500, b"SQLite format 3\x00" + b"\x07" * 5000])
def test_what_is_no_backup_is_refused_and_nothing_is_touched(
    seeded: Engine, tmp_path: Path, content: bytes
) -> None:
    bad = tmp_path / "bad.db"
    bad.write_bytes(content)
    with pytest.raises(DatabaseProblem) as caught:
        restore_file(bad, file_of(seeded))
    assert caught.value.kind == "damaged" and "is no Cardworth database" in str(caught.value)
    # The way out is not the command that has just been refused.
    assert "cardworth restore" not in str(caught.value)
    assert load_snapshot(seeded).gpus


def test_another_program_s_database_is_refused(seeded: Engine, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE songs (name)")
    with pytest.raises(DatabaseProblem, match="is no Cardworth database"):
        restore_file(other, file_of(seeded))


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(DatabaseProblem):
        back_up_file(tmp_path / "none.db", tmp_path / "copy.db")
    with pytest.raises(DatabaseProblem, match="no backup"):
        restore_file(tmp_path / "none.db", tmp_path / "live.db")
    assert list(tmp_path.iterdir()) == []
