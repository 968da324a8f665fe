"""What the catalogue holds and what it lacks: counts, ages, gaps, rates, findings of the lint rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date

from sqlalchemy import Engine

from app.caching import Cache
from app.catalog.changes import LogEntry, history
from app.catalog.lint import Finding, lint_database, shipped_exceptions
from app.catalog.names import normalise_name
from app.catalog.prices import AGEING_FROM_DAYS
from app.catalog.rates import HOME
from app.catalog.records import LAUNCH, PER_CARD, effective_date, is_bare_year
from app.catalog.snapshot import COVERAGE, Snapshot
from app.core.gpu import Source
from app.core.question import PriceRules
from app.services.gaps import card, gaps, missing_cards, unjoined, without_yuan_price
from app.services.payload import Payload, number
from app.services.payload import source as source_body

_KEPT = 4
_reports: Cache[Payload] = Cache(_KEPT)
_lints: Cache[Payload] = Cache(_KEPT)
_source_uses: Cache[Counter[str]] = Cache(_KEPT)


def report(snapshot: Snapshot, as_of: date) -> Payload:
    """Counts, ages, price coverage with its list of cards, gaps and rates; kept by version and day.

    Returns
    -------
    {loaded, ages, coverage, unpriced, missing, gaps, unjoined, rates, no_rate, flagged}.
    """
    return _reports.get((snapshot.digest, as_of), lambda: _report(snapshot, as_of))


def lint(snapshot: Snapshot, engine: Engine) -> Payload:
    """What the lint rules object to: {open, explained}, each with rule, card and text; kept by version."""
    return _lints.get(snapshot.digest, lambda: _lint(snapshot, engine))


def sources(snapshot: Snapshot, kind: str = "", query: str = "") -> list[Payload]:
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
    return [_source(source, uses[source.id]) for source in found]


def changes(engine: Engine, limit: int) -> list[LogEntry]:
    """The last changes that somebody made to the data, the newest first."""
    return history(engine, limit=limit)


def source_kinds(snapshot: Snapshot) -> list[tuple[str, int]]:
    """Kinds of source with their number, the most frequent first."""
    return Counter(source.kind for source in snapshot.sources.values()).most_common()


def _source(source: Source, rows: int) -> Payload:
    return {
        "id": source.id,
        "url": source.url,
        "title": source.title or source.id,
        "publisher": source.publisher,
        "kind": source.kind,
        "licence": source.licence,
        "read_on": source.read_on,
        "rows": rows,
    }


def _report(snapshot: Snapshot, as_of: date) -> Payload:
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
        "sources": len(snapshot.sources),
    }
    coverage = snapshot.price_coverage(as_of)
    return {
        "loaded": [{"kind": kind, "rows": rows} for kind, rows in counts.items()],
        "ages": [{"kind": kind, **_ages(dates, as_of)} for kind, dates in dated.items()],
        "coverage": {code: sum(1 for c in coverage.values() if c == code) for code in COVERAGE},
        "unpriced": _unpriced(snapshot, coverage, as_of),
        "missing": missing_cards(snapshot),
        "gaps": gaps(snapshot, as_of, coverage, PriceRules().max_age_days),
        "unjoined": unjoined(snapshot),
        "rates": _rates(snapshot, as_of),
        "no_rate": sorted(
            {row.currency for row, reason in snapshot.unused_prices(as_of) if reason == "no_rate"}
        ),
        "flagged": {
            "benchmarks": sum(1 for row in snapshot.benchmarks if row.flag),
            "without_preset": sum(1 for row in snapshot.benchmarks if not row.model_id),
            "memory_cases": sum(1 for case in snapshot.memory_cases if case.flag),
            "prices": len(snapshot.unused_prices(as_of)),
            "models": sum(1 for model in snapshot.models.values() if model.basis == "assumed"),
        },
    }


def _ages(dates: Sequence[str], as_of: date) -> Payload:
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
    return {
        **buckets,
        "oldest": min(days).isoformat() if days else "",
        "newest": max(days).isoformat() if days else "",
    }


def _unpriced(snapshot: Snapshot, coverage: dict[str, str], as_of: date) -> list[Payload]:
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
            {
                **card(gpu),
                "vendor": gpu.vendor,
                "coverage": code,
                "last_cny": number(last.amount) if last else None,
                "last_on": last.observed_on if last else "",
                "condition": last.condition if last else "",
                "source": source_body(last.source) if last else None,
            }
        )
    found.sort(key=lambda card: (COVERAGE.index(str(card["coverage"])), str(card["label"]).casefold()))
    return found


def _rates(snapshot: Snapshot, as_of: date) -> list[Payload]:
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
            {
                "currency": currency,
                "cny": number(use.rate) if use else None,
                "observed_on": use.observed_on.isoformat() if use else "",
                "age_days": (as_of - use.observed_on).days if use else None,
                "old": use.old if use else True,
                "kind": row.kind if row else "",
                "source": source_body(snapshot.sources.get(row.source_id)) if row else None,
                "rows": uses,
            }
        )
    return found


def _lint(snapshot: Snapshot, engine: Engine) -> Payload:
    found = lint_database(engine)
    reasons = {(e["rule"], e["gpu_id"], e["figure"]): e["reason"] for e in shipped_exceptions()}
    return {
        "open": [_finding(snapshot, finding, "") for finding in found.unexplained],
        "explained": [
            _finding(
                snapshot,
                finding,
                reasons.get((finding.rule, finding.gpu_id, finding.figure))
                or reasons.get((finding.rule, finding.gpu_id, ""), ""),
            )
            for finding in found.explained
        ],
    }


def _finding(snapshot: Snapshot, finding: Finding, reason: str) -> Payload:
    known = {gpu.id for gpu in snapshot.gpus}
    return {
        "rule": finding.rule,
        "gpu": card(snapshot.gpu(finding.gpu_id)) if finding.gpu_id in known else None,
        "figure": finding.figure,
        "value": number(finding.value),
        "expected": number(finding.expected),
        "text": finding.text,
        "reason": reason,
    }


def _count_sources(snapshot: Snapshot) -> Counter[str]:
    def named(found: Iterable[Source | None]) -> Iterable[str]:
        return (source.id for source in found if source is not None)

    uses: Counter[str] = Counter()
    uses.update(named(e.figure.source for entries in snapshot.entries.values() for e in entries))
    uses.update(named(row.source for card in snapshot.cards.values() for row in card.observations))
    uses.update(named(row.source for row in snapshot.rentals))
    uses.update(named(row.source for row in snapshot.benchmarks))
    uses.update(named(case.source for case in snapshot.memory_cases))
    uses.update(named(model.source for model in snapshot.models.values()))
    uses.update(named(release.source for release in snapshot.framework_support))
    uses.update(row.source_id for row in snapshot.rates.rows)
    uses.update(named(f.source for facts in snapshot.facts.values() for f in facts.values()))
    uses.update(named(fact.source for facts in snapshot.available.values() for fact in facts))
    return uses
