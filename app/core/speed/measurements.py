"""Published measurements as questions: what each row asked, what the model answers, and how far it is off."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from app.core import engines
from app.core.engines import label_of
from app.core.engines.published import BY_LABEL, Stack
from app.core.faults import InputFault
from app.core.fields import TOKEN_FAMILIES
from app.core.gpu import Benchmark
from app.core.gpu_table import Floats, GpuTable
from app.core.model.architecture import ModelArchitecture, architecture_from_fields
from app.core.resolve import resolve
from app.core.speed import constants as c
from app.core.speed.generation import schedule
from app.core.speed.predict import predict
from app.core.speed.scenarios import (
    MLPERF_SUITE,
    limit_ms,
    replica_plan,
    scenario_of,
    stated_plan,
    stated_precision,
)
from app.core.speed.terms import Plans, Shape
from app.core.units import Number
from app.core.workload import Parallelism, Workload

UNIT_OF_FAMILY = {
    "vision": "images_per_s",
    "decoder": "tokens_per_s",
    "diffusion": "images_per_s",
    "speech": "realtime_factor",
}
MAX_CARDS = 8
MAX_CARDS_TRAINING = 1024
STEPS_PER_S = "denoising_steps_per_s"
QUERIES_PER_S = "samples_per_s"
"""Unit of language servers that count whole answers."""
ADAPTERS: Mapping[str, Literal["lora", "qlora"]] = {"lora": "lora", "qlora": "qlora"}
"""Tasks of questions by the method of a row; other methods train every weight."""
COMPILERS = ("torch.compile",)
"""Compilers whose graphs are faster than eager kernels of the same framework. XLA's are not among them: the
fitted rows of TensorFlow with it lie 10 % under the eager model, and 30 % under the compiled one."""
CHECKPOINTING: Mapping[str, bool | Literal["selective"]] = {"full": True, "selective": "selective"}
OWN_SOURCE = "own"
"""Source family of the team's own measurements."""

_GROUPS = {
    "moe_training": "decoder_training",
    "decode_moe": "decode",
    "qlora": "lora",
}
"""Classes that share their evidence: one is a special case of the other."""


def series_of(model: ModelArchitecture) -> str:
    """Family of models that share their building blocks: the backbone, else the first word of the name."""
    if model.family == "vision" and model.backbone:
        return re.match(r"[a-z]*", model.backbone.lower()).group() or model.backbone  # type: ignore[union-attr]
    found = re.match(r"[a-z]+", (model.id or model.name).lower())
    return found.group() if found else model.family


def source_family(row: Benchmark) -> str:
    """Repository or site of a row: two logs of one repository are one source."""
    if row.own:
        return OWN_SOURCE
    if row.source is None:
        return row.id
    parts = row.source.url.split("/")
    if len(parts) < 3:
        return row.source.id
    return "/".join(parts[2:5]).lower() if parts[2] in ("github.com", "huggingface.co") else parts[2]


def group_of(kind: str) -> str:
    """Class whose measurements speak of a class of `constants.WIDTHS`."""
    return _GROUPS.get(kind, kind)


def model_of_row(row: Benchmark, models: Mapping[str, ModelArchitecture]) -> ModelArchitecture | None:
    """Architecture of a row: its preset, or a decoder of the usual shape of the parameters that it states."""
    found = models.get(row.model_id) if row.model_id else None
    if found is None and row.model_parameters and row.unit == "tokens_per_s":
        described = architecture_from_fields(
            {"family": "decoder", "parameters": row.model_parameters, "name": row.model_name}
        )
        return replace(described, id=f"~{row.model_name.lower()}")
    return found


