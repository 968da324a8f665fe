"""Frozen decisions: stored whole with codes and prices, said again per reader, compared with a later day."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
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
    size_of_all,
)
from app.catalog.snapshot import Snapshot
from app.core.answer import number
from app.core.decide.options import Option
from app.core.estimates import Message
from app.core.faults import InputFault
from app.services.answers import canonical, load
from app.services.body_values import storable_body
from app.services.calculator import StalePrice, shortlist
from app.services.results import (
    BothVersions,
    ChangesAnswer,
    Created,
    FigureThenNow,
    FrozenAnswer,
    Moment,
    OptionChange,
    OptionNamed,
    PriceChange,
    PriceFacts,
    RankThenNow,
    ShortlistAnswer,
    VerdictThenNow,
    Versions,
)

MAX_BYTES = 8_000_000
"""Of one comparison, as JSON, with the formulas behind its figures; most have a tenth of it."""
MAX_BYTES_OF_ALL = 1_000_000_000
RESULT_VERSION = 1
"""Of the stored shape; it is added to, never changed."""


class NoSuchComparison(LookupError):
    """Unknown, withdrawn or expired: the asker is not told which."""


class ManageTokenRefused(NoSuchComparison):
    """The comparison is there, the token that deletes it was missing or wrong."""


@dataclass(frozen=True)
class Frozen:
    """A stored comparison and the token that found it."""

    id: str
    stored: Comparison

    @property
    def digest(self) -> str:
        """SHA-256 of question and result."""
        return self.stored.digest

    @cached_property
    def result(self) -> ShortlistAnswer:
        """The answer as it was stored, whichever version of the program stored it."""
        return load(ShortlistAnswer, self.stored.result)


def freeze(engine: Engine, snapshot: Snapshot, data: object, today: date) -> Created:
    """Compute a shortlist and store it with its question, prices and versions.

    Errors
    ------
    InputFault, StalePrice as for a shortlist; DatabaseProblem when it cannot be stored.
    """
    result = shortlist(data, snapshot, today, titled=True, with_formulas=True)
    body: Mapping[str, Any] = storable_body(data) if isinstance(data, Mapping) else {}
    title = str(body.get("title") or "").strip()
    # The day is part of the decision: without it the question could not be asked again as it was.
    question = {**{k: v for k, v in body.items() if k != "title"}, "as_of": result.as_of}
    stored = canonical(replace(result, version=RESULT_VERSION))
    size = len(json.dumps([question, stored], ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise InputFault.at("", "comparison_too_large", limit=MAX_BYTES)
    if size_of_all(engine) + size > MAX_BYTES_OF_ALL:
        raise InputFault.at("", "comparisons_too_large", limit=MAX_BYTES_OF_ALL)
    made = create_comparison(
        engine,
        question,
        stored,
        as_of=result.as_of,
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


def show(frozen: Frozen, with_formulas: bool = False) -> FrozenAnswer:
    """A comparison as it was computed."""
    stored = frozen.stored
    return FrozenAnswer(
        id=frozen.id,
        url=f"/c/{frozen.id}",
        title=stored.title,
        created_at=stored.created_at.isoformat(timespec="seconds"),
        expires_at=stored.expires_at.isoformat(timespec="seconds") if stored.expires_at else None,
        as_of=stored.as_of,
        digest=stored.digest,
        question=stored.question,
        result=frozen.result if with_formulas else frozen.result.without_formulas(),
        versions=Versions(stored.engine_version, stored.catalog_version),
    )


def changes(frozen: Frozen, snapshot: Snapshot, today: date) -> ChangesAnswer:
    """The frozen question asked again on a later day: what moved, and whether the order is another one."""
    stored = frozen.stored
    question = {**stored.question, "as_of": today.isoformat()}
    answer = ChangesAnswer(
        id=frozen.id,
        then=Moment(stored.as_of, stored.catalog_version, stored.engine_version),
        now=Moment(today.isoformat(), snapshot.version, __version__),
        versions=BothVersions(
            Versions(stored.engine_version, stored.catalog_version), Versions.of(snapshot.version)
        ),
    )
    try:
        now = shortlist(question, snapshot, today)
    except InputFault as fault:
        # A card or model that the question names has since left the catalogue.
        return replace(answer, cannot_repeat=tuple(Message(e.code, e.params) for e in fault.errors))
    except StalePrice as stale:
        return replace(answer, cannot_repeat=(stale.message,))
    before, after = _by_key(frozen.result), _by_key(now)
    both = [key for key in before if key in after]
    return replace(
        answer,
        prices=tuple(
            _price_change(before[key], after[key])
            for key in both
            if _facts(before[key]) != _facts(after[key])
        ),
        options=tuple(_option_change(before[key], after[key]) for key in both),
        entered=tuple(_named(after[key]) for key in after if key not in before),
        left=tuple(_named(before[key]) for key in before if key not in after),
        order_changed=list(before) != list(after),
        first_changed=next(iter(before), None) != next(iter(after), None),
    )


Key = tuple[str, int, str]


def _by_key(result: ShortlistAnswer) -> dict[Key, Option]:
    """Options by what makes them the same option on another day, in their order."""
    return {(o.gpu.id, o.count, o.condition): o for o in result.options}


def _named(option: Option) -> OptionNamed:
    return OptionNamed(option.label, option.gpu, option.count, option.condition, option.rank)


def _price_change(before: Option, after: Option) -> PriceChange:
    then, now = _facts(before), _facts(after)
    return PriceChange(
        label=after.label,
        gpu=after.gpu,
        count=after.count,
        condition=after.condition,
        rank=after.rank,
        then=then,
        now=now,
        change_fraction=now.amount_cny / then.amount_cny - 1.0 if then.amount_cny else None,
    )


def _facts(option: Option) -> PriceFacts:
    """Amounts as they are stored: a digit that is not written is no change."""
    price = option.price
    amount, amount_cny = number(price.amount) or 0.0, number(price.amount_cny) or 0.0
    return PriceFacts(amount, price.currency, amount_cny, price.observed_on, price.stale, price.kind)


def _option_change(before: Option, after: Option) -> OptionChange:
    return OptionChange(
        label=after.label,
        gpu=after.gpu,
        count=after.count,
        condition=after.condition,
        rank=RankThenNow(before.rank, after.rank),
        total_cny=FigureThenNow(before.cost.total_cny, after.cost.total_cny),
        speed=FigureThenNow(_scalar(before.speed.expected), _scalar(after.speed.expected)),
        verdict=VerdictThenNow(before.fit.verdict, after.fit.verdict),
    )


def _scalar(value: Any) -> float:
    return float("nan") if value is None else float(value)
