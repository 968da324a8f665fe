"""Error pages in the reader's language. They need no catalogue, so they also work when it is not open."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse

from app.errors import ErrorItem
from app.texts.marking import N_
from app.web.render import Page

logger = logging.getLogger("app.web")

TITLES = {
    400: N_("The request cannot be read"),
    403: N_("This is not allowed"),
    404: N_("There is nothing at this address"),
    405: N_("This address does not take this kind of request"),
    409: N_("The question cannot be answered as asked"),
    413: N_("The request is too large"),
    422: N_("The question needs a change"),
    429: N_("Too many requests"),
    500: N_("Something went wrong on our side"),
    503: N_("Not ready yet"),
    507: N_("The storage is full"),
}
DETAILS = {
    403: N_("The request came from another site."),
    404: N_("The link may be old or mistyped. A comparison that was withdrawn has no page either."),
    405: N_("Go back and use the page's own buttons."),
    413: N_("Shorten what you sent and try again."),
    429: N_("Wait a moment, then try again."),
    500: N_("Nothing you entered is lost: go back and try again. The log of the server says more."),
    503: N_("The catalogue is being opened or repaired. Try again in a moment."),
    507: N_("Nothing was saved: the disk of the server is full."),
}


def error_page(
    request: Request,
    status: int,
    title: str = "",
    detail: str = "",
    errors: Sequence[ErrorItem] = (),
    headers: Mapping[str, str] | None = None,
    request_id: str = "",
) -> HTMLResponse:
    """The page for an error; plain text of the same content when even that fails."""
    sent = {"cache-control": "no-store", **(headers or {})}
    try:
        page = Page(request)
        shown = page._(TITLES[status]) if status in TITLES else title
        # Details from our own pages are already in the reader's language; the platform's have ours.
        text = page._(DETAILS[status]) if status in DETAILS and status != 404 else detail
        if status == 404:
            text = detail if detail and not detail.isascii() else page._(DETAILS[404])
        return page.render(
            "error.html",
            "",
            status,
            sent,
            title=shown,
            detail=text,
            errors=errors,
            status=status,
            request_id=request_id,
        )
    except Exception:
        logger.exception("the error page itself failed")
        return HTMLResponse(
            f"<!doctype html><title>{status}</title><p>{escape(title)}: {escape(detail)}", status, sent
        )
