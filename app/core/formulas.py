"""The registry of formulas: what /method prints and the documentation test reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.core.estimates import Basis


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a formula or constant was read."""

    text: str
    url: str = ""
    read_on: str = "2026-11-30"


@dataclass(frozen=True, slots=True)
class Formula:
    """One formula: symbols in the standard notation, unit of the result, where it stops being valid."""

    id: str
    """Dotted: memory.kv_cache, speed.decode, cost.energy …"""
    title: str
    """English source text; translated through the catalogue."""
    expression: str
    unit: str
    basis: Basis
    validity: str
    references: tuple[Reference, ...] = field(default=())


FORMULAS: dict[str, Formula] = {}


def register(*formulas: Formula) -> None:
    """Add formulas at import of the module that computes them; an id is given once."""
    for formula in formulas:
        if formula.id in FORMULAS:
            raise ValueError(f"formula {formula.id} is registered twice")
        FORMULAS[formula.id] = formula
