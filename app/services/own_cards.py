"""The team's own cards: what the check script measured on them, beside what such cards should do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.catalog.card_checks import checks_of
from app.catalog.records import MemoryCase
from app.catalog.snapshot import Snapshot
from app.core import memory as core_memory
from app.core import speed as core_speed
from app.core import verify
from app.core.answer import Figure, answer
from app.core.estimates import Message
from app.core.faults import InputFault
from app.core.gpu import Gpu, GpuRef, Source
from app.core.resolve import resolve
from app.core.verify.check import UNITS, CardCheck, Finding, number, reported_name
from app.core.workload import Parallelism, Workload
from app.services.later import COMPUTING, READY
from app.services.measurements import predictions
from app.services.questions import parse_workload
from app.services.store import prepared
from app.texts.say import say_message

_VENDOR_WORDS = ("nvidia ", "amd ", "intel(r) ", "intel ")


@answer(shown=("inside",))
class Expectation:
    """A figure of the workload beside the estimate that has not seen it."""

    figure: str
    """speed, prefill or peak_memory."""
    measured: Figure
    """What was measured, in `unit`."""
    low: Figure
    """Lower end of the estimate's interval, in `unit`."""
    expected: Figure
    """The estimate, in `unit`."""
    high: Figure
    """Upper end of the interval, in `unit`."""
    unit: str
    """GiB, or the unit of the speed: tokens_per_s, images_per_s …"""

    @property
    def inside(self) -> bool:
        """Whether the measured figure lies in low..high."""
        return self.low <= self.measured <= self.high


@answer()
class CheckedFigure:
    """A figure of a card beside what sound cards of its kind do."""

    figure: str
    """Which: memory_gib, copy_gb_s, fp16_tflops, multiprocessors …"""
    measured: Figure | None
    """What was measured, in `unit`; null where it is no number."""
    expected: Figure | None
    """What sound cards measurably do, in `unit`."""
    least: Figure | None
    """Below this it is a fault, in `unit`."""
    unit: str
    """GiB, GB/s, TFLOPS, W; empty for counts and names."""
    reported: str
    """What the driver reports, where it is no number."""
    ok: bool
    """Whether it is as it should be."""
    fault: bool
    """Whether the card is not what it is sold as because of it."""
    code: str
    """What is to be said, as a word that programs may compare; empty where it is as it should be."""
    text: str
    """The same in a sentence."""


@answer()
class CheckAnswer:
    """What was measured on one card of the team, and whether it is what it is sold as."""

    id: str
    """Id of the measurement; empty where it is not kept."""
    gpu: GpuRef
    """The card as it is sold."""
    reported_name: str
    """Name that the driver gives."""
    measured_on: str
    """Day of the measurement, ISO 8601."""
    as_sold: bool | None
    """Whether it is what it is sold as; null where nothing was compared."""
    code: str
    """card_as_sold, card_doubtful or card_not_as_sold."""
    text: str
    """The same in a sentence."""
    figures: tuple[CheckedFigure, ...]
    """Each figure beside what such a card should do."""
    workload: tuple[Expectation, ...]
    """Figures of the workload beside the estimates that have not seen them."""
    waiting: bool
    """Whether the estimate of the speed without this measurement is still being worked out."""
    source: Source | None
    """Where it is kept."""


@answer()
class CheckList:
    """What was measured on the team's cards of one kind."""

    items: tuple[CheckAnswer, ...]
    """The measurements, the newest first."""
    next: str | None
    """Null: there is one page."""
    total: int
    """How many there are."""


@dataclass(frozen=True, slots=True)
class OwnCheck:
    """One answer of the script with everything that is said of it."""

    gpu: Gpu
    check: CardCheck
    workload: tuple[Expectation, ...]
    measured_on: str
    reported: str
    """Name that the driver gives."""
    waiting: bool = False
    """The estimate of the speed without this measurement is still being worked out."""
    id: str = ""
    source: Source | None = None


def own_checks(snapshot: Snapshot, gpu_id: str = "") -> list[OwnCheck]:
    """All that was measured on one card of the catalogue, or on all; the newest first."""
    return [_kept(case, snapshot) for case in checks_of(snapshot, gpu_id)]


def check_answer(data: Mapping[str, Any], gpu: Gpu, snapshot: Snapshot) -> OwnCheck:
    """Judge an answer of the script.

    Parameters
    ----------
    data: of the shape that `read_measurement` accepts. gpu: the card as it is sold.
    """
    units = snapshot.figures(gpu.id).get("sm_count")
    name = reported_name(data)
    check = verify.check_card(data, gpu, _named(name, snapshot), units.value if units else None)
    memory = _memory(data, snapshot) if check.on_card else None
    speed, waiting = _speed(data, gpu, snapshot) if check.on_card else ([], False)
    found = (*speed, *((memory,) if memory else ()))
    return OwnCheck(gpu, check, found, str(data.get("measured_on") or "")[:10], name, waiting)


