"""The team's own cards: what the check script measured on them, kept and judged."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, Request, Response

from app.api.answers import json_response
from app.api.catalogue import Id
from app.api.context import Context, Lang
from app.api.problems import documented, not_one
from app.api.route import ApiRoute
from app.api.schemas import writing as schemas
from app.api.writers import Batch, refused, rows_at_fault
from app.core.answer import Schema
from app.core.faults import InputFault
from app.services import imports, verification
from app.services.cards import NotInCatalogue, find_gpu
from app.services.imports import Author, ImportOptions, ImportRefused
from app.services.own_cards import CheckList, said_check, said_checks

NO_STORE = {"cache-control": "no-store"}


class UncachedRoute(ApiRoute):
    """A route whose answer grows while estimates are worked out, the catalogue being the same."""

    conditional = False


router = APIRouter(tags=["catalogue"], route_class=UncachedRoute)

EXAMPLE: Schema = {
    "format": "cardworth-measurement/1",
    "measured_on": "2026-11-29",
    "quick": False,
    "question": {
        "gpu_id": "rtx4090",
        "model_id": "resnet-50",
        "workload": {"task": "training", "family": "vision", "image_size": 224},
    },
    "device": {
        "kind": "cuda",
        "name": "NVIDIA GeForce RTX 4090",
        "multiprocessors": 128,
        "capability": "8.9",
        "framework": "PyTorch",
        "framework_version": "2.13.0",
    },
    "driver": {"memory.total": 24564.0},
    "memory": {"tried_gib": 21.0, "intact_gib": 21.0},
    "bandwidth": {"copy_gb_s": 905.0},
    "rates_tflops": {"fp16": 162.0},
    "workload": {
        "value": 1321.0,
        "unit": "images_per_s",
        "batch_size": 64,
        "precision": "fp16",
        "task": "training",
    },
}


def measurement_body() -> Schema:
    """The body of POST /benchmarks: rows as they are imported, or what the check script printed."""
    extra = schemas.body("benchmarks")
    content = extra["requestBody"]["content"]["application/json"]
    printed = {
        "type": "object",
        "description": "What the script of `cardworth verify` prints.",
        "required": ["format", "question", "device"],
        "properties": {
            "format": {"const": verification.FORMAT},
            "question": {"type": "object"},
            "device": {"type": "object"},
        },
    }
    wrapped = {
        "type": "object",
        "required": [verification.WRAPPER],
        "additionalProperties": False,
        "properties": {verification.WRAPPER: printed},
    }
    content["schema"] = {"anyOf": [*content["schema"]["anyOf"], printed, wrapped]}
    content["examples"] = {
        **content["examples"],
        "measurement": {"summary": "What the check script printed", "value": EXAMPLE},
    }
    return extra


def add_measurement(request: Request, batch: Batch, author: Author, dry_run: bool) -> Response:
    """Keep what the check script printed; the same path as `cardworth import measurement`."""
    context = Context.of(request)
    language = context.language
    options = ImportOptions(context.today, dry_run=dry_run)
    data, inside = verification.unwrapped(batch.items[0]), verification.wrapper_of(batch.items[0])
    try:
        stored = verification.store_measurement(context.engine, context.snapshot, data, author, options)
    except ImportRefused as error:
        raise refused(error, language) from error
    except InputFault as fault:
        raise verification.below(inside, fault) from fault
    report = stored.report
    if report is not None and not report.ok:
        raise rows_at_fault(report, batch, language, lambda f: inside + verification.pointer_of_row(f))
    found = (
        imports.import_answer(report, language)
        if report
        else imports.ImportAnswer("benchmarks", dry_run, False, 0)
    )
    found = replace(
        found,
        dry_run=dry_run,
        stored=not dry_run and (stored.kept or found.stored),
        card=said_check(stored.own, language),
        notes=tuple(imports.RowNote(note) for note in stored.notes),
    )
    return json_response(found, 201 if found.stored else 200, NO_STORE, language)


@router.get(
    "/gpus/{gpu_id}/checks",
    summary="Own measurements of one card",
    response_model=CheckList,
    responses=documented(404, 422),
)
def gpu_checks(request: Request, gpu_id: Id, lang: Lang = None) -> Response:
    """Each figure that was measured on the team's own cards beside what such a card should do; newest first.

    `waiting` is true until the speed without this measurement has been estimated; ask again then.
    """
    del lang
    context = Context.of(request)
    try:
        gpu = find_gpu(context.snapshot, gpu_id)
    except NotInCatalogue as missing:
        raise not_one(missing, context.language) from missing
    found = said_checks(context.snapshot, gpu.id, context.language)
    return json_response(found, language=context.language, headers=NO_STORE)
