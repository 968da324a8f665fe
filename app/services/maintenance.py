"""Setting a database up and looking it over: what the command line and the server's start share."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.engine import make_url

from app import __version__
from app.catalog.backup import (
    Backup,
    back_up_file,
    catalog_of,
    check_backup,
    check_copy,
    restore_file,
)
from app.catalog.db import check_revision, create_engine_from_url, is_empty, sqlite_path, upgrade
from app.catalog.problems import DatabaseProblem, SeedFault, problem_of
from app.catalog.seed import SeedReport, load_seed
from app.catalog.snapshot import Snapshot
from app.catalog.versions import VersionCheck
from app.services.store import CatalogStore

__all__ = [
    "DatabaseProblem",
    "SeedFault",
    "SeedReport",
    "back_up",
    "database",
    "look_over",
    "migrate",
    "open_catalogue",
    "open_database",
    "prepare",
    "restore",
    "seed",
]


@contextmanager
def database(url: str) -> Iterator[Engine]:
    """An engine for the time of one command; DatabaseProblem when the address is of no kind that we know."""
    engine = create_engine_from_url(url)
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def open_database(url: str) -> Iterator[Engine]:
    """An engine over a database that must be of this version; DatabaseProblem otherwise."""
    with database(url) as engine:
        check_revision(engine)
        yield engine


@contextmanager
def open_catalogue(url: str) -> Iterator[Snapshot]:
    """The catalogue of a database that must be of this version; DatabaseProblem otherwise."""
    with open_database(url) as engine:
        yield CatalogStore(engine).snapshot()


def migrate(url: str) -> str:
    """Bring a database to this version; the path of the backup made before, empty when none was needed."""
    saved = upgrade(url)
    return str(saved) if saved else ""


def seed(url: str) -> SeedReport:
    """Load the data of this version; DatabaseProblem or SeedFault, and nothing is written then."""
    with open_database(url) as engine:
        return load_seed(engine)


def back_up(url: str, target: Path, replace: bool = False) -> Backup:
    """A checked copy of a database that may be in use; DatabaseProblem when it is none of a file."""
    return back_up_file(_file_of(url), target, replace)


def restore(url: str, source: Path) -> Backup | None:
    """Put a copy in the place of the database; what was there is kept beside it and returned."""
    return restore_file(source, _file_of(url))


def look_at_backup(source: Path) -> dict[str, Any]:
    """What a backup holds, looked at and not changed; DatabaseProblem when it is no whole one of ours."""
    check_backup(source)
    return {"file": str(source), "catalog": catalog_of(source), "size_bytes": source.stat().st_size}


def problem_behind(error: Exception) -> DatabaseProblem:
    """The problem that an error of the database stands for; raises what is a fault of the program."""
    if isinstance(error, DatabaseProblem):
        return error
    original = getattr(error, "orig", None) or error
    found = problem_of(error)
    if found is None and type(original) in (sqlite3.OperationalError, sqlite3.DatabaseError):
        found = DatabaseProblem.damaged(str(original).splitlines()[0][:200])
    if found is None:
        raise error
    return found


def _file_of(url: str) -> Path:
    path = sqlite_path(url)
    if path is None:
        raise DatabaseProblem("unsupported", "Only a SQLite file is copied here; use the server's own tools.")
    return path


def prepare(url: str, auto_seed: bool) -> None:
    """Set up an empty database; refuse one of another version before the first request.

    Errors
    ------
    DatabaseProblem, whose text names the command to run; SeedFault when the shipped data are at fault.
    """
    with database(url) as engine:
        if auto_seed and is_empty(engine):
            upgrade(engine)
        check_revision(engine)
        # Migrating alone leaves tables without data. The catalogue itself is read once, by the server.
        if VersionCheck(engine).digest() is None:
            if not auto_seed:
                raise DatabaseProblem.unseeded()
            load_seed(engine)


def look_over(url: str, today: date) -> dict[str, Any]:
    """Versions, sizes and price coverage of an instance; DatabaseProblem when it cannot be used."""
    path = sqlite_path(url)
    if path is not None and path.exists():
        check_copy(path)
    with open_catalogue(url) as snapshot:
        coverage = list(snapshot.price_coverage(today).values())
        return {
            "engine": __version__,
            "database_url": make_url(url).render_as_string(hide_password=True),
            "catalog": snapshot.version,
            "cards": len(snapshot.gpus),
            "models": len(snapshot.models),
            "benchmarks": len(snapshot.benchmarks),
            "prices": {kind: coverage.count(kind) for kind in sorted(set(coverage))},
        }
