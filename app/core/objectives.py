"""What "best" means: one number per option, lower is better."""

from __future__ import annotations

import numpy as np

from app.core.faults import InputFault
from app.core.gpu_table import Floats
from app.core.question import OBJECTIVES
from app.core.units import YUAN_PER_KILO, Number


def objective_score(
    objective: str,
    total_cny: Number,
    purchase_cny: Number,
    sustained_tflops: Number,
    speed_per_s: Number,
    power_w: Number,
) -> Floats:
    """Score of options under an objective.

    Parameters
    ----------
    objective: total_cost, purchase, tflops_per_yuan, speed or power.
    total_cny, purchase_cny: yuan. sustained_tflops, speed_per_s: over all cards. power_w: TDP of all cards.

    Returns
    -------
    Yuan, yuan, -TFLOPS per 1000 yuan, -units per second, or watts; broadcast.

    Errors
    ------
    InputFault at `/objective` for an unknown objective.
    """
    if objective == "total_cost":
        return np.asarray(total_cny, dtype=np.float64)
    if objective == "purchase":
        return np.asarray(purchase_cny, dtype=np.float64)
    if objective == "tflops_per_yuan":
        return np.asarray(-np.divide(sustained_tflops, purchase_cny) * YUAN_PER_KILO, dtype=np.float64)
    if objective == "speed":
        return np.asarray(np.negative(speed_per_s), dtype=np.float64)
    if objective == "power":
        return np.asarray(power_w, dtype=np.float64)
    raise InputFault.at("/objective", "unknown_value", value=objective, allowed=list(OBJECTIVES))
