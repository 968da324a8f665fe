"""Results that depend on the catalogue and a few words of the question, kept while the catalogue stands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")
SIZE = 64


class Kept(Generic[T]):
    """The newest results, found again by the identity of some objects and an equal key."""

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._results: dict[Hashable, tuple[tuple[object, ...], T]] = {}
        self._lock = threading.Lock()

    def get(self, objects: tuple[object, ...], key: Hashable, compute: Callable[[], T]) -> T:
        """The kept result, or the one computed now.

        Parameters
        ----------
        objects: immutable inputs too large to compare; they are held, so that no other takes their identity.
        key: all other inputs.

        Returns
        -------
        What `compute` gives for them; two threads may compute it at the same time.
        """
        place = (*map(id, objects), key)
        # Reading takes no lock: an answer asks hundreds of times, and one look-up in a dict is atomic.
        found = self._results.get(place)
        if found is not None:
            return found[1]
        result = compute()
        with self._lock:
            self._results[place] = (objects, result)
            while len(self._results) > self._size:
                del self._results[next(iter(self._results))]
        return result
