"""Low-rank adapters: how many parameters they add and where."""

from __future__ import annotations

from app.core.kept import derived
from app.core.model.architecture import ModelArchitecture


@derived
def adapter_parameters(model: ModelArchitecture, rank: int, targets: str = "all-linear") -> float:
    """Trainable parameters of LoRA.

    Parameters
    ----------
    model: the architecture.
    rank: rank r of the adapters.
    targets: "attention" (query, key, value, output) or "all-linear" (the MLP too; routed experts are left
        out, as PEFT does by default).

    Returns
    -------
    The count.

    Notes
    -----
    r x (inputs + outputs) of each matrix: L r (4 h + 2 a d + 2 k d) for attention, + L r m (h + i) for the
    MLP. Latent attention counts its five projections.

    References
    ----------
    [1] vramcalc 0.1.2 memory.py, read 2026-11-30.
    """
    h, a, d = model.hidden_size, model.attention_heads, model.head_dim
    heads = model.kv_heads if isinstance(model.kv_heads, tuple) else (model.kv_heads,) * model.layers
    if model.kv_lora_rank:
        n, r, c = model.qk_nope_head_dim, model.qk_rope_head_dim, model.kv_lora_rank
        v, q = model.v_head_dim or n, model.q_lora_rank
        query = (h + q) + (q + a * (n + r)) if q else h + a * (n + r)
        attention = model.layers * (query + (h + c + r) + (c + a * (n + v)) + (a * v + h))
    else:
        attention = sum(2 * (h + a * d) + 2 * (h + k * d) for k in heads)
    cross = 0
    if model.family in ("encoder-decoder", "speech"):
        cross = (model.encoder_layers + model.layers) * 4 * 2 * h
    if targets == "attention":
        return rank * (attention + cross)
    width = model.intermediate_size
    if model.is_moe:
        width = model.shared_experts * model.expert_intermediate_size
    layers = model.layers + (model.encoder_layers if cross else 0)
    mlp = layers * (3 if model.gated_mlp else 2) * (h + width) if width else 0
    return rank * (attention + cross + mlp)


@derived
def largest_matrix(model: ModelArchitecture) -> float:
    """Elements of the largest quantized matrix: what is widened to 16 bit at one time."""
    h = model.hidden_size
    width = model.expert_intermediate_size if model.is_moe else model.intermediate_size
    return h * max(width, model.attention_heads * model.head_dim, 1)
