"""What calculations need of a snapshot in the core's own shape, made once per catalogue version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from app.catalog.records import Availability, governing_first, remarks_for
from app.catalog.snapshot import Snapshot
from app.core.gpu_table import GpuTable
from app.core.question import REGIONS
from app.core.speed import BenchmarkIndex


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
