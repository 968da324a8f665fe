"""Matrix products that one token asks for, counted from the dimensions of a model."""

from __future__ import annotations

import numpy as np

from app.core.model.architecture import ModelArchitecture
from app.core.tracing import floats, named
from app.core.units import Number


def attention_width(model: ModelArchitecture) -> float:
    """Heads x head dimension: the width of the attention products."""
    head = model.head_dim or (model.hidden_size // max(model.attention_heads, 1))
    return 1.0 * model.attention_heads * head or 1.0 * model.hidden_size


def attended(model: ModelArchitecture, sequence: Number) -> Number:
    """Sum over layers of the positions that a token attends to."""
    layers = model.layers + model.encoder_layers
    if not model.sliding_window and not model.linear_attention_layers:
        return named(layers * floats(sequence), "attended_positions")
    full = layers if model.full_attention_layers is None else model.full_attention_layers
    sliding = max(0.0, layers - full - model.linear_attention_layers)
    window = np.minimum(sequence, model.sliding_window or 0)
    return named(full * floats(sequence) + sliding * window, "attended_positions")


def matmul_parameters(model: ModelArchitecture) -> float:
    """Active parameters that take part in matrix products: input embeddings do not."""
    # Those of a mixture of experts count without the table already.
    lookup = 0.0 if model.is_moe else model.embedding_parameters
    if model.family in ("decoder", "encoder-decoder") and lookup:
        # The output head is a matrix product; with tied embeddings it is the embedding itself.
        lookup = lookup - 1.0 * model.vocab_size * model.hidden_size
    found = max(model.active_parameters - max(lookup, 0.0), 0.1 * model.active_parameters)
    return named(found, "matmul_parameters")
