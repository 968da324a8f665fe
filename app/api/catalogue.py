"""The data behind the answers: cards, models, prices, rents, measurements, rates, sources."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Request, Response

from app.api.answers import json_response
from app.api.context import AsOf, Context, Currency, Lang
from app.api.problems import documented, not_one
from app.api.route import ApiRoute
from app.services import lists
from app.services.answers import with_currency
from app.services.cards import CardDetail, ModelDetail, NotInCatalogue, card_detail, model_detail
from app.services.lists import Page, page

router = APIRouter(tags=["catalogue"], route_class=ApiRoute)

Limit = Annotated[int, Query(ge=1, le=200, description="Rows of one page.")]
Cursor = Annotated[str | None, Query(max_length=200, description="`next` of the page before.")]
Text = Annotated[str | None, Query(max_length=200)]
GpuName = Annotated[str | None, Query(max_length=200, description="Id or alias of a card.")]
ModelName = Annotated[str | None, Query(max_length=200, description="Id or alias of a model.")]
Id = Annotated[str, Path(max_length=200, description="Id or alias.")]

_FOUND = documented(422)
_MAYBE = documented(404, 422)


def _list(
    request: Request,
    kind: str,
    filters: Mapping[str, str | None],
    limit: int,
    cursor: str | None,
    as_of: date | None = None,
) -> Response:
    context = Context.of(request)
    stated = {name: value for name, value in filters.items() if value is not None}
    try:
        found = page(context.snapshot, kind, stated, Page(limit, cursor), as_of or context.today)
    except NotInCatalogue as missing:
        raise not_one(missing, context.language) from missing
    found = with_currency(found, context.currency, context.snapshot, context.today)
    return json_response(found, language=context.language, headers=_link(request, found.next))


def _link(request: Request, following: str | None) -> dict[str, str]:
    if following is None:
        return {}
    query = {**request.query_params, "cursor": following}
    return {"link": f'<{request.url.path}?{urlencode(query)}>; rel="next"'}


@router.get("/gpus", summary="All cards", response_model=lists.CardList, responses=_FOUND)
def gpus(
    request: Request,
    vendor: Text = None,
    segment: Text = None,
    q: Text = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    lang: Lang = None,
) -> Response:
    """Each figure with unit, basis, source and date. `q` is part of a name."""
    del lang
    filters = {"vendor": vendor, "segment": segment, "q": q}
    return _list(request, "gpus", filters, limit, cursor)


@router.get("/gpus/{gpu_id}", summary="One card", response_model=CardDetail, responses=_MAYBE)
def gpu(
    request: Request, gpu_id: Id, as_of: AsOf = None, lang: Lang = None, currency: Currency = "CNY"
) -> Response:
    """All figures, and the price that counts in each condition."""
    del lang, currency
    context = Context.of(request)
    try:
        found = card_detail(context.snapshot, gpu_id, as_of or context.today, context.language)
    except NotInCatalogue as missing:
        raise not_one(missing, context.language) from missing
    found = with_currency(found, context.currency, context.snapshot, context.today)
    return json_response(found, language=context.language)


@router.get(
    "/gpus/{gpu_id}/prices", summary="Prices of one card", response_model=lists.PriceList, responses=_MAYBE
)
def gpu_prices(
    request: Request,
    gpu_id: Id,
    condition: Text = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    as_of: AsOf = None,
    lang: Lang = None,
    currency: Currency = "CNY",
) -> Response:
    """Every observation, newest first, and why one is not used; `choices` holds the price that counts."""
    del lang, currency
    filters = {"of_gpu": gpu_id, "condition": condition}
    return _list(request, "prices", filters, limit, cursor, as_of)


@router.get(
    "/gpus/{gpu_id}/benchmarks",
    summary="Measurements of one card",
    response_model=lists.MeasurementList,
    responses=_MAYBE,
)
def gpu_benchmarks(
    request: Request,
    gpu_id: Id,
    model: ModelName = None,
    task: Text = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    lang: Lang = None,
) -> Response:
    """Published throughput of one card."""
    del lang
    filters = {"of_gpu": gpu_id, "model": model, "task": task}
    return _list(request, "benchmarks", filters, limit, cursor)


@router.get("/models", summary="All model presets", response_model=lists.ModelList, responses=_FOUND)
def models(
    request: Request,
    family: Text = None,
    series: Text = None,
    q: Text = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    lang: Lang = None,
) -> Response:
    """Dimensions, parameter counts and where they were read. `q` is part of a name."""
    del lang
    filters = {"family": family, "series": series, "q": q}
    return _list(request, "models", filters, limit, cursor)


@router.get(
    "/models/{model_id:path}",
    summary="One model preset",
    response_model=ModelDetail,
    responses=_MAYBE,
)
def model(request: Request, model_id: Id, lang: Lang = None) -> Response:
    """By id, alias or Hugging Face id."""
    del lang
    context = Context.of(request)
    try:
        found = model_detail(context.snapshot, model_id)
    except NotInCatalogue as missing:
        raise not_one(missing, context.language) from missing
    return json_response(found, language=context.language)


@router.get("/prices", summary="All purchase prices", response_model=lists.PriceList, responses=_FOUND)
def prices(
    request: Request,
    gpu: GpuName = None,
    condition: Text = None,
    region: Text = None,
    channel_kind: Text = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    as_of: AsOf = None,
    lang: Lang = None,
    currency: Currency = "CNY",
) -> Response:
    """Observations, newest first, those that cannot count among them with the reason."""
    del lang, currency
    filters = {"gpu": gpu, "condition": condition, "region": region, "channel_kind": channel_kind}
    return _list(request, "prices", filters, limit, cursor, as_of)


@router.get("/rentals", summary="All hourly rents", response_model=lists.RentalList, responses=_FOUND)
def rentals(
    request: Request,
    gpu: GpuName = None,
    provider: Text = None,
    region: Text = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    as_of: AsOf = None,
    lang: Lang = None,
    currency: Currency = "CNY",
) -> Response:
    """Whole instance and per GPU, newest first; never averaged over providers."""
    del lang, currency
    filters = {"gpu": gpu, "provider": provider, "region": region}
    return _list(request, "rentals", filters, limit, cursor, as_of)


@router.get("/benchmarks", summary="All measurements", response_model=lists.MeasurementList, responses=_FOUND)
def benchmarks(
    request: Request,
    gpu: GpuName = None,
    model: ModelName = None,
    task: Text = None,
    precision: Text = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    lang: Lang = None,
) -> Response:
    """Published throughput; `flag` says why a row is not used to predict."""
    del lang
    filters = {"gpu": gpu, "model": model, "task": task, "precision": precision}
    return _list(request, "benchmarks", filters, limit, cursor)


@router.get("/rates", summary="All exchange rates", response_model=lists.RateList, responses=_FOUND)
def rates(
    request: Request,
    base: Text = None,
    quote: Text = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    lang: Lang = None,
) -> Response:
    """Units of `quote` for one `base`, newest first."""
    del lang
    return _list(request, "rates", {"base": base, "quote": quote}, limit, cursor)


@router.get("/sources", summary="All sources", response_model=lists.SourceList, responses=_FOUND)
def sources(
    request: Request,
    kind: Text = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    lang: Lang = None,
) -> Response:
    """Where every figure was read, with licence and attribution."""
    del lang
    return _list(request, "sources", {"kind": kind}, limit, cursor)


@router.get(
    "/engine-support",
    summary="What runs on which cards",
    response_model=lists.EngineSupportList,
    responses=_FOUND,
)
def engine_support(
    request: Request,
    gpu: GpuName = None,
    engine: Text = None,
    status: Text = None,
    feature_kind: Text = None,
    q: Text = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    lang: Lang = None,
) -> Response:
    """Statements on engines, plugins and libraries, with version and source. `q` is part of the words."""
    del lang
    filters = {"gpu": gpu, "engine": engine, "status": status, "feature_kind": feature_kind, "q": q}
    return _list(request, "engine_support", filters, limit, cursor)
