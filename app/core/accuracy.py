"""Predicted against measured memory: the split, the classes, the statistics of errors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.core.answer import Figure, answer
from app.core.estimates import Interval, Verdict

Part = Literal["fit", "report"]
PARTS: tuple[Part, ...] = ("fit", "report")
WHOLE_IMAGE_HEADS = ("", "classifier", "clip")
"""Heads of models that give one answer an image; every other head answers for each place of it."""
BATCH_LADDER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Batches that are tried one after another: half powers of two."""


@answer()
class Target:
    """Greatest error that a group of cases may have on the report part; null where nothing was set."""

    median: Figure | None = None
    """Of the median of the absolute errors, a fraction of the measured value."""
    percentile_90: Figure | None = None
    """Of what nine of ten errors stay below, a fraction."""
    median_signed: Figure | None = None
    """Of the median of the signed errors, a fraction."""
    in_bracket: Figure | None = None
    """Least share of largest batches that are right."""
    within_one_step: Figure | None = None
    """Least share of largest batches that are one step off at most."""


GROUPS: dict[str, Target] = {
    "inference_weights": Target(0.012, 0.04),
    "kv_per_token": Target(0.001, 0.01),
    "kv_layout": Target(),
    "engine_buffer": Target(),
    "inference_peak": Target(0.03, 0.14),
    "full_training": Target(0.07, 0.25, median_signed=0.02),
    "adapters": Target(0.10, 0.28, median_signed=0.03),
    "encoders": Target(0.10, 0.25),
    "encoder_batch": Target(within_one_step=0.90),
    "vision_batch": Target(in_bracket=0.78, within_one_step=0.97),
    "dense_vision": Target(0.09, 0.25),
    "dense_vision_batch": Target(),
    "training_batch": Target(),
    "generation_inference": Target(0.08, 0.20),
    "generation_training": Target(),
    "vision_peak": Target(),
}
"""Groups of cases, in the order in which they are shown."""
FALSE_VERDICT_LIMIT = 0.04


