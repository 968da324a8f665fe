"""KV cache and recurrent state: what the architecture needs and what an engine lays out."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from app.core.engines.record import KvLayout, MicroBatchWorkingSet, Version
from app.core.formats import format_of
from app.core.kept import derived
from app.core.memory.numeric import ceiling, round_up, smaller
from app.core.memory.weights import stage_share
from app.core.model.architecture import ModelArchitecture
from app.core.tracing import Traced, counted, named, operand
from app.core.units import Number
from app.core.workload import Parallelism, Workload

SCHEDULED_TOKENS = 2048
"""Chunk that an engine schedules beside the window where a question names none."""


class KvElements(NamedTuple):
    """Elements per token of one sequence on one tensor rank, all layers together."""

    full: float
    sliding: float
    window: int
    state_bytes: float
    latent_value: float
    """Elements that an engine stores beside the latent when it keeps keys and values apart."""
    decompressed: float
    """Elements without latent attention: full heads of keys and values."""
    wide: float = 0.0
    """Bytes more of a cache of 8 bit and less: rotated parts at 16 bit and scales."""
    index_bytes: float = 0.0
    """Of index keys, whatever the format of the cache."""


@derived
def elements(model: ModelArchitecture, tensor: int = 1) -> KvElements:
    """Elements of keys and values per token.

    Parameters
    ----------
    model: the architecture.
    tensor: tensor-parallel degree; a rank keeps at least one KV head, and the whole latent.

    Returns
    -------
    Elements of growing and of windowed layers, window, and recurrent state in bytes.

    Notes
    -----
    MHA and GQA: 2 d max(1, ceil(k / t)) per layer. Latent attention: c + r per layer, not sharded. Linear
    attention: a constant state. Heads may be given by layer (0 = the layer has no attention). Compressed
    attention: vectors of d for every 4 or 128 tokens, and windows of d. Index keys: FP8, not sharded.

    References
    ----------
    [1] 78 measured pools, reference/memory_inference_findings.md §A: naive formula within 0.1 % in most.
    """
    return _attention_elements(model, tensor)._replace(
        wide=named(1.0 * model.wide_elements, "wide_elements"),
        index_bytes=named(1.0 * model.index_bytes_per_token, "index_bytes"),
    )


def _attention_elements(model: ModelArchitecture, tensor: int) -> KvElements:
    state = model.linear_state_bytes / tensor
    if model.shared_key_values:
        window = named(1.0 * model.layers * model.head_dim, "window_elements")
        growing = named(1.0 * model.compressed_elements, "kv_elements")
        return KvElements(growing, window, model.sliding_window, state, 0.0, growing + window)
    if model.kv_lora_rank:
        layers = model.layers - model.linear_attention_layers
        per_layer = model.kv_lora_rank + model.qk_rope_head_dim
        heads = max(1, math.ceil(model.attention_heads / tensor))
        key = model.qk_nope_head_dim + model.qk_rope_head_dim
        value = model.v_head_dim or model.qk_nope_head_dim
        return KvElements(
            full=named(1.0 * layers * per_layer, "kv_elements"),
            sliding=0.0,
            window=0,
            state_bytes=state,
            latent_value=named(1.0 * layers * model.kv_lora_rank, "latent_elements"),
            decompressed=named(1.0 * layers * heads * (key + value), "full_head_elements"),
        )
    if isinstance(model.kv_heads, tuple):
        total = counted(_heads_of_all_layers, model, tensor, name="kv_heads_of_all_layers")
        full = named(2.0 * model.head_dim * total, "kv_elements")
        if model.sliding_layers:
            share = model.sliding_layers / max(1, model.layers)
            growing, sliding = (
                named(full * (1 - share), "kv_elements"),
                named(full * share, "window_elements"),
            )
            return KvElements(growing, sliding, model.sliding_window, state, 0.0, full)
        return KvElements(full, 0.0, 0, state, 0.0, full)
    heads = max(1, math.ceil(model.kv_heads / tensor)) if model.kv_heads else 0
    own = heads * (model.head_dim + (model.v_head_dim or model.head_dim))
    slid_heads = max(1, math.ceil((model.sliding_kv_heads or model.kv_heads or 1) / tensor))
    slid_dim = model.sliding_head_dim or model.head_dim
    slid = slid_heads * (slid_dim + (model.v_head_dim or slid_dim)) if model.kv_heads else 0
    full_layers = model.full_layers
    if not model.sliding_window and model.full_attention_layers is None:
        full_layers = model.layers - model.linear_attention_layers
    return KvElements(
        full=named(1.0 * full_layers * own, "kv_elements"),
        sliding=named(1.0 * model.sliding_layers * slid, "window_elements"),
        window=model.sliding_window,
        state_bytes=state,
        latent_value=0.0,
        decompressed=1.0 * (full_layers * own + model.sliding_layers * slid),
    )


def _heads_of_all_layers(model: ModelArchitecture, tensor: float) -> float:
    """Key and value heads on one tensor rank where they are given by layer."""
    heads = model.kv_heads if isinstance(model.kv_heads, tuple) else (model.kv_heads,) * model.layers
    return sum(max(1, math.ceil(k / tensor)) if k else 0 for k in heads)


def kv_bytes_per_token(model: ModelArchitecture, kv_precision: str = "bf16", tensor: int = 1) -> float:
    """Bytes that one more token of one sequence adds while every window is still open, per tensor rank."""
    e = elements(model, tensor)
    size = format_of(kv_precision).bytes
    return (e.full + e.sliding) * size + _beside(e, size)


def _beside(e: KvElements, size: float) -> float:
    """Bytes of one token that do not follow the format of the cache."""
    return e.index_bytes + (e.wide if size < 2.0 else 0.0)


def sequence_bytes(
    model: ModelArchitecture, tokens: Number, kv_precision: str = "bf16", tensor: int = 1
) -> Number:
    """Architectural minimum of one sequence of this many tokens, bytes per tensor rank."""
    e = elements(model, tensor)
    size = operand(model, format_of(kv_precision).bytes, "kv_bytes")
    total: Number = e.full * size * tokens + e.state_bytes
    if e.index_bytes or e.wide:
        total = total + _beside(e, size) * tokens
    if e.sliding:
        total = total + e.sliding * size * smaller(tokens, e.window)
    return total


def stores_windows_in_full(work: Workload) -> bool:
    """Engines and versions that keep sliding-window layers at full length.

    Notes
    -----
    TensorRT-LLM in its default; llama.cpp before May 2025 and ik_llama.cpp ("old"); vLLM before 0.10, before
    0.21 where windowed and full layers differ in their heads; SGLang before 0.4.7; Transformers before 4.42.
    """
    layout, model = work.engine_record.memory.kv, work.model
    if layout.windows_in_full != "old":
        return layout.windows_in_full == "always"
    unequal = model.sliding_kv_heads or model.sliding_head_dim
    since = (layout.unequal_windows_since if unequal else ()) or layout.windows_since
    return work.software == "old" or _older(work.engine_version, since)


def _older(version: str, since: Version) -> bool:
    numbers = []
    for piece in version.lstrip("v").split("."):
        digits = "".join(c for c in piece if c.isdigit())
        if not digits:
            break
        numbers.append(int(digits[:6]))
    return bool(numbers) and tuple(numbers) < since


def padded_window_share(full: int, sliding: int) -> float:
    """Windowed layers as vLLM groups them, over those there are.

    Notes
    -----
    The hybrid cache manager splits the layers into groups of one size (the smaller kind's count, the
    larger's when it is less than a quarter more) and pads the last group: Gemma-3-1B, 4 full and 22
    windowed, holds 24.
    """
    if not full or not sliding:
        return 1.0
    small, large = min(full, sliding), max(full, sliding)
    group = large if large < 1.25 * small else small
    return math.ceil(sliding / group) * group / sliding


class KvCache(NamedTuple):
    """Bytes on one GPU."""

    minimum: Number
    reserved: Number
    state: Number = 0.0
    """Of `reserved`, recurrent state, which does not grow with the length."""


def cache(work: Workload, plan: Parallelism, sequences: Number, tokens: Number) -> KvCache:
    """KV cache of a replica on its fullest GPU.

    Parameters
    ----------
    work: a resolved question.
    plan: degrees of parallelism.
    sequences: concurrent sequences of the replica.
    tokens: tokens held per sequence.

    Returns
    -------
    The architectural minimum and what the engine lays out (pages, windows padded or not used).

    Notes
    -----
    vLLM: pages of 16 tokens; windowed layers hold the window plus a scheduled chunk. llama.cpp: cells padded
    to 256, windowed layers pad256(window + ubatch). Engines without windows hold every layer in full.
    """
    model = work.model
    share = stage_share(model.layers, plan.pipeline)
    if work.offload.layers_on_gpu is not None and model.layers:
        share = share * min(1.0, work.offload.layers_on_gpu / model.layers)
    e = elements(model, plan.tensor)
    size = operand(work, format_of(work.kv_precision).bytes, "kv_bytes")
    per_sequence = sequence_bytes(model, tokens, work.kv_precision, plan.tensor)
    minimum: Number = sequences * per_sequence * share
    layout = work.engine_record.memory.kv
    padded = tokens
    if layout.page_tokens > 1:
        padded = named(round_up(tokens, operand(work, layout.page_tokens, "page_tokens")), "padded_tokens")
    full = e.full + (e.latent_value if layout.old_latent_apart and work.software == "old" else 0.0)
    if e.latent_value and layout.latent_in_full:
        full = e.decompressed
    reserved: Number = full * size * padded + e.state_bytes
    if e.index_bytes or e.wide:
        reserved = reserved + _beside(e, size) * padded
    if e.sliding:
        sliding = e.sliding
        if stores_windows_in_full(work):
            held = padded
        else:
            held = named(smaller(padded, _window_tokens(work, layout, e.window)), "window_tokens")
            if layout.pads_window_groups:
                padding = padded_window_share(model.full_layers, model.sliding_layers)
                sliding = sliding * named(padding, "window_padding")
        reserved = reserved + sliding * size * held
    if work.software == "old":
        reserved = reserved * operand(work, layout.old_factor, "old_cache_factor")
    return KvCache(minimum, sequences * reserved * share, sequences * e.state_bytes * share)


def _window_tokens(work: Workload, layout: KvLayout, window: int) -> Number:
    """Tokens that a windowed layer holds of one sequence."""
    page = layout.page_tokens
    if layout.window_slack == "scheduled":
        scheduled = operand(work, work.max_batched_tokens or SCHEDULED_TOKENS, "max_batched_tokens")
        return window + scheduled + operand(work, page, "page_tokens")
    needs = work.engine_record.memory.working_set
    if isinstance(needs, MicroBatchWorkingSet):
        slack = operand(work, needs.tokens, "micro_batch")
        return round_up(window + slack, operand(work, page, "page_tokens"))
    return 1.0 * window


def replica_sequences(batch: Number, plan: Parallelism) -> Number:
    """Sequences of one data-parallel replica: ceil(batch / data)."""
    if plan.data == 1:
        return batch
    return ceiling(batch / plan.data)


def as_number(value: object) -> Number:
    """A batch or length as the formulas take it: float, or float64 array."""
    if isinstance(value, np.ndarray):
        return value.astype(np.float64, copy=False)
    if value.__class__ is Traced:
        return value
    return float(value)  # type: ignore[arg-type]
