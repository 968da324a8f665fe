"""Benchmarks against the budgets: `make bench`. Ratios within one run; nothing here is a test of the suite.

python -m tests.bench                 a table, then one line of JSON
python -m tests.bench --quick         fewer repetitions, without the catalogue that is a hundred times larger
python -m tests.bench --only routes   one part: core routes import start sizes large
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from app.catalog.db import create_engine_from_url, upgrade
from app.catalog.seed import load_seed
from app.catalog.snapshot_load import load_snapshot
from app.commands.bench import MODELS, QUICK_REPEATS, REPEATS, as_json, as_table, server_figures
from app.services.benchmark import Figure, engine_figures
from app.settings import Settings
from tests.benchmarks.importing import import_figures
from tests.benchmarks.large import large_figures
from tests.benchmarks.sizes import installed_figures, transfer_figures
from tests.benchmarks.start import start_figures

AS_OF = date(2026, 11, 30)
PARTS = ("core", "routes", "import", "start", "sizes", "large")


def figures(part: str, folder: Path, database: Path, repeats: int) -> Iterator[Figure]:
    """Measure one part over a seeded database, which is left as it is."""
    if part == "core":
        engine = create_engine_from_url(f"sqlite:///{database}")
        yield from engine_figures(load_snapshot(engine), AS_OF, repeats)
        engine.dispose()
    elif part == "routes":
        settings = Settings(database_url=f"sqlite:///{database}")
        yield from server_figures(settings, MODELS, AS_OF, repeats)
    elif part == "import":
        copy = folder / "import.db"
        shutil.copyfile(database, copy)
        yield from import_figures(copy, AS_OF)
    elif part == "start":
        yield from start_figures(folder)
    elif part == "sizes":
        yield from transfer_figures(database)
        yield from installed_figures()
    else:
        yield from large_figures(folder, database, AS_OF)


def main() -> None:
    """Seed a database of its own, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=PARTS, action="append")
    chosen = parser.parse_args()
    parts = chosen.only or [part for part in PARTS if not (chosen.quick and part == "large")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = folder / "bench.db"
        engine = create_engine_from_url(f"sqlite:///{database}")
        upgrade(engine)
        load_seed(engine)
        engine.dispose()
        repeats = QUICK_REPEATS if chosen.quick else REPEATS
        found = [figure for part in parts for figure in figures(part, folder, database, repeats)]
    print("\n".join(as_table(found)))
    print(json.dumps(as_json(found)))


if __name__ == "__main__":
    main()
