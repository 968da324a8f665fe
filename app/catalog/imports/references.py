"""What imported rows refer to: cards, models, sources, channels, rates."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection, select

from app.catalog import tables
from app.catalog.imports.values import CellFault
from app.catalog.names import NameIndex, alias_of, index_of_cards, index_of_models, normalise_name
from app.catalog.rates import ExchangeRate, Rates
from app.catalog.records import LAUNCH, effective_date
from app.catalog.versions import table_of
from app.core.faults import InputFault

_GPU, _MODEL, _SOURCE, _PRICE, _BENCHMARK = (
    table_of(row)
    for row in (
        tables.GpuRow,
        tables.ModelRow,
        tables.SourceRow,
        tables.PriceRow,
        tables.BenchmarkRow,
    )
)
_WEB = ("https://", "http://")


@dataclass(slots=True)
class References:
    """Read once for an import; grows by the sources and cards that the import brings."""

    gpus: NameIndex
    models: NameIndex
    gpu_ids: set[str]
    model_ids: set[str]
    names_of_gpus: Mapping[str, str]
    """Normalised name or alias -> id, the ambiguous ones left out."""
    sources: dict[str, dict[str, str]]
    by_url: dict[str, str]
    by_title: dict[str, str]
    channel_kinds: Mapping[str, str]
    benchmark_units: frozenset[str]
    new_sources: dict[str, dict[str, Any]] = field(default_factory=dict)
    memory_gib: Mapping[str, float] = field(default_factory=dict)
    """Of the cards, where whoever asks has read it."""
    model_families: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, connection: Connection) -> References:
        """The names of the catalogue as they are now."""
        card_rows = connection.execute(select(_GPU.c.id, _GPU.c.name)).all()
        preset_rows = connection.execute(
            select(_MODEL.c.id, _MODEL.c.hf_repo, _MODEL.c.name, _MODEL.c.family)
        )
        presets = preset_rows.all()
        aliases = [alias_of(r) for r in connection.execute(select(table_of(tables.AliasRow)))]
        names = {normalise_name(r.name): r.id for r in card_rows}
        names |= {normalise_name(a.name): a.target_id for a in aliases if a.kind == "gpu" and a.target_id}
        names |= {normalise_name(r.id): r.id for r in card_rows}
        rows = connection.execute(select(_SOURCE.c.id, _SOURCE.c.url, _SOURCE.c.title)).all()
        return cls(
            index_of_cards(((r.id, r.name) for r in card_rows), aliases),
            index_of_models(((r.id, r.hf_repo, r.name) for r in presets), aliases),
            {r.id for r in card_rows},
            {r.id for r in presets},
            names,
            {r.id: {"url": r.url, "title": r.title} for r in rows},
            {r.url: r.id for r in rows if r.url},
            {normalise_name(r.title): r.id for r in rows},
            _channel_kinds(connection),
            frozenset(connection.execute(select(_BENCHMARK.c.unit).distinct()).scalars()),
            model_families={r.id: r.family for r in presets},
        )

    def gpu(self, text: str) -> str:
        """Id of a card; a name that is unknown or means several is a fault of the cell."""
        return _resolve(self.gpus, text)

    def model(self, text: str) -> str:
        """Id of a model preset, in the same way."""
        return _resolve(self.models, text)

    def source(self, text: str, url: str, kind: str, read_on: str = "") -> str:
        """Id of a source by id, address or title; one that is not there yet is added, as read on that day.

        Errors
        ------
        CellFault when nothing is stated: no figure gets in without a source.
        """
        if text.startswith(_WEB) and not url:
            text, url = "", text
        if url and not url.startswith(_WEB):
            raise CellFault("not_an_address")
        if text in self.sources and (not url or self.sources[text]["url"] == url):
            return text
        if url in self.by_url:
            return self.by_url[url]
        if not text and not url:
            raise CellFault("source_missing")
        title = text or url.removeprefix("https://").removeprefix("http://")
        if not url and normalise_name(title) in self.by_title:
            return self.by_title[normalise_name(title)]
        return self._new_source(title, url, kind, read_on)

    def _new_source(self, title: str, url: str, kind: str, read_on: str) -> str:
        new_id = "own-" + hashlib.sha256(f"{title}\x1f{url}".encode()).hexdigest()[:12]
        # Who is named without an address, a shop or a colleague, is the publisher too.
        publisher = urlsplit(url).hostname or "" if url else title
        row = {"id": new_id, "url": url, "title": title, "publisher": publisher}
        row |= {"kind": kind, "read_on": read_on}
        self.new_sources[new_id] = row
        self.sources[new_id] = {"url": url, "title": title}
        if url:
            self.by_url[url] = new_id
        else:
            self.by_title[normalise_name(title)] = new_id
        return new_id


def _channel_kinds(connection: Connection) -> dict[str, str]:
    """Kind of a channel by its name, as the prices have it; a launch is no channel."""
    query = select(_PRICE.c.channel, _PRICE.c.channel_kind).distinct()
    found = connection.execute(query).all()
    return {normalise_name(r.channel): r.channel_kind for r in found if r.channel_kind != LAUNCH}


def read_rates(connection: Connection) -> Rates:
    """All exchange rates."""
    table = table_of(tables.ExchangeRateRow)
    return Rates(
        ExchangeRate(r.base, r.quote, r.rate, r.observed_on, r.kind, r.source_id, r.id)
        for r in connection.execute(select(table))
    )


def day_of(text: str) -> int:
    """Number of the day that an observation counts from; 0 when it is undated."""
    found: date | None = effective_date(text)
    return found.toordinal() if found else 0


def _resolve(index: NameIndex, text: str) -> str:
    try:
        return index.resolve(text, "")
    except InputFault as fault:
        error = fault.errors[0]
        raise CellFault(error.code, **error.params) from fault
