"""Checking a card: the script for it, and its answer stored as the team's own measurement."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from sqlalchemy import Engine

from app.catalog.card_checks import Origin, store_check
from app.catalog.changes import Author
from app.catalog.importing import ImportOptions, ImportReport, import_items
from app.catalog.imports.values import RowFault
from app.catalog.snapshot import Snapshot
from app.core import verify
from app.core.estimates import Message
from app.core.faults import FieldError, InputFault
from app.core.gpu import Gpu
from app.core.resolve import resolve
from app.core.verify.check import FORMAT, number, read_measurement
from app.services.cards import find_gpu
from app.services.measurements import notes_of
from app.services.own_cards import OwnCheck, check_answer
from app.services.questions import parse_fit

__all__ = [
    "FORMAT",
    "Stored",
    "below",
    "benchmark_items",
    "import_measurement",
    "is_measurement",
    "pointer_of_row",
    "read_answer",
    "store_measurement",
    "unwrapped",
    "verify_script",
    "wrapper_of",
]
Payload = dict[str, Any]
MAX_BYTES = 1_000_000
MAX_ASKED = 20_000
"""Characters of a question that the script carries; a longer one is left out, and with it the comparison."""
OWN_SOURCE = "Own measurements (cardworth verify)"
STORED_UNITS = ("images_per_s", "samples_per_s", "tokens_per_s", "realtime_factor")
NOT_AS_SOLD = "own card that is not what it is sold as"
WRAPPER = "measurement"
_KEPT = (
    "format question quick python measured_on device driver memory bandwidth rates_tflops under_load "
    "workload errors"
).split()
_ORIGINS: Mapping[str, str] = {
    "gpu_id": "/question/gpu_id",
    "model_id": "/question/model_id",
    "model_as_written": "/question/model_name",
    "model_parameters": "/workload/parameters",
    "task": "/question/workload/task",
    "image_size": "/question/workload/image_size",
    "sequence_length": "/question/workload/sequence_length",
    "framework": "/device/framework",
    "framework_version": "/device/framework_version",
    "observed_on": "/measured_on",
    "value": "/workload/value",
    "unit": "/workload/unit",
    "phase": "/workload/phase",
    "precision": "/workload/precision",
    "batch_per_gpu": "/workload/batch_size",
    "input_length": "/workload/input_length",
    "output_length": "/workload/output_length",
}
"""Columns of a row, and the field of the answer that each is made from."""
_DEEPEST = 12
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of one answer of the script."""

    own: OwnCheck
    report: ImportReport | None
    """Rows of the workload; None where there was nothing to store."""
    notes: tuple[Message, ...]
    """Why not."""
    kept: bool
    """The check of the card is new, or would be."""


def verify_script(data: object, snapshot: Snapshot, today: date) -> tuple[str, str]:
    """File name and text of the script that measures a card with a workload.

    Parameters
    ----------
    data: the body of /speed: a workload and a card.

    Errors
    ------
    InputFault when the body is at fault.
    """
    request = parse_fit(data, snapshot, today)
    work, _ = resolve(request.workload)
    asked = data.get("workload") if isinstance(data, dict) else None
    small = isinstance(asked, dict) and len(json.dumps(asked)) <= MAX_ASKED
    return verify.script_name(request.gpu), verify.script(request.gpu, work, asked if small else None)


def is_measurement(data: object) -> bool:
    """Whether an object is, or wraps, an answer of the script."""
    if not isinstance(data, dict):
        return False
    # No column of a row is named so: whatever stands there, the script's answer is meant.
    return set(data) == {WRAPPER} or "format" in data


def unwrapped(data: object) -> Mapping[str, Any]:
    """The answer itself, checked for its shape; faults point into what was sent."""
    if isinstance(data, dict) and set(data) == {WRAPPER}:
        try:
            return read_measurement(data[WRAPPER])
        except InputFault as fault:
            raise below(wrapper_of(data), fault) from fault
    return read_measurement(data)


def wrapper_of(data: object) -> str:
    """Pointer of the answer inside what was sent; empty where it was sent as it is."""
    return f"/{WRAPPER}" if isinstance(data, dict) and set(data) == {WRAPPER} else ""


def below(pointer: str, fault: InputFault) -> InputFault:
    """The same faults, their pointers below another."""
    return InputFault([FieldError(f"{pointer}{e.pointer}", e.code, e.params) for e in fault.errors])


def pointer_of_row(fault: RowFault) -> str:
    """Where in an answer of the script a fault of the row made from it comes from."""
    if fault.field == "value" and fault.line:
        return "/workload/prefill_tokens_per_s"
    return _ORIGINS.get(fault.field, "")


def read_answer(content: bytes) -> Mapping[str, Any]:
    """The script's answer from a file.

    Errors
    ------
    InputFault: too large, no JSON, another format.
    """
    if len(content) > MAX_BYTES:
        raise InputFault.at("", "too_long", limit=MAX_BYTES)
    try:
        data = json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputFault.at("", "not_json") from error
    return unwrapped(data)


def import_measurement(
    engine: Engine, snapshot: Snapshot, content: bytes, author: Author, options: ImportOptions
) -> Stored:
    """`store_measurement` for the content of a file; InputFault when it is no answer of the script."""
    return store_measurement(engine, snapshot, read_answer(content), author, options)


