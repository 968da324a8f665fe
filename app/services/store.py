"""The catalogue in memory, as it is stored and as calculations need it; read again when the data change."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from threading import Lock, Thread

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from app.caching import Cache
from app.catalog.db import after_writes
from app.catalog.problems import DatabaseProblem
from app.catalog.records import Availability, governing_first, remarks_for
from app.catalog.snapshot import Snapshot
from app.catalog.snapshot_load import load_snapshot
from app.catalog.versions import VersionCheck
from app.core.gpu_table import GpuTable
from app.core.question import REGIONS
from app.core.speed import BenchmarkIndex

logger = logging.getLogger("app.catalog")


class CatalogStore:
    """Hands out the current snapshot. One per application, shared between threads.

    Each version is read once: while one thread reads it, the others are served from the one before. A write
    of this process reads what it wrote before it is over, so that who wrote sees it.

    Parameters
    ----------
    changed: is told of each snapshot that is read; it must not wait.
    aside: whether a change that another process made is read by a thread of its own; else by who notices it.
    """

    def __init__(
        self,
        engine: Engine,
        changed: Callable[[Snapshot], None] | None = None,
        aside: bool = False,
    ) -> None:
        self.engine = engine
        self._changed = changed
        self._aside = aside
        self._version = VersionCheck(engine)
        self._lock = Lock()
        self._snapshot: Snapshot | None = None
        after_writes(engine, self.catch_up)

    def snapshot(self) -> Snapshot:
        """The catalogue as it is now, or as it was while its change is being read; one SELECT.

        Errors
        ------
        DatabaseProblem when the database cannot be read or nothing has been seeded.
        """
        digest = self._digest()
        kept = self._snapshot
        if kept is None:
            return self._read()
        if kept.digest == digest or self._lock.locked():
            return kept
        if self._aside:
            Thread(target=self._read_aside, daemon=True, name="reading").start()
            return kept
        return self._read()

    def catch_up(self) -> None:
        """Read what has been written, if nobody has yet. Nothing is raised: the next asker is told."""
        if self._snapshot is not None:
            self._read_aside()

    def _digest(self) -> str:
        digest = self._version.digest()
        if digest is None:
            raise DatabaseProblem.unseeded()
        return digest

    def _read(self) -> Snapshot:
        """The newest snapshot; who comes second waits, and reads nothing."""
        with self._lock:
            kept = self._snapshot
            if kept is None or kept.digest != self._digest():
                kept = self._snapshot = read_catalogue(self.engine)
                if self._changed is not None:
                    self._changed(kept)
            return kept

    def _read_aside(self) -> None:
        try:
            self._read()
        except (DatabaseProblem, SQLAlchemyError) as problem:
            logger.error("the new catalogue cannot be read: %s", problem)


def read_catalogue(engine: Engine) -> Snapshot:
    """The catalogue of a database.

    Errors
    ------
    DatabaseProblem when it cannot be read, or what was read is not what a catalogue holds.
    """
    try:
        return load_snapshot(engine)
    except DatabaseProblem:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        # Rows were checked before they were written: whatever cannot be understood has changed since.
        logger.exception("the catalogue cannot be understood")
        raise DatabaseProblem.damaged("a row of the catalogue cannot be understood") from error


Facts = Mapping[tuple[str, str], tuple[Availability, ...]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Columns and measurements of one catalogue version."""

    table: GpuTable
    benchmarks: BenchmarkIndex


def prepared(snapshot: Snapshot) -> Prepared:
    """The core's view of a snapshot. Two are kept: the current one, and one that is just being replaced."""
    return _prepared.get(snapshot, lambda: _prepare(snapshot))


def _prepare(snapshot: Snapshot) -> Prepared:
    # Most changes are prices: what was derived from cards and measurements that are the same stays with them.
    basis = (snapshot.gpus, snapshot.benchmarks, snapshot.models)
    for known, made in tuple(_bases):
        if known == basis:
            return made
    made = _made_of(snapshot)
    _bases.append((basis, made))
    return made


def _made_of(snapshot: Snapshot) -> Prepared:
    return Prepared(
        table=GpuTable.from_gpus(snapshot.gpus),
        benchmarks=BenchmarkIndex(
            snapshot.benchmarks, {key: preset.architecture for key, preset in snapshot.models.items()}
        ),
    )


def availability(snapshot: Snapshot, as_of: date) -> Facts:
    """Statements about buying a card in a region that were in force on a day, the deciding one first."""
    return _available.get((snapshot, as_of), lambda: _in_force(snapshot, as_of))


def _in_force(snapshot: Snapshot, as_of: date) -> Facts:
    day = as_of.isoformat()
    known = {
        (gpu_id, region): governing_first(
            fact for fact in remarks_for(snapshot.available, gpu_id, region) if fact.holds_on(day)
        )
        for gpu_id in dict.fromkeys(gpu_id for gpu_id, _ in snapshot.available)
        for region in REGIONS
    }
    return {key: facts for key, facts in known.items() if facts}


_prepared: Cache[Prepared] = Cache(2)
_bases: deque[tuple[tuple[object, ...], Prepared]] = deque(maxlen=2)
_available: Cache[Facts] = Cache(16)
