"""Quotes for all askers: the list, and suppliers side by side on one basis of tax, unit and work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
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
from app.core.estimates import Message
from app.core.faults import InputFault
from app.core.question import CONDITIONS, PriceRules
from app.core.quotes import (
    CARDS_PER_SERVER,
    PER_SERVER,
    NormalisedQuote,
    QuotedCard,
    QuoteGroup,
    QuoteLine,
    WorkRate,
    compare,
    flags,
    normalise,
)
from app.services import calculator
from app.services.payload import Payload
from app.texts.figures import round_significant
from app.texts.say import say_message

__all__ = [
    "QuoteNotFound",
    "compare_quotes",
    "confirm_quote",
    "list_body",
    "quote_body",
    "withdraw_quote",
]
MAX_COMPARED = 200
_LINE_FIELDS = tuple(QuoteLine.__dataclass_fields__)


def list_body(engine: Engine, snapshot: Snapshot, as_of: date, language: str, gpu: str = "") -> list[Payload]:
    """All quotes, or those of one card, the newest first, each on the common basis with its flags.

    Errors
    ------
    InputFault for an unknown card.
    """
    gpu_id = snapshot.resolve_gpu(gpu, "/gpu") if gpu else ""
    return [
        quote_body(quote, snapshot, as_of, language)
        for quote in list_quotes(engine, gpu_id)
        if quote.gpu_id in snapshot.cards
    ]


def quote_body(quote: StoredQuote, snapshot: Snapshot, as_of: date, language: str) -> Payload:
    """One quote: as it was made, its state on the day, and on the common basis."""
    normal = _normalised(quote, snapshot, as_of, None)
    return _body(quote, normal, snapshot, as_of, language)


def compare_quotes(
    engine: Engine,
    snapshot: Snapshot,
    as_of: date,
    language: str,
    ids: Sequence[str] = (),
    workload: Mapping[str, Any] | None = None,
) -> Payload:
    """Suppliers side by side.

    Parameters
    ----------
    ids: the quotes to compare; empty for all that are not withdrawn or replaced.
    workload: the user's work; with it come yuan per sustained TFLOPS and per unit of work.

    Returns
    -------
    {groups: [{gpu, condition, per, quotes, lowest_cny, mean_cny, spread, …}], as_of, versions}.

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
    normal = [_normalised(q, snapshot, as_of, works.get((q.gpu_id, q.per))) for q in chosen[:MAX_COMPARED]]
    priced = [n for n in normal if n is not None]
    return {
        "groups": [_group_body(g, quotes, snapshot, as_of, language) for g in compare(priced, as_of)],
        "as_of": as_of.isoformat(),
        "versions": {"catalog": snapshot.version},
    }


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
        asked = {
            "workload": dict(workload),
            "counts": [count],
            "filters": {"gpus": [gpu_id], "conditions": list(CONDITIONS)},
            "price_overrides": {gpu_id: 1000},
            "limit": 1,
        }
        result = calculator.shortlist(asked, snapshot, as_of)
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


def _group_body(
    group: QuoteGroup, stored: Mapping[str, StoredQuote], snapshot: Snapshot, as_of: date, language: str
) -> Payload:
    gpu = snapshot.gpu(group.gpu_id)
    return {
        "gpu": {"id": gpu.id, "name": gpu.name},
        "condition": group.condition,
        "per": group.per,
        "valid": group.valid,
        "lowest_cny": _money(group.lowest_cny),
        "lowest_id": group.lowest_id or None,
        "mean_cny": _money(group.mean_cny),
        "spread": None if group.spread is None else round(group.spread, 4),
        "quotes": [
            _body(stored[normal.line.id], normal, snapshot, as_of, language) for normal in group.quotes
        ],
    }


def _body(
    quote: StoredQuote, normal: NormalisedQuote | None, snapshot: Snapshot, as_of: date, language: str
) -> Payload:
    gpu = snapshot.gpu(quote.gpu_id)
    body: Payload = {k: v for k, v in asdict(quote).items() if k not in ("gpu_id", "held", "replaced")}
    body["gpu"] = {"id": gpu.id, "name": gpu.name}
    body["state"] = quote.state(as_of)
    body["held"] = quote.held or None
    if normal is None:
        body |= {"flags": [], "assumptions": [], "gross_cny_per_card": None, "net_cny_per_card": None}
        return body
    body |= {
        "gross_cny_per_card": _money(normal.gross_cny_per_card),
        "net_cny_per_card": _money(normal.net_cny_per_card),
        "cost_cny_per_card": _money(normal.cost_cny_per_card),
        "gross_cny_total": _money(normal.gross_cny_total),
        "includes_host": normal.includes_host,
        "cost_cny_per_sustained_tflops": _money(normal.cost_cny_per_tflops),
        "cost_per_unit": None
        if normal.cost_cny_per_unit is None
        else {"amount_cny": round_significant(normal.cost_cny_per_unit), "unit": normal.unit},
        "flags": [_said(message, language) for message in normal.flags],
        "assumptions": [_said(message, language) for message in normal.assumptions],
        "needs_confirmation": bool(quote.held),
    }
    return body


def _said(message: Message, language: str) -> Payload:
    return {"code": message.code, "params": dict(message.params), "text": say_message(message, language)}


def _money(amount: float | None) -> float | None:
    return None if amount is None else round(amount, 2)
