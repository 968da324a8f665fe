"""Predicting the published memory measurements and saying how far off the predictions are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from app.catalog.records import MemoryCase
from app.catalog.snapshot import Snapshot
from app.core.accuracy import (
    GROUPS,
    NO_TOOL_FOR,
    PEERS,
    PEERS_MEASURED_ON,
    WORST_KV_FACTOR,
    Bracket,
    CaseClass,
    Comparison,
    Part,
    RunVerdict,
    brackets_of,
    errors_of,
    family_of,
    group_of,
    part_of,
    relative_error,
    span_error,
    step_above,
    verdicts_of,
)
from app.core.decide.fit import USABLE_SHARE, judge, max_batch_size
from app.core.estimates import Interval, MemoryEstimate, Verdict
from app.core.faults import InputFault
from app.core.gpu import Source
from app.core.memory import estimate
from app.core.resolve import resolve
from app.core.workload import Workload
from app.services.accuracy_answers import (
    BatchRow,
    CaseCount,
    Cases,
    ClassAccuracy,
    FaultyCase,
    FigureRow,
    GroupAccuracy,
    MemoryReport,
    Peers,
    RunRow,
)
from app.services.questions import parse_workload
from app.services.results import Versions
from app.texts.accuracy import group_name, reason

NAME = re.compile(r"(\S+):(?:\s|$)")
UNEXPRESSED = "unexpressed: "
FAULTY = "faulty: "
EACH_CARD_PARTS = ("activations", "logits", "engine")
"""Parts that every card of a split model has: a sum over the cards counts them once a card."""
SMALLER_BUFFER_SHARE = 0.35
"""llama.cpp: only the last card computes logits; the buffers of the others are a quarter to a half of its."""
ENGINE_FIGURES = ("activation_peak_gib", "cuda_graph_gib", "non_torch_gib")
"""What start logs print beside weights and cache."""
PEAK_KINDS: Mapping[str, str] = {
    "allocated": "allocated",
    "reserved": "reserved",
    "nvidia_smi": "process",
    "resident": "resident",
    "unknown": "peak",
}


@dataclass(frozen=True, slots=True)
class MemoryAccuracy:
    """Every comparison that the catalogue's cases allow, and what could not be compared."""

    catalog: str
    cases: tuple[MemoryCase, ...]
    comparisons: tuple[Comparison, ...]
    brackets: tuple[Bracket, ...]
    verdicts: tuple[RunVerdict, ...]
    faulty: Mapping[str, str]
    """Reason by name of the case; its figures are listed and not counted."""
    unexpressed: Mapping[str, str]
    """Code by name of the case."""
    left_out: tuple[tuple[str, str, str], ...]
    """Name of the case, figure, code: figures of expressed cases that say something else than an estimate."""


@lru_cache(maxsize=2)
def memory_accuracy(snapshot: Snapshot) -> MemoryAccuracy:
    """Compare every memory case of a catalogue version with its prediction; two versions are kept."""
    collected = _Collected([], [], [], {}, {}, [])
    for case in snapshot.memory_cases:
        _compare(case, snapshot, collected)
    return MemoryAccuracy(
        snapshot.version,
        snapshot.memory_cases,
        tuple(collected.comparisons),
        tuple(collected.brackets),
        tuple(collected.verdicts),
        collected.faulty,
        collected.unexpressed,
        tuple(collected.left_out),
    )


def name_of(case: MemoryCase) -> str:
    """Name of a case: the first word of its note before a colon, else its id.

    The id is a digest of the row and changes with every better description; the name does not, and so the
    case stays in its part.
    """
    found = NAME.match(case.note)
    return found[1] if found else case.id


@dataclass(slots=True)
class _Collected:
    comparisons: list[Comparison]
    brackets: list[Bracket]
    verdicts: list[RunVerdict]
    faulty: dict[str, str]
    unexpressed: dict[str, str]
    left_out: list[tuple[str, str, str]]


