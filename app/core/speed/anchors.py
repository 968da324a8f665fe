"""Published measurements as anchors: they correct the model where they agree with the question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np

from app.core.gpu import Benchmark
from app.core.gpu_table import Flags, Floats, GpuTable, Index
from app.core.speed import constants as c
from app.core.speed.predict import predict
from app.core.speed.terms import Plans, Shape
from app.core.workload import Workload

PHASES = ("prefill", "decode", "saturated", "other")
HALF = ("fp16", "bf16")
MAX_CARDS = 8
KERNEL_OCTAVES = 1.0
"""Width of the kernel in batch, length and count, in powers of two."""
FAR_OCTAVES = 2.0
"""Beyond this distance a measurement of the card itself counts as a calibration, not as a measurement."""
SATURATED_SEQUENCES = 512.0
"""Sequences in flight where a source reports the greatest load without saying how many."""
TRANSFER_CLIP = 0.7
OWN_WEIGHT = 10.0
SHRINK_ROWS = 1.0
"""Rows' worth of belief in the model when a factor is transferred from other cards."""

class BenchmarkIndex(Sequence[Benchmark]):
    """Usable benchmarks by model, with their columns made once."""

    def __init__(self, rows: Sequence[Benchmark]) -> None:
        self._rows = tuple(rows)
        grouped: dict[str, list[Benchmark]] = {}
        for row in self._rows:
            if row.model_id and not row.flag and row.value > 0 and row.gpu_count <= MAX_CARDS:
                grouped.setdefault(row.model_id, []).append(row)
        self._by_model = {model: _Rows(found) for model, found in grouped.items()}

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, item: int) -> Benchmark: ...

    @overload
    def __getitem__(self, item: slice) -> Sequence[Benchmark]: ...

    def __getitem__(self, item: int | slice) -> Benchmark | Sequence[Benchmark]:
        return self._rows[item]

    def __iter__(self) -> Iterator[Benchmark]:
        return iter(self._rows)

    def of_model(self, model_id: str) -> _Rows | None:
        """The rows of one model."""
        return self._by_model.get(model_id)


