"""The arrays that every speed formula takes and the terms it gives back. All of them broadcast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from app.core.gpu_table import CARD_CLASSES, Flags, Floats, GpuTable
from app.core.speed import constants as c
from app.core.tracing import floats, named, operand
from app.core.units import GB, TERA, Number
from app.core.workload import Parallelism, Workload

BOUNDS = ("compute", "bandwidth", "communication", "launch", "feeding")


@dataclass(frozen=True)
class Plans:
    """Degrees of several plans as arrays of one shape."""

    data: Floats
    tensor: Floats
    pipeline: Floats
    expert: Floats
    zero_stage: Floats

    @classmethod
    def of(cls, plans: Sequence[Parallelism]) -> Plans:
        """Columns of a sequence of plans."""

        def column(name: str) -> Floats:
            return np.array([getattr(p, name) for p in plans], dtype=np.float64)

        return cls(*(column(n) for n in ("data", "tensor", "pipeline", "expert", "zero_stage")))

    @property
    def cards(self) -> Floats:
        """Cards that each plan occupies."""
        return self.data * self.tensor * self.pipeline


@dataclass(frozen=True)
class Shape:
    """What one step holds. Inference: `batch` counts sequences over all cards; training: per replica."""

    batch: Number
    sequence: Number
    """Tokens held per sequence; 0 for models without tokens."""
    output: Number
    """Generated tokens per sequence."""
    pixels: Number
    """Pixels of one image; 0 for models without images."""
    token_limit_s: Number | None = None
    """Seconds that one output token may take, where measurements have corrected the limit of the question."""

    @property
    def prompt(self) -> Number:
        """Tokens read before the first is generated."""
        return named(np.maximum(np.subtract(self.sequence, self.output), 1.0), "prompt_tokens")

    @classmethod
    def of(cls, work: Workload) -> Shape:
        """The shape of a resolved question."""
        pixels = named(1.0 * work.image_size[0] * work.image_size[1], "pixels") if work.image_size else 0.0
        batch: Number = work.batch_size
        if not work.trains and work.load == "single":
            batch = 1.0
        elif work.fills_engine:
            # A saturated engine is full: as many sequences as it takes, then as many as its memory holds.
            full = work.max_num_seqs or work.engine_record.speed.saturated_sequences
            batch = operand(work, 1.0 * full, "engine_sequences")
        return cls(batch, work.sequence_length or 0.0, work.output_length or 0.0, pixels)


@dataclass(frozen=True)
class Terms:
    """Time of one step by cause, and what the step produces."""

    kind: str
    """Class of `constants.WIDTHS`: cnn_training, decode …"""
    phase: str
    unit: str
    units_per_step: Number
    """Over all cards."""
    flops_per_unit: Number
    seconds: Floats
    """Of one step; the parts below are its causes, not always its sum."""
    parts: Mapping[str, Floats]
    """By name of BOUNDS, seconds."""
    detail: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def queues(self) -> bool:
        """Whether they are those of an engine in which requests wait for each other."""
        return "queue_s" in self.detail

    @property
    def rate(self) -> Floats:
        """Units per second over all cards."""
        return floats(self.units_per_step / self.seconds)

    def bound(self, *cell: int) -> str:
        """Name of BOUNDS of the largest part in one cell of the broadcast shape."""
        return max(BOUNDS, key=lambda name: cell_of(self.parts[name], *cell) if name in self.parts else -1.0)


def where_terms(chosen: Flags, one: Terms, other: Terms) -> Terms:
    """Terms of the same question, cell by cell: `one` where chosen, else `other`."""

    def pick(a: Number, b: Number) -> Floats:
        return floats(np.where(chosen, a, b))

    return replace(
        other,
        units_per_step=pick(one.units_per_step, other.units_per_step),
        flops_per_unit=pick(one.flops_per_unit, other.flops_per_unit),
        seconds=pick(one.seconds, other.seconds),
        parts={name: pick(one.parts[name], values) for name, values in other.parts.items()},
        detail={name: pick(one.detail[name], values) for name, values in other.detail.items()},
    )


def cell_of(values: Number, *cell: int) -> float:
    """One cell of an array that broadcasts to a larger shape."""
    array = np.asarray(values)
    if array.ndim == 2 and len(cell) == 2:
        # Nearly every call: a grid of cards x plans, or one of its margins.
        rows, columns = array.shape
        return float(array[0 if rows == 1 else cell[0], 0 if columns == 1 else cell[1]])
    short = len(cell) - array.ndim
    return float(
        array[tuple(0 if size == 1 else i for size, i in zip(array.shape, cell[short:], strict=True))]
    )


def vector_clock(cards: GpuTable, compute_group: str) -> Floats:
    """Share of the fp32 vector rate that the power budget of a card sustains; 1 for matrix units.

    Notes
    -----
    min(1, watts per TFLOPS / 14) on the 12 and 16 nm generations, whose other cards have 15 to 25: a T4 with
    70 W for 8.1 TFLOPS runs at 0.62 of its boost clock in long fp32 products, at its full rate in 16 bit.
    Later cards count two fp32 pipes, one of which ordinary products share with addresses and loads:
    `VECTOR_CLASS`.
    """
    watts = cards.tdp_w / cards.rate("fp32_tflops")
    slow = np.isin(cards.card_class, [CARD_CLASSES.index(name) for name in c.VECTOR_CLASSES])
    if compute_group != "fp32":
        return np.ones_like(watts)
    share = np.where(
        slow, watts / c.VECTOR_WATTS_PER_TFLOPS, named(cards.by_class(c.VECTOR_CLASS), "vector_share")
    )
    return named(floats(np.minimum(np.nan_to_num(share, nan=1.0), 1.0)), "vector_clock")


def multiprocessor_share(cards: GpuTable, weights: str = "half") -> Floats:
    """Part of their bandwidth that Hopper cards with few multiprocessors for it can ask for; 1 for others.

    Parameters
    ----------
    cards: the cards. weights: half, narrow (FP8) or widened (4 bit, computed in 16).

    Notes
    -----
    (FLOP per byte / 295)^x, at most 1, with the dense 16-bit rate standing for the multiprocessors, x 0.40
    (FP8 0.33, widened 0.62): H100 SXM 1, H200 0.87, H20 0.44 (0.50, 0.28). SGLang on an H20 reaches 27 to
    35 % of 4.0 TB/s with dense BF16 models, 20 to 38 % with FP8, 10 to 20 % with AWQ, large models most.
    """
    ratio = cards.rate("bf16_tflops") * TERA / (cards.bandwidth_gb_s * GB) / c.HOPPER_FLOP_PER_BYTE
    found = np.minimum(ratio, 1.0) ** c.HOPPER_RATIO_EXPONENT[weights]
    return _of_hopper(cards, found, "multiprocessor_share")


def power_share(cards: GpuTable) -> Floats:
    """Factor on the sustained share of peak of Hopper cards by watts per TFLOPS; 1 for others.

    Notes
    -----
    (W per 16-bit TFLOPS / 0.708)^0.7 below the H100 SXM, ^0.18 above it: H100 PCIe 0.74, H100 NVL 0.76, H20
    1.33. Matrix products reach 96 % of peak on an H20, about 75 % on an H100 SXM.
    """
    ratio = cards.tdp_w / cards.rate("bf16_tflops") / c.HOPPER_WATTS_PER_TFLOPS
    found = np.where(ratio < 1.0, ratio**c.HOPPER_STARVED_EXPONENT, ratio**c.HOPPER_FED_EXPONENT)
    return _of_hopper(cards, found, "power_share")


def _of_hopper(cards: GpuTable, values: Floats, name: str) -> Floats:
    hopper = cards.card_class == CARD_CLASSES.index("hopper")
    return np.where(hopper & np.isfinite(values), named(values, name), 1.0)


def power_sum(a: Floats, b: Floats, order: float) -> Floats:
    """Soft maximum of two times: (a^p + b^p)^(1/p)."""
    order = operand(a, order)
    return floats((a**order + b**order) ** (1.0 / order))
