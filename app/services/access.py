"""Who may call and who may sign in: API keys, editors, their sessions and how often one may try."""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import dataclass, field
from datetime import timedelta

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from sqlalchemy import Engine

from app.catalog.access import (
    MIN_LENGTH,
    SCOPES,
    ApiKey,
    Editor,
    EditorRefused,
    Lifetime,
    NewKey,
    PasswordRefused,
    authenticate,
    create_editor,
    create_key,
    editor_of_session,
    end_session,
    generate_password,
    list_editors,
    list_keys,
    revoke_key,
    set_disabled,
    set_password,
    start_session,
    verify_key,
)
from app.catalog.names import normalise_name
from app.settings import Settings

__all__ = [
    "MIN_LENGTH",
    "SCOPES",
    "ApiKey",
    "Attempts",
    "Editor",
    "EditorRefused",
    "NewKey",
    "PasswordRefused",
    "SignedIn",
    "TooManyAttempts",
    "allows",
    "authenticate",
    "create_editor",
    "create_key",
    "editor_of_session",
    "end_session",
    "find_key",
    "generate_password",
    "lifetime_of",
    "list_editors",
    "list_keys",
    "revoke_key",
    "set_disabled",
    "set_password",
    "sign_in",
    "start_session",
]


def allows(engine: Engine, secret: str | None, scope: str) -> bool:
    """Whether a key was sent, is known and not revoked, and has the scope ("read" or "write")."""
    if not secret:
        return False
    key = verify_key(engine, secret)
    return key is not None and key.allows(scope)


def find_key(engine: Engine, secret: str | None) -> ApiKey | None:
    """The key behind a secret; None when none was sent, or it is unknown or revoked."""
    return verify_key(engine, secret) if secret else None


MINUTES = 15
PER_PAIR = 10
"""Failures at one name from one address: whoever guesses from elsewhere does not lock its editor out."""
PER_ADDRESS = 30
"""An office behind one address can mistype a while."""
PER_NAME = 100
"""Failures at one name from all addresses together: a guesser with many gets 9,600 tries a day."""


class TooManyAttempts(Exception):
    """Too many tries lately; `retry_after_s` says when one is free again."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"try again in {retry_after_s} s")
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class SignedIn:
    """An editor and the token that the browser is to keep."""

    editor: Editor
    token: str


@dataclass(slots=True)
class Attempts:
    """Failures of the last quarter of an hour, by name and address, counted in this process.

    Tries that run at the same moment are judged before any of them has failed: the limits may be passed once
    by as many as the server works on at a time.
    """

    limiter: MovingWindowRateLimiter = field(default_factory=lambda: MovingWindowRateLimiter(MemoryStorage()))

    def check(self, name: str, address: str) -> None:
        """Refuse a try before anything is looked up.

        Errors
        ------
        TooManyAttempts.
        """
        for item, key in self._windows(name, address):
            if not self.limiter.test(item, *key):
                ends = self.limiter.get_window_stats(item, *key).reset_time
                raise TooManyAttempts(max(1, math.ceil(ends - time.time())))

    def count(self, name: str, address: str) -> None:
        """Count a failure; what succeeds and what is refused counts nowhere."""
        for item, key in self._windows(name, address):
            self.limiter.hit(item, *key)

    def forgive(self, name: str, address: str) -> None:
        """Forget the failures at a name from the address its editor has now signed in from; others stay."""
        item, key = self._windows(name, address)[0]
        self.limiter.clear(item, *key)

    def _windows(self, name: str, address: str) -> tuple[tuple[RateLimitItem, tuple[str, ...]], ...]:
        # A digest, since a name sent by anyone may be as long as the form allows.
        named = hashlib.sha256(normalise_name(name).encode("utf-8", "surrogatepass")).hexdigest()
        return (
            (RateLimitItemPerMinute(PER_PAIR, MINUTES), ("sign-in name and address", named, address)),
            (RateLimitItemPerMinute(PER_ADDRESS, MINUTES), ("sign-in address", address)),
            (RateLimitItemPerMinute(PER_NAME, MINUTES), ("sign-in name", named)),
        )


def lifetime_of(settings: Settings) -> Lifetime:
    """How long browsers stay signed in by the settings."""
    return Lifetime(timedelta(minutes=settings.session_idle_minutes), timedelta(hours=settings.session_hours))


def sign_in(
    engine: Engine,
    attempts: Attempts,
    lifetime: Lifetime,
    name: str,
    password: str,
    address: str,
    replaces: str = "",
) -> SignedIn | None:
    """Sign a browser in; None when name and password are not those of an editor who may.

    Parameters
    ----------
    address: where the request comes from.
    replaces: token that the browser sent; a session never goes on under the token it had before signing in.

    Errors
    ------
    TooManyAttempts.
    """
    attempts.check(name, address)
    editor = authenticate(engine, name, password)
    if editor is None:
        attempts.count(name, address)
        return None
    attempts.forgive(name, address)
    return SignedIn(editor, start_session(engine, editor.id, lifetime, replaces))
