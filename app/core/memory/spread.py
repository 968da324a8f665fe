"""Calibrated distances of the 5th and 95th percentile from the expected value, by class of work."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.engines.record import Pair
from app.core.memory import constants as c
from app.core.units import GIB
from app.core.workload import Workload


def _table(name: str) -> dict[str, Pair]:
    """Distances of a class by term."""
    keys = [key for key in c.SPREAD_BELOW if key.startswith(f"{name} ")]
    return {key.partition(" ")[2]: (c.SPREAD_BELOW[key], c.SPREAD_ABOVE[key]) for key in keys}


_INFERENCE = {name: _table(name) for name in ("exact", "quantized", "gguf")}
_TRAINING = {
    name: {**_table(name), "fragmentation": (c.FRAGMENT_SHARE[name], c.FRAGMENT_GIB[name] * GIB)}
    for name in ("full", "adapter", "encoder")
}
_VISION = {name: _table(name) for name in ("dense", "counted", "uncounted")}
_GENERATION = _table("generation")


def spread(work: Workload) -> dict[str, Pair]:
    """Distances by term: weights, kv, activations, engine."""
    key = "exact"
    if work.format.gguf:
        key = "gguf"
    elif work.format.quantized and not work.weights_gib:
        key = "quantized"
    return {**_INFERENCE[key], **work.engine_record.memory.spread}


def training_spread(work: Workload) -> Mapping[str, Pair]:
    """Distances by term of training; `fragmentation` holds its share of transients and its fixed bytes."""
    graph = work.engine_record.memory.graph
    if graph is not None:
        return graph.spread
    if work.task != "training":
        return _TRAINING["adapter"]
    return _TRAINING["encoder" if work.model.family == "encoder" else "full"]


def vision_spread(work: Workload, dense: bool) -> dict[str, Pair]:
    """Distances by term of image models; `dense`: detectors and segmenters."""
    if dense:
        return _VISION["dense"]
    return _VISION["counted" if work.model.activations_per_sample else "uncounted"]


def generation_spread() -> dict[str, Pair]:
    """Distances by term of diffusion and speech."""
    return _GENERATION
