"""Sessions of signed-in browsers: kept here, so that they can be ended here; a cookie is a random token."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine, delete, insert, or_, select, update
from sqlalchemy.exc import SQLAlchemyError

from app.catalog.db import reading, transaction, utc_now
from app.catalog.editors import Editor
from app.catalog.problems import DatabaseProblem
from app.catalog.tables import EditorRow, EditorSessionRow
from app.catalog.versions import table_of

TOKEN_BYTES = 32
MAX_TOKEN = 100
NOTED_EVERY = timedelta(minutes=1)
"""How often the last use is written: a write for every request would be a lock for every request."""
_SESSIONS = table_of(EditorSessionRow)
_EDITORS = table_of(EditorRow)


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long a browser stays signed in: after its last request, and in all."""

    idle: timedelta
    total: timedelta

    def is_over(self, created_at: datetime, used_at: datetime, now: datetime) -> bool:
        """Whether a session has come to its end."""
        return now - _in_utc(created_at) >= self.total or now - _in_utc(used_at) >= self.idle


def start_session(engine: Engine, editor_id: str, lifetime: Lifetime, replaces: str = "") -> str:
    """A fresh token for an editor who has just signed in.

    Parameters
    ----------
    replaces: token that the browser sent; it counts no longer, whoever knows it.
    """
    token = secrets.token_urlsafe(TOKEN_BYTES)
    now = utc_now()
    with transaction(engine) as connection:
        connection.execute(
            delete(_SESSIONS).where(
                or_(
                    _SESSIONS.c.id == _hash(replaces),
                    _SESSIONS.c.created_at < now - lifetime.total,
                    _SESSIONS.c.used_at < now - lifetime.idle,
                )
            )
        )
        row = {"id": _hash(token), "editor_id": editor_id, "created_at": now, "used_at": now}
        connection.execute(insert(_SESSIONS).values(row))
    return token


def editor_of_session(engine: Engine, token: str, lifetime: Lifetime) -> Editor | None:
    """The editor that a token stands for; None for an unknown, ended or expired one, or a disabled editor."""
    if not token or len(token) > MAX_TOKEN:
        return None
    query = (
        select(_EDITORS, _SESSIONS.c.created_at.label("began_at"), _SESSIONS.c.used_at)
        .join(_SESSIONS, _SESSIONS.c.editor_id == _EDITORS.c.id)
        .where(_SESSIONS.c.id == _hash(token))
    )
    with reading(engine) as connection:
        found = connection.execute(query).first()
    now = utc_now()
    if found is None or found.disabled_at is not None:
        return None
    if lifetime.is_over(found.began_at, found.used_at, now):
        return None
    if now - _in_utc(found.used_at) >= NOTED_EVERY:
        _note_use(engine, token, now)
    return Editor(found.id, found.name, tuple(found.scopes.split(",")), found.created_at, found.disabled_at)


def end_session(engine: Engine, token: str) -> None:
    """Let a token count no longer."""
    with transaction(engine) as connection:
        connection.execute(delete(_SESSIONS).where(_SESSIONS.c.id == _hash(token)))


def _note_use(engine: Engine, token: str, now: datetime) -> None:
    try:
        with transaction(engine) as connection:
            connection.execute(update(_SESSIONS).where(_SESSIONS.c.id == _hash(token)).values(used_at=now))
    except (DatabaseProblem, SQLAlchemyError):
        # A page can be read while another process writes; the next request notes it.
        return


def _hash(token: str) -> str:
    """256 random bits need no slow hash."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _in_utc(moment: datetime) -> datetime:
    """SQLite gives times back without their zone."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
