"""Memory of serving token models: weights, KV cache, engine."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.engines.record import MicroBatchWorkingSet, PagedWorkingSet, WholePromptWorkingSet, WorkingSet
from app.core.estimates import Basis
from app.core.memory import kv, overhead, weights
from app.core.memory.spread import spread
from app.core.memory.terms import Reserve, Term
from app.core.tracing import named
from app.core.units import Number
from app.core.workload import Parallelism, Workload

_FORMULAS: Mapping[type[WorkingSet], str] = {
    PagedWorkingSet: "memory.engine_vllm",
    MicroBatchWorkingSet: "memory.engine_llama_cpp",
    WholePromptWorkingSet: "memory.engine_transformers",
}


def terms(work: Workload, plan: Parallelism) -> tuple[list[Term], Reserve]:
    """Terms of a decoder that serves requests.

    Parameters
    ----------
    work: a resolved question; batch_size counts concurrent sequences over all cards.
    plan: degrees of parallelism.

    Returns
    -------
    Terms in bytes on the fullest GPU, and the engine's KV layout.

    Notes
    -----
    Weights + KV cache + the larger of what prefill needs + engine + context. A layout wider than the
    architectural minimum (pages, windows held in full) counts as engine.
    """
    batch = kv.as_number(work.batch_size)
    tokens = kv.as_number(work.sequence_length)
    sequences = named(kv.replica_sequences(batch, plan), "replica_sequences")
    near = spread(work)
    weight = weights.per_gpu_bytes(work, plan)
    cache = kv.cache(work, plan, sequences, tokens)
    excess = named(cache.reserved, "laid_out_bytes") - named(cache.minimum, "minimum_bytes")
    engine = work.engine_record
    needs = engine.memory.working_set
    if isinstance(needs, PagedWorkingSet):
        own = overhead.paged_terms(work, plan, needs)
    elif isinstance(needs, MicroBatchWorkingSet):
        own = overhead.micro_batch_terms(work, sequences, tokens, needs)
    else:
        output = kv.as_number(work.output_length or 0)
        prompt = named(overhead.greater_than_one(tokens - output), "prompt_tokens")
        own = overhead.whole_prompt_terms(work, sequences, prompt, needs)
    basis: Basis = "calibrated" if work.format.quantized and not work.weights_gib else "exact"
    soft = near["activations"]
    found = [
        Term("weights", weight, basis, "memory.weights", *near["weights"]),
        Term("kv_cache", cache.minimum, "exact", "memory.kv_cache", *near["kv"]),
        Term("activations", own.activations, "calibrated", "memory.prefill_activations", *soft),
        Term("logits", own.logits, "calibrated", "memory.sampled_logits", *soft),
        Term("engine", own.engine + excess, "calibrated", _FORMULAS[type(needs)], *near["engine"],
             overhead.engine_scope(engine)),
        overhead.context_term(work),
    ]  # fmt: skip
    # llama.cpp and Transformers copy between cards; they have no collective buffers.
    collective = overhead.collective_term(plan, engine.memory.collectives)
    if collective is not None:
        found.append(collective)
    per_token: Number = (cache.reserved - cache.state) / (sequences * tokens)
    return found, Reserve(cache.reserved, per_token, cache.state / sequences)
