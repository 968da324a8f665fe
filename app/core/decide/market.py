"""What a card costs today, from an old, a foreign or a launch price: an index of the market and a band.

Reference level: the lowest price at which a new card is sold by mainland shops. Logarithms are natural.

References
----------
[1] The price ledger of seed_data/prices.csv; constants fitted on one half of its cards (`half_of`), errors
    reported on the other by `app.core.decide.backtest`, 2026-12-01.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from statistics import median
from typing import Literal

Basis = Literal["own", "launch", "foreign"]
Klass = Literal["geforce", "radeon_arc", "big_geforce", "professional", "data_centre", "chinese"]
INDEXED: tuple[Klass, ...] = ("geforce", "radeon_arc", "big_geforce")
BIG_GIB = 24.0
CHINESE_VENDORS = frozenset(
    (
        "huawei",
        "hygon",
        "cambricon",
        "metax",
        "moore threads",
        "kunlunxin",
        "iluvatar corex",
        "enflame",
        "biren",
        "alibaba t-head",
        "baidu",
        "t-head",
        "denglin",
        "sophgo",
        "vastai",
    )
)
DAYS_A_MONTH = 30.44
OWN_DAYS = 730
"""An own or foreign price older than this says nothing about today: it is not carried."""
OLD_CONSUMER_YEARS = 4.0
OLD_PRICE_DAYS = 420
"""Limit of the same for new consumer cards: beyond it carrying big GeForce cards did worse than reading them
as they are (30 against 16 % at the median)."""
WIDEST = math.log(4.0) / 2.0
"""Half-width of a band of factor four: beyond it no amount is stated."""
FIRST_MONTHS_DAYS = 150
"""Cards enter the index when the premium of their launch is over: fit half, bias at 241-420 days -1.6 ->
+0.3 %."""
LONGEST_GAP_MONTHS = 3
TRIM = 0.2
MOMENTUM = 0.3
"""Share of the last known monthly change that the next month repeats."""
FEWEST_CARDS: Mapping[Klass, int] = {"geforce": 3, "radeon_arc": 3, "big_geforce": 2}
USED_OVER_NEW = 0.92
"""A used card of which new ones are sold costs at most so much of a new one: asked 0.84 and 0.94 (two)."""
LAUNCH_CNY_OVER_USD = 1.15
"""Yuan launch price over the dollar one at the rate of its month: 14 cards, 1.10 to 1.17."""
CATALOGUE_MEDIAN_FACTOR = 0.86
"""A median over a DIY catalogue's quotes against the lowest shop price: 32 pairs, sd 10 %."""
LOW_QUALITY, ARTICLE = 0.30, 0.15
"""Added to a band in quadrature."""


@dataclass(frozen=True, slots=True)
class Card:
    """What the market model needs of a card."""

    gpu_id: str
    klass: Klass
    launched: date | None = None
    memory_gib: float | None = None
    module: bool = False
    """Sold on a baseboard (SXM, OAM, HCCS), never loose."""
    carrier_cny: float | None = None
    """Carrier or adapter that puts a used module into a PCIe slot, yuan; None: none is sold."""
    apart: bool = True
    """Whether it is sold apart: not soldered into a laptop, not only let in a cloud."""


@dataclass(frozen=True, slots=True)
class Price:
    """One dated price of one card or one whole server, in yuan of its own day where it was in yuan."""

    gpu_id: str
    condition: str
    amount: float
    """In `currency`."""
    day: int
    """Ordinal of the day; a month counts from its last."""
    channel: str
    channel_kind: str
    currency: str = "CNY"
    region: str = "CN"
    per: str = "card"
    doubtful: bool = False
    """Low quality, of a variant that was only assumed, or of no day but a year."""
    id: str = ""
    tax: str = "unknown"
    n: int = 1
    """Sales or listings behind it."""
    name: str = ""
    """Of the card, as the source writes it."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Price of today in yuan: 10th, 50th and 90th percentile, and on what it rests."""

    low_cny: float
    expected_cny: float
    high_cny: float
    basis: Basis
    price: Price
    move: float
    """Logarithm of what the index added since the day of the price."""
    half_width: float
    """Of the band, in logarithms."""


@dataclass(frozen=True, slots=True)
class Refused:
    """No amount can be stated: ask for a quote."""

    code: str
    """band_too_wide, too_old, old_card, module, chinese_bin, none."""


SXM2_CARRIER_CNY = 280.0
"""Adapter board 200 and its cooler 80 yuan for a V100 or P100 module, note on GPUs of August 2025."""
RANGE_ENDS = (", low", ", high", ", low end", ", high end")


def seller(channel: str) -> str:
    """A channel without the end of the range that it states: low and high are one observation."""
    return channel.rsplit(",", 1)[0] if channel.endswith(RANGE_ENDS) else channel


