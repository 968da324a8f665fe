"""All pages."""

from __future__ import annotations

from fastapi import APIRouter

from app.web import calculator, cards, frozen, reading

router = APIRouter()
for part in (calculator, cards, frozen, reading):
    router.include_router(part.router)
