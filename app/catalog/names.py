"""Names as people write them: one way to normalise them, spellings of regions, exact look-up."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from app.core.estimates import Message
from app.core.faults import FieldError, InputFault

_REGIONS = {
    "cn": "CN",
    "china": "CN",
    "china mainland": "CN",
    "mainland china": "CN",
    "prc": "CN",
    "中国": "CN",
    "中国大陆": "CN",
    "中国内地": "CN",
    "大陆": "CN",
    "内地": "CN",
    "国内": "CN",
    "全国": "CN",
    "中國": "CN",
    "中國大陸": "CN",
    "shenzhen huaqiangbei": "CN",
    "us": "US",
    "usa": "US",
    "united states": "US",
    "united states of america": "US",
    "美国": "US",
    "美國": "US",
    "hk": "HK",
    "hong kong": "HK",
    "hong kong sar": "HK",
    "香港": "HK",
    "中国香港": "HK",
    "tw": "TW",
    "taiwan": "TW",
    "台湾": "TW",
    "台灣": "TW",
    "臺灣": "TW",
    "中国台湾": "TW",
    "eu": "EU",
    "europe": "EU",
    "european union": "EU",
    "欧洲": "EU",
    "欧盟": "EU",
    "global": "global",
    "world": "global",
    "worldwide": "global",
    "international": "global",
    "全球": "global",
    "全世界": "global",
    "us/global": "global",
}


def normalise_name(name: str) -> str:
    """A name without differences of width, case and spacing: what exact look-up compares."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def normalise_region(text: str) -> str | None:
    """CN, US, HK, TW, EU or global; empty stays empty, an unknown spelling gives None."""
    return _REGIONS.get(normalise_name(text)) if text.strip() else ""


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

    def names_by_target(self) -> dict[str, list[str]]:
        """By id, every name that means it, alone or among others."""
        found: dict[str, list[str]] = {}
        for name, targets in self._candidates.items():
            for target in targets:
                found.setdefault(target, []).append(name)
        return found

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


def index_of_cards(cards: Iterable[tuple[str, str]], aliases: Iterable[Alias]) -> NameIndex:
    """Cards, as (id, name), by id, alias and name; the first that knows a name decides."""
    known, index = tuple(cards), NameIndex("unknown_gpu")
    index.add((row_id, row_id) for row_id, _ in known)
    index.add_aliases(aliases, "gpu")
    index.add((name, row_id) for row_id, name in known)
    return index


def index_of_models(models: Iterable[tuple[str, str, str]], aliases: Iterable[Alias]) -> NameIndex:
    """Models, as (id, repository, name), by id, alias, repository and name."""
    known, index = tuple(models), NameIndex("unknown_model")
    index.add((row_id, row_id) for row_id, _, _ in known)
    index.add_aliases(aliases, "model")
    index.add((repository, row_id) for row_id, repository, _ in known)
    index.add((name, row_id) for row_id, _, name in known)
    return index


def alias_of(row: Any) -> Alias:
    """The alias of a stored row."""
    candidates = tuple(c for c in row.candidates.split("|") if c)
    return Alias(row.kind, row.name, row.target_id, candidates, row.note)
