"""How well a price is known: firm, current, an estimate, or not at all; and what it is today.

References
----------
[1] Rules of evidence: docs/decision.md. Constants and their errors: `market`, `backtest`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from statistics import median
from typing import Literal

from app.core.decide.market import (
    DAYS_A_MONTH,
    INDEXED,
    OLD_CONSUMER_YEARS,
    OLD_PRICE_DAYS,
    OWN_DAYS,
    USED_OVER_NEW,
    WIDEST,
    Band,
    Card,
    Constants,
    Estimate,
    Index,
    Price,
    carry,
    from_foreign,
    from_launch,
    oldest_days,
    own_band,
    seller,
)

Evidence = Literal["firm", "current", "estimate", "none"]
CHANNELS_TO_BUY = ("retail", "quote", "diy", "asking", "tender", "listings_mean")
"""Where one can buy at what is written there, the best first. A quote that the market only reports has no
validity; it counts as a seller's dated offer."""
CHANNELS_READ = (*CHANNELS_TO_BUY, "listings_lowest", "article")
TAX_PLACE = {"included": 0, "unknown": 1, "excluded": 2}
ABROAD = Band(0.33, 0.087)
"""Band of a price of another region where no factor between the two was found: that of big GeForce cards."""
HOME_REGION = "CN"
"""Where the index and the factors hold."""
CARRIED_FROM_DAYS = 45
"""Younger prices are read as they are."""
CHEAP_SHARE = 0.6
CHEAP_DAYS = 180
"""A price under so much of the median of the card's last so many days waits for confirmation."""
CHEAP_HISTORY = 3
Rate = Callable[[str, int], float | None]
"""Yuan per unit of a currency on the ordinal of a day; None where no rate is known."""


@dataclass(frozen=True, slots=True)
class Valued:
    """What one card, or one whole server, costs today, and on what evidence."""

    evidence: Evidence
    low_cny: float = 0.0
    """10th percentile, yuan."""
    expected_cny: float = 0.0
    high_cny: float = 0.0
    """90th percentile, yuan."""
    basis: str = ""
    """own, launch, foreign; quote and override where the price is firm."""
    prices: tuple[Price, ...] = ()
    """The observations that were taken: of one channel and day."""
    refused: str = ""
    """Why no amount is stated: no_price, band_too_wide, too_old, old_card, module, not_sold_apart,
    new_of_discontinued, unknown_bin."""

    @property
    def recommendable(self) -> bool:
        """Whether somebody may be advised to buy on it."""
        return self.evidence in ("firm", "current")


@dataclass(frozen=True, slots=True)
class Terms:
    """Under what terms prices are asked for."""

    as_of: date
    region: str = "CN"
    currency: str = "CNY"
    max_age_days: int = 180


def firm(amount_cny: float, basis: str, price: Price | None = None) -> Valued:
    """A valid quote or a price given in the request: no band."""
    return Valued("firm", amount_cny, amount_cny, amount_cny, basis, (price,) if price else ())


def value(
    card: Card,
    prices: Sequence[Price],
    terms: Terms,
    index: Index,
    rate: Rate,
    constants: Constants,
    *,
    discontinued: bool = False,
) -> Valued:
    """What one card in one condition (or one server) costs on a day.

    Parameters
    ----------
    card: its class. prices: of that condition and unit, none after the day, none held or replaced.
    terms: day, region, currency, greatest age [days]. index: as known on the day. rate: exchange rates.
    constants: bands. discontinued: a new one is no longer made; only a current price says it is still sold.

    Returns
    -------
    Current evidence where there is any, else the estimate of the narrowest band, else none with the reason.

    Notes
    -----
    Averaging the bases gained nothing in back-tests: one basis counts. An estimate refused says nothing.
    """
    if not prices:
        return Valued("none", refused="no_price")
    of_card, condition = prices[0].per == "card", prices[0].condition
    if not card.apart:
        return Valued("none", refused="not_sold_apart")
    if of_card and card.module and (condition == "new" or card.carrier_cny is None):
        return Valued("none", refused="module")
    today = terms.as_of.toordinal()
    current = [p for p in prices if _is_current(p, terms, today)]
    chosen = _best(_newest_sound(current, prices))
    if chosen:
        return _with_carrier(card, _current(card, chosen, index, terms, rate, constants))
    if discontinued and of_card and condition == "new":
        return Valued("none", refused="new_of_discontinued")
    return _with_carrier(card, _estimated(card, prices, terms, index, rate, constants))


def _with_carrier(card: Card, found: Valued) -> Valued:
    """A loose module is of use only with what puts it into a slot."""
    if not card.module or found.evidence == "none" or found.prices[0].per != "card":
        return found
    more = card.carrier_cny or 0.0
    return replace(
        found,
        low_cny=found.low_cny + more,
        expected_cny=found.expected_cny + more,
        high_cny=found.high_cny + more,
    )


