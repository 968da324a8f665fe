"""Reports kept in the database: found by what they rest on, replaced when that changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, delete, select

from app.catalog.db import session, utc_now
from app.catalog.tables import ReportRow

KEPT_BASES = 2
"""The present state of the data and the one before: their change may be taken back."""


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report with the digest of what it rests on."""

    basis: str
    body: dict[str, Any]


def newest_report(engine: Engine, part: str, basis: str = "") -> StoredReport | None:
    """The report of a part that rests on `basis`, or the newest on any where none is named."""
    query = select(ReportRow).where(ReportRow.part == part)  # type: ignore[arg-type]
    if basis:
        query = query.where(ReportRow.basis == basis)  # type: ignore[arg-type]
    with session(engine) as active:
        row = active.scalars(query.order_by(ReportRow.made_at.desc()).limit(1)).first()  # type: ignore[attr-defined]
        return StoredReport(row.basis, row.body) if row else None


def store_report(engine: Engine, part: str, report: StoredReport) -> None:
    """Keep a report; of the same part the newest few stay."""
    with session(engine, write=True) as active:
        active.merge(ReportRow(basis=report.basis, part=part, body=report.body, made_at=utc_now()))
        active.flush()
        newest = (
            select(ReportRow.basis)  # type: ignore[call-overload]
            .where(ReportRow.part == part)
            .order_by(ReportRow.made_at.desc())  # type: ignore[attr-defined]
            .limit(KEPT_BASES)
        )
        bases = list(active.scalars(newest))
        active.execute(
            delete(ReportRow).where(ReportRow.part == part, ReportRow.basis.not_in(bases))  # type: ignore
        )
