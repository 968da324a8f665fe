"""What the rules of a published benchmark fix and its sheets leave out: lengths, latency limits, format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.core.formulas import Formula, Reference, register
from app.core.gpu import Benchmark
from app.core.speed import constants as c
from app.core.speed.inference import read_bytes
from app.core.units import GIB
from app.core.workload import Parallelism, Workload

register(
    Formula(
        "speed.mlperf_scenario",
        "MLPerf inference as a question",
        "offline: saturated load; server: the same, 0.75 of the benchmark's limit per output token as mean; "
        "lengths: mean of its data set; replicas: the fewest cards whose weights leave two fifths of memory",
        "tokens/s",
        "assumed",
        "Mean lengths stand for a distribution; the sheets name neither plan nor batch. Prompts of Llama 2 "
        "70B, Mixtral and DeepSeek-R1 are of an assumed length: a constant factor of those rows, no more.",
        (
            Reference(
                "MLPerf inference, loadgen/mlperf.conf: limits on first and output token",
                "https://github.com/mlcommons/inference/blob/master/loadgen/mlperf.conf",
            ),
            Reference(
                "MLPerf inference, language/*/README.md: tokens per sample of each benchmark",
                "https://github.com/mlcommons/inference/tree/master/language",
            ),
            Reference(
                "See et al. 2017, CNN/Daily Mail: 781 tokens per article", "https://arxiv.org/abs/1704.04368"
            ),
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One benchmark of the suite, as its rules state it."""

    prompt: float
    """Mean prompt, tokens."""
    output: float
    """Mean tokens written per sample."""
    server_ms: float
    """Limit per output token of the server scenario, milliseconds, at the 99th percentile."""


MLPERF: Mapping[str, Scenario] = {
    name: Scenario(prompt, c.MLPERF_OUTPUT_TOKENS[name], c.MLPERF_TOKEN_MS[name])
    for name, prompt in c.MLPERF_PROMPT_TOKENS.items()
}
"""By model id."""
MLPERF_SUITE = "mlperf"
"""As the column `scenario` names it."""
MLPERF_LOADS = ("saturated", "server")
"""Interactive rows stay out: their limit on the first token binds, and no question states one."""
MAX_TENSOR = 8


def scenario_of(row: Benchmark) -> Scenario | None:
    """The rules a row ran under; None for rows of other suites."""
    if row.scenario != MLPERF_SUITE or row.phase not in MLPERF_LOADS:
        return None
    return MLPERF.get(row.model_id)


def limit_ms(row: Benchmark, scenario: Scenario) -> float | None:
    """Mean milliseconds per output token that the row's scenario allows; None offline."""
    return None if row.phase == "saturated" else c.MEAN_OVER_P99 * scenario.server_ms


def stated_precision(row: Benchmark) -> str:
    """The row's number format, or the one that field practice fixes; empty where neither says."""
    return row.precision or row.inferred_precision


def replica_plan(work: Workload, count: int, usable_gib: float) -> Parallelism:
    """The fewest cards of a power of two that hold the weights with room, replicated over all.

    Parameters
    ----------
    work: the question. count: cards. usable_gib: of one card; NaN: one replica over all.

    Notes
    -----
    Llama 2 70B in FP8 takes two H100 80 GB or one H200.
    """
    weights_gib = float(np.asarray(read_bytes(work))) / GIB
    tensor = 1
    while tensor < min(count, MAX_TENSOR) and not weights_gib <= (1.0 - c.FREE_SHARE) * usable_gib * tensor:
        tensor *= 2
    while count % tensor:
        tensor //= 2
    return Parallelism(data=count // tensor, tensor=tensor)


def stated_plan(row: Benchmark, trains: bool) -> Parallelism | None:
    """The plan that a row states ("tp4 pp2", "dp8 ep8"); None where it states none or that does not fit.

    Notes
    -----
    Training with a stated plan keeps the optimizer sharded over the replicas (ZeRO 1), as Megatron does.
    """
    if not row.plan:
        return None
    degrees = {part[:2]: int(part[2:]) for part in row.plan.split()}
    split = degrees.get("tp", 1) * degrees.get("pp", 1)
    if row.gpu_count % split or degrees.get("dp", row.gpu_count // split) != row.gpu_count // split:
        return None
    data = row.gpu_count // split
    zero = 1 if trains and data > 1 else 0
    return Parallelism(data, degrees.get("tp", 1), degrees.get("pp", 1), degrees.get("ep", 1), zero)
