"""Which price counts: the rule, pure. Observations, quotes and rates go in, one choice comes out."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from statistics import median
from typing import Any

from app.catalog.rates import HOME, Rates, RateUse
from app.catalog.records import (
    CHANNEL_RANK,
    CONFIRMED,
    LAUNCH,
    PER_CARD,
    PER_SERVER,
    UNDATED,
    PriceObservation,
    Quote,
)
from app.core.decide.evidence import Valued
from app.core.decide.market import Price
from app.core.gpu import PriceChoice, Source
from app.core.question import PriceRules
from app.core.quotes import tax_bases

AGEING_FROM_DAYS = 91
SANITY_FACTOR = 3.0
SANITY_MIN_HISTORY = 3
HISTORY_DAYS = 365
SERVER_RATIO = (6.5, 9.6)
"""An amount so many times the card's usual one is most likely the price of eight."""
CURRENCY_OF_REGION = {"CN": HOME, "US": "USD", "HK": "HKD", "TW": "TWD", "EU": "EUR", "global": HOME}
OVERRIDE_SOURCE = Source("override", "", "Price given in the request", kind="override")
_TAX_PREFERENCE = {"included": 0, "unknown": 1, "excluded": 2}


DAYS_OF_A_CHANNEL = 60
"""So many of its newest days are weighed; what is older than all of them decides nothing."""
LOW = "low"


class _Series:
    """Observations of one card, condition and unit (card or server), newest first, with its history."""

    def __init__(self, observations: Iterable[PriceObservation]) -> None:
        usable = [o for o in observations if o.day != UNDATED and not o.held]
        usable.sort(key=lambda o: (-o.day, o.id))
        self.market = [o for o in usable if o.channel_kind != LAUNCH]
        self.launch = [o for o in usable if o.channel_kind == LAUNCH]
        self._days: dict[str, list[int]] = {}
        self._amounts: dict[str, list[float]] = {}
        for o in reversed(self.market):
            self._days.setdefault(o.currency, []).append(o.day)
            self._amounts.setdefault(o.currency, []).append(o.amount)
        self._channels: dict[tuple[str, str, str], list[PriceObservation]] = {}
        for o in self.market:
            self._channels.setdefault((o.currency, o.region, o.channel), []).append(o)
        # One assignment replaces it whole, so that threads may share it.
        self._stretch: tuple[tuple[str, int, int], list[float]] = (("", 0, 0), [])

    def newest(self, number: int) -> Iterable[PriceObservation]:
        """Launch prices, and of each channel the observations of its newest days up to a day."""
        yield from (o for o in self.launch if o.day <= number)
        for rows in self._channels.values():
            first = bisect_left(rows, -number, key=lambda o: -o.day)
            days = 0
            for i in range(first, len(rows)):
                if i == first or rows[i].day != rows[i - 1].day:
                    days += 1
                    if days > DAYS_OF_A_CHANNEL:
                        break
                yield rows[i]

    def doubt(self, o: PriceObservation, as_of: int) -> str:
        """Why an observation is too far from its card's own history to be used; empty when it is not.

        The history is what was visible on the day, in the same currency: within a year of the observation
        where that is enough, so that a card that truly became cheap is not held for ever, else all of it.
        """
        if o.quality == CONFIRMED:
            return ""
        days = self._days[o.currency]
        visible = bisect_right(days, as_of)
        first = bisect_left(days, o.day - HISTORY_DAYS)
        last = min(visible, bisect_right(days, o.day + HISTORY_DAYS))
        if last - first <= SANITY_MIN_HISTORY:
            first, last = 0, visible
        others = last - first - 1
        if not others:
            return ""
        ratio = o.amount / _median_without(self._sorted(o.currency, first, last), o.amount)
        if SERVER_RATIO[0] <= ratio <= SERVER_RATIO[1] and o.per == PER_CARD:
            return "likely_server_price"
        if others >= SANITY_MIN_HISTORY and not 1 / SANITY_FACTOR <= ratio <= SANITY_FACTOR:
            return "far_from_history"
        return ""

    def _sorted(self, currency: str, first: int, last: int) -> list[float]:
        """Amounts of a stretch of the history in order; observations of one day ask for the same stretch."""
        key = (currency, first, last)
        kept = self._stretch
        if kept[0] != key:
            kept = self._stretch = (key, sorted(self._amounts[currency][first:last]))
        return kept[1]


