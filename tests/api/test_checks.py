"""What the check script prints, sent to the API: kept, judged, and used by the estimates."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.api.checks import EXAMPLE as PRINTED
from app.services import access, maintenance
from app.services.measurements import predict_now
from app.services.store import CatalogStore
from app.settings import Settings

SPEED = {
    "workload": {
        "model": {"preset": "resnet-50"},
        "task": "training",
        "precision": "fp16",
        "batch_size": 64,
        "image_size": 224,
    },
    "gpu": "rtx4090",
}


@pytest.fixture(scope="module")
def api(
    seeded_database: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[TestClient, dict[str, str], str]]:
    from app.main import create_app

    path = tmp_path_factory.mktemp("checks") / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    url = f"sqlite:///{path}"
    with maintenance.open_database(url) as engine:
        key = {"x-api-key": access.create_key(engine, "bench", ("write",)).secret}
    with TestClient(create_app(Settings(database_url=url)), headers={"accept-language": "en"}) as client:
        yield client, key, url


def test_what_the_script_prints_is_kept_judged_and_used(api: tuple[TestClient, dict[str, str], str]) -> None:
    client, key, url = api

    def speed() -> dict[str, Any]:
        answer: dict[str, Any] = client.post("/api/v1/speed", json=SPEED).json()["speed"]
        return answer

    path = "/api/v1/benchmarks"
    assert client.post(path, json=PRINTED).status_code == 401
    before = speed()
    dry = client.post(path, json=PRINTED, headers=key, params={"dry_run": True})
    assert (dry.status_code, dry.json()["stored"]) == (200, False)
    assert speed() == before
    # Far from what is known of the card, so that it shows: 1,100 images a second.
    measured = {**PRINTED, "workload": {**PRINTED["workload"], "value": 1100.0}}
    answer = client.post(path, json={"measurement": measured}, headers=key)
    assert answer.status_code == 201, answer.text
    body = answer.json()
    assert (body["stored"], body["inserted"], body["notes"]) == (True, 1, [])
    assert (body["card"]["as_sold"], body["card"]["code"]) == (True, "card_as_sold")
    after = speed()
    assert after["basis"] == "measured"
    assert body["items"][0]["id"] in after["sources"]
    assert abs(after["expected"] - 1100.0) < abs(before["expected"] - 1100.0) / 4
    assert after["expected"] == pytest.approx(1100.0, rel=0.03)
    again = client.post(path, json=measured, headers=key)
    assert (again.status_code, again.json()["stored"]) == (200, False)

    first = client.get("/api/v1/gpus/rtx4090/checks")
    assert (first.status_code, len(first.json()["items"])) == (200, 1)
    with maintenance.open_database(url) as engine:
        predict_now(CatalogStore(engine).snapshot())
    (check,) = client.get("/api/v1/gpus/rtx4090/checks").json()["items"]
    assert (check["reported_name"], check["waiting"]) == ("NVIDIA GeForce RTX 4090", False)
    (row,) = check["workload"]
    # Beside the estimate that has not seen it.
    assert (row["figure"], row["measured"]) == ("speed", 1100)
    assert row["low"] < before["expected"] < row["high"]
    log = client.get("/api/v1/changes", headers=key, params={"table": "memory_case"}).json()["items"]
    assert log[0]["who"].startswith("bench (")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({**PRINTED, "format": "cardworth-measurement/9"}, "/format"),
        ({**PRINTED, "question": {"gpu_id": "no such card"}}, "/question/gpu_id"),
        ({**PRINTED, "device": 3}, "/device"),
        ({"measurement": {**PRINTED, "device": 3}}, "/measurement/device"),
        ({"measurement": 3}, "/measurement/format"),
        ({**PRINTED, "measured_on": "2026-13-01"}, "/measured_on"),
        ({**PRINTED, "measured_on": "2099-01-01"}, "/measured_on"),
        ({"measurement": {**PRINTED, "measured_on": "2099-01-01"}}, "/measurement/measured_on"),
        ({"measurement": {**PRINTED, "measured_on": "never"}}, "/measurement/measured_on"),
        ({**PRINTED, "format": "something else"}, "/format"),
        ({**PRINTED, "workload": {**PRINTED["workload"], "value": -3.0}}, "/workload/value"),
        ({**PRINTED, "workload": {**PRINTED["workload"], "value": "fast"}}, "/workload/value"),
        ({**PRINTED, "workload": {**PRINTED["workload"], "value": 9e9}}, "/workload/value"),
        ({**PRINTED, "workload": {**PRINTED["workload"], "unit": "furlongs"}}, "/workload/unit"),
        ({**PRINTED, "workload": {**PRINTED["workload"], "precision": "fp17"}}, "/workload/precision"),
    ],
)
def test_what_is_no_answer_of_the_script_is_refused_by_field(
    api: tuple[TestClient, dict[str, str], str], body: dict[str, Any], pointer: str
) -> None:
    client, key, _ = api
    before = client.get("/api/v1/gpus/rtx4090/checks").json()["total"]
    answer = client.post("/api/v1/benchmarks", json=body, headers=key)
    assert answer.status_code == 422, answer.text
    assert [e["pointer"] for e in answer.json()["errors"]] == [pointer]
    assert client.get("/api/v1/gpus/rtx4090/checks").json()["total"] == before


def test_speech_is_kept_in_its_own_unit(api: tuple[TestClient, dict[str, str], str]) -> None:
    client, key, _ = api
    question = {
        "gpu_id": "rtx4090",
        "model_id": "whisper-large-v3",
        "workload": {"task": "inference", "family": "speech"},
    }
    workload = {"value": 44.0, "unit": "realtime_factor", "batch_size": 1, "precision": "fp16"}
    body = {**PRINTED, "question": question, "workload": workload}
    answer = client.post("/api/v1/benchmarks", json=body, headers=key)
    assert answer.status_code == 201, answer.text
    assert (answer.json()["inserted"], answer.json()["notes"]) == (1, [])


def test_a_row_of_a_key_is_own_and_the_answer_says_so(api: tuple[TestClient, dict[str, str], str]) -> None:
    client, key, _ = api
    row = {"gpu": "rtx3090", "model": "resnet-50", "task": "training", "precision": "fp16", "batch_size": 64}
    row |= {"value": 820.0, "unit": "images_per_s", "observed_on": "2026-11-29", "image_size": 224}
    answer = client.post("/api/v1/benchmarks", json=row, headers=key)
    assert answer.status_code == 201, answer.text
    notes = answer.json()["notes"]
    assert [n["code"] for n in notes] == ["own_by_default", "measured_engine_assumed"]
    assert "pytorch" in notes[1]["text"]
    items = client.get("/api/v1/gpus/rtx3090/benchmarks", params={"limit": 200}).json()["items"]
    assert [i["framework"] for i in items if i["own"]] == ["pytorch"]
    useless = {**row, "framework": "abacus", "value": 821.0}
    (note,) = client.post("/api/v1/benchmarks", json=useless, headers=key).json()["notes"][1:]
    assert note["code"] == "row_unused_engine"


def test_checks_of_a_card_that_is_none_are_a_404(api: tuple[TestClient, dict[str, str], str]) -> None:
    assert api[0].get("/api/v1/gpus/nothing/checks").status_code == 404
