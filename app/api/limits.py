"""How often one address may call: counted in this process, told in the RateLimit headers."""

from __future__ import annotations

import math
import time

from fastapi import Request

from app.api.context import language_of
from app.api.problems import too_many_requests
from app.services.limits import counted_as, limits_of


def _address(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def check(request: Request, name: str) -> None:
    """Count one call; raises the 429 when the address has used up what it may."""
    if limits_of(request.app.state).take(name, _address(request)):
        return
    raise too_many_requests(language_of(request), headers(request, name, refused=True))


def headers(request: Request, name: str, refused: bool = False) -> dict[str, str]:
    """RateLimit headers of the window that is nearest to its end."""
    limits = limits_of(request.app.state)
    limiter = limits.limiter(name)
    policies, states = [], []
    for item in limits.items[name]:
        stats = limiter.get_window_stats(item, name, counted_as(_address(request)))
        wait = max(1, math.ceil(stats.reset_time - time.time()))
        policies.append(f'"{name}";q={item.amount};w={item.get_expiry()}')
        states.append((stats.remaining, wait))
    remaining, wait = min(states)
    found = {
        "ratelimit-policy": ", ".join(policies),
        "ratelimit": f'"{name}";r={remaining};t={wait}',
    }
    if refused:
        found["retry-after"] = str(max(w for r, w in states if r == remaining))
    return found
