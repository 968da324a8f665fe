"""Published runs as one stack of questions, evaluated together under any values of the constants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, TypeVar, cast

import numpy as np

from app.core.calibration import installed
from app.core.gpu_table import Floats, GpuTable, Index, compute_rate
from app.core.model.architecture import ModelArchitecture
from app.core.serving import constants as c
from app.core.serving.engine import serve
from app.core.serving.facts import facts, setting_of
from app.core.serving.keys import CLASSES, MICROSECONDS, CardKey, classes_of, labels
from app.core.serving.load import Load
from app.core.serving.rates import NAMES, resolved, value_of
from app.core.serving.runs import Phase, ServingRun
from app.core.serving.terms import Facts, Rates, Served
from app.core.speed.terms import Plans

Arrays = TypeVar("Arrays", Facts, Load)
LABELS = tuple(label for label, entry in installed().entries.items() if entry.part == "serving")
"""Every constant of serving."""
_PLACE = {label: i for i, label in enumerate(LABELS)}
_NONE = len(LABELS)
"""Place of a factor of 1."""


@dataclass(frozen=True)
class Stack:
    """Runs with their questions side by side: arrays over the runs."""

    runs: tuple[ServingRun, ...]
    facts: Facts
    load: Load
    places: Mapping[str, Index]
    """By field of `Rates`: (runs, factors) places in LABELS."""
    vendors: tuple[str, ...]
    classes: tuple[str, ...]
    experts: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.runs)

    def measured(self, phase: Phase) -> Floats:
        """What was measured of a phase; NaN where nothing was."""
        return np.array([run.measured.get(phase, np.nan) for run in self.runs], dtype=np.float64)

    def served(self, values: Floats | None = None) -> Served:
        """What the model says, under the constants as they stand or under others.

        Parameters
        ----------
        values: of LABELS, in their order.
        """
        if values is None:
            return serve(self.facts, self._rates(shipped()), self.load)
        with _tried(values):
            return serve(self.facts, self._rates(values), self.load)

    def log_ratios(self, values: Floats | None = None) -> dict[Phase, Floats]:
        """ln(predicted speed / measured) of each phase, over the runs: above 0 is too fast."""
        found = self.served(values)
        return {
            "total": np.log(found.tokens_per_s / self.measured("total")),
            "token": -np.log(found.token_s / self.measured("token")),
            "first": -np.log(found.first_token_s / self.measured("first")),
        }

    def _rates(self, values: Floats) -> Rates:
        known = np.append(values, 1.0)
        found = {}
        for name in NAMES:
            product = known[self.places[name]].prod(axis=1)
            found[name] = product * 1e-6 if name in MICROSECONDS else product
        return Rates(**found)


def shipped() -> Floats:
    """The constants as they stand, in the order of LABELS."""
    return np.array([value_of(label) for label in LABELS], dtype=np.float64)


@contextmanager
def _tried(values: Floats) -> Iterator[None]:
    """Let the single constants have other values: in a process of its own, as `calibration.tried`."""
    singles = {label: float(v) for label, v in zip(LABELS, values, strict=True) if "." not in label}
    kept = {name: getattr(c, name) for name in singles}
    for name, value in singles.items():
        setattr(c, name, value)
    try:
        yield
    finally:
        for name, old in kept.items():
            setattr(c, name, old)


def stack(
    runs: Sequence[ServingRun],
    models: Mapping[str, ModelArchitecture],
    table: GpuTable,
    ids: Sequence[str],
) -> Stack:
    """Runs whose model and card the catalogue knows, as one stack.

    Parameters
    ----------
    runs: published. models: architectures by id. table, ids: the cards and their ids in its order.
    """
    position = {gpu_id: i for i, gpu_id in enumerate(ids)}
    kept, rows, keys = [], [], []
    for run in runs:
        if run.model_id not in models or run.gpu_id not in position:
            continue
        work = run.question(models[run.model_id])
        card = table.take([position[run.gpu_id]])
        rate = compute_rate(card, work.format)
        rows.append(facts(work, Plans.of((run.plan,)), card, rate, run.load, run.power_share))
        key = CardKey(CLASSES[int(classes_of(card)[0])], bool(rate.fallback[0]))
        keys.append((setting_of(work, run.eager), key))
        kept.append(run)
    return Stack(
        runs=tuple(kept),
        facts=_side_by_side(Facts, rows),
        load=_side_by_side(Load, [run.load for run in kept]),
        places=_places([labels(*pair) for pair in keys]),
        vendors=tuple(key.vendor for _, key in keys),
        classes=tuple(key.card_class for _, key in keys),
        experts=tuple(setting.experts for setting, _ in keys),
    )


def _side_by_side(kind: type[Arrays], rows: Sequence[Arrays]) -> Arrays:
    columns = {
        f.name: np.array([float(np.squeeze(getattr(row, f.name))) for row in rows], dtype=np.float64)
        for f in fields(cast(Any, kind))
    }
    return kind(**columns)


def _places(rows: Sequence[Mapping[str, tuple[str, ...]]]) -> dict[str, Index]:
    found = {}
    for name in NAMES:
        several = [[_PLACE[resolved(label)] for label in row[name]] for row in rows]
        most = max(map(len, several), default=1)
        found[name] = np.array([one + [_NONE] * (most - len(one)) for one in several], dtype=np.intp)
    return found
