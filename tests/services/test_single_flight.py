"""What many ask for at once is worked out once; a write is seen by who wrote, readers do not wait for it."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from app.caching import Cache
from app.catalog.changes import Author
from app.catalog.db import create_engine_from_url
from app.catalog.importing import ImportOptions, import_items
from app.catalog.snapshot import Snapshot
from app.main import create_app
from app.services import store as store_module
from app.services.store import CatalogStore, prepared
from app.services.warming import questions, warm
from app.settings import Settings

DAY = date(2026, 11, 30)
WAIT_S = 30.0


@pytest.fixture
def engine(seeded_database: Path, tmp_path: Path) -> Iterator[Engine]:
    path = tmp_path / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    made = create_engine_from_url(f"sqlite:///{path}")
    yield made
    made.dispose()


def together(count: int, work: Callable[[], object]) -> list[object]:
    """The results of many threads that begin at the same moment."""
    gate, found = threading.Barrier(count), []

    def run() -> None:
        gate.wait()
        found.append(work())

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    return found


def write_price(engine: Engine, amount: int) -> None:
    item = {
        "gpu_id": "rtx4090",
        "amount": amount,
        "currency": "CNY",
        "condition": "new",
        "observed_on": "2026-11-29",
        "channel": f"shop {amount}",
        "region": "CN",
        "source": "test",
    }
    report = import_items(engine, "prices", [item], Author("test"), ImportOptions(DAY, confirm=True))
    assert report.ok and report.stored, report.faults


def amounts(snapshot: Snapshot) -> set[float]:
    return {o.amount for o in snapshot.cards["rtx4090"].observations}


def test_a_result_is_computed_once_however_many_ask() -> None:
    cache: Cache[int] = Cache(4)
    runs: list[int] = []
    release = threading.Event()

    def compute() -> int:
        runs.append(1)
        release.wait(WAIT_S)
        return 7

    timer = threading.Timer(0.2, release.set)
    timer.start()
    assert together(20, lambda: cache.get("key", compute)) == [7] * 20
    assert len(runs) == 1


def test_a_failure_is_its_own_askers_and_is_tried_again() -> None:
    cache: Cache[int] = Cache(4)

    def fail() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.get("key", fail)
    assert cache.get("key", lambda: 1) == 1


def test_a_version_is_read_once_and_the_old_one_serves_meanwhile(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, reads = threading.Event(), []
    read = store_module.read_catalogue

    def slow(of: Engine) -> Snapshot:
        reads.append(1)
        if len(reads) > 1:
            held.wait(WAIT_S)
        return read(of)

    monkeypatch.setattr(store_module, "read_catalogue", slow)
    store = CatalogStore(engine, aside=True)
    old = store.snapshot()
    other = create_engine_from_url(engine.url)
    write_price(other, 14_321)
    # Nobody waits for the reading of what another process wrote.
    assert together(20, store.snapshot) == [old] * 20
    held.set()
    for thread in threading.enumerate():
        if thread.name == "reading":
            thread.join(WAIT_S)
    assert 14_321 in amounts(store.snapshot())
    assert len(reads) == 2
    other.dispose()


def test_who_writes_sees_it_when_the_write_is_over(engine: Engine) -> None:
    store = CatalogStore(engine, aside=True)
    store.snapshot()
    for amount in (14_400, 14_500):
        write_price(engine, amount)
        assert amount in amounts(store.snapshot())


def test_a_price_leaves_what_rests_on_cards_and_measurements(engine: Engine) -> None:
    store = CatalogStore(engine)
    before = store.snapshot()
    kept = prepared(before)
    write_price(engine, 14_600)
    after = store.snapshot()
    assert after is not before and prepared(after) is kept


def test_many_writers_stand_in_one_line(engine: Engine) -> None:
    amounts_written = iter(range(14_000, 14_012))
    lock = threading.Lock()

    def write() -> None:
        with lock:
            amount = next(amounts_written)
        write_price(engine, amount)

    CatalogStore(engine, aside=True).snapshot()
    assert len(together(12, write)) == 12
    path = str(engine.url.database)
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT count(*) FROM price WHERE channel LIKE 'shop 140%'").fetchone()[0]
    assert found == 12


def test_warming_asks_a_question_of_every_family_and_task(engine: Engine) -> None:
    snapshot = CatalogStore(engine).snapshot()
    asked = list(questions(snapshot))
    assert len({q["workload"]["model"]["preset"] for q in asked}) == 5
    assert {q["workload"]["task"] for q in asked} == {"inference", "training", "lora", "qlora"}
    warm(snapshot, DAY)


def test_a_serving_instance_is_ready_when_it_is_warm(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()
    monkeypatch.setattr("app.services.warming.warm", lambda _snapshot, _today: go.wait(WAIT_S))
    with TestClient(create_app(settings, serving=True)) as client:
        assert client.get("/healthz").status_code == 200
        answer = client.get("/readyz")
        assert answer.status_code == 503 and answer.headers["retry-after"]
        go.set()
        for thread in threading.enumerate():
            if thread.name == "warming":
                thread.join(WAIT_S)
        assert client.get("/readyz").status_code == 200
