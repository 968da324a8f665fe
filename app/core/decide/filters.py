"""Hard filters of cards and options, each with the code under which it rejects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from app.core.decide.support import FrameworkRelease, engine_runs, stacks, without_engine
from app.core.estimates import Message
from app.core.gpu import Gpu
from app.core.gpu_table import Flags, GpuTable
from app.core.kept import Same, keep
from app.core.question import Filters


class Availability(Protocol):
    """One statement about buying a card in a region."""

    @property
    def status(self) -> str:
        """licence_required, not_permitted, on_sale …"""

    @property
    def from_on(self) -> str:
        """Date from which it holds."""

    @property
    def text(self) -> str:
        """What the source says."""


Available = Mapping[tuple[str, str], Sequence[Availability]]
"""(gpu id, region) -> statements, the newest first. A card without any is not restricted."""

RESTRICTED = ("licence_required", "not_permitted", "restricted", "banned")
CONDITIONAL = ("case_by_case", "conditional", "disputed", "discontinued", "discouraged", "reported_stop")

STAGES = (
    "vendor",
    "region",
    "framework",
    "os",
    "feature",
    "precision",
    "count",
    "memory",
    "power",
    "unpriced",
    "stale_price",
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
    availability: Available,
) -> CardFilter:
    """Apply the filters that need only the card.

    Parameters
    ----------
    gpus, table: the cards in one order. filters: what is asked.
    blocked: cards that cannot run the precision asked for, of which `precision` is the name.
    unrated: those of them whose rate or bandwidth nobody knows.
    engine: of the workload; a card that no release of it supports is no candidate.
    releases: framework tables. availability: statements by region.

    Returns
    -------
    Rejections and reservations by row.
    """
    # No figure of the question enters but through `blocked`: kept for the next question of the same filters.
    catalogue = (Same(gpus), Same(releases), Same(availability))
    asked = (
        replace(filters, conditions=(), gpus=()),
        precision,
        engine,
        blocked.tobytes(),
        unrated.tobytes(),
    )
    return keep(
        table,
        "filters",
        (catalogue, asked),
        lambda: _filter_cards(
            gpus, table, filters, blocked, unrated, precision, engine, releases, availability
        ),
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
    availability: Available,
) -> CardFilter:
    alone = _filter_alone(gpus, table, filters, precision, engine, releases, availability)
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
    availability: Available,
) -> CardFilter:
    """The filters that the precision's rates do not enter."""
    stage: dict[int, tuple[str, Message]] = {}
    flags: dict[int, list[Message]] = {}
    vendors = {v.lower() for v in filters.vendors}
    need_ecc, need_mig, need_nvlink = (n in filters.needs for n in ("ecc", "mig", "nvlink"))
    no_engine = without_engine(table, engine, precision).tolist()
    stacked = stacks(gpus, engine, filters.frameworks, releases, filters.os, filters.driver)
    for i, gpu in enumerate(gpus):
        if vendors and gpu.vendor.lower() not in vendors:
            stage[i] = ("vendor", Message("rejected_vendor", {"vendor": gpu.vendor}))
            continue
        if filters.regions:
            region = _restricted_in(gpu, filters.regions, availability)
            if region:
                stage[i] = ("region", Message("rejected_region", {"gpu": gpu.name, "region": region}))
                continue
        if no_engine[i]:
            said = engine_runs(gpu, engine, precision).message
            stage[i] = ("framework", said or Message("framework_unknown", {"framework": engine}))
            continue
        refused, notes = stacked[i]
        if refused is not None and refused.message is not None:
            stage[i] = (refused.code, refused.message)
            continue
        if notes:
            flags[i] = list(notes)
        missing = (
            "ecc"
            if need_ecc and not table.ecc[i]
            else "mig"
            if need_mig and not table.mig[i]
            else "nvlink"
            if need_nvlink and not table.nvlink[i]
            else ""
        )
        if missing:
            stage[i] = ("feature", Message("rejected_feature", {"gpu": gpu.name, "feature": missing}))
            continue
        if need_ecc and gpu.ecc.lower().startswith("optional"):
            flags.setdefault(i, []).append(Message("ecc_optional", {"gpu": gpu.name}))
    return CardFilter(stage, {k: tuple(v) for k, v in flags.items()})


def _restricted_in(gpu: Gpu, regions: Sequence[str], availability: Available) -> str:
    for region in regions:
        known = availability.get((gpu.id, region), ())
        if known and known[0].status in RESTRICTED:
            return region
    return ""


def availability_flag(gpu: Gpu, region: str, availability: Available) -> Message | None:
    """What is known against buying a card in a region, as a dated remark."""
    known = availability.get((gpu.id, region), ())
    if not known or known[0].status not in RESTRICTED + CONDITIONAL:
        return None
    newest = known[0]
    params = {"region": region, "status": newest.status, "since": newest.from_on, "statement": newest.text}
    return Message("availability_remark", params)
