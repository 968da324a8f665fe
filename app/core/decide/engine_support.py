"""What is stated of engines on cards: official, plugin, experimental, unsupported, with version and source.

Notes
-----
Only what a source states outright refuses a card; that a table leaves it out makes a stack experimental.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from app.core.answer import answer
from app.core.decide.support import FrameworkRelease
from app.core.engines import framework_of
from app.core.formats import format_of
from app.core.gpu import Gpu, Source
from app.core.gpu_table import GpuTable, card_class
from app.core.kept import Same, keep
from app.core.workload import Workload

STATUSES = ("official", "plugin", "experimental", "unsupported")
FEATURE_KINDS = ("runs", "format", "feature", "model", "package", "qlora")
Status = Literal["official", "plugin", "experimental", "unsupported", "unknown"]
GOOD = ("official", "plugin")
"""Stacks that may be recommended."""
ORDER = (*STATUSES, "unknown")
QUANTIZER = "bitsandbytes"


@dataclass(frozen=True, slots=True)
class EngineSupport:
    """One statement about an engine on a family of cards."""

    id: str
    engine: str
    plugin: str
    engine_version: str
    hardware: str
    """Which cards, any of: cc8.9, cc>=7.5, gfx942, vendor=Intel, id=ascend-910b*."""
    hardware_as_written: str
    vendor: str
    min_version: str
    formats: str
    """Names of number formats or patterns of them, parted by spaces; any."""
    format_as_written: str
    feature: str
    feature_kind: str
    status: str
    refuses: bool
    """Whether it keeps a card from the list."""
    evidence: str
    dated: str
    note: str
    source: Source

    @property
    def version(self) -> str:
        """The software that it speaks of."""
        return " ".join(part for part in (self.plugin, self.engine_version) if part)

    @property
    def standing(self) -> str:
        """Its status; what a table merely leaves out may still run."""
        return "experimental" if self.status == "unsupported" and not self.refuses else self.status

    @property
    def says_it_runs(self) -> bool:
        """Whether it speaks of the engine on the card as a whole."""
        if self.feature_kind == "runs":
            return self.status != "unsupported" or self.formats == "any"
        # What was tried on it shows that it runs.
        tried = self.feature_kind == "model" and self.status in GOOD
        return tried or (self.feature_kind == "feature" and self.feature.endswith(" backend"))

    def names_format(self, name: str) -> bool:
        """Whether it speaks of a number format by name or pattern."""
        if self.feature_kind not in ("runs", "format"):
            return False
        return any(fnmatchcase(name, token) for token in self.formats.split())


@answer()
class CardSupport:
    """How well the software of a question is known to run on a card."""

    status: Status
    """official, plugin, experimental, unsupported or unknown."""
    version: str = ""
    """Of the software that the source speaks of; empty where none is stated."""
    source: Source | None = None
    """Who says so; null where it follows from the engine's own requirements, or nobody does."""


def is_of(hardware: str, gpu: Gpu) -> bool:
    """Whether the hardware of a statement has a card among it."""
    return any(_is_of(token, gpu) for token in hardware.split())


def _is_of(token: str, gpu: Gpu) -> bool:
    kind, _, value = token.partition("=")
    if kind == "vendor":
        return gpu.vendor.lower() == value.lower()
    if kind == "id":
        return fnmatchcase(gpu.id, value)
    if kind == "cc>":
        return bool(gpu.compute_capability) and float(gpu.compute_capability) >= float(value)
    return token in (f"cc{gpu.compute_capability}", gpu.llvm_target)


def supports(
    table: GpuTable,
    gpus: Sequence[Gpu],
    work: Workload,
    rows: Sequence[EngineSupport],
    releases: Sequence[FrameworkRelease],
) -> Sequence[CardSupport]:
    """How the engine and the number format of a resolved workload stand on each card, kept per snapshot."""
    of_card = keep(table, "engine_rows", (Same(gpus), Same(rows)), lambda: rows_by_card(gpus, rows))
    return keep(
        table,
        "support",
        (Same(gpus), Same(rows), Same(releases), work.engine, work.precision),
        lambda: [support_of(g, work.engine, work.precision, of_card[g.id], releases) for g in gpus],
    )


def rows_by_card(gpus: Sequence[Gpu], rows: Sequence[EngineSupport]) -> Mapping[str, Sequence[EngineSupport]]:
    """The statements that speak of each card, by its id."""
    families = dict.fromkeys(row.hardware for row in rows)
    found: dict[str, Sequence[EngineSupport]] = {}
    for gpu in gpus:
        its = {hardware for hardware in families if is_of(hardware, gpu)}
        found[gpu.id] = [row for row in rows if row.hardware in its]
    return found


