"""How many comparisons one address may freeze by the form; the API counts its own."""

from __future__ import annotations

from fastapi import Request
from limits import RateLimitItemPerDay, RateLimitItemPerHour
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from app.errors import AppError
from app.settings import Settings


def count_comparison(request: Request) -> None:
    """Count one; a 429 when the address has used up what the settings allow."""
    state = request.app.state
    if not hasattr(state, "form_limiter"):
        state.form_limiter = MovingWindowRateLimiter(MemoryStorage())
    limiter: MovingWindowRateLimiter = state.form_limiter
    settings: Settings = state.settings
    items = (
        RateLimitItemPerHour(settings.comparisons_per_hour),
        RateLimitItemPerDay(settings.comparisons_per_day),
    )
    address = request.client.host if request.client else "unknown"
    # Both windows are tested before either is hit: a refused call uses up nothing.
    if not all(limiter.test(item, "comparisons", address) for item in items):
        raise AppError(
            429, "too-many-requests", "Too many requests", "Try again later.", headers={"retry-after": "3600"}
        )
    for item in items:
        limiter.hit(item, "comparisons", address)
