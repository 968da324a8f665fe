"""What is beside the catalogue: quotes, the change log, the state of the data, how to import."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from app.api.answers import json_response
from app.api.catalogue import Cursor, GpuName, Limit
from app.api.context import AsOf, Context, Currency, Lang
from app.api.problems import documented
from app.api.route import ApiRoute
from app.api.schemas import answers
from app.api.schemas import writing as schemas
from app.api.writers import refused, writer
from app.core.estimates import Message
from app.core.faults import InputFault
from app.errors import AppError
from app.services import importing
from app.services.changes import Author, ChangeRefused, changes_body, undo
from app.services.data_report import data_report
from app.services.importing import IMPORT_KINDS, ImportRefused
from app.services.money import in_currency
from app.services.quotes import list_body
from app.texts.say import say_code, say_message

router = APIRouter(tags=["catalogue"], route_class=ApiRoute)


class LogRoute(ApiRoute):
    """A route over the change log, which grows without a new version of the catalogue."""

    conditional = False


log = APIRouter(tags=["writing"], route_class=LogRoute)


@router.get("/quotes", summary="All quotes", response_model=answers.Items, responses=documented(422))
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
    found = list_body(context.engine, context.snapshot, today, context.language, gpu or "")
    first = 0
    if cursor is not None:
        position = next((n for n, quote in enumerate(found) if quote["id"] == cursor), None)
        if position is None:
            raise InputFault.at("/cursor", "unknown_cursor")
        first = position + 1
    items = found[first : first + limit]
    following = items[-1]["id"] if first + limit < len(found) else None
    body = {"items": items, "next": following, "total": len(found), "as_of": today.isoformat()}
    return json_response(in_currency(body, currency, context.snapshot, today))


@router.get("/data", summary="State of the data", response_model=answers.Open, responses=documented(422))
def data(request: Request, as_of: AsOf = None, lang: Lang = None) -> Response:
    """What is loaded, how old, what is missing, what the lint rules object to, prices not used and why."""
    del lang
    context = Context.of(request)
    today = as_of or context.today
    return json_response(data_report(context.engine, context.snapshot, today, context.language))


@router.get(
    "/imports/{kind}",
    summary="Columns that can be imported",
    response_model=answers.Open,
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
        text = "\ufeff" + importing.template(kind, context.language)
        name = {"content-disposition": f'attachment; filename="{kind}.csv"'}
        return Response(text.encode(), media_type="text/csv; charset=utf-8", headers=name)
    return json_response({"kind": kind, "columns": importing.columns_of(kind)})


@log.get("/changes", summary="Change log", response_model=answers.Items, responses=documented(422))
async def changes(
    request: Request,
    table: Annotated[str | None, Query(max_length=40)] = None,
    row: Annotated[str | None, Query(max_length=200, description="Id of a row.")] = None,
    limit: Limit = 20,
    cursor: Annotated[int | None, Query(ge=1, description="`next` of the page before.")] = None,
    lang: Lang = None,
) -> Response:
    """Who changed what, when, from what, to what, why; the newest first. Needs a key with the scope write."""
    del lang
    await writer(request)
    body = await run_in_threadpool(
        changes_body, request.app.state.engine, table or "", row or "", limit, cursor
    )
    return json_response(body, headers={"cache-control": "no-store"})


@log.post(
    "/changes/{change_id}/undo",
    summary="Take a change back",
    response_model=answers.Open,
    responses=documented(409, 422) | schemas.FORBIDDEN,
)
async def undo_change(
    request: Request,
    change_id: Annotated[int, Path(ge=1)],
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
    return json_response({"undone": change_id, "versions": {"catalog": done.version}})
