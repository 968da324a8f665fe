"""What holds for every answer: headers, cross-origin guard, body limit, request ids, errors."""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
import uvicorn
from fastapi import Body, FastAPI
from fastapi.responses import PlainTextResponse
from fastapi.testclient import TestClient
from sqlalchemy.exc import IntegrityError, OperationalError

from app.core.faults import InputFault
from app.error_handlers import DATABASE_ANSWERS, DATABASE_DOWN, NOT_FOUND
from app.errors import AppError, title_of
from app.main import create_app
from app.middleware import guards
from app.middleware.guards import too_large
from app.middleware.outward import CONTENT_SECURITY_POLICY
from app.runtime import startup_fault
from app.settings import Settings
from app.texts.language import translations

CSP = (
    "default-src 'none'; object-src 'none'; script-src 'self'; "
    "style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
LIMIT = 10_000


def locked() -> OperationalError:
    return OperationalError("UPDATE", {}, sqlite3.OperationalError("database is locked"))


def make_app(tmp_path: Path, **values: Any) -> FastAPI:
    """The real application, without a database, with a few routes that misbehave."""
    app = create_app(Settings(database_url=f"sqlite:///{tmp_path}/none.db", max_body_bytes=LIMIT, **values))
    # Passes the readiness gate without a database.
    app.state.store = SimpleNamespace(snapshot=lambda: SimpleNamespace(version='2026"11'))

    @app.post("/api/v1/test/echo")
    def echo(body: Annotated[dict[str, Any], Body()]) -> dict[str, Any]:
        return {"keys": len(body)}

    @app.get("/api/v1/test/number/{number}")
    def number(number: int) -> dict[str, int]:
        return {"number": number}

    @app.get("/{kind}/v1/test/raise/{what}")
    def fail(kind: str, what: str) -> None:
        raise {
            "bug": RuntimeError(f"secret detail of {kind}"),
            "locked": locked(),
            "readonly": OperationalError(
                "X", {}, sqlite3.OperationalError("attempt to write a readonly database")
            ),
            "full": OperationalError("X", {}, sqlite3.OperationalError("database or disk is full")),
            "missing": OperationalError("X", {}, sqlite3.OperationalError("no such table: gpu")),
            "integrity": IntegrityError("X", {}, sqlite3.IntegrityError("UNIQUE constraint failed")),
            "stale": AppError(409, "stale-price", "The price is stale", "It is 400 days old."),
            "input": InputFault.at("/workload/batch_size", "out_of_range", low=1, high=8),
        }[what]

    @app.get("/test/long")
    def long() -> PlainTextResponse:
        return PlainTextResponse("卡值 " * 2000)

    return app


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return make_app(tmp_path)


@pytest.fixture
def guarded(app: FastAPI) -> Iterator[TestClient]:
    yield TestClient(app)


def assert_secure(headers: Any) -> None:
    assert headers["content-security-policy"] == CSP
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["x-request-id"]
    assert headers["server-timing"].startswith("app;dur=")
    assert "strict-transport-security" not in headers


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/healthz", 200),
        ("GET", "/static/api_docs.js", 200),
        ("GET", "/static/none.js", 404),
        ("GET", "/api/v1/none", 404),
        ("GET", "/none", 404),
        ("HEAD", "/healthz", 200),
        ("POST", "/healthz", 405),
        ("GET", "/api/v1/test/number/x", 422),
        ("GET", "/api/v1/test/raise/bug", 500),
        ("GET", "/page/v1/test/raise/bug", 500),
        ("GET", "/page/v1/test/raise/locked", 503),
        ("GET", "/api/v1/test/raise/locked", 503),
        ("GET", "/api/docs", 200),
        ("GET", "/openapi.json", 200),
        ("GET", "/metrics", 200),
    ],
)
def test_every_kind_of_answer_has_the_headers(
    guarded: TestClient, method: str, path: str, status: int
) -> None:
    answer = guarded.request(method, path)
    assert answer.status_code == status
    assert_secure(answer.headers)


def test_the_policy_is_the_proved_one() -> None:
    assert CONTENT_SECURITY_POLICY == CSP


