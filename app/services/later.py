"""Answers that take seconds: worked out once in the background, while askers are told to come back."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from cachetools import LRUCache

logger = logging.getLogger("app.later")
T = TypeVar("T")

COMPUTING, READY, FAILED = "computing", "ready", "failed"
MOST_WAITING = 8
"""Askers that may wait at once: each holds a thread of the server."""


@dataclass(slots=True)
class Pending(Generic[T]):
    """How far one answer is; `value` is there when `status` is ready."""

    status: str = COMPUTING
    value: T | None = None
    done: threading.Event = field(default_factory=threading.Event)


class Later(Generic[T]):
    """Computes one answer at a time and keeps the most recently wanted ones."""

    def __init__(self, size: int) -> None:
        self._known: LRUCache[Hashable, Pending[T]] = LRUCache(size)
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._waiting = threading.Semaphore(MOST_WAITING)

    def get(self, key: Hashable, compute: Callable[[], T]) -> Pending[T]:
        """The answer as far as it is; the first to ask starts the work."""
        with self._lock:
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = Pending()
                threading.Thread(target=self._work, args=(found, compute), daemon=True).start()
            return found

    def wait(self, key: Hashable, compute: Callable[[], T], seconds: float) -> Pending[T]:
        """The same, after waiting for it; still computing when it takes longer, or too many wait already."""
        found = self.get(key, compute)
        if found.status == COMPUTING and self._waiting.acquire(blocking=False):
            try:
                found.done.wait(seconds)
            finally:
                self._waiting.release()
        return found

    def _work(self, pending: Pending[T], compute: Callable[[], T]) -> None:
        # One at a time: two would only slow each other and the requests down.
        with self._turn:
            try:
                pending.value = compute()
                pending.status = READY
            except Exception:
                logger.exception("An answer could not be computed in the background.")
                pending.status = FAILED
            finally:
                pending.done.set()
