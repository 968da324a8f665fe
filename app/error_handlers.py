"""From exceptions to answers: one place for the JSON problems of the API and the error pages of the site."""

from __future__ import annotations

import logging
import sqlite3

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from app.api.context import language_of as language_of_script
from app.api.problems import invalid_input
from app.api.query_faults import as_faults
from app.catalog.problems import DatabaseProblem, problem_of
from app.core.faults import FieldError, InputFault
from app.errors import AppError, problem_response, slug_of, title_of
from app.middleware.guards import BodyTooLarge, too_large
from app.middleware.outward import current_request_id
from app.negotiation import prefers_json
from app.texts.language import translations
from app.texts.marking import N_
from app.web.errors import error_page
from app.web.render import language_of as language_of_reader

logger = logging.getLogger("app.errors")

# What FastAPI says where the JSON parser gives up with anything but a syntax error: too many digits, nesting
# without end, bytes that are no UTF-8.
UNPARSED = N_("There was an error parsing the body")
NOT_FOUND = N_("There is nothing at this address.")
STATUS_TITLES = (
    N_("Bad Request"),
    N_("Unauthorized"),
    N_("Forbidden"),
    N_("Not Found"),
    N_("Method Not Allowed"),
    N_("Conflict"),
    N_("Gone"),
    N_("Unsupported Media Type"),
    N_("Too Many Requests"),
    N_("Internal Server Error"),
    N_("Service Unavailable"),
)
"""Phrases of `http.HTTPStatus` that become titles of our errors."""
# Kind of a database problem -> (status, seconds until trying again, sentence for the client).
# The log has the operator's sentence with the command to run.
DATABASE_ANSWERS = {
    "locked": (503, 2, N_("Another process holds the database. Try again in a moment.")),
    "failing_disk": (503, 60, N_("The disk of the server cannot be read or written.")),
    "full": (507, 0, N_("Nothing was saved: the disk of the server is full.")),
    "read_only": (503, 60, N_("Nothing was saved: the server may not write to its database.")),
}
DATABASE_DOWN = (
    503,
    30,
    N_(
        "The database is not set up, is of another version or cannot be opened. "
        "On the server, `cardworth doctor` says what to do."
    ),
)


def wants_json(request: Request) -> bool:
    """Whether errors of this request are answered in JSON."""
    return prefers_json(request.url.path, request.headers.get("accept", ""))


def language_of(request: Request) -> str:
    """Language of the error: of the API for scripts, of the pages (which know a cookie) for readers."""
    return language_of_script(request) if wants_json(request) else language_of_reader(request)


def error_response(request: Request, error: AppError) -> Response:
    """The error in the form and the language of the client: a problem for scripts, a page for people."""
    request_id = current_request_id()
    said = error.translated(translations(language_of(request)).gettext)
    if wants_json(request):
        return problem_response(said, request.url.path, request_id)
    return error_page(
        request,
        said.status,
        title=said.title,
        detail=said.detail,
        errors=said.errors,
        headers=said.headers,
        request_id=request_id,
    )


def database_fault(error: Exception) -> AppError | None:
    """What a failing database means for the client; None when the error is a fault of the program."""
    if isinstance(error, PoolTimeout):
        problem: DatabaseProblem | None = DatabaseProblem.locked()
    else:
        problem = error if isinstance(error, DatabaseProblem) else problem_of(error)
    if problem is None:
        original = getattr(error, "orig", error)
        if "no such table" not in str(original) and getattr(original, "sqlstate", None) != "42P01":
            return None
        problem = DatabaseProblem.missing()  # the file was taken away or replaced while we run
    logger.error("%s", problem)
    status, retry, sentence = DATABASE_ANSWERS.get(problem.kind, DATABASE_DOWN)
    return AppError(
        status,
        f"database-{problem.kind.replace('_', '-')}",
        "The database cannot be used",
        sentence,
        headers={"retry-after": str(retry)} if retry else None,
    )


async def _app_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, AppError)
    return error_response(request, error)


async def _input_fault(request: Request, error: Exception) -> Response:
    assert isinstance(error, InputFault)
    return error_response(request, invalid_input(error.errors, language_of(request)))


async def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return error_response(request, invalid_input(as_faults(error), language_of(request)))


async def _http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error, BodyTooLarge):
        return error_response(request, too_large(error.limit))
    if isinstance(error.__cause__, ValueError | RecursionError) and error.detail == UNPARSED:
        return error_response(request, invalid_input([FieldError("", "not_json")], language_of(request)))
    status = error.status_code
    if status < 400:
        return Response(status_code=status, headers=error.headers)
    title = title_of(status)
    detail = NOT_FOUND if status == 404 and error.detail == title else str(error.detail)
    return error_response(request, AppError(status, slug_of(status), title, detail, headers=error.headers))


async def _database_error(request: Request, error: Exception) -> Response:
    fault = database_fault(error)
    if fault is None:
        raise error  # the boundary logs it and answers 500
    return error_response(request, fault)


def install_error_handlers(app: FastAPI) -> None:
    """Register the handlers on the application."""
    app.add_exception_handler(AppError, _app_error)
    app.add_exception_handler(InputFault, _input_fault)
    app.add_exception_handler(HTTPException, _http_exception)
    app.add_exception_handler(RequestValidationError, _validation_error)
    for kind in (DatabaseProblem, DBAPIError, PoolTimeout, sqlite3.Error):
        app.add_exception_handler(kind, _database_error)
