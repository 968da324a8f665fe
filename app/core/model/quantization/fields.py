"""What the readers of all methods of quantization share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core import formats
from app.core.estimates import Message
from app.core.model.quantization import schemes
from app.core.model.quantization.patterns import Patterns
from app.core.model.quantization.schemes import Scheme
from app.core.model.readers.bounded import Config

MAX_GROUPS = 24
"""Groups of modules with a scheme of their own that are read."""
IGNORED = (
    "ignore",
    "ignored_layers",
    "modules_to_not_convert",
    "exclude_modules",
    "exclude",
    "llm_int8_skip_modules",
    "skip_modules",
    "not_quantized_modules",
)
"""Keys that list what stays wide."""


@dataclass(slots=True)
class Quantization:
    """How the modules of a checkpoint are stored."""

    precision: str
    """Format of most of its weights, as a question names it."""
    default: Scheme | None
    """Of every linear module that nothing else speaks of; None: they stay wide."""
    ignore: Patterns
    rules: list[tuple[Patterns, Scheme]] = field(default_factory=list)
    """Modules with a scheme of their own, the first that matches counts."""
    experts: Scheme | None = None
    """Of routed experts, where they have another."""
    head: Scheme | None = None
    """Of the output head; None: wide."""
    towers: bool = False
    """Whether towers are quantized unless they are ignored."""
    kv_precision: str = ""
    average: bool = False
    """The bits are a mean over all quantized modules, without scales."""
    notes: list[Message] = field(default_factory=list)


def whole(value: Any, default: float) -> float:
    """A number of bits or inputs; the default where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1 <= value <= 1 << 20:
        return default
    return float(value)


def bits_of(found: Config, *names: str, default: float = 4.0) -> float:
    for name in names:
        value = whole(found.values.get(name), 0.0)
        if value > 0:
            return min(value, 32.0)
    return default


def group_of(found: Config, default: int = 128, *names: str) -> int:
    for name in names or ("group_size", "q_group_size"):
        value = found.values.get(name)
        if value is not None:
            return int(whole(value, default))
    return default


def ignored_in(found: Config, *more: Iterable[object]) -> Patterns:
    listed: list[object] = []
    for name in IGNORED:
        value = found.values.get(name)
        if isinstance(value, list | tuple):
            listed += value
    for each in more:
        listed += each
    return Patterns(listed)


def object_of(value: Any) -> Config:
    return Config(value if isinstance(value, Mapping) else {})


def unknown(found: Config, method: str) -> Quantization:
    """A method that nobody described: the bits that it states, else 16, and a note."""
    bits = bits_of(found, "bits", "num_bits", "w_bit", "nbits", "weight_bits", default=0.0)
    own = formats.of_checkpoint(method)
    if own:
        return Quantization(own, Scheme(own, formats.format_of(own).bits), ignored_in(found))
    result = Quantization("", None, ignored_in(found))
    if 0 < bits < 16:
        result.default = schemes.integer(bits, group_of(found), symmetric=True)
        result.precision = result.default.format
    result.notes.append(not_understood("quant_method", method))
    return result


def not_understood(key: str, value: str) -> Message:
    return Message("quantization_not_understood", {"key": key, "value": value[:60]})
