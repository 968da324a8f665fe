"""config.json of Gemma 3n and 4: layers that share caches, embeddings for each layer, two kinds of heads."""

from __future__ import annotations

from collections.abc import Callable

from app.core.model import blocks
from app.core.model.modules import Stack
from app.core.model.readers.bounded import Config
from app.core.model.readers.frame import Fields, Frame, counted, frame_of, kinds_of, places
from app.core.model.readers.state_space import Heads


def _sliding(config: Config, frame: Frame, period: int) -> list[int]:
    """The layers that keep a window: by list, else all but every `period`-th."""
    kinds = kinds_of(config, frame, "layer_types")
    if kinds:
        return places(kinds, "sliding_attention")
    return [i for i in frame.every if (i + 1) % period]


def _widths(config: Config, frame: Frame) -> list[int]:
    """The width of the MLP of each layer."""
    if isinstance(config.values.get("intermediate_size"), list | tuple):
        return config.integers("intermediate_size", frame.layers, limit="intermediate_size")
    return [config.integer("intermediate_size", limit="intermediate_size")] * frame.layers


def _by_value(values: list[int]) -> dict[int, list[int]]:
    """Layers by a value that they share."""
    found: dict[int, list[int]] = {}
    for layer, value in enumerate(values):
        found.setdefault(value, []).append(layer)
    return found


def _per_layer_embeddings(config: Config, stack: Stack, frame: Frame) -> None:
    """A table with a row for each token and layer, and what leads it into the layers."""
    narrow = config.integer("hidden_size_per_layer_input", default=0)
    if not narrow:
        return
    table = config.integer("vocab_size_per_layer_input", default=262_144, limit="vocab_size")
    stack.add("embed_tokens_per_layer", table, narrow * frame.layers, kind="embedding", read=0)
    stack.matrix("per_layer_model_projection", narrow * frame.layers, frame.hidden)
    stack.vector("per_layer_projection_norm", narrow)
    stack.matrix("per_layer_input_gate", narrow, frame.hidden, frame.every)
    stack.matrix("per_layer_projection", frame.hidden, narrow, frame.every)
    stack.vector("post_per_layer_input_norm", frame.hidden, frame.every)


def _own_caches(config: Config, frame: Frame) -> int:
    """Layers that write keys and values; the later ones read those of earlier layers."""
    shared = config.integer("num_kv_shared_layers", default=0)
    return max(1, frame.layers - min(shared, frame.layers))


def gemma3n(config: Config, _kind: str) -> Fields:
    """Gemma 3n: alternating updates, low-rank residuals, per-layer embeddings; late layers share caches."""
    values = {"num_kv_shared_layers": 15, "hidden_size_per_layer_input": 256, **config.given()}
    config = Config({"vocab_size": 262_400, **values}, config.pointer)
    frame, stack = frame_of(config, tied=True), Stack()
    heads = Heads(
        config.integer("num_attention_heads", default=8, limit="attention_heads"),
        config.integer("num_key_value_heads", default=2),
        config.integer("head_dim", default=256),
    )
    own = _own_caches(config, frame)
    described = blocks.Attention(frame.hidden, *heads, norm="head")
    blocks.attention(stack, range(own), described)
    blocks.attention(stack, range(own, frame.layers), described._replace(own_keys=False))
    widths = _widths(config, frame)
    for width, layers in _by_value(widths).items():
        blocks.mlp(stack, layers, frame.hidden, width)
    inputs = config.integer("altup_num_inputs", default=4)
    rank = config.integer("laurel_rank", default=64)
    stack.matrix("laurel.linear_left", rank, frame.hidden, frame.every)
    stack.matrix("laurel.linear_right", frame.hidden, rank, frame.every)
    stack.vector("altup", (inputs + 2) * frame.hidden + inputs * inputs * (1 + inputs), frame.every)
    stack.vector("laurel.post_laurel_norm", 5 * frame.hidden, frame.every)
    for name in ("altup_projections", "altup_unembed_projections"):
        stack.matrix(name, frame.hidden, frame.hidden, range(inputs - 1))
    stack.vector("norm", frame.hidden)
    _per_layer_embeddings(config, stack, frame)
    sliding = [i for i in _sliding(config, frame, 5) if i < own]
    found = counted(stack, frame, own - len(sliding), 0.0, intermediate_size=max(widths), **heads.fields())
    found.update(
        linear_attention_layers=frame.layers - own,
        sliding_window=config.integer("sliding_window", default=512),
    )
    return found


