"""What every answer gets on its way out: id, headers, compression, a line in the log; and the last resort."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipResponder, IdentityResponder
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import AppError
from app.middleware.guards import Refuse
from app.negotiation import accepted_codings

# The last resort: an exception that nothing handled becomes a 500 with an id, and a stack trace in the
# log. It stands inside the header middleware, so that a 500 carries the same headers as any other
# answer.
logger = logging.getLogger("app.errors")


class ErrorBoundary:
    """Turns what escapes the application into an answer."""

    def __init__(self, app: ASGIApp, refuse: Refuse) -> None:
        self.app = app
        self.refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_noted(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, send_noted)
        except Exception:
            logger.exception("unhandled error")
            if started:
                raise
            error = AppError(
                500,
                "internal-error",
                "Something went wrong here",
                "The request could not be answered because of a fault in Cardworth. "
                "Its id is in the log beside the details.",
            )
            await self.refuse(Request(scope), error)(scope, receive, send)


# Compresses answers with gzip, unless the client forbids it (`gzip;q=0`) or they are compressed
# already.


class Compression:
    """Starlette's gzip, with the q values and `*` of Accept-Encoding respected."""

    def __init__(self, app: ASGIApp, minimum_size: int, level: int) -> None:
        self.app = app
        self.minimum_size = minimum_size
        self.level = level

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        accepted = accepted_codings(Headers(scope=scope).get("accept-encoding", ""))
        responder = (
            GZipResponder(self.app, self.minimum_size, self.level)
            if "gzip" in accepted
            else IdentityResponder(self.app, self.minimum_size)
        )
        await responder(scope, receive, send)


# HEAD for every GET route: the same status and headers, without the body (FastAPI answers 405 by
# itself).


class HeadAsGet:
    """Runs the GET route for a HEAD request and keeps the body back."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def send_without_body(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
            elif message["type"] == "http.response.body" and not message.get("more_body", False):
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        # The route that answers is noted in the scope, where the metrics look for it.
        inner = {**scope, "method": "GET"}
        await self.app(inner, receive, send_without_body)
        if "route" in inner:
            scope["route"] = inner["route"]


# An id for each request: from X-Request-Id when sound, else made; sent back and put in every log line.
_SOUND = re.compile(r"[A-Za-z0-9._-]{1,64}")
_current: ContextVar[str] = ContextVar("request_id", default="")


def current_request_id() -> str:
    """Id of the request being answered, or an empty string outside of one."""
    return _current.get()


class RequestId:
    """Sets the id for the time of the request and sends it back."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        asked = Headers(scope=scope).get("x-request-id", "")
        request_id = asked if _SOUND.fullmatch(asked) else uuid.uuid4().hex

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["x-request-id"] = request_id
            await send(message)

        token = _current.set(request_id)
        try:
            await self.app(scope, receive, send_with_id)
        finally:
            _current.reset(token)


# How long each request took: a Server-Timing header, an access line in the log and the metrics.
access_log = logging.getLogger("app.access")

Observe = Callable[[str, str, int, float], None]
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


API = "/api/v1"


def route_of(scope: Scope) -> str:
    """Template of the route that answered (`/gpus/{id}`), so that metrics stay few whatever is asked for."""
    path = getattr(scope.get("route"), "path", None)
    if path:
        # A route knows nothing of the router above it: without the prefix the API and the pages would be one.
        below_api = scope["path"].startswith(f"{API}/") and not path.startswith(API)
        return f"{API}{path}" if below_api else str(path)
    return "/static" if scope["path"].startswith("/static/") else "(none)"


class Timing:
    """Measures up to the first byte for the header, and up to the last for log and metrics."""

    def __init__(self, app: ASGIApp, observe: Observe) -> None:
        self.app = app
        self.observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = perf_counter()
        status = 500

        async def send_with_timing(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                elapsed_ms = (perf_counter() - start) * 1000
                MutableHeaders(scope=message).append("server-timing", f"app;dur={elapsed_ms:.1f}")
            await send(message)

        try:
            await self.app(scope, receive, send_with_timing)
        finally:
            seconds = perf_counter() - start
            method = scope["method"] if scope["method"] in _METHODS else "OTHER"
            self.observe(method, route_of(scope), status, seconds)
            client = scope.get("client")
            access_log.info(
                "request",
                extra={
                    "method": method,
                    # The path without its query, and short: a query may hold what a user typed.
                    "path": scope["path"][:200],
                    "status": status,
                    "duration_ms": round(seconds * 1000, 1),
                    "client": client[0] if client else "",
                },
            )


# Security headers on every response, errors included.
# The style hash is that of an empty <style>: Plotly makes one and fills it through the CSSOM.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; object-src 'none'; script-src 'self'; "
    "style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; "
    "img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
STRICT_TRANSPORT_SECURITY = "max-age=31536000"


class SecurityHeaders:
    """Adds the headers to whatever the application inside answers."""

    def __init__(self, app: ASGIApp, hsts: bool = False) -> None:
        self.app = app
        self.headers = dict(HEADERS)
        if hsts:
            self.headers["strict-transport-security"] = STRICT_TRANSPORT_SECURITY

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.headers)
            await send(message)

        await self.app(scope, receive, send_with_headers)
