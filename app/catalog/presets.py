"""What a snapshot holds beside the types of the core: model presets, rentals, support, availability."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from app.catalog.names import normalise_name
from app.core.estimates import Message
from app.core.faults import FieldError, InputFault
from app.core.gpu import Figure, Source
from app.core.model.architecture import ModelArchitecture


@dataclass(frozen=True, slots=True)
class FigureEntry:
    """One value of one figure of a card: the chosen one, or one that disagrees with it."""

    id: str
    name: str
    figure: Figure
    chosen: bool


@dataclass(frozen=True, slots=True)
class ModelPreset:
    """A known model with its architecture."""

    id: str
    name: str
    family: str
    series: str
    hf_repo: str
    architecture: ModelArchitecture
    parameters_published: float | None
    source: Source
    note: str = ""
    basis: str = "exact"
    as_of: str = ""
    check_note: str = ""
    published_source: Source | None = None
    formula: str = ""
    more: tuple[tuple[str, Any], ...] = ()
    """Further columns of the row, which nothing calculates with."""


@dataclass(frozen=True, slots=True)
class Rental:
    """One hourly rent as it was observed."""

    id: str
    gpu_id: str
    provider: str
    instance: str
    gpu_count: int
    currency: str
    per_hour: float
    """Of the whole instance."""
    per_gpu_hour: float
    billing: str
    region: str
    observed_on: str
    source: Source
    variant_assumed: bool = False
    held: str = ""
    note: str = ""
    name_as_written: str = ""
    more: tuple[tuple[str, Any], ...] = ()
    """Further columns of the row, which nothing calculates with."""


@dataclass(frozen=True, slots=True)
class FrameworkSupport:
    """One release of a framework and the hardware it runs on."""

    framework: str
    version: str
    python: str
    cuda: str
    cudnn: str
    min_driver_linux: str
    min_driver_windows: str
    min_compute_capability: str
    support: Mapping[str, Any]
    source: Source
    as_of: str = ""
    note: str = ""


REMARKS: Mapping[str, str] = {
    "licence_required": "licence required",
    "case_by_case": "licence required",
    "conditional": "restricted",
    "licensed": "sold",
    "not_permitted": "restricted",
    "restricted": "restricted",
    "reported_stop": "restricted",
    "discouraged": "restricted",
    "disputed": "licence required",
    "discontinued": "discontinued",
    "not_sold": "not sold",
    "on_sale": "sold",
    "preferred": "sold",
    "announced": "announced",
}
"""Status of a remark on availability -> its kind, as few as a filter or a table needs."""


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a card may or can be bought in a region."""

    gpu_id: str
    region: str
    from_on: str
    status: str
    text: str
    source: Source
    until_on: str = ""
    text_zh: str = ""

    @property
    def kind(self) -> str:
        """One of the kinds of REMARKS."""
        return REMARKS.get(self.status, "")

    def holds_on(self, day: str) -> bool:
        """Whether the remark is in force on an ISO day; a month or a year begins with its first day."""
        return self.from_on <= day and (not self.until_on or day[: len(self.until_on)] <= self.until_on)


_ABOUT_TRADE = frozenset({"discontinued", "not_sold", "on_sale", "preferred", "announced"})
_FORBIDS = ("licence_required", "not_permitted", "restricted")
_SPEAKS_AGAINST = ("case_by_case", "conditional", "disputed", "reported_stop", "discouraged")
GLOBAL = "global"


def deciding(facts: Iterable[Availability]) -> tuple[Availability, ...]:
    """The newest remark on the rules and the newest on the trade, what speaks against buying first.

    Notes
    -----
    Whether a rule forbids a sale and whether somebody still sells are two questions: that a card has left
    the shops does not take its export rule away, and a new licence does not bring it back into them.
    """
    heads: dict[bool, Availability] = {}
    for fact in sorted(facts, key=lambda f: f.from_on, reverse=True):
        heads.setdefault(fact.status in _ABOUT_TRADE, fact)
    return tuple(sorted(heads.values(), key=_weight))


def governing_first(facts: Iterable[Availability]) -> tuple[Availability, ...]:
    """Remarks with those that decide in front, the others behind them, the newest first."""
    known = sorted(facts, key=lambda f: f.from_on, reverse=True)
    first = deciding(known)
    return (*first, *(fact for fact in known if fact not in first))


def _weight(fact: Availability) -> int:
    if fact.status in _FORBIDS:
        return 0
    if fact.status in ("discontinued", "not_sold"):
        return 1
    return 2 if fact.status in _SPEAKS_AGAINST else 3


