"""Every column of the catalogue, declared once: seed, imports, tables, exports, lists, documents follow it.

A new column takes two places, its field in `tables.py` and its line in `subjects.py`, `observations.py` or
`statements.py`, and a migration of the database.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlmodel import SQLModel

from app.catalog.columns import observations, statements, subjects
from app.catalog.columns.kinds import DataKind

KINDS: Mapping[str, DataKind] = {
    kind.name: kind
    for kind in (
        subjects.SOURCES,
        subjects.GPUS,
        subjects.MODELS,
        subjects.FIGURES,
        subjects.FACTS_OF_CARDS,
        subjects.aliases("gpu", "gpu_aliases.csv"),
        subjects.aliases("model", "model_aliases.csv"),
        observations.PRICES,
        observations.RENTALS,
        observations.RATES,
        observations.BENCHMARKS,
        observations.MEMORY_CASES,
        statements.FRAMEWORK_SUPPORT,
        statements.ENGINE_SUPPORT,
        statements.HOST_CLASSES,
        statements.AVAILABILITY,
        observations.QUOTES,
        subjects.LINT_EXCEPTIONS,
    )
}
"""Every kind; those that are referred to come before those that refer."""
_IMPORTED = (
    "prices",
    "rentals",
    "rates",
    "gpus",
    "figures",
    "benchmarks",
    "models",
    "engine_support",
    "quotes",
)
IMPORT_KINDS: Mapping[str, DataKind] = {name: KINDS[name] for name in _IMPORTED}
"""Kinds that can be imported, in the order of their use."""
CATALOG_ROWS: tuple[type[SQLModel], ...] = tuple(dict.fromkeys(k.row for k in KINDS.values() if k.stored))
"""Tables that answers depend on; parents before children."""