def test_hsts_only_when_asked(tmp_path: Path) -> None:
    answer = TestClient(make_app(tmp_path, hsts=True)).get("/healthz")
    assert answer.headers["strict-transport-security"] == "max-age=31536000"


# --- errors ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "status", "type_"),
    [
        ("bug", 500, "internal-error"),
        ("integrity", 500, "internal-error"),
        ("locked", 503, "database-locked"),
        ("readonly", 503, "database-read-only"),
        ("missing", 503, "database-missing"),
        ("full", 507, "database-full"),
        ("stale", 409, "stale-price"),
        ("input", 422, "invalid-input"),
    ],
)
def test_errors_of_the_api_are_problems(guarded: TestClient, what: str, status: int, type_: str) -> None:
    answer = guarded.get(f"/api/v1/test/raise/{what}")
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["type"], problem["status"]) == (type_, status)
    assert problem["title"] and problem["detail"] and problem["instance"].endswith(what)
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert "secret" not in answer.text and "Traceback" not in answer.text
    if status == 503:
        assert int(answer.headers["retry-after"]) > 0


def test_field_errors_name_pointer_and_code(guarded: TestClient) -> None:
    (from_core,) = guarded.get("/api/v1/test/raise/input").json()["errors"]
    assert (from_core["pointer"], from_core["code"]) == ("/workload/batch_size", "out_of_range")
    assert from_core["detail"]
    (from_path,) = guarded.get("/api/v1/test/number/x").json()["errors"]
    assert (from_path["pointer"], from_path["code"]) == ("/number", "not_a_number")


@pytest.mark.parametrize("path", ["/none", "/page/v1/test/raise/bug", "/page/v1/test/raise/locked"])
def test_errors_follow_what_the_client_prefers(guarded: TestClient, path: str) -> None:
    page = guarded.get(path, headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert page.headers["content-type"].startswith("text/html")
    assert "Traceback" not in page.text and "secret" not in page.text
    script = guarded.get(path, headers={"accept": "application/json"})
    assert script.headers["content-type"] == "application/problem+json"
    assert page.status_code == script.status_code


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[1]",
        b"\xff\xfe",
        b'{"a": ' + b"[" * 4000 + b"]" * 4000 + b"}",
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": "\\ud800"}',
    ],
)
def test_broken_bodies_are_the_clients_fault(guarded: TestClient, body: bytes) -> None:
    answer = guarded.post("/api/v1/test/echo", content=body, headers={"content-type": "application/json"})
    assert answer.status_code < 500
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["/healthz", "/none", "/test/long", "/static/api_docs.js"])
def test_head_is_get_without_the_body(guarded: TestClient, path: str) -> None:
    plain = {"accept-encoding": "identity"}
    got, head = guarded.get(path, headers=plain), guarded.head(path, headers=plain)
    assert (head.status_code, head.content) == (got.status_code, b"")
    for name in ("content-type", "content-length", "content-security-policy"):
        assert head.headers[name] == got.headers[name]


def test_without_a_database_only_the_operators_routes_answer(tmp_path: Path) -> None:
    app = create_app(Settings(database_url=f"sqlite:///{tmp_path}/none/none.db"))
    with TestClient(app) as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/metrics").status_code == 200
        for path in ("/readyz", "/", "/api/v1/gpus"):
            answer = client.get(path)
            assert answer.status_code == 503, path
            assert int(answer.headers["retry-after"]) > 0
            assert "Traceback" not in answer.text
            assert_secure(answer.headers)


# --- cross-origin guard -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, True),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "cross-site", "origin": "http://testserver"}, False),
        ({"origin": "http://testserver"}, True),
        ({"origin": "http://testserver:81"}, False),
        ({"origin": "http://evil.example"}, False),
        ({"origin": "null"}, False),
        ({"origin": "http://[broken"}, False),
    ],
)
def test_cross_origin_writes_are_refused(guarded: TestClient, headers: dict[str, str], allowed: bool) -> None:
    answer = guarded.post("/api/v1/test/echo", json={"a": 1}, headers=headers)
    assert answer.status_code == (200 if allowed else 403)
    assert_secure(answer.headers)
    if not allowed:
        assert answer.json()["type"] == "cross-origin"


def test_cross_origin_reads_pass(guarded: TestClient) -> None:
    assert guarded.get("/healthz", headers={"sec-fetch-site": "cross-site"}).status_code == 200


