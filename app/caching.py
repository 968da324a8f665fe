"""The caches of the process: bounded, locked, and all of this one kind. Core has none."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Generic, TypeVar

from cachetools import LRUCache

T = TypeVar("T")


class Cache(Generic[T]):
    """The most recently used results, up to a number of them; shared by the threads of one process."""

    def __init__(self, size: int) -> None:
        self._kept: LRUCache[Hashable, T] = LRUCache(size)
        self._lock = Lock()

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The kept result, or the one computed now. Two threads may compute the same one: both are right."""
        found = self.find(key)
        if found is None:
            found = compute()
            self.put(key, found)
        return found

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
