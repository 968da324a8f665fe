"""Purchase prices and rents: every observation, whether it counts on a day, and why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from app.caching import Cache
from app.catalog.names import normalise_name
from app.catalog.prices import AGEING_FROM_DAYS
from app.catalog.records import (
    LAUNCH,
    PER_CARD,
    PER_SERVER,
    UNDATED,
    PriceObservation,
    Rental,
    effective_date,
    is_bare_year,
)
from app.catalog.snapshot import Snapshot
from app.core.answer import AnyMap, Figure, answer
from app.core.estimates import Basis, Message
from app.core.gpu import GpuRef, PriceChoice, Source
from app.core.question import CONDITIONS, PriceRules

OBSERVED: Basis = "exact"
"""A price, a rent, a rate of exchange as its source states it, on its day and in its currency."""
USES = ("counts", "held", "unused", "other")
"""counts: picked on the day; unused: cannot count, held: waits for confirmation and cannot count either;
other: could, but a better one is there."""
AGES = ("fresh", "ageing", "stale", "undated")
_KEPT = 8


@answer(omit=("more",), shown=("unused_code",))
class PriceRow:
    """One purchase price as it was observed."""

    id: str
    """Id of the observation."""
    gpu: GpuRef
    """The card."""
    name_as_written: str
    """The card as the source names it."""
    amount: Figure
    """The price in `currency`."""
    currency: str
    """ISO 4217 code."""
    amount_cny: Figure | None
    """The price in yuan at the rate of its day; null where no rate is known."""
    per: str
    """card, or server-8: a whole 8-card machine, host included, never divided."""
    condition: str
    """new, used, refurbished or modded."""
    tax: str
    """included, excluded or unknown."""
    region: str
    """Where it holds: CN, US, HK, TW, EU or global."""
    channel: str
    """Who sells."""
    channel_kind: str
    """What kind of seller: retail, listings_mean, asking, article, launch …"""
    observed_on: str
    """Day, month or year of the observation, ISO 8601."""
    age_days: int | None
    """Days from the observation to the day of the answer; null where no day is known."""
    stale: bool
    """Whether it is older than 180 days or without a day."""
    converted: bool
    """Whether it is in another currency than yuan."""
    n: int
    """Sales or listings behind the amount, as the source counts them."""
    basis: Basis
    """How it is known: exact, as its source states it."""
    source: Source
    """Where it was read."""
    quality: str
    """What a check of the source or a person said of it."""
    variant_assumed: bool
    """Whether the form factor was not stated, so that it serves each variant."""
    note: str
    """What the source says beside."""
    unused: Message | None
    """Why it cannot count on the day; null where it can."""
    more: AnyMap | None
    """Further columns of the row by name, which nothing is calculated with; absent where it has none."""

    @property
    def unused_code(self) -> str | None:
        """Code of `unused`."""
        return self.unused.code if self.unused else None


@answer(omit=("more",))
class RentalRow:
    """One hourly rent as it was observed."""

    id: str
    """Id of the observation."""
    gpu: GpuRef
    """The card."""
    name_as_written: str
    """The card as the source names it."""
    provider: str
    """Who lets it."""
    instance: str
    """Name of the machine that is rented."""
    gpu_count: int
    """Cards in the machine."""
    currency: str
    """ISO 4217 code."""
    per_hour: Figure
    """Rent of the machine for an hour, in `currency`."""
    per_gpu_hour: Figure
    """Rent of one card for an hour, in `currency`."""
    per_gpu_hour_cny: Figure | None
    """The same in yuan at the rate of its day; null where no rate is known."""
    billing: str
    """on-demand, spot, monthly or yearly."""
    region: str
    """Where the machine stands."""
    observed_on: str
    """Day, month or year of the observation, ISO 8601."""
    age_days: int | None
    """Days from the observation to the day of the answer; null where no day is known."""
    basis: Basis
    """How it is known: exact, as its source states it."""
    source: Source
    """Where it was read."""
    variant_assumed: bool
    """Whether the form factor of the card was not stated."""
    held: str
    """Why it waits for confirmation; empty where it does not."""
    note: str
    """What the source says beside."""
    more: AnyMap | None
    """Further columns of the row by name, which nothing is calculated with; absent where it has none."""


def price_row(snapshot: Snapshot, row: PriceObservation, as_of: date, unused: str) -> PriceRow:
    """One observation; `unused` is the code of why it cannot count, empty when it can."""
    age = _age_days(row.observed_on, as_of)
    return PriceRow(
        row.id,
        snapshot.gpu(row.gpu_id).ref,
        row.name_as_written,
        row.amount,
        row.currency,
        _in_yuan(snapshot, row.amount, row.currency, row.observed_on, as_of),
        row.per,
        row.condition,
        row.tax,
        row.region,
        row.channel,
        row.channel_kind,
        row.observed_on,
        age,
        age is None or age > PriceRules().max_age_days or is_bare_year(row.observed_on),
        row.currency != "CNY",
        row.n,
        OBSERVED,
        row.source,
        row.quality,
        row.variant_assumed,
        row.note,
        Message(f"price_{unused}") if unused else None,
        dict(row.more) or None,
    )


def rental_row(snapshot: Snapshot, row: Rental, as_of: date) -> RentalRow:
    """One rent, in yuan too."""
    return RentalRow(
        row.id,
        snapshot.gpu(row.gpu_id).ref,
        row.name_as_written,
        row.provider,
        row.instance,
        row.gpu_count,
        row.currency,
        row.per_hour,
        row.per_gpu_hour,
        _in_yuan(snapshot, row.per_gpu_hour, row.currency, row.observed_on, as_of),
        row.billing,
        row.region,
        row.observed_on,
        _age_days(row.observed_on, as_of),
        OBSERVED,
        row.source,
        row.variant_assumed,
        row.held,
        row.note,
        dict(row.more) or None,
    )


def _in_yuan(snapshot: Snapshot, amount: float, currency: str, observed_on: str, as_of: date) -> float | None:
    day = effective_date(observed_on, as_of)
    use = snapshot.rates.to_cny(currency, day) if day else None
    return amount * use.rate if use else None


def _age_days(observed_on: str, as_of: date) -> int | None:
    """Days since an observation; one that knows only the running year is counted from its first day."""
    if observed_on == f"{as_of.year:04d}":
        return (as_of - as_of.replace(month=1, day=1)).days
    day = effective_date(observed_on)
    return None if day is None else (as_of - day).days


@dataclass(frozen=True, slots=True)
class Entry:
    """One observation as the ledger has it on a day."""

    row: PriceObservation
    label: str
    search: str
    amount_cny: float | None
    rate_on: str
    age_days: int | None
    age: str
    use: str
    reason: str
    """Code of why it does not count; empty when it does."""
    held: str
    """The words of whoever held it."""
    together: int
    """Of how many observations the price that counts is the median; 0 when it does not count."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """All observations known on a day, newest first."""

    entries: tuple[Entry, ...]
    uses: Mapping[str, int]
    cards: int
    """Cards with at least one observation."""


@dataclass(frozen=True, slots=True)
class WantedPrices:
    """What the reader asks to see; empty texts ask for everything."""

    gpu: str = ""
    q: str = ""
    condition: str = ""
    region: str = ""
    currency: str = ""
    age: str = ""
    use: str = ""


_kept: Cache[Ledger] = Cache(_KEPT)


def ledger(snapshot: Snapshot, as_of: date) -> Ledger:
    """The ledger of a day; worked out once for each catalogue version and day."""
    return _kept.get((snapshot.digest, as_of), lambda: _build(snapshot, as_of))


def matching(book: Ledger, wanted: WantedPrices) -> list[Entry]:
    """The entries that are asked for, in the order of the ledger."""
    words = normalise_name(wanted.q).split()
    return [
        entry
        for entry in book.entries
        if (not wanted.gpu or entry.row.gpu_id == wanted.gpu)
        and (not wanted.condition or entry.row.condition == wanted.condition)
        and (not wanted.region or entry.row.region == wanted.region)
        and (not wanted.currency or entry.row.currency == wanted.currency)
        and (not wanted.age or entry.age == wanted.age)
        and (not wanted.use or entry.use == wanted.use or (entry.use, wanted.use) == ("held", "unused"))
        and all(word in entry.search for word in words)
    ]


def _build(snapshot: Snapshot, as_of: date) -> Ledger:
    rules = PriceRules()
    cards = snapshot.price_choices(as_of, rules, CONDITIONS)
    servers = snapshot.server_choices(as_of, rules, CONDITIONS)
    entries = [
        entry
        for gpu in snapshot.gpus
        for entry in _of_card(snapshot, gpu.id, gpu.label, as_of, {PER_CARD: cards, PER_SERVER: servers})
    ]
    entries.sort(key=lambda entry: (-entry.row.day, entry.label.casefold(), entry.row.id))
    return Ledger(
        tuple(entries),
        Counter(entry.use for entry in entries),
        len({entry.row.gpu_id for entry in entries}),
    )


def _of_card(
    snapshot: Snapshot,
    gpu_id: str,
    label: str,
    as_of: date,
    choices: Mapping[str, Mapping[tuple[str, str], PriceChoice]],
) -> Iterator[Entry]:
    card = snapshot.cards.get(gpu_id)
    if card is None:
        return
    unused = {row.id: reason for row, reason in card.unused(as_of, snapshot.rates)}
    number_of_day = as_of.toordinal()
    names = normalise_name(" ".join((gpu_id, snapshot.gpu(gpu_id).name, *snapshot.gpu(gpu_id).aliases)))
    for row in card.observations:
        if row.day > number_of_day:
            continue
        choice = choices[row.per].get((gpu_id, row.condition)) if row.per in choices else None
        use, reason = _use(row, choice, unused.get(row.id, ""), number_of_day)
        dated = row.day != UNDATED
        day = date.fromordinal(row.day) if dated else None
        rate = snapshot.rates.to_cny(row.currency, day) if day else None
        age_days = number_of_day - row.day if dated else None
        yield Entry(
            row,
            label,
            f"{names} {normalise_name(row.name_as_written)} {normalise_name(row.channel)}",
            row.amount * rate.rate if rate else None,
            rate.observed_on.isoformat() if rate and row.currency != "CNY" else "",
            age_days,
            _age(row, age_days),
            use,
            reason,
            row.held,
            len(choice.observation_ids) if choice is not None and use == "counts" else 0,
        )


def _age(row: PriceObservation, age_days: int | None) -> str:
    if age_days is None:
        return "undated"
    if row.bare_year or age_days > PriceRules().max_age_days:
        return "stale"
    return "ageing" if age_days >= AGEING_FROM_DAYS else "fresh"


def _use(row: PriceObservation, choice: PriceChoice | None, unused: str, as_of: int) -> tuple[str, str]:
    """Whether an observation counts; if not, the first rule of the price order that it loses by."""
    if choice is not None and row.id in choice.observation_ids:
        return "counts", ""
    if unused:
        return ("held" if unused == "held" else "unused"), unused
    if choice is None:
        return "other", "other_tax"
    if choice.kind == "quote":
        return "other", "quote_first"
    if row.channel_kind == LAUNCH:
        return "other", "launch_last"
    if row.currency != choice.currency:
        return "other", "other_currency"
    if row.bare_year:
        return "other", "bare_year"
    day = as_of - (choice.age_days or 0)
    if row.day < day:
        return "other", "older"
    if row.day > day or row.region != choice.region:
        return "other", "other_region"
    return "other", "other_channel" if row.channel_kind != choice.channel_kind else "other_seller"


def values_of(entries: Sequence[Entry], field: str) -> list[str]:
    """The values of a field of the observations that occur, the most frequent first."""
    found = Counter(str(getattr(entry.row, field)) for entry in entries)
    return [value for value, _ in found.most_common() if value]