def test_cors_is_off_by_default_and_open_to_the_origins_named(tmp_path: Path, guarded: TestClient) -> None:
    origin = {"origin": "https://desk.example", "sec-fetch-site": "cross-site"}
    assert "access-control-allow-origin" not in guarded.get("/healthz", headers=origin).headers
    listed = TestClient(make_app(tmp_path, cors_origins="https://desk.example, https://b.example/"))
    answer = listed.post("/api/v1/test/echo", json={}, headers=origin)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://desk.example"
    other = {"origin": "https://c.example", "sec-fetch-site": "cross-site"}
    assert listed.post("/api/v1/test/echo", json={}, headers=other).status_code == 403


# --- body limit -------------------------------------------------------------------------------------------


def test_a_body_at_the_limit_passes_and_one_above_gets_413(guarded: TestClient) -> None:
    body = json.dumps({"a": "x" * (LIMIT - 9)}).encode()
    assert len(body) == LIMIT
    headers = {"content-type": "application/json"}
    assert guarded.post("/api/v1/test/echo", content=body, headers=headers).status_code == 200
    answer = guarded.post("/api/v1/test/echo", content=body + b" ", headers=headers)
    assert answer.status_code == 413
    assert answer.json()["type"] == "content-too-large"
    assert_secure(answer.headers)


async def call(
    app: FastAPI, headers: list[tuple[bytes, bytes]], chunks: int, silent: bool = False
) -> tuple[int, int, dict[str, Any]]:
    """Send up to `chunks` chunks of 1,000 bytes; answer (status, chunks that were read, body)."""
    read = 0
    status = 0
    body = b""

    async def receive() -> dict[str, Any]:
        nonlocal read
        if silent:
            await asyncio.Event().wait()
        read += 1
        return {"type": "http.request", "body": b" " * 1000, "more_body": read < chunks}

    async def send(message: Any) -> None:
        nonlocal status, body
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            body += message.get("body", b"")

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/api/v1/test/echo",
        "raw_path": b"/api/v1/test/echo",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"testserver"), (b"content-type", b"application/json"), *headers],
        "client": ("127.0.0.1", 1),
        "server": ("testserver", 80),
    }
    await app(scope, receive, send)
    return status, read, json.loads(body)


def test_what_still_comes_after_a_refusal_is_read_and_dropped(app: FastAPI) -> None:
    for length in (b"10000000", b"9" * 400):
        status, read, problem = asyncio.run(call(app, [(b"content-length", length)], 100))
        assert (status, read, problem["type"]) == (413, 100, "content-too-large")
    waiting = [(b"content-length", b"10000000"), (b"expect", b"100-continue")]
    assert asyncio.run(call(app, waiting, 100))[:2] == (413, 0)


