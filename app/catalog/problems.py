"""What can be wrong with the database and with data files, each in one sentence."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sqlalchemy.exc import DBAPIError

EXIT_CODE = 3


class DatabaseProblem(Exception):
    """The database cannot be used as it is. `kind` is for scripts, the sentence and `command` for people."""

    exit_code: ClassVar[int] = EXIT_CODE

    def __init__(self, kind: str, sentence: str, command: str = "") -> None:
        super().__init__(f"{sentence} Run: {command}" if command else sentence)
        self.kind = kind
        self.sentence = sentence
        self.command = command

    @property
    def transient(self) -> bool:
        """Whether trying again later can help: a 503 with Retry-After."""
        return self.kind in ("locked", "unreachable")

    @classmethod
    def missing(cls) -> DatabaseProblem:
        """No database, or one without tables."""
        return DatabaseProblem(
            "missing", "The database has not been set up yet.", "cardworth migrate && cardworth seed"
        )

    @classmethod
    def unseeded(cls) -> DatabaseProblem:
        """Tables without data."""
        return DatabaseProblem("unseeded", "The database holds no data yet.", "cardworth seed")

    @classmethod
    def older(cls) -> DatabaseProblem:
        """A database of an earlier version."""
        return DatabaseProblem(
            "older", "The database is of an earlier version of Cardworth.", "cardworth migrate"
        )

    @classmethod
    def newer(cls) -> DatabaseProblem:
        """A database of a later version."""
        return DatabaseProblem(
            "newer",
            "The database is of a later version of Cardworth than this program; "
            "install that version, or restore the backup made before the migration.",
            "cardworth restore BACKUP",
        )

    @classmethod
    def locked(cls) -> DatabaseProblem:
        """Another process holds the write lock."""
        return DatabaseProblem(
            "locked",
            "Another process has been writing to the database for more than 5 seconds; "
            "wait for it or stop it, then look again.",
            "cardworth doctor",
        )

    @classmethod
    def read_only(cls) -> DatabaseProblem:
        """The file, its folder or the server refuses writes."""
        return DatabaseProblem(
            "read_only",
            "The database cannot be written; give this user the right to write the file and its folder, "
            "then look again.",
            "cardworth doctor",
        )

    @classmethod
    def full(cls) -> DatabaseProblem:
        """No space left."""
        return DatabaseProblem(
            "full", "The disk of the database is full; make room, then look again.", "cardworth doctor"
        )

    @classmethod
    def failing_disk(cls) -> DatabaseProblem:
        """The disk neither reads nor writes."""
        return DatabaseProblem(
            "failing_disk",
            "The disk of the database cannot be read or written; see that it has room and is whole, "
            "then look again.",
            "cardworth doctor",
        )

    @classmethod
    def damaged(cls, detail: str) -> DatabaseProblem:
        """Not a database, or a broken one."""
        return DatabaseProblem(
            "damaged", f"The database is damaged or is no database ({detail}).", "cardworth restore BACKUP"
        )

    @classmethod
    def no_backup(cls, name: str, detail: str) -> DatabaseProblem:
        """A file to restore from that is none of ours: restoring it again helps nobody."""
        return DatabaseProblem(
            "damaged",
            f"{name} is no Cardworth database, or a damaged one ({detail}); nothing was changed. "
            "Name a file that `cardworth backup` wrote.",
        )

    @classmethod
    def unreachable(cls) -> DatabaseProblem:
        """The server or the folder is not there."""
        return DatabaseProblem(
            "unreachable",
            "The database cannot be opened; check the address in CARDWORTH_DATABASE_URL, then look again.",
            "cardworth doctor",
        )

    @classmethod
    def unsupported(cls, scheme: str) -> DatabaseProblem:
        """An address of another kind."""
        return DatabaseProblem(
            "unsupported",
            f"CARDWORTH_DATABASE_URL starts with {scheme!r}; use sqlite:///file or postgresql+psycopg://address.",
        )

    @classmethod
    def driver_missing(cls) -> DatabaseProblem:
        """PostgreSQL without psycopg."""
        return DatabaseProblem(
            "driver_missing",
            "The driver for PostgreSQL is not installed.",
            "pip install -r requirements-postgres.lock",
        )


_SQLITE_WORDS = {
    "locked": DatabaseProblem.locked,
    "readonly": DatabaseProblem.read_only,
    "read-only": DatabaseProblem.read_only,
    "disk i/o": DatabaseProblem.failing_disk,
    "full": DatabaseProblem.full,
    "unable to open": DatabaseProblem.unreachable,
    "no such table": DatabaseProblem.missing,
}
_DAMAGED = ("not a database", "malformed", "could not decode", "corrupt", "unsupported file format")
_SQL_STATES = {
    "55P03": DatabaseProblem.locked,
    "40P01": DatabaseProblem.locked,
    "42P01": DatabaseProblem.missing,
    "25006": DatabaseProblem.read_only,
    "42501": DatabaseProblem.read_only,
    "53100": DatabaseProblem.full,
}
_LOST_STATES = ("08", "57P", "28", "3D")
"""Beginnings of SQL states of a server that is not there or lets nobody in."""


UNREADABLE = (UnicodeDecodeError, json.JSONDecodeError)
"""What reading a cell raises whose bytes are not those that were written."""


def problem_of(error: Exception) -> DatabaseProblem | None:
    """The problem behind an error of a driver; None when the error is a fault of the program."""
    original = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(original, UNREADABLE):
        return DatabaseProblem.damaged("a text in it cannot be read")
    if isinstance(original, sqlite3.Error):
        return _of_sqlite(str(original))
    state = getattr(original, "sqlstate", None)
    if state in _SQL_STATES:
        return _SQL_STATES[state]()
    if not isinstance(error, DBAPIError):
        return None
    # psycopg gives no state when no connection was made.
    unconnected = state is None and type(original).__name__ == "OperationalError"
    if unconnected or error.connection_invalidated or (state or "").startswith(_LOST_STATES):
        return DatabaseProblem.unreachable()
    return None


def _of_sqlite(text: str) -> DatabaseProblem | None:
    words = text.lower()
    found = next((problem for fragment, problem in _SQLITE_WORDS.items() if fragment in words), None)
    if found is not None:
        return found()
    damaged = any(word in words for word in _DAMAGED)
    return DatabaseProblem.damaged(text) if damaged else None


MAX_FAULTS = 100

TEXTS = {
    "file_missing": "the file is missing",
    "not_utf8": "the file is not UTF-8 text",
    "file_empty": "the file has no header line",
    "too_large": "the file is larger than {limit} bytes",
    "header_unknown": "there is no such column; known are {known}",
    "header_twice": "the column stands twice",
    "header_missing": "the column is missing",
    "cells": "{found} cells where the header has {expected}",
    "csv": "not readable as CSV: {detail}",
    "json": "not readable as JSON: {detail}",
    "not_object": "not a JSON object",
    "required": "must not be empty",
    "not_a_number": "{value!r} is not a number",
    "not_finite": "{value!r} is not a finite number",
    "not_an_integer": "{value!r} is not a whole number",
    "not_a_boolean": "{value!r} is neither true nor false",
    "not_text": "{value!r} is not text",
    "control_character": "holds a control character",
    "not_a_date": "{value!r} is not a date (YYYY-MM-DD, YYYY-MM or YYYY)",
    "not_allowed": "{value!r} is none of {allowed}",
    "pattern": "{value!r} does not have the form {pattern}",
    "too_small": "{value} is less than {low}",
    "too_large_number": "{value} is more than {high}",
    "out_of_range": "{value} is not between {low:g} and {high:g}",
    "unknown_reference": "{value!r} is no id in {target}",
    "wrong_unit": "the unit of {figure} is {expected!r}, not {value!r}",
    "formula_required": "a derived figure needs its formula",
    "target_or_candidates": "needs either an id or candidates, not both",
    "per_gpu_mismatch": "{value} is not {expected:g}, the price of the instance by its cards",
    "valid_before_quoted": "ends before it begins",
    "duplicate": "says the same as line {earlier}",
    "architecture": "no architecture: {detail}",
    "two_chosen": "line {earlier} is already the chosen value of this figure",
    "more": "and {count} more faults",
}


@dataclass(frozen=True, slots=True)
class DataFault:
    """One fault. Line 1 is the header; column is the name in the header, or the key in a JSON line."""

    file: str
    line: int
    column: str
    code: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line or "", self.column) if part)
        return f"{place}: {TEXTS[self.code].format(**self.params)}"


class SeedFault(ValueError):
    """The data files cannot be loaded; nothing was written. `faults` holds up to 100 of them."""

    def __init__(self, faults: Sequence[DataFault], total: int | None = None) -> None:
        self.faults = tuple(faults[:MAX_FAULTS])
        self.total = total if total is not None else len(faults)
        lines = [str(fault) for fault in self.faults]
        if self.total > len(self.faults):
            lines.append(TEXTS["more"].format(count=self.total - len(self.faults)))
        super().__init__("\n".join(lines))
