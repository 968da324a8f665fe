"""Lists of the catalogue: pages of rows with filters and cursors."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any

from app.catalog.names import normalise_name
from app.catalog.rates import ExchangeRate
from app.catalog.records import PriceObservation, effective_date
from app.catalog.snapshot import Snapshot
from app.core.answer import Figure, answer
from app.core.decide.engine_support import EngineSupport, is_of
from app.core.estimates import Basis
from app.core.faults import InputFault
from app.core.gpu import Gpu, PriceChoice, Source
from app.services.answers import DollarRate
from app.services.cards import Card, Model, card_of, find_gpu, model_of, price_choices
from app.services.measurements import MeasurementRow, measurement_row
from app.services.model_list import found as found_models
from app.services.prices import OBSERVED, PriceRow, RentalRow, price_row, rental_row

Filters = Mapping[str, str]


@answer()
class RateRow:
    """One rate of exchange as it was observed."""

    id: str
    """Id of the observation."""
    base: str
    """ISO 4217 code of the currency that is priced."""
    quote: str
    """ISO 4217 code of the currency of the rate."""
    rate: Figure
    """Units of `quote` for one `base`."""
    observed_on: str
    """Day or month of the rate, ISO 8601."""
    kind: str
    """daily, or monthly mean."""
    basis: Basis
    """How it is known: exact, as its source states it."""
    source: Source | None
    """Where it was read."""


@answer()
class SourceRow:
    """Where figures were read, with licence and attribution."""

    id: str
    """Id of the source."""
    url: str
    """Its address; empty for what was entered here."""
    title: str
    """Its title."""
    publisher: str
    """Who published it."""
    kind: str
    """vendor, reference, dataset, press, forum, listing, measured, derived or article."""
    licence: str
    """Licence of its data, as far as it is known."""
    read_on: str
    """Day on which it was read, ISO 8601."""


@answer(omit=("rate",))
class ListPage:
    """A page of a list."""

    next: str | None
    """`cursor` of the page after it; null on the last one."""
    total: int
    """Rows of the whole list."""
    currency: str
    """CNY, or USD where the amounts stand in dollars too."""
    rate: DollarRate | None
    """The rate behind the dollars; only with `currency=USD`."""


@answer(omit=("rate",))
class CardList(ListPage):
    """A page of cards."""

    items: tuple[Card, ...]
    """The cards."""


@answer(omit=("rate",))
class ModelList(ListPage):
    """A page of model presets."""

    items: tuple[Model, ...]
    """The presets."""


@answer(omit=("rate", "choices"))
class PriceList(ListPage):
    """A page of purchase prices, the newest first."""

    items: tuple[PriceRow, ...]
    """The prices."""
    as_of: str
    """Day of the ages, ISO 8601."""
    choices: Mapping[str, PriceChoice] | None = None
    """The price that counts by condition; only of one card."""


@answer(omit=("rate",))
class RentalList(ListPage):
    """A page of rents, the newest first."""

    items: tuple[RentalRow, ...]
    """The rents."""


@answer(omit=("rate",))
class MeasurementList(ListPage):
    """A page of measurements."""

    items: tuple[MeasurementRow, ...]
    """The measurements."""


@answer(omit=("rate",))
class RateList(ListPage):
    """A page of rates of exchange, the newest first."""

    items: tuple[RateRow, ...]
    """The rates."""


@answer(omit=("rate",))
class SourceList(ListPage):
    """A page of sources."""

    items: tuple[SourceRow, ...]
    """The sources."""


@answer()
class EngineSupportItem:
    """What is stated of an engine on a family of cards."""

    id: str
    """Id of the statement."""
    engine: str
    """The engine, or a library beside it."""
    plugin: str
    """Of the card's maker, where it takes one; may be empty."""
    version: str
    """Software that it speaks of, as written."""
    hardware: str
    """Which cards, any of: cc8.9, cc>=7.5, gfx942, vendor=Intel, id=ascend-910b*."""
    hardware_as_written: str
    """The cards in the words of the source."""
    gpus: tuple[str, ...]
    """Ids of the cards of the catalogue among them."""
    min_version: str
    """Least driver, toolkit or release; may be empty."""
    formats: str
    """Number formats or patterns of them; any."""
    feature: str
    """What it speaks of."""
    feature_kind: str
    """runs, format, feature, model, package or qlora."""
    status: str
    """official, plugin, experimental or unsupported."""
    refuses: bool
    """Whether it keeps a card from the list."""
    evidence: str
    """Kind of source."""
    dated: str
    """Date of the statement, as written."""
    note: str
    """What else is to be said of it; may be empty."""
    source: Source | None
    """Where it was read."""


@answer(omit=("rate",))
class EngineSupportList(ListPage):
    """A page of statements on engines."""

    items: tuple[EngineSupportItem, ...]
    """The statements."""


