"""The description of the API: committed, complete, and of the same mind as the reader of the bodies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import BaseModel, TypeAdapter, ValidationError

from app.api import examples
from app.core.model.architecture import FAMILY_FIELDS
from app.services.bodies import BODIES
from tests.api.test_bad_input import SHORTLIST, TABLE

COMMITTED = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"
OPERATIONS = {
    "memory",
    "fit",
    "speed",
    "shortlist",
    "gpus",
    "gpu",
    "gpu_prices",
    "gpu_benchmarks",
    "models",
    "model",
    "prices",
    "rentals",
    "benchmarks",
    "rates",
    "sources",
    "accuracy",
    "create_comparison",
    "read_comparison",
    "comparison_changes",
    "delete_comparison",
}


@pytest.fixture
def described(api: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = api.get("/openapi.json").json()
    return found


def test_the_committed_description_is_the_current_one(described: dict[str, Any]) -> None:
    """Renew with: python -m tests.api.test_openapi"""
    assert json.loads(COMMITTED.read_text(encoding="utf-8")) == described


def test_operation_ids_are_the_names_of_the_functions(described: dict[str, Any]) -> None:
    found = [
        operation["operationId"]
        for path, methods in described["paths"].items()
        if path.startswith("/api/v1/")
        for operation in methods.values()
    ]
    assert set(found) >= OPERATIONS
    assert len(found) == len(set(found)) and all(name.isidentifier() for name in found)


def test_every_operation_documents_its_problems_and_summary(described: dict[str, Any]) -> None:
    for path, methods in described["paths"].items():
        if not path.startswith("/api/v1/"):
            continue
        for operation in methods.values():
            assert operation["summary"] and operation["description"]
            problem = operation["responses"]["422"]
            assert "application/problem+json" in problem["content"], path


def test_bodies_carry_schemas_ranges_and_examples(described: dict[str, Any]) -> None:
    for route in ("memory", "fit", "speed", "shortlist", "comparisons"):
        content = described["paths"][f"/api/v1/{route}"]["post"]["requestBody"]["content"]["application/json"]
        assert content["examples"]
        assert content["schema"]["additionalProperties"] is False
        assert content["schema"]["properties"]["workload"]["$ref"] == "#/components/schemas/Workload"
    workload = described["components"]["schemas"]["Workload"]
    assert workload["additionalProperties"] is False
    assert workload["properties"]["batch_size"]["minimum"] == 1
    assert "gguf-q4_k_m" in workload["properties"]["precision"]["enum"]


def test_the_schema_knows_every_field_of_a_family(described: dict[str, Any]) -> None:
    found = described["components"]["schemas"]["FamilyModel"]["properties"]
    assert set(found) == set(FAMILY_FIELDS)


# Faults that a schema can see; what names mean and how fields combine only the reader knows.
OF_SHAPE = {
    "not_an_object",
    "not_a_list",
    "not_a_text",
    "unknown_field",
    "too_many",
    "empty_list",
    "too_long",
}
LLAMA = TABLE[10][1]["workload"] | {"batch_size": 1}
ROWS = [
    *((BODIES.memory, name, sent, code) for name, sent, _, code in TABLE),
    *((BODIES.shortlist, name, {"workload": LLAMA, **part}, code) for name, part, _, code in SHORTLIST),
]
MALFORMED = [row[:3] for row in ROWS if row[3] in OF_SHAPE]


@pytest.mark.parametrize(("model", "name", "sent"), MALFORMED, ids=[m[1] for m in MALFORMED])
def test_what_the_reader_refuses_for_its_shape_the_schema_refuses_too(
    model: type[BaseModel], name: str, sent: Any
) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(model).validate_python(sent)
        pytest.fail(f"the schema accepts {name}")


@pytest.mark.parametrize(
    ("model", "example"),
    [
        (model, example["value"])
        for model, group in (
            (BODIES.memory, examples.MEMORY),
            (BODIES.fit, examples.FIT),
            (BODIES.fit, examples.SPEED),
            (BODIES.shortlist, examples.SHORTLIST),
            (BODIES.comparison, examples.COMPARISON),
        )
        for example in group.values()
    ],
)
def test_the_schema_accepts_the_examples(model: type[BaseModel], example: dict[str, Any]) -> None:
    TypeAdapter(model).validate_python(example)


def _write() -> None:
    from app.main import create_app
    from app.settings import Settings

    text = json.dumps(create_app(Settings()).openapi(), ensure_ascii=False, indent=1, sort_keys=True)
    COMMITTED.parent.mkdir(exist_ok=True)
    COMMITTED.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    _write()
