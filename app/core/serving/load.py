"""The requests that a server meets: how many at a time, how long, how they arrive."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.units import Number

STEADY = float("inf")
"""Number of requests of a load that never ends."""


@dataclass(frozen=True)
class Load:
    """Requests over all replicas; every number may be an array that broadcasts."""

    users: Number
    """Requests under way or waiting at a time: a closed loop of so many users. Ignored with a rate."""
    prompt: Number
    """Tokens of a prompt, mean."""
    output: Number
    """Tokens written for one, mean."""
    requests: Number = STEADY
    """Requests of the whole run; a run in which all start together has as many as users."""
    rate_s: Number = 0.0
    """Requests that arrive in a second, whoever waits; 0: a closed loop."""
    equal: Number = 0.0
    """1: every prompt and output has the mean length, so that requests end and start in waves."""
    together: Number = 0.0
    """Share of requests that arrive together with the others, where nothing is known of the run."""
    cached: Number = 0.0
    """Share of the prompt that the prefix cache holds already."""
    accepted: Number = 1.0
    """Tokens that one step yields with speculative decoding, mean; 1 without it."""
    drafted: Number = 0.0
    """Tokens drafted ahead of each step."""
    token_limit_s: Number = 0.0
    """Seconds that one output token may take, 0: any. No more sequences are seated than keep it."""
    run_end: Number = 1.0
    """0: the rate is that of the middle of the run, without its end in which seats empty."""