def question_of(
    row: Benchmark, model: ModelArchitecture, usable_gib: float = float("nan")
) -> tuple[Workload, Parallelism] | None:
    """The question that a measurement answers; None where the row does not say enough of it.

    Parameters
    ----------
    row: the measurement. model: its architecture. usable_gib: of one card, where replicas are chosen by it.
    """
    engine = label_of(row.framework)
    scenario = scenario_of(row)
    precision = stated_precision(row)
    many = scenario is not None or row.task != "inference"
    most = MAX_CARDS_TRAINING if many else MAX_CARDS
    if row.flag or not precision or not engine or row.gpu_count > most or not row.value > 0:
        return None
    steps = row.unit == STEPS_PER_S and model.family == "diffusion"
    queries = row.unit == QUERIES_PER_S and scenario is not None and row.phase == "server"
    if row.unit != UNIT_OF_FAMILY.get(model.family, QUERIES_PER_S) and not steps and not queries:
        return None
    if row.phase in ("server", "interactive") and scenario is None:
        return None
    serving = row.task == "inference"
    if row.task == "finetune" and model.family == "decoder" and not row.method:
        return None
    language = serving and model.family == "decoder"
    prompt, output = row.input_length, row.output_length
    if language:
        if scenario is not None:
            prompt, output = scenario.prompt, scenario.output
        elif row.phase == "prefill":
            prompt, output = prompt or row.sequence_length or c.PROMPT_TOKENS, 1.0
        elif row.phase == "decode":
            prompt, output = prompt or 1.0, output or c.DECODED_TOKENS
        elif not output:
            return None
    length = row.sequence_length or (prompt or 0.0) + (output or 0.0)
    # Replicas fill up each by itself.
    batch = row.batch_per_gpu or (c.PUBLISHED_SEQUENCES * row.gpu_count if scenario else _batch(row, model))
    if batch is None:
        return None
    size = int(row.image_size) if row.image_size and model.family in ("vision", "diffusion") else 0
    accumulation = int(c.PRETRAINING_ACCUMULATION) if model.family == "decoder" else 1
    kind = "language" if language else "denoising" if steps else "other"
    stack = BY_LABEL.get(engine)
    work = Workload(
        model,
        task="inference" if serving else ADAPTERS.get(row.method, "training"),
        precision=precision,
        # Published language-model rows give the sequences of the whole system.
        batch_size=batch if language or not serving else batch * row.gpu_count,
        sequence_length=((prompt or 0.0) + (output or 0.0)) if language else length or None,
        output_length=output if language else None,
        image_size=_pixels(size, model) if size else None,
        engine=engines.stand_in(engine, kind).name,
        load="saturated" if row.phase == "saturated" or scenario is not None else "batch",
        latency_limit_ms=limit_ms(row, scenario) if scenario is not None else None,
        gradient_accumulation=1 if serving or row.batch_per_gpu or language else accumulation,
        compile=(stack is not None and stack.compiled) or row.compiled in COMPILERS,
        software=_software(row, model, stack),
        gradient_checkpointing=CHECKPOINTING.get(row.checkpointing, False),
    )
    if model.family in TOKEN_FAMILIES and not work.sequence_length:
        return None
    try:
        found = resolve(work)[0]
        if scenario is not None:
            return found, replica_plan(found, row.gpu_count, usable_gib)
        return found, stated_plan(row, not serving) or plan_of(work, row.gpu_count)
    except InputFault:
        return None


def plan_of(work: Workload, count: int) -> Parallelism:
    """The plan that a published row of several cards most likely used."""
    if work.model.family != "decoder":
        return Parallelism(data=count)
    if work.trains:
        return Parallelism(data=count, zero_stage=3 if count > 1 and work.task == "training" else 0)
    return Parallelism(**{engines.engine(work.engine).plans.published_split: count})


def _software(row: Benchmark, model: ModelArchitecture, stack: Stack | None) -> str:
    """Age of the software whose speed a row shows: channels-last kernels are those of new software."""
    if row.layout == "channels_last" and model.family == "vision":
        return "new"
    return row.software or (stack.software if stack is not None else "usual")


def _pixels(side: int, model: ModelArchitecture) -> tuple[int, int]:
    """Height and width that a published side means: detectors name the shorter side of their usual frame."""
    frame = model.image_size or (side, side)
    return frame if side == min(frame) else (side, side)


def _batch(row: Benchmark, model: ModelArchitecture) -> float | None:
    if row.phase in ("prefill", "decode"):
        return 1.0
    if row.phase == "saturated":
        return c.PUBLISHED_SEQUENCES
    if row.task != "inference" and model.family == "decoder":
        return c.PRETRAINING_BATCH
    if row.unit == STEPS_PER_S:
        return 1.0
    return c.VISION_BATCH if model.family == "vision" else None


@dataclass(frozen=True)
class Observed:
    """Measurements that state their question, beside the model's own figure."""

    rows: tuple[Benchmark, ...]
    kinds: tuple[str, ...]
    """Class of each, a name of `constants.WIDTHS`."""
    predicted: Floats
    log_ratio: Floats
    """ln(measured / predicted), no measurement having corrected the prediction."""
    labels: Mapping[str, tuple[str, ...]]
    """card, precision, engine, model, series, source of each row."""
    batch: Floats
    """log2 of the sequences or images per card; language models: of the system, saturated: tokens written."""
    length: Floats
    """log2 of the tokens, or of the pixels, of one sample."""
    count: Floats
    """log2 of the cards."""

    def __len__(self) -> int:
        return len(self.rows)


