"""What measurements say of a question they did not measure: pooling over card, model, engine and source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.core.formulas import Formula, Reference, register
from app.core.gpu_table import Floats, Index
from app.core.speed import constants as c

CARD_LABELS = ("card", "card_class")
"""Labels that differ between the cards of one question; the others are the same for all of them."""
SOURCE_LABELS = ("source",)
ROUNDS = 6
ONE_THREAD = 1_000_000
"""Multiplications of a matrix product that stay on one core."""

register(
    Formula(
        "speed.anchor",
        "Correction by measurement",
        "ln(measured / model) = sum of levels + noise; levels: engine x precision, card family x precision, "
        "card, model family, model, model x engine, model x card, source, scaling, the measured point itself "
        "(nearness exp(-(octaves apart)^2 / 2)); the correction is their expectation given all measurements",
        "1",
        "measured",
        "Rows of one class only. With a row of this card, model, precision and engine within two octaves: "
        "measured; with other rows: calibrated. A new source shares every level but its own.",
        (
            Reference(
                "Two repositories with the same card, model, precision and engine differ by 11 % "
                "(median), 40 % (90th)"
            ),
            Reference("Robinson 1991, That BLUP is a good thing", "https://doi.org/10.1214/ss/1177011926"),
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause by which measurements deviate together from the model."""

    labels: tuple[str, ...]
    """Rows that agree in all of these share the deviation."""
    spread: float
    """Its standard deviation, in natural logarithms."""
    octaves: float = 0.0
    """Distance in batch and length over which it fades, powers of two; 0 = not at all."""
    scaling: bool = False
    """It grows with the doublings of the cards."""


def causes_of(group: str) -> tuple[Cause, ...]:
    """The causes with their spreads in one class of work."""
    scale = c.CAUSE_SCALE.get(group, 1.0)
    cards = scale * c.SCALING_CAUSE_SCALE.get(group, 1.0)
    found = []
    for key, spread in c.CAUSE_SPREAD.items():
        labels, *words = key.split()
        scaling = "scaling" in words
        found.append(
            Cause(
                () if labels == "all" else tuple(labels.split("+")),
                spread * (cards if scaling else scale),
                c.CAUSE_OCTAVES[key] if "near" in words else 0.0,
                scaling,
            )
        )
    return tuple(found)


@dataclass(frozen=True)
class Points:
    """Measurements or questions as the causes see them; every array (points,)."""

    codes: Mapping[str, Index]
    """Label name -> number of the label; -1 = none, equal to nothing."""
    batch: Floats
    length: Floats
    count: Floats
    """Powers of two, as in `measurements.Observed`."""

    def __len__(self) -> int:
        return len(self.batch)

    def take(self, index: Index) -> Points:
        """Some of the points."""
        return Points(
            {name: code[index] for name, code in self.codes.items()},
            self.batch[index],
            self.length[index],
            self.count[index],
        )


def covariance(cause: Cause, a: Points, b: Points, labels: Sequence[str] | None = None) -> Floats:
    """Covariance that one cause puts between two sets of points, (a, b), for a spread of 1.

    Parameters
    ----------
    cause: the cause. a, b: points. labels: of the cause's, those that are compared; all by default.
    """
    shape = (len(a), len(b))
    found = np.ones(shape)
    for name in cause.labels if labels is None else labels:
        one, other = a.codes[name][:, np.newaxis], b.codes[name][np.newaxis, :]
        found *= (one == other) & (one >= 0)
    if cause.octaves:
        apart = ((a.batch[:, np.newaxis] - b.batch) / cause.octaves) ** 2
        apart += ((a.length[:, np.newaxis] - b.length) / cause.octaves) ** 2
        found *= np.exp(-0.5 * apart)
    if cause.scaling:
        # A deviation that grows with every doubling of the cards, and that one card does not have.
        found *= np.minimum(a.count[:, np.newaxis], b.count)
    return found


