"""Requests that are refused before any route sees them, with the pages and problems of the routes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import URL, Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import AppError
from app.negotiation import prefers_json

# How a middleware answers by itself: with the same error pages and problems as the routes.
Refuse = Callable[[Request, AppError], Response]


# A limit on request bodies, before they are read: by Content-Length, and by count for chunked ones.
MAX_DRAINED_BYTES = 64 * 1024**2
MAX_DRAINING_S = 10.0


class BodyTooLarge(HTTPException):
    """Raised out of `receive`; an HTTPException, so that FastAPI lets it through while it reads a body."""

    def __init__(self, limit: int) -> None:
        super().__init__(413)
        self.limit = limit


def too_large(limit: int) -> AppError:
    """The error for a body above the limit."""
    return AppError(
        413,
        "content-too-large",
        "The request is too large",
        "The request body is larger than {limit} bytes.",
        headers={"connection": "close"},
        params={"limit": f"{limit:,}"},
    )


def packed() -> AppError:
    """The error for a body in a content coding: what it unpacks to could not be bounded by its length."""
    return AppError(
        415,
        "content-coding-refused",
        "The request is packed",
        "Request bodies are taken as they are, without Content-Encoding.",
        headers={"accept-encoding": "identity", "connection": "close"},
    )


class BodyLimit:
    """Refuses bodies of more than `limit` bytes with a 413, packed ones with a 415.

    Paths below `larger` have limits of their own.
    """

    def __init__(
        self, app: ASGIApp, limit: int, refuse: Refuse, larger: Mapping[str, int] | None = None
    ) -> None:
        self.app = app
        self.limit = limit
        self.refuse = refuse
        self.larger = dict(larger or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        limit = next((n for path, n in self.larger.items() if scope["path"].startswith(path)), self.limit)
        stated = headers.get("content-length", "")
        answer = _Answer(receive, send)
        # Who waits to be told to continue has sent nothing yet, and will not.
        expecting = headers.get("expect", "").lower() == "100-continue"
        answer.unread = not expecting and (stated not in ("", "0") or "transfer-encoding" in headers)
        if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            await self.refuse(Request(scope), packed())(scope, receive, answer.send)
            return
        # More than 15 digits is above any limit, and need not become a number.
        if stated.isascii() and stated.isdigit() and (len(stated) > 15 or int(stated) > limit):
            await self.refuse(Request(scope), too_large(limit))(scope, receive, answer.send)
            return
        total = 0
        started = False

        async def receive_counted() -> Message:
            nonlocal total
            message = await receive()
            answer.unread = message.get("more_body", False)
            if message["type"] == "http.request":
                total += len(message.get("body", b""))
                if total > limit:
                    raise BodyTooLarge(limit)
            return message

        async def send_noted(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await answer.send(message)

        try:
            await self.app(scope, receive_counted, send_noted)
        except BodyTooLarge:
            if started:
                raise
            await self.refuse(Request(scope), too_large(limit))(scope, receive, answer.send)


class _Answer:
    """Sends an answer; where it comes before the end of the request, reads on before it ends.

    Closing a socket with unread bytes resets the connection, and the client loses the answer.
    """

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self.unread = False
        """Whether more of the body may come."""

    async def send(self, message: Message) -> None:
        last = message["type"] == "http.response.body" and not message.get("more_body", False)
        if not (self.unread and last):
            await self._send(message)
            return
        self.unread = False
        await self._send({**message, "more_body": True})
        await self._read_on()
        await self._send({"type": "http.response.body", "body": b""})

    async def _read_on(self) -> None:
        read = 0
        try:
            async with asyncio.timeout(MAX_DRAINING_S):
                while read < MAX_DRAINED_BYTES:
                    message = await self._receive()
                    read += len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return
        except TimeoutError:
            return


# Refuses writes that another site makes a visitor's browser send (CSRF), without tokens in forms.
# Browsers state where a request comes from: Sec-Fetch-Site on https and localhost, Origin elsewhere. A
# client that states neither is no browser page (curl, a script) and passes.
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def is_same_origin(headers: Headers, allowed: Collection[str]) -> bool:
    """Whether a request with these headers comes from our own pages, an allowed origin, or no page at all."""
    origin = headers.get("origin")
    if origin is not None and origin in allowed:
        return True
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc == headers.get("host")
    except ValueError:
        return False


class CrossOriginGuard:
    """Answers 403 to an unsafe request from another origin."""

    def __init__(self, app: ASGIApp, refuse: Refuse, allowed_origins: Collection[str] = ()) -> None:
        self.app = app
        self.refuse = refuse
        self.allowed_origins = frozenset(allowed_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != "http"
            or scope["method"] in SAFE_METHODS
            or is_same_origin(Headers(scope=scope), self.allowed_origins)
        ):
            await self.app(scope, receive, send)
            return
        error = AppError(
            403,
            "cross-origin",
            "The request comes from another site",
            "A page of another site may not change anything here. Behind a reverse proxy, "
            "pass the Host header on unchanged.",
        )
        await self.refuse(Request(scope), error)(scope, receive, send)


# While the database or the catalogue is not there, every route that needs them answers 503.
# These answer without the catalogue: they are for finding out what is wrong.
FREE_PATHS = frozenset({"/healthz", "/readyz", "/metrics", "/openapi.json", "/api/docs"})


class ReadinessGate:
    """Lets a request pass when `open_or_fault` finds nothing wrong."""

    def __init__(
        self,
        app: ASGIApp,
        refuse: Refuse,
        is_open: Callable[[], bool],
        open_or_fault: Callable[[], AppError | None],
    ) -> None:
        self.app = app
        self.refuse = refuse
        self.is_open = is_open
        self.open_or_fault = open_or_fault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self.is_open():
            path = scope["path"]
            if path not in FREE_PATHS and not path.startswith("/static/"):
                fault = await run_in_threadpool(self.open_or_fault)
                if fault is not None:
                    await self.refuse(Request(scope), fault)(scope, receive, send)
                    return
        await self.app(scope, receive, send)


# Who sends a request; where reading is closed, nobody else gets a page. A cookie signs in to the pages
# only: the API takes keys, so that no other site can use it by a cookie.
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