def gemma4(config: Config, _kind: str) -> Fields:
    """Gemma 4: windowed layers and full ones differ in the number and the width of their heads of keys.

    Notes
    -----
    `attention_k_eq_v` saves the value projection of full layers, not their cache. With experts a dense MLP
    runs beside them. The last `num_kv_shared_layers` keep no cache, and with `use_double_wide_mlp` have an
    MLP of twice the width.
    """
    frame, stack = frame_of(config, tied=True), Stack()
    heads = config.integer("num_attention_heads", limit="attention_heads")
    kv_heads = config.integer("num_key_value_heads", default=heads)
    head = config.integer("head_dim", default=256)
    wide = config.integer("global_head_dim", default=512 if config.has("layer_types") else head)
    wide_heads = config.integer("num_global_key_value_heads", default=kv_heads)
    own = _own_caches(config, frame)
    sliding = _sliding(config, frame, 6)
    window = config.integer("sliding_window", default=512)
    equal = config.flag("attention_k_eq_v")
    narrow = blocks.Attention(frame.hidden, heads, kv_heads, head, norm="head")
    broad = blocks.Attention(frame.hidden, heads, wide_heads, wide, norm="head", own_values=not equal)
    for described, kind in ((narrow, True), (broad, False)):
        layers = [i for i in frame.every if (i in set(sliding)) == kind]
        blocks.attention(stack, [i for i in layers if i < own], described)
        blocks.attention(stack, [i for i in layers if i >= own], described._replace(own_keys=False))
    width = config.integer("intermediate_size", limit="intermediate_size")
    twice = 2 if config.flag("use_double_wide_mlp") else 1
    blocks.mlp(stack, range(own), frame.hidden, width)
    blocks.mlp(stack, range(own, frame.layers), frame.hidden, width * twice)
    norms, more = 4, {}
    experts = config.integer("num_experts", default=0, limit="experts")
    if config.flag("enable_moe_block", experts > 1) and experts > 1:
        read = config.integer("top_k_experts", "num_experts_per_tok", default=8)
        each = config.integer("moe_intermediate_size", "expert_intermediate_size", limit="intermediate_size")
        blocks.experts(stack, frame.every, blocks.Experts(frame.hidden, each, experts, read, name="moe"))
        stack.vector("router.scale", experts + frame.hidden, frame.every)
        norms += 3
        more = {"experts": experts, "experts_per_token": read, "expert_intermediate_size": each}
    stack.vector("input_layernorm", norms * frame.hidden, frame.every)
    stack.vector("norm", frame.hidden)
    _per_layer_embeddings(config, stack, frame)
    slid = sum(1 for i in sliding if i < own)
    found = counted(
        stack,
        frame,
        own - slid,
        0.0,
        attention_heads=heads,
        kv_heads=min(wide_heads, heads),
        head_dim=wide,
        intermediate_size=width,
        **more,
    )
    found.update(
        linear_attention_layers=frame.layers - own,
        sliding_window=window if sliding else 0,
        sliding_kv_heads=min(kv_heads, heads),
        sliding_head_dim=head,
    )
    return found


GEMMA: dict[str, Callable[[Config, str], Fields]] = {
    **dict.fromkeys(("gemma3n", "gemma3n_text"), gemma3n),
    **dict.fromkeys(("gemma4", "gemma4_text", "gemma4_unified_text"), gemma4),
}
