"""Frozen decisions: stored whole with codes and prices, said again per reader, compared with a later day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import Engine

from app import __version__
from app.catalog.comparisons import (
    Comparison,
    ComparisonNotFound,
    WrongManageToken,
    create_comparison,
    delete_comparison,
    get_comparison,
)
from app.catalog.snapshot import Snapshot
from app.core.faults import InputFault
from app.services.calculator import StalePrice, shortlist_result, shown
from app.services.payload import Payload, number
from app.texts.say import say

RESULT_VERSION = 1
"""Of the stored shape; it is added to, never changed."""


class NoSuchComparison(LookupError):
    """Unknown, withdrawn or expired: the asker is not told which."""


class ManageTokenRefused(NoSuchComparison):
    """The comparison is there, the token that deletes it was missing or wrong."""


@dataclass(frozen=True, slots=True)
class Created:
    """A comparison just frozen."""

    id: str
    url: str
    manage_token: str


@dataclass(frozen=True, slots=True)
class Frozen:
    """A stored comparison and the token that found it."""

    id: str
    stored: Comparison

    @property
    def digest(self) -> str:
        """SHA-256 of question and result."""
        return self.stored.digest


def freeze(engine: Engine, snapshot: Snapshot, data: object, today: date) -> Created:
    """Compute a shortlist and store it with its question, prices and versions.

    Errors
    ------
    InputFault, StalePrice as for a shortlist; DatabaseProblem when it cannot be stored.
    """
    result = shortlist_result(data, snapshot, today, titled=True)
    body: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
    title = str(body.get("title") or "").strip()
    # The day is part of the decision: without it the question could not be asked again as it was.
    question = {**{k: v for k, v in body.items() if k != "title"}, "as_of": result["as_of"]}
    made = create_comparison(
        engine,
        question,
        {**result, "version": RESULT_VERSION},
        as_of=result["as_of"],
        engine_version=__version__,
        catalog_version=snapshot.version,
        title=title,
    )
    return Created(made.token, f"/c/{made.token}", made.manage_token)


def open_comparison(engine: Engine, token: str) -> Frozen:
    """A comparison by its token; NoSuchComparison when there is none, or no longer."""
    try:
        return Frozen(token, get_comparison(engine, token))
    except ComparisonNotFound as missing:
        raise NoSuchComparison(token) from missing


def withdraw(engine: Engine, token: str, manage_token: str) -> None:
    """Delete a comparison; NoSuchComparison for an unknown one, ManageTokenRefused for a wrong token."""
    try:
        delete_comparison(engine, token, manage_token)
    except ComparisonNotFound as missing:
        raise NoSuchComparison(token) from missing
    except WrongManageToken as refused:
        raise ManageTokenRefused(token) from refused


def show(frozen: Frozen, snapshot: Snapshot, language: str, currency: str = "CNY") -> Payload:
    """A comparison as it was computed, its sentences in a language."""
    stored = frozen.stored
    return {
        "id": frozen.id,
        "url": f"/c/{frozen.id}",
        "title": stored.title,
        "created_at": stored.created_at.isoformat(timespec="seconds"),
        "expires_at": stored.expires_at.isoformat(timespec="seconds") if stored.expires_at else None,
        "as_of": stored.as_of,
        "digest": stored.digest,
        "question": dict(stored.question),
        "result": shown(dict(stored.result), snapshot, language, currency),
        "versions": {"engine": stored.engine_version, "catalog": stored.catalog_version},
    }


def changes(frozen: Frozen, snapshot: Snapshot, today: date, language: str) -> Payload:
    """The frozen question asked again on a later day: what moved, and whether the order is another one."""
    stored = frozen.stored
    question = {**stored.question, "as_of": today.isoformat()}
    body: Payload = {
        "id": frozen.id,
        "then": {"as_of": stored.as_of, "catalog": stored.catalog_version, "engine": stored.engine_version},
        "now": {"as_of": today.isoformat(), "catalog": snapshot.version, "engine": __version__},
        "versions": {
            "then": {"engine": stored.engine_version, "catalog": stored.catalog_version},
            "now": {"engine": __version__, "catalog": snapshot.version},
        },
        "prices": [],
        "options": [],
        "entered": [],
        "left": [],
        "order_changed": False,
        "first_changed": False,
        "cannot_repeat": [],
    }
    try:
        now = shortlist_result(question, snapshot, today)
    except InputFault as fault:
        # A card or model that the question names has since left the catalogue.
        body["cannot_repeat"] = [{"code": e.code, "params": dict(e.params)} for e in fault.errors]
        return _in(body, language)
    except StalePrice as stale:
        body["cannot_repeat"] = [{"code": stale.message.code, "params": dict(stale.message.params)}]
        return _in(body, language)
    before, after = _by_key(stored.result), _by_key(now)
    body["prices"] = [
        _price_change(before[key], after[key])
        for key in before
        if key in after and _facts(before[key]) != _facts(after[key])
    ]
    body["options"] = [_option_change(before[key], after[key]) for key in before if key in after]
    body["entered"] = [_named(after[key]) for key in after if key not in before]
    body["left"] = [_named(before[key]) for key in before if key not in after]
    body["order_changed"] = list(before) != list(after)
    body["first_changed"] = next(iter(before), None) != next(iter(after), None)
    return _in(body, language)


def _in(body: Payload, language: str) -> Payload:
    said: Payload = say(body, language)
    return said


Key = tuple[str, int, str]


def _by_key(result: Mapping[str, Any]) -> dict[Key, Mapping[str, Any]]:
    """Options by what makes them the same option on another day, in their order."""
    return {(o["gpu"]["id"], o["count"], o["condition"]): o for o in result["options"]}


def _named(option: Mapping[str, Any]) -> Payload:
    return {
        "label": option["label"],
        "gpu": option["gpu"],
        "count": option["count"],
        "condition": option["condition"],
        "rank": option["rank"],
    }


def _price_change(before: Mapping[str, Any], after: Mapping[str, Any]) -> Payload:
    old, new = before["price"], after["price"]
    return {
        **_named(after),
        "then": _facts(before),
        "now": _facts(after),
        "change_fraction": number(new["amount_cny"] / old["amount_cny"] - 1.0) if old["amount_cny"] else None,
    }


def _facts(option: Mapping[str, Any]) -> Payload:
    """What makes a price another one: a later day alone can make it stale."""
    price = option["price"]
    return {k: price[k] for k in ("amount", "currency", "amount_cny", "observed_on", "stale", "kind")}


def _option_change(before: Mapping[str, Any], after: Mapping[str, Any]) -> Payload:
    return {
        "label": after["label"],
        "gpu": after["gpu"],
        "count": after["count"],
        "condition": after["condition"],
        "rank": {"then": before["rank"], "now": after["rank"]},
        "total_cny": {"then": before["cost"]["total_cny"], "now": after["cost"]["total_cny"]},
        "speed": {"then": before["speed"]["expected"], "now": after["speed"]["expected"]},
        "verdict": {"then": before["fit"]["verdict"], "now": after["fit"]["verdict"]},
    }
