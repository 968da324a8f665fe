"""Memory, fit, speed, shortlist."""

from __future__ import annotations

from datetime import date
from typing import Any

from fastapi import APIRouter, Request, Response

from app.api.answers import cached_answer
from app.api.bodies import FitBody, MemoryBody, ShortlistBody, SpeedBody
from app.api.context import Context, Currency, Lang, WithFormulas
from app.api.problems import documented, stale_price
from app.api.route import CalculationRoute
from app.services import calculator, results
from app.services.answers import with_currency
from app.services.calculator import StalePrice

router = APIRouter(tags=["calculations"], route_class=CalculationRoute)


@router.post(
    "/memory",
    summary="Memory that a workload needs on each card",
    response_model=results.MemoryAnswer,
    responses=documented(422, 429),
)
def memory(request: Request, body: MemoryBody, lang: Lang = None) -> Response:
    """Parts, low / expected / high, and every default that was used."""
    del lang  # read from the request by the context

    def compute(context: Context) -> Any:
        return calculator.memory(body, context.snapshot, context.today)

    return cached_answer(request, "memory", body, compute)


@router.post(
    "/fit",
    summary="Does a workload fit on this card?",
    response_model=results.FitAnswer,
    responses=documented(422, 429),
)
def fit(request: Request, body: FitBody, lang: Lang = None) -> Response:
    """Verdict, margin, the largest batch and longest context that fit, and the remedies when it does not."""
    del lang

    def compute(context: Context) -> Any:
        return calculator.fit(body, context.snapshot, context.today)

    return cached_answer(request, "fit", body, compute)


@router.post(
    "/speed",
    summary="How fast a workload runs on this card",
    response_model=results.SpeedAnswer,
    responses=documented(422, 429),
)
def speed(request: Request, body: SpeedBody, lang: Lang = None) -> Response:
    """Throughput of all cards together, what bounds it, and on what the figure rests."""
    del lang

    def compute(context: Context) -> Any:
        return calculator.speed(body, context.snapshot, context.today)

    return cached_answer(request, "speed", body, compute)


@router.post(
    "/shortlist",
    summary="Which cards to buy, ranked, with reasons",
    response_model=results.ShortlistAnswer,
    responses=documented(409, 422, 429),
)
def shortlist(
    request: Request,
    body: ShortlistBody,
    lang: Lang = None,
    currency: Currency = "CNY",
    formulas: WithFormulas = False,
) -> Response:
    """Every card x count x legal plan: what fits, ranked by the objective; the rest, and why not."""
    del lang, currency

    def compute(context: Context) -> Any:
        try:
            answer = calculator.shortlist(body, context.snapshot, context.today, with_formulas=formulas)
        except StalePrice as stale:
            raise stale_price(stale.message, context.language, {"gpus": list(stale.gpus)}) from stale
        return with_currency(answer, context.currency, context.snapshot, date.fromisoformat(answer.as_of))

    return cached_answer(request, "shortlist with formulas" if formulas else "shortlist", body, compute)
