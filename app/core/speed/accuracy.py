"""How far the speed model is from published measurements, by class and half."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.core.faults import InputFault
from app.core.gpu import Benchmark, Gpu
from app.core.gpu_table import GpuTable
from app.core.model import ModelArchitecture
from app.core.speed.anchors import MAX_CARDS, SATURATED_SEQUENCES, adapter_of, engine_of
from app.core.speed.predict import predict
from app.core.speed.terms import Plans
from app.core.workload import TOKEN_FAMILIES, Parallelism, Workload, resolve

UNIT_OF_FAMILY = {"vision": "images_per_s", "decoder": "tokens_per_s", "diffusion": "images_per_s"}
WITHIN = 1.5
DECODED_TOKENS = 128.0
"""Tokens written where a decode rate is published without their number."""
PROMPT_TOKENS = 512.0
VISION_BATCH = 64.0


@dataclass(frozen=True, slots=True)
class Case:
    """One measurement beside the model's figure; no measurement corrects the latter."""

    benchmark: Benchmark
    kind: str
    predicted: float
    fitted: bool
    """Belongs to the half that constants may be read from."""

    @property
    def log_ratio(self) -> float:
        """ln(measured / predicted)."""
        return math.log(self.benchmark.value / self.predicted)


@dataclass(frozen=True, slots=True)
class ClassErrors:
    """Errors of one class, |ln(measured / predicted)|."""

    kind: str
    n: int
    median: float
    p90: float
    signed_median: float
    within: float
    """Share of the rows within a factor of WITHIN."""


def question_of(row: Benchmark, model: ModelArchitecture) -> tuple[Workload, Parallelism] | None:
    """The question that a measurement answers; None where the row does not say enough of it."""
    engine = engine_of(row.framework)
    if row.flag or not row.precision or engine in ("", "vendor") or row.gpu_count > MAX_CARDS:
        return None
    if row.unit != UNIT_OF_FAMILY.get(model.family, "samples_per_s") or row.phase in (
        "server",
        "interactive",
    ):
        return None
    serving = row.task == "inference"
    adapter = adapter_of(row.model_name)
    if row.task == "finetune" and model.family == "decoder" and not adapter:
        return None
    language = serving and model.family == "decoder"
    prompt, output = row.input_length, row.output_length
    if language:
        if row.phase == "prefill":
            prompt, output = prompt or row.sequence_length or PROMPT_TOKENS, 1.0
        elif row.phase == "decode":
            prompt, output = prompt or 1.0, output or DECODED_TOKENS
        elif not output:
            return None
    length = row.sequence_length or (prompt or 0.0) + (output or 0.0)
    batch = row.batch_per_gpu or _batch(row, model)
    if batch is None:
        return None
    size = int(row.image_size) if row.image_size and model.family in ("vision", "diffusion") else 0
    work = Workload(
        model,
        task="inference" if serving else "qlora" if adapter == "qlora" else "lora" if adapter else "training",
        precision=row.precision,
        # Published language-model rows give the sequences of the whole system.
        batch_size=batch if language or not serving else batch * row.gpu_count,
        sequence_length=((prompt or 0.0) + (output or 0.0)) if language else length or None,
        output_length=output if language else None,
        image_size=(size, size) if size else None,
        engine=engine,
        load="saturated" if row.phase == "saturated" else "batch",
    )
    if model.family in TOKEN_FAMILIES and not work.sequence_length:
        return None
    try:
        return resolve(work)[0], _plan(work, row.gpu_count)
    except InputFault:
        return None


def cases(
    rows: Iterable[Benchmark],
    models: Mapping[str, ModelArchitecture],
    gpus: Sequence[Gpu],
    table: GpuTable | None = None,
) -> list[Case]:
    """Predict every measurement that states its question.

    Parameters
    ----------
    rows: measurements. models: architectures by id. gpus, table: the cards in one order.

    Returns
    -------
    Cases; even digests of the row id belong to the fitted half.
    """
    cards = table or GpuTable.from_gpus(gpus)
    position = {g.id: i for i, g in enumerate(gpus)}
    found = []
    for row in rows:
        if row.model_id not in models or row.gpu_id not in position:
            continue
        question = question_of(row, models[row.model_id])
        if question is None:
            continue
        work, plan = question
        terms = predict(work, Plans.of([plan]), cards.take([position[row.gpu_id]]))
        rate = terms.detail.get(row.phase, terms.rate) if row.phase in ("prefill", "decode") else terms.rate
        predicted = float(np.ravel(rate)[0])
        if math.isfinite(predicted) and predicted > 0:
            kind = "prefill" if row.phase == "prefill" else terms.kind
            found.append(Case(row, kind, predicted, is_fitted(row.id)))
    return found


def is_fitted(row_id: str) -> bool:
    """Whether a row belongs to the half that constants may be read from: an even SHA-256 of its id."""
    return int(hashlib.sha256(row_id.encode()).hexdigest(), 16) % 2 == 0


def errors_by_class(found: Iterable[Case], fitted: bool = False) -> list[ClassErrors]:
    """Errors of each class on one half, by name."""
    groups: dict[str, list[float]] = defaultdict(list)
    for case in found:
        if case.fitted == fitted:
            groups[case.kind].append(case.log_ratio)
    result = []
    for kind in sorted(groups):
        ratios = np.asarray(groups[kind])
        size = np.abs(ratios)
        result.append(
            ClassErrors(
                kind=kind,
                n=len(ratios),
                median=float(np.median(size)),
                p90=float(np.percentile(size, 90)),
                signed_median=float(np.median(ratios)),
                within=float(np.mean(size <= math.log(WITHIN))),
            )
        )
    return result


def _batch(row: Benchmark, model: ModelArchitecture) -> float | None:
    if row.phase in ("prefill", "decode"):
        return 1.0
    if row.phase == "saturated":
        return SATURATED_SEQUENCES
    return VISION_BATCH if model.family == "vision" else None


def _plan(work: Workload, count: int) -> Parallelism:
    if work.model.family != "decoder":
        return Parallelism(data=count)
    if work.trains:
        return Parallelism(data=count, zero_stage=3 if count > 1 and work.task == "training" else 0)
    return Parallelism(pipeline=count) if work.engine == "llama.cpp" else Parallelism(tensor=count)
