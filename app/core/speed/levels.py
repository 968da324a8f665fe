"""What measurements say of a question they did not measure: pooling over card, family, model, engine, source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.core.formulas import Formula, Reference, register
from app.core.gpu_table import Floats, Index
from app.core.speed import constants as c

CARD_LABELS = ("card", "card_class")
"""Labels that differ between the cards of one question; the others are the same for all of them."""
SOURCE_LABELS = ("source",)
DEGREES = 4.0
"""Degrees of freedom of the noise: measurements have heavy tails, so far rows count less."""
ROUNDS = 6

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


@dataclass(frozen=True)
class Points:
    """Measurements or questions as the levels see them; every array (points,)."""

    codes: Mapping[str, Index]
    """Label name -> number of the label; -1 = none, equal to nothing."""
    batch: Floats
    length: Floats
    count: Floats
    """Powers of two, as in `rows.Observed`."""

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


def covariance(level: c.Level, a: Points, b: Points, labels: Sequence[str] | None = None) -> Floats:
    """Covariance that one level puts between two sets of points, (a, b), for a spread of 1.

    Parameters
    ----------
    level: the level. a, b: points. labels: of the level's, those that are compared; all by default.
    """
    shape = (len(a), len(b))
    found = np.ones(shape)
    for name in level.labels if labels is None else labels:
        one, other = a.codes[name][:, np.newaxis], b.codes[name][np.newaxis, :]
        found *= (one == other) & (one >= 0)
    if level.octaves:
        apart = ((a.batch[:, np.newaxis] - b.batch) / level.octaves) ** 2
        apart += ((a.length[:, np.newaxis] - b.length) / level.octaves) ** 2
        found *= np.exp(-0.5 * apart)
    if level.scaling:
        # A deviation that grows with every doubling of the cards, and that one card does not have.
        found *= np.minimum(a.count[:, np.newaxis], b.count)
    return found


@dataclass(frozen=True)
class Posterior:
    """One class of measurements, taken in."""

    levels: tuple[c.Level, ...]
    points: Points
    log_ratio: Floats
    precision_matrix: Floats
    """Inverse of the covariance of the measurements."""
    weights: Floats
    """`precision_matrix` times the log ratios."""
    noise: float
    """Variance of one measurement, the source's own deviation apart."""

    @classmethod
    def of(
        cls, levels: Sequence[c.Level], points: Points, log_ratio: Floats, noise: float, exact: Floats
    ) -> Posterior:
        """Take measurements in.

        Parameters
        ----------
        levels: with their spreads. points, log_ratio: the measurements. noise: standard deviation of one.
        exact: factor on the noise of each row, below 1 for the team's own.

        Returns
        -------
        The posterior; rows far from what all others say weigh less (Student's t by reweighting).
        """
        signal = np.zeros((len(points), len(points)))
        for level in levels:
            signal += level.spread**2 * covariance(level, points, points)
        trust = np.ones(len(points))
        inverse = np.zeros_like(signal)
        for _ in range(ROUNDS if len(points) > 2 else 1):
            variance = noise**2 * exact**2 / trust
            inverse = np.linalg.inv(signal + np.diag(variance))
            rest = variance * (inverse @ log_ratio)
            trust = (DEGREES + 1.0) / (DEGREES + (rest / (noise * exact)) ** 2)
        return cls(tuple(levels), points, log_ratio, inverse, inverse @ log_ratio, noise**2)

    def mean(self, asked: Points, card_codes: Mapping[str, Index]) -> Floats:
        """Expected correction of every card for one question.

        Parameters
        ----------
        asked: the question as one point; its card labels are ignored. card_codes: labels of the cards.

        Returns
        -------
        ln(measured / model), (cards,).
        """
        cards = len(next(iter(card_codes.values())))
        total = np.zeros(cards)
        for level in self.levels:
            others = [name for name in level.labels if name not in CARD_LABELS]
            mine = [name for name in level.labels if name in CARD_LABELS]
            pull = level.spread**2 * covariance(level, asked, self.points, others)[0] * self.weights
            if not mine:
                total += float(np.sum(pull))
                continue
            # A card belongs to one class, so the narrower label decides.
            name = "card" if "card" in mine else "card_class"
            codes = self.points.codes[name]
            size = int(max(np.max(codes, initial=0), np.max(card_codes[name], initial=0))) + 1
            known = codes >= 0
            sums = np.bincount(codes[known], weights=pull[known], minlength=size)
            total += np.where(card_codes[name] >= 0, sums[card_codes[name]], 0.0)
        return total

    def variance(self, asked: Points) -> Floats:
        """Variance of what a new source would measure at each point, (points,)."""
        cross = np.zeros((len(asked), len(self.points)))
        own = np.full(len(asked), self.noise)
        for level in self.levels:
            cross += level.spread**2 * covariance(level, asked, self.points)
            own += level.spread**2 * (asked.count if level.scaling else 1.0)
        return np.asarray(own - np.einsum("ij,jk,ik->i", cross, self.precision_matrix, cross, optimize=True))

    def without(self, left_out: Index) -> tuple[Floats, Floats]:
        """Correction and variance of some rows had neither they nor their source been known.

        Parameters
        ----------
        left_out: rows that are taken away together.

        Returns
        -------
        (means, variances) of those rows, as a question of an unknown source.
        """
        kept = np.setdiff1d(np.arange(len(self.points)), left_out)
        asked = self.points.take(left_out)
        asked = Points(
            {n: np.full(len(asked), -1) if n in SOURCE_LABELS else k for n, k in asked.codes.items()},
            asked.batch,
            asked.length,
            asked.count,
        )
        cross = np.zeros((len(left_out), len(self.points)))
        own = np.full(len(left_out), self.noise)
        for level in self.levels:
            cross += level.spread**2 * covariance(level, asked, self.points)
            own += level.spread**2 * (asked.count if level.scaling else 1.0)
        q = self.precision_matrix
        block = np.linalg.inv(q[np.ix_(left_out, left_out)])
        side = q[np.ix_(kept, left_out)]
        weights = self.weights[kept] - side @ (block @ self.weights[left_out])
        view = cross[:, kept]
        shadow = view @ side
        kept_q = view @ q[np.ix_(kept, kept)]
        explained = np.einsum("ij,ij->i", kept_q, view) - np.einsum("ij,jk,ik->i", shadow, block, shadow)
        return view @ weights, np.maximum(own - explained, self.noise)