@dataclass(frozen=True, slots=True)
class Page:
    """Which rows of a list: so many, after the one that the cursor names."""

    limit: int = 20
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of a list: what a cursor names it by, what filters compare, how it becomes an answer."""

    key: str
    values: Mapping[str, str]
    name: str
    made: Callable[[], Any]


def page(snapshot: Snapshot, kind: str, filters: Filters, wanted: Page, as_of: date) -> ListPage:
    """One page of a list.

    Parameters
    ----------
    kind: gpus, models, prices, rentals, benchmarks, rates, sources or engine_support.
    filters: values to match; `gpu` and `model` take any known name, `q` is part of a name, `of_gpu` is the
        card of the address.

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
    made, rows_of = _LISTS[kind]
    rows = rows_of(snapshot, stated, as_of)
    if kind == "models":
        # These were found by all their names, the likeliest first.
        stated.pop("q", None)
    rows = _matching(rows, stated)
    first = _position(rows, wanted.cursor)
    chosen = rows[first : first + wanted.limit]
    more: dict[str, object] = {}
    if made is PriceList:
        more["as_of"] = as_of.isoformat()
        more["choices"] = price_choices(snapshot, stated["gpu"], as_of) if address is not None else None
    return made(
        next=_cursor(chosen[-1].key) if first + wanted.limit < len(rows) else None,
        total=len(rows),
        currency="CNY",
        rate=None,
        items=tuple(row.made() for row in chosen),
        **more,
    )


@dataclass(frozen=True, slots=True)
class CardRows:
    """All observations of one card."""

    prices: tuple[PriceRow, ...]
    rentals: tuple[RentalRow, ...]
    measurements: tuple[MeasurementRow, ...]


def rows_of_card(snapshot: Snapshot, gpu_id: str, as_of: date) -> CardRows:
    """All prices, rents and measurements of a card that were known on a day."""
    filters = {"gpu": gpu_id}

    def made(kind: str) -> tuple[Any, ...]:
        return tuple(row.made() for row in _matching(_LISTS[kind][1](snapshot, filters, as_of), filters))

    return CardRows(made("prices"), made("rentals"), made("benchmarks"))


def engine_statements(snapshot: Snapshot, filters: Filters, as_of: date) -> tuple[EngineSupportItem, ...]:
    """All statements on engines that filters leave; `gpu` is an id."""
    return tuple(row.made() for row in _matching(_engine_support_rows(snapshot, filters, as_of), filters))


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
            partial(card_of, snapshot, gpu),
        )
        for gpu in snapshot.gpus
    ]


def _model_rows(snapshot: Snapshot, filters: Filters, as_of: date) -> list[_Row]:
    del as_of
    return [
        _Row(model.id, {"family": model.family, "series": model.series}, model.name, partial(model_of, model))
        for model in found_models(snapshot, str(filters.get("q", "")))
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
            partial(rental_row, snapshot, row, as_of),
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
            partial(measurement_row, snapshot, row),
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
            partial(_rate_row, snapshot, row),
        )
        for row in reversed(snapshot.rates.rows)
    ]


def _source_rows(snapshot: Snapshot, filters: Filters, as_of: date) -> list[_Row]:
    del filters, as_of
    return [
        _Row(source.id, {"kind": source.kind}, source.title, partial(_source_row, source))
        for _, source in sorted(snapshot.sources.items())
    ]


def _engine_support_rows(snapshot: Snapshot, filters: Filters, as_of: date) -> list[_Row]:
    del as_of
    cards = [snapshot.gpu(filters["gpu"])] if "gpu" in filters else list(snapshot.gpus)
    stated = statements(snapshot, cards)
    return [
        _Row(
            row.id,
            {
                "gpu": filters.get("gpu", ""),
                "engine": row.engine,
                "status": row.status,
                "feature_kind": row.feature_kind,
            },
            f"{row.hardware_as_written} {row.plugin} {row.formats} {row.feature}",
            partial(_engine_support_row, row, stated[row.hardware]),
        )
        for row in snapshot.engine_support
        if "gpu" not in filters or stated[row.hardware]
    ]


def statements(snapshot: Snapshot, cards: Sequence[Gpu]) -> Mapping[str, tuple[str, ...]]:
    """Ids of the cards among those that the hardware of each statement names."""
    families = dict.fromkeys(row.hardware for row in snapshot.engine_support)
    return {hardware: tuple(gpu.id for gpu in cards if is_of(hardware, gpu)) for hardware in families}


def _engine_support_row(row: EngineSupport, gpus: tuple[str, ...]) -> EngineSupportItem:
    return EngineSupportItem(
        row.id,
        row.engine,
        row.plugin,
        row.engine_version,
        row.hardware,
        row.hardware_as_written,
        gpus,
        row.min_version,
        row.formats,
        row.feature,
        row.feature_kind,
        row.status,
        row.refuses,
        row.evidence,
        row.dated,
        row.note,
        row.source,
    )


def _rate_row(snapshot: Snapshot, row: ExchangeRate) -> RateRow:
    source = snapshot.sources.get(row.source_id)
    return RateRow(row.id, row.base, row.quote, row.rate, row.observed_on, row.kind, OBSERVED, source)


def _source_row(source: Source) -> SourceRow:
    return SourceRow(
        source.id, source.url, source.title, source.publisher, source.kind, source.licence, source.read_on
    )


_LISTS: Mapping[str, tuple[Callable[..., ListPage], Callable[[Snapshot, Filters, date], list[_Row]]]] = {
    "gpus": (CardList, _gpu_rows),
    "models": (ModelList, _model_rows),
    "prices": (PriceList, _price_rows),
    "rentals": (RentalList, _rental_rows),
    "benchmarks": (MeasurementList, _benchmark_rows),
    "rates": (RateList, _rate_rows),
    "sources": (SourceList, _source_rows),
    "engine_support": (EngineSupportList, _engine_support_rows),
}
