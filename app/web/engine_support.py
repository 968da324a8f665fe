"""Which engines run on which cards, as sources state it."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.core.engines import title
from app.core.faults import InputFault
from app.services.lists import EngineSupportItem, engine_statements
from app.texts.marking import N_
from app.texts.say import say_fault
from app.web.answers import open_page
from app.web.listing import address, asked, card_names, day_of, only, part_of

router = APIRouter()
PATH = "/engine-support"
ROWS_PER_PART = 50
FILTERS = ("gpu", "engine", "status", "q")
STATUS = {
    "official": N_("official"),
    "plugin": N_("plugin of the maker"),
    "experimental": N_("experimental"),
    "unsupported": N_("not supported"),
}


@router.get(PATH)
def engine_support(request: Request) -> Response:
    """One part of the statements that the address asks for."""
    shown, snapshot, _ = open_page(request)
    values = asked(request, *FILTERS)
    engines = sorted({row.engine for row in snapshot.engine_support})
    values["engine"], values["status"] = (
        only(values["engine"], engines),
        only(values["status"], tuple(STATUS)),
    )
    faults: list[str] = []
    found: tuple[EngineSupportItem, ...] = ()
    try:
        if values["gpu"]:
            values["gpu"] = snapshot.resolve_gpu(values["gpu"], "/gpu")
        stated = {name: value for name, value in values.items() if value}
        found = engine_statements(snapshot, stated, day_of(request))
    except InputFault as fault:
        faults = [say_fault(fault.errors[0], shown.language)]
    gpu = snapshot.gpu(values["gpu"]) if values["gpu"] and not faults else None
    return shown.render(
        "engine_support.html",
        PATH,
        422 if faults else 200,
        part=part_of(list(found), request.query_params.get("page", ""), ROWS_PER_PART),
        asked=values,
        engines=engines,
        statuses=STATUS,
        faults=faults,
        names=card_names(snapshot).values(),
        title=title,
        gpu_label=gpu.label if gpu else "",
        page_url=lambda number: address(PATH, values, page="" if number == 1 else number),
    )
