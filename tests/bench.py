"""Benchmarks against the budgets: `make bench`. Ratios within one run; nothing here is a test of the suite.

python -m tests.bench            a table, then one line of JSON
python -m tests.bench --quick    a tenth of the repetitions
"""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import uvicorn

from app.catalog.db import create_engine_from_url, upgrade
from app.catalog.seed import load_seed
from app.catalog.snapshot import Snapshot
from app.catalog.snapshot_load import load_snapshot
from app.core.candidates import evaluate
from app.core.filters import filter_cards
from app.core.gpu_table import GpuTable
from app.core.grid import best_plans, blocked_precision, build_grid
from app.core.memory import estimate
from app.core.plan import legal_plans
from app.core.pricing import price_grid
from app.core.question import ShortlistQuestion
from app.core.shortlist import rank
from app.core.speed import BenchmarkIndex
from app.core.workload import Parallelism, Workload, resolve
from app.main import create_app
from app.settings import Settings

AS_OF = date(2026, 11, 30)
COUNTS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Result:
    """One measured figure and its budget."""

    name: str
    value: float
    unit: str
    budget: float | None = None
    at_least: bool = True

    @property
    def met(self) -> bool | None:
        """Whether the budget holds; None without one."""
        if self.budget is None:
            return None
        return self.value >= self.budget if self.at_least else self.value <= self.budget


def median_s(
    call: Callable[[], object], repeats: int, clock: Callable[[], float] = time.process_time
) -> float:
    """Median seconds of a call after one to warm up: processor time of one core, or `time.perf_counter`."""
    call()
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return statistics.median(times)


def questions(snapshot: Snapshot) -> dict[str, Workload]:
    """Questions of every kind over the presets."""

    def model(name: str):  # type: ignore[no-untyped-def]
        return snapshot.models[name].architecture

    return {
        "8B chat": Workload(model("llama-3.1-8b"), batch_size=16, sequence_length=8192),
        "8B training": Workload(model("llama-3.1-8b"), task="training", batch_size=2, sequence_length=4096),
        "ResNet-50 training": Workload(model("resnet-50"), task="training", precision="fp16", batch_size=128),
        "BERT-large training": Workload(
            model("bert-large-uncased"), task="training", precision="fp16", batch_size=16, sequence_length=384
        ),
    }


def core(snapshot: Snapshot, repeats: int) -> Iterator[Result]:
    """The engine without a server: candidates, memory estimates, whole answers."""
    table = GpuTable.from_gpus(snapshot.gpus)
    models = {key: preset.architecture for key, preset in snapshot.models.items()}
    index = BenchmarkIndex(snapshot.benchmarks, models)
    prices = snapshot.price_choices(AS_OF)
    servers = snapshot.server_choices(AS_OF)
    rates = []
    for name, work in questions(snapshot).items():
        resolved, _ = resolve(work)
        question = ShortlistQuestion(resolved, counts=COUNTS)

        def grid(resolved: Workload = resolved, question: ShortlistQuestion = question) -> object:
            built = build_grid(resolved, table, snapshot.gpus, COUNTS, index)
            best = best_plans(built, COUNTS)
            found = price_grid(question, snapshot.gpus, COUNTS, prices, servers)
            blocked = blocked_precision(resolved, built.rate, table)
            cards = filter_cards(
                snapshot.gpus, table, question.filters, blocked, resolved.precision, resolved.engine, (), {}
            )
            return evaluate(question, table, best, found, cards, built.speed.terms.unit)

        plans = sum(len(legal_plans(resolved, n)) for n in COUNTS)
        candidates = plans * len(snapshot.gpus)
        seconds = median_s(grid, repeats)
        rates.append(candidates / seconds)
        yield Result(f"grid, {name}: {plans} plans x {len(snapshot.gpus)} cards", candidates / seconds, "1/s")
        whole = median_s(
            lambda question=question: rank(question, table, snapshot.gpus, prices, servers, index), repeats
        )
        yield Result(f"whole answer with reasons and robustness, {name}", whole * 1e3, "ms", 20.0, False)
    yield Result("grid, best question: candidates evaluated in full, one core", max(rates), "1/s", 1e6)
    chat, _ = resolve(questions(snapshot)["8B chat"])
    one = median_s(lambda: [estimate(chat, Parallelism()) for _ in range(100)], repeats) / 100
    yield Result("memory estimates, one at a time", 1.0 / one, "1/s")
    lengths = np.linspace(512, 131072, 1000)
    many, _ = resolve(Workload(chat.model, batch_size=16, sequence_length=lengths, output_length=256))
    yield Result(
        "memory estimates, arrays of 1000",
        1000 / median_s(lambda: estimate(many, Parallelism()), repeats),
        "1/s",
    )


