"""The state of the data: what is loaded, how old it is, what is missing, what the rules object to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from sqlalchemy import Engine

from app.caching import Cache
from app.catalog.lint import Finding, lint_database, shipped_exceptions
from app.catalog.names import normalise_name
from app.catalog.prices import AGEING_FROM_DAYS
from app.catalog.rates import HOME
from app.catalog.records import LAUNCH, PER_CARD, effective_date, is_bare_year
from app.catalog.snapshot import COVERAGE, Snapshot
from app.core.answer import Figure, answer
from app.core.estimates import Message
from app.core.gpu import GpuRef, Source
from app.core.question import PriceRules
from app.services.changes import Change, last_changes
from app.services.gaps import (
    Gap,
    MissingCards,
    NamedCard,
    Unjoined,
    gaps,
    missing_cards,
    named,
    unjoined,
    without_yuan_price,
)
from app.services.missing_prices import SECONDS, MissingPrice, evidence_counts, missing_prices
from app.services.results import Versions
from app.texts.notes import say_note

MAX_UNUSED = 500
SHOWN_CHANGES = 20
_KEPT = 4


@answer()
class Loaded:
    """How many rows of a kind are loaded."""

    kind: str
    """gpus, figures, facts, models, prices, rentals, rates, benchmarks, memory_cases …"""
    rows: int
    """Rows of it."""


@answer()
class Ages:
    """How old the rows of a kind are."""

    kind: str
    """prices, rentals, rates, benchmarks, memory_cases or remarks."""
    fresh: int
    """Rows of 90 days at most."""
    ageing: int
    """Rows of 91 to 180 days."""
    old: int
    """Older rows, and those of which only the year is known."""
    undated: int
    """Rows without a day."""
    oldest: str
    """The first day, ISO 8601; empty without one."""
    newest: str
    """The last day, ISO 8601; empty without one."""


@dataclass(frozen=True, slots=True)
class Unpriced:
    """A card without a yuan price inside the age limit, and the last one that it had."""

    id: str
    label: str
    vendor: str
    coverage: str
    last_cny: float | None
    last_on: str
    condition: str
    source: Source | None


@dataclass(frozen=True, slots=True)
class RateInUse:
    """The rate of a currency that prices are in, as it serves on the day."""

    currency: str
    cny: float | None
    observed_on: str
    age_days: int | None
    old: bool
    kind: str
    source: Source | None
    rows: int
    """Prices and rents in it."""


@dataclass(frozen=True, slots=True)
class Report:
    """Counts, ages, price coverage with its list of cards, gaps and rates."""

    loaded: tuple[Loaded, ...]
    ages: tuple[Ages, ...]
    coverage: Mapping[str, int]
    unpriced: tuple[Unpriced, ...]
    missing: tuple[MissingCards, ...]
    gaps: tuple[Gap, ...]
    unjoined: Unjoined
    rates: tuple[RateInUse, ...]
    no_rate: tuple[str, ...]
    flagged: Mapping[str, int]


@answer()
class LintFinding:
    """What a lint rule objects to."""

    rule: str
    """Name of the rule."""
    gpu: NamedCard | None
    """The card; null where it is of no single card."""
    figure: str
    """The figure."""
    value: Figure | None
    """Its value, in the unit of the figure."""
    expected: Figure | None
    """The value that the rule expects."""
    text: str
    """What is wrong, in a sentence."""
    reason: str
    """Why it stands all the same; empty where nobody has said."""


@answer()
class Lint:
    """What the lint rules object to."""

    open: tuple[LintFinding, ...]
    """What nobody has explained."""
    explained: tuple[LintFinding, ...]
    """What is known and explained."""


@answer()
class UnusedPrice:
    """A price that cannot count on the day."""

    id: str
    """Id of the observation."""
    gpu: GpuRef
    """The card."""
    condition: str
    """new, used, refurbished or modded."""
    amount: Figure
    """The price in `currency`."""
    currency: str
    """ISO 4217 code."""
    observed_on: str
    """Day, month or year of the observation, ISO 8601."""
    reason: str
    """Why it cannot count, as a word that programs may compare."""
    text: Message
    """The same in a sentence."""
    held: str | None
    """The words of whoever held it."""


@answer()
class UnusedPrices:
    """Prices that cannot count on the day."""

    total: int
    """How many."""
    by_reason: Mapping[str, int]
    """Reason -> prices."""
    items: tuple[UnusedPrice, ...]
    """The first five hundred."""


@answer()
class DataReport:
    """Everything about the data."""

    as_of: str
    """Day of the ages and prices, ISO 8601."""
    versions: Versions
    """What the answer was made with."""
    loaded: tuple[Loaded, ...]
    """Rows by kind."""
    ages: tuple[Ages, ...]
    """How old they are."""
    coverage: Mapping[str, int]
    """Cards by the price that they have: fresh, ageing, old, foreign, launch or none."""
    evidence: Mapping[str, int]
    """Cards by the best evidence of a price: firm, current, estimate, none."""
    missing_prices: tuple[MissingPrice, ...] | None
    """The twenty cards whose missing price decides most typical questions; null while it is worked out."""
    gaps: tuple[Gap, ...]
    """What is missing."""
    unjoined: Unjoined
    """Names and rows that no card and no model took."""
    lint: Lint
    """Findings of the lint rules."""
    unused_prices: UnusedPrices
    """Observations that cannot count, with the reason."""
    changes: tuple[Change, ...]
    """The last changes that somebody made, the newest first."""


@dataclass(frozen=True, slots=True)
class SourceUse:
    """A source with the number of rows that rest on it."""

    source: Source
    title: str
    rows: int


_reports: Cache[Report] = Cache(_KEPT)
_lints: Cache[Lint] = Cache(_KEPT)
_source_uses: Cache[Counter[str]] = Cache(_KEPT)


def data_report(engine: Engine, snapshot: Snapshot, today: date, language: str) -> DataReport:
    """Everything about the data, what the rules object to in the reader's language."""
    counted = report(snapshot, today)
    found = lint(snapshot, engine)
    found_missing = missing_prices(snapshot, today, SECONDS)
    unused = sorted(snapshot.unused_prices(today), key=lambda pair: (pair[1], pair[0].gpu_id, pair[0].id))

    def said(findings: Iterable[LintFinding]) -> tuple[LintFinding, ...]:
        return tuple(replace(finding, text=say_note(finding.text, language)[0]) for finding in findings)

    return DataReport(
        today.isoformat(),
        Versions.of(snapshot.version),
        counted.loaded,
        counted.ages,
        counted.coverage,
        evidence_counts(snapshot, today),
        found_missing.cards if found_missing else None,
        counted.gaps,
        counted.unjoined,
        Lint(said(found.open), said(found.explained)),
        UnusedPrices(
            len(unused),
            dict(Counter(reason for _, reason in unused)),
            tuple(
                UnusedPrice(
                    row.id,
                    snapshot.gpu(row.gpu_id).ref,
                    row.condition,
                    row.amount,
                    row.currency,
                    row.observed_on,
                    reason,
                    Message(f"price_{reason}", {"reason": row.held}),
                    row.held or None,
                )
                for row, reason in unused[:MAX_UNUSED]
            ),
        ),
        last_changes(engine, SHOWN_CHANGES),
    )


