"""Where the files that are not Python live: in an installed wheel under app/_data, else in the checkout."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

NAMES = ("templates", "static", "migrations", "seed_data", "locales")

_PACKAGE = Path(__file__).resolve().parent
_PACKAGED = _PACKAGE / "_data"
ROOT = _PACKAGED if _PACKAGED.is_dir() else _PACKAGE.parent


class ResourceMissing(RuntimeError):
    """A file that belongs to the application is not there."""


def resource_path(name: str, *parts: str) -> Path:
    """Path of a resource folder (one of NAMES), or of something inside it."""
    if name not in NAMES:
        raise ValueError(f"{name!r} is not a resource folder; there are {', '.join(NAMES)}")
    folder = ROOT / name
    if not folder.is_dir():
        raise ResourceMissing(
            f"The folder {name!r} of Cardworth is missing; install it again with `make install`."
        )
    return folder.joinpath(*parts)


def read_table(path: Path) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Rows of a CSV file with their lines."""
    with path.open(encoding="utf-8", newline="") as opened:
        rows = csv.DictReader(opened)
        for row in rows:
            yield rows.line_num, row
