"""What each user of a served model gets: tokens per second, the wait for the first one, whether that is met.

A question of inference is users and patience, not bytes: a plan that holds the model and serves nobody in
time is no answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from app.core.answer import Figure, answer
from app.core.gpu_table import Flags, Floats
from app.core.question import Service
from app.core.workload import Workload

if TYPE_CHECKING:
    from app.core.speed import SpeedGrid

ROUNDING = 1.0 + 1e-6
"""A goal that an answer itself proposes is met, rounding apart."""


@answer()
class Served:
    """What users get of an option under the load that was asked for."""

    users: Figure
    """Users at once."""
    tokens_per_s_per_user: Figure
    """Output tokens per second of each of them, reading of prompts included."""
    first_token_s: Figure
    """Seconds until the first token."""
    met: bool
    """Whether the goals of the question are met; true where it has none."""


@dataclass(frozen=True, slots=True)
class ServiceGrid:
    """What users get, (cards, plans)."""

    users: Floats
    per_user: Floats
    """Tokens per second of each user."""
    first_token_s: Floats
    missed: Floats
    """Greatest factor by which a goal is missed; at most 1 where all are met, NaN where speed is unknown."""

    @property
    def met(self) -> Flags:
        """Where all goals are met."""
        return np.asarray(self.missed <= ROUNDING, dtype=bool)


def serves(work: Workload) -> bool:
    """Whether somebody waits for tokens: a language model that writes, under a load of several."""
    generates = work.output_length is not None and bool(np.any(np.asarray(work.output_length) > 0))
    return work.model.family == "decoder" and not work.trains and generates


def service_grid(work: Workload, speed: SpeedGrid, goals: Service | None) -> ServiceGrid | None:
    """What users get under each plan.

    Parameters
    ----------
    work: resolved. speed: of its grid. goals: of the question; None: nothing is asked.

    Returns
    -------
    Rate of each user: the output of all over the users; the wait for the first token as the speed model says
    it. None where nobody waits for tokens.

    Notes
    -----
    Stricter goals never meet where looser ones miss: each goal is a threshold on a figure that it does not
    change.
    """
    if not serves(work):
        return None
    detail = speed.terms.detail
    shape = speed.expected.shape
    running = np.broadcast_to(detail["concurrent_sequences"], shape)
    stated = goals.users if goals is not None else None
    asked = float(stated or np.max(np.asarray(work.batch_size or 1)))
    users = running if work.fills_engine and not stated else np.full(shape, asked)
    with np.errstate(divide="ignore", invalid="ignore"):
        per_user = speed.expected / users
        first = speed.waits[0]
        missed = np.zeros(shape)
        if goals is not None and goals.tokens_per_s_per_user:
            missed = np.maximum(missed, goals.tokens_per_s_per_user / per_user)
        if goals is not None and goals.first_token_s:
            missed = np.maximum(missed, first / goals.first_token_s)
    return ServiceGrid(users, per_user, np.broadcast_to(first, shape), missed)
