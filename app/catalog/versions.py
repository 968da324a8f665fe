"""The version of the data: a digest over the content of every catalogue row, and the newest month in it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, Table, desc, func, insert, select
from sqlmodel import SQLModel

from app.catalog import tables
from app.catalog.columns import CATALOG_ROWS
from app.catalog.db import reading, sqlite_path, utc_now

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


class VersionCheck:
    """Asks one database for the digest of its newest version."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._path = sqlite_path(engine.url)
        compiled = LATEST.compile(dialect=engine.dialect, compile_kwargs={"literal_binds": True})
        self._statement = str(compiled)
        self._place = list(LATEST.selected_columns.keys()).index("digest")

    def digest(self) -> str | None:
        """Digest of the newest version; None before the first load.

        Errors
        ------
        DatabaseProblem when the database cannot be read.

        Notes
        -----
        The driver itself is asked, on a connection of the pool: through SQLAlchemy the same statement takes
        eighteen times as long, a tenth of an answer that is kept. Whatever goes wrong there is asked again
        the usual way, which knows what each failure means.
        """
        try:
            found = self._ask_driver()
        except Exception:
            with reading(self._engine) as connection:
                version = latest(connection)
            return None if version is None else version.digest
        return None if found is None else str(found[self._place])

    def _ask_driver(self) -> tuple[object, ...] | None:
        if self._path is not None and not self._path.exists():
            # Connecting would create the file.
            raise FileNotFoundError(self._path)
        connection = self._engine.raw_connection()
        try:
            cursor = connection.cursor()
            cursor.execute(self._statement)
            row: tuple[object, ...] | None = cursor.fetchone()
            cursor.close()
        finally:
            connection.close()
        return row