class CardPrices:
    """Everything known about the prices of one card, grouped and sorted once so that choosing is quick."""

    def __init__(
        self, gpu_id: str, observations: Iterable[PriceObservation] = (), quotes: Iterable[Quote] = ()
    ) -> None:
        self.gpu_id = gpu_id
        self.observations = tuple(sorted(observations, key=lambda o: (-o.day, o.id)))
        self.quotes = tuple(sorted(quotes, key=lambda q: (-q.first_day, q.id)))
        groups: dict[tuple[str, str], list[PriceObservation]] = {}
        for o in self.observations:
            groups.setdefault((o.condition, o.per), []).append(o)
        self._series = {key: _Series(rows) for key, rows in groups.items()}
        # A correction counts from its own day; one without a day always.
        self._replaced_from = {o.supersedes: o.day for o in self.observations if o.supersedes}
        self._replaced_quotes = {q.supersedes for q in self.quotes if q.supersedes}

    def choose(
        self,
        as_of: date,
        rules: PriceRules,
        condition: str,
        rates: Rates,
        valued: Valued | None = None,
    ) -> PriceChoice | None:
        """The price of one card in a condition, or None when there is none that may count.

        Parameters
        ----------
        as_of: the day of the decision; nothing after it is seen.
        rules: greatest age [days], tax basis, region.
        condition: new, used, refurbished or modded.
        rates: exchange rates.
        valued: what it costs today by the evidence there is.

        Notes
        -----
        In this order: valid quote; what the amount of today rests on; where no amount can be stated, what was
        seen last: newest day inside the age limit, in the currency of the asked region (that region first);
        an older one, marked stale; another currency at the dated rate, marked converted; the launch price of
        a new card, marked. Within the day by CHANNEL_ORDER, several of one channel by their median. Quotes
        are put on the asked tax basis by their own rate, with tax where none is asked: net is never set
        against gross.
        """
        return (
            self._quoted(as_of, rules, condition, PER_CARD, rates)
            or self._valued(as_of, rules, rates, valued)
            or self._last_seen(as_of, rules, condition, PER_CARD, rates, valued)
        )

    def choose_market(
        self, as_of: date, rules: PriceRules, condition: str, rates: Rates
    ) -> PriceChoice | None:
        """What the market pays for one card: neither a quote nor a launch price; None when nobody knows."""
        return self._observed(as_of, rules, condition, PER_CARD, rates)

    def choose_server(
        self,
        as_of: date,
        rules: PriceRules,
        condition: str,
        rates: Rates,
        valued: Valued | None = None,
    ) -> PriceChoice | None:
        """The price of a whole 8-card machine, host included; whole machines only, never divided."""
        return (
            self._quoted(as_of, rules, condition, PER_SERVER, rates)
            or self._valued(as_of, rules, rates, valued)
            or self._last_seen(as_of, rules, condition, PER_SERVER, rates, valued)
        )

    def market_prices(self) -> Iterable[Price]:
        """Every dated price that is not held or replaced, in the terms of the market."""
        replaced = set(self._replaced_from)
        for series in self._series.values():
            for rows in (series.market, series.launch):
                yield from (_market_price(o) for o in rows if o.id not in replaced)

    def new_prices(self) -> Iterable[Price]:
        """Those of new cards among them, launch prices apart: what an index is made of."""
        series = self._series.get(("new", PER_CARD))
        return (_market_price(o) for o in series.market if o.id not in self._replaced_from) if series else ()

    def visible(self, as_of: date, rules: PriceRules, condition: str, per: str) -> tuple[Price, ...]:
        """Prices of a condition and unit that may count on a day, in the terms of the market."""
        series = self._series.get((condition, per))
        if series is None:
            return ()
        number = as_of.toordinal()
        return tuple(
            _market_price(o)
            for o in series.newest(number)
            if _tax_matches(rules.tax, o.tax)
            and not self._replaced(o, number)
            and (o.channel_kind == LAUNCH or not series.doubt(o, number))
        )

    def unused(self, as_of: date, rates: Rates) -> list[tuple[PriceObservation, str]]:
        """Observations that cannot count on a day, each with the code of the reason."""
        found = []
        number = as_of.toordinal()
        for o in self.observations:
            if o.day > number:
                continue
            if o.held:
                reason = "held"
            elif o.day == UNDATED:
                reason = "undated"
            elif self._replaced(o, number):
                reason = "superseded"
            elif rates.to_cny(o.currency, date.fromordinal(number)) is None:
                reason = "no_rate"
            elif o.channel_kind == LAUNCH:
                continue
            else:
                reason = self._series[o.condition, o.per].doubt(o, number)
            if reason:
                found.append((o, reason))
        return found

    def _quoted(
        self, as_of: date, rules: PriceRules, condition: str, per: str, rates: Rates
    ) -> PriceChoice | None:
        basis = rules.tax or "included"
        valid = [
            (_on_basis(q, basis) * use.rate, q, use)
            for q in self.quotes
            if q.condition == condition and q.per == per and self._is_valid(q, as_of.toordinal())
            if (use := rates.to_cny(q.currency, as_of))
        ]
        if not valid:
            return None
        # All of them can be bought at today, on one tax basis: the lowest counts.
        amount_cny, best, use = min(valid, key=lambda item: (item[0], -item[1].first_day, item[1].id))
        amount = _on_basis(best, basis)
        moved = amount != best.unit_price
        bases = tax_bases(best.unit_price, best.tax, best.tax_rate, best.invoice)
        return PriceChoice(
            gpu_id=self.gpu_id,
            condition=condition,
            amount=amount,
            currency=best.currency,
            amount_cny=amount_cny,
            per=per,
            tax=basis if moved else best.tax,
            region="",
            channel=best.supplier,
            channel_kind="quote",
            observed_on=best.quoted_on,
            age_days=as_of.toordinal() - best.first_day,
            ageing=False,
            stale=False,
            n=len(valid),
            evidence="firm",
            rests_on="quote",
            low_cny=amount_cny,
            expected_cny=amount_cny,
            high_cny=amount_cny,
            source=Source(f"quote:{best.id}", "", best.supplier, kind="quote", read_on=best.quoted_on),
            kind="quote",
            note=best.note,
            observation_ids=(best.id,),
            **_conversion(best.currency, use),
            stated_amount=best.unit_price if moved else None,
            stated_tax=best.tax if moved else "",
            tax_rate=bases.tax_rate if moved else None,
            tax_rate_assumed=moved and bases.rate_assumed,
        )

    def _valued(
        self, as_of: date, rules: PriceRules, rates: Rates, valued: Valued | None
    ) -> PriceChoice | None:
        if valued is None or valued.evidence == "none":
            return None
        wanted = {p.id for p in valued.prices}
        by_id = {o.id: o for o in self.observations if o.id in wanted}
        rows = [by_id[p.id] for p in valued.prices]
        kind = LAUNCH if valued.basis == LAUNCH else "observation"
        return replace(
            self._choice(rows, as_of, rules, rates, kind),
            evidence=valued.evidence,
            rests_on=valued.basis,
            low_cny=valued.low_cny,
            expected_cny=valued.expected_cny,
            high_cny=valued.high_cny,
        )

    def _last_seen(
        self,
        as_of: date,
        rules: PriceRules,
        condition: str,
        per: str,
        rates: Rates,
        valued: Valued | None,
    ) -> PriceChoice | None:
        """What was seen last of a card of which no amount can be stated for today."""
        found = self._observed(as_of, rules, condition, per, rates)
        if found is None and per == PER_CARD:
            found = self._launched(as_of, rules, condition, rates)
        return found and replace(found, evidence="none", refused=valued.refused if valued else "no_price")

    def _is_valid(self, quote: Quote, day: int) -> bool:
        dropped = quote.withdrawn or quote.held or quote.id in self._replaced_quotes
        return not dropped and quote.first_day <= day <= quote.last_day

    def _observed(
        self, as_of: date, rules: PriceRules, condition: str, per: str, rates: Rates
    ) -> PriceChoice | None:
        series = self._series.get((condition, per))
        if series is None:
            return None
        number = as_of.toordinal()
        best: list[list[PriceObservation]] = [[] for _ in range(8)]
        for o in series.market:
            if o.day > number or not _tax_matches(rules.tax, o.tax) or self._replaced(o, number):
                continue
            if best[0] and o.day < best[0][0].day:
                break
            rows = best[_tier(o, number, rules)]
            if rows and o.day < rows[0].day:
                continue
            if rates.to_cny(o.currency, as_of) is not None and not series.doubt(o, number):
                rows.append(o)
        first = next((rows for rows in best if rows), None)
        if first is None:
            return None
        return self._choice(_of_one_channel(first, rules.tax), as_of, rules, rates, "observation")

    def _launched(self, as_of: date, rules: PriceRules, condition: str, rates: Rates) -> PriceChoice | None:
        # What the card cost new says nothing about a used one.
        series = self._series.get((condition, PER_CARD)) if condition == "new" else None
        if series is None:
            return None
        number = as_of.toordinal()
        home = CURRENCY_OF_REGION.get(rules.region, HOME)
        known = [
            o
            for o in series.launch
            if o.day <= number
            and not self._replaced(o, number)
            and rates.to_cny(o.currency, as_of) is not None
        ]
        if not known:
            return None
        first = min(known, key=lambda o: (o.currency != home, o.region != rules.region, o.day, o.id))
        return self._choice([first], as_of, rules, rates, LAUNCH)

    def _replaced(self, o: PriceObservation, number: int) -> bool:
        return o.id in self._replaced_from and self._replaced_from[o.id] <= number

    def _choice(
        self, rows: Sequence[PriceObservation], as_of: date, rules: PriceRules, rates: Rates, kind: str
    ) -> PriceChoice:
        first = rows[0]
        use = rates.to_cny(first.currency, as_of)
        if use is None:
            raise ValueError(f"no rate for {first.currency}")
        amounts = [o.amount for o in rows]
        amount = float(median(amounts))
        age = as_of.toordinal() - first.day
        stale = first.bare_year or age > rules.max_age_days
        return PriceChoice(
            gpu_id=self.gpu_id,
            condition=first.condition,
            amount=amount,
            currency=first.currency,
            amount_cny=amount * use.rate,
            per=first.per,
            tax=first.tax,
            region=first.region,
            channel=first.channel,
            channel_kind=first.channel_kind,
            observed_on=first.observed_on,
            age_days=age,
            ageing=age >= AGEING_FROM_DAYS and not stale,
            stale=stale,
            n=sum(o.n for o in rows),
            source=first.source,
            kind=kind,
            variant_assumed=any(o.variant_assumed for o in rows),
            note=first.note,
            observation_ids=tuple(o.id for o in rows),
            **_conversion(first.currency, use),
        )


