"""How long a file may be worked on, and for whom."""

from __future__ import annotations

import time

from app.catalog.imports.values import ImportRefused
from app.stopping import nobody_waits

MAX_SECONDS = 60.0
"""For all of an import that a key allows: reading its file takes two of them at most."""


class Deadline:
    """A moment after which work stops; it stops too when whoever asked has left."""

    def __init__(self, seconds: float = MAX_SECONDS) -> None:
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        """ImportRefused when the time is up or nobody waits for the answer."""
        if time.monotonic() > self._end:
            raise ImportRefused("file_takes_too_long")
        if nobody_waits():
            raise ImportRefused("nobody_waits")
