"""Frozen decisions: stored whole, read again, compared with today."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Annotated

from fastapi import APIRouter, Header, Path, Request, Response

from app.api.answers import json_response
from app.api.bodies import ComparisonBody
from app.api.context import AsOf, Context, Currency, Lang, WithFormulas
from app.api.problems import documented, manage_token_refused, not_found, stale_price
from app.api.route import (
    PRIVATE,
    ComparisonCreationRoute,
    ComparisonRoute,
    matches,
    not_modified,
    tag_of,
    validators,
)
from app.services import comparisons, results
from app.services.answers import with_currency
from app.services.calculator import StalePrice
from app.services.comparisons import ManageTokenRefused, NoSuchComparison

creation = APIRouter(tags=["comparisons"], route_class=ComparisonCreationRoute)
reading = APIRouter(tags=["comparisons"], route_class=ComparisonRoute)

# A link is a secret shared with colleagues: no search engine may keep it.
NO_INDEX = {"x-robots-tag": "noindex"}
Token = Annotated[str, Path(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_\-]+$")]
ManageToken = Annotated[str | None, Header(max_length=200, description="The token that creation gave.")]


@creation.post(
    "/comparisons",
    status_code=201,
    summary="Freeze a decision",
    response_model=results.Created,
    responses=documented(409, 422, 429),
)
def create_comparison(request: Request, body: ComparisonBody, lang: Lang = None) -> Response:
    """The full result is stored with its prices and versions; whoever has the link can read it."""
    del lang
    context = Context.of(request)
    try:
        created = comparisons.freeze(context.engine, context.snapshot, body, context.today)
    except StalePrice as stale:
        raise stale_price(stale.message, context.language, {"gpus": list(stale.gpus)}) from stale
    return json_response(
        created,
        status=201,
        headers={"location": f"/api/v1/comparisons/{created.id}", "cache-control": "no-store"},
    )


@reading.get(
    "/comparisons/{comparison_id}",
    summary="A frozen decision",
    response_model=results.FrozenAnswer,
    responses=documented(404, 422),
)
def read_comparison(
    request: Request,
    comparison_id: Token,
    lang: Lang = None,
    currency: Currency = "CNY",
    formulas: WithFormulas = False,
) -> Response:
    """The result as it was computed; only its sentences follow the reader's language."""
    del lang, currency
    context = Context.of(request)
    try:
        frozen = comparisons.open_comparison(context.engine, comparison_id)
    except NoSuchComparison as missing:
        raise not_found(context.language) from missing
    tag = tag_of(frozen.digest, context.language, context.currency, str(formulas))
    if matches(request, tag):
        return not_modified(tag, PRIVATE)
    body = comparisons.show(frozen, formulas)
    day = date.fromisoformat(body.as_of)
    body = replace(body, result=with_currency(body.result, context.currency, context.snapshot, day))
    return json_response(body, headers={**validators(tag, PRIVATE), **NO_INDEX}, language=context.language)


@reading.get(
    "/comparisons/{comparison_id}/changes",
    summary="What has changed since",
    response_model=results.ChangesAnswer,
    responses=documented(404, 422),
)
def comparison_changes(
    request: Request,
    comparison_id: Token,
    as_of: AsOf = None,
    lang: Lang = None,
    currency: Currency = "CNY",
) -> Response:
    """The same question asked again today: which prices moved, and whether the order is another one."""
    del as_of, lang, currency
    context = Context.of(request)
    try:
        frozen = comparisons.open_comparison(context.engine, comparison_id)
    except NoSuchComparison as missing:
        raise not_found(context.language) from missing
    today = context.today.isoformat()
    tag = tag_of(frozen.digest, context.snapshot.version, today, context.language, context.currency)
    if matches(request, tag):
        return not_modified(tag, PRIVATE)
    body = comparisons.changes(frozen, context.snapshot, context.today)
    body = with_currency(body, context.currency, context.snapshot, context.today)
    return json_response(body, headers={**validators(tag, PRIVATE), **NO_INDEX}, language=context.language)


@reading.delete(
    "/comparisons/{comparison_id}",
    status_code=204,
    summary="Withdraw a frozen decision",
    responses=documented(403, 404, 422),
)
def delete_comparison(
    request: Request, comparison_id: Token, x_manage_token: ManageToken = None, lang: Lang = None
) -> Response:
    """Needs the manage token: 401 without one, 403 with a wrong one; 404 where there is no comparison."""
    del lang
    context = Context.of(request)
    try:
        comparisons.withdraw(context.engine, comparison_id, x_manage_token or "")
    except ManageTokenRefused as refused:
        raise manage_token_refused(context.language, sent=bool(x_manage_token)) from refused
    except NoSuchComparison as missing:
        raise not_found(context.language) from missing
    return Response(status_code=204)
