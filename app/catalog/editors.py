"""Editors: people who sign in with a browser to change the catalogue. There is none until one is made."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine
from sqlmodel import Session, select

from app.catalog.changes import Author, record
from app.catalog.db import session, utc_now
from app.catalog.keys import SCOPES, includes
from app.catalog.names import normalise_name
from app.catalog.passwords import check_password, hash_password, is_outdated, verify_password
from app.catalog.tables import EditorRow, EditorSessionRow

TABLE = "editor"
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
            record(active.connection(), author, TABLE, row.id, None, {"name": shown, "scopes": row.scopes})
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
            record(active.connection(), author, TABLE, row.id, {"password_set_on": ""}, what)
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
            record(active.connection(), author, TABLE, row.id, before, {"disabled": disabled})
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
