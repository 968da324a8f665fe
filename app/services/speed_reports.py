"""Accuracy of speed and of prices, worked out once for the data it rests on: aside, in a process of its own.

Each published speed is estimated without what was measured on it, which takes half a minute. A thread would
slow every reader meanwhile, so a child process does it; the database keeps the result over restarts.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Event, Lock, Semaphore, Thread
from time import monotonic
from typing import Any, TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

import app.core
from app import __version__
from app.catalog.db import sqlite_path
from app.catalog.problems import DatabaseProblem
from app.catalog.reports import StoredReport, newest_report, store_report
from app.catalog.snapshot import Snapshot
from app.core.calibration import installed
from app.services import accuracy_prices, accuracy_serving, accuracy_speed
from app.services.accuracy_answers import (
    NotReady,
    PriceAccuracyReport,
    ServingAccuracyReport,
    SpeedAccuracyReport,
)
from app.services.answers import NotAnAnswer, canonical, load
from app.services.maintenance import open_catalogue
from app.services.serving_runs import published_runs

logger = logging.getLogger("app.speed_reports")

READY, PREVIOUS, COMPUTING, FAILED = "ready", "previous", "computing", "failed"
RETRY_SECONDS = 60.0
"""How long a failure stands before the work is tried again."""
MOST_WAITING = 8
"""Askers that may wait at once: each holds a thread of the server."""
CHILD_NICENESS = 5

Report = TypeVar("Report", SpeedAccuracyReport, PriceAccuracyReport, ServingAccuracyReport)
AnyReport = SpeedAccuracyReport | PriceAccuracyReport | ServingAccuracyReport
KINDS: Mapping[str, type[AnyReport]] = {
    accuracy_prices.PART: PriceAccuracyReport,
    accuracy_serving.PART: ServingAccuracyReport,
}
"""Kind of report by part; every other part is one of speed."""
Work = Callable[[Engine, Snapshot, str], StoredReport]


@dataclass(frozen=True, slots=True)
class SpeedReport:
    """How far the report is; `body` is there when `status` is ready or previous."""

    status: str
    body: Mapping[str, Any] | None = None

    def read(self, kind: type[Report]) -> Report | None:
        """The report itself; None where there is none, or one of another version that means nothing here."""
        if self.body is None:
            return None
        try:
            return load(kind, {**self.body, "status": self.status})
        except NotAnAnswer:
            return None

    def answer(self, kind: type[Report]) -> Report | NotReady:
        """What the API says of it."""
        return self.read(kind) or NotReady(FAILED if self.status == FAILED else COMPUTING)


@dataclass(slots=True)
class _Job:
    done: Event = field(default_factory=Event)
    failed_at: float | None = None


@cache
def formulas_digest() -> str:
    """Digest of version, constants and every file of the core: another formula makes another report."""
    digest = hashlib.sha256(__version__.encode())
    digest.update(repr(installed()).encode())
    root = Path(app.core.__path__[0])
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def basis_of(snapshot: Snapshot, part: str = "report") -> str:
    """Digest of what a report rests on.

    Of speed: measurements, models, figures of cards, formulas; of prices: the prices and what the market
    model knows of their cards.
    """
    digest = hashlib.sha256(formulas_digest().encode())
    rests_on = (
        (snapshot.market.gpus, snapshot.market.ledger())
        if part == accuracy_prices.PART
        else (snapshot.benchmarks, snapshot.models, snapshot.gpus)
    )
    for one in rests_on:
        digest.update(repr(one).encode())
    if part == accuracy_serving.PART:
        digest.update(repr(published_runs()).encode())
    return digest.hexdigest()


def compute(engine: Engine, snapshot: Snapshot, part: str) -> StoredReport:
    """The report, worked out here and now."""
    del engine
    return work_out(snapshot, part)


def work_out(snapshot: Snapshot, part: str) -> StoredReport:
    """The report as it is kept, with what it rests on."""
    report: AnyReport
    if part == accuracy_prices.PART:
        report = accuracy_prices.price_report(snapshot)
    elif part == accuracy_serving.PART:
        report = accuracy_serving.serving_report(snapshot)
    else:
        report = accuracy_speed.speed_report(snapshot, part)
    return StoredReport(basis_of(snapshot, part), canonical(report))


class Child:
    """Works reports out in another process, on the database as it is then."""

    def __init__(self) -> None:
        self._running: BaseProcess | None = None

    def __call__(self, engine: Engine, snapshot: Snapshot, part: str) -> StoredReport:
        """The report.

        Errors
        ------
        EOFError when the process ends without an answer; its log says why.
        """
        if engine.dialect.name == "sqlite" and sqlite_path(engine.url) is None:
            # A database in memory is seen by this process only.
            return compute(engine, snapshot, part)
        url = engine.url.render_as_string(hide_password=False)
        context = get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        # A daemon: it ends with the server.
        child = context.Process(target=_answer, args=(sender, url, part), daemon=True, name="speed report")
        child.start()
        self._running = child
        sender.close()
        try:
            basis, body = json.loads(receiver.recv_bytes())
        finally:
            receiver.close()
            child.join()
        return StoredReport(basis, body)

    def stop(self) -> None:
        """End what runs."""
        if self._running is not None:
            self._running.terminate()


def _answer(sender: Connection, url: str, part: str) -> None:
    if hasattr(os, "nice"):
        os.nice(CHILD_NICENESS)
    with open_catalogue(url) as snapshot:
        report = work_out(snapshot, part)
    sender.send_bytes(json.dumps([report.basis, report.body], allow_nan=False).encode())


def report_now(engine: Engine, snapshot: Snapshot, part: str) -> AnyReport:
    """The kept report, or the one worked out now and kept: for the command line, which cannot come back."""
    kept = newest_report(engine, part, basis_of(snapshot, part))
    if kept is None:
        kept = compute(engine, snapshot, part)
        try:
            store_report(engine, part, kept)
        except (DatabaseProblem, SQLAlchemyError):
            logger.warning("the report cannot be kept in this database")
    body = _marked(kept.body, snapshot)
    return load(KINDS.get(part, SpeedAccuracyReport), body)


class SpeedReports:
    """The reports of one database, shared between threads; each is worked out by one thread only."""

    def __init__(self, engine: Engine, work: Work | None = None) -> None:
        self._engine = engine
        self._child = Child()
        self._work = work or self._child
        self._closed = False
        self._lock = Lock()
        self._turn = Lock()
        self._waiting = Semaphore(MOST_WAITING)
        self._basis: dict[str, tuple[str, str]] = {}
        self._ready: dict[str, StoredReport] = {}
        self._jobs: dict[tuple[str, str], _Job] = {}

    def get(self, snapshot: Snapshot, part: str = "report") -> SpeedReport:
        """The report as far as it is; the first to ask for one that is not there starts the work."""
        basis = self._basis_of(snapshot, part)
        report = self._stored(part, basis)
        if report is not None:
            return SpeedReport(READY, _marked(report.body, snapshot))
        job = self._start(snapshot, part, basis)
        report = self._stored(part, basis) if job.done.is_set() else None
        if report is not None:
            return SpeedReport(READY, _marked(report.body, snapshot))
        before = self._newest(part)
        if before is not None:
            return SpeedReport(PREVIOUS, before.body)
        return SpeedReport(COMPUTING if job.failed_at is None else FAILED)

    def wait(self, snapshot: Snapshot, part: str, seconds: float) -> SpeedReport:
        """The same; where there is not even an older one it is waited for, by so many at once."""
        found = self.get(snapshot, part)
        if found.status == COMPUTING and self._waiting.acquire(blocking=False):
            try:
                self._jobs[part, self._basis_of(snapshot, part)].done.wait(seconds)
            finally:
                self._waiting.release()
            found = self.get(snapshot, part)
        return found

    def warm(self, snapshot: Snapshot) -> None:
        """Start the work on every part that is not there yet, without waiting for it."""
        for part in (accuracy_prices.PART, accuracy_serving.PART, *accuracy_speed.PARTS):
            self.get(snapshot, part)

    def close(self) -> None:
        """Start nothing more and end what runs."""
        self._closed = True
        self._child.stop()

    def _basis_of(self, snapshot: Snapshot, part: str) -> str:
        kind = part if part in KINDS else ""
        digest, basis = self._basis.get(kind, ("", ""))
        if digest != snapshot.digest:
            basis = basis_of(snapshot, part)
            self._basis[kind] = (snapshot.digest, basis)
        return basis

    def _stored(self, part: str, basis: str) -> StoredReport | None:
        found = self._ready.get(part)
        if found is None or found.basis != basis:
            found = self._read(part, basis)
            if found is not None:
                self._ready[part] = found
        return found

    def _newest(self, part: str) -> StoredReport | None:
        return self._ready.get(part) or self._read(part, "")

    def _read(self, part: str, basis: str) -> StoredReport | None:
        try:
            return newest_report(self._engine, part, basis)
        except (DatabaseProblem, SQLAlchemyError):
            logger.exception("kept reports cannot be read")
            return None

    def _start(self, snapshot: Snapshot, part: str, basis: str) -> _Job:
        with self._lock:
            job = self._jobs.get((part, basis))
            failed_at = job.failed_at if job else None
            if job is None or (failed_at is not None and monotonic() - failed_at > RETRY_SECONDS):
                job = self._jobs[part, basis] = _Job()
                for old in [key for key in self._jobs if key[0] == part and key[1] != basis][:-1]:
                    del self._jobs[old]
                Thread(target=self._run, args=(job, snapshot, part), daemon=True, name="speed report").start()
            return job

    def _run(self, job: _Job, snapshot: Snapshot, part: str) -> None:
        # One at a time: two would only slow each other and the readers down.
        with self._turn:
            if self._closed:
                return
            try:
                report = self._work(self._engine, snapshot, part)
                self._ready[part] = report
                store_report(self._engine, part, report)
            except (DatabaseProblem, SQLAlchemyError):
                logger.exception("the report cannot be kept; it is worked out again after a restart")
            except Exception:
                if not self._closed:
                    logger.exception("the report could not be worked out")
                job.failed_at = monotonic()
            finally:
                job.done.set()


def _marked(body: Mapping[str, Any], snapshot: Snapshot) -> dict[str, Any]:
    """The body under the present version of the data: what has changed since does not touch it."""
    return {**body, "versions": {"engine": __version__, "catalog": snapshot.version}}
