"""API keys: made on the command line, asked for where the setting says so, lifting the limit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.api.examples import LLAMA_INFERENCE
from app.cli import main
from app.settings import Settings

BODY = {"workload": LLAMA_INFERENCE}


@pytest.fixture
def url(seeded_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = tmp_path / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    monkeypatch.setenv("CARDWORTH_DATABASE_URL", f"sqlite:///{path}")
    return f"sqlite:///{path}"


def test_a_key_opens_lifts_the_limit_and_can_be_revoked(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    from app.main import create_app

    assert main(["key", "create", "procurement", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["secret"].startswith("cwk_")
    key = {"x-api-key": made["secret"]}
    settings = Settings(database_url=url, read_requires_key=True, calculations_per_minute=1)
    with TestClient(create_app(settings), headers={"accept-language": "en"}) as api:
        for headers in ({}, {"x-api-key": "cwk_wrong"}, {"x-api-key": ""}):
            answer = api.get("/api/v1/gpus", headers=headers)
            assert answer.status_code == 401
            assert answer.json()["type"].endswith("api-key-required")
        assert api.get("/api/v1/gpus", headers=key).status_code == 200
        statuses = [api.post("/api/v1/memory", json=BODY, headers=key).status_code for _ in range(3)]
        assert statuses == [200, 200, 200]
        assert main(["key", "revoke", made["id"]]) == 0
        assert api.get("/api/v1/gpus", headers=key).status_code == 401
    assert main(["key", "revoke", made["id"]]) == 2
    capsys.readouterr()
    assert main(["key", "list"]) == 0
    listed = capsys.readouterr().out
    assert "procurement" in listed and made["secret"] not in listed


def test_a_key_writes_unless_it_is_made_for_reading(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    from app.main import create_app

    secrets = []
    for options in ([], ["--scope", "read"]):
        assert main(["key", "create", "buyer", *options, "--json"]) == 0
        secrets.append({"x-api-key": json.loads(capsys.readouterr().out)["secret"]})
    row = {"base": "USD", "quote": "CNY", "rate": 6.74, "observed_on": "2026-11-28", "source": "A bank"}
    with TestClient(create_app(Settings(database_url=url, read_requires_key=True))) as api:
        answers = [api.post("/api/v1/rates?dry_run=true", json=row, headers=key) for key in secrets]
        assert [answer.status_code for answer in answers] == [200, 403]
        assert [api.get("/api/v1/gpus", headers=key).status_code for key in secrets] == [200, 200]


def test_reading_needs_no_key_by_default_but_a_wrong_one_is_refused(url: str) -> None:
    from app.main import create_app

    with TestClient(create_app(Settings(database_url=url))) as api:
        assert api.get("/api/v1/gpus").status_code == 200
        assert api.get("/api/v1/gpus", headers={"x-api-key": "cwk_wrong"}).status_code == 401
