"""Hard filters of cards and options, each with the code under which it rejects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.core.decide.engine_support import CardSupport
from app.core.decide.support import FrameworkRelease, engine_runs, stacks, without_engine
from app.core.estimates import Message
from app.core.gpu import Gpu
from app.core.gpu_table import Flags, GpuTable
from app.core.kept import Same, keep
from app.core.question import Filters

FEATURES = ("ecc", "mig", "nvlink")

STAGES = (
    "vendor",
    "framework",
    "os",
    "support",
    "feature",
    "precision",
    "availability",
    "count",
    "memory",
    "service",
    "power",
    "unpriced",
    "stale_price",
    "evidence",
    "budget",
    "deadline",
)
"""Order in which an option is tried; a card is rejected under the stage at which its best option stopped."""


@dataclass(frozen=True)
class CardFilter:
    """What was found of each card, options apart."""

    stage: Mapping[int, tuple[str, Message]]
    """First stage that rejects, by row of the table."""
    flags: Mapping[int, tuple[Message, ...]]
    """Reservations of cards that pass."""


def filter_cards(
    gpus: Sequence[Gpu],
    table: GpuTable,
    filters: Filters,
    blocked: Flags,
    unrated: Flags,
    precision: str,
    engine: str,
    releases: Sequence[FrameworkRelease],
    support: Sequence[CardSupport] = (),
) -> CardFilter:
    """Apply the filters that need only the card.

    Parameters
    ----------
    gpus, table: the cards in one order. filters: what is asked.
    blocked: cards that cannot run the precision asked for, of which `precision` is the name.
    unrated: those of them whose rate or bandwidth nobody knows.
    engine: of the workload; a card that no release of it supports is no candidate.
    releases: framework tables. support: of the engine and format on each card; empty: nothing is stated.

    Returns
    -------
    Rejections and reservations by row.
    """
    # No figure of the question enters but through `blocked`: kept for the next question of the same filters.
    catalogue = (Same(gpus), Same(releases), Same(support))
    asked = (
        replace(filters, conditions=(), acquisition=(), gpus=(), regions=(), availability=""),
        precision,
        engine,
        blocked.tobytes(),
        unrated.tobytes(),
    )
    return keep(
        table,
        "filters",
        (catalogue, asked),
        lambda: _filter_cards(gpus, table, filters, blocked, unrated, precision, engine, releases, support),
    )


def _filter_cards(
    gpus: Sequence[Gpu],
    table: GpuTable,
    filters: Filters,
    blocked: Flags,
    unrated: Flags,
    precision: str,
    engine: str,
    releases: Sequence[FrameworkRelease],
    support: Sequence[CardSupport],
) -> CardFilter:
    alone = _filter_alone(gpus, table, filters, precision, engine, releases, support)
    stage = dict(alone.stage)
    unknown = unrated.tolist()
    for row in np.flatnonzero(blocked).tolist():
        if row not in stage:
            code = "rejected_rate_unknown" if unknown[row] else "rejected_precision"
            stage[row] = ("precision", Message(code, {"gpu": gpus[row].name, "precision": precision}))
    return CardFilter(stage, alone.flags)


def _filter_alone(
    gpus: Sequence[Gpu],
    table: GpuTable,
    filters: Filters,
    precision: str,
    engine: str,
    releases: Sequence[FrameworkRelease],
    support: Sequence[CardSupport],
) -> CardFilter:
    """The filters that the precision's rates do not enter."""
    stage: dict[int, tuple[str, Message]] = {}
    flags: dict[int, list[Message]] = {}
    vendors = {v.lower() for v in filters.vendors}
    need_ecc = "ecc" in filters.needs
    has = {"ecc": table.ecc, "mig": table.mig, "nvlink": table.nvlink}
    no_engine = without_engine(table, engine, precision).tolist()
    stacked = stacks(gpus, engine, filters.frameworks, releases, filters.os, filters.driver)
    for i, gpu in enumerate(gpus):
        if vendors and gpu.vendor.lower() not in vendors:
            stage[i] = ("vendor", Message("rejected_vendor", {"vendor": gpu.vendor}))
            continue
        if no_engine[i]:
            lacks = engine_runs(gpu, engine, precision).message
            stage[i] = ("framework", lacks or Message("framework_unknown", {"framework": engine}))
            continue
        stated = support[i] if support else None
        if stated is not None and stated.status == "unsupported":
            stage[i] = ("support", _unsupported(gpu, engine, precision, stated))
            continue
        refused, notes = stacked[i]
        if refused is not None and refused.message is not None:
            stage[i] = (refused.code, refused.message)
            continue
        doubt = None if stated is None else support_flag(gpu, engine, precision, stated)
        said = (*notes, doubt) if doubt is not None else notes
        if said:
            flags[i] = list(said)
        missing = next((need for need in FEATURES if need in filters.needs and not has[need][i]), "")
        if missing:
            known = "rejected_feature_unknown" if _not_known(gpu, missing) else "rejected_feature"
            stage[i] = ("feature", Message(known, {"gpu": gpu.name, "feature": missing}))
            continue
        if need_ecc and gpu.ecc.lower().startswith("optional"):
            flags.setdefault(i, []).append(Message("ecc_optional", {"gpu": gpu.name}))
    return CardFilter(stage, {k: tuple(v) for k, v in flags.items()})


def _not_known(gpu: Gpu, feature: str) -> bool:
    """Whether nobody has read if a card has a feature: an empty field is no answer."""
    return not {"ecc": gpu.ecc, "nvlink": gpu.link, "mig": gpu.mig_instances}[feature]


def _unsupported(gpu: Gpu, engine: str, precision: str, stated: CardSupport) -> Message:
    source = stated.source.title if stated.source else ""
    params = {"gpu": gpu.name, "framework": engine, "precision": precision}
    return Message("rejected_support", {**params, "version": stated.version, "source": source})


def support_flag(gpu: Gpu, engine: str, precision: str, stated: CardSupport) -> Message | None:
    """What is to be minded of a stack that is not known to run well."""
    params = {"gpu": gpu.name, "framework": engine, "precision": precision}
    if stated.status == "experimental":
        return Message("support_experimental", {**params, "version": stated.version})
    return Message("support_not_known", params) if stated.status == "unknown" else None
