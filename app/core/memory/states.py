"""Persistent state of training: weights, gradients, optimizer, by recipe and sharding."""

from __future__ import annotations

from typing import NamedTuple

from app.core.tracing import Constant, operands
from app.core.workload import Parallelism, Workload

_MOMENTS = {"adamw": 2.0, "momentum": 1.0, "rmsprop": 1.0, "lion": 1.0, "sgd": 0.0}
_BYTES_PER_PARAMETER = {"adamw-8bit": 2.1, "adafactor": 0.05, "galore": 0.35}
"""Optimizers whose state does not follow the weight's type. 8-bit Adam: -5.8 B measured against 8;
Adafactor: -8.3 B; GaLore: 0.3 B."""
STEP_COPIES = {"adamw": 1.0, "momentum": 1.0, "rmsprop": 1.0, "lion": 1.0, "adafactor": 1.0}

ADAPTER_BYTES = Constant(
    16.0, "adapter_bytes", "B", "bytes per trained parameter of an adapter: weight, gradient, optimizer"
)
PURE_ADAPTER_BYTES = Constant(8.0, "adapter_bytes")


class StateBytes(NamedTuple):
    """Bytes per trained parameter, before sharding."""

    weights: float
    gradients: float
    optimizer: float
    autocast_copy: float
    """16-bit copies of the linears that live through forward and backward."""
    workspace: float
    """Buffer of the optimizer's step, not at the same moment as the activations."""


def moment_bytes(optimizer: str, element: float) -> float:
    """State of the optimizer per parameter."""
    fixed = _BYTES_PER_PARAMETER.get(optimizer)
    if fixed is not None:
        return fixed
    return _MOMENTS[optimizer] * element


def state_bytes(work: Workload, plan: Parallelism) -> StateBytes:
    """Bytes per trained parameter of one recipe.

    Parameters
    ----------
    work: a resolved question (task training).
    plan: its ZeRO stage decides between autocast and sharded mixed precision.

    Returns
    -------
    Bytes per parameter, before division by the degrees.

    Notes
    -----
    pure: 2 + 2 + 2 x 2 = 8 with AdamW. fp32: 4 + 4 + 8 = 16. mixed (autocast): the same 16 + a 2-byte copy =
    18. mixed with ZeRO 1 and 2: 2 + 2 + (4 + 8): 16; with ZeRO 3 / FSDP: 4 + 4 + 8 sharded + 1.

    References
    ----------
    [1] EleutherAI/cookbook calc_transformer_mem.py @827ee3b. [2] vramcalc 0.1.2 (autocast cache, step
    workspace). [3] torchtitan: 17.1-17.6 B per parameter between 8 and 128 GPUs. Read 2026-11-30.
    """
    return operands(work, _state_bytes(work, plan), _NAMES)


_NAMES = {
    "weights": "weight_bytes",
    "gradients": "gradient_bytes",
    "optimizer": "optimizer_bytes",
    "autocast_copy": "autocast_bytes",
    "workspace": "step_bytes",
}
"""Names of the figures in printed formulas."""


def _state_bytes(work: Workload, plan: Parallelism) -> StateBytes:
    copies = STEP_COPIES.get(work.optimizer, 0.15)
    if work.recipe == "pure":
        return StateBytes(2.0, 2.0, moment_bytes(work.optimizer, 2.0), 0.0, 2.0 * copies)
    moments = moment_bytes(work.optimizer, 4.0)
    if work.recipe == "fp32":
        return StateBytes(4.0, 4.0, moments, 0.0, 4.0 * copies)
    if plan.zero_stage in (1, 2) and plan.data > 1:
        return StateBytes(2.0, 2.0, 4.0 + moments, 0.0, 4.0 * copies)
    if plan.zero_stage == 3 and plan.data > 1:
        return StateBytes(4.0, 4.0, 1.0 + moments, 0.0, 4.0 * copies)
    return StateBytes(4.0, 4.0, moments, 2.0, 4.0 * copies)
