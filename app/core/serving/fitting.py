"""The constants of serving made together from published runs: robust, each held by its prior."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.core.calibration import installed
from app.core.gpu_table import Floats, Index
from app.core.serving.observed import LABELS, Stack
from app.core.serving.runs import PHASES, Phase

SCALE: Mapping[Phase, float] = {"total": 0.15, "token": 0.15, "first": 0.35}
"""Natural logarithm beyond which a run counts less and less: settings that a page does not print."""
FULL_WEIGHT_ROWS = 5.0
"""Runs of one page up to which each counts in full: they share what the page does not print."""
STEP = 0.02
"""Change of ln(constant) by which its effect is read."""
ROUNDS = 12
SETTLED = 1e-3
FAR = 0.5
"""Largest change of a constant in one round, natural logarithm."""
STEPS_WITHOUT = 3
"""Gauss-Newton steps in which constants move when a group is left out."""
LEAST_EFFECT = 0.05
"""A run whose figures follow a constant less than this, ln over ln, does not speak of it."""


@dataclass(frozen=True)
class JointFit:
    """Constants that fit the runs, with how well they are known."""

    values: Floats
    """In the order of LABELS."""
    spread: Floats
    """Standard deviation of ln(value) with the prior; NaN where nothing is fitted."""
    runs: Floats
    """Runs that speak of each."""
    pages: Floats
    objective: float


def fit(stack: Stack, keep: Floats | None = None, start: Floats | None = None) -> JointFit:
    """Least robust error of all phases together, by Gauss-Newton with reweighting.

    Parameters
    ----------
    stack: the runs. keep: weight of each run besides that of its page; 0 leaves it out. start: of LABELS.

    Notes
    -----
    Minimises sum w ln(1 + z^2 / 2) + sum ((ln k - ln prior) / width)^2 / 2, z = ln ratio / scale
    of the phase, w = min(1, sqrt(5 / runs of the page)).
    """
    centre = _centres()
    width, free = _widths()
    weight = page_weights(stack) * (1.0 if keep is None else keep)
    values = centre.copy() if start is None else start.copy()
    prior_ln, precision = np.log(centre[free]), width[free] ** -2.0
    jacobian = np.zeros((0, 0))
    curvature = np.diag(precision)
    objective = _objective(stack, weight, values, free, prior_ln, precision)
    for _ in range(ROUNDS):
        rest, certain = _residuals(stack, weight, values)
        jacobian = _jacobian(stack, values, rest, free)
        weighted = jacobian * certain[:, np.newaxis]
        curvature = jacobian.T @ weighted + np.diag(precision)
        slope = weighted.T @ rest + precision * (np.log(values[free]) - prior_ln)
        change = np.clip(np.linalg.solve(curvature, -slope), -FAR, FAR)
        shorter = 1.0
        while shorter > 0.05:
            tried = values.copy()
            tried[free] = values[free] * np.exp(change * shorter)
            found = _objective(stack, weight, tried, free, prior_ln, precision)
            if found < objective:
                break
            shorter /= 2.0
        else:
            break
        gained, objective, values = objective - found, found, tried
        if gained < SETTLED * max(objective, 1.0):
            break
    spread = np.full(len(LABELS), np.nan)
    spread[free] = np.sqrt(np.diag(np.linalg.inv(curvature)))
    runs, pages = _speakers(stack, weight, values, free)
    return JointFit(values, spread, runs, pages, objective)


def left_out(stack: Stack, groups: Sequence[str], values: Floats) -> dict[Phase, Floats]:
    """ln(predicted / measured) of every run, the constants being read from the runs of other groups.

    Parameters
    ----------
    stack: the runs. groups: of each run, whatever must not be seen with it. values: as fitted to all.

    Returns
    -------
    By phase, NaN where nothing was measured or where a group only fits.

    Notes
    -----
    For each group the constants move by Gauss-Newton steps on the rows that stay, with their effects read
    once at the fitted values: within a few per cent of fitting anew, in a hundredth of the time.
    """
    width, free = _widths()
    prior_ln, precision = np.log(_centres()[free]), width[free] ** -2.0
    weight = page_weights(stack)
    rest, _ = _residuals(stack, weight, values)
    jacobian = _jacobian(stack, values, _stacked(stack, values), free)
    known = np.isfinite(_stacked(stack, values))
    whole = np.tile(weight, len(PHASES))
    found = {phase: np.full(len(stack), np.nan) for phase in PHASES}
    names = np.array(groups)
    for name in dict.fromkeys(groups):
        out = names == name
        if all(run.calibrates for run, hidden in zip(stack.runs, out, strict=True) if hidden):
            continue
        stays = np.where(known & ~np.tile(out, len(PHASES)), whole, 0.0)
        moved = np.zeros(len(free))
        for _ in range(STEPS_WITHOUT):
            now = rest + jacobian @ moved
            certain = stays / (1.0 + now**2 / 2.0)
            weighted = jacobian * certain[:, np.newaxis]
            slope = weighted.T @ now + precision * (np.log(values[free]) + moved - prior_ln)
            curvature = jacobian.T @ weighted + np.diag(precision)
            moved += np.clip(np.linalg.solve(curvature, -slope), -FAR, FAR)
        tried = values.copy()
        tried[free] *= np.exp(moved)
        ratios = stack.log_ratios(tried)
        for phase in PHASES:
            found[phase][out] = ratios[phase][out]
    return found


def _centres() -> Floats:
    known = [installed().entries[label] for label in LABELS]
    return np.array([e.value if e.prior is None else e.prior for e in known])


def _widths() -> tuple[Floats, Index]:
    """Widths of the priors, NaN where nothing is fitted, and the places of what is."""
    known = [installed().entries[label] for label in LABELS]
    width = np.array([np.nan if e.prior_spread is None else e.prior_spread for e in known])
    return width, np.flatnonzero(np.isfinite(width) & (_centres() > 0.0))


def page_weights(stack: Stack) -> Floats:
    """Weight of each run by how many of its page there are."""
    of_page = Counter(run.url for run in stack.runs)
    return np.array([min(1.0, (FULL_WEIGHT_ROWS / of_page[run.url]) ** 0.5) for run in stack.runs])


def _stacked(stack: Stack, values: Floats) -> Floats:
    ratios = stack.log_ratios(values)
    return np.concatenate([ratios[phase] / SCALE[phase] for phase in PHASES])


def _residuals(stack: Stack, weight: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Errors in units of their scale, 0 where nothing was measured, and the weight of each."""
    rest = _stacked(stack, values)
    known = np.isfinite(rest)
    rest = np.where(known, rest, 0.0)
    return rest, np.where(known, np.tile(weight, len(PHASES)), 0.0) / (1.0 + rest**2 / 2.0)


