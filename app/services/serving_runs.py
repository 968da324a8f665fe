"""Published runs of servers that ship with the program, beside the catalogue's cards and models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from app.catalog.snapshot import Snapshot
from app.core.gpu_table import GpuTable
from app.core.serving.benchmarks import runs_of
from app.core.serving.observed import Stack, stack
from app.core.serving.runs import ServingRun, read
from app.resources import read_table, resource_path

FILE = "serving_runs.csv"


@cache
def published_runs() -> tuple[ServingRun, ...]:
    """Every run of the file.

    Errors
    ------
    RunFault that names file and line.
    """
    return read(read_table(resource_path("seed_data", FILE)), FILE)


def stacked(snapshot: Snapshot, runs: Sequence[ServingRun]) -> Stack:
    """Runs whose model and card the catalogue knows."""
    models = {key: preset.architecture for key, preset in snapshot.models.items()}
    table = GpuTable.from_gpus(snapshot.gpus)
    return stack(runs, models, table, [gpu.id for gpu in snapshot.gpus])


def fitted_stack(snapshot: Snapshot) -> Stack:
    """Runs of the half from which constants may be read, and rows of full engines that fit beside them."""
    models = {key: preset.architecture for key, preset in snapshot.models.items()}
    table = GpuTable.from_gpus(snapshot.gpus)
    position = {gpu.id: i for i, gpu in enumerate(snapshot.gpus)}
    full = runs_of(snapshot.benchmarks, models, table, position)
    return stacked(snapshot, (*(run for run in published_runs() if run.fitted), *full))


def report_stack(snapshot: Snapshot) -> Stack | None:
    """Runs of the other half; None where there are none."""
    others = [run for run in published_runs() if not run.fitted]
    return stacked(snapshot, others) if others else None
