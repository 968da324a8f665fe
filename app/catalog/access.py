"""Who may do what: passwords, API keys, editors, and the sessions of signed-in browsers.

References
----------
1. RFC 9106, Argon2, section 4, the second recommended option: Argon2id, 3 passes, 4 lanes, 64 MiB, 128-bit
   salt, 256-bit tag. Read 2026-11-30.
2. NIST SP 800-63B-4, section 3.1.1.2, through a summary: 15 characters where the password is the only
   factor, no rules of composition, no forced change, NFKC before hashing. Read 2026-11-30.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from threading import BoundedSemaphore

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError
from sqlalchemy import Engine, delete, insert, or_, update
from sqlalchemy import select as select_columns
from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import Session, select

from app.catalog.changes import Author, record
from app.catalog.db import reading, session, transaction, utc_now
from app.catalog.names import normalise_name
from app.catalog.problems import DatabaseProblem
from app.catalog.tables import ApiKeyRow, EditorRow, EditorSessionRow
from app.catalog.versions import table_of

MIN_LENGTH = 15
MAX_LENGTH = 256
"""A longer one is no password; hashing it would only cost time."""
PASSES = 3
MEMORY_KIB = 65_536
LANES = 4
# Each hash takes MEMORY_KIB, so that many sign-ins at once must not take the memory of the machine.
_TURN = BoundedSemaphore(2)


class PasswordRefused(ValueError):
    """A password cannot be taken; `code` says why: password_short, password_long, password_is_name."""

    def __init__(self, code: str, limit: int = 0) -> None:
        super().__init__(code)
        self.code = code
        self.limit = limit


@lru_cache(maxsize=1)
def _hasher() -> PasswordHasher:
    return PasswordHasher(PASSES, MEMORY_KIB, LANES, hash_len=32, salt_len=16, type=Type.ID)


def check_password(password: str, name: str) -> None:
    """Refuse a password that is too easy to guess, or no password.

    Errors
    ------
    PasswordRefused.
    """
    length = len(_normalise(password))
    if length < MIN_LENGTH:
        raise PasswordRefused("password_short", MIN_LENGTH)
    if length > MAX_LENGTH:
        raise PasswordRefused("password_long", MAX_LENGTH)
    if normalise_name(password) == normalise_name(name) or len(set(password)) == 1:
        raise PasswordRefused("password_is_name")


def hash_password(password: str) -> str:
    """The hash to keep: Argon2id in the PHC string format, with its parameters and a fresh salt."""
    with _TURN:
        return _hasher().hash(_normalise(password))


def verify_password(kept: str | None, password: str) -> bool:
    """Whether a password is the one behind a hash; without a hash (no such editor) a no takes as long."""
    if len(password) > MAX_LENGTH:
        return False
    with _TURN:
        try:
            return _hasher().verify(kept or _nobodys_hash(), _normalise(password)) and kept is not None
        except (VerifyMismatchError, VerificationError, InvalidHashError):
            return False


def is_outdated(kept: str) -> bool:
    """Whether a hash was made with other parameters than those in force."""
    return _hasher().check_needs_rehash(kept)


def generate_password() -> str:
    """A password of 120 random bits for someone who will change it."""
    return secrets.token_urlsafe(15)


@lru_cache(maxsize=1)
def _nobodys_hash() -> str:
    return _hasher().hash(secrets.token_urlsafe(32))


def _normalise(password: str) -> bytes:
    """One form for what keyboards write in several ways; lone surrogates, which no keyboard writes, stay."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")


KEYS = "api_key"
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
            record(active.connection(), author, KEYS, key_id, None, {"name": name, "scopes": kept})
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
            record(active.connection(), author, KEYS, key_id, what, None)
    return True


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _key(row: ApiKeyRow) -> ApiKey:
    return ApiKey(row.id, row.name, tuple(row.scopes.split(",")), row.created_at, row.revoked_at)


EDITORS = "editor"
MAX_NAME = 64
# No brackets: the change log writes an API key as "name (id)", and nobody may pass for one.
_NAME = re.compile(r"[\w][\w .·@'-]*")
RESERVED = frozenset({"seed", "dry run", "command line"})
"""What the change log calls writers that are no editors."""


class EditorRefused(ValueError):
    """An editor cannot be made or changed; `code`: name_not_allowed, name_taken, unknown_editor."""

    def __init__(self, code: str, name: str) -> None:
        super().__init__(code)
        self.code = code
        self.name = name


@dataclass(frozen=True, slots=True)
class Editor:
    """Someone who may sign in; `name` is what the change log says."""

    id: str
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    disabled_at: datetime | None = None

    def allows(self, scope: str) -> bool:
        """Whether the editor has a scope, or one that includes it."""
        return includes(self.scopes, scope)


def create_editor(
    engine: Engine,
    name: str,
    password: str,
    scopes: tuple[str, ...] = ("write",),
    author: Author | None = None,
) -> Editor:
    """Make an editor; with an author the change log says who did.

    Errors
    ------
    EditorRefused for the name, PasswordRefused for the password, ValueError for no scope or an unknown one.
    """
    if not scopes or not set(scopes) <= set(SCOPES):
        raise ValueError(f"scopes are {', '.join(SCOPES)}")
    shown = " ".join(name.split())
    normalised = normalise_name(shown)
    if not _is_name(shown) or normalised in RESERVED:
        raise EditorRefused("name_not_allowed", shown)
    check_password(password, shown)
    kept = hash_password(password)
    with session(engine, write=True) as active:
        if _row(active, shown) is not None:
            raise EditorRefused("name_taken", shown)
        row = EditorRow(
            id=secrets.token_hex(6),
            name=shown,
            normalised=normalised,
            password_hash=kept,
            scopes=",".join(s for s in SCOPES if s in scopes),
            created_at=utc_now(),
        )
        active.add(row)
        if author is not None:
            record(active.connection(), author, EDITORS, row.id, None, {"name": shown, "scopes": row.scopes})
        return editor_of(row)


