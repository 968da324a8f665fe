"""The measurements behind a speed, opened: what was read, of which card, where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from app.catalog.snapshot import Snapshot
from app.core.gpu import Benchmark
from app.services import payload
from app.services.payload import Payload


def measurements(ids: Iterable[str], snapshot: Snapshot) -> list[Payload]:
    """The rows of some ids, in their order, each with its value and source; unknown ids are left out."""
    rows = _by_id(snapshot)
    return [_body(rows[i]) for i in ids if i in rows]


@lru_cache(maxsize=2)
def _by_id(snapshot: Snapshot) -> Mapping[str, Benchmark]:
    return {row.id: row for row in snapshot.benchmarks}


def _body(row: Benchmark) -> Payload:
    return {
        "id": row.id,
        "gpu_id": row.gpu_id,
        "gpu_count": row.gpu_count,
        "model": row.model_id or row.model_name,
        "value": payload.number(row.value),
        "unit": row.unit,
        "batch_per_gpu": payload.number(row.batch_per_gpu),
        "software": f"{row.framework} {row.framework_version}".strip(),
        "observed_on": row.observed_on,
        "own": row.own,
        "title": row.source.title if row.source else "",
        "url": row.source.url if row.source else "",
    }