def _is_current(p: Price, terms: Terms, today: int) -> bool:
    return (
        p.region == terms.region
        and p.currency == terms.currency
        and p.channel_kind in CHANNELS_TO_BUY
        and not p.doubtful
        and 0 <= today - p.day <= terms.max_age_days
    )


def _newest_sound(current: Sequence[Price], prices: Sequence[Price]) -> list[Price]:
    """Of the newest day that has any: prices not far under the own history, which wait for confirmation.

    Only that day decides, so older ones are not weighed: a card may have thousands.
    """
    for day in sorted({p.day for p in current}, reverse=True):
        history: dict[tuple[str, str], float] = {}
        kept = []
        for p in (p for p in current if p.day == day):
            key = p.currency, p.region
            if key not in history:
                history[key] = _least_credible(key, day, prices)
            if p.amount >= history[key]:
                kept.append(p)
        if kept:
            return kept
    return []


def _least_credible(of: tuple[str, str], day: int, prices: Iterable[Price]) -> float:
    """The amount under which a price of a day waits, by what was seen in its currency and region; 0: any."""
    before = [
        q.amount
        for q in prices
        if (q.currency, q.region) == of and 0 < day - q.day <= CHEAP_DAYS and not q.doubtful
    ]
    return CHEAP_SHARE * median(before) if len(before) >= CHEAP_HISTORY else 0.0


def _best(prices: Iterable[Price]) -> tuple[Price, ...]:
    """Those of the newest day, of its best channel; tax bases and regions never mix."""
    known = list(prices)
    if not known:
        return ()
    newest = max(p.day for p in known)
    known = [p for p in known if p.day == newest]
    kind = min(known, key=_place).channel_kind
    groups: dict[tuple[str, str, str, bool], list[Price]] = {}
    for p in known:
        if p.channel_kind == kind:
            groups.setdefault((seller(p.channel), p.tax, p.region, p.doubtful), []).append(p)

    def order(key: tuple[str, str, str, bool]) -> tuple[object, ...]:
        rows = groups[key]
        said_by, amount = sum(p.n for p in rows), median(p.amount for p in rows)
        return key[3], TAX_PLACE.get(key[1], 3), key[2] != "global", -said_by, amount, key

    return tuple(groups[min(groups, key=order)])


def _place(p: Price) -> int:
    return CHANNELS_READ.index(p.channel_kind)


def _middle(chosen: Sequence[Price]) -> Price:
    return replace(chosen[0], amount=median(p.amount for p in chosen))


def _current(
    card: Card, chosen: tuple[Price, ...], index: Index, terms: Terms, rate: Rate, constants: Constants
) -> Valued:
    p = _middle(chosen)
    found = _own(card, p, index, terms, rate, constants)
    if found is None:
        return Valued("none", prices=chosen, refused="no_rate")
    if terms.as_of.toordinal() - p.day <= CARRIED_FROM_DAYS:
        found = _scaled(found, math.exp(-found.move))
    return _valued("current", found, chosen)


def _own(
    card: Card, p: Price, index: Index, terms: Terms, rate: Rate, constants: Constants
) -> Estimate | None:
    """A price of the asked region carried to today, in yuan; None without a rate."""
    yuan = rate(p.currency, terms.as_of.toordinal())
    return _scaled(carry(card, p, index, terms.as_of, constants), yuan) if yuan else None


def _scaled(found: Estimate, factor: float) -> Estimate:
    if factor == 1.0:
        return found
    return replace(
        found,
        low_cny=found.low_cny * factor,
        expected_cny=found.expected_cny * factor,
        high_cny=found.high_cny * factor,
    )


def _valued(evidence: Evidence, found: Estimate, chosen: tuple[Price, ...]) -> Valued:
    return Valued(evidence, found.low_cny, found.expected_cny, found.high_cny, found.basis, chosen)


def _estimated(
    card: Card, prices: Sequence[Price], terms: Terms, index: Index, rate: Rate, constants: Constants
) -> Valued:
    found = [
        *_from_own(card, prices, terms, index, rate, constants),
        *_from_others(card, prices, terms, index, rate, constants),
    ] or _from_elsewhere(prices, terms, rate)
    if not found:
        own = any(_own_bases(prices, terms))
        return Valued("none", refused="too_old" if own else "no_price")
    best, chosen = min(found, key=lambda item: item[0].half_width)
    if best.half_width > WIDEST:
        return Valued("none", prices=chosen, refused="band_too_wide")
    if _too_old_a_card(card, best, terms):
        return Valued("none", prices=chosen, refused="old_card")
    return _valued("estimate", best, chosen)


