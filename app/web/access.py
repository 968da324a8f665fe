"""Who may see and change what on the pages: the editor who is signed in, and where the others are sent."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.middleware.guards import SIGN_IN
from app.services.access import Editor

MAX_ADDRESS = 2_000


def editor_of(request: Request) -> Editor | None:
    """The editor who is signed in; None for everyone else."""
    editor: Editor | None = getattr(request.state, "editor", None)
    return editor


def sign_in_address(path: str) -> str:
    """The page to sign in, which leads back to a path."""
    return f"{SIGN_IN}?{urlencode({'next': path})}"


def safe_address(text: str) -> str:
    """An address of this site out of what a link says, else the start page: no link leads to another site.

    Notes
    -----
    Browsers read a backslash as a slash and drop tabs and line breaks, so `/\\\\host` and `/\\t/host` are
    addresses of other hosts.
    """
    if not text.startswith("/") or len(text) > MAX_ADDRESS or not text.isascii() or not text.isprintable():
        return "/"
    if text.startswith("//") or "\\" in text:
        return "/"
    try:
        parts = urlsplit(text)
    except ValueError:
        return "/"
    return "/" if parts.scheme or parts.netloc or parts.path == SIGN_IN else text


def address_of(request: Request) -> str:
    """Path and query of a request."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def ask_to_sign_in(path: str) -> Response:
    """Send the reader to the page to sign in, and after that to a path."""
    return RedirectResponse(sign_in_address(path), 303, {"cache-control": "no-store"})
