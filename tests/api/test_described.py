"""Live answers against the description of the API: every path of their JSON is described there."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.api.checks import EXAMPLE as MEASUREMENT
from app.api.examples import LLAMA_INFERENCE
from app.api.schemas.writing import EXAMPLES
from app.main import create_app
from app.services.access import create_key
from app.services.changes import Author
from app.settings import Settings
from tests.api.conftest import AS_OF

Schema = dict[str, Any]
Ask = Callable[[TestClient], Any]

TRAINING = {
    "model": {"preset": "llama-3.1-8b"},
    "task": "training",
    "precision": "bf16",
    "batch_size": 8,
    "sequence_length": 4096,
}
TENSORFLOW = {
    "model": {"preset": "resnet-50"},
    "task": "training",
    "precision": "fp16",
    "batch_size": 64,
    "engine": "tensorflow",
}
RANKED: dict[str, Any] = {
    "workload": LLAMA_INFERENCE,
    "as_of": AS_OF,
    "budget": {"amount": 200_000, "currency": "CNY"},
    "work": {"amount": 2e8, "unit": "tokens"},
    "deadline_hours": 400,
    "price_overrides": {"rtx4090": 14_000},
    "questions": {"strict_sla": True},
    "filters": {"conditions": ["new", "used", "modded"], "frameworks": ["pytorch"], "max_power_w": 3000},
    "limit": 60,
}


def post(route: str, body: Any) -> Ask:
    return lambda api: api.post(f"/api/v1/{route}", json=body)


def frozen(path: str) -> Ask:
    def ask(api: TestClient) -> Any:
        made = api.post("/api/v1/comparisons", json={**RANKED, "title": "Described"}).json()
        return api.get(f"/api/v1/comparisons/{made['id']}{path}")

    return ask


CALCULATIONS: list[tuple[str, Ask]] = [
    ("POST /api/v1/memory", post("memory", {"workload": LLAMA_INFERENCE})),
    ("POST /api/v1/memory", post("memory", {"workload": TRAINING})),
    ("POST /api/v1/shortlist", post("shortlist?formulas=true", RANKED)),
    ("POST /api/v1/fit", post("fit", {"workload": TRAINING, "gpu": "rtx4090"})),
    ("POST /api/v1/fit", post("fit", {"workload": LLAMA_INFERENCE, "gpu": "rtx4090", "count": 2})),
    ("POST /api/v1/speed", post("speed", {"workload": LLAMA_INFERENCE, "gpu": "h100-sxm5-80gb"})),
    ("POST /api/v1/speed", post("speed", {"workload": TENSORFLOW, "gpu": "rtx3090"})),
    ("POST /api/v1/shortlist", post("shortlist", RANKED)),
    ("POST /api/v1/shortlist", post("shortlist?currency=USD", RANKED)),
    ("POST /api/v1/shortlist", post("shortlist", {"workload": TENSORFLOW, "as_of": AS_OF})),
    (
        "POST /api/v1/shortlist",
        post("shortlist", {"workload": {**TRAINING, "batch_size": 64}, "counts": [1]}),
    ),
    ("POST /api/v1/comparisons", post("comparisons", RANKED)),
    ("GET /api/v1/comparisons/{comparison_id}", frozen("?currency=USD")),
    ("GET /api/v1/comparisons/{comparison_id}/changes", frozen("/changes?as_of=2026-12-30&currency=USD")),
    ("GET /api/v1/comparisons/{comparison_id}/changes", frozen("/changes?as_of=2027-09-30")),
]


def get(path: str, **headers: str) -> Ask:
    return lambda api: api.get(f"/api/v1/{path}", headers=headers)


CATALOGUE: list[tuple[str, Ask]] = [
    ("GET /api/v1/gpus", get("gpus?limit=200")),
    ("GET /api/v1/gpus", get("gpus?limit=200&vendor=nvidia")),
    *(
        ("GET /api/v1/gpus/{gpu_id}", get(f"gpus/{name}?as_of={AS_OF}&currency=USD"))
        for name in ("rtx4090", "h20-96gb", "ascend-910b3", "mi300x")
    ),
    ("GET /api/v1/gpus/{gpu_id}/prices", get("gpus/rtx4090/prices?limit=200&currency=USD")),
    ("GET /api/v1/gpus/{gpu_id}/benchmarks", get("gpus/rtx3090/benchmarks?limit=200")),
    ("GET /api/v1/gpus/{gpu_id}/checks", get("gpus/rtx4090/checks")),
    ("GET /api/v1/models", get("models?limit=200")),
    ("GET /api/v1/models/{model_id}", get("models/llama-3.1-8b")),
    ("GET /api/v1/prices", get(f"prices?limit=200&as_of={AS_OF}&currency=USD")),
    ("GET /api/v1/rentals", get(f"rentals?limit=200&as_of={AS_OF}&currency=USD")),
    ("GET /api/v1/benchmarks", get("benchmarks?limit=200")),
    ("GET /api/v1/rates", get("rates?limit=200")),
    ("GET /api/v1/sources", get("sources?limit=200")),
    ("GET /api/v1/data", get(f"data?as_of={AS_OF}")),
    ("GET /api/v1/accuracy", get("accuracy?part=all")),
    ("GET /api/v1/accuracy", get("accuracy?rows=false")),
    ("GET /api/v1/quotes", get("quotes")),
    ("GET /api/v1/imports/{kind}", get("imports/prices")),
    ("POST /api/v1/quotes/compare", post("quotes/compare", {"workload": LLAMA_INFERENCE})),
]
ROUTES = [*CALCULATIONS, *CATALOGUE]
CSV = (
    b"gpu,condition,amount,currency,observed_on,source\nrtx4090,new,16999,CNY,2026-11-28,x\nno,new,1,CNY,,x\n"
)


def written(api: TestClient) -> Iterator[tuple[str, Any]]:
    """Operations that change something, each with its answer."""
    for kind, example in EXAMPLES.items():
        yield (
            f"POST /api/v1/{kind.replace('_', '-')}",
            api.post(f"/api/v1/{kind.replace('_', '-')}", json=example),
        )
    yield "POST /api/v1/prices", api.post("/api/v1/prices?dry_run=true", json=EXAMPLES["prices"])
    yield "POST /api/v1/benchmarks", api.post("/api/v1/benchmarks", json=MEASUREMENT)
    yield "GET /api/v1/gpus/{gpu_id}/checks", api.get("/api/v1/gpus/rtx4090/checks")
    yield "POST /api/v1/imports/{kind}", api.post("/api/v1/imports/prices?dry_run=true", content=CSV)
    yield "GET /api/v1/changes", api.get("/api/v1/changes?limit=200")
    newest = api.get("/api/v1/changes?table=price").json()["items"][0]["id"]
    yield "POST /api/v1/changes/{change_id}/undo", api.post(f"/api/v1/changes/{newest}/undo")
    yield "GET /api/v1/quotes", api.get("/api/v1/quotes?currency=USD")
    compared = api.post("/api/v1/quotes/compare?currency=USD", json={"workload": LLAMA_INFERENCE})
    yield "POST /api/v1/quotes/compare", compared
    quote = api.get("/api/v1/quotes").json()["items"][0]["id"]
    yield "POST /api/v1/quotes/{quote_id}/confirm", api.post(f"/api/v1/quotes/{quote}/confirm")
    yield "DELETE /api/v1/quotes/{quote_id}", api.delete(f"/api/v1/quotes/{quote}")


@pytest.fixture(scope="module")
def described(api: TestClient) -> Schema:
    found: Schema = api.get("/openapi.json").json()
    return found


def answered(described: Schema, operation: str) -> Schema:
    """The schema of the answer of an operation."""
    method, path = operation.split(" ", 1)
    responses = described["paths"][path][method.lower()]["responses"]
    code = next(code for code in responses if code.startswith("2"))
    schema: Schema = responses[code]["content"]["application/json"]["schema"]
    return schema


def kinds(described: Schema, schema: Schema) -> list[Schema]:
    """What a value may be: references followed, alternatives opened."""
    while "$ref" in schema:
        schema = described["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    found = [schema]
    for group in ("anyOf", "allOf", "oneOf"):
        for one in schema.get(group, ()):
            found += kinds(described, one)
    return found


def faults(described: Schema, schema: Schema, value: Any, at: str) -> Iterator[str]:
    """Paths of a live answer that the description does not have, or leaves without a meaning."""
    possible = kinds(described, schema)
    if isinstance(value, list):
        items = [one["items"] for one in possible if "items" in one]
        if not items:
            yield f"{at}: no list"
            return
        for item in value:
            yield from faults(described, items[0], item, f"{at}/*")
    elif isinstance(value, dict):
        named = [one for one in possible if "properties" in one]
        free = [one["additionalProperties"] for one in possible if "additionalProperties" in one]
        for key, inner in value.items():
            found = next((one["properties"][key] for one in named if key in one["properties"]), None)
            if found is not None:
                if not found.get("description"):
                    yield f"{at}/{key}: no meaning"
                yield from faults(described, found, inner, f"{at}/{key}")
            elif free:
                if isinstance(free[0], dict):
                    yield from faults(described, free[0], inner, f"{at}/{{name}}")
            else:
                yield f"{at}/{key}: not described"
    else:
        yield from _scalar_faults(possible, value, at)


def _scalar_faults(possible: list[Schema], value: Any, at: str) -> Iterator[str]:
    """A value of another type than the description says, or none of the words that it lists."""
    types = {one["type"] for one in possible if "type" in one}
    kind = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}[type(value)]
    # What is unknown is null wherever a number is expected: NaN and infinity are no JSON.
    allowed = types | ({"integer", "null"} if "number" in types else set())
    if types and kind not in allowed:
        yield f"{at}: {kind}, not {sorted(types)}"
    words = [word for one in possible for word in one.get("enum", ())]
    if words and isinstance(value, str) and value not in words:
        yield f"{at}: {value} is not listed"


@pytest.mark.parametrize(("operation", "ask"), ROUTES, ids=[str(i) for i in range(len(ROUTES))])
def test_every_path_of_a_live_answer_is_described(
    api: TestClient, described: Schema, operation: str, ask: Ask
) -> None:
    answer = ask(api)
    assert answer.status_code in (200, 201), answer.text
    assert sorted(set(faults(described, answered(described, operation), answer.json(), ""))) == []


def test_every_path_of_what_a_writer_is_answered_is_described(
    seeded_database: Path, tmp_path: Path, described: Schema
) -> None:
    path = tmp_path / "written.db"
    shutil.copyfile(seeded_database, path)
    app = create_app(Settings(database_url=f"sqlite:///{path}"))
    with TestClient(app) as api:
        key = create_key(app.state.engine, "described", ("write",), Author("test"))
        api.headers["x-api-key"] = key.secret
        for operation, answer in written(api):
            assert answer.status_code in (200, 201), (operation, answer.text)
            schema = answered(described, operation)
            assert sorted(set(faults(described, schema, answer.json(), ""))) == [], operation
            assert sorted(_unsaid(described, operation)) == [], operation


def test_every_property_of_an_answer_has_a_meaning(described: Schema) -> None:
    found = sorted({name for operation, _ in ROUTES for name in _unsaid(described, operation)})
    assert found == []


def _unsaid(described: Schema, operation: str) -> Iterator[str]:
    """Properties without a description below the answer of an operation, also those of no live answer."""
    waiting, seen = [answered(described, operation)], set[str]()
    while waiting:
        schema = waiting.pop()
        for one in kinds(described, schema):
            if (key := repr(one)) in seen:
                continue
            seen.add(key)
            if "items" in one:
                waiting.append(one["items"])
            for name, inner in one.get("properties", {}).items():
                if not inner.get("description"):
                    yield f"{one.get('title')}.{name}"
                waiting.append(inner)
