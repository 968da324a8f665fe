"""How often one address may call: counted in this process, told in the RateLimit headers."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from fastapi import Request
from limits import RateLimitItem, RateLimitItemPerDay, RateLimitItemPerHour, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter, RateLimiter

from app.api.context import language_of
from app.api.problems import too_many_requests
from app.settings import Settings


@dataclass(slots=True)
class Limits:
    """The limits of one running instance."""

    items: dict[str, tuple[RateLimitItem, ...]]
    storage: MemoryStorage = field(default_factory=MemoryStorage)

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """The limits that the settings state."""
        return cls(
            {
                "calculations": (RateLimitItemPerMinute(settings.calculations_per_minute),),
                "comparisons": (
                    RateLimitItemPerHour(settings.comparisons_per_hour),
                    RateLimitItemPerDay(settings.comparisons_per_day),
                ),
            }
        )

    def limiter(self, name: str) -> RateLimiter:
        """Comparisons are counted exactly; calculations by the calendar minute, which costs little."""
        strategy = MovingWindowRateLimiter if name == "comparisons" else FixedWindowRateLimiter
        return strategy(self.storage)


def _limits(request: Request) -> Limits:
    state = request.app.state
    found: Limits | None = getattr(state, "limits", None)
    if found is None:
        found = state.limits = Limits.of(state.settings)
    return found


def _address(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def check(request: Request, name: str) -> None:
    """Count one call; raises the 429 when the address has used up what it may."""
    limits = _limits(request)
    limiter = limits.limiter(name)
    address = _address(request)
    # All windows are tested before any is hit: a refused call uses up nothing.
    if all(limiter.test(item, name, address) for item in limits.items[name]):
        for item in limits.items[name]:
            limiter.hit(item, name, address)
        return
    raise too_many_requests(language_of(request), headers(request, name, refused=True))


def headers(request: Request, name: str, refused: bool = False) -> dict[str, str]:
    """RateLimit headers of the window that is nearest to its end."""
    limits = _limits(request)
    limiter = limits.limiter(name)
    policies, states = [], []
    for item in limits.items[name]:
        stats = limiter.get_window_stats(item, name, _address(request))
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
