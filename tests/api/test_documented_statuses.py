"""What any call may be answered with is documented for every call."""

from __future__ import annotations

from fastapi.testclient import TestClient

from app.errors import PROBLEM_MEDIA_TYPE


def test_every_operation_documents_what_any_may_answer(api: TestClient) -> None:
    described = api.get("/openapi.json").json()
    missing = []
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            wanted = {"400", "503"} | ({"413", "415"} if "requestBody" in operation else set())
            if path.startswith("/api/"):
                missing += [(method, path, status) for status in wanted - operation["responses"].keys()]
    assert not missing


def test_every_problem_is_documented_as_one(api: TestClient) -> None:
    described = api.get("/openapi.json").json()
    wrong = [
        (method, path, status)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
        for status, answer in operation["responses"].items()
        if int(status) >= 400 and PROBLEM_MEDIA_TYPE not in answer.get("content", {})
    ]
    assert not wrong


def test_the_documented_refusals_are_what_is_answered(api: TestClient) -> None:
    other = api.get("/api/v1/gpus", headers={"host": "evil.example"})
    packed = api.post("/api/v1/memory", content=b"{}", headers={"content-encoding": "gzip"})
    large = api.post("/api/v1/memory", content=b"x" * 20_000_001)
    assert (other.status_code, packed.status_code, large.status_code) == (400, 415, 413)
    for answer in (other, packed, large):
        assert answer.headers["content-type"] == PROBLEM_MEDIA_TYPE
