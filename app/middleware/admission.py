"""Who is let in when more is asked than can be done: dear work waits in a short line, or is refused at once.

Each calculation takes a processor for as long as it lasts. Begun all together they would all end late, and
whatever is cheap would wait behind them for a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import AppError
from app.middleware.guards import Refuse

AT_ONCE = 2
"""Dear requests that are worked on at the same time: what one waits for, another computes. More would only
take time from each other, and from writes."""
MOST_WAITING = 128
MAX_WAIT_S = 15.0
RETRY_AFTER_S = 5
DEAR = frozenset(
    {"/", "/ranking.csv", "/result.json", "/option", "/explain", "/compare", "/compare.csv", "/c"}
)
DEAR_FOLDERS = ("/charts/", "/c/", "/api/v1/shortlist", "/api/v1/comparisons", "/api/v1/quotes/compare")
"""What computes a whole answer. Files have a line of their own, behind which nobody else stands."""


def busy() -> AppError:
    """The error for a request that finds the line full, or waited too long in it."""
    return AppError(
        503,
        "busy",
        "The server is busy",
        "More work is asked for than can be done at once. Try again in a moment.",
        headers={"retry-after": str(RETRY_AFTER_S)},
    )


def is_dear(path: str) -> bool:
    """Whether a path computes a whole answer."""
    return path in DEAR or path.startswith(DEAR_FOLDERS)


class Admission:
    """Lets so many dear requests work at once and so many wait; the next is answered 503 before any work."""

    def __init__(
        self,
        app: ASGIApp,
        refuse: Refuse,
        at_once: int = AT_ONCE,
        most_waiting: int = MOST_WAITING,
        max_wait_s: float = MAX_WAIT_S,
    ) -> None:
        self.app = app
        self.refuse = refuse
        self.most_waiting = most_waiting
        self.max_wait_s = max_wait_s
        self.waiting = 0
        self._slots = asyncio.Semaphore(at_once)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_dear(scope["path"]):
            await self.app(scope, receive, send)
            return
        # Whoever sends slowly must not keep others waiting: the body comes first.
        sent = await _whole(receive) if scope["method"] not in ("GET", "HEAD") else ()
        if not await self._admit():
            await self.refuse(Request(scope), busy())(scope, receive, send)
            return
        try:
            await self.app(scope, _again(sent, receive), send)
        finally:
            self._slots.release()

    async def _admit(self) -> bool:
        if not self._slots.locked():
            await self._slots.acquire()
            return True
        if self.waiting >= self.most_waiting:
            return False
        self.waiting += 1
        try:
            async with asyncio.timeout(self.max_wait_s):
                await self._slots.acquire()
        except TimeoutError:
            return False
        finally:
            self.waiting -= 1
        return True


async def _whole(receive: Receive) -> Sequence[Message]:
    """The messages of a body up to its end; the limit on bodies bounds them."""
    found = []
    while True:
        message = await receive()
        found.append(message)
        if message["type"] != "http.request" or not message.get("more_body", False):
            return found


def _again(sent: Sequence[Message], receive: Receive) -> Receive:
    """What was received, once more, then what comes after it."""
    left = list(sent)

    async def replayed() -> Message:
        return left.pop(0) if left else await receive()

    return replayed
