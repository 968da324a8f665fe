"""The question: model, task, batch, lengths, precision, recipe, engine. Ranges and defaults live here."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from app.core import engines, formats
from app.core.answer import answer
from app.core.engines.record import Engine
from app.core.estimates import Assumption
from app.core.faults import FieldError, InputFault
from app.core.formats import Format, format_of
from app.core.model.architecture import ModelArchitecture
from app.core.units import Number

Task = Literal["inference", "training", "lora", "qlora"]
TASKS: tuple[str, ...] = ("inference", "training", "lora", "qlora")
ENGINE_CHOICES: tuple[str, ...] = (engines.AUTO, *engines.names())
MEMORY_FRACTION = 0.9
"""Share of a card that a server fills under a standing load where neither question nor engine sets one."""
SAMPLED_SEQUENCES = 256
"""max_num_seqs of an engine's profiling run."""
MAX_BATCHED_TOKENS = 4096
OPTIMIZERS: tuple[str, ...] = (
    "adamw",
    "adamw-8bit",
    "adafactor",
    "sgd",
    "momentum",
    "rmsprop",
    "lion",
    "galore",
)
RECIPES: tuple[str, ...] = ("mixed", "pure", "fp32")
ATTENTION: tuple[str, ...] = ("flash", "sdpa", "eager")
LOGITS: tuple[str, ...] = ("full", "chunked")
LOADS: tuple[str, ...] = ("single", "batch", "saturated")
SOFTWARE: tuple[str, ...] = ("new", "usual", "old")
PADDING: tuple[str, ...] = ("packed", "padded")
LORA_TARGETS: tuple[str, ...] = ("attention", "all-linear")
TOKEN_FAMILIES = ("decoder", "encoder", "encoder-decoder")


@dataclass(frozen=True, slots=True)
class Range:
    """Accepted range of one numeric field; the form's attributes and the API schema come from it."""

    low: float
    high: float
    integer: bool = True


RANGES: dict[str, Range] = {
    "batch_size": Range(1, 1_000_000),
    "sequence_length": Range(1, 20_000_000),
    "output_length": Range(0, 20_000_000),
    "source_length": Range(1, 20_000_000),
    "image_size": Range(8, 16_384),
    "lora_rank": Range(1, 4096),
    "trainable_parameters": Range(1, 1e13),
    "weights_gib": Range(1e-4, 100_000, integer=False),
    "used_gib": Range(0, 1024, integer=False),
    "gradient_accumulation": Range(1, 100_000),
    "memory_fraction": Range(0.05, 1.0, integer=False),
    "max_num_seqs": Range(1, 100_000),
    "max_batched_tokens": Range(1, 10_000_000),
    "latency_limit_ms": Range(0.01, 1e9, integer=False),
    "parameters": Range(1_000, 1e13),
    "degree": Range(1, 4096),
}


@answer()
class Parallelism:
    """Degrees of a parallel plan; data x tensor x pipeline is the number of cards."""

    data: int = 1
    """Replicas that each take a share of the batch."""
    tensor: int = 1
    """Cards over which each layer is split."""
    pipeline: int = 1
    """Groups of layers, one behind another."""
    expert: int = 1
    """Cards over which the experts are spread; no factor of the number of cards."""
    zero_stage: int = 0
    """ZeRO stage: 1 shards optimizer states, 2 gradients too, 3 (FSDP) weights too; no factor either."""

    @property
    def cards(self) -> int:
        """Cards the plan occupies."""
        return self.data * self.tensor * self.pipeline


