"""Distances of the 5th and 95th percentile of memory from the expected value; worth: `calibration`.

A key names the class of work and the term. Terms are independent of each other: see `estimator`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated

from app.core.calibration import GibBy, Quantity, fill

ShareBy = Annotated[Mapping[str, float], Quantity("1", 0.0, 5.0)]
SPREAD_BELOW: ShareBy
SPREAD_ABOVE: ShareBy
"""exact, quantized, gguf: weights of inference; full, adapter, encoder: training; dense: detectors and
segmenters; counted, uncounted: image models whose activations are known, or not; generation: diffusion and
speech."""
FRAGMENT_SHARE: ShareBy
"""Of the transients, below and above."""
FRAGMENT_GIB: GibBy
"""Fixed part above."""

fill("memory", sys.modules[__name__])
