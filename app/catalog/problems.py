"""What can be wrong with the database, each in one sentence with the command to run."""

from __future__ import annotations

import sqlite3
from typing import ClassVar

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
        return cls("missing", "The database has not been set up yet.", "cardworth migrate && cardworth seed")

    @classmethod
    def unseeded(cls) -> DatabaseProblem:
        """Tables without data."""
        return cls("unseeded", "The database holds no data yet.", "cardworth seed")

    @classmethod
    def older(cls) -> DatabaseProblem:
        """A database of an earlier version."""
        return cls("older", "The database is of an earlier version of Cardworth.", "cardworth migrate")

    @classmethod
    def newer(cls) -> DatabaseProblem:
        """A database of a later version."""
        return cls(
            "newer",
            "The database is of a later version of Cardworth than this program; "
            "install that version, or restore the backup made before the migration.",
            "cardworth restore BACKUP",
        )

    @classmethod
    def locked(cls) -> DatabaseProblem:
        """Another process holds the write lock."""
        return cls(
            "locked",
            "Another process has been writing to the database for more than 5 seconds; "
            "wait for it or stop it, then look again.",
            "cardworth doctor",
        )

    @classmethod
    def read_only(cls) -> DatabaseProblem:
        """The file, its folder or the server refuses writes."""
        return cls(
            "read_only",
            "The database cannot be written; give this user the right to write the file and its folder, "
            "then look again.",
            "cardworth doctor",
        )

    @classmethod
    def full(cls) -> DatabaseProblem:
        """No space left."""
        return cls(
            "full", "The disk of the database is full; make room, then look again.", "cardworth doctor"
        )

    @classmethod
    def damaged(cls, detail: str) -> DatabaseProblem:
        """Not a database, or a broken one."""
        return cls(
            "damaged", f"The database is damaged or is no database ({detail}).", "cardworth restore BACKUP"
        )

    @classmethod
    def no_backup(cls, name: str, detail: str) -> DatabaseProblem:
        """A file to restore from that is none of ours: restoring it again helps nobody."""
        return cls(
            "damaged",
            f"{name} is no Cardworth database, or a damaged one ({detail}); nothing was changed. "
            "Name a file that `cardworth backup` wrote.",
        )

    @classmethod
    def unreachable(cls) -> DatabaseProblem:
        """The server or the folder is not there."""
        return cls(
            "unreachable",
            "The database cannot be opened; check the address in CARDWORTH_DATABASE_URL, then look again.",
            "cardworth doctor",
        )

    @classmethod
    def unsupported(cls, scheme: str) -> DatabaseProblem:
        """An address of another kind."""
        return cls(
            "unsupported",
            f"CARDWORTH_DATABASE_URL starts with {scheme!r}; use sqlite:///file or postgresql+psycopg://address.",
        )

    @classmethod
    def driver_missing(cls) -> DatabaseProblem:
        """PostgreSQL without psycopg."""
        return cls(
            "driver_missing",
            "The driver for PostgreSQL is not installed.",
            "pip install -r requirements-postgres.lock",
        )


def problem_of(error: Exception) -> DatabaseProblem | None:
    """The problem behind an error of a driver; None when the error is a fault of the program."""
    original = error.orig if isinstance(error, DBAPIError) else error
    words = str(original).lower()
    if isinstance(original, sqlite3.Error):
        for fragment, problem in (
            ("locked", DatabaseProblem.locked),
            ("readonly", DatabaseProblem.read_only),
            ("read-only", DatabaseProblem.read_only),
            ("full", DatabaseProblem.full),
            ("unable to open", DatabaseProblem.unreachable),
            ("no such table", DatabaseProblem.missing),
        ):
            if fragment in words:
                return problem()
        if "not a database" in words or "malformed" in words:
            return DatabaseProblem.damaged(str(original))
        return None
    state = getattr(original, "sqlstate", None)
    if state in ("55P03", "40P01"):
        return DatabaseProblem.locked()
    if state == "42P01":
        return DatabaseProblem.missing()
    if state in ("25006", "42501"):
        return DatabaseProblem.read_only()
    if state == "53100":
        return DatabaseProblem.full()
    if isinstance(error, DBAPIError) and (
        error.connection_invalidated or (state or "").startswith(("08", "57P", "28", "3D"))
    ):
        return DatabaseProblem.unreachable()
    if isinstance(error, DBAPIError) and state is None and type(original).__name__ == "OperationalError":
        # psycopg gives no state when no connection was made.
        return DatabaseProblem.unreachable()
    return None
