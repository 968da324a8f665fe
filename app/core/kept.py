"""Values derived from an immutable object, kept on the object itself: they live and go with it.

Nothing here is global and nothing locks: two threads may derive the same value, and both are right.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Owner = TypeVar("Owner")
Value = TypeVar("Value")
Rest = ParamSpec("Rest")
LIMIT = 256
"""Values of one name on one object; when there are more, all of them are forgotten."""


class Same:
    """An immutable object too large to compare: equal to itself alone, and held as long as it is a key."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value


def keep(owner: object, name: str, key: Hashable, compute: Callable[[], Value], limit: int = LIMIT) -> Value:
    """The value kept on `owner` under a name and a key, or the one computed now.

    Parameters
    ----------
    owner: immutable, of a class without slots. key: everything else that the value depends on.
    """
    place = f"_kept_{name}"
    kept: dict[Hashable, Any] | None = owner.__dict__.get(place)
    if kept is None:
        kept = owner.__dict__[place] = {}
    elif key in kept:
        found: Value = kept[key]
        return found
    value = compute()
    if len(kept) >= limit:
        kept = owner.__dict__[place] = {}
    kept[key] = value
    return value


def derived(
    function: Callable[Concatenate[Owner, Rest], Value],
) -> Callable[Concatenate[Owner, Rest], Value]:
    """A function of an immutable object and a few small values, whose results are kept on the object."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def remembered(owner: Owner, /, *rest: Rest.args, **named: Rest.kwargs) -> Value:
        key = (rest, tuple(sorted(named.items()))) if named else rest
        return keep(owner, name, key, lambda: function(owner, *rest, **named))

    return remembered
