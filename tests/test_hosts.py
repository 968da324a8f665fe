"""Under which names the server answers, and that its links and redirects stay with it."""

from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.middleware.hosts import AllowedHosts, local
from app.settings import Settings


def guard(bound: str = "127.0.0.1", *added: str) -> AllowedHosts:
    async def nothing(*_: object) -> None:
        return

    return AllowedHosts(nothing, lambda _request, _error: None, bound, added)  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "a b",
    ],
)
def test_another_host_is_refused(client: TestClient, host: str) -> None:
    for method, path in (("GET", "/quotes"), ("POST", "/c"), ("GET", "/gpus/"), ("GET", "/static/app.css")):
        headers = {"host": host, "origin": f"http://{host}"}
        answer = client.request(method, path, headers=headers, follow_redirects=False)
        assert answer.status_code == 400, (method, path)
        assert "evil.example" not in answer.text and "evil.example" not in str(answer.headers)


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8000", "127.0.0.1:8000", "[::1]:8000", "localhost."]
)
def test_this_machine_is_always_itself(client: TestClient, host: str) -> None:
    assert client.get("/quotes", headers={"host": host}).status_code == 200


def test_probes_name_whatever_address_they_have(client: TestClient) -> None:
    assert client.get("/healthz", headers={"host": "10.1.2.3:8000"}).status_code == 200


def test_the_bound_address_and_what_the_setting_adds_are_allowed() -> None:
    assert guard("192.168.1.5").allows("192.168.1.5:8000")
    assert not guard("192.168.1.5").allows("192.168.1.6:8000")
    assert guard("0.0.0.0").allows("192.168.1.6:8000") and guard("::").allows("[fd00::1]:8000")
    assert not guard("0.0.0.0").allows("evil.example")
    added = guard("127.0.0.1", "cards.example.org", ".example.net")
    assert added.allows("cards.example.org") and added.allows("a.example.net")
    assert not added.allows("example.org") and not added.allows("badexample.net")
    assert guard("127.0.0.1", "*").allows("anything.example")


def test_the_setting_is_a_list_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARDWORTH_ALLOWED_HOSTS", "Cards.example.org, .example.net")
    assert Settings().allowed_hosts == ("cards.example.org", ".example.net")


def test_the_setting_reaches_the_server(settings: Settings) -> None:
    more = settings.model_copy(update={"allowed_hosts": ("cards.example.org",)})
    with TestClient(create_app(more)) as client:
        assert client.get("/quotes", headers={"host": "cards.example.org"}).status_code == 200


def test_redirects_are_paths(client: TestClient) -> None:
    for path in ("/gpus/", "//evil.example/gpus/", "/%5Cevil.example/gpus/"):
        answer = client.get(path, follow_redirects=False)
        location = answer.headers.get("location", "/")
        assert re.match(r"/(?![/\\])", location), (path, location)


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("http://localhost/gpus", "/gpus"),
        ("https://localhost", "/"),
        ("http://localhost//evil.example/x", "/evil.example/x"),
        ("//evil.example/x", "/evil.example/x"),
        ("/\\evil.example", "/evil.example"),
        ("/c/abc?x=//y", "/c/abc?x=//y"),
    ],
)
def test_an_address_of_ours_becomes_a_path(address: str, path: str) -> None:
    assert local(address, "localhost") == path


@pytest.mark.parametrize("path", ["//evil.example/x", "///evil.example/x", "//evil.example"])
def test_a_page_that_is_not_there_links_nowhere_else(client: TestClient, path: str) -> None:
    answer = client.get(path, headers={"accept": "text/html"})
    links = re.findall(r'(?:href|src|action)="([^"]*)"', answer.text)
    assert links and not [link for link in links if re.match(r"[/\\]{2}|https?://", link)]
