"""From result objects to the JSON of the contract. Messages stay codes with parameters: see `say`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from app import __version__
from app.core.decide.options import (
    Cost,
    Fit,
    Metrics,
    Option,
    Rejected,
    Remedy,
    Robustness,
    Shortlist,
)
from app.core.decide.reasons import LASTING_CODES
from app.core.decide.shortlist import KEPT_REJECTIONS
from app.core.estimates import Assumption, Interval, MemoryEstimate, Message, SpeedEstimate
from app.core.gpu import Gpu, PriceChoice, Source
from app.core.kept import Kept
from app.core.workload import Parallelism
from app.services.provenance import price_provenance
from app.texts.figures import SIGNIFICANT_DIGITS
from app.texts.words import short_card_name

Payload = dict[str, Any]
T = TypeVar("T")

KEPT_PRICES = 1024

INTERVALS = {"memory": "5th, 50th and 95th percentile", "speed": "10th, 50th and 90th percentile"}


_AS_THEY_ARE = frozenset({str, bool, int, type(None)})
WHOLE_LIMIT = 2.0**53
"""From here on a float says nothing about the digit of the units."""
_SIGNIFICANT = f"%.{SIGNIFICANT_DIGITS}g"


def number(value: Any) -> float | int | None:
    """A plain JSON number to nine significant digits; whole numbers stay whole, unknown stays null."""
    if type(value) is not float:
        if value is None or type(value) is int:
            return value
        value = float(value)
    if value.is_integer() and -WHOLE_LIMIT < value < WHOLE_LIMIT:
        # Parameter counts and yuan are whole: no digit of theirs is false precision.
        return int(value)
    # Through the text: an answer has a thousand figures, and this takes a third of the time of `round`.
    return float(_SIGNIFICANT % value) if math.isfinite(value) else None


def plain(value: Any) -> Any:
    """Parameters of a message or a detail as JSON: arrays and tuples as lists, floats rounded."""
    kind = type(value)
    # Exact types first: nearly everything is one of these.
    if kind is float:
        return number(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is dict:
        return {k: v if type(v) in _AS_THEY_ARE else plain(v) for k, v in value.items()}
    if kind is Interval:
        return interval(value)
    if kind is tuple or kind is list:
        return [v if type(v) in _AS_THEY_ARE else plain(v) for v in value]
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, Message):
        return message(value)
    if isinstance(value, Source):
        return source(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return number(value)
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return [plain(v) for v in value]
    return str(value)


def interval(value: Interval) -> Payload:
    """Low, expected, high."""
    return {"low": number(value.low), "expected": number(value.expected), "high": number(value.high)}


def message(value: Message) -> Payload:
    """A message that is still to be said in a language."""
    return {"code": value.code, "params": plain(value.params)}


def versions(catalog_version: str) -> Payload:
    """What a result was computed with."""
    return {"engine": __version__, "catalog": catalog_version}


def assumptions(values: Sequence[Assumption]) -> list[Payload]:
    """The defaults that were used, each field once."""
    unique = {a.field: a for a in values}
    return [
        {
            "field": a.field,
            "value": plain(a.value),
            "why": {"code": a.why, "params": {"value": plain(a.value)}},
        }
        for a in unique.values()
    ]


def memory(estimate: MemoryEstimate) -> Payload:
    """The need of the busiest card, in parts."""
    return {
        "per_gpu_gib": interval(estimate.per_gpu_gib),
        "allocated_gib": interval(estimate.allocated_gib),
        "reserved_gib": interval(estimate.reserved_gib),
        "kv_reserved_gib": number(estimate.kv_reserved_gib),
        "kv_bytes_per_token": number(estimate.kv_bytes_per_token),
        "parts": [
            {"part": p.part, "gib": number(p.gib), "basis": p.basis, "formula": p.formula}
            for p in estimate.parts
        ],
        "interval": INTERVALS["memory"],
    }


MemoryWriter = Callable[[MemoryEstimate], Payload]
RemedyWriter = Callable[[Remedy], Payload]


def fit(value: Fit) -> Payload:
    """The verdict, and what would just fit."""
    return {
        "verdict": value.verdict,
        "usable_gib": number(value.usable_gib),
        "margin_gib": number(value.margin_gib),
        "max_batch_size": value.max_batch_size,
        "max_sequence_length": value.max_sequence_length,
    }


def speed(estimate: SpeedEstimate) -> Payload:
    """Throughput of all cards together."""
    detail = plain(estimate.detail)
    body: Payload = {
        "low": number(estimate.low),
        "expected": number(estimate.expected),
        "high": number(estimate.high),
        "unit": estimate.unit,
        "basis": estimate.basis,
        "bound": estimate.bound,
        "phase": estimate.phase,
        "steps_per_s": number(estimate.steps_per_s),
    }
    for phase in ("prefill", "decode", "whole_run"):
        if phase in detail:
            body[phase] = detail.pop(phase)
    body["detail"] = detail
    body["sources"] = list(estimate.sources)
    body["interval"] = INTERVALS["speed"]
    return body


def fields_of(value: Any) -> Payload:
    """The fields of a dataclass as JSON."""
    return {name: plain(getattr(value, name)) for name in _field_names(type(value))}


_NAMES: dict[type, tuple[str, ...]] = {}


def _field_names(kind: Any) -> tuple[str, ...]:
    """Names of the fields of a dataclass."""
    found = _NAMES.get(kind)
    if found is None:
        found = _NAMES[kind] = tuple(f.name for f in fields(kind))
    return found


def source(value: Source | None) -> Payload | None:
    """Where a figure was read."""
    if value is None:
        return None
    return {"id": value.id, "url": value.url, "title": value.title, "publisher": value.publisher}


_prices: Kept[Payload] = Kept(KEPT_PRICES)


def price(value: PriceChoice) -> Payload:
    """The price that counts, and how it was chosen; shared by answers, not to be changed."""
    return _prices.get((value,), None, lambda: _price(value))


def _price(value: PriceChoice) -> Payload:
    return {
        "amount": number(value.amount),
        "currency": value.currency,
        "amount_cny": number(value.amount_cny),
        "per": value.per,
        "condition": value.condition,
        "tax": value.tax,
        "region": value.region,
        "channel": value.channel,
        "channel_kind": value.channel_kind,
        "observed_on": value.observed_on,
        "age_days": value.age_days,
        "ageing": value.ageing,
        "stale": value.stale,
        "converted": value.converted,
        "n": value.n,
        "low_cny": number(value.low_cny),
        "high_cny": number(value.high_cny),
        "source": source(value.source),
        **price_provenance(value),
        "kind": value.kind,
        "variant_assumed": value.variant_assumed,
        "rate": number(value.rate),
        "rate_on": value.rate_on,
        "rate_old": value.rate_old,
        "note": value.note,
        "observation_ids": list(value.observation_ids),
        "stated_amount": number(value.stated_amount),
        "stated_tax": value.stated_tax,
        "tax_rate": number(value.tax_rate),
        "tax_rate_assumed": value.tax_rate_assumed,
    }


def cost(value: Cost) -> Payload:
    """Money of one option, part by part, in yuan."""
    per_unit = (
        None
        if value.per_unit_cny is None
        else {"amount_cny": number(value.per_unit_cny), "unit": value.per_unit}
    )
    return {
        "purchase_cny": number(value.purchase_cny),
        "host_cny": number(value.host_cny),
        "energy_cny": number(value.energy_cny),
        "residual_cny": number(value.residual_cny),
        "total_cny": number(value.total_cny),
        "per_hour_cny": number(value.per_hour_cny),
        "per_unit": per_unit,
        "energy_kwh": number(value.energy_kwh),
        "months": number(value.months),
        "work_hours": number(value.work_hours),
    }


def metrics(value: Metrics) -> Payload:
    """Figures per yuan, with the precision they are of."""
    body = {name: getattr(value, name) for name in _field_names(Metrics)}
    return {k: v if isinstance(v, str) else number(v) for k, v in body.items()}


@lru_cache(maxsize=256)
def plan(value: Parallelism) -> Payload:
    """The parallel plan; shared by answers, not to be changed."""
    return fields_of(value)


def robustness(value: Robustness) -> Payload:
    """How firmly an option stands."""
    return {
        "share_first": number(value.share_first),
        "draws": value.draws,
        "seed": value.seed,
        "flips": [
            {
                "factor": f.factor,
                "now": number(f.now),
                "at": number(f.at),
                "distance": number(f.distance),
                "winner": f.winner,
            }
            for f in value.flips
        ],
    }


def gpu_label(gpu: Gpu) -> str:
    """The short name of a card, without the vendor's series word: RTX 4090, not GeForce RTX 4090."""
    return short_card_name(gpu.name)


