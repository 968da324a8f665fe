"""A client that leaves in the middle of its request: the work that it asked for is told so."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable

import pytest
from fastapi.testclient import TestClient
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from app.middleware.departures import Departures
from app.stopping import nobody_waits

BODY: Message = {"type": "http.request", "body": b"x", "more_body": False}


def scope_of(method: str) -> Scope:
    return {"type": "http", "method": method, "path": "/", "headers": [], "query_string": b""}


async def passed(app: Callable[[Scope, Receive, Send], Awaitable[None]], *messages: Message) -> None:
    """One request through the middleware; after the last message the connection stays open."""
    waiting = list(messages)

    async def receive() -> Message:
        if waiting:
            return waiting.pop(0)
        await asyncio.Event().wait()
        raise AssertionError

    async def send(_: Message) -> None:
        return

    await Departures(app)(scope_of("POST"), receive, send)


def test_the_work_is_told_when_the_client_leaves() -> None:
    told: list[bool] = []

    def work() -> None:
        for _ in range(2_000):
            if nobody_waits():
                told.append(True)
                return
            asyncio.run(asyncio.sleep(0.001))

    async def app(scope: Scope, receive: Receive, _send: Send) -> None:
        assert await Request(scope, receive).body() == b"x"
        await run_in_threadpool(work)

    asyncio.run(passed(app, BODY, {"type": "http.disconnect"}))
    assert told == [True]


def test_who_stays_is_served_to_the_end() -> None:
    told: list[bool] = []

    async def app(scope: Scope, receive: Receive, _send: Send) -> None:
        await Request(scope, receive).body()
        await asyncio.sleep(0)
        told.append(await run_in_threadpool(nobody_waits))

    asyncio.run(passed(app, BODY))
    assert told == [False]


def test_nobody_is_known_to_wait_outside_of_a_request() -> None:
    assert nobody_waits() is False


@pytest.mark.parametrize("coding", ["gzip", "br", "gzip, identity"])
def test_a_packed_body_is_refused(client: TestClient, coding: str) -> None:
    body = gzip.compress(b" " * 10_000_000)
    answer = client.post("/api/v1/memory", content=body, headers={"content-encoding": coding})
    assert answer.status_code == 415
    assert answer.json()["type"] == "content-coding-refused"
    assert answer.headers["accept-encoding"] == "identity"
