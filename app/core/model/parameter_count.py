"""Parameters from dimensions, exact for the architectures of the readers; usual dimensions of a size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from app.core.model.modules import total

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
    """Parameters that one token of a mixture of experts reads: the routed experts in place of all.

    A row of the token table is looked up, not read as a weight; a tied table is read as the output head.
    """
    table = 0 if model.tied_embeddings else model.vocab_size * model.hidden_size
    return _decoder(model, model.experts_per_token) - table


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
    if model.modules:
        return total(model.modules, "expert")
    if not model.experts:
        return 0
    return expert_layers(model) * model.experts * _expert(model)


def expert_layers(model: ModelArchitecture) -> int:
    """Layers that have experts."""
    if model.modules:
        return max((m.places for m in model.modules if m.kind == "expert"), default=0)
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
    return (model.layers - model.linear_attention_layers) * per_layer


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
    h, i = _int(model.attributes, "expert_latent") or model.hidden_size, model.expert_intermediate_size
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


def usual_dimensions(family: str, parameters: float, active_parameters: float = 0.0) -> dict[str, Any]:
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
