"""Terms outside the model: CUDA context, kernels, collective buffers, engine working sets."""

from __future__ import annotations

from typing import NamedTuple

from app.core.engines.record import Engine, MicroBatchWorkingSet, PagedWorkingSet, WholePromptWorkingSet
from app.core.kept import derived
from app.core.memory.numeric import greater, round_up
from app.core.memory.terms import ALLOCATED, PROCESS, RESERVED, Term
from app.core.model.architecture import ModelArchitecture
from app.core.resolve import MAX_BATCHED_TOKENS, SAMPLED_SEQUENCES
from app.core.tracing import Constant, constants, named, operand
from app.core.units import GIB, MIB, Number
from app.core.workload import Parallelism, Workload

COLLECTIVE_GIB = Constant(0.38, "collective_gib", "GiB", "buffers of the collective library")
WIDE_COLLECTIVE_GIB = Constant(0.1, "wide_collective_gib", "GiB", "more of them from eight cards on")
"""NCCL and custom all-reduce buffers: 342 MB at 2 GPUs, 392 MB at 4-8."""
NON_TORCH_GIB = Constant(0.12, "non_torch_gib", "GiB", "what the engine takes outside PyTorch")
LOGIT_COPIES = Constant(3.0, "logit_copies", "", "copies of the logits that the sampler holds")
GRAPHS_GIB = Constant(0.2, "graphs_gib", "GiB", "CUDA graphs, whatever the layers")
GRAPH_LAYER_BYTES = Constant(12 * MIB, "graph_layer_bytes", "B", "CUDA graphs of one layer")
MLA_GRAPH_BYTES_PER_TOKEN = constants(
    {"new": 96 * 1024, "usual": 96 * 1024, "old": 165 * 1024},
    "latent_graph_bytes",
    "B",
    "compute buffer of latent attention per context token",
)
"""Latent attention in llama.cpp: 83-113 KiB per context token, nearly twice before it ran in chunks."""


class EngineTerms(NamedTuple):
    """Bytes of an engine beside weights and cache."""

    activations: Number
    logits: Number
    engine: Number


def context_term(work: Workload) -> Term:
    """CUDA context of the process."""
    gib = operand(work, work.engine_record.memory.context_gib.of(work.software), "context_gib")
    return Term("context", gib * GIB, "assumed", "memory.context", 0.35, 0.8, PROCESS)


def collective_term(plan: Parallelism, collective: bool = True) -> Term | None:
    """Buffers of the collective library where more than one card works together."""
    if plan.cards < 2 or not collective:
        return None
    gib = operand(plan, COLLECTIVE_GIB) + (WIDE_COLLECTIVE_GIB if plan.cards >= 8 else 0.0)
    return Term("communication", gib * GIB, "calibrated", "memory.collectives", 0.6, 1.5, PROCESS)


@derived
def mlp_width(model: ModelArchitecture) -> float:
    """Width of the MLP that one token passes."""
    if not model.is_moe:
        return 1.0 * model.intermediate_size
    routed = (model.experts_per_token + model.shared_experts) * model.expert_intermediate_size
    return named(1.0 * max(routed, model.intermediate_size if model.dense_layers else 0), "mlp_width")


