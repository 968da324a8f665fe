"""What a file holds before anything is interpreted: rows of cells, or objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MAX_BYTES = 20_000_000
MAX_ROWS = 200_000
MAX_COLUMNS = 200
MAX_CELL = 100_000


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rows of a file as they stand, with the line of each."""

    lines: tuple[int, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of a JSON file, in their order."""

    items: tuple[Any, ...]
    single: bool = False
    """Not a list but one object alone."""
