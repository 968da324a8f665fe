"""Which fields of a question do nothing for what it asks, and why: nothing stated is dropped in silence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from app.core.engines.record import Engine
from app.core.workload import Workload

Applies = Callable[[Workload], bool]

_COMPILED_INFERENCE = ("vision", "encoder", "encoder-decoder")
"""Families whose inference is estimated apart for compiled graphs."""


def _inference(work: Workload) -> bool:
    return not work.trains


def _trains(work: Workload) -> bool:
    return work.trains


def _adapters(work: Workload) -> bool:
    return work.task in ("lora", "qlora")


def _not_adapters(work: Workload) -> bool:
    return not _adapters(work)


def _not_full_training(work: Workload) -> bool:
    return work.task != "training"


def _family(*names: str) -> Applies:
    return lambda work: work.model.family in names


def _not_family(*names: str) -> Applies:
    return lambda work: work.model.family not in names


def _engine(has: Callable[[Engine], object]) -> Applies:
    return lambda work: bool(has(work.engine_record))


def _compiled(work: Workload) -> bool:
    if work.model.family == "decoder" and not work.trains:
        return work.engine_record.speed.eager
    if work.model.family == "diffusion":
        return not work.trains
    return work.trains or work.model.family in _COMPILED_INFERENCE


def _saturated(work: Workload) -> bool:
    return work.load == "saturated" and work.model.family == "decoder"


def _writes_text(work: Workload) -> bool:
    return work.model.family in ("decoder", "encoder-decoder")


def _reads_tokens(work: Workload) -> bool:
    return work.model.family not in ("vision", "diffusion")


_TRAINED_TOKENS = _not_family("vision", "diffusion")
_LORA = ("ignored_without_adapter", _adapters)

CONDITIONS: Mapping[str, tuple[tuple[str, Applies], ...]] = {
    "sequence_length": (
        ("ignored_by_family", _reads_tokens),
        ("ignored_by_family", lambda work: work.trains or work.model.family != "speech"),
    ),
    "output_length": (("ignored_in_training", _inference), ("ignored_by_family", _writes_text)),
    "source_length": (("ignored_by_family", _family("encoder-decoder")),),
    "image_size": (("ignored_by_family", _family("vision", "diffusion")),),
    "kv_precision": (("ignored_in_training", _inference), ("ignored_by_family", _writes_text)),
    "engine_version": (
        ("ignored_in_training", _inference),
        ("ignored_not_modelled", _engine(lambda engine: engine.memory.kv.windows_since)),
        ("ignored_not_modelled", lambda work: bool(work.model.sliding_window)),
    ),
    "max_batched_tokens": (
        ("ignored_in_training", _inference),
        ("ignored_by_family", _family("decoder")),
        ("ignored_by_engine", _engine(lambda engine: engine.chunks_prompts)),
    ),
    "max_num_seqs": (
        ("ignored_in_training", _inference),
        ("ignored_by_family", _family("decoder")),
        ("ignored_by_engine", lambda work: work.engine_record.paged or _saturated(work)),
    ),
    "memory_fraction": (
        ("ignored_in_training", _inference),
        ("ignored_by_engine", lambda work: work.engine_record.reserved_share is not None or _saturated(work)),
    ),
    "weights_gib": (
        # Where a part is trained, the rest is loaded as it is stored.
        (
            "ignored_in_full_training",
            lambda work: _not_full_training(work) or bool(work.trainable_parameters),
        ),
    ),
    "optimizer": (("ignored_in_inference", _trains), ("ignored_for_adapters", _not_adapters)),
    "recipe": (("ignored_in_inference", _trains),),
    "gradient_checkpointing": (("ignored_in_inference", _trains),),
    "gradient_accumulation": (
        ("ignored_in_inference", _trains),
        ("ignored_not_modelled", _not_family("diffusion", "speech")),
    ),
    "compile": (
        ("ignored_not_modelled", _compiled),
        (
            "ignored_not_modelled",
            lambda work: work.engine_record.compiles or work.model.family in _COMPILED_INFERENCE,
        ),
    ),
    "attention": (
        ("ignored_by_engine", lambda work: work.trains or not work.engine_record.paged),
        ("ignored_not_modelled", _not_family("vision")),
        (
            "ignored_not_modelled",
            lambda work: work.trains or work.model.family not in ("diffusion", "speech"),
        ),
    ),
    "logits": (("ignored_in_inference", _trains), ("ignored_by_family", _writes_text)),
    "lora_rank": (_LORA,),
    "lora_targets": (_LORA, ("ignored_not_modelled", _not_family("diffusion"))),
    "trainable_parameters": (
        ("ignored_in_inference", _trains),
        ("ignored_not_modelled", lambda work: _adapters(work) or work.model.family != "diffusion"),
    ),
    "load": (("ignored_in_training", _inference),),
    "latency_limit_ms": (
        ("ignored_in_training", _inference),
        ("ignored_not_modelled", _family("decoder")),
        ("ignored_under_single_load", lambda work: work.load != "single"),
    ),
    "padding": (
        ("ignored_in_inference", _trains),
        ("ignored_by_family", _TRAINED_TOKENS),
        ("ignored_by_engine", _engine(lambda engine: engine.packs_sequences)),
    ),
    "offload.experts": (
        ("ignored_without_experts", lambda work: bool(work.model.experts)),
        ("ignored_in_full_training", _not_full_training),
    ),
    "offload.optimizer": (
        ("ignored_in_inference", _trains),
        ("ignored_not_modelled", _TRAINED_TOKENS),
        ("ignored_not_modelled", lambda work: not _adapters(work) or work.model.family != "speech"),
    ),
    "offload.activations": (
        ("ignored_in_inference", _trains),
        ("ignored_not_modelled", _TRAINED_TOKENS),
        ("ignored_without_checkpointing", lambda work: work.gradient_checkpointing is True),
    ),
    "offload.layers_on_gpu": (
        ("ignored_in_full_training", _not_full_training),
        ("ignored_not_modelled", _TRAINED_TOKENS),
        ("ignored_not_modelled", lambda work: work.trains or work.model.family != "speech"),
    ),
    "parallelism.zero_stage": (
        ("ignored_in_inference", _trains),
        ("ignored_with_one_replica", lambda work: work.parallelism is None or work.parallelism.data > 1),
    ),
}
"""By field, the conditions under which it does something, each with the code of the reason when it fails.

Fields without an entry always count. A test sweeps every field over families, tasks and engines: whatever is
called ignored here changes no figure.
"""


def why_ignored(field: str, work: Workload) -> str:
    """Code of the reason why a field does nothing for a question, or an empty text when it counts.

    Parameters
    ----------
    field: its name; parts of an object with a point: `offload.experts`.
    work: the question, resolved.
    """
    for code, applies in CONDITIONS.get(field, ()):
        if not applies(work):
            return code
    return ""


def ignored(fields: Collection[str], work: Workload) -> dict[str, str]:
    """The fields among those stated that do nothing, each with the code of the reason."""
    found = {field: why_ignored(field, work) for field in fields}
    return {field: code for field, code in found.items() if code}
