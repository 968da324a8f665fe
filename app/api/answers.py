"""JSON bodies made once: what a calculation answers is cached as the bytes that go out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any

from fastapi import Request, Response
from pydantic_core import to_json

from app.api.context import Context
from app.caching import Cache, canonical
from app.services.answers import encode

JSON = "application/json"
_KEPT_ANSWERS = 256


def json_response(
    body: Any, status: int = 200, headers: dict[str, str] | None = None, language: str = "en"
) -> Response:
    """A body as JSON, an answer in a language: written here, once, and not validated again on its way out."""
    content = encode(body, language) if is_dataclass(body) else to_json(body)
    return Response(content, status_code=status, media_type=JSON, headers=headers)


def cached_answer(request: Request, route: str, body: Any, compute: Callable[[Context], Any]) -> Response:
    """The answer to a question that may have been asked before, on the same catalogue and day."""
    context = Context.of(request)
    key = (
        route,
        context.snapshot.version,
        context.today.isoformat(),
        context.language,
        context.currency,
        canonical(body),
    )
    state = request.app.state
    cache: Cache[bytes] | None = getattr(state, "answers", None)
    if cache is None:
        cache = state.answers = Cache(_KEPT_ANSWERS)
    content = cache.get(key, lambda: encode(compute(context), context.language))
    return Response(content, media_type=JSON)
