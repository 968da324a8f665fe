"""The lint rules over a database, with the exceptions that came with the installation."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from statistics import median
from typing import Any

from sqlalchemy import Connection, Engine, select

from app.catalog import tables
from app.catalog.columns import KINDS
from app.catalog.dates import effective_date
from app.catalog.db import reading
from app.catalog.imports.references import read_rates
from app.catalog.lint import (
    Finding,
    LintCard,
    LintPrice,
    LintRent,
    LintReport,
    currency,
    deviations_gone,
    explain,
    lint_cards,
    price_history,
    provenance,
    rent_share,
)
from app.catalog.observations import PER_CARD
from app.catalog.rates import HOME
from app.catalog.versions import table_of
from app.resources import resource_path


@lru_cache(maxsize=1)
def shipped_exceptions() -> tuple[Mapping[str, str], ...]:
    """What the rules object to and is right as it stands, with the reason beside it."""
    path = resource_path("seed_data") / "lint_exceptions.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        return tuple(csv.DictReader(stream))


def unexplained(cards: Sequence[LintCard]) -> list[Finding]:
    """What the rules for cards object to in these, known deviations that are gone included."""
    ids = {card.id for card in cards}
    exceptions = [e for e in shipped_exceptions() if e["gpu_id"] in ids]
    report = explain(lint_cards(cards), exceptions)
    return [*report.unexplained, *deviations_gone(report, ids)]


def lint_database(engine: Engine) -> LintReport:
    """Every rule over the rows of a database.

    Errors
    ------
    DatabaseProblem when the database cannot be read.
    """
    with reading(engine) as connection:
        found = [
            *lint_cards(cards := _cards(connection)),
            *price_history(prices := _prices(connection)),
            *currency(prices),
            *rent_share(_rents(connection), _purchase(prices)),
            *_provenance(connection),
        ]
    ids = {card.id for card in cards}
    exceptions = [e for e in shipped_exceptions() if e["gpu_id"] in ids]
    report = explain(found, exceptions)
    gone = tuple(deviations_gone(report, ids))
    return LintReport((*report.unexplained, *gone), report.explained, report.idle_exceptions)


def _cards(connection: Connection) -> list[LintCard]:
    figures: dict[str, dict[str, float]] = {}
    figure = table_of(tables.GpuFigureRow)
    for r in connection.execute(select(figure).where(figure.c.chosen)):
        figures.setdefault(r.gpu_id, {})[r.figure] = r.value
    return [
        LintCard(
            r.id,
            r.architecture,
            r.half_rate_fp32_accumulate,
            r.gpus_per_board,
            figures.get(r.id, {}),
            r.memory_type,
        )
        for r in connection.execute(select(table_of(tables.GpuRow)))
    ]


def _prices(connection: Connection) -> list[LintPrice]:
    rows = connection.execute(select(table_of(tables.PriceRow))).all()
    replaced = {r.supersedes for r in rows if r.supersedes}
    names = LintPrice.__dataclass_fields__
    return [
        LintPrice(**{name: getattr(r, name) for name in names})
        for r in rows
        # What a person has confirmed is no finding any more.
        if r.id not in replaced and r.quality != "confirmed"
    ]


def _purchase(prices: Iterable[LintPrice]) -> dict[str, float]:
    amounts: dict[str, list[float]] = {}
    for p in prices:
        # Old cards are sold used for less than a month's rent.
        if p.condition == "new" and p.currency == HOME and p.per == PER_CARD and not p.held:
            amounts.setdefault(p.gpu_id, []).append(p.amount)
    return {gpu_id: median(found) for gpu_id, found in amounts.items()}


def _rents(connection: Connection) -> list[LintRent]:
    rates = read_rates(connection)
    found = []
    for r in connection.execute(select(table_of(tables.RentalRow))):
        day = effective_date(r.observed_on)
        use = rates.to_cny(r.currency, day) if day else None
        if use and not r.held:
            cny = r.per_gpu_hour * use.rate
            found.append(LintRent(r.id, r.gpu_id, r.provider, r.currency, cny, r.observed_on))
    return found


def _provenance(connection: Connection) -> list[Finding]:
    sources: dict[str, dict[str, Any]] = {
        r.id: {"title": r.title, "read_on": r.read_on}
        for r in connection.execute(select(table_of(tables.SourceRow)))
    }
    found: list[Finding] = []
    for kind in KINDS.values():
        if not kind.stored or "source_id" not in kind.by_name:
            continue
        table = table_of(kind.row)
        rows = [dict(r._mapping) for r in connection.execute(select(table))]
        found.extend(provenance(table.name, rows, sources, kind.dated_by))
    return found
