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
from app.catalog.imports.columns import KINDS
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
_KIND_OF = {
    "gpu": "gpus",
    "gpu_figure": "figures",
    "model": "models",
    "price": "prices",
    "rental": "rentals",
    "exchange_rate": "rates",
    "benchmark": "benchmarks",
    "quote": "quotes",
}


def field_name(table: str, name: str, language: str) -> str:
    """A column as the import calls it in a language; its own name where the import does not know it."""
    kind = KINDS.get(_KIND_OF.get(table, ""))
    wanted = "source" if name == "source_id" else name
    for column in kind.columns if kind else ():
        if column.field == wanted:
            return column.chinese if language == "zh" else column.english
    return name


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
