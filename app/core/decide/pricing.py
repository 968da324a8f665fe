"""Prices of the grid: card and server prices by condition, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.core.decide.cost import host_share_cny
from app.core.gpu import Gpu, PriceChoice
from app.core.gpu_table import Flags, Floats, Index
from app.core.question import ShortlistQuestion
from app.core.tracing import floats

SERVER_CARDS = 8
Prices = Mapping[tuple[str, str], PriceChoice]


@dataclass(frozen=True)
class PriceGrid:
    """What options cost to buy, (cards, counts, conditions); NaN = unpriced."""

    conditions: tuple[str, ...]
    choices: Mapping[tuple[int, int], PriceChoice]
    """By (row, condition) where a card price exists."""
    servers: Mapping[tuple[int, int], PriceChoice]
    purchase_cny: Floats
    host_cny: Floats
    by_server: Flags
    """The 8-card server price counts: host included."""
    stale: Flags
    rows: Index | None = None
    """Rows of `choices` and `servers` that the arrays are of; all by default."""

    def take(self, rows: Index) -> PriceGrid:
        """The same for some of the cards."""
        names = ("purchase_cny", "host_cny", "by_server", "stale")
        return replace(self, rows=rows, **{name: getattr(self, name)[rows] for name in names})

    def choice(self, row: int, count: int, condition: int) -> PriceChoice:
        """The price behind an option."""
        source = self.servers if self.by_server[row, count, condition] else self.choices
        return source[row if self.rows is None else int(self.rows[row]), condition]


def price_grid(
    question: ShortlistQuestion,
    gpus: Sequence[Gpu],
    counts: Sequence[int],
    prices: Prices,
    server_prices: Prices,
) -> PriceGrid:
    """Look up every price once and spread it over the counts.

    Parameters
    ----------
    question: conditions, cards with an own price, and host cost. gpus, counts: axes of the grid.
    prices: per card, by (gpu id, condition), own ones among them.
    server_prices: per 8-card machine, never divided into cards.

    Returns
    -------
    Purchase and host of each option. At eight cards a valid quote counts before the market; of two quotes
    that of the newest day, of one day or of the market the cheaper way to buy, host included.
    """
    conditions = question.filters.conditions
    shape = (len(gpus), len(conditions))
    card, server = np.full(shape, np.nan), np.full(shape, np.nan)
    stale_card, stale_server = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    choices: dict[tuple[int, int], PriceChoice] = {}
    servers: dict[tuple[int, int], PriceChoice] = {}
    row = {gpu.id: i for i, gpu in enumerate(gpus)}
    place = {condition: k for k, condition in enumerate(conditions)}
    own = question.price_overrides
    # Prices are fewer than cards times conditions: walk over what there is.
    for (gpu_id, condition), found in prices.items():
        i, k = row.get(gpu_id, -1), place.get(condition, -1)
        # One price of the user's own stands for the card, in whatever condition it is.
        if i >= 0 and k >= 0 and found.per == "card" and (gpu_id not in own or found.kind == "override"):
            choices[i, k], card[i, k], stale_card[i, k] = found, found.amount_cny, found.stale
    for (gpu_id, condition), found in server_prices.items():
        i, k = row.get(gpu_id, -1), place.get(condition, -1)
        if i >= 0 and k >= 0 and gpu_id not in own:
            servers[i, k], server[i, k], stale_server[i, k] = found, found.amount_cny, found.stale
    numbers = np.asarray(counts, dtype=np.float64)
    purchase = card[:, np.newaxis, :] * numbers[np.newaxis, :, np.newaxis]
    share = floats(host_share_cny(question.economics, card))
    host = share[:, np.newaxis, :] * numbers[np.newaxis, :, np.newaxis]
    eight = (numbers == SERVER_CARDS)[np.newaxis, :, np.newaxis]
    whole = np.broadcast_to(server[:, np.newaxis, :], purchase.shape)
    wins = ~(purchase + host <= whole)
    for cell, found in servers.items():
        if cell in choices and (decided := _server_decides(found, choices[cell])) is not None:
            wins[cell[0], :, cell[1]] = decided
    by_server = np.asarray(eight & ~np.isnan(whole) & wins, dtype=bool)
    stale = np.where(by_server, stale_server[:, np.newaxis, :], stale_card[:, np.newaxis, :])
    return PriceGrid(
        conditions=conditions,
        choices=choices,
        servers=servers,
        purchase_cny=np.where(by_server, whole, purchase),
        host_cny=np.where(by_server, 0.0, host),
        by_server=by_server,
        stale=stale,
    )


def _server_decides(server: PriceChoice, card: PriceChoice) -> bool | None:
    """Whether a server's price counts before that of its cards by kind and age; None: the cheaper does."""
    server_quoted, card_quoted = server.kind == "quote", card.kind == "quote"
    if server_quoted != card_quoted:
        return server_quoted
    newer = (card.age_days or 0) - (server.age_days or 0)
    if server_quoted:
        return newer > 0 if newer else None
    # An old list price of a server does not displace a card price of today.
    return False if newer < 0 else None
