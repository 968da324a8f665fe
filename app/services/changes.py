"""The change log for all askers: who changed what, and taking a change back."""

from __future__ import annotations

from sqlalchemy import Engine

from app.catalog.changes import (
    Author,
    ChangeRefused,
    LogEntry,
    Written,
    history,
    is_undoable,
    places,
    undo,
)
from app.catalog.columns import KINDS
from app.core.answer import AnyMap, answer
from app.services.results import Versions

__all__ = [
    "Author",
    "ChangeRefused",
    "Written",
    "field_name",
    "is_undoable",
    "places",
    "undo",
]
_KIND_OF = {str(kind.row.__tablename__): kind for kind in KINDS.values() if kind.stored}


def field_name(table: str, name: str, language: str) -> str:
    """A column as the import calls it in a language; its own name where the import does not know it."""
    kind = _KIND_OF.get(table)
    column = kind.by_name.get("source" if name == "source_id" else name) if kind else None
    return column.header(language) if column and column.chinese else name


@answer(renamed={"row_id": "row"})
class Change:
    """One line of the change log: who changed what, when and why."""

    id: int
    """Number of the entry."""
    at: str
    """When, ISO 8601."""
    who: str
    """The editor, the key or the command."""
    table: str
    """Table of the row."""
    row_id: str
    """Id of the row."""
    action: str
    """load, insert, update, delete or undo."""
    why: str
    """Why, as whoever changed it said."""
    undone: bool
    """Whether it was taken back."""


@answer(renamed={"row_id": "row"})
class ChangeInFull(Change):
    """A change with the columns before and after it."""

    before: AnyMap | None
    """Columns by name as they were; null for a new row."""
    after: AnyMap | None
    """Columns by name as they became; null for a removed row."""
    undoes: int | None
    """Number of the entry that this one takes back."""


@answer()
class ChangeLog:
    """A page of the change log, the newest first."""

    items: tuple[ChangeInFull, ...]
    """The entries."""
    next: str | None
    """`cursor` of the page after it; null on the last one."""


@answer()
class Undone:
    """A change that was taken back."""

    undone: int
    """Number of the entry."""
    versions: Versions
    """Version of the catalogue after it."""


def change_log(
    engine: Engine, table: str = "", row: str = "", limit: int = 20, before: int | None = None
) -> ChangeLog:
    """One page of the log; `before` is the `next` of the page before it."""
    found = history(engine, table, row, limit + 1, before)
    items = tuple(
        ChangeInFull(*_facts(entry), before=entry.before, after=entry.after, undoes=entry.undoes)
        for entry in found[:limit]
    )
    return ChangeLog(items, str(found[limit - 1].id) if len(found) > limit else None)


def last_changes(engine: Engine, limit: int) -> tuple[Change, ...]:
    """The last changes that somebody made to the data, the newest first."""
    return tuple(Change(*_facts(entry)) for entry in history(engine, limit=limit))


def _facts(entry: LogEntry) -> tuple[int, str, str, str, str, str, str, bool]:
    at = entry.at.isoformat(timespec="seconds")
    return entry.id, at, entry.who, entry.table, entry.row_id, entry.action, entry.why, entry.undone
