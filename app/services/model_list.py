"""The presets as a reader looks for them: by any of their names, the newest and most used first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from app.catalog.names import normalise_name
from app.catalog.records import ModelPreset
from app.catalog.snapshot import Snapshot
from app.core.kept import keep

MONTHS = 36.0
"""After so long a release is no longer new."""
MANY_ROWS = 1_000
"""Measurements from which on more of them say no more."""


def ordered(snapshot: Snapshot) -> tuple[ModelPreset, ...]:
    """All presets, the newest and most used first.

    Notes
    -----
    Months since the newest release, over three years, and the logarithm of the rows that measured a model
    count the same; a model without a date has its measurements alone.
    """
    return keep(snapshot, "models_ordered", (), lambda: _ordered(snapshot))


def _ordered(snapshot: Snapshot) -> tuple[ModelPreset, ...]:
    rows = Counter(b.model_id for b in snapshot.benchmarks if b.model_id)
    newest = max((_month(m.released_on) for m in snapshot.models.values()), default=0)

    def weight(model: ModelPreset) -> float:
        month = _month(model.released_on)
        age = max(0.0, 1.0 - (newest - month) / MONTHS) if month else 0.0
        return age + min(1.0, math.log1p(rows[model.id]) / math.log1p(MANY_ROWS))

    return tuple(sorted(snapshot.models.values(), key=lambda m: (-weight(m), m.id)))


def _month(day: str) -> int:
    """Months of a date, which may be a month or a year; 0 where there is none."""
    parts = day.split("-")
    if not parts[0].isdigit():
        return 0
    return int(parts[0]) * 12 + (int(parts[1]) if len(parts) > 1 else 6)


def searchable(snapshot: Snapshot) -> Mapping[str, str]:
    """By id, all names of a model: its own, its aliases, and those that it shares with others."""
    return keep(snapshot, "model_search", (), lambda: _searchable(snapshot))


def _searchable(snapshot: Snapshot) -> dict[str, str]:
    names = snapshot.model_names.names_by_target()
    return {
        model.id: " ".join((model.id, model.name, model.hf_repo, model.series, *names.get(model.id, ())))
        for model in snapshot.models.values()
    }


def plain(text: str) -> str:
    """A text as names are compared in a search: letters and digits alone."""
    return "".join(c for c in normalise_name(text) if c.isalnum() or c.isspace())


def _plain_texts(snapshot: Snapshot) -> dict[str, tuple[str, frozenset[str]]]:
    """By id, the names of a model as a search compares them, and each word of them."""
    made = {key: plain(text) for key, text in searchable(snapshot).items()}
    return {key: (text, frozenset(text.split())) for key, text in made.items()}


def found(snapshot: Snapshot, query: str, family: str = "") -> list[ModelPreset]:
    """Presets whose names hold every word of a query, those first that one of the words names whole.

    Parameters
    ----------
    query: as typed; width, case, hyphens and dots do not matter. family: of these alone; empty: of all.
    """
    texts = keep(snapshot, "model_search_plain", (), lambda: _plain_texts(snapshot))
    words = plain(query.replace("-", " ").replace("_", " ")).split()
    whole = plain(query)
    rows = []
    for place, model in enumerate(ordered(snapshot)):
        if family not in ("", model.family):
            continue
        text, single = texts[model.id]
        if all(word in text for word in words):
            rows.append((not (whole in single or model.id == query.strip().casefold()), place, model))
    return [model for _, _, model in sorted(rows, key=lambda row: row[:2])]
