"""Making the fitted constants again from the half of the measurements that they may be read from.

Estimators, by the column of the table. ratio: the value of least mean |ln(measured / model)| over the rows
named, all other constants as they stand: value x exp(d), d = weighted median of -ln(measured / model) / g
with weights |g|, g = change of ln(measured / model) by ln(value), repeated until it settles. width: the 80th
percentile of |ln(measured / model)|. coverage: the factor at which four of five hidden rows lie in their
interval. likelihood: one Newton step on the likelihood of what is left under the causes of deviation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.core.calibration import Entry, installed, tried
from app.core.gpu import Benchmark
from app.core.gpu_table import CARD_CLASSES, Floats, GpuTable, Index
from app.core.model.architecture import ModelArchitecture
from app.core.speed import constants as c
from app.core.speed.deviations import Points, causes_of, covariance
from app.core.speed.evidence import Evidence
from app.core.speed.hidden import SPLITS, held_out, is_fitted
from app.core.speed.measurements import group_of, observe

STEP = 0.05
"""Relative change of a constant by which its effect on a row is read."""
LEAST_EFFECT = 0.05
"""A row whose speed follows a constant less than this, ln over ln, does not speak of it."""
ROUNDS = 4
FAR = 0.7
"""Largest change of one round, natural logarithm."""
SETTLED = 0.003
NORMAL_MAD = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""
QUANTILE_ERROR = 0.89
"""Relative standard error of the 80 % half-width of n errors, times the root of n, if they are normal."""
CURVATURE_STEP = 0.2
INTERVAL = 0.8


@dataclass(frozen=True, slots=True)
class Refitted:
    """A fitted constant as the measurements have it now."""

    entry: Entry
    value: float
    n: int
    """Measurements that speak of it."""
    spread: float | None
    """Standard deviation of the values that they would each have, natural logarithms."""

    @property
    def change(self) -> float:
        """ln(refitted / shipped)."""
        return math.log(self.value / self.entry.value)

    @property
    def moved(self) -> bool:
        """Whether it is farther from the shipped value than the measurements are from each other.

        One measurement has no spread and moves nothing.
        """
        return self.spread is not None and abs(self.change) > self.spread


class Fitter:
    """The measurements of the fitted half, compared with the model once."""

    def __init__(
        self,
        rows: Iterable[Benchmark],
        models: Mapping[str, ModelArchitecture],
        table: GpuTable,
        ids: Sequence[str],
    ) -> None:
        """Take in rows, architectures by id, the cards and their ids."""
        self._models = models
        self._table = table
        self._position = {gpu_id: i for i, gpu_id in enumerate(ids)}
        self.observed = observe((r for r in rows if is_fitted(r.id)), models, table, self._position)
        found = self.observed
        self._groups = tuple(group_of(kind) for kind in found.kinds)
        self._classes = tuple(CARD_CLASSES[table.card_class[self._position[r.gpu_id]]] for r in found.rows)
        self._likelihoods: dict[str, _Likelihood] = {}

    def rows_of(self, entry: Entry) -> Index:
        """Rows that the conditions of an entry name."""
        return np.array([i for i in range(len(self.observed)) if self._speaks(entry, i)], dtype=np.intp)

    def _speaks(self, entry: Entry, i: int) -> bool:
        wanted, found = entry.rows, self.observed
        if wanted is None:
            return False
        labels = found.labels
        stated = (
            (wanted.classes, self._groups[i]),
            (wanted.engines, labels["engine"][i]),
            (wanted.precisions, labels["precision"][i]),
            (wanted.card_classes, self._classes[i]),
            (wanted.kinds, found.kinds[i]),
        )
        return (
            all(not values or label in values for values, label in stated)
            and (not wanted.cards or labels["card"][i].startswith(wanted.cards))
            and (not wanted.models or labels["model"][i].startswith(wanted.models))
            and (not wanted.several or found.rows[i].gpu_count > 1)
        )

    def counted(self, entry: Entry) -> Refitted:
        """Any entry with the rows that speak of it and their spread, its value as it stands."""
        rows = self.rows_of(entry)
        if not rows.size:
            return Refitted(entry, entry.value, 0, None)
        if entry.estimator in ("width", "coverage", "likelihood"):
            return replace(self.refitted(entry), value=entry.value)
        effect, rest = self._effect(entry, rows, entry.value)
        return Refitted(entry, entry.value, len(effect), _spread(effect, rest))

    def refitted(self, entry: Entry) -> Refitted:
        """A fitted entry made again; other constants stand."""
        rows = self.rows_of(entry)
        if not rows.size:
            return Refitted(entry, entry.value, 0, None)
        found: Mapping[str, Callable[[Entry, Index], Refitted]] = {
            "ratio": self._by_ratio,
            "width": self._by_width,
            "coverage": self._by_coverage,
            "likelihood": self._by_likelihood,
        }
        return found[entry.estimator](entry, rows)

    def _effect(self, entry: Entry, rows: Index, value: float) -> tuple[Floats, Floats]:
        """Change of ln(measured / model) by ln(value), and what is left, of the rows that speak."""
        chosen = [self.observed.rows[i] for i in rows]
        here, there = (self._ratios(entry, chosen, v) for v in (value, value * math.exp(STEP)))
        both = [row.id for row in chosen if row.id in here and row.id in there]
        rest = np.array([here[row_id] for row_id in both], dtype=np.float64)
        effect = (np.array([there[row_id] for row_id in both], dtype=np.float64) - rest) / STEP
        speaks = np.abs(effect) > LEAST_EFFECT
        return effect[speaks], rest[speaks]

    def _ratios(self, entry: Entry, chosen: list[Benchmark], value: float) -> dict[str, float]:
        with tried(entry.label, value):
            found = observe(chosen, self._models, self._table, self._position)
        return {row.id: float(ratio) for row, ratio in zip(found.rows, found.log_ratio, strict=True)}

    def _by_ratio(self, entry: Entry, rows: Index) -> Refitted:
        value = entry.value
        effect, rest = self._effect(entry, rows, value)
        if not effect.size:
            return Refitted(entry, value, 0, None)
        n = len(effect)
        for _ in range(ROUNDS):
            change = float(np.clip(_weighted_median(-rest / effect, np.abs(effect)), -FAR, FAR))
            value *= math.exp(change)
            if abs(change) < SETTLED:
                break
            effect, rest = self._effect(entry, rows, value)
            if not effect.size:
                # Beyond this value nothing speaks of it: it stands where it was.
                return Refitted(entry, entry.value, n, None)
        return Refitted(entry, value, n, _spread(effect, rest))

    def _by_width(self, entry: Entry, rows: Index) -> Refitted:
        sizes = np.abs(self.observed.log_ratio[rows])
        return Refitted(
            entry, float(np.quantile(sizes, INTERVAL)), len(rows), QUANTILE_ERROR / len(rows) ** 0.5
        )

    def _by_coverage(self, entry: Entry, rows: Index) -> Refitted:
        evidence = Evidence.of(self.observed, entry.key, self._table, self._position)
        if evidence is None:
            return Refitted(entry, entry.value, 0, None)
        kinds = {row.id: kind for row, kind in zip(self.observed.rows, self.observed.kinds, strict=True)}
        held = held_out(evidence, kinds, [split for split in SPLITS if split != "report_half"])
        needed = np.quantile([abs(one.log_error) / one.width for one in held], INTERVAL)
        return Refitted(entry, float(entry.value * needed), len(rows), QUANTILE_ERROR / len(rows) ** 0.5)

    def _by_likelihood(self, entry: Entry, rows: Index) -> Refitted:
        groups = tuple(dict.fromkeys(self._groups)) if entry.name == "CAUSE_SPREAD" else (entry.key,)
        parts = [part for part in map(self._likelihood, groups) if part is not None]

        def chosen(name: str) -> bool:
            if entry.name == "CAUSE_SPREAD":
                return name == entry.key
            return entry.name == "CAUSE_SCALE" or name.endswith("scaling")

        def at(change: float) -> float:
            return sum(part.at(chosen, math.exp(change)) for part in parts)

        below, here, above = (at(step) for step in (-CURVATURE_STEP, 0.0, CURVATURE_STEP))
        slope = (above - below) / (2.0 * CURVATURE_STEP)
        curvature = (2.0 * here - above - below) / CURVATURE_STEP**2
        if curvature <= 0.0:
            return Refitted(entry, entry.value, len(rows), None)
        change = float(np.clip(slope / curvature, -FAR, FAR))
        return Refitted(entry, entry.value * math.exp(change), len(rows), float(curvature**-0.5))

    def _likelihood(self, group: str) -> _Likelihood | None:
        if group not in self._likelihoods:
            evidence = Evidence.of(self.observed, group, self._table, self._position)
            if evidence is None:
                return None
            self._likelihoods[group] = _Likelihood(group, evidence)
        return self._likelihoods[group]


class _Likelihood:
    """How probable the deviations of one class are under spreads of their causes."""

    def __init__(self, group: str, evidence: Evidence) -> None:
        posterior = evidence.posterior
        points: Points = posterior.points
        self._ratios = posterior.log_ratio
        self._whole = posterior.covariance_matrix
        self._parts = [
            (name, cause.spread**2 * covariance(cause, points, points))
            for cause, name in zip(causes_of(group), c.CAUSE_SPREAD, strict=True)
        ]

    def at(self, chosen: Callable[[str], bool], factor: float) -> float:
        """Log likelihood, the spreads of the chosen causes times a factor."""
        whole = self._whole + (factor**2 - 1.0) * sum(
            (part for name, part in self._parts if chosen(name)), np.zeros_like(self._whole)
        )
        _, size = np.linalg.slogdet(whole)
        return float(-0.5 * (size + self._ratios @ np.linalg.solve(whole, self._ratios)))


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values, kind="stable")
    passed = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(passed, passed[-1] / 2.0)])


def _spread(effect: Floats, rest: Floats) -> float | None:
    """Standard deviation of what the rows would have of the constant, natural logarithms; None for one."""
    if len(effect) < 2:
        return None
    wanted, weights = -rest / effect, np.abs(effect)
    middle = _weighted_median(wanted, weights)
    return NORMAL_MAD * _weighted_median(np.abs(wanted - middle), weights)


def fitted_entries() -> tuple[Entry, ...]:
    """The constants that measurements make one by one; those of serving are made together elsewhere."""
    return tuple(e for e in installed().entries.values() if e.kind == "fitted" and e.estimator != "joint")
