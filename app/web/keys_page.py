"""API keys by page: made, listed and revoked by editors with the scope admin."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.services.access import SCOPES, NewKey, create_key, list_keys, revoke_key
from app.services.changes import Author
from app.web.answers import open_page
from app.web.render import editor_for
from app.web.uploads import Upload, in_thread, read_upload

router = APIRouter()

PATH = "/keys"
SCOPE = "admin"
DEFAULT = "write"
MAX_NAME = 80


@router.get(PATH)
def keys(request: Request) -> Response:
    """All keys without their secrets, and the form for a new one."""
    admin = editor_for(request, SCOPE, PATH)
    if isinstance(admin, Response):
        return admin
    return _page(request, revoked=request.query_params.get("said") == "revoked")


@router.post(PATH)
async def make_key(request: Request) -> Response:
    """Make a key; the answer is the only place that ever shows it."""
    upload = await read_upload(request)
    return await in_thread(_make, request, upload)


@router.post(f"{PATH}/{{key_id}}/revoke")
async def revoke(request: Request, key_id: str) -> Response:
    """Make a key useless from now on."""
    upload = await read_upload(request)
    return await in_thread(_revoke, request, upload, key_id)


def _make(request: Request, upload: Upload) -> Response:
    admin = editor_for(request, SCOPE, PATH)
    if isinstance(admin, Response):
        return admin
    name, scope = upload.text("name"), upload.text("scope")
    if not 0 < len(name) <= MAX_NAME or scope not in SCOPES:
        return _page(request, code=422, asked=(name, scope))
    made = create_key(request.app.state.engine, name, (scope,), Author(admin.name, upload.text("why")))
    return _page(request, code=201, made=made, asked=(name, scope))


def _revoke(request: Request, upload: Upload, key_id: str) -> Response:
    admin = editor_for(request, SCOPE, PATH)
    if isinstance(admin, Response):
        return admin
    author = Author(admin.name, upload.text("why"))
    known = key_id.isascii() and key_id.isalnum()
    if not known or not revoke_key(request.app.state.engine, key_id, author):
        return _page(request, code=404)
    return RedirectResponse(f"{PATH}?said=revoked", 303, {"cache-control": "no-store"})


def _page(
    request: Request,
    *,
    code: int = 200,
    made: NewKey | None = None,
    asked: tuple[str, str] = ("", DEFAULT),
    revoked: bool = False,
) -> Response:
    page, _snapshot, _words = open_page(request)
    return page.render(
        "keys.html",
        PATH,
        code,
        {"cache-control": "no-store"},
        keys=list_keys(request.app.state.engine),
        made=made,
        asked=asked,
        refused=code == 422,
        missing=code == 404,
        revoked=revoked,
        longest=MAX_NAME,
    )
