"""Reports of speed: worked out once, for the data they rest on, aside, and kept."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text

from app.catalog.db import create_engine_from_url
from app.catalog.reports import KEPT_BASES, StoredReport, newest_report, store_report
from app.catalog.snapshot import Snapshot
from app.services import speed_reports
from app.services.speed_reports import SpeedReport, SpeedReports, basis_of
from app.services.store import CatalogStore


@pytest.fixture
def engine(seeded_database: Path, tmp_path: Path) -> Engine:
    path = tmp_path / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    return create_engine_from_url(f"sqlite:///{path}")


@pytest.fixture
def snapshot(engine: Engine) -> Snapshot:
    return CatalogStore(engine).snapshot()


class Counted:
    """Work that takes no time and counts its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.release = threading.Event()
        self.release.set()

    def __call__(self, engine: Engine, snapshot: Snapshot, part: str) -> StoredReport:
        del engine
        assert self.release.wait(30)
        self.calls.append(part)
        return StoredReport(basis_of(snapshot), {"call": len(self.calls)})


def until(found: Callable[[], SpeedReport], status: str) -> Any:
    deadline = time.monotonic() + 10
    while (report := found()).status != status:
        assert time.monotonic() < deadline, report.status
        time.sleep(0.005)
    return report.body


def test_a_report_is_worked_out_once_by_however_many_ask(engine: Engine, snapshot: Snapshot) -> None:
    work = Counted()
    work.release.clear()
    reports = SpeedReports(engine, work)
    threads = [threading.Thread(target=reports.wait, args=(snapshot, "report", 10)) for _ in range(6)]
    for thread in threads:
        thread.start()
    assert reports.get(snapshot).status == "computing"
    work.release.set()
    for thread in threads:
        thread.join(10)
    assert until(lambda: reports.get(snapshot), "ready")["call"] == 1
    assert work.calls == ["report"]


def test_it_survives_a_restart_and_takes_the_present_version(engine: Engine, snapshot: Snapshot) -> None:
    first = Counted()
    until(lambda: SpeedReports(engine, first).wait(snapshot, "report", 10), "ready")
    again = Counted()
    # Another version of the catalogue with the same measurements: prices have changed.
    dearer = replace(snapshot, version="2027.01-ffffffff", digest="f" * 64)
    report = SpeedReports(engine, again).get(dearer)
    assert report.status == "ready" and report.body is not None
    assert report.body["versions"]["catalog"] == "2027.01-ffffffff"
    assert again.calls == []


def test_another_measurement_makes_another_report_and_shows_the_old_one_until_then(
    engine: Engine, snapshot: Snapshot
) -> None:
    work = Counted()
    reports = SpeedReports(engine, work)
    until(lambda: reports.wait(snapshot, "report", 10), "ready")
    work.release.clear()
    more = replace(snapshot, benchmarks=snapshot.benchmarks[1:], digest="e" * 64)
    assert basis_of(more) != basis_of(snapshot)
    before = reports.get(more)
    assert before.status == "previous" and before.body == {"call": 1}
    work.release.set()
    assert until(lambda: reports.get(more), "ready")["call"] == 2
    assert until(lambda: reports.get(snapshot), "ready")["call"] == 1
    assert work.calls == ["report", "report"]


def test_prices_are_no_part_of_what_it_rests_on(snapshot: Snapshot) -> None:
    assert basis_of(replace(snapshot, cards={}, rentals=(), available={})) == basis_of(snapshot)
    assert basis_of(replace(snapshot, models={})) != basis_of(snapshot)
    assert basis_of(replace(snapshot, gpus=snapshot.gpus[1:])) != basis_of(snapshot)


def test_a_failure_is_said_and_tried_again_later(
    engine: Engine, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def fail(*_: Any) -> StoredReport:
        calls.append(1)
        raise EOFError

    reports = SpeedReports(engine, fail)
    assert reports.wait(snapshot, "report", 10).status == "failed"
    assert reports.get(snapshot).status == "failed" and len(calls) == 1
    monkeypatch.setattr(speed_reports, "RETRY_SECONDS", -1.0)
    reports.wait(snapshot, "report", 10)
    assert len(calls) >= 2


def test_a_database_that_cannot_be_written_still_has_its_report(
    engine: Engine, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise speed_reports.DatabaseProblem.unseeded()

    monkeypatch.setattr(speed_reports, "store_report", refuse)
    reports = SpeedReports(engine, Counted())
    assert until(lambda: reports.wait(snapshot, "report", 10), "ready")["call"] == 1


def test_only_so_many_wait_at_once(engine: Engine, snapshot: Snapshot) -> None:
    work = Counted()
    work.release.clear()
    reports = SpeedReports(engine, work)
    waiting = [
        threading.Thread(target=reports.wait, args=(snapshot, "report", 30))
        for _ in range(speed_reports.MOST_WAITING)
    ]
    for thread in waiting:
        thread.start()
    deadline = time.monotonic() + 10
    while reports._waiting._value:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    assert reports.wait(snapshot, "report", 30).status == "computing"
    work.release.set()
    for thread in waiting:
        thread.join(10)


def test_a_store_tells_of_each_state_of_the_data(engine: Engine) -> None:
    told: list[str] = []
    store = CatalogStore(engine, lambda snapshot: told.append(snapshot.digest))
    assert [store.snapshot().digest, store.snapshot().digest] == [told[0]] * 2
    assert len(told) == 1


def test_few_are_kept(engine: Engine) -> None:
    for basis in "abcd":
        store_report(engine, "report", StoredReport(basis, {"basis": basis}))
    kept = [newest_report(engine, "report", basis) for basis in "abcd"]
    assert [report is not None for report in kept] == [False, False, True, True]
    assert KEPT_BASES == 2 and newest_report(engine, "fit") is None


def test_the_work_is_done_by_another_process(engine: Engine) -> None:
    with engine.begin() as connection:
        few = "SELECT id FROM benchmark ORDER BY id LIMIT 60"
        connection.execute(text(f"DELETE FROM benchmark WHERE id NOT IN ({few})"))
    snapshot = CatalogStore(engine).snapshot()
    report = speed_reports.Child()(engine, snapshot, "all")
    assert report.basis == basis_of(snapshot)
    assert report.body["part"] == "all" and report.body["cases"]["total"] == 60


def test_a_process_that_ends_without_an_answer_is_a_failure(tmp_path: Path, snapshot: Snapshot) -> None:
    empty = create_engine_from_url(f"sqlite:///{tmp_path / 'empty.db'}")
    with pytest.raises(EOFError):
        speed_reports.Child()(empty, snapshot, "report")


def test_closing_ends_the_process_and_starts_none(engine: Engine, snapshot: Snapshot) -> None:
    reports = SpeedReports(engine)
    assert [reports.get(snapshot, part).status for part in ("report", "fit")] == ["computing"] * 2
    deadline = time.monotonic() + 20
    while (child := reports._child._running) is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    reports.close()
    child.join(20)
    assert not child.is_alive() and reports._child._running is child
    with reports._turn:
        assert newest_report(engine, "report") is None