def _compare(case: MemoryCase, snapshot: Snapshot, into: _Collected) -> None:
    name = name_of(case)
    if case.flag.startswith(UNEXPRESSED):
        into.unexpressed[name] = case.flag.removeprefix(UNEXPRESSED)
        return
    try:
        work, _ = resolve(parse_workload({"workload": case.workload}, snapshot))
        memory = estimate(work)
    except InputFault as fault:
        into.unexpressed[name] = f"refused:{fault.errors[0].code}"
        return
    if case.flag.startswith(FAULTY):
        into.faulty[name] = case.flag.removeprefix(FAULTY)
    run = _Run(case, name, part_of(name), work, memory, _usable_gib(case, work, snapshot))
    excluded: Mapping[str, str] = case.measured.get("left_out", {})
    into.left_out += [(name, figure, code) for figure, code in excluded.items()]
    into.comparisons += [c for c in run.comparisons() if _measured_name(c) not in excluded]
    if "outcome" in excluded or run.usable_gib is None:
        return
    if "largest_batch" in case.measured:
        into.brackets.append(run.bracket(run.usable_gib))
    elif case.outcome in ("fits", "oom"):
        verdict, _margin = judge(memory, run.usable_gib, work.used_gib)
        into.verdicts.append(RunVerdict(name, run.part, run.kind("verdict"), case.outcome == "fits", verdict))


def _measured_name(row: Comparison) -> str:
    return {
        "weights": "weights_gib",
        "kv_cache": "kv_cache_gib",
        "compute_buffer": "compute_buffer_gib",
        "engine_terms": ENGINE_FIGURES[0],
        "total": "total_gib",
        "kv_bytes_per_token": "kv_bytes_per_token",
    }.get(row.kind.figure, "peak_gib")


def _usable_gib(case: MemoryCase, work: Workload, snapshot: Snapshot) -> float | None:
    """Memory that the run could use on its card, GiB; None when the source says nothing of it."""
    usable: float | None = case.measured.get("usable_gib")
    if case.gpu_id:
        usable = snapshot.gpu(case.gpu_id).usable_gib or usable
    if usable is None and "nameplate_gib" in case.measured:
        usable = case.measured["nameplate_gib"] * USABLE_SHARE
    # An engine that was told to take a share of the card fails when that share is used up.
    return usable * work.memory_fraction if usable and work.memory_fraction else usable


