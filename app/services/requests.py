"""From a JSON object to the core's questions: the one reader for the API, the pages and the command line.

Every fault is collected with its JSON pointer; a later step never sees a half-read question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Literal, TypeVar, cast

from app.catalog.snapshot import Snapshot
from app.core import formats
from app.core.estimates import Assumption
from app.core.faults import InputFault
from app.core.gpu import Gpu
from app.core.question import OBJECTIVES, Budget, ShortlistQuestion
from app.core.workload import (
    ATTENTION,
    ENGINE_CHOICES,
    LOADS,
    LOGITS,
    LORA_TARGETS,
    OPTIMIZERS,
    PADDING,
    RANGES,
    RECIPES,
    SOFTWARE,
    TASKS,
    Offload,
    Parallelism,
    Range,
    Task,
    Workload,
    resolve,
)
from app.services.defaults import shortlist_defaults, workload_defaults
from app.services.fields import Fields, given, shown
from app.services.model_requests import read_model
from app.services.names import find_gpu
from app.services.request_parts import (
    DEADLINE_HOURS,
    read_budget,
    read_economics,
    read_filters,
    read_overrides,
    read_price_rules,
    read_questions,
    read_work,
)

T = TypeVar("T")

COUNT = Range(1, 4096)
LIMIT = Range(1, 200)
LAYERS_ON_GPU = Range(0, 10_000)
ZERO_STAGE = Range(0, 3)
MAX_COUNTS = 16
DEFAULT_COUNTS = (1, 2, 4, 8)

ENGINE_VERSION = r"[0-9A-Za-z.+\-]{1,32}"


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """What /memory asks: a workload, and the day it is asked for."""

    workload: Workload
    as_of: date
    defaults: tuple[Assumption, ...] = ()


@dataclass(frozen=True, slots=True)
class FitRequest:
    """What /fit and /speed ask: a workload on a number of one card."""

    workload: Workload
    gpu: Gpu
    count: int
    as_of: date
    defaults: tuple[Assumption, ...] = ()


@dataclass(frozen=True, slots=True)
class ShortlistRequest:
    """What /shortlist and /comparisons ask."""

    question: ShortlistQuestion
    as_of: date
    title: str = ""
    budget_given: Budget | None = None
    """The budget in the currency it was stated in; the question holds yuan."""
    echo: Mapping[str, Any] = field(default_factory=dict)
    """The body as it was sent, without its title: enough to ask again."""
    defaults: tuple[Assumption, ...] = ()


def parse_memory(data: object, snapshot: Snapshot, today: date) -> MemoryRequest:
    """Read the body of /memory; raises InputFault with every fault."""
    fields = Fields.root(data)
    as_of = given(fields.day("as_of"), today)
    workload = _workload(fields, snapshot)
    fields.finish()
    return MemoryRequest(_certain(workload), as_of, workload_defaults(data, _certain(workload)))


def parse_workload(data: object, snapshot: Snapshot) -> Workload:
    """Read {"workload": {…}} alone; raises InputFault with every fault."""
    fields = Fields.root(data)
    workload = _workload(fields, snapshot)
    fields.finish()
    return _certain(workload)


def parse_fit(data: object, snapshot: Snapshot, today: date) -> FitRequest:
    """Read the body of /fit and /speed; raises InputFault with every fault."""
    fields = Fields.root(data)
    as_of = given(fields.day("as_of"), today)
    workload = _workload(fields, snapshot)
    name = fields.text("gpu", required=True)
    gpu = find_gpu(name, snapshot, fields, "gpu") if name is not None else None
    count = fields.integer("count", COUNT)
    if workload is not None and workload.parallelism is not None:
        if _states_no_degree(data):
            workload = _spread(workload, given(count, 1))
        cards = _certain(workload.parallelism).cards
        if count is None:
            count = cards
        elif cards != count:
            fields.fault("count", "plan_does_not_match_count", count=count, cards=cards)
    fields.finish()
    used = workload_defaults(data, _certain(workload))
    if count is None:
        used = (*used, Assumption("count", 1, "default_count"))
    return FitRequest(_certain(workload), _certain(gpu), given(count, 1), as_of, used)


def parse_shortlist(data: object, snapshot: Snapshot, today: date, titled: bool = False) -> ShortlistRequest:
    """Read the body of /shortlist, or of /comparisons when `titled`; raises InputFault with every fault."""
    fields = Fields.root(data)
    as_of = given(fields.day("as_of"), today)
    title = given(fields.text("title"), "") if titled else ""
    workload = _workload(fields, snapshot)
    counts = _counts(fields)
    workload = _planned(fields, workload, data, counts)
    if workload is not None and workload.parallelism is not None and not fields.given("counts"):
        counts = (workload.parallelism.cards,)
    filters = read_filters(fields.object("filters"), snapshot)
    stated, budget = read_budget(fields.object("budget"), snapshot, as_of)
    overrides = read_overrides(fields.object("price_overrides"), snapshot)
    rules = read_price_rules(fields.object("price_rules"))
    economics = read_economics(fields.object("economics"))
    objective = given(fields.choice("objective", OBJECTIVES), "total_cost")
    work = read_work(fields.object("work"))
    deadline = fields.number("deadline_hours", DEADLINE_HOURS)
    limit = given(fields.integer("limit", LIMIT), 10)
    questions = read_questions(fields.object("questions"))
    fields.finish()
    question = ShortlistQuestion(
        workload=_certain(workload),
        counts=counts,
        filters=filters,
        budget=budget,
        economics=economics,
        objective=objective,
        price_rules=rules,
        price_overrides=overrides,
        work=work,
        deadline_hours=deadline,
        limit=limit,
        questions=questions,
    )
    echo = {k: v for k, v in cast("Mapping[str, Any]", data).items() if k != "title"}
    used = (*workload_defaults(data, question.workload), *shortlist_defaults(data, question))
    return ShortlistRequest(question, as_of, title, stated, echo, used)


def _certain(value: T | None) -> T:
    # Faults have been raised by now; this says it to the type checker.
    if value is None:
        raise InputFault.at("", "not_an_object")
    return value


def _counts(fields: Fields) -> tuple[int, ...]:
    values = fields.items("counts", MAX_COUNTS)
    if values is None:
        return DEFAULT_COUNTS
    if not values:
        fields.fault("counts", "empty_list")
    checked = [fields.check_number(("counts", i), value, COUNT) for i, value in enumerate(values)]
    return tuple(sorted({int(number) for number in checked if number is not None}))


def _planned(
    fields: Fields, workload: Workload | None, data: object, counts: tuple[int, ...]
) -> Workload | None:
    """The workload with its plan set against the counts that were asked for."""
    if workload is None or workload.parallelism is None:
        return workload
    if _states_no_degree(data):
        if len(counts) != 1:
            fields.fault("counts", "plan_needs_one_count")
            return workload
        return _spread(workload, counts[0])
    cards = workload.parallelism.cards
    if fields.given("counts") and counts and cards not in counts:
        fields.fault("counts", "plan_does_not_match_count", count=list(counts), cards=cards)
    return workload


def _states_no_degree(data: object) -> bool:
    """Whether a plan says how to share (experts, ZeRO) without saying over how many cards."""
    plan = cast("Any", data)["workload"]["parallelism"]
    return not any(plan.get(name) for name in ("data", "tensor", "pipeline"))


def _spread(workload: Workload, cards: int) -> Workload:
    return replace(workload, parallelism=replace(_certain(workload.parallelism), data=cards))


def _workload(fields: Fields, snapshot: Snapshot) -> Workload | None:
    work = fields.object("workload", required=True)
    if work is None:
        return None
    noted = len(fields.errors)
    model = read_model(work.object("model", required=True), snapshot)
    numbers = {name: work.number(name, RANGES[name]) for name in _NUMBERS}
    words = {name: work.choice(name, allowed) for name, allowed in _WORDS.items()}
    task = words.pop("task") or "inference"
    precision = work.choice("precision", formats.weight_names()) or ""
    kv_precision = work.choice("kv_precision", formats.kv_names()) or ""
    image_size = _image_size(work)
    checkpointing = _checkpointing(work)
    compiles = work.boolean("compile")
    version = work.text("engine_version")
    if version and not re.fullmatch(ENGINE_VERSION, version):
        work.fault("engine_version", "not_a_version", value=shown(version))
    offload = _offload(work.object("offload"))
    parallelism = _parallelism(work.object("parallelism"))
    work.close()
    stated = work.given("batch_size")
    if task == "training":
        # A batch of one would be a guess that decides the answer, and so would the number format.
        for name in ("batch_size", "precision"):
            if not work.given(name):
                work.fault(name, f"{name}_required")
    if len(fields.errors) > noted or model is None:
        return None
    settled: dict[str, Any] = {k: v for k, v in words.items() if v is not None}
    settled |= {k: (int(v) if k in _WHOLE else v) for k, v in numbers.items() if v is not None}
    workload = Workload(
        model=model,
        task=cast("Task", task),
        precision=precision,
        kv_precision=kv_precision,
        image_size=image_size,
        gradient_checkpointing=checkpointing,
        compile=given(compiles, False),
        engine_version=version or "",
        offload=offload,
        parallelism=parallelism,
        batch_stated=stated,
        **settled,
    )
    try:
        resolve(workload)
    except InputFault as fault:
        fields.errors.extend(fault.errors)
    return workload


_NUMBERS = (
    "batch_size",
    "sequence_length",
    "output_length",
    "source_length",
    "max_batched_tokens",
    "max_num_seqs",
    "memory_fraction",
    "weights_gib",
    "gradient_accumulation",
    "lora_rank",
    "trainable_parameters",
    "latency_limit_ms",
    "used_gib",
)
_WHOLE = frozenset({"max_batched_tokens", "max_num_seqs", "gradient_accumulation", "lora_rank"})
_WORDS: dict[str, tuple[str, ...]] = {
    "task": TASKS,
    "engine": ENGINE_CHOICES,
    "optimizer": OPTIMIZERS,
    "recipe": RECIPES,
    "attention": ATTENTION,
    "logits": LOGITS,
    "lora_targets": LORA_TARGETS,
    "load": LOADS,
    "software": SOFTWARE,
    "padding": PADDING,
}


def _image_size(work: Fields) -> tuple[int, int] | None:
    value = work.raw("image_size")
    if value is None:
        return None
    sides = value if isinstance(value, list | tuple) else [value, value]
    if len(sides) != 2:
        work.fault("image_size", "not_an_image_size")
        return None
    height = work.check_number("image_size", sides[0], RANGES["image_size"])
    # A square size was stated once: its fault is noted once.
    width = work.check_number("image_size", sides[1], RANGES["image_size"]) if height else None
    return None if height is None or width is None else (int(height), int(width))


def _checkpointing(work: Fields) -> bool | Literal["selective"]:
    value = work.raw("gradient_checkpointing")
    if value is None or isinstance(value, bool):
        return bool(value)
    if value == "selective":
        return "selective"
    work.fault(
        "gradient_checkpointing", "unknown_value", value=shown(value), allowed=["false", "true", "selective"]
    )
    return False


def _offload(fields: Fields | None) -> Offload:
    if fields is None:
        return Offload()
    offload = Offload(
        experts=given(fields.boolean("experts"), False),
        optimizer=given(fields.boolean("optimizer"), False),
        activations=given(fields.boolean("activations"), False),
        layers_on_gpu=fields.integer("layers_on_gpu", LAYERS_ON_GPU),
    )
    fields.close()
    return offload


def _parallelism(fields: Fields | None) -> Parallelism | None:
    if fields is None:
        return None
    degree = RANGES["degree"]
    plan = Parallelism(
        data=given(fields.integer("data", degree), 1),
        tensor=given(fields.integer("tensor", degree), 1),
        pipeline=given(fields.integer("pipeline", degree), 1),
        expert=given(fields.integer("expert", degree), 1),
        zero_stage=given(fields.integer("zero_stage", ZERO_STAGE), 0),
    )
    fields.close()
    if plan.cards > COUNT.high:
        fields.fault("data", "too_many_cards", cards=plan.cards, limit=int(COUNT.high))
    return plan