def report(snapshot: Snapshot, as_of: date) -> Report:
    """Counts, ages, price coverage with its list of cards, gaps and rates; kept by version and day."""
    return _reports.get((snapshot.digest, as_of), lambda: _report(snapshot, as_of))


def lint(snapshot: Snapshot, engine: Engine) -> Lint:
    """What the lint rules object to, in English; kept by version."""
    return _lints.get(snapshot.digest, lambda: _lint(snapshot, engine))


def sources(snapshot: Snapshot, kind: str = "", query: str = "") -> list[SourceUse]:
    """Sources with the number of rows that rest on each, the most used first."""
    uses = _source_uses.get(snapshot.digest, lambda: _count_sources(snapshot))
    words = normalise_name(query).split()
    found = [
        source
        for source in snapshot.sources.values()
        if (not kind or source.kind == kind)
        and all(word in normalise_name(f"{source.title} {source.publisher} {source.url}") for word in words)
    ]
    found.sort(key=lambda source: (-uses[source.id], source.title.casefold(), source.id))
    return [SourceUse(source, source.title or source.id, uses[source.id]) for source in found]


def source_kinds(snapshot: Snapshot) -> list[tuple[str, int]]:
    """Kinds of source with their number, the most frequent first."""
    return Counter(source.kind for source in snapshot.sources.values()).most_common()