@dataclass(frozen=True)
class Posterior:
    """One class of measurements, taken in."""

    causes: tuple[Cause, ...]
    points: Points
    log_ratio: Floats
    covariance_matrix: Floats
    """Of the measurements, their noise included."""
    precision_matrix: Floats
    """Its inverse."""
    weights: Floats
    """`precision_matrix` times the log ratios."""
    noise: float
    """Variance of one measurement, the source's own deviation apart."""

    @classmethod
    def of(cls, causes: Sequence[Cause], points: Points, log_ratio: Floats, noise: float) -> Posterior:
        """Take measurements in.

        Parameters
        ----------
        causes: with their spreads. points, log_ratio: the measurements. noise: standard deviation of one.

        Returns
        -------
        The posterior; rows far from what all others say weigh less (Student's t by reweighting).
        """
        signal = np.zeros((len(points), len(points)))
        for cause in causes:
            signal += cause.spread**2 * covariance(cause, points, points)
        trust = np.ones(len(points))
        whole = signal
        for _ in range(ROUNDS if len(points) > 2 else 1):
            variance = noise**2 / trust
            whole = signal + np.diag(variance)
            rest = variance * np.linalg.solve(whole, log_ratio)
            trust = (c.NOISE_DEGREES + 1.0) / (c.NOISE_DEGREES + (rest / noise) ** 2)
        inverse = np.asarray(np.linalg.inv(whole), dtype=np.float64)
        return cls(tuple(causes), points, log_ratio, whole, inverse, inverse @ log_ratio, noise**2)

    def covariances(self, asked: Points) -> Covariances:
        """Covariance of every row with one question, apart by the label of the card that must agree.

        Parameters
        ----------
        asked: the question as one point; its card labels and count are ignored.
        """
        rows = self.points
        match = {
            name: ((codes == asked.codes[name][0]) & (codes >= 0)).astype(np.float64)
            for name, codes in rows.codes.items()
            if name not in CARD_LABELS
        }
        squared = (rows.batch - asked.batch[0]) ** 2 + (rows.length - asked.length[0]) ** 2
        near = {
            cause.octaves: np.exp(-0.5 * squared / cause.octaves**2) for cause in self.causes if cause.octaves
        }
        fixed = {name: np.zeros(len(rows)) for name in ("", *CARD_LABELS)}
        scaling = {name: np.zeros(len(rows)) for name in ("", *CARD_LABELS)}
        for cause in self.causes:
            tie = np.full(len(rows), cause.spread**2)
            card = ""
            for name in cause.labels:
                if name in CARD_LABELS:
                    card = name
                else:
                    tie *= match[name]
            if cause.octaves:
                tie *= near[cause.octaves]
            (scaling if cause.scaling else fixed)[card] += tie
        return Covariances(self, fixed, scaling)

    @cached_property
    def _as_asked(self) -> Floats:
        """Covariance of each row as a question of an unknown source with every row."""
        total = np.zeros((len(self.points), len(self.points)))
        for cause in self.causes:
            if not set(cause.labels) & set(SOURCE_LABELS):
                total += cause.spread**2 * covariance(cause, self.points, self.points)
        return total

    @cached_property
    def _prior(self) -> Floats:
        """Variance of each row before anything is measured."""
        total = np.full(len(self.points), self.noise)
        for cause in self.causes:
            total += cause.spread**2 * (self.points.count if cause.scaling else 1.0)
        return total

    def each_without_itself(self) -> tuple[Floats, Floats]:
        """`without` for every row alone, in one product."""
        cross = self._as_asked.copy()
        np.fill_diagonal(cross, 0.0)
        seen = cross @ self.precision_matrix
        own, shadow = np.diagonal(self.precision_matrix), np.diagonal(seen)
        mean = cross @ self.weights - shadow * self.weights / own
        explained = np.sum(seen * cross, axis=1) - shadow**2 / own
        return mean, np.maximum(self._prior - explained, self.noise)

    def without(self, left_out: Index, wanted: Index) -> tuple[Floats, Floats]:
        """Correction and variance of some rows had they and others not been known, their source included.

        Parameters
        ----------
        left_out: rows that are taken away together. wanted: those of them that are looked at.

        Returns
        -------
        (means, variances) of the wanted rows, as questions of an unknown source.
        """
        cross = self._as_asked[wanted].copy()
        own = self._prior[wanted]
        kept = np.setdiff1d(np.arange(len(self.points)), left_out)
        if len(kept) < len(left_out):
            view = cross[:, kept]
            solved = np.linalg.solve(
                self.covariance_matrix[np.ix_(kept, kept)], np.column_stack([self.log_ratio[kept], view.T])
            )
            mean, explained = view @ solved[:, 0], np.sum(view * solved[:, 1:].T, axis=1)
        else:
            # With nothing shared with the hidden rows, their columns of the inverse fall out of the products.
            cross[:, left_out] = 0.0
            seen = cross @ self.precision_matrix
            shadow = seen[:, left_out]
            block = self.precision_matrix[np.ix_(left_out, left_out)]
            solved = np.linalg.solve(block, np.column_stack([self.weights[left_out], shadow.T]))
            mean = cross @ self.weights - shadow @ solved[:, 0]
            explained = np.sum(seen * cross, axis=1) - np.sum(shadow * solved[:, 1:].T, axis=1)
        return mean, np.maximum(own - explained, self.noise)


