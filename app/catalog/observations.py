"""What the price rule reads: market observations and suppliers' quotes, with their days worked out once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from app.catalog.dates import effective_date, is_bare_year
from app.core.gpu import Source

UNDATED = 0
"""Day number of an observation without a date."""
CHANNEL_ORDER = ("retail", "quote", "diy", "listings_mean", "asking", "listings_lowest", "article")
"""Kinds of channel, the best first, when several speak of one day. A quote that the market only reports has
no validity; it counts as a seller's dated offer."""
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
