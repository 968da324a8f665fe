"""Loading the seed: checked first, then written in one transaction; loading it again changes nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Table, bindparam, insert, select, text, update

from app.catalog import tables
from app.catalog.columns import KINDS
from app.catalog.columns.kinds import Row
from app.catalog.db import transaction, utc_now
from app.catalog.seed_read import read_seed
from app.catalog.versions import bump, table_of
from app.resources import resource_path

# Two starting servers must not seed a PostgreSQL database at the same moment; SQLite's write lock does it.
_SEED_LOCK = 42_073_002
_BATCH = 2_000


@dataclass(frozen=True, slots=True)
class SeedReport:
    """What a load did."""

    version: str
    digest: str
    inserted: int
    updated: int
    unchanged: int
    retired: int
    """Figures that an earlier seed had chosen and this one has replaced."""


def load_seed(engine: Engine, folder: Path | None = None) -> SeedReport:
    """Check every file of a seed folder, then write all of it or nothing.

    Parameters
    ----------
    engine: a database at the current revision.
    folder: the files; None for those that came with the installation.

    Errors
    ------
    SeedFault with file, line and column of each fault; DatabaseProblem when the database cannot be written.

    Notes
    -----
    A row is known by its id, for observations the digest of what makes them the same observation, so a second
    load finds every row and changes nothing. Rows that a newer seed no longer has stay: observations are only
    ever added. A figure of which the seed now chooses another value is kept as not chosen.
    """
    data = read_seed(folder if folder is not None else resource_path("seed_data"))
    by_table: dict[Table, list[Row]] = {}
    for kind in KINDS.values():
        if kind.stored and kind.file:
            by_table.setdefault(table_of(kind.row), []).extend(data[kind.file])
    inserted = updated = unchanged = 0
    with transaction(engine) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _SEED_LOCK})
        figures = by_table[table_of(tables.GpuFigureRow)]
        own = _own_figures(connection, {row["id"] for row in figures})
        for row in figures:
            # What the team has corrected stays corrected.
            if (row["gpu_id"], row["figure"]) in own:
                row["chosen"] = False
        for table, rows in by_table.items():
            new, changed, same = _write(connection, table, rows)
            inserted, updated, unchanged = inserted + new, updated + changed, unchanged + same
        retired = _retire(connection, figures)
        version = bump(connection)
        if inserted or updated or retired:
            connection.execute(
                insert(table_of(tables.ChangeLogRow)).values(
                    at=utc_now(),
                    who="seed",
                    table_name="",
                    row_id="",
                    action="load",
                    after={
                        "version": version.version,
                        "inserted": inserted,
                        "updated": updated,
                        "retired": retired,
                    },
                    why="",
                )
            )
    return SeedReport(version.version, version.digest, inserted, updated, unchanged, retired)


def _write(connection: Connection, table: Table, rows: list[Row]) -> tuple[int, int, int]:
    """Insert what is new, change what differs; numbers of both and of the rest."""
    names = [column.name for column in table.columns if rows and column.name in rows[0]]
    stored: dict[str, tuple[Any, ...]] = {}
    if rows:
        for known_id, *values in connection.execute(select(table.c.id, *(table.c[n] for n in names))):
            stored[known_id] = tuple(values)
    new: list[Row] = []
    changed: list[Row] = []
    for row in rows:
        known = stored.get(row["id"])
        if known is None:
            new.append(row)
        elif known != tuple(row[name] for name in names):
            changed.append({f"new_{name}": row[name] for name in names})
    for batch in _batches(new):
        connection.execute(insert(table), batch)
    if changed:
        cells: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names if name != "id"}
        statement = update(table).where(table.c.id == bindparam("new_id")).values(cells)
        connection.execute(statement, changed)
    return len(new), len(changed), len(rows) - len(new) - len(changed)


def _own_figures(connection: Connection, seeded: Collection[str]) -> set[tuple[str, str]]:
    """Card and figure of which the team has chosen a value of its own, as the change log says.

    Parameters
    ----------
    seeded: ids of the figures of the seed. An export that was imported logs these as added too.
    """
    figure, log = table_of(tables.GpuFigureRow), table_of(tables.ChangeLogRow)
    added = select(log.c.row_id).where(log.c.table_name == figure.name, log.c.action == "insert")
    query = select(figure.c.id, figure.c.gpu_id, figure.c.figure).where(
        figure.c.chosen, figure.c.id.in_(added)
    )
    return {(r.gpu_id, r.figure) for r in connection.execute(query) if r.id not in seeded}


def _retire(connection: Connection, figures: list[Row]) -> int:
    """Unchoose stored values of figures for which the seed now chooses another."""
    table = table_of(tables.GpuFigureRow)
    chosen = {(row["gpu_id"], row["figure"]): row["id"] for row in figures if row["chosen"]}
    sources = {row["source_id"] for row in figures}
    stored = connection.execute(
        select(table.c.id, table.c.gpu_id, table.c.figure, table.c.source_id).where(table.c.chosen)
    )
    # A value from a source that the seed does not know is the team's own correction and stays.
    old = [
        {"old_id": row.id}
        for row in stored
        if row.source_id in sources and chosen.get((row.gpu_id, row.figure), row.id) != row.id
    ]
    if old:
        connection.execute(update(table).where(table.c.id == bindparam("old_id")).values(chosen=False), old)
    return len(old)


def _batches(rows: list[Row]) -> Iterable[list[Row]]:
    return (rows[at : at + _BATCH] for at in range(0, len(rows), _BATCH))
