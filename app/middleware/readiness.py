"""While the database or the catalogue is not there, every route that needs them answers 503."""

from __future__ import annotations

from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import AppError
from app.middleware.refusal import Refuse

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
