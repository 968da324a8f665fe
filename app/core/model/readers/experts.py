"""Mixtures of experts in a config.json: how many, how wide, in which layers."""

from __future__ import annotations

from typing import Any

from app.core.faults import InputFault
from app.core.model.readers.bounded import Config

Fields = dict[str, Any]

COUNT = ("num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts")
READ = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "experts_per_token",
    "moe_topk",
    "moe_top_k",
    "moe_k",
    "top_k_experts",
)
WIDTH = ("moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size")
SHARED = ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "num_shared_expert")
ROUTER_BIAS = frozenset(
    """
    deepseek_v3 deepseek_v32 kimi_k2 glm4_moe glm4_moe_lite glm_moe_dsa dots1 exaone_moe hy_v3 afmoe
    ernie4_5_moe minimax_m2 bailing_moe_v2
    """.split()
)
_DENSE = frozenset({"dense", "mlp"})


def experts(config: Config, kind: str, found: Fields) -> None:
    """Add the experts of a file to its fields; nothing where it has fewer than two."""
    config.seen.update((*COUNT, *READ, *WIDTH, *SHARED))
    count = _first(config, *COUNT, limit="experts")
    if count < 2:
        return
    layers = found["layers"]
    attributes: Fields = dict(found.get("attributes", {}))
    widths = config.layered(*WIDTH, layers=layers, default=0)
    width = max(widths)
    shared = _first(config, *SHARED)
    routed = places(config, layers)
    if kind in ("llama4", "llama4_text"):
        width = found["intermediate_size"]
        found["intermediate_size"] = config.integer("intermediate_size_mlp", default=width)
        shared = 1
    elif config.has("dense_intermediate_size"):
        width = width or found["intermediate_size"]
        found["intermediate_size"] = config.integer("dense_intermediate_size", default=width)
    shared = _shared(config, kind, attributes, shared)
    if kind == "gpt_oss":
        attributes.update(expert_bias=True, router_bias=True, attention_sinks=True)
        found.update(attention_bias=True, output_bias=True)
    if kind in ROUTER_BIAS:
        attributes["router_bias"] = True
    every = _step(routed)
    found.update(
        experts=count,
        experts_per_token=_first(config, *READ) or min(2, count),
        shared_experts=shared,
        expert_intermediate_size=width or found["intermediate_size"],
        dense_layers=routed[0] + 1 - every if routed and every else layers - len(routed),
        expert_every=every or 1,
        attributes=attributes,
    )


def _shared(config: Config, kind: str, attributes: Fields, shared: int) -> int:
    """Shared experts of a layer; where their width is stated, they count as one of that width."""
    stated = config.integer(
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
        "share_expert_dim",
        default=0,
    )
    if not stated and kind.startswith("minimax_m3"):
        stated = config.integer("shared_intermediate_size", default=0)
    if not stated:
        return shared or int(config.values.get("use_mixed_mlp_moe") is True)
    attributes["shared_intermediate"] = stated
    if config.has("shared_expert_intermediate_size") and kind.startswith("qwen"):
        attributes["shared_gate"] = True
    return 1


def places(config: Config, layers: int) -> list[int]:
    """The layers with experts.

    Notes
    -----
    By `mlp_layer_types` or `moe_layer_freq` as a list, `moe_layers_enum`, the leading dense layers
    (`first_k_dense_replace`, `num_dense_layers`), `moe_layer_start_index` with its interval,
    `mlp_only_layers` with `decoder_sparse_step`, or `interleave_moe_layer_step`; else all of them.
    """
    for read in (_listed, _numbered, _between):
        found = read(config, layers)
        if found is not None:
            return found
    dense = config.integer("first_k_dense_replace", "num_dense_layers", "n_dense_layers", default=0)
    if dense > layers:
        name = next(
            n for n in ("first_k_dense_replace", "num_dense_layers", "n_dense_layers") if config.has(n)
        )
        raise InputFault.at(f"{config.pointer}/{name}", "out_of_range", low=0, high=layers)
    step = config.integer("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_freq", default=1)
    only = {i for i in config.items("mlp_only_layers") if isinstance(i, int)}
    step = max(1, step)
    if config.has("moe_layer_freq") and not config.has("decoder_sparse_step", "interleave_moe_layer_step"):
        return [i for i in range(layers) if i >= dense and i % step == 0]
    return [i for i in range(layers) if i >= dense and i not in only and (i + 1) % step == 0]


def _listed(config: Config, layers: int) -> list[int] | None:
    kinds = config.values.get("mlp_layer_types")
    if isinstance(kinds, list) and len(kinds) >= layers:
        config.has("mlp_layer_types")
        return [i for i, kind in enumerate(kinds[:layers]) if kind not in _DENSE]
    frequency = config.values.get("moe_layer_freq")
    if isinstance(frequency, list) and len(frequency) >= layers:
        return [i for i, each in enumerate(frequency[:layers]) if each]
    return None


def _numbered(config: Config, layers: int) -> list[int] | None:
    stated = config.values.get("moe_layers_enum")
    if stated is None:
        return None
    config.has("moe_layers_enum")
    if isinstance(stated, str):
        stated = [int(part) for part in stated[:20_000].split(",") if part.strip().isdecimal()]
    if not isinstance(stated, list):
        return None
    return sorted({i for i in stated if isinstance(i, int) and 0 <= i < layers})


def _between(config: Config, layers: int) -> list[int] | None:
    if not config.has("moe_layer_start_index"):
        return None
    start = _first(config, "moe_layer_start_index")
    end = _first(config, "moe_layer_end_index") or layers
    step = max(1, _first(config, "moe_layer_interval") or 1)
    end = end if config.has("moe_layer_end_index") and end > 0 else layers
    return [i for i in range(layers) if start <= i <= end and (i + 1) % step == 0]


def _first(config: Config, *names: str, limit: str = "") -> int:
    """A number, or the first one of a list of them; 0 where it is not stated."""
    for name in names:
        value = config.values.get(name)
        if isinstance(value, list) and value:
            config.seen.update(names)
            return max(
                Config({name: each}, config.pointer).integer(name, limit=limit) for each in value[:512]
            )
        if value is not None:
            return config.integer(name, limit=limit) if value != -1 else 0
    config.seen.update(names)
    return 0


def _step(routed: list[int]) -> int:
    """The distance of layers with experts where it is one and above 1; else 0."""
    if len(routed) < 2:
        return 0
    step = routed[1] - routed[0]
    regular = all(b - a == step for a, b in zip(routed, routed[1:], strict=False))
    return step if regular and step > 1 else 0
