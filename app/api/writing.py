"""Writing observations: one or many, all of them or none."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from app.api.answers import json_response
from app.api.checks import add_measurement, measurement_body
from app.api.context import AsOf, Context, Currency, Lang
from app.api.problems import documented, not_found
from app.api.route import ApiRoute
from app.api.schemas import writing as schemas
from app.api.writers import read_batch, read_json, refused, rows_at_fault, writer
from app.core.faults import InputFault
from app.services import imports, quotes
from app.services.answers import with_currency
from app.services.imports import Author, ImportOptions, ImportRefused, ImportReport, import_items
from app.services.measurements import notes_of
from app.services.quotes import QuoteNotFound
from app.services.results import Versions
from app.services.verification import is_measurement

router = APIRouter(tags=["writing"], route_class=ApiRoute)

Why = Annotated[str | None, Query(max_length=500, description="Why, for the change log.")]
DryRun = Annotated[bool, Query(description="Check only; nothing is stored.")]
Confirm = Annotated[bool, Query(description="Accept rows that are far from what is known.")]
Kind = Annotated[str, Path(max_length=40, description="prices, rentals, rates, gpus, figures, …")]
QuoteId = Annotated[str, Path(max_length=64, pattern=r"^[0-9a-f]+$")]
NO_STORE = {"cache-control": "no-store"}
_PROBLEMS = documented(422) | schemas.FORBIDDEN


async def _store(request: Request, kind: str, dry_run: bool, why: str | None) -> Response:
    key = await writer(request)
    batch = await read_batch(request)

    def work() -> Response:
        context = Context.of(request)
        author = Author(f"{key.name} ({key.id})", why or "")
        options = ImportOptions(context.today, dry_run=dry_run)
        try:
            report = import_items(context.engine, kind, batch.items, author, options)
        except ImportRefused as error:
            raise refused(error, context.language) from error
        if not report.ok:
            raise rows_at_fault(report, batch, context.language)
        # What was there already is no new thing.
        return _reported(report, context)

    return await run_in_threadpool(work)


def _reported(report: ImportReport, context: Context) -> Response:
    notes = notes_of(report, context.snapshot) if report.kind == "benchmarks" else None
    found = imports.import_answer(report, context.language, notes)
    return json_response(found, 201 if report.stored else 200, NO_STORE, context.language)


@router.post("/prices", summary="Add prices", openapi_extra=schemas.body("prices"), **schemas.CREATED)
async def add_prices(
    request: Request, dry_run: DryRun = False, why: Why = None, lang: Lang = None
) -> Response:
    """One object or `{items: […]}`; needs a key with the scope write. Far prices need `confirm: true`."""
    del lang
    return await _store(request, "prices", dry_run, why)


@router.post("/rentals", summary="Add hourly rents", openapi_extra=schemas.body("rentals"), **schemas.CREATED)
async def add_rentals(
    request: Request, dry_run: DryRun = False, why: Why = None, lang: Lang = None
) -> Response:
    """Of the instance (`per_hour`), of one card (`per_gpu_hour`), or an `amount` with its `period`."""
    del lang
    return await _store(request, "rentals", dry_run, why)


@router.post("/benchmarks", summary="Add measurements", openapi_extra=measurement_body(), **schemas.CREATED)
async def add_benchmarks(
    request: Request, dry_run: DryRun = False, why: Why = None, lang: Lang = None
) -> Response:
    """Throughput of all cards together. What names no public source (an address, or a source of the
    catalogue) is your team's own, trusted first; `own` says otherwise. `notes` says what was taken for
    granted and which rows estimates cannot use.

    What the script of `cardworth verify` prints is taken as it is: the answer then says too whether the card
    is what it is sold as.
    """
    del lang
    key = await writer(request)
    batch = await read_batch(request)
    if batch.single and is_measurement(batch.items[0]):
        return await run_in_threadpool(
            add_measurement, request, batch, Author(f"{key.name} ({key.id})", why or ""), dry_run
        )
    return await _store(request, "benchmarks", dry_run, why)


@router.post("/rates", summary="Add exchange rates", openapi_extra=schemas.body("rates"), **schemas.CREATED)
async def add_rates(
    request: Request, dry_run: DryRun = False, why: Why = None, lang: Lang = None
) -> Response:
    """Units of `quote` for one `base`."""
    del lang
    return await _store(request, "rates", dry_run, why)


@router.post(
    "/engine-support",
    summary="Add statements on engines",
    openapi_extra=schemas.body("engine_support"),
    **schemas.CREATED,
)
async def add_engine_support(
    request: Request, dry_run: DryRun = False, why: Why = None, lang: Lang = None
) -> Response:
    """What a source says of an engine on a family of cards, by number format and feature."""
    del lang
    return await _store(request, "engine_support", dry_run, why)


@router.post("/quotes", summary="Add quotes", openapi_extra=schemas.body("quotes"), **schemas.CREATED)
async def add_quotes(
    request: Request, dry_run: DryRun = False, why: Why = None, lang: Lang = None
) -> Response:
    """A doubtful quote is kept and held: it drives no choice until it is confirmed."""
    del lang
    return await _store(request, "quotes", dry_run, why)


@router.post("/gpus", summary="Add cards", openapi_extra=schemas.body("gpus"), **schemas.CREATED)
async def add_gpus(request: Request, dry_run: DryRun = False, why: Why = None, lang: Lang = None) -> Response:
    """A card with its figures; of a known card, the figures that are sent are added."""
    del lang
    return await _store(request, "gpus", dry_run, why)


@router.post("/models", summary="Add model presets", openapi_extra=schemas.body("models"), **schemas.CREATED)
async def add_models(
    request: Request, dry_run: DryRun = False, why: Why = None, lang: Lang = None
) -> Response:
    """A preset; dimensions without a column of their own go into `architecture`."""
    del lang
    return await _store(request, "models", dry_run, why)


@router.post(
    "/quotes/compare",
    summary="Suppliers side by side",
    response_model=quotes.QuoteComparison,
    openapi_extra=schemas.COMPARE_BODY,
    responses=documented(422),
)
async def compare_quotes(
    request: Request, as_of: AsOf = None, lang: Lang = None, currency: Currency = "CNY"
) -> Response:
    """Net and gross yuan per card, per sustained TFLOPS and per unit of work; lowest, mean, spread, flags."""
    del as_of, lang, currency  # read from the request by the context
    body = await read_json(request)
    if not isinstance(body, dict):
        raise InputFault.at("", "not_an_object")
    for name in body:
        if name not in ("ids", "workload"):
            raise InputFault.at(f"/{name[:80]}", "unknown_field", value=name[:80])
    ids, workload = body.get("ids") or [], body.get("workload")
    if not isinstance(ids, list) or not all(isinstance(i, str) for i in ids):
        raise InputFault.at("/ids", "not_a_list")
    if len(ids) > quotes.MAX_COMPARED:
        raise InputFault.at("/ids", "too_many", limit=quotes.MAX_COMPARED)
    if workload is not None and not isinstance(workload, dict):
        raise InputFault.at("/workload", "not_an_object")

    def work() -> Response:
        context = Context.of(request)
        found = quotes.compare_quotes(context.engine, context.snapshot, context.today, ids, workload)
        found = with_currency(found, context.currency, context.snapshot, context.today)
        return json_response(found, language=context.language, headers=NO_STORE)

    return await run_in_threadpool(work)


@router.post(
    "/quotes/{quote_id}/confirm",
    summary="Let a held quote count",
    response_model=quotes.QuoteChanged,
    responses=_PROBLEMS,
)
async def confirm_quote(request: Request, quote_id: QuoteId, why: Why = None, lang: Lang = None) -> Response:
    """Somebody has looked: the quote is what it says."""
    del lang
    return await _set_quote(request, quote_id, why, quotes.confirm_quote)


@router.delete(
    "/quotes/{quote_id}",
    summary="Withdraw a quote",
    response_model=quotes.QuoteChanged,
    responses=_PROBLEMS | documented(404),
)
async def withdraw_quote(request: Request, quote_id: QuoteId, why: Why = None, lang: Lang = None) -> Response:
    """It stays on record and drives no choice any more."""
    del lang
    return await _set_quote(request, quote_id, why, quotes.withdraw_quote)


async def _set_quote(request: Request, quote_id: str, why: str | None, change: Any) -> Response:
    key = await writer(request)

    def work() -> Response:
        context = Context.of(request)
        try:
            version = change(context.engine, quote_id, Author(f"{key.name} ({key.id})", why or ""))
        except QuoteNotFound as missing:
            raise not_found(context.language) from missing
        found = quotes.QuoteChanged(quote_id, Versions.of(version))
        return json_response(found, language=context.language)

    return await run_in_threadpool(work)


@router.post(
    "/imports/{kind}",
    summary="Import a CSV, XLSX or JSON file",
    response_model=imports.ImportAnswer,
    openapi_extra=schemas.FILE_BODY,
    responses=_PROBLEMS | documented(404),
)
async def import_file(
    request: Request,
    kind: Kind,
    dry_run: DryRun = False,
    confirm: Confirm = False,
    source: Annotated[str | None, Query(max_length=200, description="Of rows that state none.")] = None,
    source_url: Annotated[str | None, Query(max_length=2000)] = None,
    supplier: Annotated[str | None, Query(max_length=200, description="Of quotes that name none.")] = None,
    why: Why = None,
    lang: Lang = None,
) -> Response:
    """The file as the body, or as the part `file` of a form. A dry run answers 200 with every fault."""
    del lang
    key = await writer(request)
    content = await _file_of(request)

    def work() -> Response:
        context = Context.of(request)
        options = ImportOptions(
            context.today,
            dry_run=dry_run,
            confirm=confirm,
            source=source or "",
            source_url=source_url or "",
            defaults={"supplier": supplier} if supplier and kind == "quotes" else None,
        )
        author = Author(f"{key.name} ({key.id})", why or "")
        try:
            report = imports.import_file(context.engine, kind, content, author, options)
        except ImportRefused as error:
            raise refused(error, context.language) from error
        if not report.ok and not dry_run:
            raise rows_at_fault(report, None, context.language)
        return _reported(report, context)

    return await run_in_threadpool(work)


async def _file_of(request: Request) -> bytes:
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        return await request.body()
    async with request.form(max_files=1, max_fields=10) as form:
        part = form.get("file")
        if part is None or isinstance(part, str):
            raise InputFault.at("/file", "required")
        return await part.read()
