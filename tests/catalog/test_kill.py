"""A process killed in the middle of a load leaves the database whole."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from app.catalog.db import create_engine_from_url, upgrade
from app.catalog.seed import load_seed
from tests.catalog.samples import sample_seed, write_seed

ROOT = Path(__file__).resolve().parents[2]
# Stops itself, by the kernel's hand and without any clean-up, before the given INSERT of the load.
CHILD = """
import os, signal, sys
from pathlib import Path
from sqlalchemy import event
from app.catalog.db import create_engine_from_url
from app.catalog.seed import load_seed
engine = create_engine_from_url(sys.argv[1])
seen = 0
@event.listens_for(engine, "before_cursor_execute")
def stop(connection, cursor, statement, parameters, context, many):
    global seen
    seen += statement.startswith("INSERT")
    if seen == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
load_seed(engine, Path(sys.argv[2]))
"""


@pytest.mark.parametrize("insert", [1, 3, 6, 9, 12])
def test_kill_in_mid_load(tmp_path: Path, insert: int) -> None:
    rows = sample_seed()
    good = rows["prices.csv"][0]
    rows["prices.csv"] = [good | {"amount": str(9000 + i), "note": "x" * 200} for i in range(6000)]
    folder = write_seed(tmp_path / "seed", rows)
    url = f"sqlite:///{tmp_path / 'catalog.db'}"
    upgrade(url)
    child = subprocess.run(
        [sys.executable, "-c", CHILD, url, str(folder), str(insert)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT count(*) FROM source").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM price").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM catalog_version").fetchone() == (0,)
    engine = create_engine_from_url(url)
    assert load_seed(engine, folder).inserted > 6000
    engine.dispose()
