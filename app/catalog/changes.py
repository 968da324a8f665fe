"""The one way in which rows of the catalogue change: compared, written, logged, and the version renewed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    Table,
    bindparam,
    delete,
    desc,
    insert,
    literal,
    select,
    text,
    update,
)
from sqlmodel import SQLModel

from app.catalog import tables
from app.catalog.columns import CATALOG_ROWS, KINDS
from app.catalog.db import reading, transaction, utc_now
from app.catalog.versions import bump, table_of

Row = dict[str, Any]
# One writer at a time on PostgreSQL, the seed included; SQLite's write lock does it there.
_WRITE_LOCK = 42_073_002
_BATCH = 500
_LOG = table_of(tables.ChangeLogRow)
_FIGURES = table_of(tables.GpuFigureRow)
_TABLES = {table_of(row_class).name: table_of(row_class) for row_class in CATALOG_ROWS}
# Observations are only ever added: taking one back keeps it, marked as not to be used.
_RETIRED: Mapping[str, Row] = {table_of(k.row).name: dict(k.retired) for k in KINDS.values() if k.retired}
SET_LATER = frozenset(name for kind in KINDS.values() for name in kind.retired)
"""Columns that say whether a stored row is used: reading its file again must not bring it back."""


class ChangeRefused(ValueError):
    """A change cannot be taken back; `code` says why."""

    def __init__(self, code: str, **params: Any) -> None:
        super().__init__(code)
        self.code = code
        self.params = params


@dataclass(frozen=True, slots=True)
class Author:
    """Who changes something, and why."""

    who: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """One row that is to change. No `before`: it is new; no `after`: it goes; both: these columns change."""

    table: Table
    row_id: str
    before: Row | None
    after: Row | None


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did."""

    inserted: int
    updated: int
    unchanged: int
    version: str


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line of the change log."""

    id: int
    at: datetime
    who: str
    table: str
    row_id: str
    action: str
    before: Row | None
    after: Row | None
    why: str
    undoes: int | None
    undone: bool


def plan(
    connection: Connection,
    rows: Mapping[type[SQLModel], Sequence[Row]],
    keep: frozenset[str] = SET_LATER,
) -> tuple[list[Change], int]:
    """What would have to change for the rows to be there, and how many of them already are.

    Parameters
    ----------
    rows: by table; each with its id. A stored row is compared in the columns given; a new one gets the
        defaults of the table for the rest.
    keep: columns that are left as they are in rows already stored.
    """
    changes: list[Change] = []
    same = 0
    for row_class in CATALOG_ROWS:
        wanted = rows.get(row_class, ())
        table = table_of(row_class)
        stored = _stored(connection, table, [row["id"] for row in wanted])
        for row in wanted:
            known = stored.get(row["id"])
            if known is None:
                changes.append(Change(table, row["id"], None, _complete(row_class, row)))
                continue
            other = {n: v for n, v in row.items() if n not in keep and known[n] != v}
            if other:
                changes.append(Change(table, row["id"], {n: known[n] for n in other}, other))
            else:
                same += 1
    return changes, same


def write(
    connection: Connection,
    rows: Mapping[type[SQLModel], Sequence[Row]],
    author: Author,
    keep: frozenset[str] = SET_LATER,
) -> Written:
    """Bring rows into the catalogue, inside the transaction of the caller.

    Notes
    -----
    Every row that changes leaves an entry in the change log; the version is renewed once.
    """
    lock(connection)
    changes, same = plan(connection, rows, keep)
    apply(connection, changes, author)
    new = sum(change.before is None for change in changes)
    return Written(new, len(changes) - new, same, bump(connection).version)


def lock(connection: Connection) -> None:
    """Let nobody else write the catalogue until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _WRITE_LOCK})


def apply(
    connection: Connection, changes: Sequence[Change], author: Author, undoes: int | None = None
) -> None:
    """Carry changes out and log them."""
    for group in _alike(changes):
        _carry_out(connection, group)
    now = utc_now()
    entries = [
        {
            "at": now,
            "who": author.who,
            "table_name": change.table.name,
            "row_id": change.row_id,
            "action": "undo" if undoes is not None else _action(change),
            "before": change.before,
            "after": change.after,
            "why": author.why,
            "undoes": undoes,
        }
        for change in changes
    ]
    for batch in _batches(entries):
        connection.execute(insert(_LOG), batch)


