"""Engines, sessions, the revision check and migrations; every database trouble becomes one sentence."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.pool import StaticPool
from sqlmodel import Session

from app.catalog.backup import back_up_file, free_name
from app.catalog.problems import UNREADABLE, DatabaseProblem, problem_of
from app.resources import resource_path

BUSY_TIMEOUT_MS = 5000
POOL_SIZE = 40
MAX_TURN_SECONDS = 30.0
_WRITE = "cardworth_write"
_TURN = "cardworth_turn"
_TOLD = "cardworth_told"
# Any number will do, as long as every process that migrates takes the same one.
_MIGRATION_LOCK = 42_073_001
PRAGMAS = {
    "journal_mode": "WAL",
    "synchronous": "NORMAL",
    "busy_timeout": str(BUSY_TIMEOUT_MS),
    "foreign_keys": "ON",
}


def utc_now() -> datetime:
    """Now, in UTC."""
    return datetime.now(UTC)


def create_engine_from_url(url: str | URL) -> Engine:
    """An engine for SQLite (WAL, immediate writes) or PostgreSQL.

    Errors
    ------
    DatabaseProblem when the address is not one of these two.
    """
    try:
        address = make_url(url)
    except ArgumentError as error:
        raise DatabaseProblem.unsupported(str(url).split(":", 1)[0]) from error
    if address.get_backend_name() == "sqlite":
        return _sqlite_engine(address)
    if address.get_backend_name() == "postgresql":
        try:
            return create_engine(address, pool_pre_ping=True)
        except (NoSuchModuleError, ModuleNotFoundError) as error:
            raise DatabaseProblem.driver_missing() from error
    raise DatabaseProblem.unsupported(address.get_backend_name())


def _sqlite_engine(address: URL) -> Engine:
    options: dict[str, Any] = {"connect_args": {"check_same_thread": False}}
    if sqlite_path(address) is None:
        options["poolclass"] = StaticPool
    else:
        # A connection for each thread that a server has: none waits for another's.
        options |= {"pool_size": POOL_SIZE, "max_overflow": POOL_SIZE}
    engine = create_engine(address, **options)
    engine.update_execution_options(**{_TURN: Lock()})

    @event.listens_for(engine, "connect")
    def _on_connect(connection: sqlite3.Connection, _record: object) -> None:
        # The driver's own BEGIN is always deferred; ours is sent by the begin listener below.
        connection.isolation_level = None
        # First, so that the other settings wait for a lock too.
        connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
        for name, value in PRAGMAS.items():
            connection.execute(f"PRAGMA {name}={value}")

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:
        write = connection.get_execution_options().get(_WRITE, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def sqlite_path(url: str | URL) -> Path | None:
    """File of a SQLite address; None in memory and on other databases."""
    address = make_url(url)
    name = address.database
    if address.get_backend_name() != "sqlite" or not name or name == ":memory:":
        return None
    if name.startswith("file:"):
        name = name.removeprefix("file:").split("?", 1)[0]
        return None if name == ":memory:" or "mode=memory" in str(address) else Path(name)
    return Path(name)


def after_writes(engine: Engine, told: Callable[[], None]) -> None:
    """Have `told` called in the thread of each write of this engine, after it and before its asker goes on.

    Only that of the last caller: an engine belongs to one running instance.
    """
    engine.update_execution_options(**{_TOLD: told})


@contextmanager
def _one_writer(engine: Engine) -> Iterator[None]:
    """The turn of one write: those of this process stand in line here, not at the lock of the file.

    There each waits on its own and gives up after five seconds, however often others come first.

    Errors
    ------
    DatabaseProblem of kind locked when its turn does not come.
    """
    turn: Lock | None = engine.get_execution_options().get(_TURN)
    if turn is None:
        yield
        return
    if not turn.acquire(timeout=MAX_TURN_SECONDS):
        raise DatabaseProblem.locked()
    try:
        yield
    finally:
        turn.release()


def _tell(engine: Engine) -> None:
    told = engine.get_execution_options().get(_TOLD)
    if told is not None:
        told()


def writing(engine: Engine) -> Engine:
    """The same engine whose transactions take the write lock at their start: no upgrade can deadlock."""
    return engine.execution_options(**{_WRITE: True})


@contextmanager
def session(engine: Engine, *, write: bool = False) -> Iterator[Session]:
    """A session; with `write` it is one immediate transaction, committed at the end or rolled back whole.

    Errors
    ------
    DatabaseProblem for a locked, read-only, full, damaged or unreachable database.
    """
    try:
        with (
            _one_writer(engine) if write else nullcontext(),
            Session(writing(engine) if write else engine, expire_on_commit=False) as active,
        ):
            yield active
            if write:
                active.commit()
    except (DBAPIError, *UNREADABLE) as error:
        problem = problem_of(error)
        if problem is None:
            raise
        raise problem from error
    if write:
        _tell(engine)


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """One immediate write transaction without the ORM, for bulk work.

    Errors
    ------
    DatabaseProblem as in `session`.
    """
    try:
        with _one_writer(engine), writing(engine).begin() as connection:
            yield connection
    except (DBAPIError, *UNREADABLE) as error:
        problem = problem_of(error)
        if problem is None:
            raise
        raise problem from error
    _tell(engine)


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection for reading one consistent state.

    Errors
    ------
    DatabaseProblem as in `session`; kind missing when the tables are not there.
    """
    path = sqlite_path(engine.url)
    if path is not None and not path.exists():
        # Connecting would create the file.
        raise DatabaseProblem.missing()
    try:
        with engine.connect() as connection:
            if engine.dialect.name == "postgresql":
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection
    except (DBAPIError, *UNREADABLE) as error:
        problem = problem_of(error)
        if problem is None:
            raise
        raise problem from error


