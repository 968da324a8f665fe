"""Activations of transformer training: bytes that one token leaves in one layer for the backward pass."""

from __future__ import annotations

from typing import NamedTuple

from app.core import engines
from app.core.kept import derived
from app.core.memory.numeric import smaller
from app.core.memory.overhead import mlp_width
from app.core.model.architecture import ModelArchitecture
from app.core.tracing import Constant, constants, counted, named
from app.core.units import Number
from app.core.workload import Parallelism, Workload


class LayerBytes(NamedTuple):
    """Bytes per token of one layer; `per_key` is multiplied by the attended length."""

    replicated: float
    """Held whole on each tensor rank (norms, residual inputs)."""
    sharded: float
    per_key: float
    boundary: float
    """The layer's input, kept when the rest is recomputed."""


class Family(NamedTuple):
    """Calibration of one block family: what eager kernels keep beyond the textbook count."""

    linear: float
    scores: float


def _family(linear: float, scores: float) -> Family:
    return Family(
        Constant(linear, "eager_factor", "", "what eager kernels keep over the textbook count"),
        Constant(
            scores, "score_factor", "", "what eager kernels keep of the attention scores over the count"
        ),
    )


# PyTorch encoders (Trainer, eager attention): fp32 2,089 MiB a sample at 512 where the textbook says 1,656;
# under autocast softmax and LayerNorm stay fp32 and casts are further tensors: 1.67 GiB a sample.
ENCODER = {"wide": _family(1.22, 1.30), "narrow": _family(1.25, 2.4)}
GATED = Constant(0.92, "gated_factor", "", "measured over the textbook count of a gated layer")
"""Measured against the count of a gated decoder layer: 0.91-0.94 on Llama-2 7B and 13B, Qwen-7B."""
COMPILED = Constant(0.67, "compiled_factor", "", "share of a layer's activations that compiled kernels keep")
"""torch.compile fuses norms, rotary and SwiGLU: 29-32 h of 43.5 h bytes remain (60 -> 51 GiB measured)."""


@derived
def layer_bytes(
    model: ModelArchitecture, wide: bool, attention: str, compiled: bool, engine: str, software: str
) -> LayerBytes:
    """Bytes kept per token and layer.

    Parameters
    ----------
    model: the architecture.
    wide: fp32 or TF32 activations (4 bytes) instead of 16 bit.
    attention: flash, sdpa or eager.
    compiled: torch.compile.
    engine, software: graphs of TensorFlow keep more, more so in old releases.

    Returns
    -------
    Bytes per token by how they shard.

    Notes
    -----
    Gated decoders: elements 4 h + 2 a d + 2 k d + 4 i at the activation type + 8 h bytes of fp32 norms;
    measured 42-45 h on Llama-2-7B where this gives 43.5 h. Ungated blocks: 34 h at 16 bit, 66 h at fp32.
    Eager attention: a s (2 w + 1) per token and layer, w bytes an element: 5 a s^2 b measured exactly.

    References
    ----------
    [1] Korthikanti et al., arXiv 2205.05198, table 2. [2] vramcalc 0.1.2 memory.py. [3] measured rows of
    reference/memory_training_findings.md §1-3. Read 2026-11-30.
    """
    w = 4.0 if wide else 2.0
    h, a, d = model.hidden_size, model.attention_heads, model.head_dim
    k = counted(_mean_kv_heads, model, name="kv_heads") or a
    width = mlp_width(model)
    queries, keys = a * d, 2.0 * k * d
    if model.kv_lora_rank:
        head = model.qk_nope_head_dim + model.qk_rope_head_dim
        queries = a * head
        keys = a * (head + (model.v_head_dim or model.qk_nope_head_dim)) + model.kv_lora_rank
    gated = model.gated_mlp
    if gated and not model.layer_norm:
        replicated = w * 3.0 * h + (8.0 * h if not wide else 4.0 * h)
        # Sandwich norms (Gemma 2 and 3): each keeps its fp32 input and its output.
        replicated += max(0, model.norms_per_layer - 2) * (4.0 + w) * h
        sharded = w * (2.0 * queries + keys + 4.0 * width) + w * h
    else:
        mlp = 3.0 * width + 2.0 * h if gated else 2.0 * width
        replicated = w * 4.0 * h + 2.0 * h
        sharded = w * (2.0 * queries + keys + mlp)
    if attention == "sdpa" and k < a:
        sharded += w * 2.0 * queries * (1.0 - k / a)
    scores = 0.0
    if attention == "eager":
        scores = a * (2.0 * w + 1.0)
        if k < a:
            sharded += w * 2.0 * queries * (1.0 - k / a)
    linear, quadratic = 1.0, 1.0
    graph = engines.engine(engine).memory.graph
    if graph is not None:
        linear, quadratic = _family(*graph.narrow_layer)
        if wide or software == "old":
            linear, quadratic = _family(graph.layer_linear.of(software), graph.layer_scores.of(software))
    elif model.family in ("encoder", "encoder-decoder"):
        linear, quadratic = ENCODER["wide" if wide else "narrow"]
        if compiled:
            linear *= 0.8
    elif gated:
        linear = COMPILED if compiled else GATED
    return LayerBytes(
        named(linear * replicated, "replicated_bytes"),
        named(linear * sharded, "sharded_bytes"),
        named(quadratic * scores, "score_bytes"),
        named(w * h, "boundary_bytes"),
    )


