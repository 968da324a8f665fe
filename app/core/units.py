"""Bytes, gibibytes, gigabytes and yuan: the one place where units convert."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import numpy.typing as npt

from app.core.answer import FIGURE

Number = Annotated[float | npt.NDArray[np.float64], FIGURE]
"""A scalar, or an array that broadcasts: every formula of the core takes either."""

GIB = 1024**3
MIB = 1024**2
GB = 10**9
TERA = 10**12
HOURS_PER_MONTH = 730.0
YUAN_PER_KILO = 1000.0