def _objective(
    stack: Stack, weight: Floats, values: Floats, free: Index, prior_ln: Floats, precision: Floats
) -> float:
    rest = _stacked(stack, values)
    loss = np.where(np.isfinite(rest), np.log1p(np.nan_to_num(rest) ** 2 / 2.0), 0.0)
    held = precision @ (np.log(values[free]) - prior_ln) ** 2 / 2.0
    return float(np.tile(weight, len(PHASES)) @ loss + held)


def _jacobian(stack: Stack, values: Floats, rest: Floats, free: Index) -> Floats:
    columns = []
    for place in free:
        tried = values.copy()
        tried[place] *= np.exp(STEP)
        moved = _stacked(stack, tried)
        columns.append(np.where(np.isfinite(moved), (moved - rest) / STEP, 0.0))
    return np.array(columns).T


def _speakers(stack: Stack, weight: Floats, values: Floats, free: Index) -> tuple[Floats, Floats]:
    """Runs, and pages of runs, whose figures follow each constant."""
    rest, certain = _residuals(stack, weight, values)
    effect = (
        np.abs(_jacobian(stack, values, rest, free))
        * np.repeat([SCALE[phase] for phase in PHASES], len(stack))[:, np.newaxis]
    )
    speaks = (effect > LEAST_EFFECT) & (certain > 0.0)[:, np.newaxis]
    by_run = speaks.reshape(len(PHASES), len(stack), len(free)).any(axis=0)
    runs, pages = np.zeros(len(LABELS)), np.zeros(len(LABELS))
    urls = np.array([run.url for run in stack.runs])
    for column, place in enumerate(free):
        runs[place] = by_run[:, column].sum()
        pages[place] = len(set(urls[by_run[:, column]].tolist()))
    return runs, pages
