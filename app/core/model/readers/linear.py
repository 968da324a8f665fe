"""config.json of models with linear attention, short convolutions or RWKV, alone or beside attention."""

from __future__ import annotations

from collections.abc import Callable

from app.core.faults import InputFault
from app.core.model import blocks
from app.core.model.modules import Stack
from app.core.model.readers.bounded import Config
from app.core.model.readers.frame import Fields, Frame, counted, frame_of, kinds_of, others, periodic, places
from app.core.model.readers.state_space import heads_of

_READ = ("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_top_k", "moe_k", "top_k_experts")


def _latent_of(config: Config, hidden: int) -> blocks.Latent:
    nope = config.integer("qk_nope_head_dim", default=128)
    return blocks.Latent(
        hidden,
        config.integer("num_attention_heads", limit="attention_heads"),
        config.integer("kv_lora_rank", limit="kv_lora_rank"),
        config.integer("q_lora_rank", default=0),
        nope,
        config.integer("qk_rope_head_dim", default=64),
        config.integer("v_head_dim", default=nope),
        gate=config.flag("mla_use_output_gate"),
    )


def _latent_fields(a: blocks.Latent) -> Fields:
    return {
        "attention_heads": a.heads,
        "kv_heads": a.heads,
        "head_dim": a.nope + a.rope,
        "kv_lora_rank": a.kv_rank,
        "q_lora_rank": a.q_rank,
        "qk_nope_head_dim": a.nope,
        "qk_rope_head_dim": a.rope,
        "v_head_dim": a.value,
    }


def _sparse_mlps(config: Config, stack: Stack, frame: Frame, latent_key: str = "") -> Fields:
    """Leading dense layers, then experts with shared ones: the layout of DeepSeek."""
    experts = config.integer("num_experts", "n_routed_experts", "num_local_experts", default=0)
    width = config.integer("intermediate_size", limit="intermediate_size")
    dense = min(config.integer("first_k_dense_replace", default=0), frame.layers)
    if experts < 2:
        blocks.mlp(stack, frame.every, frame.hidden, width)
        return {"intermediate_size": width}
    narrow = config.integer("moe_intermediate_size", limit="intermediate_size")
    shared = config.integer("num_shared_experts", "n_shared_experts", default=0)
    read = config.integer(*_READ, default=2)
    routed = list(frame.every)[dense:]
    blocks.mlp(stack, list(frame.every)[:dense], frame.hidden, width)
    described = blocks.Experts(
        frame.hidden,
        narrow,
        experts,
        read,
        shared_width=narrow * shared,
        latent=config.integer(latent_key, default=0) if latent_key else 0,
        latent_norm=config.flag("latent_moe_use_norm"),
    )
    blocks.experts(stack, routed, described)
    return {
        "intermediate_size": width,
        "experts": experts,
        "experts_per_token": read,
        "shared_experts": shared,
        "expert_intermediate_size": narrow,
        "dense_layers": dense,
    }


def kimi_linear(config: Config, _kind: str) -> Fields:
    """Kimi Linear and K3: latent attention in `full_attn_layers` (from 1), else delta attention.

    Notes
    -----
    The keys of `linear_attn_config` size the delta attention; `head_dim` of the file is not used. K3's
    experts work in `routed_expert_hidden_size`, with one projection down and one up for each layer.
    """
    frame, stack = frame_of(config), Stack()
    linear = config.inner("linear_attn_config")
    if linear is None:
        raise InputFault.at(f"{config.pointer}/linear_attn_config", "required")
    listed = {i - 1 for i in linear.items("full_attn_layers") if isinstance(i, int)}
    full = sorted(i for i in listed if 0 <= i < frame.layers)
    recurrent = others(frame, full)
    attend = _latent_of(config, frame.hidden)
    blocks.latent(stack, full, attend)
    state = blocks.delta_attention(
        stack,
        recurrent,
        frame.hidden,
        linear.integer("num_heads", limit="attention_heads"),
        linear.integer("head_dim", limit="head_dim"),
        linear.integer("short_conv_kernel_size", default=4),
        linear.flag("use_full_rank_gate"),
    )
    more = _sparse_mlps(config, stack, frame, "routed_expert_hidden_size")
    stack.vector("input_layernorm", 2 * frame.hidden, frame.every)
    stack.vector("norm", frame.hidden)
    return counted(stack, frame, len(full), len(recurrent) * state, **more, **_latent_fields(attend))


