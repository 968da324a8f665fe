"""Calibrated distances of the 5th and 95th percentile from the expected value, by class of work."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.engines.record import Pair
from app.core.workload import Workload

_INFERENCE: dict[str, dict[str, Pair]] = {
    "exact": {"weights": (0.009, 0.013), "kv": (0.0, 0.005)},
    "quantized": {"weights": (0.036, 0.052), "kv": (0.0, 0.005)},
    "gguf": {"weights": (0.05, 0.06), "kv": (0.0, 0.005)},
}


def spread(work: Workload) -> dict[str, Pair]:
    """Distances by term: weights, kv, activations, engine."""
    key = "exact"
    if work.format.gguf:
        key = "gguf"
    elif work.format.quantized and not work.weights_gib:
        key = "quantized"
    return {**_INFERENCE[key], **work.engine_record.memory.spread}


_TRAINING: dict[str, dict[str, Pair]] = {
    "full": {
        "states": (0.03, 0.05),
        "frozen": (0.02, 0.03),
        "activations": (0.4, 0.45),
        "logits": (0.45, 0.45),
        "fragmentation": (0.08, 0.2 * 2**30),
    },
    "adapter": {
        "states": (0.1, 0.2),
        "frozen": (0.02, 0.04),
        "activations": (0.28, 0.32),
        "logits": (0.35, 0.4),
        "fragmentation": (0.12, 0.4 * 2**30),
    },
    "encoder": {
        "states": (0.02, 0.03),
        "frozen": (0.02, 0.03),
        "activations": (0.15, 0.2),
        "logits": (0.3, 0.3),
        "fragmentation": (0.02, 0.05 * 2**30),
    },
}


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
        return {"states": (0.02, 0.05), "activations": (0.15, 0.19)}
    if work.model.activations_per_sample:
        return {"states": (0.02, 0.05), "activations": (0.22, 0.3)}
    return {"states": (0.05, 0.1), "activations": (0.4, 0.6)}


def generation_spread() -> dict[str, Pair]:
    """Distances by term of diffusion and speech."""
    return {"states": (0.05, 0.1), "activations": (0.4, 0.5), "engine": (0.4, 0.6)}
