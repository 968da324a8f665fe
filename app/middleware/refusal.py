"""How a middleware answers by itself: with the same error pages and problems as the routes."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from app.errors import AppError

Refuse = Callable[[Request, AppError], Response]
