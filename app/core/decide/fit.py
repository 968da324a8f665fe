"""Whether the busiest card holds its share, and the largest batch and longest sequence that fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from app.core.decide.options import Fit
from app.core.estimates import MemoryEstimate, Verdict
from app.core.faults import InputFault
from app.core.fields import TOKEN_FAMILIES
from app.core.gpu import Gpu
from app.core.memory import estimate
from app.core.resolve import RANGES, resolve
from app.core.workload import Parallelism, Workload

Values = npt.NDArray[np.float64]
USABLE_SHARE = 0.96
"""Usable of nameplate memory where nothing was measured."""
_POINTS = 256


def judge(memory: MemoryEstimate, usable_gib: float, used_gib: float = 0.0) -> tuple[Verdict, float]:
    """Verdict and margin of a scalar estimate on one card.

    Parameters
    ----------
    memory: the need of the busiest GPU.
    usable_gib: what a process can use of an idle card, GiB.
    used_gib: what others already hold on it.

    Returns
    -------
    `fits` (high <= usable - used), `tight` (expected <= usable - used < high) or `does_not_fit`, and
    usable - used - expected in GiB.
    """
    free = usable_gib - used_gib
    margin = free - float(memory.per_gpu_gib.expected)
    if float(memory.per_gpu_gib.high) <= free:
        return "fits", margin
    return ("tight" if margin >= 0 else "does_not_fit"), margin


def usable_gib(gpu: Gpu) -> float:
    """Usable memory of a card in GiB: measured, else a share of its nameplate size."""
    if gpu.usable_gib is not None:
        return gpu.usable_gib
    if gpu.memory_gib is not None:
        return gpu.memory_gib * USABLE_SHARE
    raise InputFault.at("/gpu", "gpu_memory_unknown", gpu=gpu.id)


def max_batch_size(work: Workload, plan: Parallelism | None, usable: float) -> int:
    """Largest batch whose expected need fits.

    Parameters
    ----------
    work: the question; its own batch size does not matter.
    plan: degrees of parallelism. Training: the batch is per GPU; inference: over all cards.
    usable: free memory of each card in GiB (what others use already taken off).

    Returns
    -------
    0 when not even one fits; at most the upper bound of `batch_size`.
    """
    work, _ = resolve(work)
    top = int(RANGES["batch_size"].high)

    def needs(values: Values) -> Values:
        return _expected(replace(work, batch_size=values), plan, values)

    return _largest(needs, top, usable)


def max_sequence_length(work: Workload, plan: Parallelism | None, usable: float) -> int | None:
    """Longest sequence whose expected need fits, at the question's batch; None for models without tokens.

    Parameters
    ----------
    work: the question.
    plan: degrees of parallelism.
    usable: free memory of each card in GiB.

    Returns
    -------
    Tokens, 0 when not even one fits, at most the context that the model accepts where it is known.
    """
    work, _ = resolve(work)
    if work.model.family not in TOKEN_FAMILIES:
        return None
    top = int(work.model.max_context or RANGES["sequence_length"].high)

    def needs(values: Values) -> Values:
        return _expected(replace(work, sequence_length=values), plan, values)

    return _largest(needs, top, usable)


def fit(work: Workload, plan: Parallelism | None, gpu: Gpu) -> Fit:
    """Verdict, margin, largest batch and longest sequence of one card and plan.

    Errors
    ------
    InputFault for what `resolve` refuses, and for a card of unknown memory.
    """
    work, _ = resolve(work)
    plan = plan or work.parallelism or Parallelism()
    usable = usable_gib(gpu)
    verdict, margin = judge(estimate(work, plan), usable, work.used_gib)
    if verdict == "fits" and work.beyond_context:
        verdict = "tight"
    free = usable - work.used_gib
    return Fit(
        verdict=verdict,
        usable_gib=usable,
        margin_gib=margin,
        max_batch_size=max_batch_size(work, plan, free),
        max_sequence_length=max_sequence_length(work, plan, free),
    )


def _expected(work: Workload, plan: Parallelism | None, like: Values) -> Values:
    need = estimate(work, plan).per_gpu_gib.expected
    return np.broadcast_to(np.asarray(need, dtype=np.float64), like.shape)


def _largest(needs: Callable[[Values], Values], top: int, usable: float) -> int:
    """Largest whole number up to `top` whose need is at most `usable`; the need grows with the number."""
    low = 0
    values = np.unique(np.floor(np.geomspace(1, top, num=_POINTS)))
    while True:
        fitting = needs(values) <= usable
        if not fitting[0]:
            return low
        last = int(np.argmin(fitting)) - 1 if not fitting.all() else len(values) - 1
        low = int(values[last])
        if last == len(values) - 1:
            return low
        high = int(values[last + 1])
        if high - low <= 1:
            return low
        values = np.unique(np.floor(np.linspace(low, high, num=_POINTS)))