Basis = tuple[Estimate, tuple[Price, ...]]


def _from_own(
    card: Card, prices: Sequence[Price], terms: Terms, index: Index, rate: Rate, constants: Constants
) -> list[Basis]:
    """The card's own prices in the asked region, not too old, carried to today."""
    found = []
    for chosen in _own_bases(prices, terms):
        p = _middle(chosen)
        carried = _own(card, p, index, terms, rate, constants)
        if carried is not None and terms.as_of.toordinal() - p.day <= oldest_days(card, p.condition):
            found.append((carried, chosen))
    return found


def _from_others(
    card: Card, prices: Sequence[Price], terms: Terms, index: Index, rate: Rate, constants: Constants
) -> list[Basis]:
    """What the launch price and, at home, US prices say."""
    found: list[Basis] = []
    for p in _others(prices, "launch"):
        yuan = rate(p.currency, p.day)
        if yuan and (estimate := from_launch(card, p, yuan, index, terms.as_of, constants)):
            found.append((estimate, (p,)))
    for p in _others(prices, "foreign") if terms.region == HOME_REGION else ():
        yuan = rate(p.currency, terms.as_of.toordinal())
        if yuan and (estimate := from_foreign(card, p, yuan, index, terms.as_of, constants)):
            found.append((estimate, (p,)))
    return found


def _own_bases(prices: Sequence[Price], terms: Terms) -> list[tuple[Price, ...]]:
    """The newest sound price of the asked region and the newest of all: a doubtful one may be years newer.

    The lowest of used listings never counts.
    """
    own = [
        p
        for p in prices
        if p.currency == terms.currency
        and p.region in (terms.region, "global")
        and p.channel_kind in CHANNELS_READ
        and not (p.channel_kind == "listings_lowest" and p.condition != "new")
    ]
    found = [_best(p for p in own if not p.doubtful), _best(own)]
    return [chosen for chosen in dict.fromkeys(found) if chosen]


def _from_elsewhere(prices: Sequence[Price], terms: Terms, rate: Rate) -> list[Basis]:
    """Abroad the newest price of another region at the rate of the day; at home that is refused."""
    if terms.region == HOME_REGION:
        return []
    today = terms.as_of.toordinal()
    chosen = _best(p for p in prices if p.channel_kind in CHANNELS_READ and today - p.day <= OWN_DAYS)
    yuan = rate(chosen[0].currency, today) if chosen else None
    if not yuan:
        return []
    p = _middle(chosen)
    width = ABROAD.half_width((today - p.day) / DAYS_A_MONTH)
    spread, amount = math.exp(width), p.amount * yuan
    return [(Estimate(amount / spread, amount, amount * spread, "foreign", p, 0.0, width), chosen)]


def _others(prices: Sequence[Price], which: str) -> list[Price]:
    """Launch prices, yuan ones first; or the newest of each foreign channel."""
    if which == "launch":
        # What a card cost new says nothing about a used one.
        found = sorted(
            (p for p in prices if p.channel_kind == "launch" and p.condition == "new"),
            key=lambda p: (p.currency != "CNY", p.day),
        )
        return found[:1]
    newest: dict[str, Price] = {}
    for p in prices:
        if p.channel_kind != "launch" and p.region == "US" and p.currency == "USD":
            if p.channel not in newest or p.day > newest[p.channel].day:
                newest[p.channel] = p
    return [p for p in newest.values() if "PCPartPicker" in p.channel or "buy box" in p.channel]


def _too_old_a_card(card: Card, found: Estimate, terms: Terms) -> bool:
    """A new consumer card of long ago, from anything but a sound yuan price of the last fourteen months."""
    if found.price.condition != "new" or card.klass not in INDEXED or card.launched is None:
        return False
    if (terms.as_of - card.launched).days / 365.25 <= OLD_CONSUMER_YEARS:
        return False
    aged = terms.as_of.toordinal() - found.price.day > OLD_PRICE_DAYS
    return found.basis != "own" or found.price.doubtful or aged


def below_new(used: Valued, new: Valued) -> Valued:
    """A used card costs at most `USED_OVER_NEW` of a new one that can be bought."""
    if not new.recommendable or used.evidence not in ("current", "estimate"):
        return used
    limit = USED_OVER_NEW * new.expected_cny
    if used.expected_cny <= limit:
        return used
    return replace(
        used,
        low_cny=min(used.low_cny, limit),
        expected_cny=limit,
        high_cny=max(limit, min(used.high_cny, new.high_cny)),
    )


def band_of(card: Card, p: Price, months: float, constants: Constants) -> float:
    """Half-width of the band of an own price, in logarithms: what /method draws."""
    return own_band(card, p, constants).half_width(months)
