"""All pages."""

from __future__ import annotations

from fastapi import APIRouter

from app.web import (
    benchmarks,
    calculator,
    cards,
    compare,
    data_page,
    frozen,
    ledger,
    method,
    price_import,
    quotes,
    reading,
)

router = APIRouter()
NEW = (compare, ledger, price_import, quotes, benchmarks, data_page)
for part in (calculator, cards, *NEW, frozen, method, reading):
    router.include_router(part.router)
