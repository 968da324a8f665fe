"""API keys: made once, shown once, kept as a hash only."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine
from sqlmodel import select

from app.catalog.changes import Author, record
from app.catalog.db import session, utc_now
from app.catalog.tables import ApiKeyRow

TABLE = "api_key"
PREFIX = "cwk_"
SCOPES = ("read", "write", "admin")


def includes(scopes: tuple[str, ...], wanted: str) -> bool:
    """Whether one of the scopes is the wanted one, or includes it."""
    return any(SCOPES.index(own) >= SCOPES.index(wanted) for own in scopes)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made; `secret` is not kept anywhere."""

    id: str
    secret: str


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A known key, without its secret."""

    id: str
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    revoked_at: datetime | None = None

    def allows(self, scope: str) -> bool:
        """Whether the key has a scope, or one that includes it: admin may write, and who writes may read."""
        return includes(self.scopes, scope)


def create_key(
    engine: Engine, name: str, scopes: tuple[str, ...] = ("read", "write"), author: Author | None = None
) -> NewKey:
    """Make a key; with an author the change log says who made it.

    Errors
    ------
    ValueError for no scope or an unknown one.
    """
    if not scopes or not set(scopes) <= set(SCOPES):
        raise ValueError(f"scopes are {', '.join(SCOPES)}")
    secret = PREFIX + secrets.token_urlsafe(32)
    key_id = secrets.token_hex(6)
    kept = ",".join(s for s in SCOPES if s in scopes)
    with session(engine, write=True) as active:
        active.add(ApiKeyRow(id=key_id, name=name, key_hash=_hash(secret), scopes=kept, created_at=utc_now()))
        if author is not None:
            record(active.connection(), author, TABLE, key_id, None, {"name": name, "scopes": kept})
    return NewKey(key_id, secret)


def verify_key(engine: Engine, secret: str) -> ApiKey | None:
    """The key behind a secret; None for an unknown or revoked one. One SELECT.

    Notes
    -----
    The look-up is by SHA-256, so the time it takes tells nothing about the secret; 256 random bits need no
    slow hash.
    """
    if not secret.startswith(PREFIX) or len(secret) > 100:
        return None
    with session(engine) as active:
        row = active.exec(select(ApiKeyRow).where(ApiKeyRow.key_hash == _hash(secret))).first()
    return None if row is None or row.revoked_at is not None else _key(row)


def list_keys(engine: Engine) -> list[ApiKey]:
    """All keys, revoked ones included, the oldest first."""
    with session(engine) as active:
        rows = active.exec(select(ApiKeyRow)).all()
    return sorted((_key(row) for row in rows), key=lambda key: (key.created_at, key.id))


def revoke_key(engine: Engine, key_id: str, author: Author | None = None) -> bool:
    """Make a key useless from now on; False when there is none of that id or it already was."""
    with session(engine, write=True) as active:
        row = active.get(ApiKeyRow, key_id)
        if row is None or row.revoked_at is not None:
            return False
        row.revoked_at = utc_now()
        active.add(row)
        if author is not None:
            what = {"name": row.name, "scopes": row.scopes}
            record(active.connection(), author, TABLE, key_id, what, None)
    return True


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _key(row: ApiKeyRow) -> ApiKey:
    return ApiKey(row.id, row.name, tuple(row.scopes.split(",")), row.created_at, row.revoked_at)