def support_of(
    gpu: Gpu,
    engine: str,
    precision: str,
    rows: Sequence[EngineSupport],
    releases: Sequence[FrameworkRelease] = (),
) -> CardSupport:
    """How an engine and a number format stand on a card.

    Parameters
    ----------
    engine, precision: of a resolved workload. rows: every statement on the card. releases: framework tables.

    Returns
    -------
    The weaker of what is said of the engine on the card and of the format on it; unsupported only where a
    source states it outright.
    """
    rule = framework_of(engine).hardware
    if not rule.stated_by_card:
        found = _by_release(gpu, rule.runs_on, rows, releases)
        if precision and format_of(precision).kernels == "bitsandbytes":
            return _weaker(found, _quantizer(rows))
        return found
    known = [row for row in rows if row.engine == engine]
    for row in known:
        if row.refuses and row.feature_kind == "runs" and row.formats == "any":
            return CardSupport("unsupported", row.version, row.source)
    whole = _best([row for row in known if row.says_it_runs])
    named = _best([row for row in known if precision and row.names_format(precision)])
    if whole is None and named is None:
        return CardSupport(_by_record(gpu, engine))
    if named is None and precision.startswith("gguf"):
        named = _best([row for row in known if row.feature_kind == "format" and row.formats == "gguf"])
    return _weaker(whole, named)


def _best(rows: Sequence[EngineSupport]) -> CardSupport | None:
    """The strongest statement, the newest of equals: a version in which it runs counts."""
    if not rows:
        return None
    least = min(ORDER.index(row.standing) for row in rows)
    row = max((r for r in rows if ORDER.index(r.standing) == least), key=lambda r: (r.dated, r.id))
    status: Status = row.standing  # type: ignore[assignment]
    return CardSupport(status, row.version, row.source)


def _weaker(*found: CardSupport | None) -> CardSupport:
    known = [one for one in found if one is not None]
    return max(known, key=lambda one: ORDER.index(one.status))


def _quantizer(rows: Sequence[EngineSupport]) -> CardSupport:
    """4-bit kernels of bitsandbytes; where its 8-bit ones run, which ask for more, these do too."""
    known = [
        row
        for row in rows
        if row.engine == QUANTIZER
        and row.feature_kind in ("qlora", "format")
        and (row.feature_kind == "qlora" or row.status != "unsupported")
    ]
    return _best(known) or CardSupport("unknown")


def _by_release(
    gpu: Gpu, base: str, rows: Sequence[EngineSupport], releases: Sequence[FrameworkRelease]
) -> CardSupport:
    stated = [
        row
        for row in rows
        if row.engine == base and (row.feature_kind in ("runs", "package") or row.status in GOOD)
    ]
    rule = framework_of(base).hardware
    of_base = [r for r in releases if r.framework.lower() in (base, rule.release_name)]
    column = f"sm_{gpu.compute_capability.replace('.', '')}"
    if gpu.vendor.upper() != "NVIDIA":
        column = rule.release_columns.get(card_class(gpu), "")
    for release in reversed(of_base):
        state = str(release.support.get(column, "")).lower() if column else ""
        if state.startswith(("native", "yes", "ok")) or (state and not column.startswith("sm_")):
            if not state.startswith("no"):
                status: Status = "plugin" if card_class(gpu) == "ascend" else "official"
                return CardSupport(status, f"{release.framework} {release.version}", release.source)
    best = _best(stated)
    if best is not None and best.status in GOOD:
        return best
    if gpu.vendor.upper() == "NVIDIA" and any(
        word in str(r.support.get(column, "")).lower() for r in of_base for word in ("ptx", "jit")
    ):
        return CardSupport("experimental", "PTX")
    return best or CardSupport(_by_record(gpu, base))


def _by_record(gpu: Gpu, engine: str) -> Status:
    """What the requirements of an engine say of a card that no statement names."""
    rule = framework_of(engine).hardware
    if gpu.vendor.upper() == "NVIDIA":
        capability = gpu.compute_capability
        known = rule.nvidia_from is not None and capability and float(capability) >= rule.nvidia_from
        return "official" if known else "unknown"
    kind = card_class(gpu)
    return "official" if rule.any_radeon_driver and kind in rule.classes and kind != "other" else "unknown"
