"""Dimensions that a model of a given size usually has, when nothing but the size is known."""

from __future__ import annotations

import math
from typing import Any, NamedTuple


class Anchor(NamedTuple):
    """One published model: (parameters, layers, hidden, intermediate, heads, KV heads, vocabulary)."""

    parameters: float
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    vocab: int


# SmolLM 135M, Qwen2.5 0.5B / 1.5B, Llama-3.2 3B, Llama-2 7B (MLP) with the grouped queries of its successors,
# Qwen2.5 14B / 32B, Llama-3 70B, Llama-3.1 405B.
DECODERS = (
    Anchor(1.35e8, 30, 576, 1536, 9, 3, 49_152),
    Anchor(4.94e8, 24, 896, 4864, 14, 2, 151_936),
    Anchor(1.54e9, 28, 1536, 8960, 12, 2, 151_936),
    Anchor(3.21e9, 28, 3072, 8192, 24, 8, 128_256),
    Anchor(7.25e9, 32, 4096, 14_336, 32, 8, 32_768),
    Anchor(1.477e10, 48, 5120, 13_824, 40, 8, 152_064),
    Anchor(3.276e10, 64, 5120, 27_648, 40, 8, 152_064),
    Anchor(7.055e10, 80, 8192, 28_672, 64, 8, 128_256),
    Anchor(4.0585e11, 126, 16_384, 53_248, 128, 8, 128_256),
)
# TinyBERT, MiniLM, BERT base and large, XLM-R XL.
ENCODERS = (
    Anchor(1.435e7, 4, 312, 1200, 12, 12, 30_522),
    Anchor(3.34e7, 12, 384, 1536, 12, 12, 30_522),
    Anchor(1.095e8, 12, 768, 3072, 12, 12, 30_522),
    Anchor(3.351e8, 24, 1024, 4096, 16, 16, 30_522),
    Anchor(3.48e9, 36, 2560, 10_240, 32, 32, 250_880),
)
# T5 small, base, large, 3B (per side).
ENCODER_DECODERS = (
    Anchor(6.05e7, 6, 512, 2048, 8, 8, 32_128),
    Anchor(2.229e8, 12, 768, 3072, 12, 12, 32_128),
    Anchor(7.377e8, 24, 1024, 4096, 16, 16, 32_128),
    Anchor(2.852e9, 24, 1024, 16_384, 32, 32, 32_128),
    Anchor(1.113e10, 24, 4096, 10_240, 64, 64, 32_128),
)
# Whisper tiny, base, small, medium, large.
SPEECH = (
    Anchor(3.78e7, 4, 384, 1536, 6, 6, 51_865),
    Anchor(7.26e7, 6, 512, 2048, 8, 8, 51_865),
    Anchor(2.417e8, 12, 768, 3072, 12, 12, 51_865),
    Anchor(7.639e8, 24, 1024, 4096, 16, 16, 51_865),
    Anchor(1.543e9, 32, 1280, 5120, 20, 20, 51_866),
)
TIED_BELOW = 4e9
"""Small decoders share the input and output table."""
PATTERNS = {"decoder": DECODERS, "encoder": ENCODERS, "encoder-decoder": ENCODER_DECODERS, "speech": SPEECH}


def dimensions(family: str, parameters: float, active_parameters: float = 0.0) -> dict[str, Any]:
    """Dimensions of the family's usual model of this size.

    Parameters
    ----------
    family: decoder, encoder, encoder-decoder or speech.
    parameters: total count.
    active_parameters: count per token for a mixture of experts; 0 = dense.

    Returns
    -------
    layers, hidden_size, intermediate_size, attention_heads, kv_heads, head_dim, vocab_size, tied_embeddings.

    Notes
    -----
    Interpolates between published models in the logarithm of the size; beyond the ends hidden size and
    depth grow with the cube root. For a mixture of experts the width follows the active count and the depth
    the geometric mean of active and total count.
    """
    anchors = PATTERNS[family]
    size = parameters
    if 0 < active_parameters < 0.8 * parameters:
        size = math.sqrt(parameters * active_parameters)
    below = max((a for a in anchors if a.parameters <= size), key=lambda a: a.parameters, default=None)
    above = min((a for a in anchors if a.parameters > size), key=lambda a: a.parameters, default=None)
    if below is None or above is None:
        end = below or above or anchors[0]
        scale = (size / end.parameters) ** (1 / 3)
        layers, hidden = end.layers * scale, end.hidden * scale
        middle = end.intermediate * scale
        near = end
    else:
        t = math.log(size / below.parameters) / math.log(above.parameters / below.parameters)
        layers = _between(below.layers, above.layers, t)
        hidden = _between(below.hidden, above.hidden, t)
        middle = _between(below.intermediate, above.intermediate, t)
        near = below if t < 0.5 else above
    head = near.hidden // near.heads
    # Query heads share the KV heads evenly, in real models and in kernels.
    group = 1 if near.kv_heads == near.heads else near.kv_heads
    hidden_size = max(1, round(hidden / (head * group))) * head * group
    heads = hidden_size // head
    kv = heads if group == 1 and near.kv_heads == near.heads else near.kv_heads
    return {
        "layers": max(1, round(layers)),
        "hidden_size": hidden_size,
        "intermediate_size": max(64, round(middle / 64) * 64),
        "attention_heads": heads,
        "kv_heads": kv,
        "head_dim": head,
        "vocab_size": near.vocab,
        "tied_embeddings": family != "decoder" or size <= TIED_BELOW,
    }


def _between(low: float, high: float, t: float) -> float:
    return math.exp(math.log(low) * (1 - t) + math.log(high) * t)
