"""Quotes for all askers: the list, and suppliers side by side on one basis of tax, unit and work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from types import MappingProxyType
from typing import Any

from sqlalchemy import Engine

from app.catalog.quotes import (
    QuoteNotFound,
    StoredQuote,
    confirm_quote,
    list_quotes,
    withdraw_quote,
)
from app.catalog.snapshot import Snapshot
from app.core.answer import AnyMap, Figure, answer
from app.core.estimates import Message
from app.core.faults import InputFault
from app.core.gpu import GpuRef
from app.core.question import CONDITIONS, PriceRules
from app.core.quotes import (
    CARDS_PER_SERVER,
    PER_SERVER,
    NormalisedQuote,
    QuotedCard,
    QuoteLine,
    WorkRate,
    compare,
    flags,
    normalise,
)
from app.services import calculator
from app.services.answers import DollarRate
from app.services.lists import ListPage
from app.services.results import ShortlistAnswer, Versions

__all__ = [
    "QuoteNotFound",
    "compare_quotes",
    "confirm_quote",
    "withdraw_quote",
]
MAX_COMPARED = 200
NO_WORK: Mapping[tuple[str, str], WorkRate] = MappingProxyType({})
_NOT_SHOWN = frozenset({"gpu_id", "held", "replaced"})
_LINE_FIELDS = tuple(QuoteLine.__dataclass_fields__)


@answer(shown=("code", "params"))
class Flag:
    """What is to be minded, or was taken for granted."""

    text: Message
    """The sentence."""

    @property
    def code(self) -> str:
        """Code of the sentence."""
        return self.text.code

    @property
    def params(self) -> AnyMap:
        """What the sentence names, by name."""
        return self.text.params


@answer()
class QuotedWork:
    """What a unit of the asker's work costs with the cards of a quote."""

    amount_cny: Figure
    """Yuan for one unit."""
    unit: str
    """million_tokens, million_images, million_samples …"""


@answer()
class QuoteAnswer:
    """One quote: as it was made, its state on the day, and on the common basis."""

    id: str
    """Id of the quote."""
    supplier: str
    """Who offers."""
    item_as_written: str
    """The item in the supplier's words."""
    gpu: GpuRef
    """The card that it means."""
    quantity: int
    """How many are offered."""
    unit_price: Figure
    """Price of one, in `currency`."""
    currency: str
    """ISO 4217 code."""
    per: str
    """card, or server-8: a machine with eight of them, host included."""
    tax_rate: Figure | None
    """Tax as a fraction; null where it is not stated."""
    tax: str
    """included, excluded or unknown."""
    invoice: str
    """special, ordinary, none, or empty: not stated."""
    condition: str
    """new, used, refurbished or modded."""
    delivery_days: int | None
    """Days to delivery."""
    warranty_months: int | None
    """Months of warranty."""
    warranty_kind: str
    """Who stands for the warranty, as stated."""
    payment_terms: str
    """Terms of payment, as stated."""
    quoted_on: str
    """Day of the quote, ISO 8601."""
    valid_until: str
    """Its last day, ISO 8601; empty where it is not stated."""
    attachment_name: str
    """File that it came in."""
    note: str
    """What is to be said of it."""
    supersedes: str | None
    """Id of the quote that it takes the place of."""
    withdrawn: bool
    """Whether it was withdrawn."""
    state: str
    """valid, held, undated, expired, future, withdrawn or replaced, on the day."""
    held: str | None
    """Why it waits for confirmation; null where it does not."""
    needs_confirmation: bool
    """Whether it drives no choice until somebody has confirmed it."""
    flags: tuple[Flag, ...] = ()
    """What is to be minded."""
    assumptions: tuple[Flag, ...] = ()
    """What was taken for granted."""
    gross_cny_per_card: Figure | None = None
    """What is paid for a card, tax included, yuan; null where no rate is known."""
    net_cny_per_card: Figure | None = None
    """The same without tax, yuan."""
    cost_cny_per_card: Figure | None = None
    """What remains after the tax that a general taxpayer reclaims, yuan."""
    gross_cny_total: Figure | None = None
    """What is paid for all of it, yuan."""
    includes_host: bool | None = None
    """Whether the host is in the price; null where no rate is known."""
    cost_cny_per_sustained_tflops: Figure | None = None
    """Cost for a TFLOPS that the asker's work sustains, yuan; null without a workload."""
    cost_per_unit: QuotedWork | None = None
    """Cost of a unit of the asker's work; null without a workload."""