def list_editors(engine: Engine) -> list[Editor]:
    """All editors, disabled ones included, the oldest first."""
    with session(engine) as active:
        rows = active.exec(select(EditorRow)).all()
    return sorted((editor_of(row) for row in rows), key=lambda editor: (editor.created_at, editor.id))


def authenticate(engine: Engine, name: str, password: str) -> Editor | None:
    """The editor of a name and a password; None for a wrong one, an unknown or a disabled editor.

    Notes
    -----
    Each of these takes one hash, so that the time of the answer does not tell which names exist.
    """
    with session(engine) as active:
        row = _row(active, name)
    right = verify_password(row.password_hash if row else None, password)
    if row is None or not right or row.disabled_at is not None:
        return None
    if is_outdated(row.password_hash):
        kept = hash_password(password)
        with session(engine, write=True) as active:
            stored = active.get(EditorRow, row.id)
            # Not over a password that was changed in the meantime.
            if stored is not None and stored.password_hash == row.password_hash:
                stored.password_hash = kept
                active.add(stored)
    return editor_of(row)


def set_password(engine: Engine, name: str, password: str, author: Author | None = None) -> Editor:
    """Give an editor another password; every browser that is signed in has to sign in again.

    Errors
    ------
    EditorRefused (unknown_editor), PasswordRefused.
    """
    check_password(password, name)
    kept = hash_password(password)
    with session(engine, write=True) as active:
        row = _known(active, name)
        row.password_hash = kept
        active.add(row)
        _end_all(active, row.id)
        if author is not None:
            what = {"password_set_on": f"{utc_now():%Y-%m-%d}"}
            record(active.connection(), author, EDITORS, row.id, {"password_set_on": ""}, what)
        return editor_of(row)


def set_disabled(engine: Engine, name: str, disabled: bool, author: Author | None = None) -> Editor:
    """Keep an editor from signing in, browsers that are signed in included, or let one in again.

    Errors
    ------
    EditorRefused (unknown_editor).
    """
    with session(engine, write=True) as active:
        row = _known(active, name)
        before = {"disabled": row.disabled_at is not None}
        row.disabled_at = (row.disabled_at or utc_now()) if disabled else None
        active.add(row)
        if author is not None and before["disabled"] != disabled:
            record(active.connection(), author, EDITORS, row.id, before, {"disabled": disabled})
        if disabled:
            _end_all(active, row.id)
        return editor_of(row)


def editor_of(row: EditorRow) -> Editor:
    """The editor of a row, without the hash."""
    return Editor(row.id, row.name, tuple(row.scopes.split(",")), row.created_at, row.disabled_at)


def _is_name(name: str) -> bool:
    return len(name) <= MAX_NAME and _NAME.fullmatch(" ".join(name.split())) is not None


def _row(active: Session, name: str) -> EditorRow | None:
    # What cannot be a name is not looked up: PostgreSQL refuses a NUL, and text drivers a lone surrogate.
    if not _is_name(name):
        return None
    normalised = normalise_name(name)
    return active.exec(select(EditorRow).where(EditorRow.normalised == normalised)).first()


def _known(active: Session, name: str) -> EditorRow:
    row = _row(active, name)
    if row is None:
        raise EditorRefused("unknown_editor", name)
    return row


def _end_all(active: Session, editor_id: str) -> None:
    for browser in active.exec(select(EditorSessionRow).where(EditorSessionRow.editor_id == editor_id)):
        active.delete(browser)


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
                    _SESSIONS.c.id == _hash_of_token(replaces),
                    _SESSIONS.c.created_at < now - lifetime.total,
                    _SESSIONS.c.used_at < now - lifetime.idle,
                )
            )
        )
        row = {"id": _hash_of_token(token), "editor_id": editor_id, "created_at": now, "used_at": now}
        connection.execute(insert(_SESSIONS).values(row))
    return token


def editor_of_session(engine: Engine, token: str, lifetime: Lifetime) -> Editor | None:
    """The editor that a token stands for; None for an unknown, ended or expired one, or a disabled editor."""
    if not token or len(token) > MAX_TOKEN:
        return None
    query = (
        select_columns(_EDITORS, _SESSIONS.c.created_at.label("began_at"), _SESSIONS.c.used_at)
        .join(_SESSIONS, _SESSIONS.c.editor_id == _EDITORS.c.id)
        .where(_SESSIONS.c.id == _hash_of_token(token))
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
        connection.execute(delete(_SESSIONS).where(_SESSIONS.c.id == _hash_of_token(token)))


def _note_use(engine: Engine, token: str, now: datetime) -> None:
    try:
        with transaction(engine) as connection:
            connection.execute(
                update(_SESSIONS).where(_SESSIONS.c.id == _hash_of_token(token)).values(used_at=now)
            )
    except (DatabaseProblem, SQLAlchemyError):
        # A page can be read while another process writes; the next request notes it.
        return


def _hash_of_token(token: str) -> str:
    """256 random bits need no slow hash."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _in_utc(moment: datetime) -> datetime:
    """SQLite gives times back without their zone."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
