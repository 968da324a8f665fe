"""A catalogue a hundred times larger: a million prices, every card a hundred times."""

from __future__ import annotations

import shutil
import sqlite3
import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

from app.commands.bench import question
from app.services.benchmark import Figure
from tests.benchmarks.start import Served, server

TIMES = 100
PRICES = 1_000_000
SLOWER, MEMORY_MB = 10.0, 600.0
"""Budgets: times the answer over the shipped catalogue, and resident memory."""
REPEATS = 5

_NUMBERS = "WITH RECURSIVE k(turn) AS (SELECT 1 UNION ALL SELECT turn + 1 FROM k WHERE turn < ?)"
_COPIES = {
    "gpu": ("id || '~' || turn", "name || ' #' || turn", {}),
    "gpu_figure": ("id || '~' || turn", "", {"gpu_id": "gpu_id || '~' || turn"}),
    "price": ("id || '~' || turn", "", {"gpu_id": "gpu_id || '~' || turn"}),
}


def enlarge(database: Path, target: Path, cards: int, prices: int) -> None:
    """A copy of a seeded database with `cards` times the cards and their figures, and so many price rows."""
    shutil.copyfile(database, target)
    with closing(sqlite3.connect(target)) as connection, connection:
        for table, (own, name, changed) in _COPIES.items() if cards > 1 else ():
            _copy(connection, table, cards - 1, {"id": own, **({"name": name} if name else {}), **changed})
        there = _count(connection)
        while there < prices:
            turns = max(1, min(4, (prices - there) // there))
            changed = {"id": f"id || '+{there}.' || turn", "amount": "amount * (1 + (turn % 7) * 0.01)"}
            _copy(connection, "price", turns, changed, prices - there)
            there = _count(connection)
        connection.execute(
            "INSERT INTO catalog_version (version, digest, rows, created_at) "
            "SELECT version, digest || '-large', rows, created_at FROM catalog_version "
            "ORDER BY id DESC LIMIT 1"
        )


def _count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM price").fetchone()[0])


def _copy(
    connection: sqlite3.Connection, table: str, times: int, changed: dict[str, str], limit: int = -1
) -> None:
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    chosen = ", ".join(changed.get(column, f'"{column}"') for column in columns)
    named = ", ".join(f'"{column}"' for column in columns)
    connection.execute(
        f"{_NUMBERS} INSERT INTO {table} ({named}) SELECT {chosen} FROM {table}, k LIMIT ?", (times, limit)
    )


def large_figures(folder: Path, database: Path, as_of: date) -> Iterator[Figure]:
    """Answers and memory over enlarged catalogues, beside those over the shipped one."""
    with server(database) as served:
        small_s = _answer_s(served, as_of)
    for name, cards in ((f"{PRICES:,} prices", 1), (f"{TIMES} x the cards, {PRICES:,} prices", TIMES)):
        large = folder / f"large-{cards}.db"
        enlarge(database, large, cards, PRICES)
        with server(large) as served:
            yield Figure(f"{name}: start, to /readyz", served.ready_s, "s")
            yield Figure("... processor time", served.cpu_s, "s")
            large_s = _answer_s(served, as_of)
            yield Figure("... POST /api/v1/shortlist, new question, p50", large_s * 1e3, "ms")
            yield Figure("... over the shipped catalogue", large_s / small_s, "x", SLOWER)
            yield Figure("... memory of the server", served.memory_mb(), "MB", MEMORY_MB)
        large.unlink()


def _answer_s(served: Served, as_of: date) -> float:
    """Median seconds of new questions; the first of them, which prepares the catalogue, apart."""
    client = served.client()
    times = []
    for batch in range(1, REPEATS + 2):
        start = time.perf_counter()
        client.call("POST", "/api/v1/shortlist", question("llama-3.1-8b", batch, as_of))
        times.append(time.perf_counter() - start)
    client.close()
    return statistics.median(times[1:])