def _carry_out(connection: Connection, group: Sequence[Change]) -> None:
    """The changes of one group: all of one table, all of one kind, updates of the same columns."""
    table, before, after = group[0].table, group[0].before, group[0].after
    if after is None:
        connection.execute(delete(table).where(table.c.id.in_([c.row_id for c in group])))
    elif before is None:
        for batch in _batches(group):
            connection.execute(insert(table), [c.after for c in batch])
    else:
        cells: dict[str, Any] = {name: bindparam(f"new_{name}") for name in after}
        statement = update(table).where(table.c.id == bindparam("row_id")).values(cells)
        connection.execute(
            statement,
            [{"row_id": c.row_id, **{f"new_{n}": v for n, v in (c.after or {}).items()}} for c in group],
        )


def undo(engine: Engine, entry_id: int, author: Author) -> Written:
    """Take a change back by a further entry; what the earlier entry says stays.

    Errors
    ------
    ChangeRefused: unknown_change, not_undoable (a load of the seed), already_undone, changed_since, in_use.

    Notes
    -----
    An observation that was added stays, marked as withdrawn; another row that was added goes. With a figure
    goes that the one it took the place of was retired.
    """
    with transaction(engine) as connection:
        lock(connection)
        entry = connection.execute(select(_LOG).where(_LOG.c.id == entry_id)).first()
        if entry is None:
            raise ChangeRefused("unknown_change", value=entry_id)
        retired = _retired_by(connection, entry)
        change = _take_back(connection, entry, author)
        for other in retired:
            _take_back(connection, other, author)
        return Written(
            change.before is None, (change.before is not None) + len(retired), 0, bump(connection).version
        )


