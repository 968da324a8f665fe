"""What each card and server costs today, on what evidence: the ledger in the terms of `evidence`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from app.catalog.prices import CURRENCY_OF_REGION, CardPrices
from app.catalog.rates import HOME, Rates
from app.catalog.records import PER_CARD, UNDATED, Availability, deciding, effective_date, remarks_for
from app.core.decide.evidence import HOME_REGION, Terms, Valued, below_new, value
from app.core.decide.market import (
    INDEXED,
    SXM2_CARRIER_CNY,
    Card,
    Constants,
    Index,
    Price,
    index_of,
    klass_of,
)
from app.core.gpu import Gpu
from app.core.question import CONDITIONS, PriceRules

CONSTANTS = Constants()
NO_INDEX = Index((), dict.fromkeys(INDEXED, ()))
"""Of a region whose prices nobody follows."""
MODULES = ("SXM", "OAM", "superchip")
MODULE_LINK = "HCCS"
"""Ascend modules state no form factor, but the link of their baseboard."""
NOT_APART = ("laptop", "integrated", "cloud only")
_SXM2 = re.compile(r"\bSXM2\b", re.IGNORECASE)
Key = tuple[str, str]
"""Gpu id and condition."""


def market_card(gpu: Gpu) -> Card:
    """A card as the market sees it."""
    module = any(word in gpu.form_factor for word in MODULES) or gpu.link.startswith(MODULE_LINK)
    return Card(
        gpu.id,
        klass_of(gpu.vendor, gpu.segment, gpu.memory_gib),
        effective_date(gpu.launch_date) if gpu.launch_date else None,
        gpu.memory_gib,
        module,
        SXM2_CARRIER_CNY if module and _SXM2.search(gpu.name) else None,
        gpu.form_factor not in NOT_APART,
    )


def discontinued(available: Mapping[Key, Iterable[Availability]], region: str, as_of: date) -> frozenset[str]:
    """Cards of which the newest word on the trade says that they are no longer made."""
    day = as_of.isoformat()
    found = set()
    for gpu_id in dict.fromkeys(gpu_id for gpu_id, _ in available):
        facts = [f for f in remarks_for(available, gpu_id, region) if f.holds_on(day)]
        if any(f.status == "discontinued" for f in deciding(facts)):
            found.add(gpu_id)
    return frozenset(found)


@dataclass(frozen=True)
class Market:
    """Everything of a catalogue version that values rest on."""

    gpus: Mapping[str, Card]
    cards: Mapping[str, CardPrices]
    available: Mapping[Key, tuple[Availability, ...]]
    rates: Rates

    @classmethod
    def of(
        cls,
        gpus: Iterable[Gpu],
        cards: Mapping[str, CardPrices],
        available: Mapping[Key, tuple[Availability, ...]],
        rates: Rates,
    ) -> Market:
        """Of the parts of a snapshot."""
        known = {gpu.id: market_card(gpu) for gpu in gpus}
        return cls(
            {name: known.get(name, Card(name, "data_centre")) for name in cards}, cards, available, rates
        )

    def ledger(self) -> list[Price]:
        """Every price that may count, in the order of the cards."""
        return [p for card in self.cards.values() for p in card.market_prices()]

    def index(self, as_of: date) -> Index:
        """How the prices of the classes moved, as known on a day."""
        followed = (c for c in self.cards.values() if self.gpus[c.gpu_id].klass in INDEXED)
        return index_of((p for card in followed for p in card.new_prices()), self.gpus, as_of)

    def values(self, as_of: date, rules: PriceRules, per: str, index: Index) -> dict[Key, Valued]:
        """What every card (or whole server) with any price costs on a day, by id and condition."""
        terms = Terms(as_of, rules.region, CURRENCY_OF_REGION.get(rules.region, HOME), rules.max_age_days)
        used_index = index if rules.region == HOME_REGION else NO_INDEX
        gone = discontinued(self.available, rules.region, as_of)
        found: dict[Key, Valued] = {}
        for gpu_id, card in self.cards.items():
            for condition in CONDITIONS:
                prices = card.visible(as_of, rules, condition, per)
                if prices:
                    found[gpu_id, condition] = value(
                        self.gpus[gpu_id],
                        prices,
                        terms,
                        used_index,
                        self._rate,
                        CONSTANTS,
                        discontinued=gpu_id in gone,
                    )
            new = found.get((gpu_id, "new"))
            if per == PER_CARD and new is not None and (gpu_id, "used") in found:
                found[gpu_id, "used"] = below_new(found[gpu_id, "used"], new)
        return _one_of_each_bin(found, self.gpus)

    def _rate(self, currency: str, day: int) -> float | None:
        if day == UNDATED:
            return None
        use = self.rates.to_cny(currency, date.fromordinal(day))
        return use.rate if use else None


def _one_of_each_bin(found: dict[Key, Valued], cards: Mapping[str, Card]) -> dict[Key, Valued]:
    """Chinese cards priced by one observation that names no bin: the best known of them keeps it."""
    sharing: dict[tuple[object, ...], list[Key]] = defaultdict(list)
    for key, valued in found.items():
        chinese = cards[key[0]].klass == "chinese"
        if chinese and valued.evidence == "estimate" and valued.prices[0].doubtful:
            sharing[key[1], _without_bin(key[0])].append(key)
    for members in sharing.values():
        # The newest price; of equals the tighter band, then the name.
        kept = min(members, key=lambda k: (-found[k].prices[0].day, _spread(found[k]), k))
        for key in members:
            if key != kept:
                found[key] = Valued("none", prices=found[key].prices, refused="unknown_bin")
    return found


def _spread(valued: Valued) -> float:
    return valued.high_cny / valued.low_cny


_BIN = re.compile(r"(910[a-z])[0-9][a-z]?(-[0-9])?$")


def _without_bin(gpu_id: str) -> str:
    """The design of a chip without its bin: 910B3 and 910B4-1 are cuts of one die."""
    return _BIN.sub(r"\1", gpu_id)
