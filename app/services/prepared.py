"""What calculations need of a snapshot in the core's own shape, made once per catalogue version."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from app.catalog.records import Availability, governing_first, remarks_for
from app.catalog.snapshot import Snapshot
from app.core.gpu_table import GpuTable
from app.core.question import REGIONS
from app.core.speed import BenchmarkIndex

COLLECTOR_THRESHOLDS = (20_000, 10, 10)
"""Objects made before a collection, and collections before one of the next generation."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Columns and measurements of one catalogue version."""

    table: GpuTable
    benchmarks: BenchmarkIndex


@lru_cache(maxsize=2)
def prepared(snapshot: Snapshot) -> Prepared:
    """The core's view of a snapshot. Two are kept: the current one, and one that is just being replaced."""
    ready = Prepared(
        table=GpuTable.from_gpus(snapshot.gpus),
        benchmarks=BenchmarkIndex(
            snapshot.benchmarks, {key: preset.architecture for key, preset in snapshot.models.items()}
        ),
    )
    _set_aside()
    return ready


def _set_aside() -> None:
    """Take the catalogue out of the sight of the garbage collector.

    An answer makes thousands of small objects, each thousand of which would have the collector walk over the
    hundred thousand of the catalogue. What is set aside is still freed when nothing refers to it any more.
    """
    gc.collect()
    gc.freeze()
    calm_collector()


def calm_collector() -> None:
    """Collect seldom: what a start makes stays, and what an answer makes is mostly freed by itself."""
    gc.set_threshold(*COLLECTOR_THRESHOLDS)


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
