"""Pareto front of cost against speed."""

from __future__ import annotations

import numpy as np

from app.core.gpu_table import Floats, Index


def front(cost: Floats, speed: Floats) -> Index:
    """Positions that no other point beats in both cost and speed.

    Parameters
    ----------
    cost: lower is better. speed: higher is better. Both (options,).

    Returns
    -------
    Positions in the order given; of equal points the first counts.
    """
    order = np.lexsort((-speed, cost))
    fastest = np.maximum.accumulate(np.concatenate(([-np.inf], speed[order][:-1])))
    return np.sort(order[speed[order] > fastest])
