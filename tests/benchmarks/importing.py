"""Ten thousand prices from a table: checked, then stored."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from app.catalog.changes import Author
from app.catalog.db import create_engine_from_url
from app.catalog.importing import ImportOptions, import_file
from app.catalog.snapshot import Snapshot
from app.catalog.snapshot_load import load_snapshot
from app.services.benchmark import Figure

ROWS = 10_000
IMPORT_S = 5.0
AUTHOR = Author("benchmark")


def price_table(snapshot: Snapshot, as_of: date, rows: int = ROWS) -> bytes:
    """A table of prices near those that are known, each of another shop and day."""
    known = [
        (gpu_id, condition, choice.amount)
        for (gpu_id, condition), choice in snapshot.price_choices(as_of).items()
        if choice.currency == "CNY" and choice.per == "card"
    ]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["gpu_id", "condition", "amount", "currency", "observed_on", "channel", "source"])
    for i in range(rows):
        gpu_id, condition, amount = known[i % len(known)]
        day = as_of - timedelta(days=i // len(known) % 90)
        writer.writerow(
            [gpu_id, condition, round(amount * (1 + i % 5 / 100), 2), "CNY", day, f"shop {i}", "JD"]
        )
    return text.getvalue().encode()


def import_figures(database: Path, as_of: date) -> Iterator[Figure]:
    """Seconds of a dry run and of the import; the database is changed."""
    engine = create_engine_from_url(f"sqlite:///{database}")
    try:
        table = price_table(load_snapshot(engine), as_of)
        for name, dry in (("checked only", True), ("stored", False)):
            start, busy = time.perf_counter(), time.process_time()
            report = import_file(engine, "prices", table, AUTHOR, ImportOptions(as_of, dry_run=dry))
            seconds, busy = time.perf_counter() - start, time.process_time() - busy
            if report.fault_count or len(report.rows) != ROWS:
                raise RuntimeError(f"{report.fault_count} faults: {list(report.faults)[:3]}")
            yield Figure(f"import of {ROWS:,} prices, {name}", seconds, "s", IMPORT_S)
            yield Figure("... processor time", busy, "s")
    finally:
        engine.dispose()
