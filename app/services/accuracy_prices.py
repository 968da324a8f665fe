"""How near the prices of today come to prices that were observed later: the back-test of the ledger."""

from __future__ import annotations

import math
from collections.abc import Mapping

from app.catalog.snapshot import Snapshot
from app.catalog.valuing import CONSTANTS
from app.core.decide.backtest import (
    GROUPS,
    INSIDE,
    LEFT_OUT,
    errors,
    group_of,
    pairs,
    share_of_one_table,
    validated,
)
from app.core.decide.market import BIG_GIB, OLD_PRICE_DAYS, OWN_DAYS, Band, half_of
from app.services.accuracy_answers import OneTable, PriceAccuracyReport, PriceBand, PriceLimits
from app.services.results import Versions

PART = "prices"
"""Under which the report is kept."""


def price_report(snapshot: Snapshot) -> PriceAccuracyReport:
    """Errors of carried prices by class and age, on cards that no constant was fitted to."""
    market = snapshot.market
    ledger = market.ledger()
    found = pairs(ledger, market.gpus, CONSTANTS)
    # The halves are of all cards of the catalogue, so that a new price moves no card from one to the other.
    tested = validated(found, half_of(market.gpus.values()))
    channel, share = share_of_one_table(found) if found else ("", 0.0)
    return PriceAccuracyReport(
        part=PART,
        inside=INSIDE,
        groups=tuple(errors(tested)),
        untested=tuple(name for name in GROUPS if name not in tested),
        one_table=OneTable(channel, share, _share_of_index(snapshot, channel)),
        bands=_bands(),
        limits=PriceLimits(BIG_GIB, OLD_PRICE_DAYS, OWN_DAYS, LEFT_OUT),
        versions=Versions.of(snapshot.version),
    )


def _share_of_index(snapshot: Snapshot, channel: str) -> float:
    """Share of one channel in the prices that make the index."""
    market = snapshot.market
    of = [
        p.channel
        for p in market.ledger()
        if p.condition == "new"
        and p.currency == "CNY"
        and p.per == "card"
        and p.channel_kind != "launch"
        and group_of(market.gpus[p.gpu_id], p) in ("small", "big")
    ]
    return of.count(channel) / len(of) if of else 0.0


def _bands() -> Mapping[str, PriceBand]:
    bands = {
        "small": CONSTANTS.own_small,
        "big": CONSTANTS.own_big,
        "thin": CONSTANTS.own_thin,
        "chinese": CONSTANTS.own_chinese,
        "server": CONSTANTS.server,
    }
    return {name: _band(band) for name, band in bands.items()}


def _band(band: Band) -> PriceBand:
    return PriceBand(band.s, band.v, None if band.months == math.inf else band.months)