def said_check(found: OwnCheck, language: str) -> CheckAnswer:
    """A judged answer of the script, in words too."""
    check, name = found.check, found.gpu.name
    faults = {id(f) for f in check.faults}
    return CheckAnswer(
        found.id,
        found.gpu.ref,
        found.reported,
        found.measured_on,
        check.as_sold,
        check.verdict,
        say_message(Message(check.verdict, {"gpu": name}), language),
        tuple(
            CheckedFigure(
                f.figure,
                f.measured,
                f.expected,
                f.least,
                UNITS.get(f.figure, ""),
                f.reported,
                f.ok,
                id(f) in faults,
                f.code,
                _said(f, name, language),
            )
            for f in check.findings
        ),
        found.workload,
        found.waiting,
        found.source,
    )


def said_checks(snapshot: Snapshot, gpu_id: str, language: str) -> CheckList:
    """All that was measured on one card of the catalogue, or on all, in words; the newest first."""
    found = tuple(said_check(own, language) for own in own_checks(snapshot, gpu_id))
    return CheckList(found, None, len(found))


def _kept(case: MemoryCase, snapshot: Snapshot) -> OwnCheck:
    found = check_answer(case.measured, snapshot.gpu(case.gpu_id), snapshot)
    return OwnCheck(
        found.gpu,
        found.check,
        found.workload,
        case.observed_on,
        found.reported,
        found.waiting,
        case.id,
        case.source,
    )


def _named(reported: str, snapshot: Snapshot) -> frozenset[str]:
    """Cards that the driver's name may mean; none where the catalogue does not know it."""
    plain = reported.strip()
    candidates = [plain]
    for word in _VENDOR_WORDS:
        if plain.lower().startswith(word):
            candidates.append(plain[len(word) :])
    for name in candidates:
        try:
            return frozenset({snapshot.resolve_gpu(name)})
        except InputFault as fault:
            several = fault.errors[0].params.get("candidates")
            if several:
                return frozenset(str(gpu_id) for gpu_id in several)
    return frozenset()


def _speed(data: Mapping[str, Any], gpu: Gpu, snapshot: Snapshot) -> tuple[list[Expectation], bool]:
    """The stored rows of the workload against the estimate that has not seen them."""
    result = data.get("workload") or {}
    wanted = {
        "speed": number(result.get("value")),
        "prefill": number(result.get("prefill_tokens_per_s")),
    }
    rows = {}
    for figure, value in wanted.items():
        for row in snapshot.benchmarks_of_gpu(gpu.id) if value else ():
            if row.own and not row.flag and row.value == value:
                rows[figure] = row
    if not rows:
        asked = _asked_speed(data, gpu, snapshot, wanted["speed"])
        return ([asked] if asked else []), False
    known = predictions(snapshot)
    if known.status != READY or known.value is None:
        return [], known.status == COMPUTING
    found = [(figure, row, known.value.get(row.id)) for figure, row in rows.items()]
    return [
        Expectation(figure, row.value, p.low, p.expected, p.high, row.unit) for figure, row, p in found if p
    ], False


def _asked_speed(
    data: Mapping[str, Any], gpu: Gpu, snapshot: Snapshot, measured: float | None
) -> Expectation | None:
    """A speed that is not among the measurements in use, against the estimate of its question."""
    work = _asked(data, snapshot)
    if not measured or work is None:
        return None
    ready = prepared(snapshot)
    try:
        found = core_speed.estimate(
            work, work.parallelism or Parallelism(), gpu, ready.benchmarks, snapshot.gpus, ready.table
        )
    except InputFault:
        return None
    low, expected, high = float(found.low), float(found.expected), float(found.high)
    if not math.isfinite(expected):
        return None
    return Expectation("speed", measured, low, expected, high, found.unit)


def _asked(data: Mapping[str, Any], snapshot: Snapshot) -> Workload | None:
    """The question that the script carries; None where it runs something else than the question's engine."""
    asked = data["question"].get("asked")
    if not isinstance(asked, dict) or not asked:
        return None
    try:
        work, _ = resolve(parse_workload({"workload": asked}, snapshot))
    except InputFault:
        return None
    engine = work.engine_record
    measured = engine.measured_by_script and engine.backend.value == str(data["device"].get("framework"))
    return work if measured else None


def _memory(data: Mapping[str, Any], snapshot: Snapshot) -> Expectation | None:
    """The allocator's peak against the estimate, where the script runs what the question asks for."""
    result = data.get("workload") or {}
    peak = number(result.get("peak_allocated_gib"))
    work = _asked(data, snapshot)
    if not peak or work is None:
        return None
    try:
        need = core_memory.estimate(work, work.parallelism).allocated_gib
    except InputFault:
        return None
    return Expectation("peak_memory", peak, float(need.low), float(need.expected), float(need.high), "GiB")


def _said(finding: Finding, gpu: str, language: str) -> str:
    if not finding.code:
        return ""
    params = {
        "precision": finding.figure.split("_")[0],
        "measured": f"{finding.measured:.4g}",
        "expected": f"{finding.expected:.4g}",
        "gpu": gpu,
        "reported": finding.reported,
    }
    return say_message(Message(finding.code, params), language)