def _report(snapshot: Snapshot, as_of: date) -> Report:
    prices = [row for card in snapshot.cards.values() for row in card.observations]
    dated: dict[str, list[str]] = {
        "prices": [row.observed_on for row in prices],
        "rentals": [row.observed_on for row in snapshot.rentals],
        "rates": [row.observed_on for row in snapshot.rates.rows],
        "benchmarks": [row.observed_on for row in snapshot.benchmarks],
        "memory_cases": [case.observed_on for case in snapshot.memory_cases],
        "remarks": [fact.from_on for facts in snapshot.available.values() for fact in facts],
    }
    counts = {
        "gpus": len(snapshot.gpus),
        "figures": sum(len(entries) for entries in snapshot.entries.values()),
        "facts": sum(len(facts) for facts in snapshot.facts.values()),
        "models": len(snapshot.models),
        **{kind: len(dates) for kind, dates in dated.items()},
        "framework_support": len(snapshot.framework_support),
        "engine_support": len(snapshot.engine_support),
        "host_classes": len(snapshot.host_classes),
        "sources": len(snapshot.sources),
    }
    coverage = snapshot.price_coverage(as_of)
    unused = snapshot.unused_prices(as_of)
    return Report(
        tuple(Loaded(kind, rows) for kind, rows in counts.items()),
        tuple(_ages(kind, dates, as_of) for kind, dates in dated.items()),
        {code: sum(1 for c in coverage.values() if c == code) for code in COVERAGE},
        tuple(_unpriced(snapshot, coverage, as_of)),
        missing_cards(snapshot),
        gaps(snapshot, as_of, coverage, PriceRules().max_age_days),
        unjoined(snapshot),
        tuple(_rates(snapshot, as_of)),
        tuple(sorted({row.currency for row, reason in unused if reason == "no_rate"})),
        {
            "benchmarks": sum(1 for row in snapshot.benchmarks if row.flag),
            "without_preset": sum(1 for row in snapshot.benchmarks if not row.model_id),
            "memory_cases": sum(1 for case in snapshot.memory_cases if case.flag),
            "prices": len(unused),
            "models": sum(1 for model in snapshot.models.values() if model.basis == "assumed"),
        },
    )


def _ages(kind: str, dates: Sequence[str], as_of: date) -> Ages:
    """How many rows are how old; dates after the day are left out."""
    buckets = {"fresh": 0, "ageing": 0, "old": 0, "undated": 0}
    days = []
    for text in dates:
        day = effective_date(text)
        if day is None:
            buckets["undated"] += 1
            continue
        age = (as_of - day).days
        if age < 0:
            continue
        days.append(day)
        if age < AGEING_FROM_DAYS and not is_bare_year(text):
            buckets["fresh"] += 1
        elif age <= PriceRules().max_age_days and not is_bare_year(text):
            buckets["ageing"] += 1
        else:
            buckets["old"] += 1
    oldest, newest = (min(days).isoformat(), max(days).isoformat()) if days else ("", "")
    return Ages(kind, **buckets, oldest=oldest, newest=newest)