def is_undoable(table: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
    """Whether an entry can be taken back: a change of a row of the catalogue, not a load of the seed."""
    return table in _TABLES and (before is not None or after is not None)


def record(
    connection: Connection, author: Author, table: str, row_id: str, before: Row | None, after: Row | None
) -> None:
    """Log a change of something that is not of the catalogue, in the transaction that makes it."""
    action = "insert" if before is None else "update" if after is not None else "delete"
    entry = {"at": utc_now(), "who": author.who, "table_name": table, "row_id": row_id, "action": action}
    connection.execute(insert(_LOG).values({**entry, "before": before, "after": after, "why": author.why}))


def history(
    engine: Engine, table: str = "", row_id: str = "", limit: int = 100, before: int | None = None
) -> list[LogEntry]:
    """The change log, the newest first.

    Parameters
    ----------
    table, row_id: only changes of these; empty for all.
    before: only entries older than the one of this id.
    """
    undone = _LOG.alias("later")
    query = (
        select(_LOG, undone.c.id.label("undone_by"))
        .outerjoin(undone, undone.c.undoes == _LOG.c.id)
        .order_by(desc(_LOG.c.id))
        .limit(limit)
    )
    if table:
        query = query.where(_LOG.c.table_name == table)
    if row_id:
        query = query.where(_LOG.c.row_id == row_id)
    if before is not None:
        query = query.where(_LOG.c.id < before)
    with reading(engine) as connection:
        return [
            LogEntry(
                r.id,
                r.at,
                r.who,
                r.table_name,
                r.row_id,
                r.action,
                r.before,
                r.after,
                r.why,
                r.undoes,
                r.undone_by is not None,
            )
            for r in connection.execute(query)
        ]


def places(engine: Engine, rows: Iterable[tuple[str, str]]) -> dict[tuple[str, str], tuple[str, str]]:
    """The card that a row is of, and of a figure also which one; rows of no card are left out.

    Parameters
    ----------
    rows: table and id.
    """
    wanted: dict[str, set[str]] = {}
    for name, row_id in rows:
        wanted.setdefault(name, set()).add(row_id)
    found: dict[tuple[str, str], tuple[str, str]] = {}
    with reading(engine) as connection:
        for name, ids in wanted.items():
            table = _TABLES.get(name)
            if table is None or "gpu_id" not in table.c:
                continue
            figure = table.c.figure if "figure" in table.c else literal("")
            for batch in _batches(sorted(ids)):
                query = select(table.c.id, table.c.gpu_id, figure).where(table.c.id.in_(batch))
                found.update(((name, r[0]), (r[1], r[2])) for r in connection.execute(query))
    return found


def _take_back(connection: Connection, entry: Any, author: Author) -> Change:
    if not is_undoable(entry.table_name, entry.before, entry.after):
        raise ChangeRefused("not_undoable", value=entry.id)
    if connection.execute(select(_LOG.c.id).where(_LOG.c.undoes == entry.id)).first():
        raise ChangeRefused("already_undone", value=entry.id)
    table = _TABLES[entry.table_name]
    change = _inverse(entry, table, _stored(connection, table, [entry.row_id]).get(entry.row_id))
    if change.after is None:
        _refuse_if_used(connection, table, entry.row_id)
    apply(connection, [change], author, undoes=entry.id)
    return change


def _retired_by(connection: Connection, entry: Any) -> list[Any]:
    """Entries of the same write by which the value that a new figure took the place of was retired."""
    if entry.table_name != _FIGURES.name or entry.before is not None or not entry.after:
        return []
    later = _LOG.alias("later")
    query = (
        select(_LOG, _FIGURES.c.gpu_id, _FIGURES.c.figure)
        .join(_FIGURES, _FIGURES.c.id == _LOG.c.row_id)
        .outerjoin(later, later.c.undoes == _LOG.c.id)
        .where(_LOG.c.table_name == _FIGURES.name, _LOG.c.at == entry.at, _LOG.c.action == "update")
        .where(_LOG.c.who == entry.who, later.c.id.is_(None))
    )
    return [
        other
        for other in connection.execute(query)
        if other.after == {"chosen": False}
        and (other.gpu_id, other.figure) == (entry.after["gpu_id"], entry.after["figure"])
    ]


def _inverse(entry: Any, table: Table, stored: Row | None) -> Change:
    expected = entry.after
    if (stored is None) != (expected is None) or any(
        stored[name] != value for name, value in (expected or {}).items() if stored is not None
    ):
        raise ChangeRefused("changed_since", value=entry.id)
    if entry.before is None and table.name in _RETIRED and stored is not None:
        after = dict(_RETIRED[table.name])
        return Change(table, entry.row_id, {name: stored[name] for name in after}, after)
    return Change(table, entry.row_id, entry.after, entry.before)


def _refuse_if_used(connection: Connection, table: Table, row_id: str) -> None:
    """A row that others point at cannot go; the database would say the same, less clearly."""
    for row_class in CATALOG_ROWS:
        for column in table_of(row_class).columns:
            if any(key.column.table is table for key in column.foreign_keys):
                found = connection.execute(select(column).where(column == row_id).limit(1)).first()
                if found:
                    raise ChangeRefused("in_use", value=row_id, table=table_of(row_class).name)


def _stored(connection: Connection, table: Table, ids: Sequence[str]) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for batch in _batches(ids):
        rows = connection.execute(select(table).where(table.c.id.in_(batch)))
        found.update((row["id"], dict(row)) for row in rows.mappings())
    return found


def _complete(row_class: type[SQLModel], row: Row) -> Row:
    """The row with the defaults of its table for what it does not say."""
    return {
        name: row[name] if name in row else info.get_default(call_default_factory=True)
        for name, info in row_class.model_fields.items()
    }


def _action(change: Change) -> str:
    if change.before is None:
        return "insert"
    return "delete" if change.after is None else "update"


def _alike(changes: Iterable[Change]) -> list[list[Change]]:
    """Changes that one statement can carry out, in the order in which their kinds first come."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[Change]] = {}
    for change in changes:
        action = _action(change)
        names = tuple(sorted(change.after)) if action == "update" and change.after else ()
        groups.setdefault((change.table.name, action, names), []).append(change)
    return list(groups.values())


def _batches(items: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (items[at : at + _BATCH] for at in range(0, len(items), _BATCH))