@answer()
class ComparedQuotes:
    """Quotes that can be compared: of one card, condition and unit."""

    gpu: GpuRef
    """The card."""
    condition: str
    """new, used, refurbished or modded."""
    per: str
    """card or server-8."""
    valid: int
    """How many are valid on the day."""
    lowest_cny: Figure | None
    """Cost per card of the lowest of the valid ones without doubt, yuan."""
    lowest_id: str | None
    """Its id."""
    mean_cny: Figure | None
    """Mean of the valid ones, yuan."""
    spread: Figure | None
    """(highest - lowest) / lowest, a fraction."""
    quotes: tuple[QuoteAnswer, ...]
    """The quotes, the lowest cost first."""


@answer(omit=("rate",))
class QuoteComparison:
    """Suppliers side by side."""

    groups: tuple[ComparedQuotes, ...]
    """By card, condition and unit."""
    as_of: str
    """Day of the states and of the rates, ISO 8601."""
    versions: Versions
    """What the answer was made with."""
    currency: str = "CNY"
    """CNY, or USD where the amounts stand in dollars too."""
    rate: DollarRate | None = None
    """The rate behind the dollars; only with `currency=USD`."""


@answer(omit=("rate",))
class QuoteList(ListPage):
    """A page of quotes, the newest first."""

    items: tuple[QuoteAnswer, ...]
    """The quotes."""
    as_of: str
    """Day of the states, ISO 8601."""


@answer()
class QuoteChanged:
    """A quote that was confirmed or withdrawn."""

    id: str
    """Id of the quote."""
    versions: Versions
    """Version of the catalogue after it."""


@dataclass(frozen=True, slots=True)
class QuoteInMarket:
    """A quote beside what the market pays and what the card can do."""

    quote: QuoteAnswer
    against_market: float | None
    """Gross over the market's price, less one."""
    cost_cny_per_peak_tflops: float | None
    days_left: int | None


@dataclass(frozen=True, slots=True)
class GroupInMarket:
    """Compared quotes beside the market."""

    group: ComparedQuotes
    card: str
    """Short name of the card."""
    market_cny: float | None
    market_on: str
    precision: str
    """The 16-bit rate that TFLOPS are of; empty where the card's is not known."""
    quotes: tuple[QuoteInMarket, ...]


def quote_list(
    engine: Engine, snapshot: Snapshot, as_of: date, gpu: str, limit: int, cursor: str | None
) -> QuoteList:
    """All quotes, or those of one card, the newest first, each on the common basis with its flags.

    Errors
    ------
    InputFault for an unknown card, or a cursor that no page gave.
    """
    gpu_id = snapshot.resolve_gpu(gpu, "/gpu") if gpu else ""
    known = [quote for quote in list_quotes(engine, gpu_id) if quote.gpu_id in snapshot.cards]
    first = 0
    if cursor is not None:
        place = next((n for n, quote in enumerate(known) if quote.id == cursor), None)
        if place is None:
            raise InputFault.at("/cursor", "unknown_cursor")
        first = place + 1
    chosen = known[first : first + limit]
    return QuoteList(
        next=chosen[-1].id if first + limit < len(known) else None,
        total=len(known),
        currency="CNY",
        rate=None,
        items=tuple(
            _answer(quote, _normalised(quote, snapshot, as_of, None), snapshot, as_of) for quote in chosen
        ),
        as_of=as_of.isoformat(),
    )


