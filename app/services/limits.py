"""How often one address may call: one count for all doors, the pages and the API."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from typing import Any

from limits import RateLimitItem, RateLimitItemPerDay, RateLimitItemPerHour, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter, RateLimiter

from app.settings import Settings

UPLOADS_PER_MINUTE = 60
IPV6_SITE_BITS = 64
"""Whoever has one address of IPv6 has a network of so many bits: all of it counts as one."""


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
                "uploads": (RateLimitItemPerMinute(UPLOADS_PER_MINUTE),),
            }
        )

    def limiter(self, name: str) -> RateLimiter:
        """Calculations are counted by the calendar minute, which costs little; all else exactly."""
        strategy = FixedWindowRateLimiter if name == "calculations" else MovingWindowRateLimiter
        return strategy(self.storage)

    def take(self, name: str, address: str) -> bool:
        """Count one call; False, and nothing is used up, where the address has used up what it may."""
        limiter = self.limiter(name)
        key = counted_as(address)
        # All windows are tested before any is hit.
        if not all(limiter.test(item, name, key) for item in self.items[name]):
            return False
        for item in self.items[name]:
            limiter.hit(item, name, key)
        return True


def limits_of(state: Any) -> Limits:
    """The limits of a running instance, kept on its state."""
    found: Limits | None = getattr(state, "limits", None)
    if found is None:
        found = state.limits = Limits.of(state.settings)
    return found


def counted_as(address: str) -> str:
    """What calls of an address count for: itself, of IPv6 its network."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return f"{IPv6Address(int(parsed) >> IPV6_SITE_BITS << IPV6_SITE_BITS)}/{IPV6_SITE_BITS}"
