"""Refuses writes that another site makes a visitor's browser send (CSRF), without tokens in forms.

Browsers state where a request comes from: Sec-Fetch-Site on https and localhost, Origin elsewhere. A client
that states neither is no browser page (curl, a script) and passes.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import AppError
from app.middleware.refusal import Refuse

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