def bailing_hybrid(config: Config, _kind: str) -> Fields:
    """Ring and Ling with linear attention: latent or grouped attention in the last layer of each group."""
    frame, stack = frame_of(config), Stack()
    group = max(1, config.integer("layer_group_size", default=6))
    kinds = kinds_of(config, frame, "layer_types")
    full = places(kinds, "full_attention") if kinds else periodic(frame, group, group - 1)
    recurrent = others(frame, full)
    heads = config.integer("linear_num_heads", "num_attention_heads", limit="attention_heads")
    width = config.integer("linear_head_dim", default=128)
    conv = config.integer("linear_conv_kernel_dim", "short_conv_kernel_size", default=4)
    inner = heads * width
    for part in ("q_proj", "k_proj", "v_proj", "f_proj", "g_proj"):
        stack.matrix(f"self_attn.{part}", inner, frame.hidden, recurrent)
    stack.matrix("self_attn.b_proj", heads, frame.hidden, recurrent)
    stack.matrix("self_attn.o_proj", frame.hidden, inner, recurrent)
    stack.vector("self_attn.conv1d", 3 * inner * conv + heads + inner + width, recurrent)
    more: Fields
    if config.has("kv_lora_rank"):
        attend = _latent_of(config, frame.hidden)._replace(gate=True)
        blocks.latent(stack, full, attend)
        more = _latent_fields(attend)
    else:
        grouped = heads_of(config, frame.hidden)
        blocks.attention(stack, full, blocks.Attention(frame.hidden, *grouped, norm="head"))
        more = grouped.fields()
    more |= _sparse_mlps(config, stack, frame)
    stack.vector("input_layernorm", 2 * frame.hidden, frame.every)
    stack.vector("norm", frame.hidden)
    state = heads * width * width * blocks.FP32 + 3 * inner * max(0, conv - 1) * blocks.HALF
    return counted(stack, frame, len(full), len(recurrent) * state, **more)


def olmo_hybrid(config: Config, _kind: str) -> Fields:
    """OLMo hybrid: gated delta nets, and softmax attention in the layers that `layer_types` calls full."""
    frame = frame_of(config)
    heads, stack = heads_of(config, frame.hidden), Stack()
    kinds = kinds_of(config, frame, "layer_types")
    full = places(kinds, "full_attention") if kinds else periodic(frame, 4, 3)
    recurrent = others(frame, full)
    described = blocks.Attention(frame.hidden, *heads, norm="full")
    blocks.attention(stack, full, described)
    delta = delta_of(config, frame.hidden)
    state = blocks.gated_delta(stack, recurrent, delta)
    width = config.integer("intermediate_size", limit="intermediate_size")
    blocks.mlp(stack, frame.every, frame.hidden, width)
    stack.vector("input_layernorm", 2 * frame.hidden, frame.every)
    stack.vector("norm", frame.hidden)
    return counted(stack, frame, len(full), len(recurrent) * state, intermediate_size=width, **heads.fields())


def delta_of(config: Config, hidden: int) -> blocks.Delta:
    """Dimensions of a gated delta net."""
    return blocks.Delta(
        hidden,
        config.integer("linear_num_key_heads", default=16, limit="attention_heads"),
        config.integer("linear_num_value_heads", default=32, limit="attention_heads"),
        config.integer("linear_key_head_dim", default=128, limit="head_dim"),
        config.integer("linear_value_head_dim", default=128, limit="head_dim"),
        config.integer("linear_conv_kernel_dim", default=4, limit="head_dim"),
    )


def lfm2(config: Config, _kind: str) -> Fields:
    """LFM 2: short convolutions, attention where `layer_types` says so; experts after `num_dense_layers`.

    Notes
    -----
    With `block_auto_adjust_ff_dim` a dense MLP has two thirds of `intermediate_size`, times
    `block_ffn_dim_multiplier`, rounded up to `block_multiple_of`.
    """
    frame = frame_of(config, tied=config.flag("tie_embedding", True), listed="layer_types")
    heads, stack = heads_of(config, frame.hidden), Stack()
    full = places(kinds_of(config, frame, "layer_types"), "full_attention")
    if config.has("full_attn_idxs") and not config.has("layer_types"):
        full = [i for i in config.items("full_attn_idxs") if isinstance(i, int) and 0 <= i < frame.layers]
    mixing = others(frame, full)
    blocks.attention(stack, full, blocks.Attention(frame.hidden, *heads, norm="head"))
    columns = config.integer("conv_L_cache", default=3, limit="head_dim")
    state = blocks.short_convolution(stack, mixing, frame.hidden, columns, config.flag("conv_bias"))
    width = config.integer("intermediate_size", "block_ff_dim", limit="intermediate_size")
    experts = config.integer("num_experts", default=0, limit="experts")
    if config.flag("block_auto_adjust_ff_dim", not experts):
        width = _adjusted(config, width)
    dense = min(config.integer("num_dense_layers", default=2), frame.layers) if experts else frame.layers
    blocks.mlp(stack, list(frame.every)[:dense], frame.hidden, width, name="feed_forward")
    more = heads.fields()
    if experts:
        narrow = config.integer("moe_intermediate_size", limit="intermediate_size")
        read = config.integer(*_READ, default=2)
        described = blocks.Experts(frame.hidden, narrow, experts, read, name="feed_forward")
        blocks.experts(stack, list(frame.every)[dense:], described)
        more |= {"experts": experts, "experts_per_token": read, "dense_layers": dense}
        more |= {"expert_intermediate_size": narrow}
    stack.vector("operator_norm", 2 * frame.hidden, frame.every)
    stack.vector("embedding_norm", frame.hidden)
    return counted(stack, frame, len(full), len(mixing) * state, intermediate_size=width, **more)


