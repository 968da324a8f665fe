"""Pages of a snapshot's lists, with filters and cursors."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any

from app.catalog.names import normalise_name
from app.catalog.records import PriceObservation, effective_date
from app.catalog.snapshot import Snapshot
from app.core.faults import InputFault
from app.services.catalogue import (
    benchmark_body,
    find_gpu,
    gpu_body,
    model_body,
    price_choices,
    price_row,
    rate_body,
    rental_body,
    source_body,
)
from app.services.payload import Payload
from app.texts.say import say

Filters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """Which rows of a list: so many, after the one that the cursor names."""

    limit: int = 20
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of a list: what a cursor names it by, what filters compare, how it becomes JSON."""

    key: str
    values: Mapping[str, str]
    name: str
    body: Callable[[], Payload]


def page(
    snapshot: Snapshot, kind: str, filters: Filters, wanted: Page, as_of: date, language: str
) -> Payload:
    """One page of a list.

    Parameters
    ----------
    kind: gpus, models, prices, rentals, benchmarks, rates or sources.
    filters: values to match; `gpu` and `model` take any known name, `q` is part of a name, `of_gpu` is the
        card of the address.

    Returns
    -------
    {items, next}; `next` is null on the last page.

    Errors
    ------
    NotInCatalogue for an unknown card in the address; InputFault for an unknown card or model in a filter, or
    a cursor that no page gave.
    """
    stated = dict(filters)
    address = stated.pop("of_gpu", None)
    if address is not None:
        stated["gpu"] = find_gpu(snapshot, address).id
    elif "gpu" in stated:
        stated["gpu"] = snapshot.resolve_gpu(stated["gpu"], "/gpu")
    if "model" in stated:
        stated["model"] = snapshot.resolve_model(stated["model"], "/model")
    rows = _matching(_ROWS[kind](snapshot, stated, as_of), stated)
    first = _position(rows, wanted.cursor)
    chosen = rows[first : first + wanted.limit]
    more = first + wanted.limit < len(rows)
    body: Payload = {
        "items": [say(row.body(), language) for row in chosen],
        "next": _cursor(chosen[-1].key) if more else None,
        "total": len(rows),
    }
    if kind == "prices":
        body["as_of"] = as_of.isoformat()
        if address is not None:
            body["choices"] = price_choices(snapshot, stated["gpu"], as_of)
    return body


def _matching(rows: list[_Row], filters: Filters) -> list[_Row]:
    exact = {k: normalise_name(str(v)) for k, v in filters.items() if k != "q"}
    part = normalise_name(str(filters.get("q", "")))
    return [
        row
        for row in rows
        if (not part or part in normalise_name(row.name))
        and all(normalise_name(row.values.get(k, "")) == v for k, v in exact.items())
    ]


def _cursor(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")


def _position(rows: Sequence[_Row], cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        key = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        key = ""
    for index, row in enumerate(rows):
        if row.key == key:
            return index + 1
    raise InputFault.at("/cursor", "unknown_cursor")


def _gpu_rows(snapshot: Snapshot, filters: Filters, as_of: date) -> list[_Row]:
    del filters, as_of
    return [
        _Row(
            gpu.id,
            {"vendor": gpu.vendor, "segment": gpu.segment},
            " ".join((gpu.id, gpu.name, *gpu.aliases)),
            partial(gpu_body, snapshot, gpu),
        )
        for gpu in snapshot.gpus
    ]


def _model_rows(snapshot: Snapshot, filters: Filters, as_of: date) -> list[_Row]:
    del filters, as_of
    return [
        _Row(
            model.id,
            {"family": model.family, "series": model.series},
            f"{model.id} {model.name} {model.hf_repo}",
            partial(model_body, model),
        )
        for model in snapshot.models.values()
    ]


def _price_rows(snapshot: Snapshot, filters: Filters, as_of: date) -> list[_Row]:
    cards = [filters["gpu"]] if "gpu" in filters else [gpu.id for gpu in snapshot.gpus]
    unused: dict[str, str] = {}
    observations: list[PriceObservation] = []
    for gpu_id in cards:
        card = snapshot.cards.get(gpu_id)
        if card is not None:
            observations.extend(card.observations)
            unused.update((row.id, reason) for row, reason in card.unused(as_of, snapshot.rates))
    observations = [row for row in observations if _seen(row.observed_on, as_of)]
    observations.sort(key=lambda row: (-row.day, row.id))
    return [
        _Row(
            row.id,
            {
                "gpu": row.gpu_id,
                "condition": row.condition,
                "region": row.region,
                "channel_kind": row.channel_kind,
            },
            row.name_as_written,
            partial(price_row, snapshot, row, as_of, unused.get(row.id, "")),
        )
        for row in observations
    ]


def _rental_rows(snapshot: Snapshot, filters: Filters, as_of: date) -> list[_Row]:
    del filters
    visible = (row for row in snapshot.rentals if _seen(row.observed_on, as_of))
    newest_first = sorted(visible, key=lambda r: (_day_number(r.observed_on), r.id), reverse=True)
    return [
        _Row(
            row.id,
            {"gpu": row.gpu_id, "provider": row.provider, "region": row.region},
            row.name_as_written,
            partial(rental_body, snapshot, row, as_of),
        )
        for row in newest_first
    ]


def _seen(observed_on: str, as_of: date) -> bool:
    """Whether an observation was there on a day; what is undated always was."""
    day = effective_date(observed_on, as_of)
    return day is None or day <= as_of


def _day_number(observed_on: str) -> int:
    day = effective_date(observed_on)
    return day.toordinal() if day else 0


def _benchmark_rows(snapshot: Snapshot, filters: Filters, as_of: date) -> list[_Row]:
    del as_of
    rows = snapshot.benchmarks_of_gpu(filters["gpu"]) if "gpu" in filters else snapshot.benchmarks
    return [
        _Row(
            row.id,
            {"gpu": row.gpu_id, "model": row.model_id, "task": row.task, "precision": row.precision},
            row.model_name,
            partial(benchmark_body, snapshot, row),
        )
        for row in rows
    ]


def _rate_rows(snapshot: Snapshot, filters: Filters, as_of: date) -> list[_Row]:
    del filters, as_of
    return [
        _Row(
            row.id,
            {"base": row.base, "quote": row.quote},
            f"{row.base} {row.quote}",
            partial(rate_body, snapshot, row),
        )
        for row in reversed(snapshot.rates.rows)
    ]


def _source_rows(snapshot: Snapshot, filters: Filters, as_of: date) -> list[_Row]:
    del filters, as_of
    return [
        _Row(source.id, {"kind": source.kind}, source.title, partial(source_body, source))
        for _, source in sorted(snapshot.sources.items())
    ]


_ROWS: dict[str, Callable[[Snapshot, Filters, date], list[_Row]]] = {
    "gpus": _gpu_rows,
    "models": _model_rows,
    "prices": _price_rows,
    "rentals": _rental_rows,
    "benchmarks": _benchmark_rows,
    "rates": _rate_rows,
    "sources": _source_rows,
}
