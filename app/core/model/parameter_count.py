"""Parameter counts from dimensions, exact for the architectures of the readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.core.model.architecture import ModelArchitecture


def parameter_count(model: ModelArchitecture) -> int:
    """Parameters of all layers, experts included.

    Parameters
    ----------
    model: dimensions; the fields of its family must be set.

    Returns
    -------
    The count, without vision tower.

    Notes
    -----
    Dense decoder: L (h a d + 2 h k d + a d h + m h i) + V h (1 tied, 2 untied) + norms and biases, with m = 3
    for a gated MLP and 2 else. Experts multiply only the MLP. Latent attention: h q + q a (n + r) +
    h (c + r) + c a (n + v) + a v h.

    References
    ----------
    [1] EleutherAI/cookbook calc_transformer_mem.py @827ee3b, read 2026-11-30.
    [2] DeepSeek-AI, DeepSeek-V2, arXiv 2405.04434 (latent attention), read 2026-11-30.
    """
    if model.family == "encoder":
        return _encoder(model)
    if model.family == "encoder-decoder":
        return _encoder_decoder(model)
    if model.family == "speech":
        return _speech(model)
    if model.family == "vision":
        return _vision_transformer(model)
    return _decoder(model, model.experts)


def active_parameter_count(model: ModelArchitecture) -> int:
    """Parameters that one token passes through: routed experts per token in place of all."""
    return _decoder(model, model.experts_per_token)


def embedding_count(model: ModelArchitecture) -> int:
    """Input embedding, output head and position table."""
    h, v = model.hidden_size, model.vocab_size
    one = v * h
    positions = model.learned_positions * h
    if model.family == "decoder":
        return one * (1 if model.tied_embeddings else 2) + positions
    if model.family == "encoder-decoder":
        return one * (1 if model.tied_embeddings else 2)
    if model.family == "encoder":
        positions = (model.learned_positions or model.max_context or 512) * h
    return one + positions


def expert_parameter_count(model: ModelArchitecture) -> int:
    """Parameters of all routed experts together (the part that expert parallelism shards)."""
    if not model.experts:
        return 0
    return expert_layers(model) * model.experts * _expert(model)


def expert_layers(model: ModelArchitecture) -> int:
    """Layers that have experts."""
    if not model.experts:
        return 0
    return (model.layers - model.dense_layers) // max(1, model.expert_every)


def attention_count(model: ModelArchitecture, kv_heads: int) -> int:
    """Parameters of one attention block with its biases and query/key norms."""
    h, a, d = model.hidden_size, model.attention_heads, model.head_dim
    if model.kv_lora_rank:
        n, r, c, v = (
            model.qk_nope_head_dim,
            model.qk_rope_head_dim,
            model.kv_lora_rank,
            model.v_head_dim or model.qk_nope_head_dim,
        )
        q = model.q_lora_rank
        query = h * q + q + q * a * (n + r) if q else h * a * (n + r)
        return query + h * (c + r) + c + c * a * (n + v) + a * v * h
    v = model.v_head_dim or d
    count = h * a * d * (2 if model.attention_gate else 1) + h * kv_heads * (d + v) + a * v * h
    if model.attention_bias:
        count += (a + 2 * kv_heads) * d
    if model.output_bias:
        count += h
    if model.qk_norm == "head":
        count += 2 * d
    elif model.qk_norm == "full":
        count += (a + kv_heads) * d
    if model.attributes.get("attention_sinks"):
        count += a
    return count


def latent_down_projection_count(model: ModelArchitecture) -> int:
    """Parameters of the down projections of latent attention, which tensor parallelism replicates."""
    if not model.kv_lora_rank:
        return 0
    per_layer = model.hidden_size * (model.q_lora_rank + model.kv_lora_rank + model.qk_rope_head_dim)
    return model.layers * per_layer


def mlp_count(model: ModelArchitecture, intermediate: int) -> int:
    """Parameters of one dense MLP."""
    matrices = 3 if model.gated_mlp else 2
    count = matrices * model.hidden_size * intermediate
    if model.mlp_bias:
        count += (matrices - 1) * intermediate + model.hidden_size
    return count


def linear_attention_count(model: ModelArchitecture) -> int:
    """Parameters of one linear-attention block: gated delta net where its heads are known."""
    linear = model.attributes.get("linear_attention")
    if not isinstance(linear, Mapping):
        return attention_count(model, _kv(model))
    key = _int(linear, "k_heads") * _int(linear, "k_dim")
    heads = _int(linear, "v_heads")
    value = heads * _int(linear, "v_dim")
    h = model.hidden_size
    projections = h * (2 * key + 2 * value) + h * 2 * heads + value * h
    return projections + (2 * key + value) * _int(linear, "conv") + 2 * heads + _int(linear, "v_dim")


def _int(values: Mapping[Any, Any], name: str) -> int:
    value = values.get(name, 0)
    return int(value) if isinstance(value, int | float) else 0


def _kv(model: ModelArchitecture) -> int:
    return model.kv_heads[0] if isinstance(model.kv_heads, tuple) else model.kv_heads


def _expert(model: ModelArchitecture) -> int:
    h, i = model.hidden_size, model.expert_intermediate_size
    count = (3 if model.gated_mlp else 2) * h * i
    if model.attributes.get("expert_bias"):
        count += 2 * i + h
    return count


def _decoder(model: ModelArchitecture, experts: int) -> int:
    h = model.hidden_size
    norm = h * (2 if model.layer_norm else 1)
    heads = model.kv_heads if isinstance(model.kv_heads, tuple) else (model.kv_heads,) * model.layers
    linear = model.linear_attention_layers
    attention = linear * linear_attention_count(model) if linear else 0
    standard = model.layers - linear
    if isinstance(model.kv_heads, tuple):
        attention += sum(attention_count(model, k) for k in heads)
    elif standard:
        attention += standard * attention_count(model, model.kv_heads)
    with_experts = expert_layers(model) if model.experts else 0
    dense = model.layers - with_experts
    mlp = dense * mlp_count(model, model.intermediate_size)
    if with_experts:
        router = h * model.experts + (model.experts if model.attributes.get("router_bias") else 0)
        shared_width = _int(model.attributes, "shared_intermediate") or model.expert_intermediate_size
        shared = (3 if model.gated_mlp else 2) * h * shared_width * model.shared_experts
        if model.attributes.get("shared_gate"):
            shared += h
        mlp += with_experts * (router + shared + experts * _expert(model))
    vocab = model.vocab_size * h * (1 if model.tied_embeddings else 2)
    extra = model.learned_positions * h
    if model.attributes.get("embedding_norm"):
        extra += norm
    if model.attributes.get("head_bias"):
        extra += model.vocab_size
    final = 0 if model.attributes.get("no_final_norm") else norm
    return attention + mlp + model.layers * model.norms_per_layer * norm + final + vocab + extra


def _bert_block(model: ModelArchitecture) -> int:
    h, i = model.hidden_size, model.intermediate_size
    inner = model.attention_heads * model.head_dim
    return 4 * h * inner + 3 * inner + h + 2 * h * i + i + h + 4 * h


def _encoder(model: ModelArchitecture) -> int:
    h = model.hidden_size
    positions = model.learned_positions or model.max_context or 512
    segments = _int(model.attributes, "type_vocab") if "type_vocab" in model.attributes else 2
    table = _int(model.attributes, "embedding_size") or h
    embedding = (model.vocab_size + positions + segments) * table + 2 * table
    if table != h:
        embedding += table * h + h
    blocks = _int(model.attributes, "shared_layers") or model.layers
    pooler = 0 if model.attributes.get("pooler") is False else h * h + h
    return embedding + blocks * _bert_block(model) + pooler


def _encoder_decoder(model: ModelArchitecture) -> int:
    h, a, d = model.hidden_size, model.attention_heads, model.head_dim
    attention = 4 * h * a * d
    mlp = (3 if model.gated_mlp else 2) * h * model.intermediate_size
    encoder = model.encoder_layers * (attention + mlp + 2 * h)
    decoder = model.layers * (2 * attention + mlp + 3 * h)
    tables = model.vocab_size * h * (1 if model.tied_embeddings else 2)
    buckets = 2 * 32 * a
    return tables + encoder + decoder + 2 * h + buckets


def _speech(model: ModelArchitecture) -> int:
    h, i = model.hidden_size, model.intermediate_size
    mels = _int(model.attributes, "mel_bins") or 80
    audio_positions = _int(model.attributes, "audio_positions") or 1500
    positions = model.learned_positions or model.max_context or 448
    attention = 4 * h * h + 3 * h
    mlp = 2 * h * i + i + h
    encoder = (mels * h * 3 + h) + (h * h * 3 + h) + audio_positions * h
    encoder += model.encoder_layers * (attention + mlp + 4 * h) + 2 * h
    decoder = (model.vocab_size + positions) * h + model.layers * (2 * attention + mlp + 6 * h) + 2 * h
    return encoder + decoder


def _vision_transformer(model: ModelArchitecture) -> int:
    h = model.hidden_size
    patch = model.patch_size or 16
    height, width = model.image_size or (224, 224)
    tokens = (height // patch) * (width // patch) + 1
    classes = _int(model.attributes, "classes") if "classes" in model.attributes else 1000
    stem = 3 * patch * patch * h + h + h + tokens * h
    head = h * classes + classes if classes else 0
    return stem + model.layers * _bert_block(model) + 2 * h + head