@dataclass(frozen=True, slots=True)
class _Run:
    """One case with its prediction."""

    case: MemoryCase
    name: str
    part: Part
    work: Workload
    memory: MemoryEstimate
    usable_gib: float | None

    def kind(self, figure: str) -> CaseClass:
        model = self.work.model
        return CaseClass(self.work.task, family_of(model.family, model.head), self.work.engine, figure)

    def comparisons(self) -> Iterable[Comparison]:
        """Every figure of the case that an estimate has too."""
        measured = self.case.measured
        memory, cards = self.memory, 1
        if measured.get("scope") == "all_cards":
            # Over all cards together the weights and the cache are those of one card that holds everything.
            memory, cards = estimate(replace(self.work, parallelism=None)), self.case.gpu_count
        if "weights_gib" in measured:
            yield self._plain("weights", measured["weights_gib"], float(memory.part("weights")))
        if "kv_bytes_per_token" in measured:
            value = measured["kv_bytes_per_token"]
            yield self._plain("kv_bytes_per_token", value, float(memory.kv_bytes_per_token), "B")
        states_buffers = self.work.engine_record.memory.states_buffers
        if states_buffers:
            if "kv_cache_gib" in measured:
                yield self._plain("kv_cache", measured["kv_cache_gib"], float(memory.kv_reserved_gib))
            if "compute_buffer_gib" in measured:
                layout = max(0.0, float(memory.kv_reserved_gib) - float(memory.part("kv_cache")))
                buffer = float(memory.part("engine")) - layout
                yield self._plain("compute_buffer", measured["compute_buffer_gib"], buffer)
        if all(figure in measured for figure in ENGINE_FIGURES):
            beside = sum(float(memory.part(part)) for part in (*EACH_CARD_PARTS, "communication"))
            yield self._plain("engine_terms", sum(measured[figure] for figure in ENGINE_FIGURES), beside)
        if "total_gib" in measured:
            share = SMALLER_BUFFER_SHARE if states_buffers else 1.0
            total = _each_card(memory.reserved_gib, memory, cards, share)
            yield self._spread("total", measured["total_gib"], total, total)
        if "peak_gib" in measured and self.case.measure_kind in PEAK_KINDS:
            low, high = _peaks(self.case.measure_kind, memory, cards)
            yield self._spread(PEAK_KINDS[self.case.measure_kind], measured["peak_gib"], low, high)

    def _plain(self, figure: str, measured: float, predicted: float, unit: str = "GiB") -> Comparison:
        kind = self.kind(figure)
        interval = Interval(predicted, predicted, predicted)
        error = relative_error(predicted, measured)
        return Comparison(self.name, self.part, kind, group_of(kind), measured, interval, error, None, unit)

    def _spread(self, figure: str, measured: float, first: Interval, second: Interval) -> Comparison:
        kind = self.kind(figure)
        low, high = float(first.low), float(second.high)
        nearest = min(max(measured, float(first.expected)), float(second.expected))
        error = span_error(float(first.expected), float(second.expected), measured)
        inside = low <= measured <= high
        return Comparison(
            self.name, self.part, kind, group_of(kind), measured, Interval(low, nearest, high), error, inside
        )

    def bracket(self, usable_gib: float) -> Bracket:
        """The measured bracket beside the predicted largest batch."""
        measured = self.case.measured
        ran = int(measured["largest_batch"])
        failed: int | None = measured.get("next_batch_failed")
        if failed is None and "largest_batch_tried" not in measured:
            # Not stated: the next batch that people try.
            failed = step_above(ran)
        free = usable_gib - self.work.used_gib
        needs = estimate(
            replace(self.work, batch_size=np.array([max(ran, 1), failed or ran], dtype=np.float64))
        )

        def verdict(index: int) -> Verdict:
            low, expected, high = (
                float(np.broadcast_to(value, (2,))[index])
                for value in (needs.per_gpu_gib.low, needs.per_gpu_gib.expected, needs.per_gpu_gib.high)
            )
            one = replace(self.memory, per_gpu_gib=Interval(low, expected, high))
            return judge(one, free)[0]

        kind = self.kind("batch")
        return Bracket(
            self.name,
            self.part,
            kind,
            group_of(kind),
            ran,
            failed,
            max_batch_size(self.work, None, free),
            verdict(0) if ran else None,
            verdict(1) if measured.get("next_batch_failed") or not ran else None,
        )


def _each_card(interval: Interval, memory: MemoryEstimate, cards: int, share: float = 1.0) -> Interval:
    more = share * (cards - 1) * sum(float(memory.part(part)) for part in EACH_CARD_PARTS)
    return Interval(float(interval.low) + more, float(interval.expected) + more, float(interval.high) + more)


def _peaks(kind: str, memory: MemoryEstimate, cards: int) -> tuple[Interval, Interval]:
    """The figure that a measurement of this kind means: one interval, or two between which it lies."""
    allocated = _each_card(memory.allocated_gib, memory, cards)
    reserved = _each_card(memory.reserved_gib, memory, cards)
    if kind == "unknown":
        return allocated, reserved
    if kind == "nvidia_smi":
        return memory.per_gpu_gib, memory.per_gpu_gib
    if kind == "resident":
        # Tables made after the prompt was processed: its working set has gone.
        gone = float(memory.part("activations"))
        left = Interval(
            max(0.0, float(allocated.low) - gone),
            float(allocated.expected) - gone,
            float(allocated.high),
        )
        return left, left
    chosen = allocated if kind == "allocated" else reserved
    return chosen, chosen


@dataclass(frozen=True, slots=True)
class _Listed:
    """What is shown of one part, faulty cases included."""

    comparisons: list[Comparison]
    brackets: list[Bracket]
    verdicts: list[RunVerdict]


