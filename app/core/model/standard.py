"""The modules of a decoder that its dimensions describe."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.kept import derived
from app.core.model import blocks
from app.core.model.architecture import ModelArchitecture
from app.core.model.modules import Module, Stack, total
from app.core.model.parameter_count import expert_layers, parameter_count


@derived
def modules_of(model: ModelArchitecture) -> tuple[Module, ...]:
    """Weights of a language model module by module; their sum is its count without towers.

    Notes
    -----
    What dimensions do not place, small vectors and parts that readers add in one number, is one module that
    no format narrows.
    """
    if model.modules:
        return model.modules
    stack = Stack()
    every = range(model.layers)
    linear = _linear_layers(model)
    softmax = [i for i in every if i not in linear]
    _attention(model, stack, softmax)
    if linear:
        delta = _delta(model)
        if delta is not None:
            blocks.gated_delta(stack, sorted(linear), delta)
        else:
            kv_heads = _kv_heads(model)
            one = blocks.Attention(model.hidden_size, model.attention_heads, kv_heads, model.head_dim)
            blocks.attention(stack, sorted(linear), one, "linear_attn")
    _mlps(model, stack)
    stack.vector("input_layernorm", model.norms_per_layer * model.hidden_size, every)
    stack.tables(model.vocab_size, model.hidden_size, model.tied_embeddings)
    rest = round(model.parameters - model.vision_tower_parameters) - total(stack.modules)
    stack.vector("others", rest)
    return stack.done()


def _kv_heads(model: ModelArchitecture) -> int:
    return max(model.kv_heads) if isinstance(model.kv_heads, tuple) else model.kv_heads


def _linear_layers(model: ModelArchitecture) -> frozenset[int]:
    """Linear layers: all but every n-th, as released models place them."""
    linear = model.linear_attention_layers
    full = model.layers - linear
    if not linear or full <= 0:
        return frozenset(range(linear))
    step = max(1, model.layers // full)
    kept = [i for i in range(model.layers) if i % step == step - 1][:full]
    return frozenset(i for i in range(model.layers) if i not in set(kept))


def _attention(model: ModelArchitecture, stack: Stack, layers: list[int]) -> None:
    hidden, heads = model.hidden_size, model.attention_heads
    if model.kv_lora_rank:
        nope = model.qk_nope_head_dim
        latent = blocks.Latent(
            hidden,
            heads,
            model.kv_lora_rank,
            model.q_lora_rank,
            nope,
            model.qk_rope_head_dim,
            model.v_head_dim or nope,
        )
        blocks.latent(stack, layers, latent)
        return
    by_heads: dict[int, list[int]] = {}
    for layer in layers:
        kv = model.kv_heads[layer] if isinstance(model.kv_heads, tuple) else model.kv_heads
        by_heads.setdefault(kv, []).append(layer)
    for kv_heads, same in by_heads.items():
        if kv_heads or not isinstance(model.kv_heads, tuple):
            described = blocks.Attention(
                hidden,
                heads,
                kv_heads,
                model.head_dim,
                model.v_head_dim,
                model.attention_bias,
                model.output_bias,
                model.qk_norm,
                model.attention_gate,
            )
            blocks.attention(stack, same, described)


def _delta(model: ModelArchitecture) -> blocks.Delta | None:
    linear = model.attributes.get("linear_attention")
    if not isinstance(linear, Mapping):
        return None
    names = ("k_heads", "v_heads", "k_dim", "v_dim", "conv")
    return blocks.Delta(model.hidden_size, *(int(linear.get(name, 0)) for name in names))


def _mlps(model: ModelArchitecture, stack: Stack) -> None:
    routed = _expert_places(model)
    dense = [i for i in range(model.layers) if i not in set(routed)]
    blocks.mlp(
        stack,
        dense,
        model.hidden_size,
        model.intermediate_size,
        gated=model.gated_mlp,
        bias=model.mlp_bias,
    )
    if not routed:
        return
    attributes = model.attributes
    stated = attributes.get("shared_intermediate")
    shared = int(stated) if isinstance(stated, int | float) else model.expert_intermediate_size
    described = blocks.Experts(
        model.hidden_size,
        model.expert_intermediate_size,
        model.experts,
        model.experts_per_token,
        model.gated_mlp,
        bool(attributes.get("router_bias")),
        shared * model.shared_experts,
        bool(attributes.get("shared_gate")),
        bias=bool(attributes.get("expert_bias")),
    )
    blocks.experts(stack, routed, described)


def _expert_places(model: ModelArchitecture) -> list[int]:
    """Layers with experts: after the leading dense ones, every n-th."""
    count = expert_layers(model)
    step = max(1, model.expert_every)
    after = list(range(model.layers))[model.dense_layers :]
    return after[step - 1 :: step][:count]


def count_of(model: ModelArchitecture) -> int:
    """Parameters without towers: by modules where a reader counted them, else by dimensions."""
    return total(model.modules) if model.modules else parameter_count(model)
