"""Compresses answers with gzip, unless the client forbids it (`gzip;q=0`) or they are compressed already."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipResponder, IdentityResponder
from starlette.types import ASGIApp, Receive, Scope, Send

from app.negotiation import accepted_codings


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