def memory_report(
    snapshot: Snapshot, part: Part | None = "report", rows: bool = True, language: str = "en"
) -> MemoryReport:
    """The accuracy of the memory estimates as /method shows it and the API answers.

    Parameters
    ----------
    snapshot: the catalogue, whose memory cases are predicted.
    part: "report" is what may be quoted, "fit" what constants were calibrated on; None: both together.
    rows: whether each comparison is listed too. language: of the names and reasons.
    """
    found = memory_accuracy(snapshot)
    listed = _Listed(
        [row for row in found.comparisons if part in (None, row.part)],
        [row for row in found.brackets if part in (None, row.part)],
        [row for row in found.verdicts if part in (None, row.part)],
    )
    figures = [row for row in listed.comparisons if row.case not in found.faulty]
    brackets = [row for row in listed.brackets if row.case not in found.faulty]
    verdicts = [row for row in listed.verdicts if row.case not in found.faulty]
    kinds = sorted(
        {r.kind for r in figures} | {r.kind for r in brackets},
        key=lambda k: (list(GROUPS).index(group_of(k)), k.task, k.family, k.engine, k.figure),
    )
    origins = {name_of(case): case for case in found.cases} if rows else {}
    return MemoryReport(
        part or "all",
        tuple(
            GroupAccuracy(
                group,
                group_name(group, language),
                target,
                errors_of(r for r in figures if r.group == group),
                brackets_of(r for r in brackets if r.group == group),
            )
            for group, target in GROUPS.items()
        ),
        tuple(
            ClassAccuracy(
                kind.task,
                kind.family,
                kind.engine,
                kind.figure,
                group_of(kind),
                errors_of(r for r in figures if r.kind == kind),
                brackets_of(r for r in brackets if r.kind == kind),
            )
            for kind in kinds
        ),
        verdicts_of(verdicts),
        Cases(
            len(found.cases),
            len(found.cases) - len(found.unexpressed),
            _counts(found.unexpressed.values(), language),
            tuple(FaultyCase(case, why, reason(why, language)) for case, why in found.faulty.items()),
            _counts((code for _, _, code in found.left_out), language),
        ),
        Peers(PEERS_MEASURED_ON, PEERS, NO_TOOL_FOR, WORST_KV_FACTOR),
        Versions.of(found.catalog),
        tuple(_row(row, origins[row.case], found) for row in listed.comparisons) if rows else None,
        tuple(_batch_row(row, origins[row.case], found) for row in listed.brackets) if rows else None,
        tuple(_run_row(row, origins[row.case], found) for row in listed.verdicts) if rows else None,
    )


def _counts(codes: Iterable[str], language: str) -> tuple[CaseCount, ...]:
    counted = sorted(Counter(codes).items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple(CaseCount(code, n, reason(code, language)) for code, n in counted)


def _kind(row: Comparison | Bracket | RunVerdict) -> tuple[str, Part, str, str, str, str]:
    return row.case, row.part, row.kind.task, row.kind.family, row.kind.engine, row.kind.figure


def _origin(case: MemoryCase, name: str, found: MemoryAccuracy) -> tuple[str | None, int, Source, str | None]:
    return case.gpu_id or None, case.gpu_count, case.source, found.faulty.get(name)


def _row(row: Comparison, case: MemoryCase, found: MemoryAccuracy) -> FigureRow:
    return FigureRow(
        *_kind(row),
        *_origin(case, row.case, found),
        row.group,
        row.measured,
        row.predicted,
        row.unit,
        row.error,
        row.inside,
    )


def _batch_row(row: Bracket, case: MemoryCase, found: MemoryAccuracy) -> BatchRow:
    return BatchRow(
        *_kind(row),
        *_origin(case, row.case, found),
        row.group,
        row.ran,
        row.failed,
        row.predicted,
        row.in_bracket,
        row.within_one_step,
    )


def _run_row(row: RunVerdict, case: MemoryCase, found: MemoryAccuracy) -> RunRow:
    return RunRow(*_kind(row), *_origin(case, row.case, found), row.ran, row.verdict)
