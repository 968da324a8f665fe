"""The constants of a question on its cards, worked out once for each kind of card and kept on the table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields

import numpy as np

from app.core.gpu_table import ComputeRate, GpuTable
from app.core.kept import keep
from app.core.serving import constants as c
from app.core.serving.keys import CLASSES, DEFAULT, MICROSECONDS, CardKey, Setting, classes_of, labels
from app.core.serving.terms import Rates

NAMES = tuple(f.name for f in fields(Rates))


def resolved(label: str) -> str:
    """The label of the row of the table that a label means: its own key, else the default."""
    name, _, key = label.partition(".")
    if not key:
        return name
    return label if key in getattr(c, name) else f"{name}.{DEFAULT}"


def value_of(label: str) -> float:
    """What a constant is worth."""
    name, _, key = resolved(label).partition(".")
    found = getattr(c, name)
    return float(found[key]) if key else float(found)


def product(field: str, names: tuple[str, ...], value: Callable[[str], float] = value_of) -> float:
    """One field of `Rates`; seconds where its constants are microseconds."""
    return math.prod(map(value, names)) * (1e-6 if field in MICROSECONDS else 1.0)


def rates(setting: Setting, table: GpuTable, rate: ComputeRate) -> Rates:
    """Constants of a question on every card.

    Parameters
    ----------
    setting: of the question. table: the cards, as a column where plans stand beside
    them. rate: of its format.

    Returns
    -------
    Arrays of the shape of the table.
    """
    return keep(
        table,
        "serving_rates",
        (setting, np.asarray(rate.fallback).tobytes()),
        lambda: _rates(setting, table, rate),
    )


def _rates(setting: Setting, table: GpuTable, rate: ComputeRate) -> Rates:
    classes = classes_of(table)
    shape = np.shape(classes)
    keys = [CardKey(CLASSES[i], bool(w)) for i, w in zip(classes.flat, rate.fallback.flat, strict=True)]
    kinds = list(dict.fromkeys(keys))
    place = np.array([kinds.index(key) for key in keys], dtype=np.intp).reshape(shape)
    rows = []
    for kind in kinds:
        found = labels(setting, kind)
        rows.append([product(name, found[name]) for name in NAMES])
    columns = np.array(rows, dtype=np.float64).reshape(-1, len(NAMES)).T
    return Rates(**{name: column[place] for name, column in zip(NAMES, columns, strict=True)})
