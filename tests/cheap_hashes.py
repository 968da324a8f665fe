"""Password hashes that cost nothing, for tests of anything but the hashes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app.catalog import access


@contextmanager
def cheap_hashes() -> Iterator[None]:
    """Inside, a hash takes 64 KiB in place of 64 MiB."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(access, "MEMORY_KIB", 64)
        _forget()
        yield
    _forget()


def _forget() -> None:
    access._hasher.cache_clear()
    access._nobodys_hash.cache_clear()
