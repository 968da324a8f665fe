"""Checking a card: the script for it, and its answer stored as the team's own measurement."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from typing import Any

from sqlalchemy import Engine

from app.catalog.changes import Author
from app.catalog.importing import ImportOptions, ImportReport, import_items
from app.catalog.snapshot import Snapshot
from app.core import verify
from app.core.estimates import Message
from app.core.faults import InputFault
from app.core.gpu import Gpu
from app.core.verify.check import CardCheck, number, read_measurement
from app.core.workload import resolve
from app.services.catalogue import find_gpu
from app.services.requests import parse_fit
from app.services.texts import say_message

Payload = dict[str, Any]
MAX_BYTES = 1_000_000
OWN_SOURCE = "Own measurements (cardworth verify)"
STORED_UNITS = ("images_per_s", "samples_per_s", "tokens_per_s")


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
    return verify.script_name(request.gpu), verify.script(request.gpu, work)


def read_answer(content: bytes) -> Mapping[str, Any]:
    """The script's answer from a file.

    Errors
    ------
    InputFault: too large, no JSON, another format.
    """
    if len(content) > MAX_BYTES:
        raise InputFault.at("", "too_long", limit=MAX_BYTES)
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputFault.at("", "not_json") from error
    return read_measurement(data)


def import_measurement(
    engine: Engine, snapshot: Snapshot, content: bytes, author: Author, options: ImportOptions
) -> tuple[CardCheck, Gpu, ImportReport | None, tuple[Message, ...]]:
    """Compare a measurement with the card and store its workload as the team's own benchmark.

    Parameters
    ----------
    engine, snapshot: the catalogue. content: the script's JSON. author: for the change log.

    Returns
    -------
    What the card is, the card, what was stored (None: nothing to store) and why not.

    Errors
    ------
    InputFault when the file is not the script's answer or names an unknown card.
    """
    data = read_answer(content)
    gpu = _gpu(data, snapshot)
    found = verify.check_card(data, gpu)
    items, notes = benchmark_items(data, gpu, snapshot)
    if not items:
        return found, gpu, None, notes
    wanted = ImportOptions(
        options.today,
        dry_run=options.dry_run,
        confirm=options.confirm,
        source=options.source or OWN_SOURCE,
        source_url=options.source_url,
        defaults=options.defaults,
    )
    return found, gpu, import_items(engine, "benchmarks", items, author, wanted), notes


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
    if not value or unit not in STORED_UNITS:
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


def check_body(found: CardCheck, gpu: Gpu, language: str) -> Payload:
    """The check of a card as JSON, in words too."""
    verdict = {True: "card_as_sold", False: "card_not_as_sold", None: "card_not_measured"}[found.as_sold]
    return {
        "gpu": {"id": gpu.id, "name": gpu.name},
        "as_sold": found.as_sold,
        "code": verdict,
        "text": say_message(Message(verdict, {"gpu": gpu.name}), language),
        "figures": [
            {**asdict(f), "text": _said(f.code, f.figure, f.measured, f.expected, language)}
            for f in found.findings
        ],
    }


def _said(code: str, figure: str, measured: float, expected: float, language: str) -> str:
    if not code:
        return ""
    params = {"figure": figure, "measured": f"{measured:.4g}", "expected": f"{expected:.4g}"}
    return say_message(Message(code, params), language)


def _gpu(data: Mapping[str, Any], snapshot: Snapshot) -> Gpu:
    name = data["question"].get("gpu_id")
    if not isinstance(name, str):
        raise InputFault.at("/question/gpu_id", "required")
    try:
        return find_gpu(snapshot, name)
    except (KeyError, LookupError) as error:
        raise InputFault.at("/question/gpu_id", "unknown_gpu", value=name[:80]) from error
