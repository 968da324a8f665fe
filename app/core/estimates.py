"""Result types shared by every calculation. A language-free message stands where a text would."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from app.core.answer import Figure, Reader, Schema, Written, answer, plain, written
from app.core.formulas import Operand
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
SpeedDetail = Annotated[
    Mapping[str, Any], Written(plain, {"type": "object", "additionalProperties": {"type": "number"}})
]
"""Terms of a speed by name."""
Expressions = Annotated[
    Mapping[str, str], Written(dict, {"type": "object", "additionalProperties": {"type": "string"}})
]
"""Formulas by the name of the figure."""
MessageWithCode = Annotated[Message, Written(_say_with_code, _CODE_AND_TEXT, message_of, to_reader=True)]
"""A message that is written as {code, text}."""


def codes_of(messages: Iterable[Message]) -> tuple[str, ...]:
    """The codes that stand beside texts."""
    return tuple(message.code for message in messages)


def _scalar(value: Number | None) -> float:
    # Unknown is stored as null.
    return math.nan if value is None else float(value)


@answer()
class Interval:
    """Low, expected and high value of one quantity, in the unit of the field that holds it."""

    low: Number
    """Lower end of the interval."""
    expected: Number
    """Median."""
    high: Number
    """Upper end of the interval."""

    @property
    def spread(self) -> tuple[float, float, float]:
        """Low, expected and high where the quantity is one number."""
        return _scalar(self.low), _scalar(self.expected), _scalar(self.high)


@dataclass(frozen=True, slots=True)
class Assumption:
    """A default that was used because the question did not say."""

    field: str
    value: Any
    why: str
    """Code of the reason."""


@answer(omit=("expression", "operands"))
class MemoryPart:
    """One part of the need on one card, how it is known and by which formula."""

    part: str
    """What it is: weights, gradients, optimizer, activations, logits, kv_cache, adapter, engine, context,
    communication or fragmentation."""
    gib: Number
    """Its share of the expected need, GiB."""
    basis: Basis
    """How it is known."""
    formula: str
    """Id of its general formula on the page /method."""
    expression: str | None = None
    """The formula as it was computed: arithmetic over `operands` that gives `gib`; + - * / ** and
    parentheses, max, min, ceil, floor, log2."""
    operands: tuple[Operand, ...] | None = None
    """The names in `expression`."""


MEMORY_INTERVAL = "5th, 50th and 95th percentile"
SPEED_INTERVAL = "10th, 50th and 90th percentile"


@answer(hide=("assumptions",))
class MemoryEstimate:
    """Memory of the busiest card of a plan, in GiB. The parts sum to `per_gpu_gib.expected`."""

    per_gpu_gib: Interval
    """What the process needs on the card, CUDA context included, GiB."""
    allocated_gib: Interval
    """The framework's own allocated peak (PyTorch max_memory_allocated), GiB, without cached blocks."""
    reserved_gib: Interval
    """What the framework or engine takes from the driver, without the context, GiB."""
    parts: tuple[MemoryPart, ...]
    """The parts of the expected need."""
    kv_reserved_gib: Number = 0.0
    """KV cache as the engine lays it out (page rounding, layers it cannot shorten), GiB."""
    kv_bytes_per_token: Number = 0.0
    """KV cache of one token of one sequence over all layers, bytes; without what does not grow."""
    state_bytes_per_sequence: Number = 0.0
    """Recurrent state of one sequence over all layers, bytes: the same at any length."""
    interval: str = MEMORY_INTERVAL
    """Which percentiles low, expected and high are."""
    assumptions: tuple[Assumption, ...] = ()

    def part(self, name: str) -> Number:
        """GiB of one part, 0 where the estimate has none."""
        total: Number = 0.0
        for p in self.parts:
            if p.part == name:
                total = total + p.gib
        return total


@answer()
class Measurement:
    """A published or own measurement that a speed rests on."""

    id: str
    """Id of the row in /benchmarks."""
    gpu_id: str
    """Id of the card that was measured."""
    gpu_count: int
    """Cards that ran together."""
    model: str
    """Id of the model where it is a preset, else its name as published."""
    value: Figure
    """What was measured, in `unit`."""
    unit: str
    """tokens_per_s, images_per_s, samples_per_s or realtime_factor."""
    batch_per_gpu: Figure | None = None
    """Batch on each card as stated; null where it was not."""
    software: str = ""
    """Framework or engine and its version, as stated."""
    observed_on: str = ""
    """Day, month or year of the measurement, ISO 8601."""
    own: bool = False
    """Whether it was entered here, not published."""
    title: str = ""
    """Title of the source."""
    url: str = ""
    """Address of the source."""


@answer()
class SpeedPart:
    """One of the times that a step is made of."""

    part: str
    """Which: its operand of the same name says what it is."""
    seconds: Number
    """Time within one step, corrected by what is measured, s; the parts add up to the step."""
    expression: str
    """The formula as it was computed, over the operands of the speed."""


@answer(
    omit=("prefill", "decode", "whole_run", "formula", "parts", "expressions", "operands"),
    hide=("assumptions",),
)
class SpeedEstimate:
    """Throughput of the whole option: all cards together."""

    low: Number
    """Lower end of the interval, in `unit`."""
    expected: Number
    """Median, in `unit`; null where a term is unknown."""
    high: Number
    """Upper end of the interval, in `unit`."""
    unit: str
    """images_per_s, samples_per_s, tokens_per_s or realtime_factor (seconds of audio per second)."""
    basis: Basis
    """How it is known; of two phases the weaker."""
    bound: str
    """What limits: compute, bandwidth, communication, launch or feeding."""
    phase: str
    """What the figure is of: training, prefill, decode, whole_run, saturated or forward."""
    steps_per_s: Number
    """Optimizer steps, or forward passes, per second."""
    detail: SpeedDetail = field(default_factory=dict)
    """Terms of the formula by name: those ending in _s are seconds, of one step or of one run of the batch;
    concurrent_sequences is how many sequences run at once, time_to_first_token_s and time_per_output_token_s
    are seconds of a sequence."""
    sources: tuple[str, ...] = ()
    """Ids of the measurements behind a measured or calibrated figure."""
    prefill: Interval | None = None
    """Reading the prompts, tokens of prompt per second; language models only."""
    decode: Interval | None = None
    """Writing the output, tokens of output per second; language models only."""
    whole_run: Interval | None = None
    """Reading and writing together, tokens of output per second; language models only."""
    measurements: tuple[Measurement, ...] = ()
    """The measurements of `sources`, opened."""
    interval: str = SPEED_INTERVAL
    """Which percentiles low, expected and high are."""
    formula: str | None = None
    """Id of the general formula on the page /method."""
    parts: tuple[SpeedPart, ...] | None = None
    """The times of one step; what a step makes over their sum is the expected speed."""
    expressions: Expressions | None = None
    """By figure (expected, low, high, steps_per_s, prefill, decode, whole_run, time_to_first_token_s,
    time_per_output_token_s) the formula as it was computed: arithmetic over `operands` that gives it."""
    operands: tuple[Operand, ...] | None = None
    """The names in `expressions` and in the formulas of `parts`."""
    assumptions: tuple[Assumption, ...] = ()

    @property
    def spread(self) -> tuple[float, float, float]:
        """Low, expected and high where the speed is one number."""
        return _scalar(self.low), _scalar(self.expected), _scalar(self.high)