@dataclass(frozen=True)
class Corrections:
    """What measurements say of each card, in natural logarithms."""

    offset: Mapping[str, Floats]
    """By phase: ln(measured / predicted) for each card, 0 without evidence."""
    width: Floats
    """Half-width of the 80 % interval for each card."""
    measured: Flags
    calibrated: Flags
    sources: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Benchmark ids by row of the table."""


class _Rows:
    """Columns of the benchmarks of one model."""

    def __init__(self, rows: Sequence[Benchmark]) -> None:
        self.rows = tuple(rows)
        self.gpu_ids = [r.gpu_id for r in rows]
        self.value = np.array([r.value for r in rows], dtype=np.float64)
        self.count = np.array([max(r.gpu_count, 1) for r in rows], dtype=np.float64)
        self.batch = _optional([r.batch_per_gpu for r in rows])
        self.sequence = _optional([r.sequence_length for r in rows])
        self.prompt = _optional([r.input_length for r in rows])
        self.output = _optional([r.output_length for r in rows])
        self.image = _optional([r.image_size for r in rows])
        self.own = np.array([r.own for r in rows], dtype=bool)
        self.phase = np.array(
            [PHASES.index(r.phase) if r.phase in PHASES else 3 for r in rows], dtype=np.intp
        )
        self._compatible: dict[tuple[str, ...], Flags] = {}
        self.keys = [
            (r.task, r.precision, engine_of(r.framework), r.unit, adapter_of(r.model_name)) for r in rows
        ]

    def compatible(self, work: Workload, unit: str) -> Flags:
        """Rows that speak of the question, remembered by what decides it."""
        key = (work.task, work.precision, work.engine, work.model.family, unit)
        found = self._compatible.get(key)
        if found is None:
            found = np.array([_compatible(work, row, unit) for row in self.keys], dtype=bool)
            self._compatible[key] = found
        return found

    def gpu_rows(self, position: Mapping[str, int]) -> Index:
        """Row of the card table for each benchmark, -1 where the card is not in it."""
        return np.array([position.get(g, -1) for g in self.gpu_ids], dtype=np.intp)


def corrections(
    work: Workload,
    table: GpuTable,
    position: Mapping[str, int],
    benchmarks: Sequence[Benchmark],
    kind: str,
    unit: str,
) -> Corrections:
    """Compare the model with what was measured and say by how much it is off on each card.

    Parameters
    ----------
    work: resolved question. table: the cards. position: row of each card id.
    benchmarks: measurements; a `BenchmarkIndex` saves the sorting.
    kind, unit: class and unit of the prediction.

    Returns
    -------
    Offsets, widths and bases over the cards.
    """
    cards = len(table)
    width = _model_width(work, table, kind)
    blank = {name: np.zeros(cards) for name in PHASES}
    none = np.zeros(cards, dtype=bool)
    index = benchmarks if isinstance(benchmarks, BenchmarkIndex) else BenchmarkIndex(benchmarks)
    rows = index.of_model(work.model.id) if work.model.id else None
    if rows is None:
        return Corrections(blank, width, none, none)
    gpu = rows.gpu_rows(position)
    wanted = rows.compatible(work, unit)
    chosen = np.flatnonzero(wanted & (gpu >= 0))
    if not chosen.size:
        return Corrections(blank, width, none, none)
    residual, apart = _residuals(work, table, rows, chosen, gpu[chosen])
    known = np.isfinite(residual)
    chosen, residual, apart = chosen[known], residual[known], apart[known]
    weight = np.exp(-0.5 * (apart / KERNEL_OCTAVES) ** 2) + 1e-4
    weight = np.where(rows.own[chosen], weight * OWN_WEIGHT, weight)
    measured, calibrated = none.copy(), none.copy()
    sources: dict[int, tuple[str, ...]] = {}
    offsets = dict(blank)
    for phase in sorted(set(rows.phase[chosen].tolist())):
        here = rows.phase[chosen] == phase
        offset = _by_card(table, gpu[chosen[here]], residual[here], weight[here])
        offsets[PHASES[phase]] = offset
        for card in np.unique(gpu[chosen[here]]):
            own = here & (gpu[chosen] == card)
            best = int(np.argmin(np.where(own, apart, np.inf)))
            if apart[best] <= FAR_OCTAVES:
                measured[card] = True
                near = np.flatnonzero(own & (apart <= apart[best] + 1.0))
                width[card] = min(width[card], np.hypot(c.MEASURED_WIDTH, 0.12 * apart[best]))
                sources[int(card)] = sources.get(int(card), ()) + tuple(
                    rows.rows[chosen[i]].id for i in near[:5]
                )
            else:
                calibrated[card] = True
    spread = np.std(residual) if residual.size > 2 else 0.3
    calibrated |= ~measured
    width = np.where(calibrated & ~measured, np.minimum(width, max(0.22, 1.3 * float(spread))), width)
    return Corrections(offsets, width, measured, calibrated, sources)


def _residuals(
    work: Workload, table: GpuTable, rows: _Rows, chosen: Index, cards: Index
) -> tuple[Floats, Floats]:
    """ln(measured / predicted) of the chosen rows, and how many octaves each lies from the question."""
    asked = Shape.of(work)
    trains = work.trains
    count = rows.count[chosen]
    batch = rows.batch[chosen]
    phase = rows.phase[chosen]
    decoder = work.model.family == "decoder"
    # Published language-model rows give the sequences of the whole system, image rows those of each card.
    total = batch if trains or decoder else batch * count
    batch_asked = float(np.mean(asked.batch))
    total = np.where(np.isnan(total) & (phase == PHASES.index("saturated")), SATURATED_SEQUENCES, total)
    total = np.where(np.isnan(total), batch_asked, total)
    prompt, output = rows.prompt[chosen], rows.output[chosen]
    sequence = rows.sequence[chosen]
    sequence = np.where(np.isnan(sequence), np.nan_to_num(prompt) + np.nan_to_num(output), sequence)
    sequence = np.where(sequence > 0, sequence, asked.sequence)
    output = np.where(np.isnan(output), np.minimum(asked.output, sequence), output)
    image = rows.image[chosen]
    pixels = np.where(np.isnan(image), asked.pixels, image * image)
    split = decoder and not trains
    one = np.ones_like(count)
    layers = work.engine in ("llama.cpp", "transformers")
    plans = Plans(
        one if split else count,
        count if split and not layers else one,
        count if split and layers else one,
        one,
        np.zeros_like(count),
    )
    terms = predict(work, plans, table.take(cards), Shape(total, sequence, output, pixels))
    predicted = terms.rate
    if "decode" in terms.detail:
        predicted = np.where(phase == 0, terms.detail["prefill"], predicted)
        predicted = np.where(phase == 1, terms.detail["decode"], predicted)
    with np.errstate(divide="ignore", invalid="ignore"):
        residual = np.log(rows.value[chosen] / predicted)
        apart = np.abs(np.log2(total / batch_asked)) + np.abs(np.log2(count))
        if np.any(asked.sequence):
            apart = apart + np.abs(np.log2(sequence / asked.sequence))
        if np.any(asked.pixels):
            apart = apart + 0.5 * np.abs(np.log2(pixels / asked.pixels))
    apart = np.where(np.isnan(batch), apart + 1.0, apart)
    return residual, np.nan_to_num(apart, nan=4.0)


def _by_card(table: GpuTable, cards: Index, residual: Floats, weight: Floats) -> Floats:
    """Offset of every card: its own rows, else its family's, else those of all cards."""
    everywhere = _shrunk(residual, weight)
    result = np.full(len(table), everywhere)
    classes = table.card_class[cards]
    for family in np.unique(classes):
        inside = classes == family
        result[table.card_class == family] = _shrunk(residual[inside], weight[inside], everywhere)
    for card in np.unique(cards):
        own = cards == card
        result[card] = weighted_median(residual[own], weight[own])
    return result