@contextmanager
def serving(database: str) -> Iterator[int]:
    """The application on a free port of this machine, with an empty route beside its own."""
    app = create_app(
        Settings(database_url=database, calculations_per_minute=10_000_000, log_level="error")  # type: ignore[call-arg]
    )

    async def empty() -> dict[str, str]:
        return {}

    app.router.routes.insert(0, _route(empty))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", access_log=False)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise RuntimeError("the server did not start")
        time.sleep(0.02)
    try:
        yield port
    finally:
        server.should_exit = True
        thread.join()


def _route(endpoint: Callable[..., object]) -> object:
    from fastapi.routing import APIRoute

    return APIRoute("/bench-empty", endpoint, methods=["GET"])


def routes(database: str, repeats: int) -> Iterator[Result]:
    """Routes against the empty one, in one run over one connection."""
    with serving(database) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

        def call(method: str, path: str, body: object | None = None) -> None:
            data = None if body is None else json.dumps(body)
            headers = {"content-type": "application/json"} if data else {}
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]!r}")

        batch = iter(range(1, 1_000_000))

        def shortlist(batch_size: int) -> None:
            workload = {"model": {"preset": "llama-3.1-8b"}, "task": "inference", "precision": "bf16"}
            workload |= {"batch_size": batch_size, "sequence_length": 4096}
            call("POST", "/api/v1/shortlist", {"workload": workload, "as_of": AS_OF.isoformat()})

        wall = time.perf_counter
        empty = median_s(lambda: call("GET", "/bench-empty"), repeats * 5, wall)
        # Every question differs from the one before, so that no kept answer is handed out.
        fresh = median_s(lambda: shortlist(next(batch)), repeats, wall)
        kept = median_s(lambda: shortlist(16), repeats, wall)
        yield Result("empty route, p50", empty * 1e3, "ms")
        yield Result("POST /api/v1/shortlist, new question, p50", fresh * 1e3, "ms", 20.0, False)
        yield Result("... over the empty route", fresh / empty, "x", 10.0, False)
        yield Result("POST /api/v1/shortlist, same question again, p50", kept * 1e3, "ms")
        connection.close()


def show(results: list[Result]) -> None:
    """A table for people, then the same as JSON for programs."""
    width = max(len(r.name) for r in results)
    for r in results:
        verdict = {None: "", True: "met", False: "MISSED"}[r.met]
        budget = "" if r.budget is None else f"{'>=' if r.at_least else '<='} {r.budget:,.0f}"
        print(f"{r.name:<{width}}  {r.value:>14,.2f} {r.unit:<4} {budget:>14}  {verdict}")
    rows = [
        {"name": r.name, "value": r.value, "unit": r.unit, "budget": r.budget, "met": r.met} for r in results
    ]
    print(json.dumps({"at": datetime.now(UTC).isoformat(timespec="seconds"), "results": rows}))


def main() -> None:
    """Seed a database of its own, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("core", "routes"))
    chosen = parser.parse_args()
    repeats = 10 if chosen.quick else 100
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{Path(folder) / 'bench.db'}"
        engine = create_engine_from_url(database)
        upgrade(engine)
        load_seed(engine)
        results: list[Result] = []
        if chosen.only != "routes":
            results += core(load_snapshot(engine), repeats)
        engine.dispose()
        if chosen.only != "core":
            results += routes(database, repeats)
        show(results)


if __name__ == "__main__":
    main()
