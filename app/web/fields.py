"""The fields of the calculator's form: name in the URL, place in the request, kind, default.

The names are those of the API; a field at its default is left out of the URL, so links stay short.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from app.core import engines, formats
from app.services.contract import (
    ATTENTION,
    CONDITIONS,
    DEFAULT_CONDITIONS,
    ENGINE_CHOICES,
    FAMILIES,
    LOADS,
    LOGITS,
    LORA_TARGETS,
    NEEDS,
    OBJECTIVES,
    OPTIMIZERS,
    PADDING,
    RECIPES,
    REGIONS,
    SOFTWARE,
    TASKS,
    WORK_UNITS,
)

Kind = Literal["text", "long", "integer", "number", "percent", "choice", "many", "flag", "yes_no"]


@dataclass(frozen=True, slots=True)
class FormField:
    """One field: `pointer` is the JSON pointer of its value in the body of a shortlist request."""

    name: str
    pointer: str
    kind: Kind
    default: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    tasks: tuple[str, ...] = TASKS
    """Tasks for which the field is asked; elsewhere its value is not sent on."""
    families: tuple[str, ...] = ()
    """Model families for which the field is asked; empty = all."""


_TRAINS = ("training", "lora", "qlora")
_TOKENS = ("decoder", "encoder", "encoder-decoder", "speech")


def _number(name: str, pointer: str, default: str = "", kind: Kind = "number") -> FormField:
    return FormField(name, pointer, kind, (default,) if default else ())


_ALL = (
    FormField("model", "/workload/model", "text", ("Qwen3-14B",)),
    FormField("family", "/workload/model/family", "choice", ("decoder",), FAMILIES),
    FormField("config", "/workload/model/config", "long"),
    FormField("task", "/workload/task", "choice", ("inference",), TASKS),
    FormField("precision", "/workload/precision", "choice", ("bf16",), formats.weight_names()),
    FormField("batch_size", "/workload/batch_size", "integer", ("8",)),
    FormField("sequence_length", "/workload/sequence_length", "integer", ("8192",), families=_TOKENS),
    FormField(
        "output_length", "/workload/output_length", "integer", (), tasks=("inference",), families=_TOKENS
    ),
    FormField("source_length", "/workload/source_length", "integer", (), families=("encoder-decoder",)),
    FormField("image_size", "/workload/image_size", "text", (), families=("vision", "diffusion")),
    FormField("engine", "/workload/engine", "choice", ("auto",), ENGINE_CHOICES),
    FormField(
        "kv_precision",
        "/workload/kv_precision",
        "choice",
        ("",),
        ("", *formats.kv_names()),
        tasks=("inference",),
        families=("decoder", "encoder-decoder", "speech"),
    ),
    FormField("attention", "/workload/attention", "choice", ("",), ("", *ATTENTION)),
    FormField("used_gib", "/workload/used_gib", "number", ("0",)),
    FormField("memory_fraction", "/workload/memory_fraction", "number", (), tasks=("inference",)),
    FormField("weights_gib", "/workload/weights_gib", "number", ()),
    FormField("load", "/workload/load", "choice", ("batch",), LOADS, tasks=("inference",)),
    FormField("latency_limit_ms", "/workload/latency_limit_ms", "number", (), tasks=("inference",)),
    FormField("optimizer", "/workload/optimizer", "choice", ("",), ("", *OPTIMIZERS), tasks=_TRAINS),
    FormField("recipe", "/workload/recipe", "choice", ("",), ("", *RECIPES), tasks=_TRAINS),
    FormField(
        "gradient_checkpointing",
        "/workload/gradient_checkpointing",
        "choice",
        ("no",),
        ("no", "yes", "selective"),
        tasks=_TRAINS,
    ),
    FormField("gradient_accumulation", "/workload/gradient_accumulation", "integer", ("1",), tasks=_TRAINS),
    FormField("logits", "/workload/logits", "choice", ("full",), LOGITS, tasks=_TRAINS, families=_TOKENS),
    FormField("lora_rank", "/workload/lora_rank", "integer", ("16",), tasks=("lora", "qlora")),
    FormField(
        "lora_targets",
        "/workload/lora_targets",
        "choice",
        ("all-linear",),
        LORA_TARGETS,
        tasks=("lora", "qlora"),
    ),
    FormField(
        "padding", "/workload/padding", "choice", ("padded",), PADDING, tasks=_TRAINS, families=_TOKENS
    ),
    FormField("compile", "/workload/compile", "flag"),
    FormField("software", "/workload/software", "choice", ("usual",), SOFTWARE),
    _number("data", "/workload/parallelism/data", "", "integer"),
    _number("tensor", "/workload/parallelism/tensor", "", "integer"),
    _number("pipeline", "/workload/parallelism/pipeline", "", "integer"),
    FormField(
        "zero_stage",
        "/workload/parallelism/zero_stage",
        "choice",
        ("",),
        ("", "0", "1", "2", "3"),
        tasks=_TRAINS,
    ),
    FormField("objective", "/objective", "choice", ("total_cost",), OBJECTIVES),
    FormField("work", "/work/amount", "number", ()),
    FormField("work_unit", "/work/unit", "choice", ("tokens",), WORK_UNITS),
    _number("deadline_hours", "/deadline_hours", ""),
    _number("months", "/economics/months", "36"),
    _number("hours_per_month", "/economics/hours_per_month", "730"),
    _number("utilisation", "/economics/utilisation", "60", "percent"),
    _number("electricity", "/economics/electricity_cny_per_kwh", "0.8"),
    _number("pue", "/economics/pue", "1.4"),
    _number("residual", "/economics/residual", "20", "percent"),
    _number("host", "/economics/host_cny_per_gpu"),
    FormField("budget", "/budget/amount", "number", ()),
    FormField("max_age_days", "/price_rules/max_age_days", "integer", ("180",)),
    FormField("tax", "/price_rules/tax", "choice", ("",), ("", "included", "excluded")),
    FormField("price_region", "/price_rules/region", "choice", ("CN",), REGIONS),
    FormField("refuse_stale", "/price_rules/refuse_stale", "flag"),
    FormField("counts", "/counts", "text", ("1, 2, 4, 8",)),
    FormField("vendor", "/filters/vendors", "choice", ("",), ()),
    FormField("conditions", "/filters/conditions", "many", DEFAULT_CONDITIONS, CONDITIONS),
    FormField("needs", "/filters/needs", "many", (), NEEDS),
    FormField("region", "/filters/regions", "choice", ("",), ("", *REGIONS)),
    FormField("framework", "/filters/frameworks", "choice", ("",), ("", *engines.framework_names())),
    FormField("framework_version", "/filters/frameworks", "text"),
    FormField("os", "/filters/os", "choice", ("",), ("", "linux", "windows", "wsl2", "macos")),
    _number("max_power_w", "/filters/max_power_w", ""),
    FormField("gpus", "/filters/gpus", "text"),
    FormField("prices", "/price_overrides", "long"),
    FormField("run_over_24h", "/questions/run_over_24h", "yes_no", ("",), ("", "yes", "no")),
    FormField("tenants", "/questions/tenants", "yes_no", ("",), ("", "yes", "no")),
    FormField("strict_sla", "/questions/strict_sla", "yes_no", ("",), ("", "yes", "no")),
    FormField("as_of", "/as_of", "text"),
)
FIELDS: Mapping[str, FormField] = {field.name: field for field in _ALL}

POINTERS: Mapping[str, str] = {field.pointer: field.name for field in reversed(_ALL)}


def field_of(pointer: str) -> str:
    """Name of the form's field for an error's JSON pointer; empty when no field stands for it."""
    at = pointer.rstrip("/")
    while at:
        if at in POINTERS:
            name = POINTERS[at]
            return "model" if name == "family" and not pointer.endswith("/family") else name
        at = at.rpartition("/")[0]
        if at == "/workload/model":
            return "model"
    return ""
