"""A limit on request bodies, before they are read: by Content-Length, and by count for chunked ones."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import AppError
from app.middleware.refusal import Refuse

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
        headers = Headers(scope=scope)
        limit = next((n for path, n in self.larger.items() if scope["path"].startswith(path)), self.limit)
        stated = headers.get("content-length", "")
        answer = _Answer(receive, send)
        # Who waits to be told to continue has sent nothing yet, and will not.
        expecting = headers.get("expect", "").lower() == "100-continue"
        answer.unread = not expecting and (stated not in ("", "0") or "transfer-encoding" in headers)
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
