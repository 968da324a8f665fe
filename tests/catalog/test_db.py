"""Connections, the revision check and what is said when a database cannot be used."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from app.catalog import db
from app.catalog.db import (
    check_revision,
    create_engine_from_url,
    is_empty,
    reading,
    session,
    transaction,
    upgrade,
)
from app.catalog.problems import DatabaseProblem
from app.catalog.tables import SourceRow


def test_every_connection_has_the_settings(engine: Engine) -> None:
    with engine.connect() as first, engine.connect() as second:
        for connection in (first, second):
            read = {
                name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys")
            }
            assert read == {"journal_mode": "wal", "synchronous": 1, "busy_timeout": 5000, "foreign_keys": 1}


def test_foreign_keys_hold(engine: Engine) -> None:
    with pytest.raises(Exception, match="FOREIGN KEY"), transaction(engine) as connection:
        connection.execute(
            text("INSERT INTO gpu_figure SELECT 'a','no','x',1,'','exact','no','','','',1,NULL")
        )


def test_writes_begin_immediately_and_reads_do_not(engine: Engine) -> None:
    path = db.sqlite_path(engine.url)
    assert path is not None
    with closing(sqlite3.connect(path, timeout=0)) as other:
        with transaction(engine), pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        with reading(engine) as connection:
            connection.execute(text("SELECT 1 FROM source")).all()
            other.execute("BEGIN IMMEDIATE")
            other.rollback()


def test_a_session_writes_all_or_nothing(engine: Engine) -> None:
    with session(engine, write=True) as active:
        active.add(SourceRow(id="a", title="A"))
    with pytest.raises(RuntimeError), session(engine, write=True) as active:
        active.add(SourceRow(id="b", title="B"))
        active.flush()
        raise RuntimeError
    with session(engine) as active:
        assert active.get(SourceRow, "a") is not None
        assert active.get(SourceRow, "b") is None


def problem(engine: Engine) -> DatabaseProblem:
    with pytest.raises(DatabaseProblem) as caught:
        check_revision(engine)
    assert caught.value.exit_code == 3
    assert caught.value.sentence.endswith((".", ")."))
    return caught.value


def test_a_good_database_passes(engine: Engine) -> None:
    check_revision(engine)
    assert not is_empty(engine)


def test_a_missing_database_is_not_created_by_looking(tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    engine = create_engine_from_url(f"sqlite:///{path}")
    assert is_empty(engine)
    found = problem(engine)
    assert (found.kind, found.command) == ("missing", "cardworth migrate && cardworth seed")
    with pytest.raises(DatabaseProblem), reading(engine):
        pass
    assert not path.exists()


def test_an_empty_file_is_missing_too(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    engine = create_engine_from_url(f"sqlite:///{path}")
    assert is_empty(engine)
    assert problem(engine).kind == "missing"


def set_revision(engine: Engine, revision: str) -> None:
    with transaction(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :r"), {"r": revision})


def test_a_newer_database_is_refused_and_not_migrated(engine: Engine) -> None:
    set_revision(engine, "20991231_future")
    assert problem(engine).kind == "newer"
    with pytest.raises(DatabaseProblem) as caught:
        upgrade(engine)
    assert caught.value.kind == "newer"


def test_an_older_database_names_the_command(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    from alembic.script import ScriptDirectory

    monkeypatch.setattr(ScriptDirectory, "get_current_head", lambda _self: "20991231_future")
    found = problem(engine)
    assert (found.kind, found.command) == ("older", "cardworth migrate")


def test_a_locked_database(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    path = db.sqlite_path(engine.url)
    assert path is not None
    monkeypatch.setattr(db, "BUSY_TIMEOUT_MS", 50)
    monkeypatch.setitem(db.PRAGMAS, "busy_timeout", "50")
    impatient = create_engine_from_url(engine.url)
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        found = problem(impatient)
        assert found.kind == "locked" and found.transient
        with pytest.raises(DatabaseProblem), session(impatient, write=True) as active:
            active.add(SourceRow(id="a", title="A"))
            active.flush()
    check_revision(impatient)


def test_a_read_only_database(engine: Engine) -> None:
    path = db.sqlite_path(engine.url)
    engine.dispose()
    found = problem(create_engine_from_url(f"sqlite:///file:{path}?mode=ro&uri=true"))
    assert found.kind == "read_only"


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "letter.db"
    path.write_text("Dear reader, " * 500)
    assert problem(create_engine_from_url(f"sqlite:///{path}")).kind == "damaged"


def test_a_server_that_is_not_there() -> None:
    engine = create_engine_from_url("postgresql+psycopg://nobody@127.0.0.1:1/none")
    found = problem(engine)
    assert found.kind == "unreachable" and found.transient


@pytest.mark.parametrize("url", ["mysql://x/y", "nonsense", ""])
def test_other_addresses_are_refused_in_a_sentence(url: str) -> None:
    with pytest.raises(DatabaseProblem, match="sqlite:///file"):
        create_engine_from_url(url)


def test_two_starting_servers_may_migrate_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'both.db'}"
    failures: list[BaseException] = []

    def run() -> None:
        try:
            upgrade(url)
        except BaseException as error:  # noqa: BLE001 - handed to the main thread
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    check_revision(create_engine_from_url(url))
