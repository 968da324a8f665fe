"""What a snapshot holds beside the types of the core, and the day from which each observation counts."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Any

from app.core.answer import answer
from app.core.decide.evidence import CHANNELS_READ
from app.core.gpu import Figure, Source
from app.core.model.architecture import ModelArchitecture

_PATTERN = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")


@lru_cache(maxsize=65_536)
def effective_date(text: str, as_of: date | None = None) -> date | None:
    """The day that an observation counts from; None when it is undated.

    Parameters
    ----------
    as_of: the day of the question; a bare year that is running then counts from that day, not from its last,
        which is still to come.

    Errors
    ------
    ValueError for a text that is neither empty nor YYYY, YYYY-MM or YYYY-MM-DD.
    """
    if not text:
        return None
    found = _PATTERN.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a date: YYYY-MM-DD, YYYY-MM or YYYY")
    year, month = int(found[1]), int(found[2] or 12)
    if found[3]:
        return date(year, month, int(found[3]))
    if not 1 <= month <= 12:
        raise ValueError(f"{text!r} has no such month")
    last = date(year, month, monthrange(year, month)[1])
    if as_of is not None and is_bare_year(text) and date(year, 1, 1) <= as_of:
        return min(last, as_of)
    return last


def is_bare_year(text: str) -> bool:
    """Whether only the year is known."""
    return len(text) == 4


UNDATED = 0
"""Day number of an observation without a date."""
CHANNEL_ORDER = CHANNELS_READ
"""Kinds of channel, the best first, when several speak of one day."""
CHANNEL_RANK = {kind: rank for rank, kind in enumerate(CHANNEL_ORDER)}
LAUNCH = "launch"
CHANNEL_KINDS = (*CHANNEL_ORDER, LAUNCH)
PER_CARD = "card"
PER_SERVER = "server-8"
PER = (PER_CARD, PER_SERVER)
TAXES = ("included", "excluded", "unknown")
CONFIRMED = "confirmed"
"""Quality of a price that a person has confirmed although it is far from the others: no doubt is left."""


@dataclass(frozen=True, slots=True)
class PriceObservation:
    """One purchase price as it was observed."""

    id: str
    gpu_id: str
    condition: str
    amount: float
    currency: str
    observed_on: str
    source: Source
    per: str = PER_CARD
    tax: str = "unknown"
    region: str = ""
    channel: str = ""
    channel_kind: str = "retail"
    n: int = 1
    """Sales or listings behind the amount, as the source counts them."""
    quality: str = ""
    variant_assumed: bool = False
    held: str = ""
    note: str = ""
    supersedes: str | None = None
    name_as_written: str = ""
    more: tuple[tuple[str, Any], ...] = ()
    """Further columns of the row, which no rule reads."""
    day: int = field(init=False, compare=False)
    bare_year: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        dated = effective_date(self.observed_on)
        bare = is_bare_year(self.observed_on)
        if dated and bare:
            # Known within the year, fresh on no day of it: it counts from the first.
            dated = dated.replace(month=1, day=1)
        object.__setattr__(self, "day", dated.toordinal() if dated else UNDATED)
        object.__setattr__(self, "bare_year", bare)


@dataclass(frozen=True, slots=True)
class Quote:
    """A supplier's offer, good for everything between its two days."""

    id: str
    gpu_id: str
    supplier: str
    unit_price: float
    quoted_on: str
    valid_until: str
    currency: str = "CNY"
    condition: str = "new"
    per: str = PER_CARD
    tax: str = "unknown"
    tax_rate: float | None = None
    """Fraction."""
    invoice: str = ""
    """special, ordinary, none, or empty: not stated."""
    quantity: int = 1
    withdrawn: bool = False
    supersedes: str | None = None
    held: str = ""
    note: str = ""
    first_day: int = field(init=False, compare=False)
    last_day: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        first, last = effective_date(self.quoted_on), effective_date(self.valid_until)
        # A quote without one of its days is valid on no day.
        object.__setattr__(self, "first_day", first.toordinal() if first else 1)
        object.__setattr__(self, "last_day", last.toordinal() if first and last else UNDATED)


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
    released_on: str = ""
    checkpoint_gib: float | None = None
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
    "cancelled": "not sold",
    "not_shipped": "not sold",
    "available": "sold",
    "module_only": "sold",
    "sold_in_server_only": "sold",
    "advised_against": "restricted",
    "driver_last_branch": "support ends",
    "framework_ending": "support ends",
    "vendor_support_ended": "support ends",
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
    basis: str = ""
    """read, or derived from thresholds; empty: read."""
    quality: str = ""

    @property
    def kind(self) -> str:
        """One of the kinds of REMARKS."""
        return REMARKS.get(self.status, "")

    def holds_on(self, day: str) -> bool:
        """Whether the remark is in force on an ISO day; a month or a year begins with its first day."""
        return self.from_on <= day and (not self.until_on or day[: len(self.until_on)] <= self.until_on)


_ABOUT_TRADE = frozenset(
    "discontinued not_sold on_sale preferred announced cancelled not_shipped available module_only "
    "sold_in_server_only".split()
)
_ABOUT_SUPPORT = frozenset({"driver_last_branch", "framework_ending", "vendor_support_ended"})
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
    heads: dict[tuple[bool, bool], Availability] = {}
    for fact in sorted(facts, key=lambda f: f.from_on, reverse=True):
        heads.setdefault((fact.status in _ABOUT_TRADE, fact.status in _ABOUT_SUPPORT), fact)
    return tuple(sorted(heads.values(), key=_weight))


def governing_first(facts: Iterable[Availability]) -> tuple[Availability, ...]:
    """Remarks with those that decide in front, the others behind them, the newest first."""
    known = sorted(facts, key=lambda f: f.from_on, reverse=True)
    first = deciding(known)
    return (*first, *(fact for fact in known if fact not in first))


def _weight(fact: Availability) -> int:
    if fact.status in _FORBIDS:
        return 0
    if fact.status in ("discontinued", "not_sold", "cancelled", "not_shipped"):
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


@answer(omit=("formula", "note"))
class Fact:
    """One fact of a card that is no number to calculate with, and where it was read."""

    value: str
    """The fact."""
    basis: str
    """How it is known."""
    source: Source
    """Where it was read."""
    as_of: str
    """Day of the fact, ISO 8601."""
    formula: str = ""
    """How it was worked out; absent where it was read."""
    note: str = ""
    """What is to be said of it; absent where nothing is."""


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
