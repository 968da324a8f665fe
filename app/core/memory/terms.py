"""Terms of the need and how they add up to an estimate with an interval."""

from __future__ import annotations

from typing import NamedTuple

from app.core.estimates import Assumption, Basis, Interval, MemoryEstimate, MemoryPart
from app.core.units import GIB, Number

ALLOCATED, RESERVED, PROCESS = 0, 1, 2
"""Whose figure first counts a term: the allocator's peak, the allocator's pool, or the whole process."""


class Term(NamedTuple):
    """One term in bytes; `below` and `above` are the relative distances of the 5th and 95th percentile."""

    part: str
    size: Number
    basis: Basis
    formula: str
    below: float
    above: float
    scope: int = ALLOCATED


class Reserve(NamedTuple):
    """KV cache as the engine lays it out."""

    kv_reserved: Number = 0.0
    kv_bytes_per_token: Number = 0.0
    state_bytes_per_sequence: Number = 0.0


NO_RESERVE = Reserve()


class Sums(NamedTuple):
    """Terms added up, GiB; `held`, `under` and `over` by scope, each without the scopes inside it."""

    parts: dict[str, Number]
    expected: Number
    held: list[Number]
    under: list[Number]
    over: list[Number]
    low: Number
    high: Number
    margin: Number


def sums(terms: list[Term], widen: float = 0.0) -> Sums:
    """Add terms up: parts of one name are merged and sum to `expected` exactly; see `assemble`."""
    parts: dict[str, Number] = {}
    # One sum, distance below and distance above for each scope; scopes nest, so they add up at the end.
    held: list[Number] = [0.0, 0.0, 0.0]
    under: list[Number] = [0.0, 0.0, 0.0]
    over: list[Number] = [0.0, 0.0, 0.0]
    for part, size, _, _, below, above, scope in terms:
        gib = size / GIB
        held[scope] = held[scope] + gib
        under[scope] = under[scope] + gib * below
        over[scope] = over[scope] + gib * above
        parts[part] = parts[part] + gib if part in parts else gib
    expected: Number = 0.0
    for gib in parts.values():
        expected = expected + gib
    margin = widen * expected
    low = expected - (under[ALLOCATED] + under[RESERVED]) - under[PROCESS] - margin
    high = expected + (over[ALLOCATED] + over[RESERVED]) + over[PROCESS] + margin
    return Sums(parts, expected, held, under, over, low, high, margin)


def assemble(
    terms: list[Term],
    reserve: Reserve = NO_RESERVE,
    assumptions: tuple[Assumption, ...] = (),
    widen: float = 0.0,
) -> MemoryEstimate:
    """Add terms up to one estimate.

    Parameters
    ----------
    terms: sizes in bytes per GPU; scalars or arrays of one shape.
    reserve: KV layout of the engine, bytes.
    assumptions: defaults that were used.
    widen: further relative half-width of the whole, for assumed dimensions.

    Returns
    -------
    The estimate in GiB; parts of one name are merged and sum to `per_gpu_gib.expected` exactly.

    Notes
    -----
    The distances of the terms add linearly: the errors of one framework go the same way in all of them.
    """
    parts, expected, held, under, over, low, high, margin = sums(terms, widen)
    sources: dict[str, tuple[Basis, str]] = {}
    for term in terms:
        sources.setdefault(term.part, (term.basis, term.formula))
    allocated = held[ALLOCATED]
    reserved = allocated + held[RESERVED]
    below_reserved = under[ALLOCATED] + under[RESERVED]
    above_reserved = over[ALLOCATED] + over[RESERVED]
    return MemoryEstimate(
        Interval(low, expected, high),
        Interval(allocated - under[ALLOCATED] - margin, allocated, allocated + over[ALLOCATED] + margin),
        Interval(reserved - below_reserved - margin, reserved, reserved + above_reserved + margin),
        tuple([MemoryPart(name, gib, *sources[name]) for name, gib in parts.items()]),
        reserve.kv_reserved / GIB,
        reserve.kv_bytes_per_token,
        reserve.state_bytes_per_sequence,
        assumptions=assumptions,
    )


def parts_of(terms: list[Term]) -> dict[str, Number]:
    """Every part in GiB; of a traced run each with its formula.

    Notes
    -----
    A part that several terms make up is their sum; a term that nothing entered is a figure of its own.
    """
    found: dict[str, Number] = {}
    for term in terms:
        gib = term.size / GIB
        found[term.part] = found[term.part] + gib if term.part in found else gib
    return found