def label(gpu: Gpu, count: int) -> str:
    """1 × RTX 4090."""
    return f"{count} × {gpu_label(gpu)}"


def option(value: Option, write: MemoryWriter = memory) -> Payload:
    """One way to buy, with its evidence; `write` is how its memory is written."""
    return {
        "rank": value.rank,
        "label": label(value.gpu, value.count),
        "gpu": {"id": value.gpu.id, "name": value.gpu.name, "vendor": value.gpu.vendor},
        "count": value.count,
        "condition": value.condition,
        "plan": plan(value.plan),
        "fit": fit(value.fit),
        "memory": write(value.memory),
        "speed": speed(value.speed),
        "price": price(value.price),
        "cost": cost(value.cost),
        "metrics": metrics(value.metrics),
        "reasons": [message(m) for m in value.reasons],
        "flags": [message(m) for m in value.flags],
        "robustness": None if value.robustness is None else robustness(value.robustness),
    }


def remedy(value: Remedy, write: MemoryWriter = memory) -> Payload:
    """One change that makes it fit, with its own estimate; `write` is how its memory is written."""
    body: Payload = {"code": value.code, "text": message(value.message), "change": plain(value.change)}
    if value.memory is not None:
        body["memory"] = write(value.memory)
    if value.fit is not None:
        body["fit"] = fit(value.fit)
    if value.speed_ratio is not None:
        body["speed_ratio"] = number(value.speed_ratio)
    return body


