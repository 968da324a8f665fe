"""Pages for editors alone: who may see them, and what the others are answered."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from app.services.editors import Editor
from app.web.access import ask_to_sign_in, editor_of
from app.web.render import Page


def editor_for(request: Request, scope: str, path: str) -> Editor | Response:
    """The editor who is signed in and has a scope; else the answer: a no, or to sign in and come back."""
    editor = editor_of(request)
    if editor is None:
        return ask_to_sign_in(path)
    if editor.allows(scope):
        return editor
    page = Page(request)
    return page.render(
        "error.html",
        "",
        403,
        {"cache-control": "no-store"},
        title=page._("This is not allowed"),
        detail=page._("%(name)s lacks the scope %(scope)s.") % {"name": editor.name, "scope": scope},
        errors=(),
        status=403,
        request_id="",
    )
