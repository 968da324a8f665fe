"""Backup and restore of a SQLite database: checked copies that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from app.catalog.problems import DatabaseProblem, problem_of


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished copy."""

    path: Path
    size_bytes: int


def back_up_file(database: Path, target: Path, replace: bool = False) -> Backup:
    """Copy a database that may be in use, check the copy, and only then give it its name.

    Parameters
    ----------
    database: the SQLite file.
    target: name of the copy. replace: whether a file of that name may go.

    Errors
    ------
    DatabaseProblem when the database is missing, locked or damaged, the disk is full, or the name is taken.
    """
    if not database.exists():
        raise DatabaseProblem.missing()
    if target.exists() and (not replace or target.samefile(database)):
        # Replacing the live file under a running server would leave it writing to a file without a name.
        raise DatabaseProblem("target_exists", f"{target.name} is there already; name another file.")
    if not target.parent.is_dir():
        raise DatabaseProblem("target_folder", f"There is no folder {target.parent.name} to write to.")
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    partial.unlink(missing_ok=True)
    try:
        with closing(_open(database)) as connection:
            connection.execute("VACUUM INTO ?", (str(partial),))
        check_copy(partial)
        with partial.open("rb+") as written:
            os.fsync(written.fileno())
        partial.replace(target)
        _sync_folder(target.parent)
    except sqlite3.Error as error:
        raise _why_not_copied(database, target, error) from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DatabaseProblem.full() from error
    finally:
        partial.unlink(missing_ok=True)
    return Backup(target, target.stat().st_size)


def _why_not_copied(database: Path, target: Path, error: sqlite3.Error) -> DatabaseProblem:
    """What keeps a database from being copied; SQLite says of a damaged one that it cannot be opened."""
    problem = problem_of(error) or DatabaseProblem.damaged(str(error))
    if problem.kind != "unreachable":
        return problem
    try:
        check_copy(database)
    except DatabaseProblem as found:
        return found
    return DatabaseProblem(
        "target_folder",
        f"{target.name} cannot be written; name a file in a folder that this user may write to.",
    )


def check_backup(source: Path) -> None:
    """Refuse a file that is no whole backup of ours; nothing is changed.

    Errors
    ------
    DatabaseProblem when the backup is missing, damaged or none of ours.
    """
    if not source.exists():
        raise DatabaseProblem("missing", f"There is no backup {source.name}.")
    try:
        check_copy(source)
    except DatabaseProblem as unusable:
        if unusable.kind not in ("damaged", "unreachable"):
            raise
        raise DatabaseProblem.no_backup(source.name, "SQLite cannot read it") from unusable
    with closing(_open(source)) as backup:
        try:
            backup.execute("SELECT version_num FROM alembic_version").fetchone()
        except sqlite3.OperationalError as error:
            raise DatabaseProblem.no_backup(source.name, "it holds no tables of ours") from error


def restore_file(source: Path, database: Path) -> Backup | None:
    """Put a backup in the place of the database; what was there is backed up beside it first.

    Each restore keeps a copy of its own, named after the moment: none is ever overwritten.

    Returns
    -------
    The copy of the previous database, None when there was none.

    Errors
    ------
    DatabaseProblem when the backup is missing, damaged or none of ours, or the database is in use.
    """
    check_backup(source)
    previous = None
    if database.exists() and database.stat().st_size:
        previous = _keep_previous(database)
    try:
        # SQLite's own copy is one transaction: a reader sees the old or the new database, never a mixture.
        with closing(_open(source)) as backup, closing(sqlite3.connect(database, timeout=5)) as live:
            # Copying gives up at once on a lock; asking for it first waits the usual five seconds.
            live.execute("BEGIN IMMEDIATE")
            live.rollback()
            backup.backup(live)
            live.execute("PRAGMA journal_mode=WAL")
    except sqlite3.Error as error:
        problem = problem_of(error)
        if problem is None:
            raise
        raise problem from error
    check_copy(database)
    return previous


def _keep_previous(database: Path) -> Backup:
    """A copy of the database about to be replaced; one that cannot be read is set aside as it is."""
    kept = free_name(database, "before-restore")
    try:
        return back_up_file(database, kept)
    except DatabaseProblem as problem:
        if problem.transient:
            raise
    for suffix in ("-wal", "-shm", ""):
        part = database.with_name(database.name + suffix)
        if part.exists():
            part.replace(kept.with_name(kept.name + suffix))
    return Backup(kept, kept.stat().st_size)


def catalog_of(source: Path) -> str:
    """Version of the catalogue in a backup; empty where it holds no data yet."""
    with closing(_open(source)) as backup:
        found = backup.execute("SELECT version FROM catalog_version ORDER BY id DESC LIMIT 1").fetchone()
    return str(found[0]) if found else ""


def free_name(database: Path, reason: str) -> Path:
    """A name for a copy beside a database that no file has: with the moment, to the microsecond."""
    while True:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        found = database.with_name(f"{database.name}.{reason}-{stamp}.bak")
        if not found.exists():
            return found


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=5)


def check_copy(path: Path) -> None:
    """Refuse a file that is no whole SQLite database: DatabaseProblem of kind damaged."""
    try:
        with closing(_open(path)) as connection:
            answer = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except UnicodeDecodeError as error:
        raise DatabaseProblem.damaged("its texts cannot be read") from error
    except sqlite3.DatabaseError as error:
        raise problem_of(error) or DatabaseProblem.damaged(str(error)) from error
    if answer != "ok":
        raise DatabaseProblem.damaged(str(answer))


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