def paged_terms(work: Workload, plan: Parallelism, own: PagedWorkingSet) -> EngineTerms:
    """Profiled activation peak, sampler logits, CUDA graphs and what lies outside torch.

    Parameters
    ----------
    work: a resolved question.
    plan: degrees of parallelism.
    own: of the engine.

    Returns
    -------
    Bytes per GPU.

    Notes
    -----
    Peak = scheduled tokens x (8 h + 6 i / t); sampler logits = sequences x vocabulary x 4 B x 3; graphs
    0.2 GiB + 12 MiB per layer. Scheduled tokens default to 2,048 on small and 8,192 on 80 GB cards: 4,096
    stands between, and the interval covers both. Multimodal profiling can take tens of GiB:
    not covered.

    References
    ----------
    [1] 30 vLLM start logs, reference/memory_inference_findings.md §C, 2026-11-30.
    """
    model = work.model
    tokens = operand(work, work.max_batched_tokens or MAX_BATCHED_TOKENS, "max_batched_tokens")
    peak = tokens * (8.0 * model.hidden_size + 6.0 * mlp_width(model) / plan.tensor)
    sequences = operand(work, work.max_num_seqs or SAMPLED_SEQUENCES, "max_num_seqs")
    logits = sequences * model.vocab_size * 4.0 * LOGIT_COPIES
    layers = model.layers / plan.pipeline
    graphs = layers * GRAPH_LAYER_BYTES + operand(work, GRAPHS_GIB) * GIB
    graphs = named(graphs * operand(work, own.graph_factor, "graph_factor"), "graph_bytes")
    return EngineTerms(peak, logits, graphs + operand(work, NON_TORCH_GIB) * GIB)


def micro_batch_terms(
    work: Workload, sequences: Number, tokens: Number, own: MicroBatchWorkingSet
) -> EngineTerms:
    """Compute buffer of llama.cpp.

    Parameters
    ----------
    work: a resolved question.
    sequences, tokens: held by the replica.
    own: of the engine.

    Returns
    -------
    Bytes.

    Notes
    -----
    ubatch x (4 V + 4 h) with flash attention and grouped queries, 8 h for a mixture of experts: exact to
    0.0 MiB in five logs; where the MLP is wider than the vocabulary its two tensors decide. Latent attention
    adds about 96 KiB per context token; flash attention off adds the
    score matrix ubatch x tokens x heads x 4 B.
    """
    model = work.model
    batch = operand(work, work.max_batched_tokens or own.tokens, "micro_batch")
    hidden = model.hidden_size
    logits = 4.0 * model.vocab_size + (8.0 if model.is_moe else 4.0) * hidden
    middle = 0.0 if model.is_moe else 4.0 * (2.0 * model.intermediate_size + 2.0 * hidden)
    size: Number = batch * max(logits, middle)
    page = operand(work, work.engine_record.memory.kv.page_tokens, "page_tokens")
    context = named(round_up(tokens, page) * sequences, "context_tokens")
    if model.kv_lora_rank:
        size = size + context * MLA_GRAPH_BYTES_PER_TOKEN[work.software]
    elif work.attention == "eager":
        size = size + 4.0 * batch * model.attention_heads * context
    return EngineTerms(0.0 * size, 0.0, size)


def whole_prompt_terms(
    work: Workload, sequences: Number, prompt: Number, own: WholePromptWorkingSet
) -> EngineTerms:
    """Prefill peak of Transformers without chunking.

    Notes
    -----
    Prompt tokens x (6 h + 6 i) bytes at 16 bit beside the cache: within 2.2 % of five published slopes
    (Qwen2.5, 0.5B-32B). Logits of the last token in fp32; older versions keep all positions
    (6 B per token and vocabulary entry). Eager attention adds one layer's scores.
    """
    model = work.model
    wide = 2.0 if work.format.compute.wide else 1.0
    width = mlp_width(model)
    slope = 6.0 * wide * (model.hidden_size + width)
    activations: Number = sequences * prompt * slope
    if work.attention == "eager":
        scores = sequences * model.attention_heads * prompt * prompt
        activations = activations + scores * (4.0 + 2.0 * wide)
    if work.software == "old":
        logits: Number = sequences * prompt * model.vocab_size * 6.0
    else:
        logits = sequences * model.vocab_size * 8.0
    return EngineTerms(activations, logits, operand(work, own.workspace_gib, "workspace_gib") * GIB)


def engine_scope(engine: Engine) -> int:
    """Whether the allocator of the framework reports the engine's own buffers."""
    return RESERVED if engine.memory.own_pool else ALLOCATED


def greater_than_one(tokens: Number) -> Number:
    """A prompt has at least one token."""
    return greater(tokens, 1.0)
