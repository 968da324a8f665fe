"""How long each request took: a Server-Timing header, an access line in the log and the metrics."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger("app.access")

Observe = Callable[[str, str, int, float], None]
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def route_of(scope: Scope) -> str:
    """Template of the route that answered (`/gpus/{id}`), so that metrics stay few whatever is asked for."""
    path = getattr(scope.get("route"), "path", None)
    if path:
        return str(path)
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
            logger.info(
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