def _shrunk(residual: Floats, weight: Floats, towards: float = 0.0) -> float:
    mass = float(np.sum(weight))
    middle = weighted_median(residual, weight)
    value = (middle * mass + towards * SHRINK_ROWS) / (mass + SHRINK_ROWS)
    return float(np.clip(value, -TRANSFER_CLIP, TRANSFER_CLIP))


def weighted_median(values: Floats, weights: Floats) -> float:
    """Value at which half of the weight lies on either side."""
    order = np.argsort(values)
    mass = np.cumsum(weights[order])
    return float(values[order][int(np.searchsorted(mass, mass[-1] / 2.0))])


def _model_width(work: Workload, table: GpuTable, kind: str) -> Floats:
    width = c.WIDTHS[kind]
    if work.engine in ("transformers",) and (work.model.experts or work.format.quantized) and not work.trains:
        width = c.REFERENCE_KERNEL_WIDTH
    if work.model.dimensions_assumed:
        width *= c.ASSUMED_DIMENSIONS_FACTOR
    return width * table.by_class(
        c.by_class(c.UNKNOWN_CLASS_FACTOR, **dict.fromkeys(c.MEASURED_CLASSES, 1.0))
    )


def _compatible(work: Workload, key: tuple[str, str, str, str, str], unit: str) -> bool:
    task, precision, engine, row_unit, adapter = key
    if row_unit != unit:
        return False
    if precision != work.precision and not (precision in HALF and work.precision in HALF):
        return False
    if not work.trains:
        if task != "inference":
            return False
    elif task == "inference" or adapter != (work.task if work.task != "training" else ""):
        return False
    elif work.model.family == "decoder" and (task == "finetune") != (work.task != "training"):
        return False
    return engine == work.engine


def engine_of(framework: str) -> str:
    """Engine of the contract that a framework text names; empty = none of them."""
    text = framework.lower()
    for word, engine in (
        ("llama.cpp", "llama.cpp"),
        ("tensorrt-llm", "tensorrt-llm"),
        ("tensorrt", "vendor"),
        ("vendor", "vendor"),
        ("vllm", "vllm"),
        ("sglang", "sglang"),
        ("tensorflow", "tensorflow"),
        ("diffusers", "diffusers"),
        ("faster-whisper", "faster-whisper"),
        ("hf transformers", "transformers"),
        ("torch", "pytorch"),
        ("deepspeed", "pytorch"),
        ("megatron", "pytorch"),
        ("nemo", "pytorch"),
        ("foundry", "pytorch"),
    ):
        if word in text:
            return engine
    return ""


def adapter_of(model_name: str) -> str:
    text = model_name.lower()
    return "qlora" if "qlora" in text else "lora" if "lora" in text else ""


def _optional(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)