def alembic_config(connection: Connection | None = None) -> Config:
    """Alembic's configuration for the migrations that came with this installation."""
    config = Config()
    # Alembic interpolates; a percent sign in a folder's name must survive.
    config.set_main_option("script_location", str(resource_path("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def head_revision() -> str:
    """Revision that this version of the program works with."""
    head = ScriptDirectory.from_config(alembic_config()).get_current_head()
    if head is None:
        raise RuntimeError("the migrations folder holds no revision")
    return head


def current_revision(connection: Connection) -> str | None:
    """Revision of a database; None before the first migration."""
    return MigrationContext.configure(connection).get_current_revision()


def is_empty(engine: Engine) -> bool:
    """Whether the database does not exist yet or holds no table."""
    path = sqlite_path(engine.url)
    if path is not None and (not path.exists() or path.stat().st_size == 0):
        return True
    with _classified(), engine.connect() as connection:
        return not inspect(connection).get_table_names()


def check_revision(engine: Engine) -> None:
    """Refuse a database that this version cannot work with, before the first request.

    Errors
    ------
    DatabaseProblem of kind missing, older, newer, locked, read_only, full, damaged or unreachable.
    """
    path = sqlite_path(engine.url)
    if path is not None and not path.exists():
        # Connecting would create the file.
        raise DatabaseProblem.missing()
    with _classified(), _one_writer(engine), writing(engine).connect() as connection:
        current = current_revision(connection)
        if current is not None:
            # Changes nothing, but only a database that can be written lets it pass.
            connection.execute(text("UPDATE alembic_version SET version_num = version_num WHERE 1 = 0"))
        connection.rollback()
    if current is None:
        raise DatabaseProblem.missing()
    script = ScriptDirectory.from_config(alembic_config())
    if current == script.get_current_head():
        return
    known = {revision.revision for revision in script.walk_revisions()}
    raise DatabaseProblem.older() if current in known else DatabaseProblem.newer()


def upgrade(target: Engine | str, revision: str = "head") -> Path | None:
    """Bring the database to a revision, in one transaction; a used SQLite file is backed up first.

    Returns
    -------
    The backup, or None where none was needed.

    Errors
    ------
    DatabaseProblem when the database is newer, locked, read-only, full, damaged or unreachable.
    """
    engine = create_engine_from_url(target) if isinstance(target, str) else target
    try:
        saved = _backup_before_change(engine) if revision == "head" else None
        _run(engine, revision, down=False)
        return saved
    finally:
        if isinstance(target, str):
            engine.dispose()


def downgrade(engine: Engine, revision: str) -> None:
    """Take the database back to an earlier revision, `base` for none.

    Errors
    ------
    DatabaseProblem as in `upgrade`.
    """
    _run(engine, revision, down=True)


def _run(engine: Engine, revision: str, *, down: bool) -> None:
    sqlite = engine.dialect.name == "sqlite"
    with _classified(), writing(engine).connect() as connection:
        if sqlite:
            # Batch operations rebuild a table; with the check on, dropping the old one would fail or cascade.
            _pragma(connection, "foreign_keys", "OFF")
            # A server that starts beside another waits for its migration, however slow the machine is.
            _pragma(connection, "busy_timeout", "60000")
        try:
            with connection.begin():
                if not sqlite:
                    lock = text("SELECT pg_advisory_xact_lock(:key)")
                    connection.execute(lock, {"key": _MIGRATION_LOCK})
                known = {r.revision for r in ScriptDirectory.from_config(alembic_config()).walk_revisions()}
                current = current_revision(connection)
                if current is not None and current not in known:
                    raise DatabaseProblem.newer()
                config = alembic_config(connection)
                (command.downgrade if down else command.upgrade)(config, revision)
                if sqlite and (broken := connection.exec_driver_sql("PRAGMA foreign_key_check").first()):
                    raise DatabaseProblem.damaged(f"table {broken[0]} points at a row that is not there")
        finally:
            if sqlite:
                _pragma(connection, "foreign_keys", "ON")
                _pragma(connection, "busy_timeout", str(BUSY_TIMEOUT_MS))


def _pragma(connection: Connection, name: str, value: str) -> None:
    # Past SQLAlchemy, which would begin a transaction: inside one foreign_keys is ignored.
    cursor = connection.connection.cursor()
    cursor.execute(f"PRAGMA {name}={value}")
    cursor.close()


def _backup_before_change(engine: Engine) -> Path | None:
    path = sqlite_path(engine.url)
    if path is None or not path.exists():
        return None
    with _classified(), engine.connect() as connection:
        if current_revision(connection) == head_revision() or not _has_rows(connection):
            return None
        current = current_revision(connection) or "unversioned"
    saved = free_name(path, f"before-{current}")
    back_up_file(path, saved)
    return saved


def _has_rows(connection: Connection) -> bool:
    tables = [t for t in inspect(connection).get_table_names() if t != "alembic_version"]
    quote = connection.dialect.identifier_preparer.quote
    return any(connection.exec_driver_sql(f"SELECT 1 FROM {quote(t)} LIMIT 1").first() for t in tables)


@contextmanager
def _classified() -> Iterator[None]:
    try:
        yield
    except (DBAPIError, sqlite3.Error, *UNREADABLE) as error:
        problem = problem_of(error)
        if problem is None:
            raise
        raise problem from error