_rejections: Kept[Payload] = Kept(KEPT_REJECTIONS)


def rejected(value: Rejected, write: RemedyWriter = remedy) -> Payload:
    """A card that is not on the list, why, and what would change it; shared by answers, not to be changed.

    `write` is how its remedy is written.
    """
    if value.code in LASTING_CODES:
        return _rejections.get((value,), None, lambda: _rejected(value, write))
    return _rejected(value, write)


def _rejected(value: Rejected, write: RemedyWriter) -> Payload:
    gpu = value.gpu
    body: Payload = {
        "gpu": {"id": gpu.id, "name": gpu.name, "vendor": gpu.vendor},
        "label": label(gpu, value.count),
        "count": value.count,
        "code": value.code,
        "text": message(value.message),
    }
    if value.shortfall_gib is not None:
        body["shortfall_gib"] = number(value.shortfall_gib)
    if value.remedy is not None:
        body["remedy"] = write(value.remedy)
    return body


def shortlist(value: Shortlist) -> Payload:
    """The ranked answer, without the question it answers."""
    # Options under the same plan share one estimate, and cards of one size one remedy: written once.
    write_memory = _once(memory)
    write_remedy: RemedyWriter = _once(lambda value: remedy(value, write_memory))
    return {
        "options": [option(o, write_memory) for o in value.options],
        "rejected": [rejected(r, write_remedy) for r in value.rejected],
        "pareto": [{"rank": rank} for rank in value.pareto],
        "feasible": value.feasible,
        "assumptions": assumptions(value.assumptions),
        "advice": [message(m) for m in value.advice],
    }


def _once(write: Callable[[T], Payload]) -> Callable[[T], Payload]:
    """As `write`, which sees each object once; the objects have to outlive it."""
    written: dict[int, Payload] = {}

    def found(value: T) -> Payload:
        key = id(value)
        if key not in written:
            written[key] = write(value)
        return written[key]

    return found
