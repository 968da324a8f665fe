"""The catalogue in memory: one version check per call, read again only when the data has changed."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from sqlalchemy import Engine

from app.catalog.problems import DatabaseProblem
from app.catalog.snapshot import Snapshot
from app.catalog.snapshot_load import load_snapshot
from app.catalog.versions import VersionCheck


class CatalogStore:
    """Hands out the current snapshot. One per application, shared between threads.

    `changed` is told of each one that is read; it must not wait.
    """

    def __init__(self, engine: Engine, changed: Callable[[Snapshot], None] | None = None) -> None:
        self.engine = engine
        self._changed = changed
        self._version = VersionCheck(engine)
        self._lock = Lock()
        self._snapshot: Snapshot | None = None

    def snapshot(self) -> Snapshot:
        """The catalogue as it is now; one SELECT when nothing has changed.

        Errors
        ------
        DatabaseProblem when the database cannot be read or nothing has been seeded.
        """
        digest = self._version.digest()
        if digest is None:
            raise DatabaseProblem.unseeded()
        kept = self._snapshot
        if kept is not None and kept.digest == digest:
            return kept
        # One thread reads; the others wait for its result and do not read it a second time.
        with self._lock:
            kept = self._snapshot
            if kept is None or kept.digest != digest:
                kept = self._snapshot = load_snapshot(self.engine)
                if self._changed is not None:
                    self._changed(kept)
            return kept
