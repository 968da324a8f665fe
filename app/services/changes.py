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
from app.services.payload import Payload

__all__ = [
    "Author",
    "ChangeRefused",
    "Written",
    "changes_body",
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


def changes_body(
    engine: Engine, table: str = "", row: str = "", limit: int = 20, before: int | None = None
) -> Payload:
    """One page of the log, the newest first; `next` is the `before` of the page after it."""
    found = history(engine, table, row, limit + 1, before)
    more = len(found) > limit
    return {
        "items": [_entry(entry) for entry in found[:limit]],
        "next": str(found[limit - 1].id) if more else None,
    }


def _entry(entry: LogEntry) -> Payload:
    return {
        "id": entry.id,
        "at": entry.at.isoformat(timespec="seconds"),
        "who": entry.who,
        "table": entry.table,
        "row": entry.row_id,
        "action": entry.action,
        "before": entry.before,
        "after": entry.after,
        "why": entry.why,
        "undoes": entry.undoes,
        "undone": entry.undone,
    }
