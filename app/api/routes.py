"""All routes of the API under one prefix; an operation's id is the name of its function."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.routing import APIRoute

from app.api import accuracy, calculations, catalogue, checks, comparisons, ledger, reading, writing
from app.api.problems import documented_everywhere, documented_with_body

PREFIX = "/api/v1"


def _operation_id(route: APIRoute) -> str:
    return route.name


router = APIRouter(
    prefix=PREFIX, generate_unique_id_function=_operation_id, responses=documented_everywhere()
)
for part in (
    calculations.router,
    reading.router,
    catalogue.router,
    checks.router,
    accuracy.router,
    comparisons.creation,
    comparisons.reading,
    ledger.router,
    ledger.log,
    writing.router,
):
    for route in part.routes:
        if isinstance(route, APIRoute) and (route.body_field or "requestBody" in (route.openapi_extra or {})):
            route.responses = {**documented_with_body(), **route.responses}
    router.include_router(part)
