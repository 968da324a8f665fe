"""Which defaults a request used by saying nothing, and what it said for nothing: both stand in the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from app.core.applicability import ignored
from app.core.estimates import Assumption
from app.core.question import ShortlistQuestion
from app.core.workload import TOKEN_FAMILIES, Workload, resolve


def workload_defaults(data: object, workload: Workload) -> tuple[Assumption, ...]:
    """Defaults of a workload that the core does not fill itself, and stated fields that do nothing."""
    stated = _part(data, "workload")
    relevant: dict[str, Any] = {"task": workload.task, "batch_size": workload.batch_size}
    if workload.task in ("lora", "qlora"):
        relevant |= {"lora_rank": workload.lora_rank, "lora_targets": workload.lora_targets}
    if workload.trains:
        relevant["gradient_checkpointing"] = workload.gradient_checkpointing
        if workload.model.family in TOKEN_FAMILIES:
            relevant |= {"logits": workload.logits, "padding": workload.padding}
    elif workload.model.family == "decoder":
        relevant["load"] = workload.load
    relevant["software"] = workload.software
    defaults = (
        Assumption(name, value, f"default_{name}")
        for name, value in relevant.items()
        if stated.get(name) is None
    )
    return (*defaults, *_ignored(stated, workload))


def _ignored(stated: Mapping[str, Any], workload: Workload) -> tuple[Assumption, ...]:
    """Stated fields that do nothing for the question, each with the reason."""
    values: dict[str, Any] = {}
    for name, value in stated.items():
        if isinstance(value, Mapping):
            values |= {f"{name}.{part}": inner for part, inner in value.items()}
        else:
            values[name] = value
    # What is switched off does nothing anyway.
    said = {name: value for name, value in values.items() if value is not None and value is not False}
    resolved, _ = resolve(workload)
    return tuple(Assumption(name, said[name], code) for name, code in ignored(said, resolved).items())


def shortlist_defaults(data: object, question: ShortlistQuestion) -> tuple[Assumption, ...]:
    """Defaults of the frame around a workload: counts, objective, prices, economics."""
    used = [
        Assumption(name, value, f"default_{name}")
        for name, value in (
            ("counts", question.counts),
            ("objective", question.objective),
            ("limit", question.limit),
        )
        if _mapping(data).get(name) is None
    ]
    if _part(data, "filters").get("conditions") is None:
        used.append(Assumption("filters.conditions", question.filters.conditions, "default_conditions"))
    if question.work is not None and question.workload.model.family == "speech":
        used.append(Assumption("work.unit", question.work.unit, "work_hours_of_audio"))
    for part, values in (("price_rules", question.price_rules), ("economics", question.economics)):
        stated = _part(data, part)
        used.extend(
            Assumption(f"{part}.{f.name}", getattr(values, f.name), f"default_{f.name}")
            for f in fields(values)
            if stated.get(f.name) is None and getattr(values, f.name) != ""
        )
    return tuple(used)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _part(data: object, name: str) -> Mapping[str, Any]:
    return _mapping(_mapping(data).get(name))