def compare_quotes(
    engine: Engine,
    snapshot: Snapshot,
    as_of: date,
    ids: Sequence[str] = (),
    workload: Mapping[str, Any] | None = None,
) -> QuoteComparison:
    """Suppliers side by side.

    Parameters
    ----------
    ids: the quotes to compare; empty for all that are not withdrawn or replaced.
    workload: the user's work; with it come yuan per sustained TFLOPS and per unit of work.

    Errors
    ------
    InputFault for an unknown id or a workload at fault.
    """
    quotes = {q.id: q for q in list_quotes(engine)}
    unknown = [i for i in ids if i not in quotes]
    if unknown:
        raise InputFault.at("/ids", "unknown_reference", value=unknown[0][:80])
    chosen = [quotes[i] for i in dict.fromkeys(ids)] or [
        q for q in quotes.values() if not q.withdrawn and not q.replaced
    ]
    works = _work_rates(chosen, snapshot, as_of, workload) if workload is not None else {}
    groups = compare_stored(chosen[:MAX_COMPARED], snapshot, as_of, works)
    return QuoteComparison(groups, as_of.isoformat(), Versions.of(snapshot.version))


def compare_stored(
    quotes: Sequence[StoredQuote],
    snapshot: Snapshot,
    as_of: date,
    works: Mapping[tuple[str, str], WorkRate] = NO_WORK,
) -> tuple[ComparedQuotes, ...]:
    """Quotes side by side, whether they are kept or only read; those without a rate are left out."""
    stored = {quote.id: quote for quote in quotes}
    normal = [_normalised(q, snapshot, as_of, works.get((q.gpu_id, q.per))) for q in stored.values()]
    return tuple(
        ComparedQuotes(
            snapshot.gpu(group.gpu_id).ref,
            group.condition,
            group.per,
            group.valid,
            _money(group.lowest_cny),
            group.lowest_id or None,
            _money(group.mean_cny),
            None if group.spread is None else round(group.spread, 4),
            tuple(_answer(stored[n.line.id], n, snapshot, as_of) for n in group.quotes),
        )
        for group in compare([n for n in normal if n is not None], as_of)
    )


def in_market(groups: Sequence[ComparedQuotes], snapshot: Snapshot, as_of: date) -> list[GroupInMarket]:
    """Each group with what the market pays, and each quote with yuan per TFLOPS of the card's 16-bit rate."""
    found = []
    for group in groups:
        gpu = snapshot.gpu(group.gpu.id)
        market = None
        if group.condition in CONDITIONS:
            prices = snapshot.cards[gpu.id]
            market = prices.choose_market(as_of, PriceRules(), group.condition, snapshot.rates)
        name = next((n for n in ("bf16_tflops", "fp16_tflops") if gpu.rate_tflops(n)), "")
        rate = gpu.rate_tflops(name) if name else None
        paid = market.amount_cny if market else None
        found.append(
            GroupInMarket(
                group,
                gpu.label,
                paid,
                market.observed_on if market else "",
                name.split("_")[0],
                tuple(
                    QuoteInMarket(
                        quote,
                        quote.gross_cny_per_card / paid - 1
                        if paid and quote.gross_cny_per_card is not None and group.per == "card"
                        else None,
                        quote.cost_cny_per_card / rate if quote.cost_cny_per_card and rate else None,
                        (date.fromisoformat(quote.valid_until) - as_of).days if quote.valid_until else None,
                    )
                    for quote in group.quotes
                ),
            )
        )
    return found


def _normalised(
    quote: StoredQuote, snapshot: Snapshot, as_of: date, work: WorkRate | None
) -> NormalisedQuote | None:
    line = QuoteLine(**{name: getattr(quote, name) for name in _LINE_FIELDS})
    use = snapshot.rates.to_cny(quote.currency, as_of)
    if use is None:
        return None
    normal = normalise(line, use.rate, work)
    gpu = snapshot.gpu(quote.gpu_id)
    card = QuotedCard(gpu.name, gpu.memory_gib, gpu.gpus_per_board, gpu.rates)
    market = _market(snapshot, quote, as_of)
    found = flags(line, card, normal.gross_cny_per_card, market, as_of)
    return replace(normal, flags=found)


