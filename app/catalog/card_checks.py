"""What the check script said of the team's own cards, kept whole beside the memory measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import Engine
from sqlmodel import SQLModel

from app.catalog import tables
from app.catalog.changes import Author, Row, plan, write
from app.catalog.columns.observations import MEMORY_CASES
from app.catalog.db import reading, transaction
from app.catalog.imports.references import References
from app.catalog.imports.values import CellFault
from app.catalog.records import MemoryCase
from app.catalog.seed import natural_id
from app.catalog.snapshot import Snapshot
from app.core.faults import InputFault

CARD_CHECK = "card_check"
"""Kind of the rows: no case of the memory estimate, and so without a workload of their own."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an answer of the script comes from, for the row and for the change log."""

    source: str
    source_url: str
    today: date
    author: Author


def store_check(
    engine: Engine, gpu_id: str, answer: Mapping[str, Any], origin: Origin, *, dry_run: bool = False
) -> bool:
    """Keep an answer of the script.

    Parameters
    ----------
    gpu_id: the card as it is sold. answer: what the script printed.

    Returns
    -------
    Whether it is new. The same answer again changes nothing.

    Errors
    ------
    InputFault for an address of the source that is none; DatabaseProblem.
    """
    with reading(engine) as connection:
        references = References.read(connection)
        try:
            source_id = references.source(
                origin.source, origin.source_url, "measurement", origin.today.isoformat()
            )
        except CellFault as fault:
            raise InputFault.at("/source_url", fault.code, **fault.params) from fault
        row: Row = {
            "kind": CARD_CHECK,
            "workload": {},
            "measured": dict(answer),
            "gpu_id": gpu_id,
            "gpu_count": 1,
            "measure_kind": str(answer.get("format") or ""),
            "outcome": "",
            "observed_on": str(answer.get("measured_on") or origin.today.isoformat()),
            "source_id": source_id,
            "note": "",
            "flag": "",
        }
        row["id"] = natural_id(MEMORY_CASES, row)
        rows: dict[type[SQLModel], list[Row]] = {tables.MemoryCaseRow: [row]}
        if source_id in references.new_sources:
            rows[tables.SourceRow] = [references.new_sources[source_id]]
        changes, _ = plan(connection, rows)
    if changes and not dry_run:
        with transaction(engine) as connection:
            write(connection, rows, origin.author)
    return bool(changes)


def checks_of(snapshot: Snapshot, gpu_id: str = "") -> list[MemoryCase]:
    """The answers kept of one card, or of all; the newest first."""
    found = [
        case
        for case in snapshot.memory_cases
        if case.kind == CARD_CHECK and (not gpu_id or case.gpu_id == gpu_id)
    ]
    return sorted(found, key=lambda case: (case.observed_on, case.id), reverse=True)
