"""The state of the data: what is loaded, how old it is, what is missing, what the rules object to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

from sqlalchemy import Engine

from app import __version__
from app.catalog.changes import history
from app.catalog.observations import LAUNCH
from app.catalog.rates import HOME, OLD_AFTER_DAYS
from app.catalog.snapshot import Snapshot
from app.core.question import CONDITIONS, PriceRules
from app.services import coverage
from app.services.payload import Payload
from app.services.texts import say_code

MAX_UNUSED = 500


def data_report(engine: Engine, snapshot: Snapshot, today: date, language: str = "zh") -> Payload:
    """Everything about the data on one page.

    Returns
    -------
    versions, loaded (rows by kind), ages, coverage, gaps (each with its list), lint, unused_prices, changes.
    """
    counted = coverage.report(snapshot, today)
    unused = snapshot.unused_prices(today)
    return {
        "as_of": today.isoformat(),
        "versions": {"engine": __version__, "catalog": snapshot.version},
        "loaded": counted["loaded"],
        "ages": counted["ages"],
        "coverage": counted["coverage"],
        "gaps": [*gaps(snapshot, today), *_missing(counted["missing"])],
        "lint": coverage.lint(snapshot, engine),
        "unused_prices": {
            "total": len(unused),
            "by_reason": dict(Counter(reason for _, reason in unused)),
            "items": [
                {
                    "id": row.id,
                    "gpu": {"id": row.gpu_id, "name": snapshot.gpu(row.gpu_id).name},
                    "condition": row.condition,
                    "amount": row.amount,
                    "currency": row.currency,
                    "observed_on": row.observed_on,
                    "reason": reason,
                    "text": say_code(f"price_{reason}", {"reason": row.held}, language),
                    "held": row.held or None,
                }
                for row, reason in sorted(unused, key=lambda pair: (pair[1], pair[0].gpu_id, pair[0].id))[
                    :MAX_UNUSED
                ]
            ],
        },
        "changes": [
            {
                "id": entry.id,
                "at": entry.at.isoformat(timespec="seconds"),
                "who": entry.who,
                "table": entry.table,
                "row": entry.row_id,
                "action": entry.action,
                "why": entry.why,
                "undone": entry.undone,
            }
            for entry in history(engine, limit=20)
        ],
    }


def gaps(snapshot: Snapshot, today: date, rules: PriceRules | None = None) -> list[Payload]:
    """What is missing, each kind with its number and its list.

    Notes
    -----
    A card counts as priced in yuan by an observation in CNY inside the age limit, in any condition.
    """
    limit = (rules or PriceRules()).max_age_days
    old_yuan, no_price, no_rent = [], [], []
    rented = {r.gpu_id for r in snapshot.rentals if not r.held}
    measured = {b.gpu_id for b in snapshot.benchmarks if not b.flag}
    for gpu in snapshot.gpus:
        card = snapshot.cards[gpu.id]
        usable = [o for o in card.observations if not o.held and o.channel_kind != LAUNCH and o.day]
        days = [o.day for o in usable if o.currency == HOME and not o.bare_year]
        if not days or today.toordinal() - max(days) > limit:
            old_yuan.append(gpu.id)
        if not any(card.choose(today, rules or PriceRules(), c, snapshot.rates) for c in CONDITIONS):
            no_price.append(gpu.id)
        if gpu.id not in rented:
            no_rent.append(gpu.id)
    found = [
        _gap("no_recent_yuan_price", old_yuan, days=limit),
        _gap("no_price", no_price),
        _gap("no_rent", no_rent),
        _gap("no_measurement", [g.id for g in snapshot.gpus if g.id not in measured]),
        _gap("no_currency_rate", _without_rate(snapshot)),
        _gap("old_currency_rate", _old_rates(snapshot, today), days=OLD_AFTER_DAYS),
    ]
    return [gap for gap in found if gap["count"]]


def _gap(code: str, items: Iterable[str], **params: Any) -> Payload:
    listed = sorted(items)
    return {"code": code, "count": len(listed), "params": params, "items": listed}


def _missing(counted: Sequence[Payload]) -> list[Payload]:
    """Figures and facts that cards lack, under the same shape."""
    found = [_gap(f"no_{part['code']}", [card["id"] for card in part["cards"]]) for part in counted]
    return [gap for gap in found if gap["count"]]


def _without_rate(snapshot: Snapshot) -> list[str]:
    """Currencies of prices that no rate turns into yuan."""
    found = set()
    for card in snapshot.cards.values():
        for row in card.observations:
            if row.day and snapshot.rates.to_cny(row.currency, date.fromordinal(row.day)) is None:
                found.add(row.currency)
    return sorted(found)


def _old_rates(snapshot: Snapshot, today: date) -> list[str]:
    currencies = {row.currency for card in snapshot.cards.values() for row in card.observations} - {HOME}
    uses = {currency: snapshot.rates.to_cny(currency, today) for currency in currencies}
    return [currency for currency, use in uses.items() if use is not None and use.old]
