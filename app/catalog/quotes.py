"""Suppliers' quotes as they are kept: listed, confirmed, withdrawn. Importing them is in `importing`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import Engine, select

from app.catalog import tables
from app.catalog.changes import Author, write
from app.catalog.columns.observations import QUOTES
from app.catalog.db import reading, transaction
from app.catalog.versions import table_of

_TABLE = table_of(tables.QuoteRow)


class QuoteNotFound(LookupError):
    """There is no quote of that id."""


@dataclass(frozen=True, slots=True)
class StoredQuote:
    """One quote with everything that its supplier said."""

    id: str
    supplier: str
    item_as_written: str
    gpu_id: str
    quantity: int
    unit_price: float
    currency: str
    per: str
    tax_rate: float | None
    tax: str
    invoice: str
    condition: str
    delivery_days: int | None
    warranty_months: int | None
    warranty_kind: str
    payment_terms: str
    quoted_on: str
    valid_until: str
    attachment_name: str
    note: str
    supersedes: str | None
    withdrawn: bool
    held: str
    replaced: bool = False
    """A later quote takes its place."""

    def state(self, as_of: date) -> str:
        """withdrawn, replaced, held, undated, expired, future or valid on a day."""
        if self.withdrawn:
            return "withdrawn"
        if self.replaced:
            return "replaced"
        if self.held:
            return "held"
        if not self.valid_until:
            return "undated"
        day = as_of.isoformat()
        if day > self.valid_until:
            return "expired"
        return "future" if day < self.quoted_on else "valid"


def list_quotes(engine: Engine, gpu_id: str = "", ids: tuple[str, ...] = ()) -> list[StoredQuote]:
    """Quotes of one card, of some ids, or all; the newest first.

    Errors
    ------
    DatabaseProblem when the database cannot be read.
    """
    with reading(engine) as connection:
        rows = connection.execute(select(_TABLE)).all()
    replaced = {row.supersedes for row in rows if row.supersedes and not row.withdrawn}
    make = QUOTES.maker(StoredQuote, {"replaced": lambda row: row.id in replaced})
    found = [make(row) for row in rows if (not gpu_id or row.gpu_id == gpu_id) and (not ids or row.id in ids)]
    return sorted(found, key=lambda q: (q.quoted_on, q.id), reverse=True)


def withdraw_quote(engine: Engine, quote_id: str, author: Author) -> str:
    """Take a quote out of every choice; it stays on record. The version of the catalogue after it.

    Errors
    ------
    QuoteNotFound for an unknown id.
    """
    return _set(engine, quote_id, {"withdrawn": True}, author)


def confirm_quote(engine: Engine, quote_id: str, author: Author) -> str:
    """Let a doubtful quote count: somebody has looked. The version of the catalogue after it.

    Errors
    ------
    QuoteNotFound for an unknown id.
    """
    return _set(engine, quote_id, {"held": ""}, author)


def _set(engine: Engine, quote_id: str, values: dict[str, Any], author: Author) -> str:
    with transaction(engine) as connection:
        if connection.execute(select(_TABLE.c.id).where(_TABLE.c.id == quote_id)).first() is None:
            raise QuoteNotFound(quote_id)
        done = write(connection, {tables.QuoteRow: [{"id": quote_id, **values}]}, author, keep=frozenset())
    return done.version