def _adjusted(config: Config, width: int) -> int:
    multiplier = config.values.get("block_ffn_dim_multiplier")
    width = int(2 * width / 3)
    if isinstance(multiplier, int | float) and not isinstance(multiplier, bool) and 0 < multiplier < 100:
        width = int(multiplier * width)
    step = max(1, config.integer("block_multiple_of", default=256))
    return -(-width // step) * step


def rwkv(config: Config, kind: str) -> Fields:
    """RWKV 4 to 7: no attention, no cache; a matrix of head size squared for each head from version 5 on.

    Notes
    -----
    Exact for version 4. Versions 5 to 7 add gates and low-rank projections; those of 6 and 7 are counted at
    the ranks of the released models where the file does not state them.
    """
    frame, stack = frame_of(config), Stack()
    hidden = frame.hidden
    wide = config.integer("attention_hidden_size", default=0) or hidden
    version = next((int(c) for c in kind if c.isdigit()), 4)
    inner = config.integer("intermediate_size", default=0)
    inner = inner or (4 * hidden if version in (4, 7) else int(hidden * 3.5) // 32 * 32)
    for part in ("key", "value", "receptance"):
        stack.matrix(f"attention.{part}", wide, hidden, frame.every)
    if version in (5, 6):
        stack.matrix("attention.gate", wide, hidden, frame.every)
    stack.matrix("attention.output", hidden, wide, frame.every)
    stack.matrix("feed_forward.key", inner, hidden, frame.every)
    stack.matrix("feed_forward.value", hidden, inner, frame.every)
    if version < 7:
        stack.matrix("feed_forward.receptance", hidden, hidden, frame.every)
    for name, rank in _LOW_RANKS.get(version, {}).items():
        stated = config.integer(f"{name}_low_rank_dim", default=rank)
        stack.matrix(f"attention.{name}", 2 * hidden, stated, frame.every)
    stack.vector("attention.mix", (5 if version < 5 else 8) * hidden + 2 * hidden, frame.every)
    stack.vector("ln1", 4 * hidden, frame.every)
    stack.vector("ln_out", 4 * hidden)
    if version < 5:
        state = 5 * hidden * blocks.FP32
    else:
        size = config.integer("head_size", "head_dim", default=64, limit="head_dim")
        state = (wide // max(1, size)) * size * size * blocks.FP32 + 2 * hidden * blocks.HALF
    return counted(stack, frame, 0, frame.layers * state, intermediate_size=inner, gated_mlp=False)


_LOW_RANKS: dict[int, dict[str, int]] = {
    6: {"proj": 160, "gate": 64},
    7: {"decay": 64, "a": 64, "v": 32, "gate": 128},
}


def recurrent_gemma(config: Config, _kind: str) -> Fields:
    """RecurrentGemma: gated linear recurrences and local attention by turns of `block_types`."""
    frame, stack = frame_of(config, tied=True), Stack()
    heads = heads_of(config, frame.hidden)
    turn = [str(k) for k in config.items("block_types")] or ["recurrent", "recurrent", "attention"]
    kinds = [turn[i % len(turn)] for i in frame.every]
    local, recurrent = places(kinds, "attention"), places(kinds, "recurrent")
    wide = config.integer("lru_width", default=frame.hidden) or frame.hidden
    conv = config.integer("conv1d_width", default=4)
    block = wide * max(1, wide // heads.heads)
    stack.matrix("temporal_block.linear_y", wide, frame.hidden, recurrent, bias=True)
    stack.matrix("temporal_block.linear_x", wide, frame.hidden, recurrent, bias=True)
    stack.matrix("temporal_block.linear_out", frame.hidden, wide, recurrent, bias=True)
    stack.vector("temporal_block.rg_lru", wide * (conv + 1) + wide + 2 * block + 2 * wide, recurrent)
    described = blocks.Attention(frame.hidden, *heads, output_bias=True)
    blocks.attention(stack, local, described, "temporal_block")
    width = config.integer("intermediate_size", limit="intermediate_size") // 2
    blocks.mlp(stack, frame.every, frame.hidden, width, bias=True, name="mlp_block")
    stack.vector("temporal_pre_norm", 2 * frame.hidden, frame.every)
    stack.vector("final_norm", frame.hidden)
    state = wide * blocks.FP32 + wide * max(0, conv - 1) * blocks.HALF
    found = counted(stack, frame, 0, len(recurrent) * state, intermediate_size=width, **heads.fields())
    found["linear_attention_layers"] = len(recurrent)
    found["sliding_window"] = config.integer("attention_window_size", default=2048)
    return found


LINEAR: dict[str, Callable[[Config, str], Fields]] = {
    **dict.fromkeys(("kimi_linear", "kimi_k3"), kimi_linear),
    **dict.fromkeys(("bailing_hybrid", "bailing_moe_linear"), bailing_hybrid),
    "olmo_hybrid": olmo_hybrid,
    **dict.fromkeys(("lfm2", "lfm2_moe"), lfm2),
    **dict.fromkeys(("rwkv", "rwkv5", "rwkv6", "rwkv7"), rwkv),
    "recurrent_gemma": recurrent_gemma,
}
