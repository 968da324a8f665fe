"""Result types shared by every calculation. A language-free message stands where a text would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from app.core.units import Number

Basis = Literal["exact", "measured", "calibrated", "derived", "assumed"]
Verdict = Literal["fits", "tight", "does_not_fit"]

PART_NAMES = (
    "weights",
    "gradients",
    "optimizer",
    "activations",
    "logits",
    "kv_cache",
    "adapter",
    "engine",
    "context",
    "communication",
    "fragmentation",
)


@dataclass(frozen=True, slots=True)
class Message:
    """A code and its parameters; `services.texts` says it in the reader's language."""

    code: str
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Interval:
    """Low, expected, high of one quantity."""

    low: Number
    expected: Number
    high: Number


@dataclass(frozen=True, slots=True)
class Assumption:
    """A default that was used because the question did not say."""

    field: str
    value: Any
    why: str
    """Code of the reason."""


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """One part of the need, per GPU: its share of the expected value, how it is known, by which formula."""

    part: str
    gib: Number
    basis: Basis
    formula: str
    """Id in `formulas.FORMULAS`."""


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Memory of the busiest GPU of a plan, in GiB. Parts sum to `per_gpu_gib.expected`."""

    per_gpu_gib: Interval
    """What the process needs on the card, CUDA context included (5th, 50th, 95th percentile)."""
    allocated_gib: Interval
    """The framework's own allocated peak (PyTorch max_memory_allocated): no context, no cached blocks."""
    reserved_gib: Interval
    """What the framework or engine takes from the driver, without the context."""
    parts: tuple[MemoryPart, ...]
    kv_reserved_gib: Number = 0.0
    """KV cache as the engine lays it out (page rounding, layers it cannot shorten)."""
    kv_bytes_per_token: Number = 0.0
    assumptions: tuple[Assumption, ...] = ()

    def part(self, name: str) -> Number:
        """GiB of one part, 0 where the estimate has none."""
        total: Number = 0.0
        for p in self.parts:
            if p.part == name:
                total = total + p.gib
        return total


@dataclass(frozen=True, slots=True)
class SpeedEstimate:
    """Throughput of the whole option (all cards together)."""

    low: Number
    expected: Number
    high: Number
    unit: str
    """images_per_s, samples_per_s, tokens_per_s or realtime_factor."""
    basis: Basis
    bound: str
    """compute, bandwidth, communication, launch or feeding: what limits."""
    phase: str
    """training, prefill, decode, whole_run, forward."""
    steps_per_s: Number
    detail: Mapping[str, Any] = field(default_factory=dict)
    """prefill, decode, whole_run and the terms of the formula; per-source benchmark id when measured."""
    sources: tuple[str, ...] = ()
    """Ids of the benchmark rows that stand behind a measured or calibrated figure."""
    assumptions: tuple[Assumption, ...] = ()
