"""All pages."""

from __future__ import annotations

from fastapi import APIRouter

from app.web import (
    benchmarks,
    calculator,
    card_edit,
    card_page,
    cards,
    charts,
    compare,
    data_page,
    engine_support,
    frozen,
    history,
    keys_page,
    method,
    model_list,
    model_page,
    model_reading,
    option,
    price_import,
    prices,
    quotes,
    signin,
)

router = APIRouter()
NEW = (compare, prices, price_import, quotes, benchmarks, data_page, engine_support)
EDITING = (signin, keys_page, history, card_edit)
for part in (
    calculator,
    cards,
    card_page,
    model_reading,
    model_list,
    model_page,
    *NEW,
    *EDITING,
    frozen,
    method,
    option,
    charts,
):
    router.include_router(part.router)
