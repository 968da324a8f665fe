"""Making the fitted constants again from the measurements of a catalogue, beside what is shipped."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from io import StringIO

from app.catalog.snapshot import Snapshot
from app.core.calibration import COLUMNS, Entry, installed
from app.core.gpu_table import GpuTable
from app.core.serving.fitting import fit
from app.core.serving.observed import LABELS
from app.core.speed.fitting import Fitter, Refitted, fitted_entries
from app.services.serving_runs import fitted_stack

DIGITS = 3
"""Significant digits of a refitted value: what a fit can say."""


def refit(snapshot: Snapshot, names: Sequence[str] = ()) -> Iterator[Refitted]:
    """Every fitted constant as the fitted half of a catalogue has it, one after another.

    Parameters
    ----------
    snapshot: its benchmarks, own measurements among them. names: labels or names of tables; empty: all.
    """
    models = {key: preset.architecture for key, preset in snapshot.models.items()}
    fitter = Fitter(
        snapshot.benchmarks, models, GpuTable.from_gpus(snapshot.gpus), [gpu.id for gpu in snapshot.gpus]
    )
    for entry in fitted_entries():
        if not names or entry.label in names or entry.name in names:
            yield fitter.refitted(entry)
    joint = [entry for entry in installed().entries.values() if entry.estimator == "joint"]
    wanted = [entry for entry in joint if not names or entry.label in names or entry.name in names]
    if wanted:
        yield from _together(wanted, snapshot)


def _together(wanted: Sequence[Entry], snapshot: Snapshot) -> Iterator[Refitted]:
    """Constants of serving, which runs make all at once."""
    found = fit(fitted_stack(snapshot))
    for entry in wanted:
        place = LABELS.index(entry.label)
        yield Refitted(entry, float(found.values[place]), int(found.runs[place]), float(found.spread[place]))


def as_table(found: Iterable[Refitted]) -> str:
    """The table of constants as CSV, refitted values in place of the shipped ones."""
    new = {one.entry.label: one for one in found}
    text = StringIO()
    written = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    written.writeheader()
    for label, entry in installed().entries.items():
        one = new.get(label)
        if one is not None and one.n:
            entry = replace(entry, value=rounded(one.value), n=one.n, spread=one.spread)
        written.writerow(_cells(entry))
    return text.getvalue()


def rounded(value: float) -> float:
    """A value to DIGITS significant digits."""
    return float(f"{value:.{DIGITS}g}")


def _cells(entry: Entry) -> dict[str, object]:
    return {
        "part": entry.part,
        "name": entry.name,
        "key": entry.key,
        "value": entry.value,
        "unit": entry.unit,
        "kind": entry.kind,
        "estimator": entry.estimator,
        "rows": entry.rows.text if entry.rows else "",
        "n": entry.n,
        "spread": "" if entry.spread is None else f"{entry.spread:.{DIGITS}g}",
        "valid_for": " ".join(entry.valid_for),
        "source": " | ".join(entry.sources),
        "read_on": entry.read_on,
        "prior": "" if entry.prior is None else entry.prior,
        "prior_spread": "" if entry.prior_spread is None else entry.prior_spread,
    }
