"""The pages rendered last: many readers open the same link, and a page depends on its key alone."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

Kept = tuple[bytes, dict[str, str]]
"""Body and the headers that go with it."""


class PageCache:
    """The most recently used pages, up to a number of them; shared by the threads of one process."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._pages: OrderedDict[Hashable, Kept] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> Kept | None:
        """The kept page, None when it has to be rendered."""
        with self._lock:
            found = self._pages.get(key)
            if found is not None:
                self._pages.move_to_end(key)
            return found

    def put(self, key: Hashable, page: Kept) -> None:
        """Keep a page; the one unused for longest makes way."""
        with self._lock:
            self._pages[key] = page
            self._pages.move_to_end(key)
            while len(self._pages) > self.size:
                self._pages.popitem(last=False)
