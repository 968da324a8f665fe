"""More dear requests than can be done: some wait, others are told at once; what is cheap is never behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from fastapi.testclient import TestClient
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Message, Receive, Scope, Send

from app.errors import AppError
from app.middleware.admission import Admission, is_dear

Send_ = Callable[[Message], Awaitable[None]]


def refused(_request: Request, error: AppError) -> Response:
    return PlainTextResponse(error.type, error.status, headers=error.headers)


async def asked(
    app: Admission, path: str, method: str = "GET", receive: Receive | None = None
) -> tuple[int, dict[bytes, bytes]]:
    found: list[Message] = []

    async def send(message: Message) -> None:
        found.append(message)

    async def nothing() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {"type": "http", "method": method, "path": path, "headers": [], "query_string": b""}
    await app(scope, receive or nothing, send)
    return found[0]["status"], dict(found[0]["headers"])


class Slow:
    """An application whose dear answers wait until they are let go."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.begun = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun += 1
        if is_dear(scope["path"]):
            await self.go.wait()
        await PlainTextResponse("done")(scope, receive, send)


def test_beyond_the_line_is_refused_at_once_and_cheap_work_goes_on() -> None:
    async def run() -> None:
        slow = Slow()
        app = Admission(slow, refused, at_once=2, most_waiting=3)
        dear = [asyncio.create_task(asked(app, "/")) for _ in range(5)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert slow.begun == 2 and app.waiting == 3
        status, headers = await asked(app, "/api/v1/shortlist", "POST")
        assert status == 503 and int(headers[b"retry-after"]) > 0
        assert (await asked(app, "/gpus"))[0] == 200
        slow.go.set()
        assert [status for status, _ in await asyncio.gather(*dear)] == [200] * 5
        assert app.waiting == 0 and (await asked(app, "/"))[0] == 200

    asyncio.run(run())


def test_who_waits_too_long_is_told_to_come_back() -> None:
    async def run() -> None:
        slow = Slow()
        app = Admission(slow, refused, at_once=1, most_waiting=3, max_wait_s=0.01)
        first = asyncio.create_task(asked(app, "/"))
        await asyncio.sleep(0)
        assert (await asked(app, "/"))[0] == 503
        slow.go.set()
        assert (await first)[0] == 200

    asyncio.run(run())


def test_a_body_that_comes_slowly_holds_no_place() -> None:
    async def run() -> None:
        slow = Slow()
        slow.go.set()
        app = Admission(slow, refused, at_once=1, most_waiting=0)
        more = asyncio.Event()

        async def trickle() -> Message:
            if not more.is_set():
                await more.wait()
            return {"type": "http.request", "body": b"{}", "more_body": False}

        waiting = asyncio.create_task(asked(app, "/api/v1/shortlist", "POST", trickle))
        await asyncio.sleep(0)
        assert (await asked(app, "/"))[0] == 200
        more.set()
        assert (await waiting)[0] == 200

    asyncio.run(run())


def test_a_body_reaches_the_route_whole(client: TestClient) -> None:
    body = {"workload": {"model": {"preset": "llama-3.1-8b"}, "task": "inference", "precision": "bf16"}}
    assert client.post("/api/v1/shortlist", json=body).status_code == 200


@pytest.mark.parametrize(
    "path", ["/static/app.css", "/healthz", "/gpus", "/api/v1/gpus", "/quotes/preview", "/method"]
)
def test_what_is_cheap_or_has_its_own_line_is_not_dear(path: str) -> None:
    assert not is_dear(path)
