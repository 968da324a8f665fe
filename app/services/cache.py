"""A small cache of finished answers, shared by the threads of one process."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class AnswerCache(Generic[T]):
    """Keeps the most recently used answers, up to a number of them."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._answers: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The kept answer, or the one computed now. Two threads may compute the same one: both are right."""
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
        answer = compute()
        with self._lock:
            self._answers[key] = answer
            self._answers.move_to_end(key)
            while len(self._answers) > self.size:
                self._answers.popitem(last=False)
        return answer

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._answers.clear()


def canonical(data: Any) -> str:
    """One text for one question, whatever the order of its fields."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
