"""HEAD for every GET route: the same status and headers, without the body (FastAPI answers 405 by itself)."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send


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
