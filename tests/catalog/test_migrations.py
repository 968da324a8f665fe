"""Migrations on both databases: from empty to head and back, and no difference from the tables."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Engine, inspect, text
from sqlmodel import SQLModel

from app.catalog import db
from app.catalog.db import check_revision, create_engine_from_url, downgrade, upgrade
from app.catalog.seed import load_seed
from app.catalog.snapshot_load import load_snapshot


def up_and_down(url: str) -> None:
    engine = create_engine_from_url(url)
    assert upgrade(engine) is None
    check_revision(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, SQLModel.metadata) == []
        nameless = [
            (table, key)
            for table in inspect(connection).get_table_names()
            for key in (
                inspect(connection).get_pk_constraint(table),
                *inspect(connection).get_foreign_keys(table),
            )
            if table != "alembic_version" and not key["name"]
        ]
    assert nameless == []
    downgrade(engine, "base")
    with engine.connect() as connection:
        assert inspect(connection).get_table_names() == ["alembic_version"]
    upgrade(engine)
    check_revision(engine)
    engine.dispose()


def test_sqlite(tmp_path: Path) -> None:
    up_and_down(f"sqlite:///{tmp_path / 'migrated.db'}")


def test_postgresql(postgres_url: str) -> None:
    up_and_down(postgres_url)


def test_postgresql_holds_the_same_data(postgres_url: str, seeded: Engine, tmp_path: Path) -> None:
    engine = create_engine_from_url(postgres_url)
    upgrade(engine)
    first = load_seed(engine, tmp_path / "seed")
    again = load_seed(engine, tmp_path / "seed")
    assert first.inserted > 0 and (again.inserted, again.updated) == (0, 0)
    there, here = load_snapshot(engine), load_snapshot(seeded)
    engine.dispose()
    assert there.version == here.version
    assert there.gpus == here.gpus


def test_a_used_file_is_backed_up_before_it_is_changed(
    seeded: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = db.sqlite_path(seeded.url)
    assert path is not None
    # As if this version of the program came with a further revision.
    monkeypatch.setattr(db, "head_revision", lambda: "20991231_future")
    saved = upgrade(seeded)
    assert saved is not None and saved.parent == path.parent
    with closing(sqlite3.connect(saved)) as copy:
        assert copy.execute("SELECT count(*) FROM gpu").fetchone() == (2,)
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_current_or_unused_file_is_not_backed_up(engine: Engine, seeded: Engine) -> None:
    path = db.sqlite_path(engine.url)
    assert path is not None
    assert upgrade(seeded) is None
    assert list(path.parent.glob("*.bak")) == []


def test_a_migration_that_fails_leaves_nothing_half_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from alembic import op

    url = f"sqlite:///{tmp_path / 'half.db'}"
    original = op.create_table

    def create_table(name: str, *columns: object, **options: object) -> object:
        if name == "price":
            raise RuntimeError("the power went")
        return original(name, *columns, **options)

    monkeypatch.setattr(op, "create_table", create_table)
    with pytest.raises(RuntimeError, match="the power went"):
        upgrade(url)
    monkeypatch.undo()
    engine = create_engine_from_url(url)
    with engine.connect() as connection:
        assert inspect(connection).get_table_names() == []
    upgrade(engine)
    check_revision(engine)
    with engine.connect() as connection:
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
    engine.dispose()
