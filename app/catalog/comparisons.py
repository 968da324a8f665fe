"""Frozen comparisons: a decision kept whole, found by an unguessable token of which a hash is stored."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, Text, cast, func, select

from app.catalog.db import session, utc_now
from app.catalog.tables import ComparisonRow

MAX_TOKEN = 100


class ComparisonNotFound(LookupError):
    """Unknown, deleted or expired: the asker is not told which."""


class WrongManageToken(PermissionError):
    """The token that shows a comparison does not delete it."""


@dataclass(frozen=True, slots=True)
class NewComparison:
    """The two tokens of a comparison just frozen; neither is kept."""

    token: str
    manage_token: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A frozen decision as it was computed."""

    title: str
    question: Mapping[str, Any]
    result: Mapping[str, Any]
    as_of: str
    engine_version: str
    catalog_version: str
    digest: str
    """SHA-256 of question and result as canonical JSON."""
    created_at: datetime
    expires_at: datetime | None


def _new_token() -> str:
    """A name that nobody guesses, and that a command line does not take for an option."""
    token = secrets.token_urlsafe(16)
    return f"c{token[1:]}" if token.startswith("-") else token


def create_comparison(
    engine: Engine,
    question: Mapping[str, Any],
    result: Mapping[str, Any],
    *,
    as_of: str,
    engine_version: str,
    catalog_version: str,
    title: str = "",
    expires_at: datetime | None = None,
) -> NewComparison:
    """Freeze a decision in one insert.

    Parameters
    ----------
    question, result: what was asked and the full answer, with its prices and the codes of its reasons.
    expires_at: with a zone; None keeps it until it is deleted.

    Errors
    ------
    ValueError when question or result hold what JSON cannot (NaN, infinities); DatabaseProblem.
    """
    digest = content_digest(question, result)
    made = NewComparison(_new_token(), secrets.token_urlsafe(16))
    with session(engine, write=True) as active:
        active.add(
            ComparisonRow(
                id=row_id(made.token),
                manage_hash=_hash(made.manage_token),
                title=title,
                question=dict(question),
                result=dict(result),
                as_of=as_of,
                engine_version=engine_version,
                catalog_version=catalog_version,
                digest=digest,
                created_at=utc_now(),
                expires_at=expires_at,
            )
        )
    return made


def size_of_all(engine: Engine) -> int:
    """Bytes of the questions and answers that are kept, about."""
    found = ComparisonRow.__table__.c  # type: ignore[attr-defined]
    size = func.sum(func.length(cast(found.result, Text)) + func.length(cast(found.question, Text)))
    with session(engine) as active:
        return int(active.execute(select(size)).scalar() or 0)


def get_comparison(engine: Engine, token: str, now: datetime | None = None) -> Comparison:
    """A comparison by its token. One SELECT, whatever the answer.

    Errors
    ------
    ComparisonNotFound when it is unknown, deleted or expired.
    """
    with session(engine) as active:
        row = active.get(ComparisonRow, row_id(token))
    if row is None or not _alive(row, now):
        raise ComparisonNotFound
    return Comparison(
        row.title,
        row.question,
        row.result,
        row.as_of,
        row.engine_version,
        row.catalog_version,
        row.digest,
        row.created_at,
        row.expires_at,
    )


def delete_comparison(engine: Engine, token: str, manage_token: str, now: datetime | None = None) -> None:
    """Delete a comparison for good: its content goes, a mark stays.

    Errors
    ------
    ComparisonNotFound as in `get_comparison`; WrongManageToken.
    """
    with session(engine, write=True) as active:
        row = active.get(ComparisonRow, row_id(token))
        # Compared even where there is no row: the answer takes the same time.
        right = secrets.compare_digest(row.manage_hash if row else _hash(""), _hash(manage_token))
        if row is None or not _alive(row, now):
            raise ComparisonNotFound
        if not right:
            raise WrongManageToken
        row.deleted = True
        row.title, row.question, row.result = "", {}, {}
        active.add(row)


def row_id(token: str) -> str:
    """Key of the row of a token: a stolen backup reveals no link."""
    hashed = hashlib.sha256(token[:MAX_TOKEN].encode("utf-8", "surrogatepass")).digest()
    return base64.urlsafe_b64encode(hashed).decode("ascii")[:22]


def content_digest(question: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """SHA-256 of a decision as canonical JSON."""
    content = json.dumps([question, result], sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def _hash(token: str) -> str:
    return hashlib.sha256(token[:MAX_TOKEN].encode("utf-8", "surrogatepass")).hexdigest()


def _alive(row: ComparisonRow, now: datetime | None) -> bool:
    return not row.deleted and (row.expires_at is None or (now or utc_now()) < row.expires_at)
