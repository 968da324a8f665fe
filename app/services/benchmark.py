"""How fast the engine is, without a server: candidates, memory estimates, whole answers."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date

import numpy as np

from app.catalog.snapshot import Snapshot
from app.core.decide.availability import OPEN
from app.core.decide.candidates import evaluate, power_w
from app.core.decide.grid import best_plans, build_grid
from app.core.decide.host import HostGrid, host_grid
from app.core.decide.pricing import price_grid
from app.core.decide.shortlist import rank
from app.core.memory import estimate
from app.core.model.architecture import ModelArchitecture
from app.core.plan import legal_plans
from app.core.question import ShortlistQuestion
from app.core.resolve import resolve
from app.core.workload import Parallelism, Workload
from app.services.store import prepared

COUNTS = (1, 2, 4, 8)
CANDIDATES_PER_S = 1_000_000.0
ANSWER_MS = 20.0
"""Budgets of the design: candidates evaluated in full per second and core, and one answer."""
ARRAY = 1000


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure and its budget."""

    name: str
    value: float
    unit: str
    budget: float | None = None
    at_least: bool = False

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
    """Questions of every kind over the shipped presets, those that are there."""

    def model(name: str) -> ModelArchitecture:
        return snapshot.models[name].architecture

    asked: dict[str, tuple[str, Callable[[ModelArchitecture], Workload]]] = {
        "8B chat": ("llama-3.1-8b", lambda m: Workload(m, batch_size=16, sequence_length=8192)),
        "8B training": (
            "llama-3.1-8b",
            lambda m: Workload(m, task="training", batch_size=2, sequence_length=4096),
        ),
        "72B chat": ("qwen2.5-72b", lambda m: Workload(m, batch_size=8, sequence_length=8192)),
        "7B LoRA": ("llama-2-7b", lambda m: Workload(m, task="lora", batch_size=2, sequence_length=2048)),
        "ResNet-50 training": (
            "resnet-50",
            lambda m: Workload(m, task="training", precision="fp16", batch_size=128),
        ),
        "BERT-large training": (
            "bert-large-uncased",
            lambda m: Workload(m, task="training", precision="fp16", batch_size=16, sequence_length=384),
        ),
    }
    return {name: ask(model(preset)) for name, (preset, ask) in asked.items() if preset in snapshot.models}


def engine_figures(snapshot: Snapshot, as_of: date, repeats: int) -> Iterator[Figure]:
    """Measure the engine on one core.

    Parameters
    ----------
    snapshot: the catalogue. as_of: day of the prices. repeats: of each measurement; the median counts.
    """
    ready = prepared(snapshot)
    table, index = ready.table, ready.benchmarks
    prices = snapshot.price_choices(as_of)
    servers = snapshot.server_choices(as_of)
    asked = questions(snapshot)
    rates = []
    for name, work in asked.items():
        resolved, _ = resolve(work)
        question = ShortlistQuestion(resolved, counts=COUNTS)
        machines = host_grid(
            snapshot.host_classes, question.economics, COUNTS, question.filters.max_cards_per_host
        )

        def grid(
            resolved: Workload = resolved,
            question: ShortlistQuestion = question,
            machines: HostGrid = machines,
        ) -> object:
            built = build_grid(resolved, table, snapshot.gpus, COUNTS, index)
            best = best_plans(built, COUNTS)
            found = price_grid(question, snapshot.gpus, COUNTS, prices, servers, machines)
            unbarred = np.full((len(snapshot.gpus), 1), OPEN, dtype=np.int8)
            return evaluate(question, power_w(table), best, found, built.speed.terms.unit, unbarred)

        def answer(question: ShortlistQuestion = question) -> object:
            return rank(question, table, snapshot.gpus, prices, servers, index, hosts=snapshot.host_classes)

        plans = sum(len(legal_plans(resolved, n)) for n in COUNTS)
        rates.append(plans * len(snapshot.gpus) / median_s(grid, repeats))
        yield Figure(f"grid, {name}: {plans} plans x {len(snapshot.gpus)} cards", rates[-1], "1/s")
        yield Figure(f"ranked answer, {name}", median_s(answer, repeats) * 1e3, "ms", ANSWER_MS)
    if rates:
        text = "grid, best question: candidates evaluated in full, one core"
        yield Figure(text, max(rates), "1/s", CANDIDATES_PER_S, at_least=True)
    for work in list(asked.values())[:1]:
        yield from _memory_figures(resolve(work)[0], repeats)


def _memory_figures(work: Workload, repeats: int) -> Iterator[Figure]:
    plan = Parallelism()
    hundred = median_s(lambda: [estimate(work, plan) for _ in range(100)], repeats)
    yield Figure("memory estimates, one at a time", 100 / hundred, "1/s")
    lengths = np.linspace(512, 131072, ARRAY)
    many, _ = resolve(Workload(work.model, batch_size=16, sequence_length=lengths, output_length=256))
    yield Figure(
        f"memory estimates, arrays of {ARRAY}", ARRAY / median_s(lambda: estimate(many, plan), repeats), "1/s"
    )
