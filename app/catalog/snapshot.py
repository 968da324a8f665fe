"""The catalogue as one immutable object, read once per version; requests work on it without any SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from types import MappingProxyType

from app.caching import Cache
from app.catalog.names import NameIndex
from app.catalog.prices import CardPrices, own_price
from app.catalog.rates import Rates
from app.catalog.records import (
    PER_CARD,
    PER_SERVER,
    Availability,
    Fact,
    FigureEntry,
    FrameworkSupport,
    MemoryCase,
    ModelPreset,
    PriceObservation,
    Rental,
)
from app.catalog.valuing import Market
from app.core.decide.engine_support import EngineSupport
from app.core.decide.evidence import Valued
from app.core.decide.host import HostClass
from app.core.decide.market import Index
from app.core.gpu import Benchmark, Figure, Gpu, PriceChoice, Source
from app.core.question import CONDITIONS, DEFAULT_CONDITIONS, PriceRules

Values = Mapping[tuple[str, str], Valued]
"""(gpu id, condition) -> what it costs today."""
Choices = Mapping[tuple[str, str], PriceChoice]
"""(gpu id, condition) -> the price that counts."""
COVERAGE = ("fresh", "ageing", "old", "foreign", "launch", "none")
_KEPT = 16


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All data of one catalogue version. Built by `snapshot_load.load_snapshot`; shared between threads."""

    version: str
    digest: str
    gpus: tuple[Gpu, ...]
    """Sorted by id."""
    sources: Mapping[str, Source]
    models: Mapping[str, ModelPreset]
    """By id, sorted by id."""
    benchmarks: tuple[Benchmark, ...]
    rates: Rates
    rentals: tuple[Rental, ...]
    framework_support: tuple[FrameworkSupport, ...]
    engine_support: tuple[EngineSupport, ...]
    host_classes: tuple[HostClass, ...]
    """By price."""
    memory_cases: tuple[MemoryCase, ...]
    entries: Mapping[str, tuple[FigureEntry, ...]]
    facts: Mapping[str, Mapping[str, Fact]]
    """Facts of cards that have a source of their own, by card and name."""
    cards: Mapping[str, CardPrices]
    available: Mapping[tuple[str, str], tuple[Availability, ...]]
    gpu_names: NameIndex
    model_names: NameIndex
    _gpus: Mapping[str, Gpu] = field(init=False, repr=False)
    _figures: Mapping[str, Mapping[str, Figure]] = field(init=False, repr=False)
    _by_gpu: Mapping[str, tuple[Benchmark, ...]] = field(init=False, repr=False)
    _market: Market = field(init=False, repr=False)
    _choices: Cache[Choices] = field(init=False, repr=False, default_factory=partial(Cache, _KEPT))
    _values: Cache[Values] = field(init=False, repr=False, default_factory=partial(Cache, _KEPT))
    _indexes: Cache[Index] = field(init=False, repr=False, default_factory=partial(Cache, _KEPT))

    def __post_init__(self) -> None:
        derived = {
            "_gpus": {gpu.id: gpu for gpu in self.gpus},
            "_figures": {
                gpu_id: MappingProxyType({e.name: e.figure for e in entries if e.chosen})
                for gpu_id, entries in self.entries.items()
            },
            "_market": Market.of(self.gpus, self.cards, self.available, self.rates),
            "_by_gpu": _grouped((b.gpu_id, b) for b in self.benchmarks),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def gpu(self, gpu_id: str) -> Gpu:
        """A card by its id. KeyError for an unknown one: names go through `resolve_gpu`."""
        return self._gpus[gpu_id]

    def figures(self, gpu_id: str) -> Mapping[str, Figure]:
        """The chosen figures of a card, by name."""
        return self._figures.get(gpu_id, MappingProxyType({}))

    def all_figures(self, gpu_id: str) -> tuple[FigureEntry, ...]:
        """Every value known of a card, those that disagree with the chosen one included."""
        return self.entries.get(gpu_id, ())

    def resolve_gpu(self, name: str, pointer: str = "/gpu") -> str:
        """Id of a card from its id, name or alias.

        Errors
        ------
        InputFault: unknown_gpu, or ambiguous_name with the candidates.
        """
        return self.gpu_names.resolve(name, pointer, hinting=True)

    def resolve_model(self, name: str, pointer: str = "/workload/model/preset") -> str:
        """Id of a preset from its id, alias, Hugging Face repository or name.

        Errors
        ------
        InputFault: unknown_model, or ambiguous_name with the candidates.
        """
        return self.model_names.resolve(name, pointer, hinting=True)

    def benchmarks_of_gpu(self, gpu_id: str) -> tuple[Benchmark, ...]:
        """Measurements on a card, of every model."""
        return self._by_gpu.get(gpu_id, ())

    def availability(self, gpu_id: str, region: str) -> tuple[Availability, ...]:
        """Facts about buying a card in a region, the newest first."""
        return self.available.get((gpu_id, region), ())

    def price_rows(self, gpu_id: str) -> tuple[PriceObservation, ...]:
        """Price history of a card, the newest first, held and undated rows included."""
        card = self.cards.get(gpu_id)
        return card.observations if card else ()

    def price_choices(
        self,
        as_of: date,
        rules: PriceRules | None = None,
        conditions: Iterable[str] = DEFAULT_CONDITIONS,
        overrides: Mapping[str, float] | None = None,
    ) -> Choices:
        """The price that counts for every card and condition that has one.

        Parameters
        ----------
        as_of: the day of the decision.
        rules: greatest age, tax, region; None for the defaults.
        conditions: conditions that may be bought.
        overrides: yuan per card by gpu id.

        Notes
        -----
        The asker's own price names no condition. It takes the place of every observed price of its card and
        stands under one condition only, new where that is asked for, so that a card is not listed thrice.
        """
        wanted = tuple(conditions)
        base = self._chosen(as_of, rules or PriceRules(), wanted, servers=False)
        if not overrides or not wanted:
            return base
        own = "new" if "new" in wanted else wanted[0]
        merged = {key: choice for key, choice in base.items() if key[0] not in overrides}
        for gpu_id, amount in overrides.items():
            merged[gpu_id, own] = own_price(gpu_id, own, amount, as_of)
        return merged

    def server_choices(
        self,
        as_of: date,
        rules: PriceRules | None = None,
        conditions: Iterable[str] = DEFAULT_CONDITIONS,
    ) -> Choices:
        """Prices of whole 8-card machines, host included: for count 8 only, never divided."""
        return self._chosen(as_of, rules or PriceRules(), tuple(conditions), servers=True)

    def price_coverage(self, as_of: date, rules: PriceRules | None = None) -> dict[str, str]:
        """How well each card is priced on a day: the best of COVERAGE over all conditions."""
        best = {gpu.id: len(COVERAGE) - 1 for gpu in self.gpus}
        for (gpu_id, _), choice in self.price_choices(as_of, rules, CONDITIONS).items():
            best[gpu_id] = min(best[gpu_id], COVERAGE.index(_coverage(choice)))
        return {gpu_id: COVERAGE[rank] for gpu_id, rank in best.items()}

    def unused_prices(self, as_of: date) -> list[tuple[PriceObservation, str]]:
        """Observations that cannot count on a day, with the code of the reason."""
        return [pair for card in self.cards.values() for pair in card.unused(as_of, self.rates)]

    @property
    def market(self) -> Market:
        """The ledger and the cards as the market sees them."""
        return self._market

    def market_index(self, as_of: date) -> Index:
        """How the prices of the classes of cards moved, as known on a day."""
        return self._indexes.get(as_of, lambda: self._market.index(as_of))

    def values(self, as_of: date, rules: PriceRules | None = None, per: str = PER_CARD) -> Values:
        """What every card, or whole server, of which anything is known costs on a day, on what evidence."""
        asked = rules or PriceRules()
        key = (as_of, asked.max_age_days, asked.tax, asked.region, per)
        return self._values.get(key, lambda: self._market.values(as_of, asked, per, self.market_index(as_of)))

    def _chosen(
        self, as_of: date, rules: PriceRules, conditions: tuple[str, ...], *, servers: bool
    ) -> Choices:
        key = (as_of, rules.max_age_days, rules.tax, rules.region, conditions, servers)
        return self._choices.get(key, lambda: self._choose(as_of, rules, conditions, servers))

    def _choose(self, as_of: date, rules: PriceRules, conditions: tuple[str, ...], servers: bool) -> Choices:
        chosen: dict[tuple[str, str], PriceChoice] = {}
        values = self.values(as_of, rules, PER_SERVER if servers else PER_CARD)
        for gpu_id, card in self.cards.items():
            choose = card.choose_server if servers else card.choose
            for condition in conditions:
                choice = choose(as_of, rules, condition, self.rates, values.get((gpu_id, condition)))
                if choice is not None:
                    chosen[gpu_id, condition] = choice
        return MappingProxyType(chosen)


def _coverage(choice: PriceChoice) -> str:
    if choice.kind == "launch":
        return "launch"
    if choice.converted:
        return "foreign"
    if choice.stale:
        return "old"
    return "ageing" if choice.ageing else "fresh"


def _grouped(pairs: Iterable[tuple[str, Benchmark]]) -> dict[str, tuple[Benchmark, ...]]:
    groups: dict[str, list[Benchmark]] = {}
    for key, benchmark in pairs:
        groups.setdefault(key, []).append(benchmark)
    return {key: tuple(rows) for key, rows in groups.items()}
