"""All pages."""

from __future__ import annotations

from fastapi import APIRouter

from app.web import (
    benchmarks,
    calculator,
    card_edit,
    cards,
    compare,
    data_page,
    frozen,
    history,
    keys_page,
    ledger,
    method,
    price_import,
    quotes,
    reading,
    signin,
)

router = APIRouter()
NEW = (compare, ledger, price_import, quotes, benchmarks, data_page)
EDITING = (signin, keys_page, history, card_edit)
for part in (calculator, cards, *NEW, *EDITING, frozen, method, reading):
    router.include_router(part.router)
