"""The price ledger: every observation, whether it counts on a day, and why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from app.caching import Cache
from app.catalog.names import normalise_name
from app.catalog.prices import AGEING_FROM_DAYS
from app.catalog.records import LAUNCH, PER_CARD, PER_SERVER, UNDATED, PriceObservation
from app.catalog.snapshot import Snapshot
from app.core.gpu import PriceChoice
from app.core.question import CONDITIONS, PriceRules
from app.services.payload import Payload, gpu_label, number
from app.services.payload import source as source_body

USES = ("counts", "held", "unused", "other")
"""counts: picked on the day; unused: cannot count, held: waits for confirmation and cannot count either;
other: could, but a better one is there."""
AGES = ("fresh", "ageing", "stale", "undated")
_KEPT = 8


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
class Wanted:
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


def matching(book: Ledger, wanted: Wanted) -> list[Entry]:
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


def body(entry: Entry) -> Payload:
    """An entry as JSON."""
    row = entry.row
    return {
        "id": row.id,
        "gpu": {"id": row.gpu_id, "label": entry.label},
        "name_as_written": row.name_as_written,
        "condition": row.condition,
        "amount": number(row.amount),
        "currency": row.currency,
        "amount_cny": number(entry.amount_cny),
        "rate_on": entry.rate_on,
        "per": row.per,
        "tax": row.tax,
        "region": row.region,
        "channel": row.channel,
        "channel_kind": row.channel_kind,
        "observed_on": row.observed_on,
        "age_days": entry.age_days,
        "age": entry.age,
        "n": row.n,
        "quality": row.quality,
        "variant_assumed": row.variant_assumed,
        "use": entry.use,
        "reason": entry.reason,
        "held": entry.held,
        "together": entry.together,
        "note": row.note,
        "source": source_body(row.source),
    }


def _build(snapshot: Snapshot, as_of: date) -> Ledger:
    rules = PriceRules()
    cards = snapshot.price_choices(as_of, rules, CONDITIONS)
    servers = snapshot.server_choices(as_of, rules, CONDITIONS)
    entries = [
        entry
        for gpu in snapshot.gpus
        for entry in _of_card(snapshot, gpu.id, gpu_label(gpu), as_of, {PER_CARD: cards, PER_SERVER: servers})
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
