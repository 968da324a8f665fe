"""The last resort: an exception that nothing handled becomes a 500 with an id, and a stack trace in the log.

It stands inside the header middleware, so that a 500 carries the same headers as any other answer.
"""

from __future__ import annotations

import logging

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import AppError
from app.middleware.refusal import Refuse

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
