"""What the four questions demand: the class of the cards, and that tenants do not share one unparted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.core.decide.candidates import Candidates, bit
from app.core.decide.filters import STAGES
from app.core.decide.grid import Best, Grid
from app.core.decide.guidance import DATA_CENTRE, answers, calls_for_data_centre
from app.core.estimates import Message
from app.core.gpu import Gpu
from app.core.gpu_table import Flags
from app.core.question import ShortlistQuestion
from app.core.workload import Parallelism, Workload

TENANTS = 2
"""Several tenants are at least so many."""


@dataclass(frozen=True, slots=True)
class Unmet:
    """Needs of the asker that options do not meet; the arrays broadcast to (cards, counts)."""

    other_class: Flags
    shared: Flags
    """One card for several tenants, without a partition in hardware."""

    @property
    def any(self) -> Flags:
        """Options that are not for this asker."""
        return np.asarray(self.other_class | self.shared, dtype=bool)

    def why(self, gpu: Gpu, row: int) -> Message:
        """What an option lacks."""
        params = {"gpu": gpu.name}
        if self.other_class[row, 0]:
            return Message("rejected_class", params)
        # An empty field is no answer.
        return Message("rejected_shared" if gpu.mig_instances else "rejected_shared_unknown", params)


def parts_tenants(plan: Parallelism, work: Workload) -> bool:
    """Whether a plan leaves each tenant cards of its own, or is of one card that a partition may part.

    Notes
    -----
    A service stands once for each tenant: replicas. A training run is of one tenant, whatever its plan.
    """
    return work.trains or plan.cards == 1 or plan.data >= TENANTS


def unmet(
    question: ShortlistQuestion, gpus: Sequence[Gpu], grid: Grid, best: Best, hours: float | None
) -> Unmet | None:
    """What of the asker's needs each option does not meet; None where nothing is demanded.

    Parameters
    ----------
    question: everything asked. gpus: the cards in the order of the arrays. grid, best: their plans.
    hours: of the work on what would be first, where it is known.
    """
    said = answers(question.questions, question.workload, hours)
    data_centre = calls_for_data_centre(said)
    if not data_centre and not said["tenants"]:
        return None
    other = np.array([data_centre and gpu.segment != DATA_CENTRE for gpu in gpus], dtype=bool)
    shared = np.zeros(best.plan.shape, dtype=bool)
    if said["tenants"]:
        parted = np.array([p.cards > 1 and parts_tenants(p, question.workload) for p in grid.plans])
        single = np.array([p.cards == 1 for p in grid.plans])
        slices = np.array([gpu.mig_instances >= TENANTS for gpu in gpus], dtype=bool)[:, np.newaxis]
        shared = ~(parted[best.plan] | (single[best.plan] & slices))
    return Unmet(other[:, np.newaxis], shared)


def first_hours(candidates: Candidates) -> float | None:
    """Hours of the work on the best of the options that pass; None where no amount is known."""
    if candidates.hours is None or not candidates.passes.any():
        return None
    score = np.where(candidates.passes, candidates.score, np.inf)
    hours = np.broadcast_to(candidates.hours, score.shape)
    return float(hours.ravel()[int(np.argmin(score))])


def stop_unmet(candidates: Candidates, needs: Unmet) -> None:
    """Let options stop that are not for this asker, whatever their price; what stopped before stays."""
    place = STAGES.index("feature")
    where = needs.any[..., np.newaxis]
    for stage in (candidates.stage, candidates.at_estimate):
        np.copyto(stage, place, where=np.broadcast_to(where, stage.shape) & (stage > place))
    np.bitwise_or(candidates.fails, bit("feature") * where, out=candidates.fails)
