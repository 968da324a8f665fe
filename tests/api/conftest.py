"""A client of the whole application that the tests of the API share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.settings import Settings

AS_OF = "2026-11-30"


@pytest.fixture(scope="package")
def api(seeded_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The application over a private copy of the seeded database; texts in English unless asked."""
    from app.main import create_app

    path = tmp_path_factory.mktemp("api") / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    settings = Settings(
        database_url=f"sqlite:///{path}",
        calculations_per_minute=100_000,
        comparisons_per_hour=1_000,
        comparisons_per_day=1_000,
    )
    with TestClient(create_app(settings), headers={"accept-language": "en"}) as started:
        yield started
