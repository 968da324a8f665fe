"""What the reading of a config.json leaves in doubt: keys that were not read, a size that is another."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from app.core.estimates import Message
from app.core.model.architecture import ModelArchitecture
from app.core.model.readers.bounded import Config

TOLERANCE = 0.05
_LAYOUT, _CACHE, _WEIGHTS, _SIZE = "layout", "cache", "weights", "size"
MATTERS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "hybrid_override_pattern",
            "layers_block_type",
            "linear_attn_config",
            "attn_type_list",
            "attn_layer_indices",
            "attn_layer_period",
            "full_attn_idxs",
            "block_types",
            "mamba_d_state",
            "mamba_num_heads",
            "ssm_state_size",
            "state_size",
            "linear_num_value_heads",
            "linear_attention_config",
            "lightning_attention",
            "lru_width",
            "conv_L_cache",
            "block_configs",
        ),
        _LAYOUT,
    ),
    **dict.fromkeys(
        (
            "kv_lora_rank",
            "compress_ratios",
            "compress_rates",
            "index_n_heads",
            "index_head_dim",
            "use_cla",
            "num_kv_shared_layers",
            "global_head_dim",
            "swa_head_dim",
            "swa_num_key_value_heads",
            "hybrid_layer_pattern",
            "cross_attention_layers",
            "kv_share_layers",
        ),
        _CACHE,
    ),
    **dict.fromkeys(
        (
            "moe_latent_size",
            "routed_expert_hidden_size",
            "num_mem_blocks",
            "hidden_size_per_layer_input",
            "share_q_dim",
            "o_lora_rank",
            "zero_expert_num",
            "moe_layers_enum",
            "mlp_layer_types",
            "num_local_experts",
            "num_experts",
            "n_routed_experts",
            "moe_num_experts",
            "moe_intermediate_size",
        ),
        _SIZE,
    ),
    "expert_dtype": _WEIGHTS,
}
"""Keys that change a figure by more than a few percent, and which."""
MOST_NAMED = 6


def keys_not_read(config: Config, fields: Mapping[str, Any]) -> list[Message]:
    """A note for each key that matters and that no reader asked for, with what it may change."""
    found = []
    seen = config.seen | {"expert_dtype"}
    for key, what in MATTERS.items():
        value = config.values.get(key)
        if key == "attn_type_list" and isinstance(value, list) and all(each == 1 for each in value):
            continue
        if key in seen or value is None or value is False or value in (0, [], "", {}):
            continue
        params: dict[str, Any] = {"key": key, "what": what}
        hidden = fields.get("hidden_size")
        if key in ("moe_latent_size", "routed_expert_hidden_size") and isinstance(value, int) and hidden:
            params["factor"] = round(value / hidden, 3)
            found.append(Message("key_not_understood_factor", params))
        else:
            found.append(Message(f"key_not_understood_{what}", params))
    return found[:MOST_NAMED]


_NUMBER = r"(\d{1,4}(?:\.\d{1,3})?)"
_SIZED = re.compile(rf"(?<![A-Za-z0-9.]){_NUMBER}\s?([bmt])(?![a-z0-9])", re.IGNORECASE)
_ACTIVE = re.compile(rf"(?<![A-Za-z0-9])A{_NUMBER}\s?([bm])(?![a-z0-9])", re.IGNORECASE)
_BEFORE_EXPERTS = re.compile(
    rf"(?<![A-Za-z0-9.]){_NUMBER}\s?([bm])(?=-\d{{1,4}}E(?![a-z0-9]))", re.IGNORECASE
)
"""Llama 4: 17B-16E names the active parameters and the experts."""
_UNITS = {"m": 1e6, "b": 1e9, "t": 1e12}
_TYPES = re.compile(
    r"(?<![a-z0-9])(nvfp4|mxfp4|fp4|fp8|int4|int8|w4a16|w8a8|w4a8|awq|gptq|bnb)(?![a-z0-9])", re.I
)


def sizes_of_name(name: str) -> tuple[float, float, float]:
    """Parameters that a name states, active ones, and half of the last digit of those; 0 where none."""
    plain = name.replace("_", "-")
    whole = _SIZED.search(plain)
    active = _ACTIVE.search(plain) or _BEFORE_EXPERTS.search(plain)
    if whole and active and whole.start(1) == active.start(1):
        whole = _SIZED.search(plain, active.end())
    total = float(whole[1]) * _UNITS[whole[2].lower()] if whole else 0.0
    if not active:
        return total, 0.0, 0.0
    unit = _UNITS[active[2].lower()]
    decimals = len(active[1].partition(".")[2])
    return total, float(active[1]) * unit, 0.5 * unit / 10**decimals


def differs_from_name(model: ModelArchitecture, name: str) -> list[Message]:
    """A note where the size in a name is over 5 % from the one of the dimensions."""
    if not name:
        return []
    total, active, digit = sizes_of_name(name)
    found = []
    if total and abs(model.parameters / total - 1) > TOLERANCE:
        params = {"stated_parameters": total, "counted_parameters": model.parameters}
        found.append(Message("size_differs_from_name", params))
    off = abs(model.active_parameters - active)
    if active and model.is_moe and off > digit + TOLERANCE * active:
        params = {"stated_parameters": active, "counted_parameters": model.active_parameters}
        found.append(Message("active_differs_from_name", params))
    return found


def precision_of_name(name: str) -> list[Message]:
    """A note where a name says fewer bits than the file does: their description lies in another file."""
    found = _TYPES.search(name)
    return [Message("precision_not_in_file", {"type": found[1].upper()})] if found else []