def store_measurement(
    engine: Engine, snapshot: Snapshot, data: Mapping[str, Any], author: Author, options: ImportOptions
) -> Stored:
    """Compare a measurement with the card; keep it, and its workload as the team's own benchmark.

    Parameters
    ----------
    engine, snapshot: the catalogue. data: as `unwrapped` or `read_answer` give it.
    author: for the change log.

    Returns
    -------
    What the card is, what was stored, and why not.

    Errors
    ------
    InputFault for an unknown card, a day that is none, an address of the source that is none.

    Notes
    -----
    The card's figures and the rows of the workload are two writes, each whole; the same answer again
    completes what was cut off and changes nothing else.
    """
    gpu = _gpu(data, snapshot)
    data = _bounded(data, options.today)
    own = check_answer(data, gpu, snapshot)
    items, notes = benchmark_items(data, gpu, snapshot)
    if items and own.check.as_sold is False:
        # What another card does says nothing of the kind that this one is sold as.
        items = [{**item, "flag": NOT_AS_SOLD} for item in items]
        notes = (*notes, Message("measurement_not_used"))
    wanted = replace(options, source=options.source or OWN_SOURCE)
    report = import_items(engine, "benchmarks", items, author, wanted) if items else None
    if report is not None and report.ok and own.check.as_sold is not False:
        notes = (*notes, *(note for _, note in notes_of(report, snapshot)))
    kept = False
    if own.check.on_card and (report is None or report.ok):
        origin = Origin(wanted.source, wanted.source_url, options.today, author)
        kept = store_check(engine, gpu.id, data, origin, dry_run=options.dry_run)
    return Stored(own, report, notes, kept)


def benchmark_items(
    data: Mapping[str, Any], gpu: Gpu, snapshot: Snapshot
) -> tuple[list[Payload], tuple[Message, ...]]:
    """Benchmark rows of a measurement; without any, the reason."""
    if data["device"].get("kind") != "cuda":
        return [], (Message("measurement_without_card"),)
    if data.get("quick"):
        return [], (Message("measurement_quick"),)
    result = data.get("workload") or {}
    value, unit = number(result.get("value")), result.get("unit")
    if value is None and result.get("value") is not None:
        raise InputFault.at("/workload/value", "not_valid")
    if value and unit not in STORED_UNITS:
        shown = str(unit)[:60]
        raise InputFault.at("/workload/unit", "unknown_value", value=shown, allowed=list(STORED_UNITS))
    if not value:
        errors = data.get("errors") if isinstance(data.get("errors"), dict) else {}
        reason = str(result.get("skipped") or (errors or {}).get("workload") or "no figure")[:200]
        return [], (Message("measurement_without_workload", {"reason": reason}),)
    question = data["question"]
    asked = question.get("workload") if isinstance(question.get("workload"), dict) else {}
    model_id = question.get("model_id")
    base: Payload = {
        "gpu_id": gpu.id,
        "gpu_count": 1,
        "model_as_written": str(question.get("model_name") or model_id or "own model")[:200],
        "task": "inference" if asked.get("task") == "inference" else "training",
        "precision": str(result.get("precision") or asked.get("precision") or "")[:40],
        "batch_per_gpu": number(result.get("batch_size")),
        "framework": str(data["device"].get("framework") or "")[:80],
        "framework_version": str(data["device"].get("framework_version") or "")[:80],
        "observed_on": str(data.get("measured_on") or "")[:10],
        "own": True,
    }
    if isinstance(model_id, str) and model_id in snapshot.models:
        base["model_id"] = model_id
    else:
        base["model_parameters"] = number(result.get("parameters")) or number(
            question.get("model_parameters")
        )
    if number(asked.get("image_size")) and asked.get("family") == "vision":
        base["image_size"] = number(asked["image_size"])
    prompt, output = number(result.get("input_length")), number(result.get("output_length"))
    if not output and number(asked.get("sequence_length")) and asked.get("family") != "vision":
        base["sequence_length"] = number(asked["sequence_length"])
    rows = [{**base, "value": value, "unit": unit, "phase": str(result.get("phase") or "")[:20]}]
    if output:
        rows[0] |= {"input_length": prompt, "output_length": output}
        prefill = number(result.get("prefill_tokens_per_s"))
        if prefill:
            rows.append({**base, "value": prefill, "unit": unit, "phase": "prefill", "input_length": prompt})
    return [{k: v for k, v in row.items() if v not in (None, "")} for row in rows], ()


def _gpu(data: Mapping[str, Any], snapshot: Snapshot) -> Gpu:
    name = data["question"].get("gpu_id")
    if not isinstance(name, str):
        raise InputFault.at("/question/gpu_id", "required")
    try:
        return find_gpu(snapshot, name)
    except (KeyError, LookupError) as error:
        raise InputFault.at("/question/gpu_id", "unknown_gpu", value=name[:80]) from error


def _bounded(data: Mapping[str, Any], today: date) -> dict[str, Any]:
    """What is kept of an answer: its own fields, texts that a database can hold, a day that is one."""
    kept = {name: _plain(data[name], 0) for name in _KEPT if name in data}
    day = data.get("measured_on")
    if day is None:
        kept["measured_on"] = today.isoformat()
        return kept
    try:
        date.fromisoformat(day if isinstance(day, str) else "")
    except ValueError as error:
        raise InputFault.at("/measured_on", "not_a_date") from error
    return kept


def _plain(value: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise InputFault.at("", "not_valid")
    if isinstance(value, dict):
        return {str(k)[:_LONGEST].replace("\x00", ""): _plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, str):
        return value[:_LONGEST].replace("\x00", "")
    if isinstance(value, float | int) and not isinstance(value, bool):
        return value if -1e300 < value < 1e300 else None
    return value


def _refuse(word: str) -> None:
    raise ValueError(word)