def klass_of(vendor: str, segment: str, memory_gib: float | None) -> Klass:
    """Class of the market that a card belongs to."""
    if vendor.lower() in CHINESE_VENDORS:
        return "chinese"
    if segment == "consumer":
        if vendor.lower() != "nvidia":
            return "radeon_arc"
        return "big_geforce" if (memory_gib or 0.0) >= BIG_GIB else "geforce"
    return "professional" if segment == "workstation" else "data_centre"


def half_of(cards: Iterable[Card]) -> dict[str, str]:
    """`fit` or `report` for each card: within a class in the order of SHA-256 of the id, every second."""
    halves: dict[str, str] = {}
    by_class: dict[str, list[str]] = defaultdict(list)
    for card in cards:
        by_class[card.klass].append(card.gpu_id)
    for ids in by_class.values():
        ordered = sorted(ids, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
        halves |= {name: "report" if i % 2 else "fit" for i, name in enumerate(ordered)}
    return halves


@dataclass(frozen=True)
class Index:
    """Chained monthly logarithms of the price level, by class."""

    months: tuple[int, ...]
    """Ordinals of the ends of the months, consecutive."""
    levels: Mapping[Klass, tuple[float, ...]]
    cards: Mapping[Klass, tuple[int, ...]] = field(default_factory=dict)
    """Cards behind the change that leads to each month."""

    def level(self, klass: Klass, day: float) -> float:
        """Logarithm of the level on a day: linear between month ends, a fading echo after the last."""
        months, levels = self.months, self.levels[klass]
        if not months or day <= months[0]:
            return levels[0] if levels else 0.0
        if day >= months[-1]:
            change = levels[-1] - levels[-2] if len(levels) > 1 else 0.0
            after = (day - months[-1]) / DAYS_A_MONTH
            return levels[-1] + change * _echo(after)
        i = bisect_left(months, day)
        share = (day - months[i - 1]) / (months[i] - months[i - 1])
        return levels[i - 1] + share * (levels[i] - levels[i - 1])

    def move(self, klass: Klass, first: float, last: float) -> float:
        """Logarithm of the change of the level between two days."""
        return self.level(klass, last) - self.level(klass, first)


def _echo(months: float) -> float:
    """Sum of MOMENTUM, MOMENTUM squared ... over so many months, linear within one."""
    whole = int(months)
    done = MOMENTUM * (1 - MOMENTUM**whole) / (1 - MOMENTUM)
    return done + (months - whole) * MOMENTUM ** (whole + 1)


def index_of(prices: Iterable[Price], cards: Mapping[str, Card], as_of: date, without: str = "") -> Index:
    """The index that was known on a day.

    Parameters
    ----------
    prices: the ledger; only new cards of mainland shops in yuan count.
    cards: by id. as_of: nothing after it is seen. without: a card to leave out, for back-tests.

    Notes
    -----
    Mean over the cards of a class of the change of one card in one channel, a fifth trimmed at each end;
    gaps of up to three months are spread evenly; too few cards: the pool of the three classes. A month in
    which every card of a channel repeats its figure was copied, not read, and is left out.
    """
    series = _monthly(prices, cards, as_of.toordinal(), without)
    changes: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (gpu_id, _), found in series.items():
        months = sorted(found)
        for first, last in zip(months, months[1:], strict=False):
            gap = last - first
            if gap <= LONGEST_GAP_MONTHS:
                for month in range(first + 1, last + 1):
                    changes[month][gpu_id].append(math.log(found[last] / found[first]) / gap)
    if not changes:
        return Index((), dict.fromkeys(INDEXED, ()))
    first, last = min(changes) - 1, max(changes)
    levels: dict[Klass, list[float]] = {klass: [0.0] for klass in INDEXED}
    counts: dict[Klass, list[int]] = {klass: [0] for klass in INDEXED}
    for month in range(first + 1, last + 1):
        by_card = {name: sum(found) / len(found) for name, found in changes.get(month, {}).items()}
        pool = list(by_card.values())
        for klass in INDEXED:
            own = [change for name, change in by_card.items() if cards[name].klass == klass]
            used = own if len(own) >= FEWEST_CARDS[klass] else pool
            levels[klass].append(levels[klass][-1] + trimmed_mean(used))
            counts[klass].append(len(used))
    ends = tuple(_month_end(month) for month in range(first, last + 1))
    return Index(
        ends,
        {klass: tuple(found) for klass, found in levels.items()},
        {klass: tuple(found) for klass, found in counts.items()},
    )


SHOPS = frozenset(("retail", "diy", "asking", "listings_mean"))


def _monthly(
    prices: Iterable[Price], cards: Mapping[str, Card], until: int, without: str
) -> dict[tuple[str, str], dict[int, float]]:
    """Median of each month by (card, channel), without months that were copied."""
    rows: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    month_of: dict[int, int] = {}
    for p in prices:
        card = cards.get(p.gpu_id)
        if card is None or card.klass not in INDEXED or p.gpu_id == without or not _makes_index(p, until):
            continue
        if card.launched is not None and p.day < card.launched.toordinal() + FIRST_MONTHS_DAYS:
            continue
        month = month_of.get(p.day)
        if month is None:
            month = month_of[p.day] = _month(p.day)
        rows[p.gpu_id, p.channel][month].append(p.amount)
    series = {key: {m: median(v) for m, v in found.items()} for key, found in rows.items()}
    for channel, month in _copied(series):
        for key, found in series.items():
            if key[1] == channel:
                found.pop(month, None)
    return series


def _makes_index(p: Price, until: int) -> bool:
    return (
        p.day <= until
        and p.condition == "new"
        and p.currency == "CNY"
        and p.region == "CN"
        and p.per == "card"
        and p.channel_kind in SHOPS
        and not p.doubtful
    )


def _copied(series: Mapping[tuple[str, str], Mapping[int, float]]) -> list[tuple[str, int]]:
    same: dict[tuple[str, int], list[bool]] = defaultdict(list)
    for (_, channel), found in series.items():
        for month, amount in found.items():
            if month - 1 in found:
                same[channel, month].append(found[month - 1] == amount)
    return [key for key, repeats in same.items() if len(repeats) >= 3 and all(repeats)]


def trimmed_mean(values: Sequence[float]) -> float:
    """Mean without the lowest and the highest fifth; 0 of nothing."""
    if not values:
        return 0.0
    ordered = sorted(values)
    cut = int(TRIM * len(ordered))
    kept = ordered[cut : len(ordered) - cut]
    return sum(kept) / len(kept)


def _month(day: int) -> int:
    found = date.fromordinal(day)
    return 12 * found.year + found.month - 1


def _month_end(month: int) -> int:
    following = month + 1
    return date(following // 12, following % 12 + 1, 1).toordinal() - 1


@dataclass(frozen=True, slots=True)
class Band:
    """Half-width of a band: w^2 = s^2 + v^2 x months since the price, at most `months`, in logarithms."""

    s: float
    v: float = 0.0
    months: float = math.inf
    """After so many it grows no more: what the index follows does not run away for ever."""

    def half_width(self, months: float, *added: float) -> float:
        """Logarithm of the 90th percentile over the median."""
        return math.sqrt(
            self.s**2 + self.v**2 * min(self.months, max(0.0, months)) + sum(a * a for a in added)
        )


@dataclass(frozen=True, slots=True)
class Constants:
    """What the estimate needs beside the index; fitted by `backtest.fit` where it says so."""

    own_small: Band = Band(0.04, 0.06, 4)
    """New consumer cards under 24 GB, Radeon and Arc: fitted on one half of the cards."""
    own_big: Band = Band(0.08, 0.08, 24)
    """GeForce from 24 GB up: fitted, errors reported with the card left out."""
    own_thin: Band = Band(0.27, 0.04, 2)
    """Used, modded, professional, data centre: as the big ones."""
    own_chinese: Band = Band(0.60, 0.10)
    """Four pairs of one observation: three inside."""
    server: Band = Band(0.50, 0.14, 12)
    """As the big ones."""
    server_asked: Band = Band(0.25, 0.10)
    launch: Mapping[Klass, float] = field(
        default_factory=lambda: {
            "geforce": 0.21,
            "radeon_arc": 0.21,
            "big_geforce": 0.39,
            "professional": 0.35,
            "data_centre": 0.50,
        }
    )
    foreign: Mapping[Klass, tuple[float, Band]] = field(
        default_factory=lambda: {
            "geforce": (1.08, Band(0.20, 0.055)),
            "radeon_arc": (1.08, Band(0.20, 0.055)),
            "big_geforce": (1.60, Band(0.33, 0.087)),
            "professional": (0.97, Band(0.25, 0.08)),
            "data_centre": (1.00, Band(0.65, 0.08)),
        }
    )
    """Factor from a US price at the rate to the mainland one, and its band."""


def launch_ratio(klass: Klass, years: float) -> float | None:
    """What a card costs at the level of its launch month over its launch price; None: too old to say."""
    if klass in ("geforce", "radeon_arc"):
        return None if years > 3 else 1.0 if years <= 2 else 0.8
    if klass == "big_geforce":
        return None if years > 3 else 1.2
    if years > 6:
        return None
    return {"professional": 0.85, "data_centre": 0.80}.get(klass)


def index_use(card: Card, condition: str, per: str = "card") -> tuple[Klass, float] | None:
    """Whose index moves a price, and how much of it; None: the price stays."""
    if card.klass == "chinese":
        return None
    if per != "card":
        return None
    if condition == "modded":
        return "geforce", 0.5
    if card.klass == "data_centre":
        return ("geforce" if condition == "used" else "big_geforce"), 0.5
    if card.klass == "professional":
        return ("big_geforce" if (card.memory_gib or 0) >= BIG_GIB else "geforce"), 1.0
    if condition in ("used", "refurbished") and card.klass != "radeon_arc":
        return "geforce", 1.0
    return card.klass, 1.0


def moved(card: Card, condition: str, per: str, index: Index, first: int, last: int) -> tuple[float, float]:
    """Logarithm that the index adds to a price between two days, and what it adds to the band."""
    use = index_use(card, condition, per)
    if use is None or not index.months:
        if per != "card" and index.months:
            return 0.0, 0.5 * abs(index.move("big_geforce", first, last))
        return 0.0, 0.0
    klass, share = use
    whole = index.move(klass, first, last)
    return share * whole, 0.5 * abs(whole) if share < 1 else 0.0


def channel_factor(p: Price) -> float:
    """From the level of a channel to the reference level."""
    return CATALOGUE_MEDIAN_FACTOR if "catalogue median" in p.channel else 1.0


def carry(card: Card, p: Price, index: Index, as_of: date, constants: Constants) -> Estimate:
    """An own price carried to a day.

    Parameters
    ----------
    card: its class. p: a mainland price in yuan. index: as known on `as_of`. constants: bands.

    Returns
    -------
    Yuan of today: E = P x channel factor x exp(share of the index); the band of its class and age.
    """
    today = as_of.toordinal()
    move, doubt = moved(card, p.condition, p.per, index, p.day, today)
    band = own_band(card, p, constants)
    added = [doubt]
    if p.doubtful:
        added.append(LOW_QUALITY)
    elif p.channel_kind == "article" and band in (constants.own_small, constants.own_big):
        added.append(ARTICLE)
    width = band.half_width((today - p.day) / DAYS_A_MONTH, *added)
    return _estimate(p.amount * channel_factor(p) * math.exp(move), width, "own", p, move)


def own_band(card: Card, p: Price, constants: Constants) -> Band:
    """Band of an own price by class, condition and unit."""
    if p.per != "card":
        return constants.server_asked if p.channel_kind in ("asking", "retail", "quote") else constants.server
    if p.condition == "new" and card.klass in ("geforce", "radeon_arc"):
        return constants.own_small
    if p.condition == "new" and card.klass == "big_geforce":
        return constants.own_big
    return constants.own_chinese if card.klass == "chinese" else constants.own_thin


def oldest_days(card: Card, condition: str) -> int:
    """How old a price of its own may be to be carried to today."""
    return OLD_PRICE_DAYS if card.klass in INDEXED and condition == "new" else OWN_DAYS


def _estimate(expected: float, width: float, basis: Basis, p: Price, move: float) -> Estimate:
    spread = math.exp(width)
    return Estimate(expected / spread, expected, expected * spread, basis, p, move, width)


def from_launch(
    card: Card, p: Price, rate: float, index: Index, as_of: date, constants: Constants
) -> Estimate | None:
    """Price of a new card from its launch price; `rate` is yuan per unit of its currency, of that month.

    Valid for consumer cards launched at most 3 and others at most 6 years ago; None beyond.
    """
    launched = card.launched or date.fromordinal(p.day)
    ratio = launch_ratio(card.klass, (as_of - launched).days / 365.25)
    if ratio is None or card.klass not in constants.launch:
        return None
    move, doubt = moved(card, "new", "card", index, p.day, as_of.toordinal())
    yuan = p.amount if p.currency == "CNY" else p.amount * rate * LAUNCH_CNY_OVER_USD
    width = math.hypot(constants.launch[card.klass], doubt)
    return _estimate(yuan * ratio * math.exp(move), width, "launch", p, move)


def from_foreign(
    card: Card, p: Price, rate_today: float, index: Index, as_of: date, constants: Constants
) -> Estimate | None:
    """Price of a new card from a US one; None where that says nothing (Amazon on consumer cards)."""
    consumer = card.klass in INDEXED
    years = (as_of - card.launched).days / 365.25 if card.launched else 99.0
    buy_box = "buy box" in p.channel
    if card.klass not in constants.foreign or p.condition != "new" or (buy_box and consumer):
        return None
    if years > (OLD_CONSUMER_YEARS if consumer else 6) or as_of.toordinal() - p.day > OWN_DAYS:
        return None
    factor, band = constants.foreign[card.klass]
    move, doubt = moved(card, "new", "card", index, p.day, as_of.toordinal())
    width = band.half_width(
        (as_of.toordinal() - p.day) / DAYS_A_MONTH, doubt, LOW_QUALITY if p.doubtful else 0
    )
    return _estimate(p.amount * rate_today * factor * math.exp(move), width, "foreign", p, move)