@dataclass(frozen=True, slots=True)
class CaseClass:
    """What kind of run was measured, and which figure of it."""

    task: str
    family: str
    engine: str
    figure: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measured figure beside its prediction, both in the same unit."""

    case: str
    part: Part
    kind: CaseClass
    group: str
    measured: float
    predicted: Interval
    error: float
    """Signed and relative to the measured value."""
    inside: bool | None
    """Whether low..high holds the measured value; None where the estimate gives no interval."""
    unit: str = "GiB"


@dataclass(frozen=True, slots=True)
class Bracket:
    """The largest batch that ran, the next that did not, and the largest that is predicted to fit."""

    case: str
    part: Part
    kind: CaseClass
    group: str
    ran: int
    failed: int | None
    """None: the largest that was tried ran."""
    predicted: int
    ran_verdict: Verdict | None
    failed_verdict: Verdict | None

    @property
    def in_bracket(self) -> bool:
        """Whether the predicted batch lies between what ran and what failed."""
        return self.predicted >= self.ran and (self.failed is None or self.predicted < self.failed)

    @property
    def within_one_step(self) -> bool:
        """Whether it lies there or one step of the ladder beside."""
        low = step_below(self.ran)
        return self.predicted >= low and (self.failed is None or self.predicted < step_above(self.failed))


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """Whether a run worked, and what is said of it."""

    case: str
    part: Part
    kind: CaseClass
    ran: bool
    verdict: Verdict


@answer()
class ErrorStatistics:
    """Errors of one set of figures, as fractions of the measured value."""

    n: int
    """Figures in the set."""
    median_signed: Figure
    """Median of the errors with their sign: above 0 too much is predicted."""
    median: Figure
    """Median of the absolute errors."""
    percentile_90: Figure
    """What nine of ten absolute errors stay below."""
    inside_n: int
    """Figures that have an interval."""
    inside_share: Figure | None
    """Share of measured values inside low..high; null where no estimate has an interval."""


@answer()
class BracketStatistics:
    """How predicted largest batches lie to measured ones."""

    n: int
    """Cases in the set."""
    in_bracket: Figure
    """Share that lies between what ran and what failed."""
    within_one_step: Figure
    """Share that lies there or one step of the ladder beside."""
    false_fits: Figure | None
    """Share of failed batches that are said to fit."""
    false_refusals: Figure | None
    """Share of batches that ran and are said not to fit."""


@answer()
class VerdictStatistics:
    """Verdicts on single runs."""

    failed_n: int
    """Runs that ran out of memory."""
    false_fits: Figure | None
    """Share of them that are said to fit."""
    ran_n: int
    """Runs that ran."""
    false_refusals: Figure | None
    """Share of them that are said not to fit."""
    limit: Figure = FALSE_VERDICT_LIMIT
    """Greatest share of wrong verdicts that is aimed at."""


def part_of(name: str) -> Part:
    """Part of the cases that a case belongs to, by the first byte of the SHA-256 of its name.

    Parameters
    ----------
    name: the name of the case; it does not change when the case is described better.

    Returns
    -------
    "fit" for an even byte: constants may be calibrated on it; "report" for an odd one: only that is quoted.
    """
    return PARTS[hashlib.sha256(name.encode()).digest()[0] % 2]


def family_of(family: str, head: str) -> str:
    """Family of a case: image models that answer for each place of the image stand apart."""
    return "dense vision" if family == "vision" and head.lower() not in WHOLE_IMAGE_HEADS else family


def group_of(kind: CaseClass) -> str:
    """Group of GROUPS that a class is counted in."""
    named = {"weights": "inference_weights", "kv_bytes_per_token": "kv_per_token", "kv_cache": "kv_layout"}
    if kind.figure in named:
        return named[kind.figure]
    if kind.figure in ("compute_buffer", "engine_terms"):
        return "engine_buffer"
    family = kind.family
    if kind.figure == "batch":
        return {
            "vision": "vision_batch",
            "dense vision": "dense_vision_batch",
            "encoder": "encoder_batch",
        }.get(family, "training_batch")
    trains = kind.task != "inference"
    if family in ("diffusion", "speech"):
        return "generation_training" if trains else "generation_inference"
    if family == "dense vision":
        return "dense_vision"
    if family == "vision":
        return "vision_peak"
    if not trains:
        return "inference_peak"
    if family == "encoder":
        return "encoders"
    return "full_training" if kind.task == "training" else "adapters"


def relative_error(predicted: float, measured: float) -> float:
    """(predicted - measured) / measured; an empty buffer that is predicted empty has no error."""
    if measured == 0.0:
        return 0.0 if predicted == 0.0 else float("inf")
    return (predicted - measured) / measured


def span_error(low: float, high: float, measured: float) -> float:
    """Signed relative distance to the nearer end of low..high, 0 inside.

    Parameters
    ----------
    low, high: the two figures between which a measurement of unknown kind must lie (allocated, reserved).
    measured: the published value, in the same unit.

    Notes
    -----
    A source that does not say what it measured may mean the peak of allocated or of reserved memory: neither
    may be counted as an error.
    """
    if low <= measured <= high:
        return 0.0
    return relative_error(low if measured < low else high, measured)


def step_below(batch: int) -> int:
    """The batch that is tried after this one failed; 0 below 1."""
    return max((step for step in BATCH_LADDER if step < batch), default=0)


def step_above(batch: int) -> int:
    """The batch of the ladder above this one; twice as much beyond its end."""
    return min((step for step in BATCH_LADDER if step > batch), default=2 * batch)


def errors_of(comparisons: Iterable[Comparison]) -> ErrorStatistics | None:
    """Statistics of a set of figures, None for an empty one.

    Parameters
    ----------
    comparisons: figures of one group or class.

    Returns
    -------
    Median of the signed error, median and 90th percentile of the absolute one (linear interpolation between
    ranks), share of the measured values inside low..high among those that have an interval.
    """
    rows = list(comparisons)
    if not rows:
        return None
    signed = np.array([row.error for row in rows], dtype=np.float64)
    inside = [row.inside for row in rows if row.inside is not None]
    return ErrorStatistics(
        n=len(rows),
        median_signed=float(np.median(signed)),
        median=float(np.median(np.abs(signed))),
        percentile_90=float(np.percentile(np.abs(signed), 90)),
        inside_n=len(inside),
        inside_share=_share(inside),
    )


def brackets_of(brackets: Iterable[Bracket]) -> BracketStatistics | None:
    """Statistics of a set of brackets, None for an empty one."""
    rows = list(brackets)
    if not rows:
        return None
    return BracketStatistics(
        n=len(rows),
        in_bracket=sum(row.in_bracket for row in rows) / len(rows),
        within_one_step=sum(row.within_one_step for row in rows) / len(rows),
        false_fits=_share([row.failed_verdict == "fits" for row in rows if row.failed_verdict is not None]),
        false_refusals=_share(
            [row.ran_verdict == "does_not_fit" for row in rows if row.ran_verdict is not None]
        ),
    )


def verdicts_of(verdicts: Iterable[RunVerdict]) -> VerdictStatistics:
    """How often a run out of memory is said to fit, and one that worked not to."""
    rows = list(verdicts)
    failed = [row.verdict == "fits" for row in rows if not row.ran]
    ran = [row.verdict == "does_not_fit" for row in rows if row.ran]
    return VerdictStatistics(len(failed), _share(failed), len(ran), _share(ran))


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None


@answer()
class PeerFigure:
    """Errors of one tool on one group of cases, as fractions of the measured value."""

    tool: str
    """Name of the tool."""
    group: str
    """The group of cases."""
    median: Figure
    """Median of the absolute errors."""
    percentile_90: Figure
    """What nine of ten absolute errors stay below."""
    expressed: int | None = None
    """Cases that the tool can be asked; null where that was not noted."""
    of: int | None = None
    """Cases of the group."""


PEERS_MEASURED_ON = "2026-11"
"""Month in which the tools of the day were run over the reference cases, both parts together."""
NO_TOOL_FOR = ("vision_batch", "dense_vision", "generation_inference")
"""Groups that none of the tools can express."""
PEERS: tuple[PeerFigure, ...] = (
    PeerFigure("vramcalc", "adapters", 0.145, 0.42, 93, 161),
    PeerFigure("vramcalc", "full_training", 0.116, 0.83),
    PeerFigure("vramscout", "inference_peak", 0.106, 0.35),
    PeerFigure("ridgepoint", "inference_peak", 0.097, 0.33),
    PeerFigure("hf-mem", "inference_weights", 0.015, 0.043, 15, 107),
)
WORST_KV_FACTOR = 84.0
"""hf-mem's KV cache against the measured one of a model with latent attention."""
