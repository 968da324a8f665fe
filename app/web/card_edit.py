"""Editing from the page of a card: one price more, or another value of a figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.core.question import CONDITIONS
from app.services.cards import CardDetail
from app.services.imports import (
    BASES,
    CHANNELS,
    FIGURE_UNITS,
    PER,
    TAXES,
    Author,
    ImportReport,
    add_price,
    correct_figure,
    fault_text,
)
from app.texts.words import REGION
from app.web.access import address_of
from app.web.answers import open_page, today
from app.web.card_page import card_of_page
from app.web.form import FormState
from app.web.price_import import CURRENCIES
from app.web.render import editor_for
from app.web.uploads import Upload, in_thread, read_upload

router = APIRouter()

SCOPE = "write"
SAID = ("stored", "same")
PRICE_CELLS = (
    "amount currency condition per tax region channel channel_kind observed_on source source_url".split()
)
FIGURE_CELLS = "figure value basis as_of source source_url formula".split()
# Where a fault of a field that the form does not show is said.
SHOWN_AT = {"source_id": "source", "unit": "value", "gpu_id": ""}


@router.get("/gpus/{name}/price")
def price_form(request: Request, name: str) -> Response:
    """The form for one price of a card."""
    typed = {"currency": "CNY", "tax": "unknown", "observed_on": today().isoformat()}
    return _open(request, name, _price_page, typed)


@router.get("/gpus/{name}/figure")
def figure_form(request: Request, name: str) -> Response:
    """The form for another value of one figure of a card."""
    figure = request.query_params.get("figure", "")
    typed = {"as_of": today().isoformat(), "figure": figure if figure in FIGURE_UNITS else ""}
    return _open(request, name, _figure_page, typed)


@router.post("/gpus/{name}/price")
async def keep_price(request: Request, name: str) -> Response:
    """Store the price, unless it is far from what is known and nobody has confirmed it."""
    upload = await read_upload(request)
    return await in_thread(_keep, request, upload, name, PRICE_CELLS)


@router.post("/gpus/{name}/figure")
async def keep_figure(request: Request, name: str) -> Response:
    """Put the value in force in place of the one before."""
    upload = await read_upload(request)
    return await in_thread(_keep, request, upload, name, FIGURE_CELLS)


Shown = Callable[..., Response]


def _open(request: Request, name: str, show: Shown, typed: Mapping[str, str]) -> Response:
    editor = editor_for(request, SCOPE, address_of(request))
    if isinstance(editor, Response):
        return editor
    said = request.query_params.get("said", "")
    return show(request, card_of_page(request, name), _state(typed), said=said if said in SAID else "")


def _keep(request: Request, upload: Upload, name: str, wanted: Sequence[str]) -> Response:
    editor = editor_for(request, SCOPE, request.url.path)
    if isinstance(editor, Response):
        return editor
    page, snapshot, _words = open_page(request)
    card = card_of_page(request, name)
    cells = {field: upload.text(field) for field in wanted}
    confirm = upload.text("confirm") == "1"
    author = Author(editor.name, upload.text("why"))
    is_price = wanted is PRICE_CELLS
    show = _price_page if is_price else _figure_page
    state = _state(cells | {"why": author.why})
    if not author.why:
        state.errors["why"] = [page._("Say why; the log keeps it.")]
        return show(request, card, state, code=422)
    engine = request.app.state.engine
    if is_price:
        report = add_price(engine, card.id, cells, author, today(), confirm=confirm)
    else:
        report = correct_figure(engine, snapshot, card.id, cells, author, today(), confirm=confirm)
    if not report.ok:
        confirmable = _read_faults(report, state, (*wanted, "why"), page.language)
        return show(request, card, state, code=422, confirmable=confirmable)
    said = "stored" if report.stored else "same"
    return RedirectResponse(f"{request.url.path}?said={said}", 303, {"cache-control": "no-store"})


def _state(typed: Mapping[str, str]) -> FormState:
    return FormState({name: (text,) for name, text in typed.items()}, frozenset(typed))


def _read_faults(report: ImportReport, state: FormState, shown: Sequence[str], language: str) -> bool:
    """Put faults beside their fields; whether all of them can be confirmed."""
    for fault in report.faults:
        field = SHOWN_AT.get(fault.field, fault.field)
        state.errors.setdefault(field if field in shown else "", []).append(fault_text(fault, language))
    return all(fault.confirmable for fault in report.faults)


def _page(
    template: str,
    choices: Mapping[str, object],
    request: Request,
    card: CardDetail,
    state: FormState,
    *,
    code: int = 200,
    said: str = "",
    confirmable: bool = False,
) -> Response:
    page, _snapshot, _words = open_page(request)
    return page.render(
        template,
        "/gpus",
        code,
        {"cache-control": "no-store"},
        card=card,
        f=state,
        said=said,
        confirmable=confirmable,
        **choices,
    )


_price_page = partial(
    _page,
    "gpu_price.html",
    {
        "currencies": CURRENCIES,
        "conditions": CONDITIONS,
        "pers": PER,
        "taxes": TAXES,
        "regions": tuple(REGION),
        "channels": CHANNELS,
    },
)
_figure_page = partial(_page, "gpu_figure.html", {"units": FIGURE_UNITS, "bases": BASES})
