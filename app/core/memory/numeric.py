"""Elementwise helpers that keep scalars out of numpy: one formula serves a page and a grid."""

from __future__ import annotations

import math

import numpy as np

from app.core.tracing import Traced
from app.core.units import Number

ELEMENTWISE = frozenset({np.ndarray, Traced})
"""What numpy's own functions take; plain numbers are faster without them."""


def greater(a: Number, b: Number) -> Number:
    """Elementwise maximum."""
    if a.__class__ in ELEMENTWISE or b.__class__ in ELEMENTWISE:
        return np.maximum(a, b)
    return a if a >= b else b


def smaller(a: Number, b: Number) -> Number:
    """Elementwise minimum."""
    if a.__class__ in ELEMENTWISE or b.__class__ in ELEMENTWISE:
        return np.minimum(a, b)
    return a if a <= b else b


def ceiling(a: Number) -> Number:
    """Smallest whole number not below."""
    return np.ceil(a) if a.__class__ in ELEMENTWISE else float(math.ceil(a))


def round_up(a: Number, step: float) -> Number:
    """Smallest multiple of the step not below."""
    return ceiling(a / step) * step
