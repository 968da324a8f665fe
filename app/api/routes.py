"""All routes of the API under one prefix; an operation's id is the name of its function."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.routing import APIRoute

from app.api import calculations, catalogue, comparisons

PREFIX = "/api/v1"


def _operation_id(route: APIRoute) -> str:
    return route.name


router = APIRouter(prefix=PREFIX, generate_unique_id_function=_operation_id)
for part in (calculations.router, catalogue.router, comparisons.creation, comparisons.reading):
    router.include_router(part)
