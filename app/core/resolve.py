"""Fills what a workload leaves open by the rules of the contract, and refuses what cannot be computed."""

from __future__ import annotations

import math
from dataclasses import fields
from operator import attrgetter
from typing import Any

import numpy as np

from app.core import engines, formats
from app.core.engines.record import Engine
from app.core.estimates import Assumption
from app.core.faults import FieldError, InputFault
from app.core.fields import TOKEN_FAMILIES, Field, Range, fields_of
from app.core.formats import Format, format_of
from app.core.model.architecture import ModelArchitecture
from app.core.workload import Offload, Parallelism, Workload

MEMORY_FRACTION = 0.9
"""Share of a card that a server fills under a standing load where neither question nor engine sets one."""
SAMPLED_SEQUENCES = 256
"""max_num_seqs of an engine's profiling run."""
MAX_BATCHED_TOKENS = 4096

_DECLARED: dict[str, Field] = {one.key: one for one in fields_of(Workload, "workload")}
RANGES: dict[str, Range] = {name: one.limits for name, one in _DECLARED.items() if one.limits is not None}
_CHOICE_SETS = tuple(
    (name, frozenset(one.choices) | {""}) for name, one in _DECLARED.items() if one.kind == "choice"
)
_RANGED = tuple(
    (name, limits.low, limits.high, limits.integer)
    for name, limits in RANGES.items()
    if _DECLARED[name].kind in ("integer", "number")
)
_PLAN_FIELDS = fields_of(Parallelism, "workload.parallelism")
_OFFLOAD_FIELDS = fields_of(Offload, "workload.offload")
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
        # Engines take the scales that a checkpoint brings, where its own weights are what they load.
        scaled = "" if trains or precision != model.native_precision else model.native_kv_precision
        kv = scaled or fmt.compute.kv
        filled["kv_precision"] = kv
        if not trains:
            why = "checkpoint_kv_precision" if scaled else "default_kv_precision"
            notes.append(Assumption("kv_precision", kv, why))
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
        errors.extend(_part_faults(work.parallelism, _PLAN_FIELDS))
    errors.extend(_part_faults(work.offload, _OFFLOAD_FIELDS))
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


def _part_faults(part: Offload | Parallelism, fields: tuple[Field, ...]) -> list[FieldError]:
    """Numbers of a plan, or of what is kept in the host, that are out of their range."""
    errors: list[FieldError] = []
    for one in fields:
        value = getattr(part, one.key)
        if one.limits is not None and value is not None:
            fault = _range_fault(value, one.limits.low, one.limits.high, one.limits.integer, False)
            if fault is not None:
                errors.append(FieldError(one.pointer, *fault))
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
