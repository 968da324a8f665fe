"""What other public memory calculators reach on the same published cases."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PeerFigure:
    """Errors of one tool on one group of cases, as fractions of the measured value."""

    tool: str
    group: str
    """Key of `accuracy.GROUPS`."""
    median: float
    percentile_90: float
    expressed: int | None = None
    """Cases that the tool can be asked; None where that was not noted."""
    of: int | None = None


MEASURED_ON = "2026-11"
"""Month in which the tools of the day were run over the reference cases, both parts together."""
NO_TOOL_FOR = ("vision_batch", "dense_vision", "generation_inference")
"""Groups that none of the tools can express."""
PEERS: tuple[PeerFigure, ...] = (
    PeerFigure("vramcalc", "adapters", 0.145, 0.42, 93, 161),
    PeerFigure("vramcalc", "full_training", 0.116, 0.83),
    PeerFigure("vramscout", "inference_peak", 0.106, 0.35),
    PeerFigure("ridgepoint", "inference_peak", 0.097, 0.33),
    PeerFigure("hf-mem", "inference_weights", 0.015, 0.043, 15, 107),
)
WORST_KV_FACTOR = 84.0
"""hf-mem's KV cache against the measured one of a model with latent attention."""
