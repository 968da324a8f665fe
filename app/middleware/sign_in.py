"""Who sends a request; where reading is closed, nobody else gets a page.

A cookie signs in to the pages only: the API takes keys, so that no other site can use it by a cookie.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import AppError
from app.middleware.refusal import Refuse
from app.negotiation import prefers_json

SIGN_IN = "/signin"
SIGN_OUT = "/signout"
COOKIE = "cw_session"
# Answered whoever asks: the API wants keys itself, the others say nothing of the catalogue.
OPEN_PATHS = frozenset({"/healthz", "/readyz", "/metrics", "/openapi.json"})
OPEN_FOLDERS = ("/static/", "/api/")


def session_cookie(secure: bool) -> str:
    """Name of the cookie; with the prefix, which browsers take under https only, no other host can set it."""
    return f"__Host-{COOKIE}" if secure else COOKIE


def is_open_path(path: str) -> bool:
    """Whether a path is answered without asking who sends the request."""
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDERS)


class SignIn:
    """Puts the editor of the session cookie on the request's state; None for everyone else.

    Parameters
    ----------
    find: the editor of a token, None when it does not count; may block, may raise an AppError.
    may_read: whether an API key lets a request read; may block.
    closed: whether pages are only for those who are signed in or send a key.
    """

    def __init__(
        self,
        app: ASGIApp,
        refuse: Refuse,
        find: Callable[[str], Any],
        may_read: Callable[[str], bool],
        closed: bool,
    ) -> None:
        self.app = app
        self.refuse = refuse
        self.find = find
        self.may_read = may_read
        self.closed = closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        request.state.editor = None
        answer = None if is_open_path(scope["path"]) else await self._answer(request)
        await (answer or self.app)(scope, receive, send)

    async def _answer(self, request: Request) -> Response | None:
        """The answer to a request that goes no further."""
        token = request.cookies.get(session_cookie(request.url.scheme == "https"), "")
        shut = self.closed and request.url.path not in (SIGN_IN, SIGN_OUT)
        try:
            if token:
                request.state.editor = await run_in_threadpool(self.find, token)
            if not shut or request.state.editor is not None:
                return None
            key = request.headers.get("x-api-key", "")
            may_read: bool = await run_in_threadpool(self.may_read, key)
            if may_read:
                return None
        except AppError as error:
            return self.refuse(request, error)
        return self._send_to_sign_in(request)

    def _send_to_sign_in(self, request: Request) -> Response:
        here = request.url
        is_part = request.headers.get("hx-request") == "true"
        if is_part:
            # A part of a page cannot be a form to sign in; htmx goes there from the page that it is on.
            here = URL(request.headers.get("hx-current-url", "/"))
        back = f"{SIGN_IN}?{urlencode({'next': here.path + (f'?{here.query}' if here.query else '')})}"
        wants_page = not prefers_json(request.url.path, request.headers.get("accept", "*/*"))
        if request.method in ("GET", "HEAD") and wants_page and not is_part:
            return Response(status_code=303, headers={"location": back, "cache-control": "no-store"})
        return self.refuse(
            request,
            AppError(
                401,
                "sign-in-required",
                "Sign in first",
                "Reading is for editors here. Sign in in another tab, then try this again.",
                headers={"www-authenticate": 'Cookie realm="Cardworth"'}
                | ({"hx-redirect": back} if is_part else {}),
            ),
        )
