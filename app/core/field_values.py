"""Reading untrusted field values: kind, finiteness and range, each fault with its pointer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from app.core.faults import FieldError

MAX_TEXT = 200
_LIMITS: dict[str, tuple[float, float]] = {
    "parameters": (1_000, 1e13),
    "active_parameters": (1_000, 1e13),
    "layers": (1, 2_000),
    "encoder_layers": (1, 2_000),
    "linear_attention_layers": (0, 2_000),
    "cross_attention_layers": (0, 2_000),
    "dense_layers": (0, 2_000),
    "hidden_size": (1, 262_144),
    "intermediate_size": (1, 4_194_304),
    "expert_intermediate_size": (1, 4_194_304),
    "attention_heads": (1, 16_384),
    "sliding_kv_heads": (0, 16_384),
    "head_dim": (1, 16_384),
    "sliding_head_dim": (0, 16_384),
    "vocab_size": (1, 100_000_000),
    "experts": (0, 65_536),
    "experts_per_token": (0, 65_536),
    "shared_experts": (0, 65_536),
    "expert_every": (1, 2_000),
    "norms_per_layer": (0, 16),
    "max_context": (1, 1_000_000_000),
    "sliding_window": (0, 1_000_000_000),
    "learned_positions": (0, 100_000_000),
    "patch_size": (1, 1_024),
    "latent_downscale": (1, 1_024),
    "linear_state_bytes": (0, 1e12),
    "embedding_parameters": (0, 1e13),
    "vision_tower_parameters": (0, 1e13),
    "compressed_elements": (0, 1e9),
    "wide_elements": (0, 1e9),
    "index_bytes_per_token": (0, 1e9),
    "stored_gib": (0, 1e6),
    "activations_per_sample": (1, 1e13),
    "forward_macs": (1, 1e17),
}
_RANKS = (0, 1_048_576)


def limits_of(name: str) -> tuple[float, float]:
    """Accepted range of one dimension."""
    return _LIMITS.get(name, _RANKS)


class FieldReader:
    """Reads fields of one object and collects faults; values of None count as absent."""

    def __init__(self, values: Mapping[str, Any], pointer: str, errors: list[FieldError]) -> None:
        self.values = values
        self.pointer = pointer
        self.errors = errors

    def fault(self, name: str, code: str, **params: Any) -> None:
        """Note one fault of one field."""
        self.errors.append(FieldError(f"{self.pointer}/{name}", code, params))

    def refuse_unknown(self, known: Sequence[str]) -> None:
        """A name that is no field is a fault: a typing error must not pass as a default."""
        for name in list(self.values)[:100]:
            if name not in known:
                self.fault(str(name)[:60], "unknown_field")

    def choice(self, name: str, allowed: Sequence[str]) -> str:
        """One of an enumeration, required."""
        value = self.values.get(name)
        if value is None or value == "":
            self.fault(name, "required")
            return ""
        if value not in allowed:
            self.fault(name, "unknown_value", value=str(value)[:60], allowed=tuple(allowed))
            return ""
        return str(value)

    def text(self, name: str, found: dict[str, Any]) -> None:
        """A short string."""
        value = self.values.get(name)
        if value is None:
            return
        if not isinstance(value, str):
            self.fault(name, "not_a_text")
        elif len(value) > MAX_TEXT:
            self.fault(name, "too_long", limit=MAX_TEXT)
        else:
            found[name] = value

    def flag(self, name: str, found: dict[str, Any]) -> None:
        """True or false."""
        value = self.values.get(name)
        if value is None:
            return
        if isinstance(value, bool):
            found[name] = value
        else:
            self.fault(name, "not_a_flag")

    def real(self, name: str, found: dict[str, Any], low: float, high: float) -> None:
        """A finite number inside its range."""
        number = self._number(name, self.values.get(name), low, high)
        if number is not None:
            found[name] = float(number)

    def integer(self, name: str, found: dict[str, Any], low: float, high: float) -> None:
        """A whole number inside its range."""
        number = self._number(name, self.values.get(name), low, high, whole=True)
        if number is not None:
            found[name] = int(number)

    def integer_or_list(
        self, name: str, found: dict[str, Any], low: float, high: float, longest: int
    ) -> None:
        """A whole number, or a list of them (one per layer)."""
        value = self.values.get(name)
        if not isinstance(value, list | tuple):
            self.integer(name, found, max(low, 1), high)
            return
        if len(value) > longest:
            self.fault(name, "too_long", limit=longest)
            return
        numbers = [self._number(f"{name}/{i}", v, low, high, whole=True) for i, v in enumerate(value)]
        if all(n is not None for n in numbers):
            found[name] = tuple(int(n) for n in numbers if n is not None)

    def size(self, name: str, found: dict[str, Any]) -> None:
        """Image height and width in pixels: one number or two."""
        value = self.values.get(name)
        if value is None:
            return
        pair = value if isinstance(value, list | tuple) else (value, value)
        if len(pair) != 2:
            self.fault(name, "list_length", expected=2)
            return
        sides = [self._number(name, side, 8, 16_384, whole=True) for side in pair]
        if sides[0] is not None and sides[1] is not None:
            found[name] = (int(sides[0]), int(sides[1]))

    def rows(self, name: str, longest: int) -> list[Mapping[str, Any]]:
        """A list of objects."""
        value = self.values.get(name)
        if value is None:
            return []
        if not isinstance(value, list | tuple):
            self.fault(name, "not_a_list")
            return []
        if len(value) > longest:
            self.fault(name, "too_long", limit=longest)
            return []
        rows: list[Mapping[str, Any]] = []
        for i, row in enumerate(value):
            if isinstance(row, Mapping):
                rows.append(row)
            else:
                self.fault(f"{name}/{i}", "not_an_object")
        return rows

    def texts(self, name: str, found: dict[str, Any], longest: int) -> None:
        """A short list of short strings."""
        value = self.values.get(name)
        if value is None:
            return
        if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
            self.fault(name, "not_a_list")
        elif len(value) > longest or any(len(v) > MAX_TEXT for v in value):
            self.fault(name, "too_long", limit=longest)
        else:
            found[name] = tuple(value)

    def facts(self, name: str, found: dict[str, Any], longest: int) -> None:
        """A flat object of flags, texts and bounded numbers; one level of nesting."""
        value = self.values.get(name)
        if value is None:
            return
        if not isinstance(value, Mapping):
            self.fault(name, "not_an_object")
        elif len(value) > longest:
            self.fault(name, "too_long", limit=longest)
        else:
            inner = {str(k): self._fact(f"{name}/{k}", v, nested=True) for k, v in value.items()}
            found[name] = {k: v for k, v in inner.items() if v is not None}

    def _fact(self, name: str, value: Any, nested: bool) -> Any:
        if isinstance(value, bool) or (isinstance(value, str) and len(value) <= MAX_TEXT):
            return value
        if isinstance(value, Mapping) and nested and len(value) <= 32:
            return {str(k): self._fact(f"{name}/{k}", v, nested=False) for k, v in value.items()}
        if isinstance(value, str | Mapping | list | tuple):
            self.fault(name, "too_long", limit=MAX_TEXT)
            return None
        return self._number(name, value, 0, 1e12)

    def _number(
        self, name: str, value: Any, low: float, high: float, whole: bool = False
    ) -> int | float | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fault(name, "not_a_number")
            return None
        if isinstance(value, float) and not math.isfinite(value):
            self.fault(name, "not_finite")
            return None
        if not low <= value <= high:
            self.fault(name, "out_of_range", low=low, high=high)
            return None
        if whole and value != int(value):
            self.fault(name, "not_whole")
            return None
        return value