def _mean_kv_heads(model: ModelArchitecture) -> float:
    """Key and value heads of a layer; the mean where they differ by layer."""
    heads = model.kv_heads
    return sum(heads) / len(heads) if isinstance(heads, tuple) else float(heads)


LOGIT_BYTES = constants(
    {"full": 13.0, "old": 10.0, "fused": 6.0, "compiled": 8.3, "chunked": 1.0, "wide": 16.0},
    "logit_bytes",
    "B",
    "bytes that the loss keeps per token and vocabulary entry at its peak",
)
"""Per token and vocabulary entry. PyTorch: 2 logits + 4 upcast + 4 log-softmax + 4 gradient at its peak,
measured 12.5-14.3. Releases of 2023 free the upcast earlier (10; 8-16 measured) but leave a pool of 45
behind. Fused losses of pre-training stacks work in place: 2 + 4. Compiled losses: 8.3 measured. Chunks: 1."""


def logit_bytes(work: Workload, plan: Parallelism) -> float:
    """Bytes per token and vocabulary entry of the loss.

    Parameters
    ----------
    work: a resolved question.
    plan: sharded pre-training compiles blocks, not the loss, and in 2023 used the fused loss.
    """
    if work.logits == "chunked":
        return LOGIT_BYTES["chunked"]
    if work.format.compute.wide:
        return LOGIT_BYTES["wide"]
    sharded = work.task == "training" and (plan.zero_stage == 3 or plan.tensor > 1)
    if work.software == "old":
        return LOGIT_BYTES["fused" if sharded else "old"]
    return LOGIT_BYTES["compiled" if work.compile and not sharded else "full"]


POOL_BYTES_SHORT = Constant(24.0, "pool_bytes_short", "B", "reserved beside the logits, per early token")
POOL_BYTES_LONG = Constant(11.0, "pool_bytes_long", "B", "reserved beside the logits, per token and entry")
POOL_TOKENS = Constant(2048.0, "pool_tokens", "", "tokens up to which the reserve grows faster")
"""What PyTorch 2.0-2.1 kept reserved beside the allocated logits: 45 B per token and entry up to 2,048
tokens, 21 beyond, on vocabularies of 64k to 152k (21 rows of one benchmark, fit part)."""


def pooled_logit_bytes(work: Workload, tokens: Number) -> Number:
    """Reserved bytes that blocks of the loss leave behind, per vocabulary entry."""
    if work.software != "old" or work.logits == "chunked" or work.format.compute.wide:
        return 0.0
    return POOL_BYTES_LONG * tokens + POOL_BYTES_SHORT * smaller(tokens, POOL_TOKENS)