def _market(snapshot: Snapshot, quote: StoredQuote, as_of: date) -> float | None:
    """What the market pays, the quotes themselves and launch prices left out."""
    card = snapshot.cards.get(quote.gpu_id)
    if card is None or quote.condition not in CONDITIONS:
        return None
    choice = card.choose_market(as_of, PriceRules(), quote.condition, snapshot.rates)
    return choice.amount_cny if choice is not None else None


def _work_rates(
    quotes: Sequence[StoredQuote], snapshot: Snapshot, as_of: date, workload: Mapping[str, Any]
) -> dict[tuple[str, str], WorkRate]:
    """What one card gives for a workload over the months that count, by card and by what the quote is of.

    A card is asked alone, one of a server beside its seven others: what fits on eight may not fit on one.
    """
    found: dict[tuple[str, str], WorkRate] = {}
    for gpu_id, per in sorted({(q.gpu_id, q.per) for q in quotes}):
        count = CARDS_PER_SERVER if per == PER_SERVER else 1
        result = _on_card(gpu_id, count, workload, snapshot, as_of)
        if not result.options:
            result = _on_card(gpu_id, count, {**LEAST_LOAD, **workload}, snapshot, as_of)
        if not result.options:
            continue
        option, economics = result.options[0], result.question.economics
        hours = economics.months * economics.hours_per_month * economics.utilisation
        units = float(option.speed.expected) * 3600 * hours / count
        sustained = option.metrics.sustained_tflops
        unit = option.speed.unit.removesuffix("_per_s")
        # A million tokens or samples is what people count in.
        found[gpu_id, per] = WorkRate(
            None if sustained is None else sustained / count, units / 1e6, f"million_{unit}"
        )
    return found


LEAST_LOAD = {"batch_size": 1, "sequence_length": 2048}
"""What is taken of an open question where the usual load of a service fits no single card."""


def _on_card(
    gpu_id: str, count: int, workload: Mapping[str, Any], snapshot: Snapshot, as_of: date
) -> ShortlistAnswer:
    """One card, or one server, under a workload: what it does, whatever its price and whoever waits."""
    asked = {
        "workload": dict(workload),
        "counts": [count],
        "filters": {"gpus": [gpu_id], "conditions": list(CONDITIONS)},
        "price_overrides": {gpu_id: 1000},
        "service": None,
        "limit": 1,
    }
    return calculator.shortlist(asked, snapshot, as_of)


def _answer(
    quote: StoredQuote, normal: NormalisedQuote | None, snapshot: Snapshot, as_of: date
) -> QuoteAnswer:
    stated = {f.name: getattr(quote, f.name) for f in fields(StoredQuote) if f.name not in _NOT_SHOWN}
    found = QuoteAnswer(
        **stated,
        gpu=snapshot.gpu(quote.gpu_id).ref,
        state=quote.state(as_of),
        held=quote.held or None,
        needs_confirmation=bool(quote.held),
    )
    if normal is None:
        return found
    per_unit = normal.cost_cny_per_unit
    return replace(
        found,
        flags=tuple(Flag(message) for message in normal.flags),
        assumptions=tuple(Flag(message) for message in normal.assumptions),
        gross_cny_per_card=_money(normal.gross_cny_per_card),
        net_cny_per_card=_money(normal.net_cny_per_card),
        cost_cny_per_card=_money(normal.cost_cny_per_card),
        gross_cny_total=_money(normal.gross_cny_total),
        includes_host=normal.includes_host,
        cost_cny_per_sustained_tflops=_money(normal.cost_cny_per_tflops),
        cost_per_unit=None if per_unit is None else QuotedWork(per_unit, normal.unit),
    )


def _money(amount: float | None) -> float | None:
    return None if amount is None else round(amount, 2)
