"""The list of models, with the dimensions that are computed with."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.services.model_list import found
from app.web.answers import open_page
from app.web.listing import asked
from app.web.models import preset_facts

router = APIRouter()

PATH = "/models"


@router.get(PATH)
def models(request: Request) -> Response:
    """The presets whose name holds every word, of one family."""
    page, snapshot, words = open_page(request)
    values = asked(request, "q", "family")
    rows = [
        (preset, preset_facts(preset.architecture, words)[1:])
        for preset in found(snapshot, values["q"], values["family"])
    ]
    return page.render(
        "models.html",
        PATH,
        rows=rows,
        total=len(snapshot.models),
        families=sorted({preset.family for preset in snapshot.models.values()}),
        q=values["q"],
        family=values["family"],
    )
