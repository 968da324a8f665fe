"""The parts that layers of language models are made of: their tensors, and the state that they keep.

Each function adds the tensors of one part to a stack, for the layers that have it. Those with a state return
its bytes of one sequence and layer: recurrent state in fp32, columns of a short convolution in 16 bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from app.core.model.modules import Stack

Layers = Sequence[int]
FP32, HALF = 4.0, 2.0


class Attention(NamedTuple):
    """Dimensions of grouped-query attention."""

    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int = 0
    """Of one value head; 0: that of a key."""
    bias: bool = False
    output_bias: bool = False
    norm: str = ""
    """Of queries and keys: empty, "head" or "full"."""
    gate: bool = False
    inputs: int = 0
    """Width of what it reads, where that is not the hidden size (Zamba 2 joins two)."""
    own_keys: bool = True
    """Whether the layer has key and value projections of its own."""
    own_values: bool = True


class Latent(NamedTuple):
    """Dimensions of multi-head latent attention."""

    hidden: int
    heads: int
    kv_rank: int
    q_rank: int
    nope: int
    rope: int
    value: int
    gate: bool = False
    """An output gate over all heads (Kimi K3)."""


class Mamba2(NamedTuple):
    """Dimensions of a Mamba-2 mixer: its inner width is heads x head_dim, whatever `expand` says."""

    hidden: int
    heads: int
    head_dim: int
    groups: int
    state: int
    conv: int
    conv_bias: bool = True
    bias: bool = False
    norm: bool = True
    norm_in_groups: bool = False


class Mamba1(NamedTuple):
    """Dimensions of a Mamba-1 mixer."""

    hidden: int
    inner: int
    state: int
    conv: int
    rank: int
    conv_bias: bool = True
    bias: bool = False
    norms: bool = False
    """Norms over time step, B and C (Jamba)."""


class Experts(NamedTuple):
    """Dimensions of a mixture of experts."""

    hidden: int
    width: int
    routed: int
    read: int
    gated: bool = True
    router_bias: bool = False
    shared_width: int = 0
    """Of all shared experts together."""
    shared_gate: bool = False
    latent: int = 0
    """Width in which the routed experts work; 0: the hidden size."""
    latent_norm: bool = False
    bias: bool = False
    read_shared: bool = True
    name: str = "mlp"


def attention(stack: Stack, layers: Layers, a: Attention, name: str = "self_attn") -> None:
    """Query, key, value and output projections with norms and biases."""
    width = a.inputs or a.hidden
    value = a.value_dim or a.head_dim
    stack.matrix(f"{name}.q_proj", a.heads * a.head_dim * (2 if a.gate else 1), width, layers, bias=a.bias)
    if a.own_keys:
        stack.matrix(f"{name}.k_proj", a.kv_heads * a.head_dim, width, layers, bias=a.bias)
        if a.own_values:
            stack.matrix(f"{name}.v_proj", a.kv_heads * value, width, layers, bias=a.bias)
    stack.matrix(f"{name}.o_proj", a.hidden, a.heads * value, layers, bias=a.output_bias)
    if a.norm == "head":
        stack.vector(f"{name}.q_norm", a.head_dim * (2 if a.own_keys else 1), layers)
    elif a.norm == "full":
        stack.vector(f"{name}.q_norm", (a.heads + a.kv_heads) * a.head_dim, layers)


def latent(stack: Stack, layers: Layers, a: Latent, name: str = "self_attn") -> None:
    """Latent attention: keys and values of all heads from one compressed vector."""
    query = a.heads * (a.nope + a.rope)
    if a.q_rank:
        stack.matrix(f"{name}.q_a_proj", a.q_rank, a.hidden, layers)
        stack.vector(f"{name}.q_a_layernorm", a.q_rank, layers)
        stack.matrix(f"{name}.q_b_proj", query, a.q_rank, layers)
    else:
        stack.matrix(f"{name}.q_proj", query, a.hidden, layers)
    stack.matrix(f"{name}.kv_a_proj_with_mqa", a.kv_rank + a.rope, a.hidden, layers)
    stack.vector(f"{name}.kv_a_layernorm", a.kv_rank, layers)
    stack.matrix(f"{name}.kv_b_proj", a.heads * (a.nope + a.value), a.kv_rank, layers)
    stack.matrix(f"{name}.o_proj", a.hidden, a.heads * a.value, layers)
    if a.gate:
        stack.matrix(f"{name}.g_proj", a.heads * a.value, a.hidden, layers)


def mamba2(stack: Stack, layers: Layers, m: Mamba2, name: str = "mamba") -> float:
    """A Mamba-2 mixer; bytes of its state.

    References
    ----------
    [1] Dao and Gu, Transformers are SSMs, arXiv 2405.21060; transformers 5.24 modelling code, 2026-12-01.
    """
    inner = m.heads * m.head_dim
    channels = inner + 2 * m.groups * m.state
    stack.matrix(f"{name}.in_proj", inner + channels + m.heads, m.hidden, layers, bias=m.bias)
    stack.vector(f"{name}.conv1d", channels * (m.conv + m.conv_bias), layers)
    stack.vector(f"{name}.A_log", 3 * m.heads, layers)
    if m.norm:
        stack.vector(f"{name}.norm", inner, layers)
    stack.matrix(f"{name}.out_proj", m.hidden, inner, layers, bias=m.bias)
    return inner * m.state * FP32 + channels * max(0, m.conv - 1) * HALF


def mamba1(stack: Stack, layers: Layers, m: Mamba1, name: str = "mamba") -> float:
    """A Mamba-1 mixer; bytes of its state."""
    stack.matrix(f"{name}.in_proj", 2 * m.inner, m.hidden, layers, bias=m.bias)
    stack.vector(f"{name}.conv1d", m.inner * (m.conv + m.conv_bias), layers)
    stack.matrix(f"{name}.x_proj", m.rank + 2 * m.state, m.inner, layers)
    stack.matrix(f"{name}.dt_proj", m.inner, m.rank, layers, bias=True)
    stack.vector(f"{name}.A_log", m.inner * (m.state + 1), layers)
    if m.norms:
        stack.vector(f"{name}.dt_layernorm", m.rank + 2 * m.state, layers)
    stack.matrix(f"{name}.out_proj", m.hidden, m.inner, layers, bias=m.bias)
    return m.inner * m.state * FP32 + m.inner * max(0, m.conv - 1) * HALF


def delta_attention(
    stack: Stack, layers: Layers, hidden: int, heads: int, head_dim: int, conv: int, full_gate: bool
) -> float:
    """Kimi delta attention: gates by channel, three short convolutions; bytes of its state."""
    inner, name = heads * head_dim, "self_attn"
    for part in ("q_proj", "k_proj", "v_proj"):
        stack.matrix(f"{name}.{part}", inner, hidden, layers)
    stack.vector(f"{name}.conv1d", 3 * inner * conv, layers)
    stack.vector(f"{name}.A_log", heads + inner, layers)
    stack.matrix(f"{name}.f_a_proj", head_dim, hidden, layers)
    stack.matrix(f"{name}.f_b_proj", inner, head_dim, layers)
    stack.matrix(f"{name}.b_proj", heads, hidden, layers)
    if full_gate:
        stack.matrix(f"{name}.g_proj", inner, hidden, layers)
    else:
        stack.matrix(f"{name}.g_a_proj", head_dim, hidden, layers)
        stack.matrix(f"{name}.g_b_proj", inner, head_dim, layers)
    stack.vector(f"{name}.o_norm", head_dim, layers)
    stack.matrix(f"{name}.o_proj", hidden, inner, layers)
    return heads * head_dim * head_dim * FP32 + 3 * inner * max(0, conv - 1) * HALF


class Delta(NamedTuple):
    """Dimensions of a gated delta net."""

    hidden: int
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    conv: int


def gated_delta(stack: Stack, layers: Layers, d: Delta, name: str = "linear_attn") -> float:
    """A gated delta net (Qwen3-Next, Qwen3.5); bytes of its state."""
    key, value = d.key_heads * d.key_dim, d.value_heads * d.value_dim
    stack.matrix(f"{name}.in_proj_qkvz", 2 * key + 2 * value, d.hidden, layers)
    stack.matrix(f"{name}.in_proj_ba", 2 * d.value_heads, d.hidden, layers)
    stack.vector(f"{name}.conv1d", (2 * key + value) * d.conv, layers)
    stack.vector(f"{name}.A_log", 2 * d.value_heads + d.value_dim, layers)
    stack.matrix(f"{name}.out_proj", d.hidden, value, layers)
    state = d.value_heads * d.key_dim * d.value_dim * FP32
    return state + (2 * key + value) * max(0, d.conv - 1) * HALF


def short_convolution(stack: Stack, layers: Layers, hidden: int, columns: int, bias: bool) -> float:
    """A gated short convolution (LFM 2); bytes of the columns that it keeps."""
    stack.matrix("conv.in_proj", 3 * hidden, hidden, layers, bias=bias)
    stack.vector("conv.conv", hidden * (columns + bias), layers)
    stack.matrix("conv.out_proj", hidden, hidden, layers, bias=bias)
    return hidden * max(0, columns - 1) * HALF


def mlp(
    stack: Stack,
    layers: Layers,
    hidden: int,
    width: int,
    *,
    gated: bool = True,
    bias: bool = False,
    name: str = "mlp",
) -> None:
    """A dense MLP."""
    if gated:
        stack.matrix(f"{name}.gate_proj", width, hidden, layers, bias=bias)
    stack.matrix(f"{name}.up_proj", width, hidden, layers, bias=bias)
    stack.matrix(f"{name}.down_proj", hidden, width, layers, bias=bias)


def experts(stack: Stack, layers: Layers, e: Experts) -> None:
    """Router, routed experts and shared ones."""
    name, width = e.name, e.latent or e.hidden
    stack.add(f"{name}.gate", e.routed, e.hidden, kind="router", layers=layers)
    if e.router_bias:
        stack.vector(f"{name}.gate", e.routed, layers)
    if e.latent:
        stack.matrix(f"{name}.latent_down_proj", e.latent, e.hidden, layers)
        stack.matrix(f"{name}.latent_up_proj", e.hidden, e.latent, layers)
        if e.latent_norm:
            stack.vector(f"{name}.latent_norm", e.latent, layers)
    parts = [("up_proj", e.width, width), ("down_proj", width, e.width)]
    if e.gated:
        parts.insert(0, ("gate_proj", e.width, width))
    for part, rows, columns in parts:
        path = f"{name}.experts.{part}"
        stack.add(path, rows, columns, kind="expert", layers=layers, copies=e.routed, read=e.read)
        if e.bias:
            stack.add(path, rows, kind="other", layers=layers, copies=e.routed, read=e.read)
    if e.shared_width:
        mlp(stack, layers, e.hidden, e.shared_width, gated=e.gated, name=f"{name}.shared_experts")
    if e.shared_gate:
        stack.add(f"{name}.shared_expert_gate", 1, e.hidden, kind="router", layers=layers)
