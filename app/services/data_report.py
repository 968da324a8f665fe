"""The state of the data: what is loaded, how old it is, what is missing, what the rules object to."""

from __future__ import annotations

from collections import Counter
from datetime import date

from sqlalchemy import Engine

from app import __version__
from app.catalog.changes import history
from app.catalog.snapshot import Snapshot
from app.services import coverage
from app.services.payload import Payload
from app.texts.notes import say_note
from app.texts.say import say_code

MAX_UNUSED = 500


def data_report(engine: Engine, snapshot: Snapshot, today: date, language: str = "zh") -> Payload:
    """Everything about the data on one page.

    Returns
    -------
    versions, loaded (rows by kind), ages, coverage, gaps (each with its list), lint, unused_prices, changes.
    """
    counted = coverage.report(snapshot, today)
    unused = snapshot.unused_prices(today)
    return {
        "as_of": today.isoformat(),
        "versions": {"engine": __version__, "catalog": snapshot.version},
        "loaded": counted["loaded"],
        "ages": counted["ages"],
        "coverage": counted["coverage"],
        "gaps": counted["gaps"],
        "unjoined": counted["unjoined"],
        "lint": _in_words(coverage.lint(snapshot, engine), language),
        "unused_prices": {
            "total": len(unused),
            "by_reason": dict(Counter(reason for _, reason in unused)),
            "items": [
                {
                    "id": row.id,
                    "gpu": {"id": row.gpu_id, "name": snapshot.gpu(row.gpu_id).name},
                    "condition": row.condition,
                    "amount": row.amount,
                    "currency": row.currency,
                    "observed_on": row.observed_on,
                    "reason": reason,
                    "text": say_code(f"price_{reason}", {"reason": row.held}, language),
                    "held": row.held or None,
                }
                for row, reason in sorted(unused, key=lambda pair: (pair[1], pair[0].gpu_id, pair[0].id))[
                    :MAX_UNUSED
                ]
            ],
        },
        "changes": [
            {
                "id": entry.id,
                "at": entry.at.isoformat(timespec="seconds"),
                "who": entry.who,
                "table": entry.table,
                "row": entry.row_id,
                "action": entry.action,
                "why": entry.why,
                "undone": entry.undone,
            }
            for entry in history(engine, limit=20)
        ],
    }


def _in_words(lint: Payload, language: str) -> Payload:
    """What the rules object to, in the reader's language; the kept one stays as it is."""
    return {
        state: [row | {"text": say_note(row["text"], language)[0]} for row in rows]
        for state, rows in lint.items()
    }
