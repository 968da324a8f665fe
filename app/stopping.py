"""Whether anybody still waits for the work at hand: who works long asks now and then, and stops."""

from __future__ import annotations

from contextvars import ContextVar
from threading import Event

_left: ContextVar[Event | None] = ContextVar("left", default=None)


def stop_when(left: Event) -> None:
    """Let `left` say, for the rest of this context and the threads it starts work in, that nobody waits."""
    _left.set(left)


def nobody_waits() -> bool:
    """Whether who asked for this work has left; False where nobody is known to ask, as on a terminal."""
    left = _left.get()
    return left is not None and left.is_set()
