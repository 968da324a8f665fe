"""Reading values of a config.json that nobody has checked: bounded depth, size and range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from app.core.faults import FieldError, InputFault
from app.core.field_values import limits_of

MAX_NODES = 1_000_000
MAX_LIST = 4_096
MAX_KEPT_DEPTH = 32
POINTER = "/workload/model/config"


def check_bounds(config: Mapping[str, Any], pointer: str = POINTER) -> None:
    """Refuse a config with more values than any real one; what is used of it is checked where it is used.

    Errors
    ------
    InputFault with `config_too_large`.
    """
    left = MAX_NODES
    stack: list[Any] = [config]
    while stack:
        value = stack.pop()
        if isinstance(value, Mapping):
            left -= len(value)
            stack.extend(v for v in value.values() if isinstance(v, Mapping | list | tuple))
        else:
            left -= len(value)
            stack.extend(v for v in value if isinstance(v, Mapping | list | tuple))
        if left < 0:
            raise InputFault.at(pointer, "config_too_large", limit=MAX_NODES)


def storable(value: Any, depth: int = 0) -> Any:
    """A config as JSON keeps it: numbers that are none become their names, half characters are replaced.

    Published files hold `Infinity`, which Python reads and JSON does not know. What is nested beyond any
    reader is left out.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if depth > MAX_KEPT_DEPTH:
        return None
    if isinstance(value, Mapping):
        return {storable(str(k)): storable(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [storable(v, depth + 1) for v in value]
    return value


class Config:
    """One object of a config.json; names are tried in order and None counts as absent.

    `seen` gathers the names that were asked for: what is left was not read.
    """

    def __init__(
        self, values: Mapping[str, Any], pointer: str = POINTER, seen: set[str] | None = None
    ) -> None:
        self.values = values
        self.pointer = pointer
        self.seen: set[str] = set() if seen is None else seen

    def has(self, *names: str) -> bool:
        """Whether any of the names is there."""
        self.seen.update(names)
        return any(self.values.get(n) is not None for n in names)

    def given(self) -> dict[str, Any]:
        """All values that are not None."""
        return {name: value for name, value in self.values.items() if value is not None}

    def integer(self, *names: str, default: int | None = None, limit: str = "") -> int:
        """First of the names as a whole number in range; required when there is no default."""
        self.seen.update(names)
        for name in names:
            value = self.values.get(name)
            if value is None:
                continue
            if isinstance(value, float) and not math.isfinite(value):
                raise InputFault.at(f"{self.pointer}/{name}", "not_finite")
            if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
                raise InputFault.at(f"{self.pointer}/{name}", "not_whole")
            low, high = limits_of(limit) if limit else (0, 10**9)
            if not low <= value <= high:
                raise InputFault.at(f"{self.pointer}/{name}", "out_of_range", low=low, high=high)
            return int(value)
        if default is None:
            raise InputFault.at(f"{self.pointer}/{names[0]}", "required")
        return default

    def layered(self, *names: str, layers: int, default: int | None = None, limit: str = "") -> list[int]:
        """A whole number for each layer, from one number for all or a list; required without a default."""
        for name in names:
            if isinstance(self.values.get(name), list | tuple):
                self.seen.add(name)
                return self.integers(name, layers, limit)
            if self.has(name):
                break
        return [self.integer(*names, default=default, limit=limit)] * layers

    def integers(self, name: str, length: int, limit: str = "") -> list[int]:
        """A list of whole numbers in range, one for each layer.

        Errors
        ------
        InputFault `list_length` where it is shorter, and the faults of a number.
        """
        values = self.items(name)
        if len(values) < length:
            raise InputFault.at(f"{self.pointer}/{name}", "list_length", expected=length)
        one = f"{self.pointer}/{name}"
        return [Config({str(i): v}, one).integer(str(i), limit=limit) for i, v in enumerate(values[:length])]

    def flag(self, name: str, default: bool = False) -> bool:
        """A truth value."""
        self.seen.add(name)
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise InputFault.at(f"{self.pointer}/{name}", "not_a_flag")
        return value

    def text(self, name: str, default: str = "") -> str:
        """A short text; anything else counts as absent."""
        self.seen.add(name)
        value = self.values.get(name)
        return value[:200] if isinstance(value, str) else default

    def items(self, name: str) -> list[Any]:
        """A list, empty when absent."""
        self.seen.add(name)
        value = self.values.get(name)
        if value is None:
            return []
        if not isinstance(value, list | tuple):
            raise InputFault.at(f"{self.pointer}/{name}", "not_a_list")
        if len(value) > MAX_LIST:
            raise InputFault.at(f"{self.pointer}/{name}", "too_long", limit=MAX_LIST)
        return list(value)

    def inner(self, name: str) -> Config | None:
        """A nested object."""
        self.seen.add(name)
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise InputFault.at(f"{self.pointer}/{name}", "not_an_object")
        return Config(value, f"{self.pointer}/{name}")


KEYS: Mapping[str, tuple[str, ...]] = {
    "layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "decoder_layers"),
    "encoder_layers": ("encoder_layers", "num_layers"),
    "hidden_size": ("hidden_size", "n_embd", "d_model", "dim"),
    "intermediate_size": (
        "intermediate_size",
        "ffn_hidden_size",
        "n_inner",
        "ffn_dim",
        "d_ff",
        "hidden_dim",
        "moe_intermediate_size",
    ),
    "attention_heads": ("num_attention_heads", "n_head", "num_heads", "n_heads", "decoder_attention_heads"),
    "kv_heads": (
        "num_key_value_heads",
        "multi_query_group_num",
        "num_kv_heads",
        "n_head_kv",
        "num_global_key_value_heads",
    ),
    "head_dim": ("head_dim", "d_kv", "kv_channels", "global_head_dim"),
    "vocab_size": ("vocab_size", "padded_vocab_size"),
    "max_context": ("max_position_embeddings", "n_positions", "seq_length", "max_target_positions"),
    "learned_positions": ("max_position_embeddings", "n_positions"),
    "sliding_window": ("sliding_window", "window_size", "attention_chunk_size", "sliding_window_size"),
    "full_attention_layers": ("layer_types", "sliding_window_pattern", "max_window_layers"),
    "linear_attention_layers": ("layer_types", "full_attention_interval"),
    "sliding_kv_heads": ("swa_num_key_value_heads", "num_key_value_heads"),
    "sliding_head_dim": ("swa_head_dim", "head_dim"),
    "experts": ("num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts"),
    "experts_per_token": ("num_experts_per_tok", "experts_per_token", "moe_topk", "moe_k"),
    "shared_experts": ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts"),
    "expert_intermediate_size": ("moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size"),
    "expert_every": ("decoder_sparse_step", "interleave_moe_layer_step"),
    "dense_layers": ("first_k_dense_replace", "mlp_only_layers", "moe_layer_freq"),
}
"""By field of the architecture, the keys that readers take it from, the most usual first."""


def in_words_of_file(fault: InputFault, pointer: str, read: Config) -> InputFault:
    """The same fault with its fields called as the file calls them.

    Parameters
    ----------
    fault: of the architecture, its pointers made of `pointer` and our names.
    pointer: JSON pointer of the config. read: the part of the file that was read.
    """
    return InputFault([_renamed(error, pointer, read) for error in fault.errors])


def _renamed(error: FieldError, pointer: str, read: Config) -> FieldError:
    name, _, rest = error.pointer.removeprefix(f"{pointer}/").partition("/")
    keys = KEYS.get(name)
    if keys is None or not error.pointer.startswith(f"{pointer}/"):
        return error
    key = next((k for k in keys if read.has(k)), keys[0])
    return FieldError(f"{read.pointer}/{key}" + (f"/{rest}" if rest else ""), error.code, error.params)
