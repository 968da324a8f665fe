"""The catalogue in memory, as it is stored and as calculations need it; read again when the data change."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from threading import Lock

from sqlalchemy import Engine

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
                kept = self._snapshot = read_catalogue(self.engine)
                if self._changed is not None:
                    self._changed(kept)
            return kept


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


@dataclass(frozen=True, slots=True)
class Prepared:
    """Columns and measurements of one catalogue version."""

    table: GpuTable
    benchmarks: BenchmarkIndex


@lru_cache(maxsize=2)
def prepared(snapshot: Snapshot) -> Prepared:
    """The core's view of a snapshot. Two are kept: the current one, and one that is just being replaced."""
    return Prepared(
        table=GpuTable.from_gpus(snapshot.gpus),
        benchmarks=BenchmarkIndex(
            snapshot.benchmarks, {key: preset.architecture for key, preset in snapshot.models.items()}
        ),
    )


@lru_cache(maxsize=16)
def availability(snapshot: Snapshot, as_of: date) -> Mapping[tuple[str, str], tuple[Availability, ...]]:
    """Statements about buying a card in a region that were in force on a day, the deciding one first."""
    day = as_of.isoformat()
    known = {
        (gpu_id, region): governing_first(
            fact for fact in remarks_for(snapshot.available, gpu_id, region) if fact.holds_on(day)
        )
        for gpu_id in dict.fromkeys(gpu_id for gpu_id, _ in snapshot.available)
        for region in REGIONS
    }
    return {key: facts for key, facts in known.items() if facts}