def test_no_more_is_dropped_than_a_bound(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "MAX_DRAINED_BYTES", 50_000)
    status, read, _ = asyncio.run(call(app, [(b"content-length", b"10000000")], 10_000))
    assert (status, read) == (413, 50)
    assert asyncio.run(call(app, [], 10_000))[:2] == (413, LIMIT // 1000 + 1 + 50)


def test_a_client_that_sends_nothing_is_not_waited_for_without_end(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guards, "MAX_DRAINING_S", 0.05)
    status, _, _ = asyncio.run(call(app, [(b"content-length", b"10000000")], 10_000, silent=True))
    assert status == 413


@pytest.fixture
def address(app: FastAPI) -> Iterator[str]:
    """The application behind a real socket."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning", access_log=False))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started:
        assert thread.is_alive() and time.monotonic() < deadline
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(timeout=15)


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(("path", "status"), [("test/echo", 413), ("none", 404)])
def test_who_sends_ten_megabytes_can_read_the_refusal(
    address: str, path: str, status: int, chunked: bool
) -> None:
    status = status if chunked else 413
    content = b'{"a": "' + b"x" * 9_999_991 + b'"}'
    assert len(content) == 10_000_000
    pieces = (content[at : at + 65_536] for at in range(0, len(content), 65_536))
    request = urllib.request.Request(
        f"{address}/api/v1/{path}",
        data=pieces if chunked else content,
        headers={"content-type": "application/json"},
        method="POST",
    )
    # Several times: a reset depends on who is faster.
    for _ in range(1 if chunked else 5):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=30)
        assert refused.value.code == status
        assert json.load(refused.value)["status"] == status


@pytest.mark.parametrize("length", [[], [(b"content-length", b"1000")]])
def test_a_chunked_or_lying_body_is_kept_no_further_than_the_limit(
    app: FastAPI, length: list[tuple[bytes, bytes]]
) -> None:
    status, read, problem = asyncio.run(call(app, length, 100))
    assert (status, problem["status"]) == (413, 413)
    assert read == 100
    assert asyncio.run(call(app, length, LIMIT // 1000 + 1))[:2] == (413, LIMIT // 1000 + 1)


# --- request id, compression, metrics ---------------------------------------------------------------------


def test_a_sound_request_id_is_kept_and_any_other_replaced(guarded: TestClient) -> None:
    assert (
        guarded.get("/healthz", headers={"x-request-id": "abc-1.2_3"}).headers["x-request-id"] == "abc-1.2_3"
    )
    for unsound in ("", "a b", "x" * 65, "a\tb", "<script>", "é".encode("latin-1")):
        made = guarded.get("/healthz", headers={"x-request-id": unsound}).headers["x-request-id"]
        assert len(made) == 32 and made.isalnum()


@pytest.mark.parametrize(
    ("accept", "coding"),
    [("gzip", "gzip"), ("gzip;q=0", None), ("identity", None), ("*", "gzip"), ("*, gzip;q=0", None)],
)
def test_long_answers_are_compressed_when_the_client_wants_it(
    guarded: TestClient, accept: str, coding: str | None
) -> None:
    answer = guarded.get("/test/long", headers={"accept-encoding": accept})
    assert answer.headers.get("content-encoding") == coding
    assert answer.headers["vary"] == "Accept-Encoding"
    assert answer.text.startswith("卡值")


def test_metrics_count_by_route_and_not_by_address(guarded: TestClient) -> None:
    for number in range(3):
        guarded.get(f"/api/v1/test/number/{number}")
    for number in range(3):
        guarded.get(f"/none/{number}")
    text = guarded.get("/metrics").text
    assert (
        'cardworth_requests_total{method="GET",route="/api/v1/test/number/{number}",status="200"} 3' in text
    )
    assert 'cardworth_requests_total{method="GET",route="(none)",status="404"} 3' in text
    assert 'cardworth_request_duration_seconds_bucket{le="+Inf",route="(none)"} 3' in text
    assert 'cardworth_info{catalog="2026\\"11",version="' in text


# --- language ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "title", "detail"),
    [
        ("zh-CN", "请求过大", "请求内容超过 10,000 字节。"),
        ("en", "The request is too large", "The request body is larger than 10,000 bytes."),
    ],
)
def test_errors_speak_the_language_of_the_reader(
    guarded: TestClient, language: str, title: str, detail: str
) -> None:
    headers = {"accept-language": language, "content-type": "application/json"}
    problem = guarded.post("/api/v1/test/echo", content=b" " * (LIMIT + 1), headers=headers).json()
    assert (problem["title"], problem["detail"]) == (title, detail)


def test_every_sentence_of_the_platform_is_translated() -> None:
    gettext = translations("zh").gettext
    errors = [too_large(LIMIT), startup_fault(RuntimeError())]
    sentences = [sentence for _, _, sentence in (*DATABASE_ANSWERS.values(), DATABASE_DOWN)]
    sentences += [text for error in errors for text in (error.title, error.template)]
    for status in (400, 401, 403, 404, 405, 409, 410, 415, 429, 500, 503):
        sentences.append(title_of(status))
    for sentence in [*sentences, NOT_FOUND, "There was an error parsing the body"]:
        assert gettext(sentence) != sentence, sentence


def test_metrics_tell_the_api_from_the_pages(client: TestClient) -> None:
    client.get("/api/v1/gpus/rtx4090")
    client.get("/gpus/rtx4090")
    lines = [line for line in client.get("/metrics").text.splitlines() if "requests_total{" in line]
    assert any('route="/api/v1/gpus/{' in line for line in lines), lines
    assert any('route="/gpus/{' in line for line in lines), lines
