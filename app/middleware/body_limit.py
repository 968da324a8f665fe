"""A limit on request bodies, before they are read: by Content-Length, and by count for chunked ones."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import AppError
from app.middleware.refusal import Refuse


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


class BodyLimit:
    """Refuses bodies of more than `limit` bytes with a 413; paths below `larger` have limits of their own."""

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
        limit = next((n for path, n in self.larger.items() if scope["path"].startswith(path)), self.limit)
        stated = Headers(scope=scope).get("content-length", "")
        # More than 15 digits is above any limit, and need not become a number.
        if stated.isascii() and stated.isdigit() and (len(stated) > 15 or int(stated) > limit):
            await self.refuse(Request(scope), too_large(limit))(scope, receive, send)
            return
        total = 0
        started = False

        async def receive_counted() -> Message:
            nonlocal total
            message = await receive()
            if message["type"] == "http.request":
                total += len(message.get("body", b""))
                if total > limit:
                    raise BodyTooLarge(limit)
            return message

        async def send_noted(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive_counted, send_noted)
        except BodyTooLarge:
            if started:
                raise
            await self.refuse(Request(scope), too_large(limit))(scope, receive, send)
