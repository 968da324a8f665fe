"""Reading a snapshot: one SELECT per table, plain rows, no ORM objects kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from sys import intern
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Engine, Row, select
from sqlmodel import SQLModel

from app.catalog import tables
from app.catalog.columns import observations, statements, subjects
from app.catalog.columns.cells import COUNTED, FACTS, FIGURES
from app.catalog.columns.kinds import DataKind
from app.catalog.db import reading
from app.catalog.names import Alias, alias_of, index_of_cards, index_of_models
from app.catalog.prices import CardPrices
from app.catalog.problems import DatabaseProblem
from app.catalog.rates import ExchangeRate, Rates
from app.catalog.records import (
    Availability,
    Fact,
    FigureEntry,
    FrameworkSupport,
    MemoryCase,
    ModelPreset,
    PriceObservation,
    Quote,
    Rental,
)
from app.catalog.snapshot import Snapshot
from app.catalog.versions import latest, table_of
from app.core.decide.engine_support import EngineSupport
from app.core.decide.host import HostClass
from app.core.estimates import Basis
from app.core.gpu import Benchmark, Figure, Gpu, Source
from app.core.model.architecture import ModelArchitecture, architecture_from_fields

T = TypeVar("T")
_RATE_UNITS = ("TFLOPS", "TOPS")
_OF_ROW, _OF_FIGURES, _OF_FACTS = (
    tuple(name for name in names if name in Gpu.__dataclass_fields__)
    for names in ((c.name for c in subjects.GPUS.columns if c.stored), FIGURES, FACTS)
)
"""Fields of a card by where they stand; a fact with a source of its own beats the row's column."""
_AS: Mapping[str, Callable[[Any], Any]] = {
    "mig_instances": int,
    "pcie_gen": int,
    "pcie_lanes": int,
    "slot_width": float,
}
_TEXT_FACTS = tuple(
    column.name
    for column in subjects.GPUS.columns
    if column.stored
    and column.kind == "text"
    and column.listed
    and column.name not in Gpu.__dataclass_fields__
)
"""Facts of a card that nothing calculates with."""
Made = Mapping[str, Callable[[Any], Any]]
STREAMED_ROWS = 5_000
_ADDED_FACTS = ("power_connector", "socket")
"""Facts of gpu_fact that stand among the text facts of a card; a source of their own beats the row's."""


def load_snapshot(engine: Engine) -> Snapshot:
    """Read the whole catalogue in one read transaction.

    Errors
    ------
    DatabaseProblem when nothing has been seeded yet, or the database cannot be read.
    """
    with reading(engine) as connection:
        version = latest(connection)
        if version is None:
            raise DatabaseProblem.unseeded()
        sources = {s.id: s for s in _records(connection, subjects.SOURCES, Source, {})}
        of: Made = {"source": lambda r: sources[r.source_id]}
        aliases = [alias_of(r) for r in _rows(connection, tables.AliasRow)]
        cards = _rows(connection, tables.GpuRow)
        entries = _entries(connection, cards, sources)
        facts = _facts(connection, sources)
        gpus = _gpus(cards, entries, facts, aliases, sources)
        models = _models(connection, sources)
        return Snapshot(
            version=version.version,
            digest=version.digest,
            gpus=gpus,
            sources=sources,
            models=models,
            benchmarks=tuple(
                _records(connection, observations.BENCHMARKS, Benchmark, of, model_name="model_as_written")
            ),
            rates=Rates(_records(connection, observations.RATES, ExchangeRate, {})),
            rentals=tuple(_records(connection, observations.RENTALS, Rental, of)),
            framework_support=tuple(
                sorted(
                    _records(connection, statements.FRAMEWORK_SUPPORT, FrameworkSupport, of),
                    key=lambda r: (r.framework, _version_key(r.version)),
                )
            ),
            engine_support=tuple(
                sorted(
                    _records(connection, statements.ENGINE_SUPPORT, EngineSupport, of),
                    key=lambda r: (r.engine, r.vendor, r.hardware, r.feature_kind, r.formats, r.id),
                )
            ),
            host_classes=tuple(
                sorted(
                    _records(connection, statements.HOST_CLASSES, HostClass, of),
                    key=lambda h: (h.expected_cny, h.id),
                )
            ),
            memory_cases=tuple(_records(connection, observations.MEMORY_CASES, MemoryCase, of)),
            entries={gpu_id: tuple(rows) for gpu_id, rows in entries.items()},
            facts=facts,
            cards=_cards(connection, gpus, of),
            available=_availability(_records(connection, statements.AVAILABILITY, Availability, of)),
            gpu_names=index_of_cards(((gpu.id, gpu.name) for gpu in gpus), aliases),
            model_names=index_of_models(((m.id, m.hf_repo, m.name) for m in models.values()), aliases),
        )


