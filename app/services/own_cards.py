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
from app.core.estimates import Message
from app.core.faults import InputFault
from app.core.gpu import Gpu
from app.core.resolve import resolve
from app.core.verify.check import UNITS, CardCheck, Finding, number, reported_name
from app.core.workload import Parallelism, Workload
from app.services import payload
from app.services.later import COMPUTING, READY
from app.services.payload import Payload
from app.services.predictions import predictions
from app.services.prepared import prepared
from app.services.questions import parse_workload
from app.texts.say import say_message

_VENDOR_WORDS = ("nvidia ", "amd ", "intel(r) ", "intel ")


@dataclass(frozen=True, slots=True)
class Expectation:
    """A figure of the workload beside its estimate."""

    figure: str
    """speed, prefill or peak_memory."""
    measured: float
    low: float
    expected: float
    high: float
    unit: str

    @property
    def inside(self) -> bool:
        """Whether the measured figure lies in the stated interval."""
        return self.low <= self.measured <= self.high


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
    source: Any = None


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


def check_body(found: OwnCheck, language: str) -> Payload:
    """A judged answer as JSON, in words too."""
    check, name = found.check, found.gpu.name
    faults = {id(f) for f in check.faults}
    return {
        "id": found.id,
        "gpu": {"id": found.gpu.id, "name": name},
        "reported_name": found.reported,
        "measured_on": found.measured_on,
        "as_sold": check.as_sold,
        "code": check.verdict,
        "text": say_message(Message(check.verdict, {"gpu": name}), language),
        "figures": [
            {
                "figure": f.figure,
                "measured": payload.number(f.measured),
                "expected": payload.number(f.expected),
                "least": payload.number(f.least),
                "unit": UNITS.get(f.figure, ""),
                "reported": f.reported,
                "ok": f.ok,
                "fault": id(f) in faults,
                "code": f.code,
                "text": _said(f, name, language),
            }
            for f in check.findings
        ],
        "workload": [
            {
                "figure": e.figure,
                "measured": payload.number(e.measured),
                "low": payload.number(e.low),
                "expected": payload.number(e.expected),
                "high": payload.number(e.high),
                "unit": e.unit,
                "inside": e.inside,
            }
            for e in found.workload
        ],
        "waiting": found.waiting,
        "source": payload.source(found.source) if found.source else None,
    }


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
