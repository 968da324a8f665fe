"""Whether a card can be bought in a region: which statement decides, and what is said of those that stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from app.core.estimates import Message
from app.core.gpu import Gpu, Source
from app.core.gpu_table import GpuTable
from app.core.kept import Same, keep


class Availability(Protocol):
    """One statement about buying a card in a region."""

    @property
    def region(self) -> str:
        """CN, US … or global."""

    @property
    def status(self) -> str:
        """licence_required, not_permitted, on_sale …"""

    @property
    def from_on(self) -> str:
        """Date from which it holds."""

    @property
    def text(self) -> str:
        """What the source says."""

    @property
    def text_zh(self) -> str:
        """The same in Chinese."""

    @property
    def basis(self) -> str:
        """read, or derived from thresholds; empty: read."""

    @property
    def source(self) -> Source:
        """Where it was read."""


Available = Mapping[tuple[str, str], Sequence[Availability]]
"""(gpu id, region) -> statements in force, that which weighs most first. None forbids a card without any."""

RESTRICTED = ("licence_required", "not_permitted", "restricted", "banned")
"""A rule is in the way of a purchase."""
NOT_ON_SALE = ("not_shipped", "announced", "cancelled")
"""Nobody sells it yet, or any more."""
CONDITIONAL = ("case_by_case", "conditional", "disputed", "discontinued", "discouraged", "reported_stop")
OPEN, BY_RULE, BY_MARKET = range(3)
"""What forbids a card: nothing, a rule, or that it is not on sale."""
Barred = npt.NDArray[np.int8]
SOLD, ANY = "sold", "any"
"""Values of `filters.availability`."""


def deciding(gpu_id: str, region: str, availability: Available) -> Availability | None:
    """The statement that keeps a card from being bought in a region; None where none does.

    Notes
    -----
    Only what somebody wrote of that very region decides, and the newest of it. What was worked out from
    thresholds says that a card is under a rule, not that nobody sells it.
    """
    read = [
        s for s in availability.get((gpu_id, region), ()) if s.region == region and s.basis in ("", "read")
    ]
    newest = max(read, key=lambda s: (s.from_on, _severity(s.status)), default=None)
    return newest if newest is not None and _severity(newest.status) != OPEN else None


def _severity(status: str) -> int:
    return BY_RULE if status in RESTRICTED else BY_MARKET if status in NOT_ON_SALE else OPEN


def barred(table: GpuTable, gpus: Sequence[Gpu], region: str, availability: Available) -> Barred:
    """OPEN, BY_RULE or BY_MARKET for each card in a region."""
    return keep(
        table,
        "barred",
        (Same(gpus), Same(availability), region),
        lambda: np.array([_barred(gpu.id, region, availability) for gpu in gpus], dtype=np.int8),
    )


def _barred(gpu_id: str, region: str, availability: Available) -> int:
    found = deciding(gpu_id, region, availability)
    return OPEN if found is None else _severity(found.status)


def refusal(gpu: Gpu, regions: Sequence[str], availability: Available) -> tuple[Message, Source]:
    """Why a card that `barred` names cannot be bought, and who says so."""
    for region in regions:
        found = deciding(gpu.id, region, availability)
        if found is not None:
            return Message("rejected_availability", _said(found, region)), found.source
    raise ValueError(f"{gpu.id} can be bought in {regions}")


def availability_flag(gpu: Gpu, region: str, availability: Available) -> Message | None:
    """What is known against buying a card that is sold all the same, as a dated remark."""
    known = availability.get((gpu.id, region), ())
    rules = [s for s in known if s.region == region and s.status in RESTRICTED]
    read = [s for s in rules if s.basis in ("", "read")]
    if read:
        return Message("sold_though_restricted", _said(max(read, key=lambda s: s.from_on), region))
    if rules:
        return Message("restricted_by_thresholds", _said(max(rules, key=lambda s: s.from_on), region))
    if not known or known[0].status not in CONDITIONAL + NOT_ON_SALE + RESTRICTED:
        return None
    return Message("availability_remark", _said(known[0], region))


def _said(statement: Availability, region: str) -> dict[str, object]:
    return {
        "region": region,
        "status": statement.status,
        "since": statement.from_on,
        "statement": statement.text,
        "statement_zh": statement.text_zh,
        "source": statement.source.title,
    }
