"""Tables that a reader uploads or pastes, and who may keep them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from app.errors import AppError
from app.services.access import find_key
from app.services.imports import Author, ImportRefused
from app.services.limits import limits_of
from app.services.uploads import Item, carried, from_file, read_items
from app.web.access import editor_of

T = TypeVar("T")
MAX_FILES = 12
MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class Upload:
    """What a form sent: its text fields, and the tables in it."""

    fields: dict[str, str]
    tables: tuple[tuple[str, bytes], ...] = ()
    """Name and content; a pasted table has no name."""
    taken: frozenset[str] = field(default_factory=frozenset)
    """Names of the fields that were sent, empty ones too."""

    def text(self, name: str) -> str:
        """A field in one line, cut to a sane length."""
        return one_line(self.fields.get(name, "")[: 2 * MAX_NAME]).strip()[:MAX_NAME]


def one_line(text: str) -> str:
    """A text without line breaks and control characters, which PostgreSQL and logs do not take."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "" for c in text)


async def read_upload(request: Request) -> Upload:
    """The form of a request; a 429 for an address that sends too many."""
    _count(request)
    fields: dict[str, str] = {}
    tables: list[tuple[str, bytes]] = []
    async with request.form(max_files=MAX_FILES, max_fields=1_000) as form:
        for name, value in form.multi_items():
            if isinstance(value, UploadFile):
                content = await value.read()
                if content:
                    tables.append(((value.filename or "")[:MAX_NAME], content))
            else:
                fields[name] = value
    if fields.get("table", "").strip():
        tables.append(("", fields["table"].encode()))
    return Upload(fields, tuple(tables), frozenset(fields))


def items_of(upload: Upload, kind: str, limit: int) -> list[Item]:
    """The rows that a form holds: those that it carries, else those of its tables.

    Errors
    ------
    ImportRefused when a table cannot be read, none is there, or it has more rows than a form carries.
    """
    if upload.fields.get("items"):
        try:
            return carried(json.loads(upload.fields["items"]), limit)
        except (ValueError, RecursionError) as error:
            if isinstance(error, ImportRefused):
                raise
            raise ImportRefused("not_json") from error
    if not upload.tables:
        raise ImportRefused("file_empty")
    found: list[Item] = []
    for name, content in upload.tables:
        try:
            rows = read_items(kind, content, limit)
        except ImportRefused as refused:
            raise ImportRefused(refused.code, **refused.params, file=name) from refused
        if kind == "quotes":
            typed = len(upload.tables) == 1 and bool(upload.text("supplier"))
            rows = [from_file(row, name, alone=typed) for row in rows]
        found.extend(rows)
        if len(found) > limit:
            raise ImportRefused("too_many_rows", limit=limit)
    return found


def carry(items: list[Item]) -> str:
    """Rows as a hidden field of the next form holds them."""
    return json.dumps([{"line": i.line, "cells": dict(i.cells)} for i in items], ensure_ascii=False)


def writer_of(request: Request, upload: Upload) -> Author | None:
    """Who writes: the editor who is signed in, else the key in the form; None when neither may write."""
    editor = editor_of(request)
    if editor is not None and editor.allows("write"):
        return Author(editor.name, upload.text("why"))
    key = find_key(request.app.state.engine, upload.text("key"))
    if key is None or not key.allows("write"):
        return None
    return Author(f"{key.name} ({key.id})", upload.text("why"))


async def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Work on the database or on a file, off the event loop."""
    return await run_in_threadpool(function, *arguments)


def _count(request: Request) -> None:
    address = request.client.host if request.client else "unknown"
    if not limits_of(request.app.state).take("uploads", address):
        raise AppError(
            429, "too-many-requests", "Too many requests", "Try again later.", headers={"retry-after": "60"}
        )
