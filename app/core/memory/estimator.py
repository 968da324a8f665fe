"""The one entry of the memory model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from app.core.estimates import Interval, MemoryEstimate
from app.core.formulas import Worked
from app.core.gpu import Gpu
from app.core.memory import encoders, generation, inference, training, vision
from app.core.memory.terms import Reserve, Term, assemble, parts_of, sums
from app.core.resolve import resolve
from app.core.tracing import Probe, worked
from app.core.units import Number
from app.core.workload import Parallelism, Workload

ASSUMED_DIMENSIONS_WIDTH = 0.12
"""Relative half-width added where only the size of the model is known."""
ONE_CARD = Parallelism()


def estimate(work: Workload, plan: Parallelism | None = None, gpu: Gpu | None = None) -> MemoryEstimate:
    """Memory of the fullest GPU of a plan.

    Parameters
    ----------
    work: the question; resolved here where it is not yet. `batch_size` and `sequence_length` may be float64
        arrays of one shape (or shapes that broadcast), then what depends on them is an array as well.
    plan: degrees of parallelism; the question's own, else one card.
    gpu: only for engines that take a fraction of the card: `reserved_gib` is then that fraction.

    Returns
    -------
    Parts in GiB that sum to `per_gpu_gib.expected`, 5th / 50th / 95th percentile of the need of the process,
    of the allocator's peak and of what it reserves, the engine's KV layout, and the defaults that were used.

    Errors
    ------
    InputFault for what `resolve` refuses.

    Notes
    -----
    Decoders of 2019-2026, encoders, encoder-decoders, image models, diffusion and Whisper-like speech models.
    Not covered: multimodal profiling peaks, other processes on the card, speculative drafts.

    References
    ----------
    [1] 650 measured cases, reference/memory_inference.jsonl and memory_training.jsonl, read 2026-11-30.
    """
    work, notes = resolve(work)
    plan = plan or work.parallelism or ONE_CARD
    found, reserve = _terms(work, plan)
    answer = assemble(found, reserve, notes, _widen(work))
    return answer if gpu is None else reserved_on(answer, work, gpu)


@dataclass(frozen=True)
class Draft:
    """The need of one plan, of which the parts are written out when somebody looks at them."""

    terms: list[Term]
    reserve: Reserve
    widen: float
    expected_gib: Number
    high_gib: Number

    @cached_property
    def estimate(self) -> MemoryEstimate:
        """As `estimate` of the same question and plan."""
        return assemble(self.terms, self.reserve, (), self.widen)


def formulas(work: Workload, plan: Parallelism | None = None) -> dict[str, Worked]:
    """The formula of each part of `estimate`, as it was computed, by the name of the part.

    Parameters
    ----------
    work, plan: as for `estimate`, without arrays.

    Returns
    -------
    Formulas in GiB with their operands.
    """
    return {part: worked(gib) for part, gib in traced_parts(work, plan).items()}


def traced_parts(work: Workload, plan: Parallelism | None = None) -> dict[str, float]:
    """The parts of `estimate` as traced numbers, GiB."""
    work, _ = resolve(work)
    plan = plan or work.parallelism or ONE_CARD
    terms, _ = _terms(cast(Workload, Probe(work)), cast(Parallelism, Probe(plan)))
    return cast(dict[str, float], parts_of(terms))


def explained(answer: MemoryEstimate, work: Workload, plan: Parallelism | None = None) -> MemoryEstimate:
    """The estimate of a question and plan with the formula of each part beside it."""
    printed = formulas(work, plan)
    parts = [
        replace(part, expression=printed[part.part].expression, operands=printed[part.part].operands)
        for part in answer.parts
    ]
    return replace(answer, parts=tuple(parts))


def draft(work: Workload, plan: Parallelism) -> Draft:
    """As `estimate` of a resolved question, for plans of which most are never shown."""
    terms, reserve = _terms(work, plan)
    widen = _widen(work)
    found = sums(terms, widen)
    return Draft(terms, reserve, widen, found.expected, found.high)


def _widen(work: Workload) -> float:
    return ASSUMED_DIMENSIONS_WIDTH if work.model.dimensions_assumed else 0.0


def reserved_on(answer: MemoryEstimate, work: Workload, gpu: Gpu) -> MemoryEstimate:
    """The estimate with what the engine takes of this card: a share fixed at its start, for some engines."""
    share = work.engine_record.reserved_share
    if share is None or work.task != "inference" or not gpu.usable_gib:
        return answer
    taken = gpu.usable_gib * (work.memory_fraction or share)
    return replace(answer, reserved_gib=Interval(taken, taken, taken))


def _terms(work: Workload, plan: Parallelism) -> tuple[list[Term], Reserve]:
    family = work.model.family
    if family == "vision":
        return vision.terms(work, plan)
    if family == "diffusion":
        return generation.diffusion_terms(work, plan)
    if work.task != "inference":
        return training.terms(work, plan)
    if family == "decoder":
        return inference.terms(work, plan)
    if family == "speech":
        return generation.speech_terms(work, plan)
    return encoders.terms(work, plan)
