"""Memory of serving encoders and encoder-decoders."""

from __future__ import annotations

from app.core.estimates import Basis
from app.core.memory import kv, overhead, weights
from app.core.memory.overhead import mlp_width
from app.core.memory.spread import spread
from app.core.memory.terms import RESERVED, Reserve, Term
from app.core.tracing import Constant, named, operand
from app.core.units import GIB, Number
from app.core.workload import Parallelism, Workload

WORKSPACE_GIB = Constant(0.12, "workspace_gib", "GiB", "workspace of kernels and the blocks of one step")


def terms(work: Workload, plan: Parallelism) -> tuple[list[Term], Reserve]:
    """Terms of a forward pass of an encoder, with decoding behind it for encoder-decoders.

    Notes
    -----
    One layer is alive: tokens x (8 h + 2 i) elements, eager scores 2 a s^2 b. An encoder-decoder keeps self-
    and cross-attention caches of the decoder.
    """
    near = spread(work)
    model = work.model
    batch = kv.replica_sequences(kv.as_number(work.batch_size), plan)
    length = kv.as_number(work.sequence_length)
    source = kv.as_number(work.source_length) if work.source_length is not None else length
    size = work.format.compute.activation_bytes
    encoded = source if model.family == "encoder-decoder" else length
    alive = named(size * (8.0 * model.hidden_size + 2.0 * mlp_width(model)) / plan.tensor, "token_bytes")
    activations: Number = batch * encoded * alive
    if work.attention == "eager":
        activations = activations + 2.0 * size * batch * model.attention_heads * encoded * encoded
    graph = work.engine_record.memory.graph
    if graph is not None:
        activations = activations * operand(work, graph.encoder_forward, "tensorflow_factor")
    basis: Basis = "calibrated" if work.format.quantized else "exact"
    found = [
        Term("weights", weights.per_gpu_bytes(work, plan), basis, "memory.weights", *near["weights"]),
    ]  # fmt: skip
    reserve = Reserve()
    if model.family == "encoder-decoder":
        per_token = kv.kv_bytes_per_token(model, work.kv_precision, plan.tensor)
        cache: Number = batch * per_token * (length + encoded)
        found.append(Term("kv_cache", cache, "exact", "memory.kv_cache", 0.0, 0.05))
        logits: Number = batch * model.vocab_size * 4.0
        found.append(Term("logits", logits, "derived", "memory.sampled_logits", 0.1, 0.5))
        reserve = Reserve(cache, cache / (batch * length))
    found.append(
        Term("activations", activations, "derived", "memory.prefill_activations", *near["activations"])
    )
    found.append(
        Term(
            "engine",
            operand(work, WORKSPACE_GIB) * GIB,
            "assumed",
            "memory.engine_transformers",
            0.5,
            2.0,
            RESERVED,
        )
    )
    found.append(overhead.context_term(work))
    collective = overhead.collective_term(plan)
    if collective is not None:
        found.append(collective)
    return found, reserve
