"""Notices a client that leaves while its request is worked on, so that the work can stop."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Event

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.middleware.guards import SAFE_METHODS
from app.stopping import stop_when


class Departures:
    """Watches the connection from the end of the request's body on; `app.stopping` tells who works.

    Only where something is sent: a page that is asked for is short work.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS:
            await self.app(scope, receive, send)
            return
        left = Event()
        gone = asyncio.Event()
        watch: asyncio.Task[None] | None = None

        async def wait_for_the_end() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            left.set()
            gone.set()

        async def receive_watched() -> Message:
            nonlocal watch
            if watch is not None:
                # Nothing but the end can come any more.
                await gone.wait()
                return {"type": "http.disconnect"}
            message = await receive()
            if message["type"] == "http.disconnect":
                left.set()
                gone.set()
            elif not message.get("more_body", False):
                watch = asyncio.create_task(wait_for_the_end())
            return message

        stop_when(left)
        try:
            await self.app(scope, receive_watched, send)
        finally:
            if watch is not None:
                watch.cancel()
                with suppress(asyncio.CancelledError):
                    await watch
