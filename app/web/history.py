"""The change log by page: who changed what, when, from what, to what, why; and taking a change back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.catalog.snapshot import Snapshot
from app.services.changes import (
    Author,
    ChangeInFull,
    ChangeRefused,
    change_log,
    field_name,
    is_undoable,
    places,
    undo,
)
from app.texts.marking import N_
from app.texts.say import say_code
from app.web.access import address_of
from app.web.answer_tables import Words
from app.web.answers import open_page
from app.web.data_page import ACTION
from app.web.listing import address, asked, only
from app.web.render import editor_for
from app.web.uploads import Upload, in_thread, one_line, read_upload

router = APIRouter()

PATH = "/history"
SCOPE = "write"
ENTRIES = 30
FIRST_CELLS = 5
MAX_CELL = 160
TABLES = {
    "price": N_("Price observation"),
    "quote": N_("Quote"),
    "gpu_figure": N_("Figure of a card"),
    "gpu": N_("Card"),
    "rental": N_("Rent observation"),
    "exchange_rate": N_("Exchange rate"),
    "benchmark": N_("Speed measurement"),
    "model": N_("Model"),
    "source": N_("Source"),
    "alias": N_("Alias"),
    "api_key": N_("API key"),
    "editor": N_("Editor"),
}
# Columns that no import knows.
FIELDS = {
    "title": N_("title"),
    "url": N_("address"),
    "kind": N_("kind"),
    "read_on": N_("read on"),
    "name": N_("name"),
    "scopes": N_("scope"),
    "password_set_on": N_("password set on"),
    "disabled": N_("disabled"),
    "withdrawn": N_("withdrawn"),
}


@router.get(PATH)
def history(request: Request) -> Response:
    """One part of the log, the newest first."""
    editor = editor_for(request, SCOPE, address_of(request))
    return editor if isinstance(editor, Response) else _page(request, request.query_params.get("said", ""))


@router.post(f"{PATH}/{{entry_id}}/undo")
async def undo_entry(request: Request, entry_id: int) -> Response:
    """Take a change back by a further entry, which says why."""
    upload = await read_upload(request)
    return await in_thread(_undo, request, upload, entry_id)


def _undo(request: Request, upload: Upload, entry_id: int) -> Response:
    editor = editor_for(request, SCOPE, PATH)
    if isinstance(editor, Response):
        return editor
    page, _snapshot, _words = open_page(request)
    why = upload.text("why")
    if not why:
        return _page(request, problem=page._("Say why; the log keeps it."), code=422)
    try:
        # A larger number is no row of any database.
        undo(request.app.state.engine, entry_id if 0 < entry_id < 2**31 else 0, Author(editor.name, why))
    except ChangeRefused as refused:
        problem = say_code(refused.code, refused.params, page.language)
        return _page(request, problem=problem, code=404 if refused.code == "unknown_change" else 409)
    return RedirectResponse(f"{PATH}?said=undone", 303, {"cache-control": "no-store"})


def _page(request: Request, said: str = "", problem: str = "", code: int = 200) -> Response:
    page, snapshot, words = open_page(request)
    values = asked(request, "table", "row", "before")
    values["table"] = only(values["table"], tuple(TABLES))
    values["row"] = one_line(values["row"])
    before = values["before"]
    start = int(before) if before.isascii() and before.isdigit() and len(before) < 10 else None
    found = change_log(request.app.state.engine, values["table"], values["row"], ENTRIES, start)
    at = places(request.app.state.engine, [(entry.table, entry.row_id) for entry in found.items])
    return page.render(
        "history.html",
        PATH,
        code,
        {"cache-control": "no-store"},
        entries=[_entry(e, at.get((e.table, e.row_id)), snapshot, words) for e in found.items],
        older=address(PATH, values, before=found.next) if found.next else "",
        newest=address(PATH, values, before="") if start else "",
        asked=values,
        tables=TABLES,
        actions=ACTION,
        undone=said == "undone",
        problem=problem,
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry with its cells in words: from what, to what."""

    change: ChangeInFull
    cells: list[tuple[str, str, str]]
    more: list[tuple[str, str, str]]
    both: bool
    """Whether there is a before and an after."""
    undoable: bool
    card: str
    figure: str
    link: str


def _entry(entry: ChangeInFull, place: tuple[str, str] | None, snapshot: Snapshot, words: Words) -> Entry:
    before, after = entry.before or {}, entry.after or {}
    names = [n for n in (*after, *(n for n in before if n not in after)) if n != "id"]
    cells = [
        (
            _name(entry.table, name, words),
            _shown(before.get(name), words.gettext),
            _shown(after.get(name), words.gettext),
        )
        for name in names
        # A new row is told by what it says, without the columns that it leaves empty.
        if (before and after) or _says({**before, **after}[name])
    ]
    card, figure = place or (entry.row_id if entry.table == "gpu" else "", "")
    known = next((gpu for gpu in snapshot.gpus if gpu.id == card), None)
    # A value that was retired comes back with the one that took its place.
    undoable = not entry.undone and after != {"chosen": False}
    return Entry(
        entry,
        cells[:FIRST_CELLS],
        cells[FIRST_CELLS:],
        bool(before and after),
        undoable and is_undoable(entry.table, entry.before, entry.after),
        known.label if known else "",
        words.formats.label(figure, "figure") if figure else "",
        _link(entry.table, entry.row_id, card if known else ""),
    )


def _link(table: str, row: str, card: str) -> str:
    """Where the row can be seen."""
    if table == "price" and card:
        return f"/prices?gpu={card}"
    if table == "quote":
        return f"/quotes?ids={row}"
    return f"/gpus/{card}" if card else ""


def _name(table: str, name: str, words: Words) -> str:
    said = field_name(table, name, words.money.language)
    return words.gettext(FIELDS[said]) if said in FIELDS else said


def _says(value: object) -> bool:
    # A number of 0 does: it equals False, but is a value.
    return value is not None and value is not False and value != ""


def _shown(value: object, gettext: Callable[[str], str]) -> str:
    if value is None or value is True or value is False:
        return "" if value is None else gettext(N_("yes")) if value else gettext(N_("no"))
    text = one_line(f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 else str(value))
    return text if len(text) <= MAX_CELL else text[: MAX_CELL - 1] + "…"