def _market_price(o: PriceObservation) -> Price:
    return Price(
        o.gpu_id,
        o.condition,
        o.amount,
        o.day,
        o.channel,
        o.channel_kind,
        o.currency,
        o.region,
        o.per,
        o.quality == LOW or o.variant_assumed or o.bare_year,
        o.id,
        o.tax,
        o.n,
        o.name_as_written,
    )


def own_price(gpu_id: str, condition: str, amount_cny: float, as_of: date) -> PriceChoice:
    """The asker's own price of one card [CNY]: it counts before every observed one."""
    return PriceChoice(
        gpu_id=gpu_id,
        condition=condition,
        amount=amount_cny,
        currency=HOME,
        amount_cny=amount_cny,
        per=PER_CARD,
        tax="unknown",
        region="",
        channel="",
        channel_kind="override",
        observed_on=as_of.isoformat(),
        age_days=0,
        ageing=False,
        stale=False,
        converted=False,
        n=1,
        evidence="firm",
        rests_on="override",
        low_cny=amount_cny,
        expected_cny=amount_cny,
        high_cny=amount_cny,
        source=OVERRIDE_SOURCE,
        kind="override",
    )


def _median_without(ordered: Sequence[float], amount: float) -> float:
    """Median of an ordered list of at least two from which one amount is taken out."""
    at = bisect_left(ordered, amount)
    n = len(ordered) - 1

    def of_rank(rank: int) -> float:
        return ordered[rank] if rank < at else ordered[rank + 1]

    return (of_rank((n - 1) // 2) + of_rank(n // 2)) / 2


def _on_basis(quote: Quote, basis: str) -> float:
    """The price of a quote on a tax basis, in its own currency; of an unknown basis it stays as written."""
    if quote.tax == "unknown":
        return quote.unit_price
    return tax_bases(quote.unit_price, quote.tax, quote.tax_rate, quote.invoice).on(basis)


def _tier(o: PriceObservation, day: int, rules: PriceRules) -> int:
    """Rank of an observation, 0 the best: by the region's currency, then within the age, then by region."""
    foreign = o.currency != CURRENCY_OF_REGION.get(rules.region, HOME)
    old = o.bare_year or day - o.day > rules.max_age_days
    return 4 * foreign + 2 * old + (o.region != rules.region)


def _conversion(currency: str, use: RateUse) -> dict[str, Any]:
    """What a choice says of the exchange rate behind it."""
    if currency == HOME:
        return {"converted": False, "rate": None, "rate_on": "", "rate_old": use.old}
    return {
        "converted": True,
        "rate": use.rate,
        "rate_on": use.observed_on.isoformat(),
        "rate_old": use.old,
    }


def _tax_matches(wanted: str, tax: str) -> bool:
    return not wanted or tax in (wanted, "unknown")


def _of_one_channel(rows: Sequence[PriceObservation], tax: str) -> list[PriceObservation]:
    """The rows of the best channel of a day; channels, tax bases, regions and currencies never mix.

    What names its variant of the card comes before what serves each variant.
    """
    rank = min(CHANNEL_RANK[o.channel_kind] for o in rows)
    groups: dict[tuple[str, str, str, str, bool], list[PriceObservation]] = {}
    for o in rows:
        if CHANNEL_RANK[o.channel_kind] == rank:
            groups.setdefault((o.channel, o.tax, o.region, o.currency, o.variant_assumed), []).append(o)

    def order(key: tuple[str, str, str, str, bool]) -> tuple[Any, ...]:
        members = groups[key]
        return (
            bool(tax) and key[1] != tax,
            key[4],
            _TAX_PREFERENCE.get(key[1], 3),
            key[2] != "global",
            -sum(o.n for o in members),
            median(o.amount for o in members),
            key,
        )

    return groups[min(groups, key=order)]
