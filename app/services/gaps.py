"""What the data lack: figures and facts of cards, prices, rents, measurements, rates. One count for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from csv import DictReader
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from app.catalog.rates import HOME, OLD_AFTER_DAYS
from app.catalog.snapshot import Snapshot
from app.core.answer import AnyMap, answer
from app.core.gpu import Gpu
from app.resources import resource_path

PCIE_CARD = "PCIe card"
CONSUMER = "consumer"
FRESH = ("fresh", "ageing")
"""Kinds of price coverage that are a yuan price within the age limit."""
MODELS_SHOWN = 20


@answer()
class NamedCard:
    """A card as lists name it."""

    id: str
    """Id of the card."""
    label: str
    """Its short name."""


@answer()
class MissingCards:
    """The cards that lack one figure or fact."""

    code: str
    """Which figure or fact."""
    cards: tuple[NamedCard, ...]
    """The cards."""


@answer()
class Gap:
    """One gap of the data with its list."""

    code: str
    """What is missing: no_recent_yuan_price, no_price, no_bandwidth …"""
    count: int
    """How many lack it."""
    params: AnyMap
    """Limits of the gap by name, such as days."""
    items: tuple[str, ...]
    """Ids of the cards, or currencies."""


@answer(omit=("reason",))
class UnjoinedName:
    """A name that no card, or no model, took."""

    name: str
    """The name as it was read."""
    rows: int
    """Rows under it."""
    reason: str = ""
    """Code of why no card took it; absent for models."""


@answer()
class UnjoinedCards:
    """Names of cards in the collections behind the seed that no card took, of one kind of rows."""

    kind: str
    """prices, rentals or benchmarks."""
    rows: int
    """Rows in all."""
    names: tuple[UnjoinedName, ...]
    """The names, the most frequent first."""


@answer()
class UnjoinedModels:
    """Measurements whose model is none of the presets."""

    rows: int
    """Rows in all."""
    kinds: int
    """Different names."""
    names: tuple[UnjoinedName, ...]
    """The most frequent names."""


@answer()
class Unjoined:
    """Rows that do not join to a card or to a model."""

    cards: tuple[UnjoinedCards, ...]
    """By card, as it was read."""
    models: UnjoinedModels
    """Measurements, by model."""


@dataclass(frozen=True, slots=True)
class Missing:
    """One thing that cards should have, and how to see that one lacks it."""

    code: str
    lacks: Callable[[Gpu], bool]


_MISSING: tuple[Missing, ...] = (
    Missing("bandwidth", lambda g: g.bandwidth_gb_s is None),
    Missing("fp32", lambda g: g.rate_tflops("fp32_tflops") is None),
    Missing("sixteen_bit", lambda g: not (g.rate_tflops("bf16_tflops") or g.rate_tflops("fp16_tflops"))),
    Missing("usable_derived", lambda g: g.usable_basis not in ("measured", "exact")),
    Missing("power", lambda g: g.tdp_w is None),
    Missing("launch", lambda g: not g.launch_date),
    Missing("form_factor", lambda g: not g.form_factor),
    # A module takes power and room from its baseboard, and makers of consumer cards differ in their coolers.
    Missing("slot_width", lambda g: g.form_factor == PCIE_CARD and g.slot_width is None),
    Missing(
        "power_connector", lambda g: g.form_factor == PCIE_CARD and not g.attributes.get("power_connector")
    ),
    Missing("cooling", lambda g: g.form_factor == PCIE_CARD and g.segment != CONSUMER and not g.cooling),
    Missing("driver", lambda g: g.vendor == "NVIDIA" and not g.driver_min_linux),
    Missing("ecc", lambda g: not g.ecc),
    Missing("link", lambda g: not g.link),
)


def missing_cards(snapshot: Snapshot) -> tuple[MissingCards, ...]:
    """For each figure or fact the cards that lack it."""
    found = [
        MissingCards(missing.code, tuple(named(gpu) for gpu in snapshot.gpus if missing.lacks(gpu)))
        for missing in _MISSING
    ]
    rented = {row.gpu_id for row in snapshot.rentals if not row.held}
    measured = {row.gpu_id for row in snapshot.benchmarks if not row.flag}
    for code, known in (("rent", rented), ("measurement", measured)):
        found.append(MissingCards(code, tuple(named(gpu) for gpu in snapshot.gpus if gpu.id not in known)))
    return tuple(found)


def named(gpu: Gpu) -> NamedCard:
    """A card as lists name it."""
    return NamedCard(gpu.id, gpu.label)


def without_yuan_price(coverage: Mapping[str, str]) -> list[str]:
    """Ids of cards that no yuan price inside the age limit serves."""
    return [gpu_id for gpu_id, code in coverage.items() if code not in FRESH]


def gaps(snapshot: Snapshot, as_of: date, coverage: Mapping[str, str], days: int) -> tuple[Gap, ...]:
    """Every gap that is one, with its number and its list."""
    found = [
        _gap("no_recent_yuan_price", without_yuan_price(coverage), days=days),
        _gap("no_price", (gpu_id for gpu_id, code in coverage.items() if code == "none")),
        _gap("no_currency_rate", _without_rate(snapshot)),
        _gap("old_currency_rate", _old_rates(snapshot, as_of), days=OLD_AFTER_DAYS),
        *(_gap(f"no_{part.code}", (card.id for card in part.cards)) for part in missing_cards(snapshot)),
    ]
    return tuple(gap for gap in found if gap.count)


@lru_cache(maxsize=1)
def shipped_unjoined() -> tuple[Mapping[str, str], ...]:
    """Names of cards in the collections behind the seed that no card took, with the reason for each."""
    path = resource_path("seed_data") / "unjoined.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        return tuple(DictReader(stream))


def unjoined(snapshot: Snapshot) -> Unjoined:
    """Rows that do not join: by card as it was read, and measurements by model; the most frequent first."""
    kinds: dict[str, list[UnjoinedName]] = {}
    for row in shipped_unjoined():
        name = UnjoinedName(row["name_as_written"], int(row["rows"]), row["reason"])
        kinds.setdefault(row["kind"], []).append(name)
    models = Counter(row.model_name for row in snapshot.benchmarks if not row.model_id)
    return Unjoined(
        tuple(
            UnjoinedCards(
                kind,
                sum(name.rows for name in names),
                tuple(sorted(names, key=lambda n: (-n.rows, n.name))),
            )
            for kind, names in kinds.items()
        ),
        UnjoinedModels(
            models.total(),
            len(models),
            tuple(UnjoinedName(name, rows) for name, rows in models.most_common(MODELS_SHOWN)),
        ),
    )


def _gap(code: str, items: Iterable[str], **params: int) -> Gap:
    listed = tuple(sorted(items))
    return Gap(code, len(listed), params, listed)


def _without_rate(snapshot: Snapshot) -> list[str]:
    """Currencies of prices that no rate turns into yuan."""
    found = set()
    for prices in snapshot.cards.values():
        for row in prices.observations:
            if row.day and snapshot.rates.to_cny(row.currency, date.fromordinal(row.day)) is None:
                found.add(row.currency)
    return sorted(found)


def _old_rates(snapshot: Snapshot, as_of: date) -> list[str]:
    currencies = {row.currency for c in snapshot.cards.values() for row in c.observations} - {HOME}
    uses = {currency: snapshot.rates.to_cny(currency, as_of) for currency in currencies}
    return [currency for currency, use in uses.items() if use is not None and use.old]