@dataclass(frozen=True)
class Covariances:
    """One question against the measurements: what is left is which card, and how many."""

    posterior: Posterior
    fixed: Mapping[str, Floats]
    """By the label of the card that must agree ("" = none): covariance with each row."""
    scaling: Mapping[str, Floats]
    """The same for each doubling of the cards."""

    def mean(self, card_codes: Mapping[str, Index], counts: Floats) -> Floats:
        """Expected correction, ln(measured / model), (cards, counts).

        Parameters
        ----------
        card_codes: labels of the cards. counts: powers of two.
        """
        found = np.repeat(self._sum(self.fixed, card_codes, None)[:, np.newaxis], len(counts), axis=1)
        for column, count in enumerate(counts):
            if count > 0:
                found[:, column] += self._sum(self.scaling, card_codes, float(count))
        return found

    def variance(self, card_codes: Mapping[str, Index], counts: Floats) -> Floats:
        """Variance of what a new source would measure, (cells,): one card and power of two each."""
        rows = self.posterior.points
        shared = np.minimum(counts[:, np.newaxis], rows.count)
        cross = np.zeros((len(counts), len(rows)))
        for name in self.fixed:
            tie = self.fixed[name] + self.scaling[name] * shared
            if name:
                tie = tie * (rows.codes[name] == card_codes[name][:, np.newaxis])
            cross += tie
        # Products below the size at which BLAS starts its threads: waking them costs more than they save.
        # By columns, so that the matrix, the largest of all, is read once.
        step = max(1, ONE_THREAD // max(1, cross.size))
        matrix = self.posterior.precision_matrix
        explained = np.zeros(len(counts))
        for first in range(0, len(rows), step):
            part = slice(first, first + step)
            explained += np.sum(cross @ matrix[:, part] * cross[:, part], axis=1)
        prior = np.full(len(counts), self.posterior.noise)
        for cause in self.posterior.causes:
            prior += cause.spread**2 * (counts if cause.scaling else 1.0)
        return np.asarray(np.maximum(prior - explained, self.posterior.noise), dtype=np.float64)

    def _sum(
        self, ties: Mapping[str, Floats], card_codes: Mapping[str, Index], count: float | None
    ) -> Floats:
        rows = self.posterior.points
        weights = self.posterior.weights
        if count is not None:
            weights = weights * np.minimum(rows.count, count)
        total = np.full(len(card_codes["card"]), float(ties[""] @ weights))
        for name in CARD_LABELS:
            # Every code of a card is one of the rows'.
            codes = card_codes[name]
            sums = np.bincount(rows.codes[name], weights=ties[name] * weights)
            total += np.where(codes >= 0, sums[codes], 0.0)
        return total
