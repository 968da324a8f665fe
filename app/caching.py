"""The caches of the process: bounded, locked, and all of this one kind. Core has none."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from threading import Event, Lock
from typing import Any, Generic, TypeVar

from cachetools import LRUCache

T = TypeVar("T")


class Cache(Generic[T]):
    """The most recently used results, up to a number of them; shared by the threads of one process.

    Each is computed once: who asks for one that is being computed waits for it.
    """

    def __init__(self, size: int) -> None:
        self._kept: LRUCache[Hashable, T] = LRUCache(size)
        self._lock = Lock()
        self._running: dict[Hashable, Event] = {}

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The kept result, or the one computed now; what `compute` raises reaches its own asker alone."""
        while True:
            with self._lock:
                found = self._kept.get(key)
                if found is not None:
                    return found
                running = self._running.get(key)
                if running is None:
                    mine = self._running[key] = Event()
                    break
            running.wait()
        try:
            made = compute()
            self.put(key, made)
            return made
        finally:
            with self._lock:
                self._running.pop(key, None)
            mine.set()

    def find(self, key: Hashable) -> T | None:
        """The kept result, None when there is none."""
        with self._lock:
            return self._kept.get(key)

    def put(self, key: Hashable, value: T) -> None:
        """Keep a result; the one unused for longest makes way."""
        with self._lock:
            self._kept[key] = value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()


def canonical(data: Any) -> str:
    """One text for one question, whatever the order of its fields."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
