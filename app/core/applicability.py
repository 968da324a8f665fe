"""When a field of a question does something: nothing stated is dropped in silence.

The declarations of the fields name these conditions. A test sweeps every field over families, tasks and
engines: what is called ignored changes no figure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.core.fields import ADAPTER_TASKS, IMAGE_FAMILIES, SEQUENCE_FAMILIES, TRAINING_TASKS, Condition

if TYPE_CHECKING:
    from app.core.engines.record import Engine
    from app.core.workload import Workload

_COMPILED_INFERENCE = ("vision", "encoder", "encoder-decoder")
"""Families whose inference is estimated apart for compiled graphs."""


def adapters(work: Workload) -> bool:
    """A small part is trained beside the frozen model."""
    return work.task in ADAPTER_TASKS


def trains(work: Workload) -> bool:
    """Training of any kind."""
    return work.trains


def _saturated(work: Workload) -> bool:
    return work.load == "saturated" and work.model.family == "decoder"


def _compiled(work: Workload) -> bool:
    if work.model.family == "decoder" and not work.trains:
        return bool(work.engine_record.speed.eager)
    if work.model.family == "diffusion":
        return not work.trains
    return work.trains or work.model.family in _COMPILED_INFERENCE


def of_family(*names: str) -> Condition:
    """Models of some families."""
    return Condition("ignored_by_family", lambda work: work.model.family in names, families=names)


def modelled(applies: Callable[[Workload], bool]) -> Condition:
    """Questions for which the field's effect is computed."""
    return Condition("ignored_not_modelled", applies)


def of_engine(applies: Callable[[Workload], bool]) -> Condition:
    """Engines that know the field."""
    return Condition("ignored_by_engine", applies)


def with_engine(has: Callable[[Engine], object]) -> Condition:
    """Engines that have something."""
    return of_engine(lambda work: bool(has(work.engine_record)))


INFERS = Condition("ignored_in_training", lambda work: not work.trains, ("inference",))
TRAINS = Condition("ignored_in_inference", trains, TRAINING_TASKS)
ADAPTERS = Condition("ignored_without_adapter", adapters, ADAPTER_TASKS)
NO_ADAPTERS = Condition("ignored_for_adapters", lambda work: not adapters(work))
NOT_FULL_TRAINING = Condition("ignored_in_full_training", lambda work: work.task != "training")
WRITES_TEXT = of_family("decoder", "encoder-decoder")
SEQUENCES = of_family(*SEQUENCE_FAMILIES)
IMAGES = of_family(*IMAGE_FAMILIES)
SEQUENCES_MODELLED = modelled(lambda work: work.model.family not in IMAGE_FAMILIES)

SEQUENCE_LENGTH = (
    SEQUENCES,
    Condition("ignored_by_family", lambda work: work.trains or work.model.family != "speech"),
)
KV_PRECISION = (INFERS, WRITES_TEXT)


def _by_version(work: Workload) -> bool:
    """Versions differ in how they hold attention windows, or in how fast they serve."""
    own = work.engine_record
    windows = own.memory.kv.windows_since and work.model.sliding_window
    return bool(windows or (work.model.family == "decoder" and own.serving and own.serving.old_before))


ENGINE_VERSION = (INFERS, modelled(_by_version))
MAX_BATCHED_TOKENS = (INFERS, of_family("decoder"), with_engine(lambda engine: engine.chunks_prompts))
MAX_NUM_SEQS = (
    INFERS,
    of_family("decoder"),
    of_engine(lambda work: work.engine_record.paged or _saturated(work)),
)
MEMORY_FRACTION = (
    INFERS,
    of_engine(lambda work: work.engine_record.reserved_share is not None or _saturated(work)),
)
WEIGHTS_GIB = (
    # Where a part is trained, the rest is loaded as it is stored.
    Condition(
        "ignored_in_full_training",
        lambda work: work.task != "training" or bool(work.trainable_parameters),
    ),
)
GRADIENT_ACCUMULATION = (TRAINS, modelled(lambda work: work.model.family not in ("diffusion", "speech")))
COMPILE = (
    modelled(_compiled),
    modelled(lambda work: work.engine_record.compiles or work.model.family in _COMPILED_INFERENCE),
)
ATTENTION = (
    of_engine(lambda work: work.trains or not work.engine_record.paged),
    modelled(lambda work: work.model.family != "vision"),
    modelled(lambda work: work.trains or work.model.family not in ("diffusion", "speech")),
)
LORA_TARGETS = (ADAPTERS, modelled(lambda work: work.model.family != "diffusion"))
TRAINABLE_PARAMETERS = (TRAINS, modelled(lambda work: adapters(work) or work.model.family != "diffusion"))
LATENCY_LIMIT = (
    INFERS,
    modelled(lambda work: work.model.family == "decoder"),
    Condition("ignored_under_single_load", lambda work: work.load != "single"),
)
SERVICE = (
    INFERS,
    modelled(lambda work: work.model.family == "decoder"),
    Condition("ignored_without_output", lambda work: bool(work.output_length)),
)
PADDING = (TRAINS, SEQUENCES, with_engine(lambda engine: engine.packs_sequences))
OFFLOAD_EXPERTS = (
    Condition("ignored_without_experts", lambda work: bool(work.model.experts)),
    NOT_FULL_TRAINING,
)
OFFLOAD_OPTIMIZER = (
    TRAINS,
    SEQUENCES_MODELLED,
    modelled(lambda work: not adapters(work) or work.model.family != "speech"),
)
OFFLOAD_ACTIVATIONS = (
    TRAINS,
    SEQUENCES_MODELLED,
    Condition("ignored_without_checkpointing", lambda work: work.gradient_checkpointing is True),
)
LAYERS_ON_GPU = (
    NOT_FULL_TRAINING,
    SEQUENCES_MODELLED,
    modelled(lambda work: work.trains or work.model.family != "speech"),
)
ZERO_STAGE = (
    TRAINS,
    Condition("ignored_with_one_replica", lambda work: work.parallelism is None or work.parallelism.data > 1),
)
