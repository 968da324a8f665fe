"""What every route of the API shares: ETags before any work, limits, faults in the reader's language."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from app import __version__
from app.api import limits
from app.api.context import Context, language_of
from app.api.problems import invalid_input, key_required
from app.api.query_faults import as_faults, unknown_parameters
from app.core.faults import InputFault
from app.services.access import allows

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

REVALIDATE = "public, max-age=0, must-revalidate"
# Nobody else's cache may keep what is behind a key or a secret link.
PRIVATE = "private, max-age=0, must-revalidate"


class ApiRoute(APIRoute):
    """A route whose faults become problems in the reader's language."""

    limited_by: str = ""
    """Name of the limit that its calls count against."""
    conditional: bool = True
    """Whether a GET's answer depends on nothing but catalogue, address, language and day."""

    def get_route_handler(self) -> Handler:
        """Wrap FastAPI's handler."""
        answer = super().get_route_handler()
        known = {name for p in self.dependant.query_params for name in (p.alias, p.name)}

        async def handle(request: Request) -> Response:
            try:
                unknown_parameters(request, known)
                limited_by = self.limited_by
                if "x-api-key" in request.headers or request.app.state.settings.read_requires_key:
                    limited_by = await run_in_threadpool(self._limit_with_key, request)
                if limited_by:
                    limits.check(request, limited_by)
                tag = ""
                if self.conditional and request.method in ("GET", "HEAD"):
                    # The version check may ask the database, which must not hold up the event loop.
                    tag = await run_in_threadpool(etag_of, request)
                    if matches(request, tag):
                        return not_modified(tag)
                response = await answer(request)
            except InputFault as fault:
                raise invalid_input(fault.errors, language_of(request)) from fault
            except RequestValidationError as error:
                raise invalid_input(as_faults(error), language_of(request)) from error
            if tag and response.status_code == 200:
                if "retry-after" in response.headers:
                    tag = tag_of(tag, "unfinished")  # so that nobody revalidates it as the whole answer
                keyed = request.app.state.settings.read_requires_key
                response.headers.update(validators(tag, PRIVATE if keyed else REVALIDATE))
            if limited_by:
                response.headers.update(limits.headers(request, limited_by))
            return response

        return handle

    def _limit_with_key(self, request: Request) -> str:
        """A known key lifts the limit of calculations; a key that is missing or wrong is refused."""
        if not allows(request.app.state.engine, request.headers.get("x-api-key"), "read"):
            raise key_required(language_of(request))
        return "" if self.limited_by == "calculations" else self.limited_by


class CalculationRoute(ApiRoute):
    """A route that computes: it counts against the limit of calculations."""

    limited_by = "calculations"


class ComparisonRoute(ApiRoute):
    """A route over stored comparisons: what it finds can be deleted, so its tag comes after the look-up."""

    conditional = False


class ComparisonCreationRoute(ComparisonRoute):
    """The route that stores a comparison."""

    limited_by = "comparisons"


def tag_of(*parts: str) -> str:
    """A weak validator over what an answer depends on: compression may change its bytes."""
    digest = hashlib.sha256("\x00".join((__version__, *parts)).encode("utf-8", "replace"))
    return f'W/"{digest.hexdigest()[:24]}"'


def etag_of(request: Request) -> str:
    """The tag of a GET: engine, catalogue version, path, query, language and day."""
    context = Context.of(request)
    query = "&".join(sorted(f"{k}={v}" for k, v in request.query_params.multi_items()))
    return tag_of(
        context.snapshot.version, request.url.path, query, context.language, context.today.isoformat()
    )


def matches(request: Request, tag: str) -> bool:
    """Whether If-None-Match holds the tag."""
    stated = request.headers.get("if-none-match", "")
    opaque = tag.removeprefix("W/")
    return any(part.strip().removeprefix("W/") == opaque for part in stated.split(","))


def validators(tag: str, cache_control: str = REVALIDATE) -> dict[str, str]:
    """Headers of an answer that can be revalidated."""
    return {"etag": tag, "cache-control": cache_control, "vary": "Accept-Language"}


def not_modified(tag: str, cache_control: str = REVALIDATE) -> Response:
    """The answer to a reader who has the current one."""
    return Response(status_code=304, headers=validators(tag, cache_control))
