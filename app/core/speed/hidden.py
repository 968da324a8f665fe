"""Ways to hide measurements from the estimate, and what it then says of the hidden ones."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.core.estimates import Basis
from app.core.gpu_table import Index
from app.core.speed import constants as c
from app.core.speed.evidence import Evidence, thin_constants, thin_factor

SPLITS = ("report_half", "row", "source", "card", "model", "neither")
"""What is hidden together: the whole report half; each row; all rows of its source family, of its card, of
its model; those of its card and of its model."""


@dataclass(frozen=True, slots=True)
class Held:
    """One measurement as the estimate sees it with some measurements hidden."""

    row_id: str
    split: str
    group: str
    kind: str
    log_error: float
    """ln(measured / estimated)."""
    width: float
    """Half-width of the stated 80 % interval, ln."""
    basis: Basis
    same_source: bool
    """A row of the same source with this card, model, precision and engine was left."""

    @property
    def inside(self) -> bool:
        """Whether the measurement lies in the stated interval."""
        return abs(self.log_error) <= self.width


def is_fitted(row_id: str) -> bool:
    """Whether a row belongs to the half that constants may be read from: an even SHA-256 of its id."""
    return int(hashlib.sha256(row_id.encode()).hexdigest(), 16) % 2 == 0


def held_out(evidence: Evidence, kinds: Mapping[str, str], splits: Sequence[str] = SPLITS) -> list[Held]:
    """Estimates of every row with it and its like hidden.

    Parameters
    ----------
    evidence: one class. kinds: class of `constants.WIDTHS` by row id. splits: of SPLITS.

    Returns
    -------
    One `Held` per row and split; of the report half only its own rows.
    """
    found = []
    every = np.arange(len(evidence.rows))
    for split in splits:
        if split == "row" and len(every) > 1:
            mean, variance = evidence.posterior.each_without_itself()
            for row in every:
                left = np.delete(every, row)
                one = int(row)
                found.append(_held(evidence, kinds, split, one, left, float(mean[one]), float(variance[one])))
            continue
        for hidden, wanted in _parts(split, evidence):
            left = np.setdiff1d(every, hidden)
            if left.size:
                mean, variance = evidence.posterior.without(hidden, wanted)
            else:
                mean, variance = np.zeros(len(wanted)), np.full(len(wanted), np.nan)
            for i, row in enumerate(wanted):
                found.append(
                    _held(evidence, kinds, split, int(row), left, float(mean[i]), float(variance[i]))
                )
    return found


def _parts(split: str, evidence: Evidence) -> Iterator[tuple[Index, Index]]:
    """(rows hidden together, rows of them that are looked at)."""
    codes = evidence.posterior.points.codes
    every = np.arange(len(evidence.rows))
    if split == "report_half":
        hidden = np.array([i for i in every if not is_fitted(evidence.rows[i].id)], dtype=np.intp)
        if hidden.size:
            yield hidden, hidden
    elif split == "row":
        for i in every:
            yield every[i : i + 1], every[i : i + 1]
    elif split == "neither":
        cells: dict[tuple[int, int], list[int]] = defaultdict(list)
        for i in every:
            cells[int(codes["card"][i]), int(codes["model"][i])].append(int(i))
        for (card, model), cell in cells.items():
            yield np.flatnonzero((codes["card"] == card) | (codes["model"] == model)), np.array(cell)
    else:
        for code in np.unique(codes[split]):
            rows = np.flatnonzero(codes[split] == code)
            yield rows, rows


def _held(
    evidence: Evidence,
    kinds: Mapping[str, str],
    split: str,
    row: int,
    left: Index,
    mean: float,
    variance: float,
) -> Held:
    points = evidence.posterior.points
    one = points.take(np.array([row]))
    kind = kinds[evidence.rows[row].id]
    apart = evidence.distance(one)[left]
    near = apart <= c.FAR_OCTAVES
    family = points.codes["card_class"][row]
    known_family = bool(np.any(points.codes["card_class"][left] == family))
    known_model = bool(np.any(points.codes["model"][left] == points.codes["model"][row]))
    basis: Basis = "measured" if near.any() else "calibrated" if known_family or known_model else "derived"
    if left.size:
        width = np.sqrt(variance) * c.INTERVAL_FACTOR.get(evidence.group, c.INTERVAL_DEFAULT)
        width *= c.KIND_FACTOR.get(kind, 1.0) * _class_factor(evidence, kind, row, left)
    else:
        width = c.WIDTHS[kind]
    same = near & (points.codes["source"][left] == points.codes["source"][row])
    return Held(
        row_id=evidence.rows[row].id,
        split=split,
        group=evidence.group,
        kind=kind,
        log_error=float(evidence.posterior.log_ratio[row] - mean),
        width=float(width),
        basis=basis,
        same_source=bool(same.any()),
    )


def _class_factor(evidence: Evidence, kind: str, row: int, left: Index) -> float:
    """Widening where few measurements are left that speak of the row's card family, or of its constants."""
    points = evidence.posterior.points
    family = int(points.codes["card_class"][row])
    labels = (evidence.label(name, row) for name in ("engine", "precision", "model"))
    rows = np.count_nonzero(points.codes["card_class"][left] == family)
    known = thin_constants(evidence.group, kind, *labels)[family]
    return max(float(thin_factor(np.array(float(rows)))), float(known))
