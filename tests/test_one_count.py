"""One count for the comparisons of one address, whichever door they come through; what is kept is bounded."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.services import comparisons
from app.services.limits import counted_as
from app.settings import Settings

BODY = {"workload": {"model": {"preset": "llama-3.1-8b"}, "task": "inference", "precision": "bf16"}}
FORM = {"model": "llama-3.1-8b", "task": "inference"}


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("testclient", "testclient"),
    ],
)
def test_an_address_of_ipv6_counts_as_its_network(address: str, key: str) -> None:
    assert counted_as(address) == key


def client_at(settings: Settings, address: str) -> TestClient:
    return TestClient(create_app(settings), client=(address, 50_000))


def api_and_page(client: TestClient) -> tuple[Any, Any]:
    return (
        client.post("/api/v1/comparisons", json=BODY),
        client.post("/c", data=FORM, follow_redirects=False),
    )


def test_pages_and_api_count_together(settings: Settings) -> None:
    two = settings.model_copy(update={"comparisons_per_hour": 2})
    with client_at(two, "192.0.2.7") as client:
        made, frozen = api_and_page(client)
        assert (made.status_code, frozen.status_code) == (201, 303)
        made, frozen = api_and_page(client)
        assert (made.status_code, frozen.status_code) == (429, 429)


def test_a_comparison_of_too_many_bytes_is_not_kept(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparisons, "MAX_BYTES", 1_000)
    made, frozen = api_and_page(client)
    assert (made.status_code, frozen.status_code) == (422, 422)
    assert made.json()["errors"][0]["code"] == "comparison_too_large"


def test_comparisons_are_bounded_together(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.post("/api/v1/comparisons", json=BODY).status_code == 201
    kept = comparisons.size_of_all(client.app.state.engine)  # type: ignore[attr-defined]
    assert 10_000 < kept < comparisons.MAX_BYTES
    monkeypatch.setattr(comparisons, "MAX_BYTES_OF_ALL", kept + 1_000)
    made = client.post("/api/v1/comparisons", json=BODY)
    assert made.status_code == 422 and made.json()["errors"][0]["code"] == "comparisons_too_large"
