"""The version of the data: a digest over the content of every catalogue row, and the newest month in it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from sqlalchemy import Connection, Table, desc, func, insert, select
from sqlmodel import SQLModel

from app.catalog import tables
from app.catalog.columns import CATALOG_ROWS
from app.catalog.db import utc_now

_OBSERVED = (tables.PriceRow, tables.RentalRow, tables.ExchangeRateRow, tables.BenchmarkRow)


@dataclass(frozen=True, slots=True)
class CatalogVersion:
    """What answers name as the version of their data."""

    version: str
    digest: str
    rows: int


def table_of(row: type[SQLModel]) -> Table:
    """The SQLAlchemy table of a row class."""
    return SQLModel.metadata.tables[str(row.__tablename__)]


VERSION_TABLE = table_of(tables.CatalogVersionRow)
LATEST = (
    select(VERSION_TABLE.c.version, VERSION_TABLE.c.digest, VERSION_TABLE.c.rows)
    .order_by(desc(VERSION_TABLE.c.id))
    .limit(1)
)


def latest(connection: Connection) -> CatalogVersion | None:
    """The version that was written last; None before the first load. One SELECT."""
    found = connection.execute(LATEST).first()
    return CatalogVersion(found.version, found.digest, found.rows) if found else None


def compute(connection: Connection) -> CatalogVersion:
    """The version of the rows as they are now.

    Notes
    -----
    SHA-256 over every row of every catalogue table, tables in a fixed order, rows by id, columns by name, as
    canonical JSON: the same on SQLite and PostgreSQL, and independent of the time and order of loading.
    """
    digest = hashlib.sha256()
    count = 0
    for row_class in CATALOG_ROWS:
        table = table_of(row_class)
        columns = sorted(table.columns, key=lambda column: column.name)
        rows = sorted(connection.execute(select(table.c.id, *columns)).all(), key=lambda row: str(row[0]))
        digest.update(f"\n{table.name}\n".encode())
        count += len(rows)
        for row in rows:
            line = json.dumps(list(row[1:]), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            digest.update(line.encode())
    value = digest.hexdigest()
    return CatalogVersion(f"{_newest_month(connection)}-{value[:8]}", value, count)


def bump(connection: Connection) -> CatalogVersion:
    """Write a new version row if the content has changed; to be called in the transaction that changed it."""
    now = compute(connection)
    if latest(connection) != now:
        connection.execute(
            insert(VERSION_TABLE).values(
                version=now.version, digest=now.digest, rows=now.rows, created_at=utc_now()
            )
        )
    return now


def _newest_month(connection: Connection) -> str:
    months = []
    for row_class in _OBSERVED:
        column = table_of(row_class).c.observed_on
        # A bare year says nothing about the month.
        newest = connection.execute(select(func.max(column)).where(func.length(column) >= 7)).scalar()
        months.append((newest or "0000-00")[:7])
    return max(months).replace("-", ".")
