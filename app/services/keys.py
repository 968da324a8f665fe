"""Who may call: API keys, made, listed, revoked and checked."""

from __future__ import annotations

from sqlalchemy import Engine

from app.catalog.access import SCOPES, ApiKey, NewKey, create_key, list_keys, revoke_key, verify_key

__all__ = ["SCOPES", "ApiKey", "NewKey", "allows", "create_key", "find_key", "list_keys", "revoke_key"]


def allows(engine: Engine, secret: str | None, scope: str) -> bool:
    """Whether a key was sent, is known and not revoked, and has the scope ("read" or "write")."""
    if not secret:
        return False
    key = verify_key(engine, secret)
    return key is not None and key.allows(scope)


def find_key(engine: Engine, secret: str | None) -> ApiKey | None:
    """The key behind a secret; None when none was sent, or it is unknown or revoked."""
    return verify_key(engine, secret) if secret else None
