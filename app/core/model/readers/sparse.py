"""config.json of models that compress, index or share what attention keeps."""

from __future__ import annotations

from collections.abc import Callable

from app.core.model import blocks
from app.core.model.modules import Stack
from app.core.model.readers.bounded import Config
from app.core.model.readers.decoders import index_key_bytes, llama_like
from app.core.model.readers.frame import Fields, Frame, counted, frame_of


def deepseek_v4(config: Config, _kind: str) -> Fields:
    """DeepSeek V4: a window everywhere, and one compressed vector for every 4 or 128 tokens of most layers.

    Notes
    -----
    Keys and values are one vector of `head_dim`, shared by all heads. Layers that compress by 4 read a choice
    of the vectors, by an indexer with keys of its own. `compress_ratios` has entries for the layers of
    multi-token prediction too; 0 leaves the window alone.

    References
    ----------
    [1] transformers 5.24, models/deepseek_v4, read 2026-12-01.
    """
    frame, stack = frame_of(config), Stack()
    hidden, every = frame.hidden, frame.every
    heads = config.integer("num_attention_heads", limit="attention_heads")
    head = config.integer("head_dim", default=512)
    query = config.integer("q_lora_rank", default=1024)
    groups = max(1, config.integer("o_groups", default=8))
    output = config.integer("o_lora_rank", default=1024)
    stack.matrix("self_attn.q_a_proj", query, hidden, every)
    stack.matrix("self_attn.q_b_proj", heads * head, query, every)
    stack.matrix("self_attn.kv_proj", head, hidden, every)
    stack.matrix("self_attn.o_a_proj", groups * output, heads * head // groups, every)
    stack.matrix("self_attn.o_b_proj", hidden, groups * output, every)
    stack.vector("self_attn.norms", heads + query + head, every)
    ratios = compression(config, frame)
    vectors, keys = _compressors(config, stack, frame, ratios, head, query)
    copies = config.integer("hc_mult", default=4)
    mixes = (2 + copies) * copies
    stack.vector("attn_hc", 2 * (mixes * copies * hidden + mixes + 3), every)
    stack.vector("hc_head", copies * copies * hidden + copies + 1)
    stack.vector("input_layernorm", 2 * hidden, every)
    stack.vector("norm", hidden)
    width = config.integer("moe_intermediate_size", limit="intermediate_size")
    experts = config.integer("n_routed_experts", default=256, limit="experts")
    read = config.integer("num_experts_per_tok", default=6)
    shared = config.integer("n_shared_experts", default=1)
    described = blocks.Experts(hidden, width, experts, read, shared_width=width * shared)
    blocks.experts(stack, every, described)
    rope = config.integer("qk_rope_head_dim", default=64)
    found = counted(
        stack,
        frame,
        0,
        0.0,
        attention_heads=heads,
        kv_heads=1,
        head_dim=head,
        intermediate_size=width,
        experts=experts,
        experts_per_token=read,
        shared_experts=shared,
        expert_intermediate_size=width,
        sliding_window=config.integer("sliding_window", default=128),
    )
    found.update(
        linear_attention_layers=0,
        shared_key_values=True,
        compressed_elements=vectors * head,
        wide_elements=vectors * (rope + 8),
        index_bytes_per_token=keys,
    )
    return found


_RATES = {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128}


def compression(config: Config, frame: Frame) -> list[int]:
    """Tokens that one compressed vector of each layer stands for; 0: the layer keeps its window alone."""
    stated = config.items("compress_ratios")
    if len(stated) >= frame.layers:
        return [r if isinstance(r, int) and 0 <= r <= 2**20 else 0 for r in stated[: frame.layers]]
    rates = config.inner("compress_rates")
    by_kind = dict(_RATES)
    if rates is not None:
        by_kind = {kind: rates.integer(kind, default=rate) for kind, rate in _RATES.items()}
    kinds = config.items("layer_types")[: frame.layers]
    return [by_kind.get(str(kind), 0) for kind in kinds] or [0] * frame.layers


def _compressors(
    config: Config, stack: Stack, frame: Frame, ratios: list[int], head: int, query: int
) -> tuple[float, float]:
    """Compressors and indexers; compressed vectors, and bytes of index keys, for each token."""
    index_heads = config.integer("index_n_heads", default=64)
    index = config.integer("index_head_dim", default=128)
    vectors = keys = 0.0
    for ratio in sorted(set(ratios) - {0}):
        layers = [i for i, r in enumerate(ratios) if r == ratio]
        # Overlapping windows are compressed twice, and only they are indexed.
        overlap = 2 if ratio <= 16 else 1
        for part in ("kv_proj", "gate_proj"):
            stack.matrix(f"self_attn.compressor.{part}", overlap * head, frame.hidden, layers)
        stack.vector("self_attn.compressor.position_bias", ratio * overlap * head + head, layers)
        vectors += len(layers) / ratio
        if overlap == 1:
            continue
        name = "self_attn.indexer"
        for part in ("kv_proj", "gate_proj"):
            stack.matrix(f"{name}.{part}", 2 * index, frame.hidden, layers)
        stack.matrix(f"{name}.q_b_proj", index_heads * index, query, layers)
        stack.matrix(f"{name}.weights_proj", index_heads, frame.hidden, layers)
        stack.vector(f"{name}.position_bias", ratio * 2 * index + index, layers)
        keys += len(layers) / ratio * index_key_bytes(index)
    return vectors, keys


def hunyuan_shared(config: Config, kind: str) -> Fields:
    """Hunyuan-Large: groups of `cla_share_factor` layers share one cache and its projections."""
    found = llama_like(config, kind)
    factor = config.integer("cla_share_factor", default=2)
    if not config.flag("use_cla") or factor < 2:
        return found
    layers, kv_heads = found["layers"], found["kv_heads"]
    found["kv_heads"] = tuple(kv_heads if i % factor == 0 else 0 for i in range(layers))
    return found


SPARSE: dict[str, Callable[[Config, str], Fields]] = {
    **dict.fromkeys(("deepseek_v4", "deepseek_ref"), deepseek_v4),
    **dict.fromkeys(("hunyuan", "hunyuan_v1_moe"), hunyuan_shared),
}
