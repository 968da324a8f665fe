"""config.json of decoders whose layers differ: skipped, recurrent, windowed, cross-attending."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.core.model.readers.bounded import Config
from app.core.model.readers.decoders import llama_like

Fields = dict[str, Any]
_CHUNK = 256
"""nemotron-nas rounds MLP widths up to this."""


def nemotron_nas(config: Config, _kind: str) -> Fields:
    """Llama-Nemotron: `block_configs` gives each layer its KV heads and MLP width, or skips one of them.

    Notes
    -----
    Attention of a skipped or linearised block keeps no KV. The count sums the blocks; the model's width is
    the widest one's.
    """
    hidden = config.integer("hidden_size", limit="hidden_size")
    heads = config.integer("num_attention_heads", limit="attention_heads")
    vocab = config.integer("vocab_size", limit="vocab_size")
    head = config.integer("head_dim", default=0) or max(1, hidden // heads)
    kv_heads: list[int] = []
    widths: list[int] = []
    extra = 0
    for row in config.items("block_configs"):
        block = Config({"block": row}, config.pointer).inner("block")
        attention = block.inner("attention") if block else None
        mlp = block.inner("ffn") if block else None
        k = 0
        if attention is not None and not attention.flag("no_op"):
            if attention.flag("replace_with_linear"):
                extra += hidden * hidden
            else:
                k = heads // max(1, attention.integer("n_heads_in_group", default=1))
        kv_heads.append(k)
        width = 0
        if mlp is not None and not mlp.flag("no_op"):
            if mlp.flag("replace_with_linear"):
                extra += hidden * hidden
            else:
                width = _rounded(mlp.values.get("ffn_mult"), hidden)
        widths.append(width)
    layers = len(kv_heads)
    if not layers:
        return llama_like(config, "llama")
    attention_count = sum(2 * hidden * heads * head + 2 * hidden * k * head for k in kv_heads if k)
    norms = sum((k > 0) + (w > 0) for k, w in zip(kv_heads, widths, strict=True)) * hidden
    tied = config.flag("tie_word_embeddings")
    table = vocab * hidden * (1 if tied else 2)
    return {
        "family": "decoder",
        "parameters": attention_count + 3 * hidden * sum(widths) + norms + extra + table + hidden,
        "layers": layers,
        "hidden_size": hidden,
        "attention_heads": heads,
        "kv_heads": tuple(kv_heads),
        "head_dim": head,
        "intermediate_size": max(widths) or 4 * hidden,
        "vocab_size": vocab,
        "tied_embeddings": tied,
        "max_context": config.integer("max_position_embeddings", default=0),
    }


def _rounded(multiple: Any, hidden: int) -> int:
    if isinstance(multiple, bool) or not isinstance(multiple, int | float) or not 0 < multiple < 100:
        return 0
    width = int(2 * multiple * hidden / 3)
    return -(-width // _CHUNK) * _CHUNK


def minimax(config: Config, kind: str) -> Fields:
    """MiniMax-Text-01 and M1: softmax attention in one layer of eight, lightning attention in the others."""
    found = llama_like(config, kind)
    kinds = config.items("attn_type_list")
    layers = found["layers"]
    full = sum(1 for k in kinds[:layers] if k == 1) if kinds else layers // 8
    heads, head = found["attention_heads"], found["head_dim"]
    linear = layers - full
    # Lightning attention has full heads of keys and values and an output gate beside.
    lightning = found["hidden_size"] * heads * head * 5 + heads * head
    softmax = 2 * found["hidden_size"] * (heads + found["kv_heads"]) * head
    found.update(
        full_attention_layers=full,
        linear_attention_layers=linear,
        linear_state_bytes=linear * heads * head * head * 4.0,
        extra_parameters=linear * (lightning - softmax),
    )
    return found


def mllama(config: Config, _kind: str) -> Fields:
    """Llama 3.2 Vision: some layers attend to the image, not to the text; their cache counts as well."""
    found = llama_like(config, "llama")
    cross = len(config.items("cross_attention_layers"))
    if cross:
        found["cross_attention_layers"] = min(cross, found["layers"])
        # Two norms and two gates in each of them, and eight more rows in the token table.
        found["extra_parameters"] = cross * (2 * found["head_dim"] + 2) + 8 * found["hidden_size"]
    return found


def mimo(config: Config, kind: str) -> Fields:
    """MiMo-V2: windowed layers with their own KV heads; values narrower than keys."""
    found = llama_like(config, kind)
    pattern = config.items("hybrid_layer_pattern")
    window = config.integer("sliding_window", "sliding_window_size", default=0)
    if pattern and window:
        slid = sum(1 for k in pattern[: found["layers"]] if k == 1)
        found.update(
            sliding_window=window,
            full_attention_layers=found["layers"] - slid,
            sliding_kv_heads=config.integer("swa_num_key_value_heads", default=found["kv_heads"]),
            sliding_head_dim=config.integer("swa_head_dim", default=found["head_dim"]),
        )
    value = config.integer("v_head_dim", default=0)
    if value and value != found["head_dim"]:
        found["v_head_dim"] = value
    return found


HYBRIDS: dict[str, Callable[[Config, str], Fields]] = {
    "nemotron-nas": nemotron_nas,
    **dict.fromkeys(("minimax_text_01", "minimax_m1", "MiniMaxText01", "MiniMaxM1"), minimax),
    **dict.fromkeys(("mllama", "mllama_text_model"), mllama),
    **dict.fromkeys(("mimo_v2_flash", "mimo_v2"), mimo),
}
