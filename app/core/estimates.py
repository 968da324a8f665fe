"""Result types shared by every calculation. A language-free message stands where a text would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from app.core.answer import Reader, Schema, Written, plain, written
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
    """A code and its parameters; it is said in the reader's language where an answer is written."""

    code: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stored(self) -> dict[str, Any]:
        """As it is written where there is no reader."""
        return {"code": self.code, "params": plain(self.params)}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Schema:
        return written(message_of, _say, True)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> Schema:
        return {"type": "string"}


def message_of(value: Any) -> Any:
    """A message, also from its stored form; messages among its parameters too."""
    if isinstance(value, Message):
        return value
    if not isinstance(value, Mapping) or not isinstance(value.get("code"), str):
        raise ValueError("a message has a code and parameters")
    return Message(value["code"], {k: _parameter(v) for k, v in dict(value.get("params") or {}).items()})


def _parameter(value: Any) -> Any:
    if isinstance(value, list):
        return [_parameter(v) for v in value]
    if isinstance(value, dict) and value.keys() == {"code", "params"}:
        return message_of(value)
    return value


def _say(message: Message, info: Any) -> Any:
    reader: Reader | None = info.context
    return message.stored if reader is None else reader.say(message.code, message.params)


def _say_with_code(message: Message, info: Any) -> Any:
    reader: Reader | None = info.context
    if reader is None:
        return message.stored
    return {"code": message.code, "text": reader.say(message.code, message.params)}


_CODE_AND_TEXT = {
    "type": "object",
    "properties": {
        "code": {"type": "string", "description": "What is said, as a word that programs may compare."},
        "text": {"type": "string", "description": "The sentence in the language of the answer."},
    },
    "required": ["code", "text"],
}
MessageWithCode = Annotated[Message, Written(_say_with_code, _CODE_AND_TEXT, message_of, to_reader=True)]
"""A message that is written as {code, text}."""


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
