"""One model: its figures, what it needs at the usual formats, runs that were measured, cards that hold it."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

from app.catalog.snapshot import Snapshot
from app.core.faults import InputFault
from app.core.formats import USUAL, advised_for, format_of
from app.core.gpu import Gpu
from app.core.memory import estimate
from app.core.model.architecture import ModelArchitecture
from app.core.model.reading import reading_of
from app.core.workload import Workload
from app.services.cards import NotInCatalogue, find_model
from app.web.answers import open_page
from app.web.models import preset_facts

router = APIRouter()

SECTION = "/models"
RUNS = 12
CARDS = 10
CONTEXT = 8_192.0


@dataclass(frozen=True, slots=True)
class Need:
    """What a model needs in one format, for one sequence."""

    precision: str
    weights_gib: float
    total_gib: float
    cards: tuple[Gpu, ...]
    """The smallest cards that hold it, by memory."""


@router.get("/models/{model_id:path}")
def model_page(request: Request, model_id: str) -> Response:
    """A preset by id, alias or Hugging Face id."""
    page, snapshot, words = open_page(request)
    try:
        preset = find_model(snapshot, model_id[:200])
    except NotInCatalogue:
        raise HTTPException(404, page._("There is no model of this name in the catalogue.")) from None
    model = preset.architecture
    tokens = min(CONTEXT, float(model.max_context or CONTEXT))
    runs = sorted(
        (b for b in snapshot.benchmarks if b.model_id == preset.id and b.value), key=lambda b: -b.value
    )
    reading = reading_of(model) if model.family == "decoder" else None
    return page.render(
        "model.html",
        SECTION,
        preset=preset,
        facts=preset_facts(model, words),
        reading=reading,
        notes=[words.say(w) for w in reading.warnings] if reading else [],
        needs=needs(model, snapshot, tokens),
        tokens=tokens if model.family == "decoder" else None,
        runs=runs[:RUNS],
        run_count=len(runs),
        cards={gpu.id: gpu for gpu in snapshot.gpus},
        aliases=snapshot.model_names.names_by_target().get(preset.id, [])[:12],
    )


def needs(model: ModelArchitecture, snapshot: Snapshot, tokens: float) -> list[Need]:
    """The need of one sequence or image in the usual formats of the family, the model's own first."""
    kind = "decoder" if model.family == "decoder" else "other"
    names = [model.native_precision or USUAL, USUAL, *(f.name for f in advised_for(kind))]
    if model.family == "decoder":
        names += [f.name for f in advised_for("gguf")]
    gpus = sorted((g for g in snapshot.gpus if g.usable_gib), key=lambda g: (g.usable_gib or 0.0, g.name))
    found = []
    for name in dict.fromkeys(names):
        text = model.family in ("decoder", "encoder", "encoder-decoder")
        work = Workload(model, precision=name, sequence_length=tokens if text else None)
        try:
            answer = estimate(work)
        except InputFault:
            continue
        total = float(answer.per_gpu_gib.expected)
        holding = tuple(g for g in gpus if (g.usable_gib or 0.0) >= total)[:CARDS]
        found.append(Need(format_of(name).name, float(answer.part("weights")), total, holding))
    return found