def _unpriced(snapshot: Snapshot, coverage: Mapping[str, str], as_of: date) -> list[Unpriced]:
    """Cards without a yuan price inside the age limit, those with the best substitute first."""
    found = []
    for gpu_id in without_yuan_price(coverage):
        gpu, code = snapshot.gpu(gpu_id), coverage[gpu_id]
        yuan = [
            row
            for row in snapshot.price_rows(gpu.id)
            if row.currency == HOME
            and row.per == PER_CARD
            and row.channel_kind != LAUNCH
            and 0 < row.day <= as_of.toordinal()
        ]
        last = yuan[0] if yuan else None
        found.append(
            Unpriced(
                gpu.id,
                gpu.label,
                gpu.vendor,
                code,
                last.amount if last else None,
                last.observed_on if last else "",
                last.condition if last else "",
                last.source if last else None,
            )
        )
    found.sort(key=lambda card: (COVERAGE.index(card.coverage), card.label.casefold()))
    return found


def _rates(snapshot: Snapshot, as_of: date) -> list[RateInUse]:
    """The rate of each currency that prices use, as it serves on the day."""
    currencies = Counter(
        row.currency for card in snapshot.cards.values() for row in card.observations if row.currency != HOME
    )
    currencies.update(row.currency for row in snapshot.rentals if row.currency != HOME)
    found = []
    for currency, uses in currencies.most_common():
        use = snapshot.rates.to_cny(currency, as_of)
        row = next(
            (
                r
                for r in reversed(snapshot.rates.rows)
                if currency in (r.base, r.quote)
                and (day := effective_date(r.observed_on)) is not None
                and day <= as_of
            ),
            None,
        )
        found.append(
            RateInUse(
                currency,
                use.rate if use else None,
                use.observed_on.isoformat() if use else "",
                (as_of - use.observed_on).days if use else None,
                use.old if use else True,
                row.kind if row else "",
                snapshot.sources.get(row.source_id) if row else None,
                uses,
            )
        )
    return found


def _lint(snapshot: Snapshot, engine: Engine) -> Lint:
    found = lint_database(engine)
    reasons = {(e["rule"], e["gpu_id"], e["figure"]): e["reason"] for e in shipped_exceptions()}

    def reason(finding: Finding) -> str:
        of_figure = reasons.get((finding.rule, finding.gpu_id, finding.figure))
        return of_figure or reasons.get((finding.rule, finding.gpu_id, ""), "")

    return Lint(
        tuple(_finding(snapshot, finding, "") for finding in found.unexplained),
        tuple(_finding(snapshot, finding, reason(finding)) for finding in found.explained),
    )


def _finding(snapshot: Snapshot, finding: Finding, reason: str) -> LintFinding:
    known = {gpu.id for gpu in snapshot.gpus}
    return LintFinding(
        finding.rule,
        named(snapshot.gpu(finding.gpu_id)) if finding.gpu_id in known else None,
        finding.figure,
        finding.value,
        finding.expected,
        finding.text,
        reason,
    )


def _count_sources(snapshot: Snapshot) -> Counter[str]:
    def ids(found: Iterable[Source | None]) -> Iterable[str]:
        return (source.id for source in found if source is not None)

    uses: Counter[str] = Counter()
    uses.update(ids(e.figure.source for entries in snapshot.entries.values() for e in entries))
    uses.update(ids(row.source for card in snapshot.cards.values() for row in card.observations))
    uses.update(ids(row.source for row in snapshot.rentals))
    uses.update(ids(row.source for row in snapshot.benchmarks))
    uses.update(ids(case.source for case in snapshot.memory_cases))
    uses.update(ids(model.source for model in snapshot.models.values()))
    uses.update(ids(release.source for release in snapshot.framework_support))
    uses.update(ids(row.source for row in snapshot.engine_support))
    uses.update(ids(row.source for row in snapshot.host_classes))
    uses.update(row.source_id for row in snapshot.rates.rows)
    uses.update(ids(f.source for facts in snapshot.facts.values() for f in facts.values()))
    uses.update(ids(fact.source for facts in snapshot.available.values() for fact in facts))
    return uses