@dataclass(frozen=True, slots=True)
class Offload:
    """What is kept in host memory."""

    experts: bool = False
    optimizer: bool = False
    activations: bool = False
    layers_on_gpu: int | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """A complete question. `resolve` fills what was left open and lists every default it used."""

    model: ModelArchitecture
    task: Task = "inference"
    precision: str = formats.USUAL
    batch_size: Number = 1
    """Training: sequences or images per GPU. Inference: concurrent sequences over all cards. Or an array."""
    batch_stated: bool = False
    """The asker named the batch, even one of 1: a saturated engine then takes no more than that."""
    sequence_length: Number | None = None
    output_length: float | None = None
    source_length: float | None = None
    image_size: tuple[int, int] | None = None
    kv_precision: str = ""
    engine: str = "auto"
    engine_version: str = ""
    max_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    memory_fraction: float | None = None
    weights_gib: float | None = None
    optimizer: str = ""
    recipe: str = ""
    gradient_checkpointing: bool | Literal["selective"] = False
    gradient_accumulation: int = 1
    compile: bool = False
    attention: str = ""
    logits: str = "full"
    lora_rank: int = 16
    lora_targets: str = "all-linear"
    trainable_parameters: float | None = None
    load: str = "batch"
    software: str = "usual"
    latency_limit_ms: float | None = None
    padding: str = "padded"
    used_gib: float = 0.0
    offload: Offload = field(default_factory=Offload)
    parallelism: Parallelism | None = None
    resolved: bool = False

    @property
    def trains(self) -> bool:
        """Training of any kind, adapters included."""
        return self.task != "inference"

    @property
    def fills_engine(self) -> bool:
        """Saturated, and nobody said how many sequences: as many as the engine holds."""
        open_batch = not self.batch_stated and bool(np.all(np.less_equal(self.batch_size, 1)))
        return self.load == "saturated" and not self.trains and open_batch

    @property
    def format(self) -> Format:
        """The weight format."""
        return format_of(self.precision or self.model.native_precision or formats.USUAL)

    @property
    def engine_record(self) -> Engine:
        """What is known of the engine of a resolved question; `UnknownEngine` before that."""
        return engines.engine(self.engine)

    @property
    def compute_type(self) -> str:
        """The type of activations and matrix products: fp32, tf32, fp16, bf16, fp8 … of the weight format."""
        return self.format.computes_in


_CHOICES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("task", TASKS),
    ("engine", ENGINE_CHOICES),
    ("optimizer", OPTIMIZERS),
    ("recipe", RECIPES),
    ("attention", ATTENTION),
    ("logits", LOGITS),
    ("load", LOADS),
    ("software", SOFTWARE),
    ("padding", PADDING),
    ("lora_targets", LORA_TARGETS),
    ("precision", formats.weight_names()),
    ("kv_precision", formats.kv_names()),
)
_CHOICE_SETS = tuple((name, frozenset(allowed) | {""}) for name, allowed in _CHOICES)
_RANGED = tuple((name, RANGES[name].low, RANGES[name].high, RANGES[name].integer) for name in (
    "batch_size",
    "sequence_length",
    "output_length",
    "source_length",
    "lora_rank",
    "trainable_parameters",
    "weights_gib",
    "used_gib",
    "gradient_accumulation",
    "memory_fraction",
    "max_num_seqs",
    "max_batched_tokens",
    "latency_limit_ms",
))  # fmt: skip
_FIELD_NAMES = tuple(f.name for f in fields(Workload))
_ALL_FIELDS = attrgetter(*_FIELD_NAMES)
_CHOSEN_FIELDS = attrgetter(*(name for name, _ in _CHOICE_SETS))
_RANGED_FIELDS = attrgetter(*(name for name, *_ in _RANGED))
_MAY_BE_ARRAYS = ("batch_size", "sequence_length")


