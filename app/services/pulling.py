"""Pulling rents and rates for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Engine

from app.catalog.changes import Author
from app.catalog.importing import ImportOptions
from app.catalog.pulling import (
    KINDS,
    MonthlyMeans,
    Outcome,
    Provider,
    ProviderDown,
    ReferenceRates,
    gpuhunt_providers,
    pull,
)
from app.services.importing import report_body
from app.services.payload import Payload

__all__ = ["KINDS", "ProviderDown", "answered", "outcome_body", "outcome_line", "pull_kind"]


def pull_kind(
    engine: Engine,
    kind: str,
    names: Sequence[str],
    folder: Path | None,
    author: Author,
    options: ImportOptions,
) -> list[Outcome]:
    """Ask the providers of a kind; one that is down is named in its outcome.

    Parameters
    ----------
    kind: rates or rentals.
    names: only these providers; empty for all.
    folder: catalogue files of rents already at hand.

    Errors
    ------
    ProviderDown when there is nobody to ask; DatabaseProblem.
    """
    providers: list[Provider]
    if kind == "rentals":
        providers = gpuhunt_providers(names, folder)
    else:
        known: tuple[Provider, ...] = (MonthlyMeans(), ReferenceRates())
        providers = [p for p in known if not names or p.name in names]
    if not providers and not names:
        raise ProviderDown(f"{folder} holds no catalogue file, such as runpod.csv")
    if not providers:
        raise ProviderDown(f"no provider of {kind} is named {', '.join(names)}")
    return pull(engine, providers, author, options)


def answered(outcome: Outcome) -> bool:
    """Whether a provider gave rows, and they passed."""
    return outcome.report is not None and outcome.report.ok


def outcome_body(outcome: Outcome, language: str) -> Payload:
    """What one provider gave, as JSON."""
    return {
        "provider": outcome.provider,
        "error": outcome.error or None,
        "left_out": dict(outcome.left_out),
        "report": report_body(outcome.report, language) if outcome.report else None,
    }


def outcome_line(outcome: Outcome) -> str:
    """What one provider gave, in a line."""
    report = outcome.report
    if report is None:
        return f"{outcome.provider}: {outcome.error}"
    left = ", ".join(f"{count} {reason}" for reason, count in outcome.left_out.items())
    tail = f"; left out: {left}" if left else ""
    return (
        f"{outcome.provider}: {report.inserted:,} new, {report.unchanged:,} as before, "
        f"{report.fault_count:,} at fault{tail}"
    )
