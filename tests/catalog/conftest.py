"""A migrated database, empty or with the sample seed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.catalog.db import create_engine_from_url, upgrade
from app.catalog.seed import load_seed
from app.catalog.snapshot import Snapshot
from app.catalog.snapshot_load import load_snapshot
from tests.catalog.samples import write_seed


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """A migrated, empty SQLite database."""
    made = create_engine_from_url(f"sqlite:///{tmp_path / 'catalog.db'}")
    upgrade(made)
    yield made
    made.dispose()


@pytest.fixture
def seeded(engine: Engine, tmp_path: Path) -> Engine:
    """The same with the sample seed."""
    load_seed(engine, write_seed(tmp_path / "seed"))
    return engine


@pytest.fixture(scope="session")
def shipped_snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """What ships, loaded once."""
    made = create_engine_from_url(f"sqlite:///{tmp_path_factory.mktemp('shipped') / 'catalog.db'}")
    upgrade(made)
    load_seed(made)
    snapshot = load_snapshot(made)
    made.dispose()
    return snapshot
