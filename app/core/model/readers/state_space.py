"""config.json of models with Mamba layers, alone or beside attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from app.core.faults import InputFault
from app.core.model import blocks
from app.core.model.modules import Stack
from app.core.model.readers.bounded import Config
from app.core.model.readers.frame import Fields, Frame, counted, frame_of, kinds_of, others, periodic, places


class Heads(NamedTuple):
    """Heads of the attention layers."""

    heads: int
    kv_heads: int
    head_dim: int

    def fields(self) -> Fields:
        """Under the names of the architecture."""
        return {"attention_heads": self.heads, "kv_heads": self.kv_heads, "head_dim": self.head_dim}


def heads_of(config: Config, hidden: int) -> Heads:
    """Heads as most files state them."""
    heads = config.integer("num_attention_heads", limit="attention_heads")
    head = config.integer("head_dim", "attention_head_dim", default=0) or max(1, hidden // heads)
    return Heads(heads, config.integer("num_key_value_heads", default=heads), head)


def _attend(
    stack: Stack, layers: list[int], frame: Frame, heads: Heads, name: str, bias: bool = False
) -> None:
    blocks.attention(stack, layers, blocks.Attention(frame.hidden, *heads, bias=bias, output_bias=bias), name)


_PATTERN = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def nemotron_h(config: Config, _kind: str) -> Fields:
    """Nemotron-H, Nano 2, Nemotron 3: one mixer a layer, by `hybrid_override_pattern` or `layers_block_type`.

    Notes
    -----
    The MLP has two matrices (squared ReLU). `expand` is not used: the inner width of Mamba is heads x
    head_dim. Experts of `moe_latent_size` work in that width, the shared expert in the full one. Without a
    pattern there is no way to know which layers attend.
    """
    frame = frame_of(config, listed="layers_block_type")
    pattern = kinds_of(config, frame, "hybrid_override_pattern", "layers_block_type", "layer_types")
    if not pattern:
        raise InputFault.at(f"{config.pointer}/hybrid_override_pattern", "required")
    kinds = [_PATTERN.get(kind, kind) for kind in pattern]
    attend = places(kinds, "attention", "full_attention")
    recurrent = places(kinds, "mamba", "mamba2", "linear_attention")
    dense, routed = places(kinds, "mlp", "dense"), places(kinds, "moe", "sparse")
    heads = Heads(0, 0, 0)
    stack = Stack()
    if attend:
        heads = heads_of(config, frame.hidden)
        _attend(stack, attend, frame, heads, "mixer", config.flag("attention_bias"))
    state = blocks.mamba2(stack, recurrent, _nemotron_mamba(config, frame), "mixer") if recurrent else 0.0
    width = config.integer("intermediate_size", default=0)
    if dense:
        blocks.mlp(stack, dense, frame.hidden, width, gated=False, name="mixer")
    more = _nemotron_experts(config, stack, routed, frame) if routed else {}
    stack.vector("norm", frame.hidden, frame.every)
    stack.vector("norm_f", frame.hidden)
    more |= heads.fields() if attend else {}
    return counted(
        stack, frame, len(attend), len(recurrent) * state, intermediate_size=width, gated_mlp=False, **more
    )


def _nemotron_mamba(config: Config, frame: Frame) -> blocks.Mamba2:
    return blocks.Mamba2(
        frame.hidden,
        config.integer("mamba_num_heads", default=128),
        config.integer("mamba_head_dim", default=64),
        config.integer("n_groups", "mamba_n_groups", default=8),
        config.integer("ssm_state_size", "mamba_d_state", default=128),
        config.integer("conv_kernel", "mamba_d_conv", default=4),
        config.flag("use_conv_bias", True),
        config.flag("use_bias") or config.flag("mamba_proj_bias"),
    )


def _nemotron_experts(config: Config, stack: Stack, routed: list[int], frame: Frame) -> Fields:
    experts = config.integer("n_routed_experts", "num_experts", limit="experts")
    width = config.integer("moe_intermediate_size", "intermediate_size", limit="intermediate_size")
    shared = config.integer("n_shared_experts", default=0)
    read = config.integer("num_experts_per_tok", default=2)
    shared_width = config.integer("moe_shared_expert_intermediate_size", default=width) * min(shared, 1)
    if not config.has("moe_shared_expert_intermediate_size"):
        shared_width = width * shared
    latent = config.integer("moe_latent_size", default=0)
    described = blocks.Experts(
        frame.hidden, width, experts, read, False, shared_width=shared_width, latent=latent, name="mixer"
    )
    blocks.experts(stack, routed, described)
    return {
        "experts": experts,
        "experts_per_token": read,
        "shared_experts": shared,
        "expert_intermediate_size": width,
    }


def falcon_h1(config: Config, _kind: str) -> Fields:
    """Falcon-H1: attention and Mamba-2 side by side in every layer; `mlp_expansion_factor` is not used."""
    frame, heads = frame_of(config), heads_of(config, config.integer("hidden_size", limit="hidden_size"))
    stack = Stack()
    listed = [i for i in config.items("attn_layer_indices") if isinstance(i, int) and 0 <= i < frame.layers]
    attend = sorted(set(listed)) or list(frame.every)
    _attend(stack, attend, frame, heads, "self_attn", config.flag("attention_bias"))
    mixer = _mamba_d(config, frame, inner_key="mamba_d_ssm", norm=config.flag("mamba_rms_norm"))
    state = blocks.mamba2(stack, frame.every, mixer)
    width = config.integer("intermediate_size", limit="intermediate_size")
    bias = config.flag("mlp_bias")
    blocks.mlp(stack, frame.every, frame.hidden, width, bias=bias, name="feed_forward")
    stack.vector("input_layernorm", 2 * frame.hidden, frame.every)
    stack.vector("final_layernorm", frame.hidden)
    found = counted(
        stack, frame, len(attend), frame.layers * state, intermediate_size=width, **heads.fields()
    )
    return found


def _mamba_d(config: Config, frame: Frame, inner_key: str = "", norm: bool = True) -> blocks.Mamba2:
    """Mamba-2 under the names of Falcon, Bamba and Granite."""
    inner = config.integer(inner_key, default=0) if inner_key else 0
    heads = config.integer("mamba_n_heads", default=128, limit="attention_heads")
    if not inner and config.has("mamba_n_heads") and isinstance(config.values.get("mamba_d_head"), int):
        inner = heads * config.integer("mamba_d_head", limit="head_dim")
    inner = inner or frame.hidden * config.integer("mamba_expand", default=2)
    return blocks.Mamba2(
        frame.hidden,
        heads,
        max(1, inner // heads),
        config.integer("mamba_n_groups", default=1),
        config.integer("mamba_d_state", default=256),
        config.integer("mamba_d_conv", default=4),
        config.flag("mamba_conv_bias", True),
        config.flag("mamba_proj_bias"),
        norm,
    )


def mamba1(config: Config, kind: str) -> Fields:
    """Mamba and Falcon-Mamba: no attention, no cache. `expand` yields to `intermediate_size`."""
    frame, stack = frame_of(config, tied=kind == "mamba"), Stack()
    inner = config.integer("intermediate_size", "d_inner", default=0)
    inner = inner or frame.hidden * config.integer("expand", default=2)
    rank = config.values.get("time_step_rank")
    if not config.has("time_step_rank") or rank == "auto":
        steps = -(-frame.hidden // 16)
    else:
        steps = config.integer("time_step_rank", limit="hidden_size")
    mixer = blocks.Mamba1(
        frame.hidden,
        inner,
        config.integer("state_size", "d_state", default=16),
        config.integer("conv_kernel", "d_conv", default=4),
        steps,
        config.flag("use_conv_bias", True),
        config.flag("use_bias"),
    )
    state = blocks.mamba1(stack, frame.every, mixer, "mixer")
    stack.vector("norm", frame.hidden, frame.every)
    stack.vector("norm_f", frame.hidden)
    return counted(stack, frame, 0, frame.layers * state, intermediate_size=inner)


def mamba2(config: Config, _kind: str) -> Fields:
    """Mamba-2 (Codestral Mamba): no attention, no cache; its tables are apart unless the file ties them."""
    frame, stack = frame_of(config), Stack()
    heads = config.integer("num_heads", default=0) or config.integer("expand", default=2) * frame.hidden // 64
    mixer = blocks.Mamba2(
        frame.hidden,
        max(1, heads),
        config.integer("head_dim", "headdim", default=64),
        config.integer("n_groups", "ngroups", default=8),
        config.integer("state_size", "d_state", default=128),
        config.integer("conv_kernel", "d_conv", default=4),
        config.flag("use_conv_bias", True),
        config.flag("use_bias"),
    )
    state = blocks.mamba2(stack, frame.every, mixer, "mixer")
    stack.vector("norm", frame.hidden, frame.every)
    stack.vector("norm_f", frame.hidden)
    inner = mixer.heads * mixer.head_dim
    return counted(stack, frame, 0, frame.layers * state, intermediate_size=inner)


def jamba(config: Config, _kind: str) -> Fields:
    """Jamba: attention in one layer of `attn_layer_period`, else Mamba; experts in one of a period, too."""
    frame = frame_of(config)
    heads, stack = heads_of(config, frame.hidden), Stack()
    attend = periodic(
        frame, config.integer("attn_layer_period", default=8), config.integer("attn_layer_offset", default=4)
    )
    recurrent = others(frame, attend)
    _attend(stack, attend, frame, heads, "self_attn")
    mixer = blocks.Mamba1(
        frame.hidden,
        frame.hidden * config.integer("mamba_expand", default=2),
        config.integer("mamba_d_state", default=16),
        config.integer("mamba_d_conv", default=4),
        config.integer("mamba_dt_rank", default=0) or -(-frame.hidden // 16),
        config.flag("mamba_conv_bias", True),
        config.flag("mamba_proj_bias"),
        norms=True,
    )
    state = blocks.mamba1(stack, recurrent, mixer)
    width = config.integer("intermediate_size", limit="intermediate_size")
    experts = config.integer("num_experts", default=16, limit="experts")
    read = config.integer("num_experts_per_tok", default=2)
    routed: list[int] = []
    if experts > 1:
        period = config.integer("expert_layer_period", default=2)
        routed = periodic(frame, period, config.integer("expert_layer_offset", default=1))
        blocks.experts(stack, routed, blocks.Experts(frame.hidden, width, experts, read, name="feed_forward"))
    blocks.mlp(stack, others(frame, routed), frame.hidden, width, name="feed_forward")
    stack.vector("input_layernorm", 2 * frame.hidden, frame.every)
    stack.vector("final_layernorm", frame.hidden)
    more = {"experts": experts, "experts_per_token": read, "expert_every": 2} if routed else {}
    more |= heads.fields()
    return counted(stack, frame, len(attend), len(recurrent) * state, intermediate_size=width, **more)


def granite_hybrid(config: Config, _kind: str) -> Fields:
    """Granite 4 H: Mamba-2 or attention by `layer_types`; experts and a shared MLP in every layer.

    Notes
    -----
    Without routed experts the shared MLP is the only one, and `intermediate_size` means nothing.
    """
    frame = frame_of(config, tied=True, listed="layer_types")
    heads, stack = heads_of(config, frame.hidden), Stack()
    kinds = kinds_of(config, frame, "layer_types", "layers_block_type")
    attend = places(kinds, "attention", "full_attention")
    recurrent = others(frame, attend)
    _attend(stack, attend, frame, heads, "self_attn", config.flag("attention_bias"))
    state = blocks.mamba2(stack, recurrent, _mamba_d(config, frame)) if recurrent else 0.0
    experts = config.integer("num_local_experts", default=8, limit="experts")
    width = config.integer("intermediate_size", default=0)
    shared = config.integer("shared_intermediate_size", default=1024)
    more: Fields = {"intermediate_size": shared}
    if experts > 1:
        read = config.integer("num_experts_per_tok", default=2)
        described = blocks.Experts(frame.hidden, width, experts, read, name="block_sparse_moe")
        blocks.experts(stack, frame.every, described)
        more |= {"experts": experts, "experts_per_token": read, "shared_experts": 1}
        more |= {"expert_intermediate_size": width}
    blocks.mlp(stack, frame.every, frame.hidden, shared, name="shared_mlp")
    stack.vector("input_layernorm", 2 * frame.hidden, frame.every)
    stack.vector("norm", frame.hidden)
    return counted(stack, frame, len(attend), len(recurrent) * state, **more, **heads.fields())


def bamba(config: Config, _kind: str) -> Fields:
    """Bamba: attention in the layers of `attn_layer_indices`, Mamba-2 elsewhere."""
    frame = frame_of(config)
    heads, stack = heads_of(config, frame.hidden), Stack()
    attend = [i for i in config.items("attn_layer_indices") if isinstance(i, int) and 0 <= i < frame.layers]
    recurrent = others(frame, attend)
    _attend(stack, attend, frame, heads, "self_attn", config.flag("attention_bias"))
    state = blocks.mamba2(stack, recurrent, _mamba_d(config, frame)) if recurrent else 0.0
    width = config.integer("intermediate_size", limit="intermediate_size")
    blocks.mlp(stack, frame.every, frame.hidden, width, name="feed_forward")
    stack.vector("input_layernorm", 2 * frame.hidden, frame.every)
    stack.vector("final_layernorm", frame.hidden)
    return counted(
        stack, frame, len(attend), len(recurrent) * state, intermediate_size=width, **heads.fields()
    )


def zamba2(config: Config, _kind: str) -> Fields:
    """Zamba 2: Mamba-2 everywhere; some places call a shared block of attention and MLP over two widths.

    Notes
    -----
    The shared block is stored `num_mem_blocks` times, with a small adapter for each place; each place keeps a
    cache of its own. Its queries, keys and values read the hidden state beside the embeddings.
    """
    frame, stack = frame_of(config, tied=True, listed="layers_block_type"), Stack()
    kinds = kinds_of(config, frame, "layers_block_type", "layer_types")
    shared_places = places(kinds, "hybrid")
    hidden = frame.hidden
    inner = hidden * config.integer("mamba_expand", default=2)
    heads = config.integer("n_mamba_heads", default=8, limit="attention_heads")
    mixer = blocks.Mamba2(
        hidden,
        heads,
        config.integer("mamba_headdim", default=0) or max(1, inner // heads),
        config.integer("mamba_ngroups", default=1),
        config.integer("mamba_d_state", default=64),
        config.integer("mamba_d_conv", default=4),
        config.flag("use_conv_bias", True),
        config.flag("add_bias_linear"),
    )
    state = blocks.mamba2(stack, frame.every, mixer)
    width = config.integer("intermediate_size", default=4 * hidden)
    copies = range(min(config.integer("num_mem_blocks", default=1), max(1, len(shared_places))))
    attend = config.integer("num_attention_heads", limit="attention_heads")
    attend_dim = config.integer("attention_head_dim", default=0) or max(1, 2 * hidden // attend)
    described = blocks.Attention(hidden, attend, attend, attend_dim, inputs=2 * hidden)
    if shared_places:
        blocks.attention(stack, copies, described, "shared_transformer.self_attn")
        blocks.mlp(stack, copies, hidden, width, name="shared_transformer.feed_forward")
        stack.vector("shared_transformer.input_layernorm", 3 * hidden, copies)
        stack.matrix("linear", hidden, hidden, shared_places)
        rank = config.integer("adapter_rank", default=128)
        adapters = [("gate_up_proj_adapter", hidden, 2 * width)]
        if config.flag("use_shared_attention_adapter"):
            adapters += [(f"{part}_adapter", 2 * hidden, attend * attend_dim) for part in "qkv"]
        for name, inputs, outputs in adapters:
            stack.matrix(f"shared_transformer.{name}.0", rank, inputs, shared_places)
            stack.matrix(f"shared_transformer.{name}.1", outputs, rank, shared_places)
    stack.vector("input_layernorm", hidden, frame.every)
    stack.vector("final_layernorm", hidden)
    found = Heads(attend, attend, attend_dim).fields()
    return counted(stack, frame, len(shared_places), frame.layers * state, intermediate_size=width, **found)


STATE_SPACE: dict[str, Callable[[Config, str], Fields]] = {
    **dict.fromkeys(("nemotron_h", "nemotron_h_moe"), nemotron_h),
    "falcon_h1": falcon_h1,
    **dict.fromkeys(("mamba", "falcon_mamba"), mamba1),
    "mamba2": mamba2,
    "jamba": jamba,
    "granitemoehybrid": granite_hybrid,
    "bamba": bamba,
    "zamba2": zamba2,
}
