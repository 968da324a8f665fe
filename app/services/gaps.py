"""What the data lack: figures and facts of cards, prices, rents, measurements, rates. One count for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from csv import DictReader
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

from app.catalog.rates import HOME, OLD_AFTER_DAYS
from app.catalog.snapshot import Snapshot
from app.core.gpu import Gpu
from app.resources import resource_path
from app.services.payload import Payload, gpu_label

PCIE_CARD = "PCIe card"
CONSUMER = "consumer"
FRESH = ("fresh", "ageing")
"""Kinds of price coverage that are a yuan price within the age limit."""
MODELS_SHOWN = 20


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


def missing_cards(snapshot: Snapshot) -> list[Payload]:
    """For each figure or fact the cards that lack it: {code, cards}."""
    found = [
        {"code": missing.code, "cards": [card(gpu) for gpu in snapshot.gpus if missing.lacks(gpu)]}
        for missing in _MISSING
    ]
    rented = {row.gpu_id for row in snapshot.rentals if not row.held}
    measured = {row.gpu_id for row in snapshot.benchmarks if not row.flag}
    for code, known in (("rent", rented), ("measurement", measured)):
        found.append({"code": code, "cards": [card(gpu) for gpu in snapshot.gpus if gpu.id not in known]})
    return found


def card(gpu: Gpu) -> Payload:
    """A card as lists name it."""
    return {"id": gpu.id, "label": gpu_label(gpu)}


def without_yuan_price(coverage: Mapping[str, str]) -> list[str]:
    """Ids of cards that no yuan price inside the age limit serves."""
    return [gpu_id for gpu_id, code in coverage.items() if code not in FRESH]


def gaps(snapshot: Snapshot, as_of: date, coverage: Mapping[str, str], days: int) -> list[Payload]:
    """Every gap that is one, with its number and its list: {code, count, params, items}."""
    found = [
        _gap("no_recent_yuan_price", without_yuan_price(coverage), days=days),
        _gap("no_price", (gpu_id for gpu_id, code in coverage.items() if code == "none")),
        _gap("no_currency_rate", _without_rate(snapshot)),
        _gap("old_currency_rate", _old_rates(snapshot, as_of), days=OLD_AFTER_DAYS),
        *(
            _gap(f"no_{part['code']}", (item["id"] for item in part["cards"]))
            for part in missing_cards(snapshot)
        ),
    ]
    return [gap for gap in found if gap["count"]]


@lru_cache(maxsize=1)
def shipped_unjoined() -> tuple[Mapping[str, str], ...]:
    """Names of cards in the collections behind the seed that no card took, with the reason for each."""
    path = resource_path("seed_data") / "unjoined.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        return tuple(DictReader(stream))


def unjoined(snapshot: Snapshot) -> Payload:
    """Rows that do not join: by card as it was read, and measurements by model.

    Returns
    -------
    {cards: [{kind, rows, names: [{name, rows, reason}]}], models: {rows, names: [{name, rows}]}}, the most
    frequent first.
    """
    kinds: dict[str, list[Payload]] = {}
    for row in shipped_unjoined():
        named = {"name": row["name_as_written"], "rows": int(row["rows"]), "reason": row["reason"]}
        kinds.setdefault(row["kind"], []).append(named)
    models = Counter(row.model_name for row in snapshot.benchmarks if not row.model_id)
    return {
        "cards": [
            {
                "kind": kind,
                "rows": sum(name["rows"] for name in names),
                "names": sorted(names, key=lambda n: (-n["rows"], n["name"])),
            }
            for kind, names in kinds.items()
        ],
        "models": {
            "rows": models.total(),
            "kinds": len(models),
            "names": [{"name": name, "rows": rows} for name, rows in models.most_common(MODELS_SHOWN)],
        },
    }


def _gap(code: str, items: Iterable[str], **params: Any) -> Payload:
    listed = sorted(items)
    return {"code": code, "count": len(listed), "params": params, "items": listed}


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