def observe(
    rows: Iterable[Benchmark],
    models: Mapping[str, ModelArchitecture],
    table: GpuTable,
    position: Mapping[str, int],
) -> Observed:
    """Predict every measurement that states its question, one array operation per model and stack.

    Parameters
    ----------
    rows: measurements. models: architectures by id. table: the cards. position: row of each card id.

    Returns
    -------
    The rows that could be expressed; the others are left out.
    """
    groups: dict[tuple[object, ...], list[tuple[Benchmark, Workload, Parallelism]]] = defaultdict(list)
    for row in rows:
        model = model_of_row(row, models)
        if model is None or row.gpu_id not in position:
            continue
        question = question_of(row, model, float(table.usable_gib[position[row.gpu_id]]))
        if question is not None:
            work, plan = question
            key = (model.id, work.task, work.precision, work.engine, work.load, row.phase, row.unit)
            stack = (label_of(row.framework), work.gradient_checkpointing, work.gradient_accumulation)
            recipe = (work.latency_limit_ms, work.software, work.compile)
            groups[(*key, *stack, *recipe)].append((row, work, plan))
    parts = [_predicted(found, table, position) for found in groups.values()]
    return _joined([p for p in parts if p])


def features(shape: Shape, family: str, count: Number, load: str = "") -> tuple[Floats, Floats, Floats]:
    """(batch, length, count) in powers of two, as `Observed` has them."""
    length = shape.pixels if family in ("vision", "diffusion") else shape.sequence
    # A full engine sets its own batch: what tells two full engines apart is how much they write.
    batch = shape.output if load == "saturated" and family == "decoder" else shape.batch
    return (
        np.log2(np.maximum(np.asarray(batch, dtype=np.float64), 1.0)),
        np.log2(np.maximum(np.asarray(length, dtype=np.float64), 1.0)),
        np.log2(np.maximum(np.asarray(count, dtype=np.float64), 1.0)),
    )


def local_batch(work: Workload, batch: Number, count: Number) -> Number:
    """Samples per card where the cards share the batch; language models keep that of the system."""
    if work.trains or work.model.family == "decoder":
        return batch
    return np.divide(batch, count)


def _predicted(
    found: Sequence[tuple[Benchmark, Workload, Parallelism]], table: GpuTable, position: Mapping[str, int]
) -> list[tuple[Benchmark, str, float, dict[str, str], float, float, float]]:
    work = found[0][1]
    shapes = [Shape.of(w) for _, w, _ in found]
    shape = Shape(
        *(np.array([getattr(s, n) for s in shapes]) for n in ("batch", "sequence", "output", "pixels"))
    )
    plans = Plans.of([p for _, _, p in found])
    cards = table.take([position[r.gpu_id] for r, _, _ in found])
    terms = predict(work, plans, cards, shape)
    phase = found[0][0].phase
    split = phase in ("prefill", "decode") and phase in terms.detail
    rate = np.broadcast_to(terms.detail[phase] if split else terms.rate, (len(found),))
    if found[0][0].unit == STEPS_PER_S:
        rate = rate * schedule(work)[0]
    elif work.model.family == "diffusion" and found[0][0].scenario == MLPERF_SUITE:
        rate = rate * schedule(work)[0] / c.MLPERF_DENOISING_STEPS
    elif found[0][0].unit == QUERIES_PER_S and work.model.family == "decoder":
        rate = rate / shape.output
    kind = "prefill" if phase == "prefill" else terms.kind
    count = plans.cards
    where = features(
        Shape(local_batch(work, shape.batch, count), shape.sequence, shape.output, shape.pixels),
        work.model.family,
        count,
        work.load,
    )
    model = work.model
    common = {"precision": work.format.speed_group, "model": model.id, "series": series_of(model)}
    return [
        (
            row,
            kind,
            float(rate[i]),
            {
                **common,
                "card": row.gpu_id,
                "engine": label_of(row.framework),
                "source": source_family(row),
            },
            float(where[0][i]),
            float(where[1][i]),
            float(where[2][i]),
        )
        for i, (row, _, _) in enumerate(found)
        if np.isfinite(rate[i]) and rate[i] > 0
    ]


def _joined(
    parts: Sequence[Sequence[tuple[Benchmark, str, float, dict[str, str], float, float, float]]],
) -> Observed:
    flat = [item for part in parts for item in part]
    predicted = np.array([item[2] for item in flat], dtype=np.float64)
    measured = np.array([item[0].value for item in flat], dtype=np.float64)
    names = ("card", "precision", "engine", "model", "series", "source")
    return Observed(
        rows=tuple(item[0] for item in flat),
        kinds=tuple(item[1] for item in flat),
        predicted=predicted,
        log_ratio=np.log(measured / predicted) if flat else predicted,
        labels={name: tuple(item[3][name] for item in flat) for name in names},
        batch=np.array([item[4] for item in flat], dtype=np.float64),
        length=np.array([item[5] for item in flat], dtype=np.float64),
        count=np.array([item[6] for item in flat], dtype=np.float64),
    )
