"""The parts of a memory estimate in the five colours of the design, always in the same order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.core.estimates import MemoryEstimate
from app.texts.marking import N_


@dataclass(frozen=True, slots=True)
class Group:
    """Parts drawn as one: colour class, role in the Plotly theme, label, size."""

    css: str
    role: str
    label: str
    gib: float
    parts: tuple[str, ...]


_INFERENCE = (
    ("k1", "weights", N_("Weights"), ("weights", "adapter")),
    ("k2", "kv_cache", N_("KV cache"), ("kv_cache",)),
    ("k3", "activations", N_("Activations"), ("activations", "logits", "gradients", "optimizer")),
    ("k4", "engine", N_("Engine, communication"), ("engine", "communication")),
    ("k5", "context", N_("Context, fragmentation"), ("context", "fragmentation")),
)
_TRAINING = (
    ("k1", "weights", N_("Weights"), ("weights", "adapter")),
    ("k2", "kv_cache", N_("Gradients, optimizer"), ("gradients", "optimizer")),
    ("k3", "activations", N_("Activations, logits"), ("activations", "logits", "kv_cache")),
    ("k4", "engine", N_("Engine, communication"), ("engine", "communication")),
    ("k5", "context", N_("Context, fragmentation"), ("context", "fragmentation")),
)


def memory_groups(memory: MemoryEstimate, trains: bool, gettext: Callable[[str], str]) -> list[Group]:
    """The groups of one estimate that are not empty, in GiB per GPU; they sum to the expected need."""
    sizes: dict[str, float] = {}
    for part in memory.parts:
        sizes[part.part] = sizes.get(part.part, 0.0) + float(part.gib or 0.0)
    groups = []
    for css, role, label, parts in _TRAINING if trains else _INFERENCE:
        gib = sum(sizes.get(part, 0.0) for part in parts)
        if gib > 0:
            groups.append(Group(css, role, gettext(label), gib, parts))
    return groups
