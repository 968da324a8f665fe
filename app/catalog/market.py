"""What the market pays for some cards on a day: what new quotes are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from sqlalchemy import Connection, select

from app.catalog import tables
from app.catalog.columns.observations import PRICES
from app.catalog.observations import PriceObservation
from app.catalog.prices import CardPrices
from app.catalog.rates import Rates
from app.catalog.versions import table_of
from app.core.gpu import Source
from app.core.question import CONDITIONS, PriceRules


def market_prices(
    connection: Connection, gpu_ids: Sequence[str], as_of: date, rates: Rates
) -> dict[tuple[str, str], float]:
    """Yuan for one card by (gpu id, condition), by the price rule; launch prices are no market.

    Parameters
    ----------
    gpu_ids: at most some hundreds.
    as_of: the day.
    """
    table = table_of(tables.PriceRow)
    observed = PRICES.maker(PriceObservation, {"source": lambda r: Source(r.source_id, "", r.source_id)})
    rows: dict[str, list[PriceObservation]] = {}
    for r in connection.execute(select(table).where(table.c.gpu_id.in_(gpu_ids))):
        rows.setdefault(r.gpu_id, []).append(observed(r))
    found: dict[tuple[str, str], float] = {}
    for gpu_id, observations in rows.items():
        card = CardPrices(gpu_id, observations)
        for condition in CONDITIONS:
            choice = card.choose_market(as_of, PriceRules(), condition, rates)
            if choice is not None:
                found[gpu_id, condition] = choice.amount_cny
    return found


def memory_of_cards(connection: Connection) -> dict[str, float]:
    """Nameplate memory [GiB] of every card that has it."""
    table = table_of(tables.GpuFigureRow)
    rows = connection.execute(select(table).where(table.c.chosen, table.c.figure == "memory_gib"))
    return {r.gpu_id: r.value for r in rows}