def remarks_for(
    available: Mapping[tuple[str, str], Iterable[Availability]], gpu_id: str, region: str
) -> tuple[Availability, ...]:
    """Remarks that concern a buyer in a region: its own, and what holds for the trade everywhere."""
    own = available.get((gpu_id, region), ())
    if region == GLOBAL:
        return tuple(own)
    everywhere = available.get((gpu_id, GLOBAL), ())
    return (*own, *(fact for fact in everywhere if fact.status in _ABOUT_TRADE))


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of a card that is no number to calculate with, and where it was read."""

    value: str
    basis: str
    source: Source
    as_of: str
    formula: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class MemoryCase:
    """One published memory measurement, to be compared with the estimate."""

    id: str
    kind: str
    workload: Mapping[str, Any]
    measured: Mapping[str, Any]
    gpu_id: str
    gpu_count: int
    measure_kind: str
    outcome: str
    observed_on: str
    source: Source
    note: str = ""
    flag: str = ""


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name: of one target, or between several."""

    kind: str
    name: str
    target_id: str
    candidates: tuple[str, ...] = ()
    note: str = ""


CLOSE_NAMES = 5
CLOSENESS = 0.7
"""Least likeness (0 to 1, of difflib) of a name that is offered."""
MAX_LIKENED = 60
"""Likeness takes time with the square of the length."""


_NUMBERS = re.compile(r"\d{2,}")
_WORDS = re.compile(r"[^\W\d_]{3,}")


def _letters(name: str) -> str:
    return "".join(c for c in name if c.isalnum())


@dataclass(slots=True)
class NameIndex:
    """Exact look-up of names after normalising width, case and spaces. Never fuzzy."""

    unknown_code: str
    _found: dict[str, str | None] = field(default_factory=dict)
    """Normalised name -> id; None where the name is ambiguous."""
    _candidates: dict[str, set[str]] = field(default_factory=dict)

    def add(self, names: Iterable[tuple[str, str]]) -> None:
        """Add (name, id) pairs of equal rank. A name already known from a stronger rank keeps its meaning."""
        rank: dict[str, set[str]] = {}
        for name, target in names:
            rank.setdefault(normalise_name(name), set()).add(target)
        for key, targets in rank.items():
            if key and key not in self._found:
                self._found[key] = next(iter(targets)) if len(targets) == 1 else None
                self._candidates[key] = targets

    def add_ambiguous(self, name: str, candidates: Iterable[str]) -> None:
        """Add a name that is refused, even where the catalogue has only one of the cards it may mean."""
        key = normalise_name(name)
        if key not in self._found:
            self._found[key] = None
            self._candidates[key] = set(candidates)

    def add_aliases(self, aliases: Iterable[Alias], kind: str) -> None:
        """Add the aliases of one kind, the ambiguous ones too."""
        own = [a for a in aliases if a.kind == kind]
        self.add((a.name, a.target_id) for a in own if a.target_id)
        for alias in own:
            if not alias.target_id:
                self.add_ambiguous(alias.name, alias.candidates)

    def resolve(self, name: str, pointer: str, *, hinting: bool = False) -> str:
        """The id behind a name.

        Parameters
        ----------
        hinting: name what an unknown name may have meant; not for tables of thousands of names.

        Errors
        ------
        InputFault with the code of an unknown name, or `ambiguous_name` with the candidates.
        """
        key = normalise_name(name)
        target = self._found.get(key)
        if target is not None:
            return target
        if key in self._found:
            candidates = sorted(self._candidates[key])
            raise InputFault.at(pointer, "ambiguous_name", value=name[:200], candidates=candidates)
        if hinting and (close := self.close_to(key)):
            params = {"value": name[:200], "hint": Message("close_names", {"candidates": close})}
            raise InputFault((FieldError(pointer, self.unknown_code, params),))
        raise InputFault.at(pointer, self.unknown_code, value=name[:200])

    def close_to(self, key: str) -> list[str]:
        """Ids whose names look most like an unknown one, for a person to choose from; none is ever taken."""
        if not 3 <= len(key) <= MAX_LIKENED:
            return []
        found: list[str] = []
        plain = _letters(key)
        # Likeness is dear: first those that share a number with the name, else a word.
        numbers, words = _NUMBERS.findall(key), _WORDS.findall(key)
        near = [n for n in self._found if any(part in n for part in numbers)]
        near = near or [n for n in self._found if any(part in n for part in words)]
        starts = [n for n in near if _letters(n).startswith(plain)]
        for name in (*sorted(starts, key=len)[:CLOSE_NAMES], *get_close_matches(key, near, 8, CLOSENESS)):
            targets = sorted(self._candidates[name])
            found += [target for target in targets if target not in found]
        return found[:CLOSE_NAMES]
