"""Frozen decisions from creation to deletion, and what has changed since."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import text

from app.api.examples import LLAMA_INFERENCE
from app.catalog.versions import bump
from app.settings import Settings
from tests.api.conftest import AS_OF

BODY: dict[str, Any] = {"title": "Helpdesk", "workload": LLAMA_INFERENCE, "as_of": AS_OF, "limit": 5}


def create(api: TestClient, body: dict[str, Any] = BODY) -> dict[str, str]:
    answer = api.post("/api/v1/comparisons", json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, str] = answer.json()
    assert made.keys() == {"id", "url", "manage_token"}
    assert answer.headers["location"] == f"/api/v1/comparisons/{made['id']}"
    return made


def test_a_comparison_holds_the_full_result_of_its_day(api: TestClient) -> None:
    made = create(api)
    assert made["url"] == f"/c/{made['id']}" and len(made["id"]) >= 22
    answer = api.get(f"/api/v1/comparisons/{made['id']}")
    frozen = answer.json()
    asked = {k: v for k, v in BODY.items() if k != "title"}
    ranked = api.post("/api/v1/shortlist", json=asked).json()
    assert frozen["title"] == "Helpdesk" and frozen["as_of"] == AS_OF
    for part in ("options", "rejected", "pareto", "advice", "feasible"):
        assert frozen["result"][part] == ranked[part]
    assert frozen["versions"] == ranked["versions"]
    assert answer.headers["x-robots-tag"] == "noindex"
    assert "private" in answer.headers["cache-control"]
    tag = answer.headers["etag"]
    assert api.get(f"/api/v1/comparisons/{made['id']}", headers={"if-none-match": tag}).status_code == 304


def test_one_stored_comparison_is_read_in_both_languages(api: TestClient) -> None:
    made = create(api)
    english = api.get(f"/api/v1/comparisons/{made['id']}?lang=en").json()
    chinese = api.get(f"/api/v1/comparisons/{made['id']}?lang=zh").json()
    assert english["digest"] == chinese["digest"]
    assert "Lowest total cost" in english["result"]["options"][0]["reasons"][0]
    assert "总成本最低" in chinese["result"]["options"][0]["reasons"][0]


def test_only_the_manage_token_deletes(api: TestClient) -> None:
    made = create(api)
    address = f"/api/v1/comparisons/{made['id']}"

    def outcome(answer: Any) -> tuple[int, str, str]:
        problem = answer.json()
        return answer.status_code, problem["type"], problem["detail"]

    unknown = outcome(api.get("/api/v1/comparisons/AAAAAAAAAAAAAAAAAAAAAA"))
    assert unknown[0] == 404
    for language, word in (("en", "manage token"), ("zh", "管理令牌")):
        missing = api.delete(f"{address}?lang={language}")
        assert outcome(missing)[:2] == (401, "manage-token-required")
        assert missing.headers["www-authenticate"] == "ManageToken"
        wrong = api.delete(f"{address}?lang={language}", headers={"x-manage-token": made["id"]})
        assert outcome(wrong)[:2] == (403, "manage-token-wrong")
        assert all(word in answer.json()["detail"] for answer in (missing, wrong))
    nowhere = "/api/v1/comparisons/AAAAAAAAAAAAAAAAAAAAAA"
    assert outcome(api.delete(nowhere)) == unknown
    assert outcome(api.delete(nowhere, headers={"x-manage-token": made["manage_token"]})) == unknown
    assert api.get(address).status_code == 200
    assert api.delete(address, headers={"x-manage-token": made["manage_token"]}).status_code == 204
    tag = api.get(f"/api/v1/comparisons/{create(api)['id']}").headers["etag"]
    assert outcome(api.get(address, headers={"if-none-match": tag})) == unknown
    assert outcome(api.get(f"{address}/changes")) == unknown


def test_nothing_has_changed_on_the_same_day(api: TestClient) -> None:
    made = create(api)
    changes = api.get(f"/api/v1/comparisons/{made['id']}/changes?as_of={AS_OF}").json()
    assert changes["prices"] == [] and changes["entered"] == [] and changes["left"] == []
    assert changes["order_changed"] is False and changes["cannot_repeat"] == []
    assert len(changes["options"]) == 5


def test_a_price_edit_shows_in_the_changes_and_not_in_the_frozen_result(
    seeded_database: Path, tmp_path: Path
) -> None:
    from app.main import create_app

    path = tmp_path / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    settings = Settings(database_url=f"sqlite:///{path}")
    with TestClient(create_app(settings), headers={"accept-language": "en"}) as api:
        # Long enough that the option is still listed when its price has doubled.
        made = create(api, {**BODY, "limit": 200})
        address = f"/api/v1/comparisons/{made['id']}"
        before = api.get(address).json()
        first = next(o for o in before["result"]["options"] if o["acquisition"] == "buy")
        engine = api.app.state.engine  # type: ignore[attr-defined]
        with engine.begin() as connection:
            connection.execute(
                text(
                    "INSERT INTO price (id, gpu_id, name_as_written, condition, amount, currency, per, tax,"
                    " region, channel, channel_kind, observed_on, n, source_id, quality, variant_assumed,"
                    " held, note) SELECT 'feedfeedfeedfeed', :gpu, '', :condition, :amount, 'CNY', 'card',"
                    " 'unknown', 'CN', 'test', 'retail', :day, 1, MIN(id), '', 0, '', '' FROM source"
                ),
                {
                    "gpu": first["gpu"]["id"],
                    "condition": first["condition"],
                    "amount": first["price"]["amount_cny"] * 2,
                    "day": AS_OF,
                },
            )
            bump(connection)
        assert api.get(address).json()["result"] == before["result"]
        changes = api.get(f"{address}/changes?as_of={AS_OF}").json()
        moved = {(p["gpu"]["id"], p["condition"]): p for p in changes["prices"]}
        change = moved[first["gpu"]["id"], first["condition"]]
        assert change["change_fraction"] == 1.0
        assert changes["versions"]["then"]["catalog"] != changes["versions"]["now"]["catalog"]


def test_creation_is_limited_and_says_when_to_come_back(seeded_database: Path, tmp_path: Path) -> None:
    from app.main import create_app

    path = tmp_path / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    settings = Settings(database_url=f"sqlite:///{path}", comparisons_per_hour=2, calculations_per_minute=3)
    with TestClient(create_app(settings), headers={"accept-language": "en"}) as api:
        for left in ("1", "0"):
            answer = api.post("/api/v1/comparisons", json=BODY)
            assert answer.status_code == 201
            assert f";r={left};" in answer.headers["ratelimit"]
        refused = api.post("/api/v1/comparisons", json=BODY)
        assert refused.status_code == 429
        assert refused.json()["type"].endswith("too-many-requests")
        assert 0 < int(refused.headers["retry-after"]) <= 3600
        assert "q=2;w=3600" in refused.headers["ratelimit-policy"]
        statuses = [
            api.post("/api/v1/memory", json={"workload": LLAMA_INFERENCE}).status_code for _ in range(4)
        ]
        assert statuses == [200, 200, 200, 429]
        assert api.get("/api/v1/gpus").status_code == 200


def test_a_refused_question_is_not_stored(api: TestClient) -> None:
    answer = api.post("/api/v1/comparisons", json={**BODY, "limit": 0})
    assert answer.status_code == 422
    stale = {
        **BODY,
        "as_of": "2028-01-01",
        "filters": {"gpus": ["l20"]},
        "price_rules": {"refuse_stale": True},
    }
    assert api.post("/api/v1/comparisons", json=stale).status_code == 409
