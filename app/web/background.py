"""Long work done aside: the first reader starts it, the next ones find it done."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock, Thread
from typing import Generic, TypeVar

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Background(Generic[T]):
    """Results by key; each is worked out once, in a thread of its own, one at a time."""

    def __init__(self, size: int = 2) -> None:
        self.size = size
        self._done: OrderedDict[Hashable, T] = OrderedDict()
        self._running: Thread | None = None
        self._lock = Lock()

    def get(self, key: Hashable, work: Callable[[], T]) -> T | None:
        """The result, or None while it is being worked out (which this call starts if nothing runs)."""
        with self._lock:
            if key in self._done:
                return self._done[key]
            if self._running is None or not self._running.is_alive():
                # A daemon: the server may stop without waiting for it.
                self._running = Thread(target=self._run, args=(key, work), daemon=True, name="background")
                self._running.start()
        return None

    def wait(self, seconds: float) -> None:
        """Wait for what runs now."""
        running = self._running
        if running is not None:
            running.join(seconds)

    def _run(self, key: Hashable, work: Callable[[], T]) -> None:
        try:
            result = work()
        except Exception:
            # Nobody waits here; the next reader starts it again, and the log says why.
            _log.exception("background work failed")
            return
        with self._lock:
            self._done[key] = result
            while len(self._done) > self.size:
                self._done.popitem(last=False)
