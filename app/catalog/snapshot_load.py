"""Reading a snapshot: one SELECT per table, plain rows, no ORM objects kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from sys import intern
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Engine, Row, select
from sqlmodel import SQLModel

from app.catalog import tables
from app.catalog.columns.cells import COUNTED
from app.catalog.db import reading
from app.catalog.observations import PriceObservation, Quote
from app.catalog.presets import (
    Alias,
    Availability,
    Fact,
    FigureEntry,
    FrameworkSupport,
    MemoryCase,
    ModelPreset,
    NameIndex,
    Rental,
)
from app.catalog.prices import CardPrices
from app.catalog.problems import DatabaseProblem
from app.catalog.rates import ExchangeRate, Rates
from app.catalog.snapshot import Snapshot
from app.catalog.usable import derived_usable
from app.catalog.versions import latest, table_of
from app.core.estimates import Basis
from app.core.gpu import Benchmark, Figure, Gpu, Source
from app.core.model.architecture import architecture_from_fields

T = TypeVar("T")
_RATE_UNITS = ("TFLOPS", "TOPS")
_TEXT_FACTS = (
    "die",
    "llvm_target",
    "power_connector",
    "partition_note",
    "frameworks",
    "cuda_min_toolkit",
    "cuda_last_toolkit",
    "driver_last_branch",
    "availability",
    "confidence",
    "note",
)
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
        sources = {
            row.id: Source(row.id, row.url, row.title, row.publisher, row.kind, row.licence, row.read_on)
            for row in _rows(connection, tables.SourceRow)
        }
        aliases = [
            Alias(r.kind, r.name, r.target_id, tuple(c for c in r.candidates.split("|") if c), r.note)
            for r in _rows(connection, tables.AliasRow)
        ]
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
            benchmarks=_benchmarks(connection, sources),
            rates=Rates(_exchange_rates(connection)),
            rentals=_rentals(connection, sources),
            framework_support=_framework_support(connection, sources),
            memory_cases=_memory_cases(connection, sources),
            entries={gpu_id: tuple(rows) for gpu_id, rows in entries.items()},
            facts=facts,
            cards=_cards(connection, gpus, sources),
            available=_availability(connection, sources),
            gpu_names=_gpu_names(gpus, aliases),
            model_names=_model_names(models.values(), aliases),
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
        replaced = {r.supersedes for r in rows if r.supersedes}
        chosen: dict[str, Row[Any]] = {}
        for r in rows:
            if r.chosen and r.id not in replaced:
                rival = chosen.get(r.figure)
                # Two that claim to be chosen: the later one, then the greater id; always the same answer.
                if rival is None or (r.as_of, r.id) > (rival.as_of, rival.id):
                    chosen[r.figure] = r
        found[gpu_id] = [
            FigureEntry(
                r.id,
                intern(r.figure),
                Figure(
                    r.value,
                    # Up to version 20261203 of the database a count was kept without a unit.
                    intern(r.unit or COUNTED),
                    cast(Basis, intern(r.basis)),
                    sources[r.source_id],
                    intern(r.as_of),
                    r.formula,
                    r.note,
                ),
                chosen.get(r.figure) is r,
            )
            for r in sorted(rows, key=lambda r: (r.figure, not r.chosen, r.id))
        ]
        derived = derived_usable({e.name: e.figure for e in found[gpu_id] if e.chosen}, memory_types[gpu_id])
        if derived is not None:
            found[gpu_id].append(FigureEntry(f"{gpu_id}:usable_gib", "usable_gib", derived, True))
    return found


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
    found = []
    for r in cards:
        figures = {e.name: e.figure for e in entries.get(r.id, ()) if e.chosen}
        values = {name: figure.value for name, figure in figures.items()}
        usable = figures.get("usable_gib")
        facts: dict[str, Any] = {name: getattr(r, name) for name in _TEXT_FACTS if getattr(r, name)}
        own = {name: fact.value for name, fact in facts_of.get(r.id, {}).items()}
        facts |= {name: own[name] for name in _ADDED_FACTS if name in own}
        facts["half_rate_fp32_accumulate"] = r.half_rate_fp32_accumulate
        facts["source"] = sources[r.source_id]
        found.append(
            Gpu(
                id=r.id,
                name=r.name,
                vendor=r.vendor,
                family=r.family,
                architecture=r.architecture,
                segment=r.segment,
                memory_gib=values.get("memory_gib"),
                driver_total_gib=values.get("driver_total_gib"),
                usable_gib=usable.value if usable else None,
                usable_basis=usable.basis if usable else "derived",
                bandwidth_gb_s=values.get("bandwidth_gb_s"),
                rates={name: f.value for name, f in figures.items() if f.unit in _RATE_UNITS},
                tdp_w=values.get("tdp_w"),
                compute_capability=r.compute_capability,
                memory_type=r.memory_type,
                ecc=r.ecc,
                mig_instances=int(values.get("mig_instances", 0)),
                link=r.link,
                link_gb_s=values.get("link_gb_s"),
                pcie_gen=_whole(values.get("pcie_gen")),
                pcie_lanes=_whole(values.get("pcie_lanes")),
                form_factor=own.get("form_factor", r.form_factor),
                launch_date=own.get("launch_date", r.launch_date),
                driver_min_linux=own.get("driver_min_linux", ""),
                driver_min_windows=own.get("driver_min_windows", ""),
                cooling=own.get("cooling", ""),
                slot_width=float(own["slot_width"]) if "slot_width" in own else None,
                has_tensor_cores=r.has_tensor_cores,
                gpus_per_board=r.gpus_per_board,
                aliases=tuple(sorted(a.name for a in names.get(r.id, ()))),
                attributes=facts,
            )
        )
    return tuple(found)


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _models(connection: Connection, sources: dict[str, Source]) -> dict[str, ModelPreset]:
    found = {}
    for r in _rows(connection, tables.ModelRow):
        fields = {
            "id": r.id,
            "name": r.name,
            "family": r.family,
            "parameters": r.parameters,
            "active_parameters": r.active_parameters,
            **r.architecture,
        }
        found[r.id] = ModelPreset(
            id=r.id,
            name=r.name,
            family=r.family,
            series=r.series,
            hf_repo=r.hf_repo,
            architecture=architecture_from_fields(fields),
            parameters_published=r.parameters_published,
            source=sources[r.source_id],
            note=r.note,
            basis=r.basis,
            as_of=r.as_of,
            check_note=r.check_note,
            published_source=sources.get(r.published_source_id),
            formula=r.formula,
        )
    return found


def _benchmarks(connection: Connection, sources: dict[str, Source]) -> tuple[Benchmark, ...]:
    rows = _rows(connection, tables.BenchmarkRow)
    replaced = {r.supersedes for r in rows if r.supersedes}
    return tuple(
        Benchmark(
            id=r.id,
            gpu_id=intern(r.gpu_id),
            gpu_count=r.gpu_count,
            model_id=intern(r.model_id),
            model_name=intern(r.model_as_written),
            task=intern(r.task),
            precision=intern(r.precision),
            value=r.value,
            unit=intern(r.unit),
            phase=intern(r.phase),
            batch_per_gpu=r.batch_per_gpu,
            sequence_length=r.sequence_length,
            image_size=r.image_size,
            input_length=r.input_length,
            output_length=r.output_length,
            framework=intern(r.framework),
            framework_version=intern(r.framework_version),
            interconnect=intern(r.interconnect),
            observed_on=intern(r.observed_on),
            source=sources[r.source_id],
            note=r.note,
            flag=r.flag,
            own=r.own,
            model_parameters=r.model_parameters,
        )
        for r in rows
        if r.id not in replaced
    )


def _cards(connection: Connection, gpus: Iterable[Gpu], sources: dict[str, Source]) -> dict[str, CardPrices]:
    prices = _groups(
        (
            PriceObservation(
                id=r.id,
                gpu_id=intern(r.gpu_id),
                condition=intern(r.condition),
                amount=r.amount,
                currency=intern(r.currency),
                observed_on=intern(r.observed_on),
                source=sources[r.source_id],
                per=intern(r.per),
                tax=intern(r.tax),
                region=intern(r.region),
                channel=intern(r.channel),
                channel_kind=intern(r.channel_kind),
                n=r.n,
                quality=intern(r.quality),
                variant_assumed=r.variant_assumed,
                held=r.held,
                note=intern(r.note),
                supersedes=r.supersedes,
                name_as_written=intern(r.name_as_written),
            )
            for r in _streamed(connection, tables.PriceRow)
        ),
        lambda o: o.gpu_id,
    )
    quotes = _groups(
        (
            Quote(
                id=r.id,
                gpu_id=r.gpu_id,
                supplier=r.supplier,
                unit_price=r.unit_price,
                quoted_on=r.quoted_on,
                valid_until=r.valid_until,
                currency=r.currency,
                condition=r.condition,
                per=r.per,
                tax=r.tax,
                tax_rate=r.tax_rate,
                invoice=r.invoice,
                quantity=r.quantity,
                withdrawn=r.withdrawn,
                held=r.held,
                supersedes=r.supersedes,
                note=r.note,
            )
            for r in _rows(connection, tables.QuoteRow)
        ),
        lambda q: q.gpu_id,
    )
    return {gpu.id: CardPrices(gpu.id, prices.get(gpu.id, ()), quotes.get(gpu.id, ())) for gpu in gpus}


def _exchange_rates(connection: Connection) -> list[ExchangeRate]:
    return [
        ExchangeRate(r.base, r.quote, r.rate, r.observed_on, r.kind, r.source_id, r.id)
        for r in _rows(connection, tables.ExchangeRateRow)
    ]


def _rentals(connection: Connection, sources: dict[str, Source]) -> tuple[Rental, ...]:
    rows = _rows(connection, tables.RentalRow)
    replaced = {r.supersedes for r in rows if r.supersedes}
    return tuple(
        Rental(
            id=r.id,
            gpu_id=r.gpu_id,
            provider=r.provider,
            instance=r.instance,
            gpu_count=r.gpu_count,
            currency=r.currency,
            per_hour=r.per_hour,
            per_gpu_hour=r.per_gpu_hour,
            billing=r.billing,
            region=r.region,
            observed_on=r.observed_on,
            source=sources[r.source_id],
            variant_assumed=r.variant_assumed,
            held=r.held,
            note=r.note,
            name_as_written=r.name_as_written,
        )
        for r in rows
        if r.id not in replaced
    )


def _framework_support(connection: Connection, sources: dict[str, Source]) -> tuple[FrameworkSupport, ...]:
    rows = sorted(
        _rows(connection, tables.FrameworkSupportRow), key=lambda r: (r.framework, _version_key(r.version))
    )
    return tuple(
        FrameworkSupport(
            framework=r.framework,
            version=r.version,
            python=r.python,
            cuda=r.cuda,
            cudnn=r.cudnn,
            min_driver_linux=r.min_driver_linux,
            min_driver_windows=r.min_driver_windows,
            min_compute_capability=r.min_compute_capability,
            support=r.support,
            source=sources[r.source_id],
            as_of=r.as_of,
            note=r.note,
        )
        for r in rows
    )


def _version_key(version: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in version.split("."))


def _memory_cases(connection: Connection, sources: dict[str, Source]) -> tuple[MemoryCase, ...]:
    return tuple(
        MemoryCase(
            id=r.id,
            kind=r.kind,
            workload=r.workload,
            measured=r.measured,
            gpu_id=r.gpu_id,
            gpu_count=r.gpu_count,
            measure_kind=r.measure_kind,
            outcome=r.outcome,
            observed_on=r.observed_on,
            source=sources[r.source_id],
            note=r.note,
            flag=r.flag,
        )
        for r in _rows(connection, tables.MemoryCaseRow)
    )


def _availability(
    connection: Connection, sources: dict[str, Source]
) -> dict[tuple[str, str], tuple[Availability, ...]]:
    groups: dict[tuple[str, str], list[Availability]] = {}
    for r in _rows(connection, tables.AvailabilityRow):
        source = sources[r.source_id]
        fact = Availability(r.gpu_id, r.region, r.from_on, r.status, r.text, source, r.until_on, r.text_zh)
        groups.setdefault((r.gpu_id, r.region), []).append(fact)
    return {key: tuple(sorted(facts, key=lambda f: f.from_on, reverse=True)) for key, facts in groups.items()}


def _gpu_names(gpus: Iterable[Gpu], aliases: Iterable[Alias]) -> NameIndex:
    cards = tuple(gpus)
    index = NameIndex("unknown_gpu")
    index.add((gpu.id, gpu.id) for gpu in cards)
    index.add_aliases(aliases, "gpu")
    index.add((gpu.name, gpu.id) for gpu in cards)
    return index


def _model_names(models: Iterable[ModelPreset], aliases: Iterable[Alias]) -> NameIndex:
    presets = tuple(models)
    index = NameIndex("unknown_model")
    index.add((m.id, m.id) for m in presets)
    index.add_aliases(aliases, "model")
    index.add((m.hf_repo, m.id) for m in presets)
    index.add((m.name, m.id) for m in presets)
    return index