def resolve(work: Workload) -> tuple[Workload, tuple[Assumption, ...]]:
    """Fill the open fields by the rules of the contract and say which.

    Parameters
    ----------
    work: the question as asked.

    Returns
    -------
    The complete question and every default that was used.

    Errors
    ------
    InputFault naming each field at fault: a token model trained without `sequence_length`, an unknown
    enumeration, a number out of range, combinations that do not exist.
    """
    if work.resolved:
        return work, ()
    errors = _check(work)
    if errors:
        raise InputFault(errors)
    filled: dict[str, Any] = {"resolved": True}
    notes: list[Assumption] = []

    def default(name: str, value: Any, why: str) -> None:
        filled[name] = value
        notes.append(Assumption(name, value, why))

    model = work.model
    family = model.family
    trains = work.task != "inference"
    precision = work.precision
    if not precision:
        precision = model.native_precision if formats.is_format(model.native_precision) else formats.USUAL
        default("precision", precision, "native_precision" if model.native_precision else "default_precision")
    if work.task == "qlora" and not format_of(precision).quantized:
        precision = formats.QLORA
        default("precision", precision, "qlora_needs_quantized_weights")
    fmt = format_of(precision)
    if not engines.is_engine(work.engine):
        engine = default_engine(family, trains, fmt)
        default("engine", engine.name, "default_engine")
    else:
        engine = engines.engine(work.engine)
        if trains and not engine.trains:
            engine = engines.chosen_for("training")
            default("engine", engine.name, "engine_cannot_train")
    if not work.optimizer:
        if trains:
            default("optimizer", "momentum" if family == "vision" else "adamw", "default_optimizer")
        else:
            filled["optimizer"] = "adamw"
    wide = fmt.compute.wide
    if not work.recipe:
        recipe = "fp32" if wide else "mixed"
        filled["recipe"] = recipe
        if trains:
            notes.append(Assumption("recipe", recipe, "default_recipe"))
    if not work.attention:
        filled["attention"] = "eager" if wide else engine.default_attention
        if family != "vision" or model.layers:
            notes.append(Assumption("attention", filled["attention"], "default_attention"))
    sequence = work.sequence_length
    if sequence is None and family in TOKEN_FAMILIES:
        sequence = 2048.0
        default("sequence_length", sequence, "default_sequence_length")
    if (
        not trains
        and work.output_length is None
        and family == "decoder"
        and isinstance(sequence, int | float)
    ):
        default("output_length", float(max(1, min(512, int(sequence) // 4))), "default_output_length")
    if family == "encoder-decoder" and work.source_length is None:
        default("source_length", sequence, "default_source_length")
    if family in ("vision", "diffusion") and work.image_size is None:
        default("image_size", model.image_size or _usual_image(model), "default_image_size")
    if not work.kv_precision and family in ("decoder", "encoder-decoder", "speech"):
        kv = fmt.compute.kv
        filled["kv_precision"] = kv
        if not trains:
            notes.append(Assumption("kv_precision", kv, "default_kv_precision"))
    if not trains and engine.reserved_share is not None:
        # The estimates read the open fields by these same values.
        if work.memory_fraction is None:
            notes.append(Assumption("memory_fraction", engine.reserved_share, "default_memory_fraction"))
        if family == "decoder":
            if work.max_num_seqs is None:
                notes.append(Assumption("max_num_seqs", SAMPLED_SEQUENCES, "default_max_num_seqs"))
            if work.max_batched_tokens is None:
                notes.append(
                    Assumption("max_batched_tokens", MAX_BATCHED_TOKENS, "default_max_batched_tokens")
                )
    if model.dimensions_assumed:
        notes.append(Assumption("model", model.name or family, "dimensions_from_family_pattern"))
    filled["engine"] = engine.name
    return _filled(work, filled), tuple(notes)


def _filled(work: Workload, changes: dict[str, Any]) -> Workload:
    """`dataclasses.replace` without its checks: this runs once per estimate."""
    new = object.__new__(Workload)
    put = object.__setattr__
    for name, value in zip(_FIELD_NAMES, _ALL_FIELDS(work), strict=True):
        put(new, name, changes.get(name, value))
    return new


def _usual_image(model: ModelArchitecture) -> tuple[int, int]:
    if model.family == "diffusion":
        return 1024, 1024
    named = f"{model.head} {model.name} {model.backbone}".lower()
    if "yolo" in named:
        return 640, 640
    if any(word in named for word in ("rcnn", "retinanet", "fcos", "detr")):
        return 800, 1333
    if model.head and model.head != "classifier":
        return 512, 512
    return 224, 224


def default_engine(family: str, trains: bool, fmt: Format) -> Engine:
    """The engine of a question that states none."""
    return engines.chosen_for("training" if trains else "gguf" if fmt.gguf else family)


def _check(work: Workload) -> list[FieldError]:
    errors: list[FieldError] = []
    for (name, allowed), value in zip(_CHOICE_SETS, _CHOSEN_FIELDS(work), strict=True):
        if not isinstance(value, str) or value not in allowed:
            named = tuple(sorted(allowed - {""}))
            errors.append(
                FieldError(f"/workload/{name}", "unknown_value", {"value": str(value)[:60], "allowed": named})
            )
    for (name, low, high, whole), value in zip(_RANGED, _RANGED_FIELDS(work), strict=True):
        if value is not None:
            fault = _range_fault(value, low, high, whole, name in _MAY_BE_ARRAYS)
            if fault is not None:
                errors.append(FieldError(f"/workload/{name}", *fault))
    if work.image_size is not None:
        errors.extend(_image_faults(work.image_size))
    if work.parallelism is not None:
        errors.extend(_plan_faults(work.parallelism))
    on_gpu = work.offload.layers_on_gpu
    if on_gpu is not None:
        fault = _range_fault(on_gpu, 0, 2_000, True, False)
        if fault is not None:
            errors.append(FieldError("/workload/offload/layers_on_gpu", *fault))
    return errors or _combinations(work)


def _range_fault(
    value: Any, low: float, high: float, whole: bool, may_be_array: bool
) -> tuple[str, dict[str, Any]] | None:
    if isinstance(value, np.ndarray):
        if not may_be_array or value.dtype.kind not in "iuf" or value.size == 0:
            return "not_a_number", {}
        if not np.isfinite(value).all():
            return "not_finite", {}
        outside = value.min() < low or value.max() > high
        return ("out_of_range", {"low": low, "high": high}) if outside else None
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return "not_a_number", {}
    if not low <= value <= high:
        finite = isinstance(value, int | np.integer) or math.isfinite(value)
        return ("out_of_range", {"low": low, "high": high}) if finite else ("not_finite", {})
    if whole and value != int(value):
        return "not_whole", {}
    return None


def _image_faults(size: Any) -> list[FieldError]:
    pointer = "/workload/image_size"
    if not isinstance(size, tuple | list) or len(size) != 2:
        return [FieldError(pointer, "list_length", {"expected": 2})]
    span = RANGES["image_size"]
    for side in size:
        fault = _range_fault(side, span.low, span.high, True, False)
        if fault is not None:
            return [FieldError(pointer, *fault)]
    return []


def _plan_faults(plan: Parallelism) -> list[FieldError]:
    errors: list[FieldError] = []
    span = RANGES["degree"]
    for name in ("data", "tensor", "pipeline", "expert"):
        fault = _range_fault(getattr(plan, name), span.low, span.high, True, False)
        if fault is not None:
            errors.append(FieldError(f"/workload/parallelism/{name}", *fault))
    fault = _range_fault(plan.zero_stage, 0, 3, True, False)
    if fault is not None:
        errors.append(FieldError("/workload/parallelism/zero_stage", *fault))
    return errors


def _combinations(work: Workload) -> list[FieldError]:
    errors: list[FieldError] = []
    model = work.model
    sequence, output = work.sequence_length, work.output_length
    if work.task != "inference" and model.family in TOKEN_FAMILIES and sequence is None:
        errors.append(FieldError("/workload/sequence_length", "sequence_length_required"))
    if output is not None and work.task == "inference" and model.family == "decoder":
        held = 2048.0 if sequence is None else sequence
        shortest = held.min() if isinstance(held, np.ndarray) else held
        if output > shortest:
            params = {"limit": float(shortest)}
            errors.append(FieldError("/workload/output_length", "output_longer_than_sequence", params))
    fmt = format_of(work.precision or formats.USUAL)
    if work.task == "training" and not fmt.trains:
        errors.append(FieldError("/workload/precision", "precision_cannot_train", {"value": work.precision}))
    if work.task in ("lora", "qlora"):
        if fmt.gguf:
            errors.append(
                FieldError("/workload/precision", "precision_cannot_train", {"value": work.precision})
            )
        if model.family == "vision" and not model.layers:
            errors.append(FieldError("/workload/task", "task_needs_transformer", {"value": work.task}))
    return errors
