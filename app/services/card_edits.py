"""A price or a figure of one card, as an editor types it: one row of an import, with its doubts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from sqlalchemy import Engine

from app.catalog.changes import Author
from app.catalog.columns.cells import BASES, FIGURE_UNITS
from app.catalog.importing import ImportOptions, ImportReport, import_items
from app.catalog.records import CHANNEL_KINDS, LAUNCH, PER, TAXES
from app.catalog.snapshot import Snapshot

__all__ = ["BASES", "CHANNELS", "FIGURE_UNITS", "PER", "TAXES", "add_price", "correct_figure"]
CHANNELS = tuple(kind for kind in CHANNEL_KINDS if kind != LAUNCH)


def add_price(
    engine: Engine, gpu_id: str, cells: Mapping[str, str], author: Author, today: date, *, confirm: bool
) -> ImportReport:
    """Add one observation by the way of an import: its checks, its doubts, its entry in the change log.

    Parameters
    ----------
    cells: fields of a price as they were typed; empty ones are left out.
    confirm: accept a price that is far from what is known.
    """
    item = {"gpu_id": gpu_id} | {name: text for name, text in cells.items() if text}
    return import_items(engine, "prices", [item], author, ImportOptions(today, confirm=confirm))


def correct_figure(
    engine: Engine,
    snapshot: Snapshot,
    gpu_id: str,
    cells: Mapping[str, str],
    author: Author,
    today: date,
    *,
    confirm: bool,
) -> ImportReport:
    """Put another value of a figure in force; the one it supersedes is kept beside it, not chosen.

    Parameters
    ----------
    cells: figure, value, basis, as_of, source, source_url, formula, as they were typed.

    Notes
    -----
    The unit is the one in which the figure is kept. Why the value is chosen stands beside it as its note.
    """
    item = {"gpu_id": gpu_id, "note": author.why} | {name: text for name, text in cells.items() if text}
    before = next(
        (e.id for e in snapshot.all_figures(gpu_id) if e.chosen and e.name == cells.get("figure")), ""
    )
    # A value that is worked out when the catalogue is read is no row that could be superseded.
    if before and ":" not in before:
        item["supersedes"] = before
    return import_items(engine, "figures", [item], author, ImportOptions(today, confirm=confirm))
