"""What is beside the catalogue: quotes, the change log, the state of the data, how to import."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from app.api.answers import json_response
from app.api.catalogue import Cursor, GpuName, Limit
from app.api.context import AsOf, Context, Currency, Lang, language_of
from app.api.problems import documented
from app.api.route import ApiRoute
from app.api.schemas import writing as schemas
from app.api.writers import refused, writer
from app.core.estimates import Message
from app.errors import AppError
from app.services.answers import with_currency
from app.services.changes import Author, ChangeLog, ChangeRefused, Undone, change_log, undo
from app.services.data import DataReport, data_report
from app.services.imports import IMPORT_KINDS, ImportColumns, ImportRefused, columns_of
from app.services.imports import template as empty_table
from app.services.quotes import QuoteList, quote_list
from app.services.results import Versions
from app.texts.say import say_code, say_message

MAX_ID = 2**31 - 1
"""A larger number is no row of any database."""
router = APIRouter(tags=["catalogue"], route_class=ApiRoute)


class LogRoute(ApiRoute):
    """A route over the change log, which grows without a new version of the catalogue."""

    conditional = False


log = APIRouter(tags=["writing"], route_class=LogRoute)


@router.get("/quotes", summary="All quotes", response_model=QuoteList, responses=documented(422))
def quotes(
    request: Request,
    gpu: GpuName = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    as_of: AsOf = None,
    lang: Lang = None,
    currency: Currency = "CNY",
) -> Response:
    """The newest first, each on one basis of tax and unit, with its state on the day and its flags."""
    del lang
    context = Context.of(request)
    today = as_of or context.today
    found = quote_list(context.engine, context.snapshot, today, gpu or "", limit, cursor)
    found = with_currency(found, currency, context.snapshot, today)
    return json_response(found, language=context.language)


@router.get("/data", summary="State of the data", response_model=DataReport, responses=documented(422))
def data(request: Request, as_of: AsOf = None, lang: Lang = None) -> Response:
    """What is loaded, how old, what is missing, what the lint rules object to, prices not used and why."""
    del lang
    context = Context.of(request)
    today = as_of or context.today
    found = data_report(context.engine, context.snapshot, today, context.language)
    return json_response(found, language=context.language)


@router.get(
    "/imports/{kind}",
    summary="Columns that can be imported",
    response_model=ImportColumns,
    responses=documented(404, 422),
)
def import_columns(
    request: Request,
    kind: Annotated[str, Path(max_length=40)],
    template: Annotated[bool, Query(description="Answer an empty table with these columns as CSV.")] = False,
    lang: Lang = None,
) -> Response:
    """Names in English and Chinese, how cells are read, which are needed."""
    del lang
    context = Context.of(request)
    if kind not in IMPORT_KINDS:
        raise refused(ImportRefused("unknown_kind", value=kind, known=list(IMPORT_KINDS)), context.language)
    if template:
        # The mark tells a spreadsheet that the text is UTF-8.
        text = "\ufeff" + empty_table(kind, context.language)
        name = {"content-disposition": f'attachment; filename="{kind}.csv"'}
        return Response(text.encode(), media_type="text/csv; charset=utf-8", headers=name)
    return json_response(columns_of(kind), language=context.language)


@log.get("/changes", summary="Change log", response_model=ChangeLog, responses=documented(422))
async def changes(
    request: Request,
    table: Annotated[str | None, Query(max_length=40)] = None,
    row: Annotated[str | None, Query(max_length=200, description="Id of a row.")] = None,
    limit: Limit = 20,
    cursor: Annotated[int | None, Query(ge=1, le=MAX_ID, description="`next` of the page before.")] = None,
    lang: Lang = None,
) -> Response:
    """Who changed what, when, from what, to what, why; the newest first. Needs a key with the scope write."""
    del lang
    await writer(request)
    engine = request.app.state.engine
    found = await run_in_threadpool(change_log, engine, table or "", row or "", limit, cursor)
    return json_response(found, language=language_of(request), headers={"cache-control": "no-store"})


@log.post(
    "/changes/{change_id}/undo",
    summary="Take a change back",
    response_model=Undone,
    responses=documented(409, 422) | schemas.FORBIDDEN,
)
async def undo_change(
    request: Request,
    change_id: Annotated[int, Path(ge=1, le=MAX_ID)],
    why: Annotated[str | None, Query(max_length=500)] = None,
    lang: Lang = None,
) -> Response:
    """By a further entry: the log keeps both. An observation stays, marked as withdrawn."""
    del lang
    key = await writer(request)
    context = await run_in_threadpool(Context.of, request)
    author = Author(f"{key.name} ({key.id})", why or "")
    try:
        done = await run_in_threadpool(undo, context.engine, change_id, author)
    except ChangeRefused as error:
        title = say_message(Message("not_undone_title"), context.language)
        detail = say_code(error.code, error.params, context.language)
        status = 404 if error.code == "unknown_change" else 409
        raise AppError(status, error.code.replace("_", "-"), title, detail) from error
    return json_response(Undone(change_id, Versions.of(done.version)), language=context.language)
