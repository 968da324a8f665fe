"""The open database and catalogue of a running instance, and why they are not open when they are not."""

from __future__ import annotations

import gc
import logging
from datetime import UTC, datetime
from functools import partial
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING

from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import State

from app.catalog.problems import DatabaseProblem
from app.error_handlers import database_fault
from app.errors import AppError
from app.settings import Settings
from app.texts.marking import N_

if TYPE_CHECKING:
    from app.catalog.snapshot import Snapshot
    from app.services.access import Editor
    from app.services.speed_reports import SpeedReports

logger = logging.getLogger("app.runtime")

RETRY_SECONDS = 1.0
WARMING = N_("The first answers are being prepared.")


class Runtime:
    """Opens the database once; while that fails, tries again at most once a second when asked for.

    What is open is also put on the application's state as `engine`, `store` and `speed_reports` (None until
    then). When `serving`, they are begun at each new state of the data, not at their first use.
    """

    def __init__(self, settings: Settings, state: State, serving: bool = False) -> None:
        self.settings = settings
        self._serving = serving
        self._warm = Event()
        self.state = state
        self.fault: AppError | None = None
        self._lock = Lock()
        self._tried_at = float("-inf")
        state.engine = None
        state.store = None
        state.speed_reports = None

    @property
    def is_open(self) -> bool:
        """Whether requests can be answered from the catalogue."""
        return self.state.store is not None

    def open(self) -> bool:
        """Open the database, check its revision and load the snapshot; say whether that worked."""
        with self._lock:
            if self.is_open or monotonic() - self._tried_at < RETRY_SECONDS:
                return self.is_open
            try:
                self._open()
                self.fault = None
            except Exception as error:
                self.fault = startup_fault(error)
                if self.fault.type == "not-ready":
                    logger.error("not ready: %s", self.fault.detail, exc_info=not _is_ours(error))
            self._tried_at = monotonic()
            return self.is_open

    def _open(self) -> None:
        from app.catalog.db import check_revision, create_engine_from_url
        from app.services.speed_reports import SpeedReports
        from app.services.store import CatalogStore

        engine: Engine = create_engine_from_url(self.settings.database_url)
        try:
            check_revision(engine)
            reports = SpeedReports(engine)
            store = CatalogStore(
                engine,
                changed=partial(settle, reports) if self._serving else None,
                aside=self._serving,
            )
            snapshot = store.snapshot()
            if self._serving:
                Thread(target=_warm, args=(snapshot, self._warm), daemon=True, name="warming").start()
        except Exception:
            engine.dispose()
            raise
        self.state.engine = engine
        self.state.speed_reports = reports
        self.state.store = store

    def check(self) -> dict[str, str]:
        """State of the parts for /readyz; raises the AppError that says what is wrong."""
        from app.catalog.db import check_revision

        if not self.open():
            raise self.fault or startup_fault(RuntimeError("not opened"))
        try:
            with self.state.engine.connect() as connection:
                connection.execute(text("SELECT 1"))
            check_revision(self.state.engine)
            version = str(self.state.store.snapshot().version)
        except Exception as error:
            raise startup_fault(error) from error
        if self._serving and not self._warm.is_set():
            raise AppError(503, "not-ready", "Cardworth is not ready", WARMING, headers={"retry-after": "2"})
        return {"status": "ready", "database": "ok", "revision": "ok", "catalog": version}

    def catalog_version(self) -> str:
        """Version of the loaded catalogue; empty while there is none or the database does not answer."""
        try:
            return str(self.state.store.snapshot().version) if self.is_open else ""
        except (DatabaseProblem, SQLAlchemyError):
            return ""

    def editor_of(self, token: str) -> Editor | None:
        """The editor that a browser's token stands for; raises the AppError of a database that fails."""
        from app.services.access import editor_of_session, lifetime_of

        try:
            return editor_of_session(self.state.engine, token, lifetime_of(self.settings))
        except (DatabaseProblem, SQLAlchemyError) as error:
            raise startup_fault(error) from error

    def may_read(self, secret: str) -> bool:
        """Whether an API key opens the pages too; raises the AppError of a database that fails."""
        from app.services.access import allows

        try:
            return allows(self.state.engine, secret, "read")
        except (DatabaseProblem, SQLAlchemyError) as error:
            raise startup_fault(error) from error

    def close(self) -> None:
        """Give the database connections back."""
        reports, self.state.speed_reports = self.state.speed_reports, None
        if reports is not None:
            reports.close()
        engine, self.state.engine, self.state.store = self.state.engine, None, None
        self._tried_at = float("-inf")
        if engine is not None:
            engine.dispose()


def _warm(snapshot: Snapshot, done: Event) -> None:
    """Before the instance calls itself ready: no question pays for what all of them share."""
    from app.services.warming import warm

    try:
        warm(snapshot, datetime.now(UTC).date())
    except Exception:
        # Whoever asks is told what is wrong; the catalogue itself can be read.
        logger.exception("a first question could not be answered")
    finally:
        done.set()


def settle(reports: SpeedReports, snapshot: Snapshot) -> None:
    """What follows a new state of the data, aside: nobody waits for it.

    An answer makes thousands of small objects, each thousand of which would have the garbage collector walk
    over the hundred thousand of the catalogue: it is set aside, and still freed when nothing refers to it.
    """

    def follow() -> None:
        gc.collect()
        gc.freeze()
        reports.warm(snapshot)

    Thread(target=follow, daemon=True, name="settling").start()


def _is_ours(error: Exception) -> bool:
    """Whether the exception is one of the application's own, whose text is a sentence for the operator."""
    return type(error).__module__.partition(".")[0] == "app"


def startup_fault(error: Exception) -> AppError:
    """The 503 for whatever keeps the catalogue from being opened."""
    if isinstance(error, AppError):
        return error
    if (fault := database_fault(error)) is not None:
        return fault
    detail = str(error) if _is_ours(error) else N_("The catalogue could not be loaded; the log says why.")
    return AppError(503, "not-ready", "Cardworth is not ready", detail, headers={"retry-after": "30"})
