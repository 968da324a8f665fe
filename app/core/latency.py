"""A limit on the time per output token: which cards keep it, and what is said where none does."""

from __future__ import annotations

import math

import numpy as np

from app.core.estimates import Message, SpeedEstimate
from app.core.gpu_table import Flags, Floats
from app.core.options import Remedy
from app.core.workload import Workload

ROUNDING = 1.0 + 1e-6
"""The limit that an answer itself proposes is kept, rounding apart."""
CENTS = 100.0
"""Proposed limits are rounded up to hundredths of a millisecond."""


def too_late(token_ms: Floats | None, limit_ms: float | None) -> Flags | None:
    """Where a token takes longer than the limit, even with one sequence at a time.

    Parameters
    ----------
    token_ms: milliseconds of one output token, with as many sequences as keep the limit; at least one.
    limit_ms: asked; None: no limit.

    Returns
    -------
    Flags of the shape of `token_ms`; None where nothing is asked.
    """
    if token_ms is None or limit_ms is None:
        return None
    return np.asarray(token_ms > limit_ms * ROUNDING, dtype=bool)


def kept_first(relative: Floats, token_ms: Floats | None, limit_ms: float | None, above: float) -> Floats:
    """Scores of plans: those that keep the limit by speed, `above` the others, which go by how near it."""
    late = too_late(token_ms, limit_ms)
    if late is None or token_ms is None or limit_ms is None:
        return relative
    return np.where(late, limit_ms / token_ms, relative + above)


def unreachable(work: Workload, estimate: SpeedEstimate) -> Message | None:
    """The warning of a speed whose limit no number of sequences keeps; None where it is kept."""
    limit_ms = work.latency_limit_ms
    token_s = estimate.detail.get("time_per_output_token_s")
    if work.load == "single" or limit_ms is None or token_s is None or estimate.phase == "prefill":
        return None
    reachable = float(token_s) * 1000.0
    if not reachable > limit_ms * ROUNDING:
        return None
    params = {"limit_ms": limit_ms, "reachable_ms": reachable}
    return Message("latency_limit_unreachable", params)


def rejected(gpu: str, count: int, reachable_ms: float, limit_ms: float) -> tuple[Message, Remedy]:
    """Why cards are too slow for a limit, and the limit that they would keep.

    Parameters
    ----------
    gpu, count: the option. reachable_ms: of one token, one sequence at a time. limit_ms: asked.
    """
    params = {"gpu": gpu, "count": count, "reachable_ms": reachable_ms, "limit_ms": limit_ms}
    allowed = math.ceil(reachable_ms * CENTS) / CENTS
    remedy = Remedy(
        "change_latency_limit",
        Message("remedy_latency_limit", {**params, "allowed_ms": allowed}),
        {"workload.latency_limit_ms": allowed},
    )
    return Message("rejected_latency", params), remedy