def _rows(connection: Connection, row: type[SQLModel]) -> list[Row[Any]]:
    table = table_of(row)
    # By id in Python: the collations of the two databases differ.
    return sorted(connection.execute(select(table)).all(), key=lambda r: str(r.id))


def _streamed(connection: Connection, row: type[SQLModel]) -> Iterator[Row[Any]]:
    """Rows a few at a time, in no order: a table of a million is not held twice over."""
    yield from connection.execute(select(table_of(row)), execution_options={"yield_per": STREAMED_ROWS})


def _groups(rows: Iterable[T], key: Callable[[T], str]) -> dict[str, list[T]]:
    groups: dict[str, list[T]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _entries(
    connection: Connection, cards: Iterable[Row[Any]], sources: dict[str, Source]
) -> dict[str, list[FigureEntry]]:
    memory_types = {r.id: r.memory_type for r in cards}
    by_card = _groups(_rows(connection, tables.GpuFigureRow), lambda r: cast(str, r.gpu_id))
    found: dict[str, list[FigureEntry]] = {}
    for gpu_id, rows in by_card.items():
        chosen = _chosen_rows(rows)
        found[gpu_id] = [
            FigureEntry(r.id, intern(r.figure), _figure(r, sources), chosen.get(r.figure) is r)
            for r in sorted(rows, key=lambda r: (r.figure, not r.chosen, r.id))
        ]
        derived = _derived_usable({e.name: e.figure for e in found[gpu_id] if e.chosen}, memory_types[gpu_id])
        if derived is not None:
            found[gpu_id].append(FigureEntry(f"{gpu_id}:usable_gib", "usable_gib", derived, True))
    return found


def _chosen_rows(rows: Iterable[Row[Any]]) -> dict[str, Row[Any]]:
    """The value in force of each figure of a card."""
    replaced = {r.supersedes for r in rows if r.supersedes}
    claimed = [r for r in rows if r.chosen and r.id not in replaced]
    # Two that claim to be chosen: the later one, then the greater id; always the same answer.
    return {r.figure: r for r in sorted(claimed, key=lambda r: (r.as_of, r.id))}


def _figure(r: Row[Any], sources: Mapping[str, Source]) -> Figure:
    # Up to version 20261203 of the database a count was kept without a unit.
    unit, basis = intern(r.unit or COUNTED), cast(Basis, intern(r.basis))
    return Figure(r.value, unit, basis, sources[r.source_id], intern(r.as_of), r.formula, r.note)


def _facts(connection: Connection, sources: dict[str, Source]) -> dict[str, dict[str, Fact]]:
    found: dict[str, dict[str, Fact]] = {}
    for r in _rows(connection, tables.GpuFactRow):
        fact = Fact(r.value, intern(r.basis), sources[r.source_id], intern(r.as_of), r.formula, r.note)
        found.setdefault(r.gpu_id, {})[intern(r.fact)] = fact
    return found


def _gpus(
    cards: Iterable[Row[Any]],
    entries: dict[str, list[FigureEntry]],
    facts_of: Mapping[str, Mapping[str, Fact]],
    aliases: Iterable[Alias],
    sources: dict[str, Source],
) -> tuple[Gpu, ...]:
    names = _groups((a for a in aliases if a.kind == "gpu" and a.target_id), lambda a: a.target_id)
    return tuple(
        _gpu(r, entries.get(r.id, ()), facts_of.get(r.id, {}), names.get(r.id, ()), sources[r.source_id])
        for r in cards
    )


def _gpu(
    r: Row[Any],
    entries: Iterable[FigureEntry],
    facts_of: Mapping[str, Fact],
    names: Iterable[Alias],
    source: Source,
) -> Gpu:
    """A card: each field is a column of its row, a chosen figure, or a fact with a source of its own."""
    figures = {e.name: e.figure for e in entries if e.chosen}
    own = {name: fact.value for name, fact in facts_of.items()}
    given = {name: getattr(r, name) for name in _OF_ROW}
    given |= {name: figures[name].value for name in _OF_FIGURES if name in figures}
    given |= {name: own[name] for name in _OF_FACTS if name in own}
    given |= {name: _AS[name](given[name]) for name in _AS if name in given}
    if "usable_gib" in figures:
        given["usable_basis"] = figures["usable_gib"].basis
    attributes = {name: getattr(r, name) for name in _TEXT_FACTS if getattr(r, name)}
    attributes |= {name: own[name] for name in _ADDED_FACTS if name in own}
    attributes |= {"half_rate_fp32_accumulate": r.half_rate_fp32_accumulate, "source": source}
    return Gpu(
        rates={name: f.value for name, f in figures.items() if f.unit in _RATE_UNITS},
        aliases=tuple(sorted(a.name for a in names)),
        attributes=attributes,
        **given,
    )


def _models(connection: Connection, sources: dict[str, Source]) -> dict[str, ModelPreset]:
    made = {
        "source": lambda r: sources[r.source_id],
        "published_source": lambda r: sources.get(r.published_source_id),
        "architecture": _architecture,
    }
    make = subjects.MODELS.maker(ModelPreset, made)
    return {r.id: make(r) for r in _rows(connection, tables.ModelRow)}


def _architecture(r: Row[Any]) -> ModelArchitecture:
    stated = ("id", "name", "family", "parameters", "active_parameters")
    return architecture_from_fields({**{name: getattr(r, name) for name in stated}, **r.architecture})


def _records(connection: Connection, kind: DataKind, record: type[T], made: Made, **columns: str) -> list[T]:
    """The rows of a kind by id; what a later row corrects is left out."""
    rows = _rows(connection, kind.row)
    replaced = {r.supersedes for r in rows if r.supersedes} if "supersedes" in kind.by_name else ()
    make = kind.maker(record, made, **columns)
    return [make(r) for r in rows if r.id not in replaced]


def _cards(connection: Connection, gpus: Iterable[Gpu], of: Made) -> dict[str, CardPrices]:
    observed = observations.PRICES.maker(PriceObservation, of)
    quoted = observations.QUOTES.maker(Quote, {})
    prices = _groups(map(observed, _streamed(connection, tables.PriceRow)), lambda o: o.gpu_id)
    quotes = _groups(map(quoted, _rows(connection, tables.QuoteRow)), lambda q: q.gpu_id)
    return {gpu.id: CardPrices(gpu.id, prices.get(gpu.id, ()), quotes.get(gpu.id, ())) for gpu in gpus}


def _version_key(version: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in version.split("."))


def _availability(facts: Iterable[Availability]) -> dict[tuple[str, str], tuple[Availability, ...]]:
    groups: dict[tuple[str, str], list[Availability]] = {}
    for fact in facts:
        groups.setdefault((fact.gpu_id, fact.region), []).append(fact)
    return {key: tuple(sorted(known, key=lambda f: f.from_on, reverse=True)) for key, known in groups.items()}


# What CUDA reports over what the driver prints, by kind of memory: measured on T4, 3090 and 4090 for GDDR, on
# RTX 5090 for GDDR7, on A100 and H100 for HBM.
OF_DRIVER_TOTAL = (("HBM", 0.992), ("GDDR7", 0.994), ("", 0.985))
OF_NAMEPLATE = 0.98


def _derived_usable(figures: Mapping[str, Figure], memory_type: str) -> Figure | None:
    """Usable memory by the ratio of the kind of memory.

    Parameters
    ----------
    figures: chosen figures of the card by name.
    memory_type: as the vendor writes it, GDDR6X or HBM3.

    Returns
    -------
    A derived figure [GiB], or None when the card has a usable figure already or no memory figure at all.

    Notes
    -----
    usable = driver total x ratio, or nameplate x 0.98 where no driver total is known. Not valid for boards
    with several chips, nor for parts that share the memory of the host.
    """
    if "usable_gib" in figures:
        return None
    total, nameplate = figures.get("driver_total_gib"), figures.get("memory_gib")
    if total is not None:
        ratio = next(ratio for kind, ratio in OF_DRIVER_TOTAL if memory_type.upper().startswith(kind))
        formula = f"driver_total_gib x {ratio}"
        return Figure(round(total.value * ratio, 2), "GiB", "derived", total.source, total.as_of, formula)
    if nameplate is not None:
        value, formula = round(nameplate.value * OF_NAMEPLATE, 2), f"memory_gib x {OF_NAMEPLATE}"
        return Figure(value, "GiB", "derived", nameplate.source, nameplate.as_of, formula)
    return None
