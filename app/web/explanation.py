"""What the popover and the page of one figure hold."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.core.formulas import Operand


@dataclass(frozen=True, slots=True)
class Fact:
    """One line under the formula; `url` leads to where it was read."""

    term: str
    text: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the popover and the page of one figure show."""

    title: str
    value: str
    unit: str = ""
    interval: str = ""
    basis: str = ""
    formula: str = ""
    facts: tuple[Fact, ...] = field(default=())
    expression: str = ""
    """The formula as it was computed; with `operands` it gives the figure."""
    operands: tuple[Operand, ...] = field(default=())
