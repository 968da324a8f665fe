"""All routes of the API under one prefix; an operation's id is the name of its function."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.routing import APIRoute

from app.api import accuracy, calculations, catalogue, checks, comparisons, ledger, reading, writing

PREFIX = "/api/v1"


def _operation_id(route: APIRoute) -> str:
    return route.name


router = APIRouter(prefix=PREFIX, generate_unique_id_function=_operation_id)
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
    router.include_router(part)
