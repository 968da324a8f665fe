"""Frozen comparisons and API keys: only hashes are kept, and nothing tells what exists."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest
from sqlalchemy import Engine

from app.catalog import db
from app.catalog.access import create_key, list_keys, revoke_key, verify_key
from app.catalog.comparisons import (
    ComparisonNotFound,
    NewComparison,
    WrongManageToken,
    content_digest,
    create_comparison,
    delete_comparison,
    get_comparison,
)
from app.catalog.db import utc_now
from tests.catalog.queries import statements

QUESTION = {"workload": {"model": {"preset": "llama-3.1-8b"}}}
RESULT = {"options": [{"rank": 1, "price": 14999.0, "why": "便宜"}]}


def freeze(engine: Engine, **options: object) -> NewComparison:
    return create_comparison(
        engine,
        QUESTION,
        RESULT,
        as_of="2026-11-30",
        engine_version="0.1.0",
        catalog_version="2026.11-abcdef01",
        **options,  # type: ignore[arg-type]
    )


def stored_bytes(engine: Engine) -> bytes:
    path = db.sqlite_path(engine.url)
    assert path is not None
    with closing(sqlite3.connect(path)) as connection:
        return "\n".join(connection.iterdump()).encode()


def test_a_comparison_comes_back_whole(engine: Engine) -> None:
    found = get_comparison(engine, freeze(engine, title="For the review").token)
    assert (found.question, found.result, found.title) == (QUESTION, RESULT, "For the review")
    assert (found.as_of, found.engine_version, found.catalog_version) == (
        "2026-11-30",
        "0.1.0",
        "2026.11-abcdef01",
    )
    assert found.digest == content_digest(QUESTION, RESULT)
    assert found.expires_at is None and found.created_at.tzinfo is not None


def test_tokens_have_128_bits_and_are_not_stored(engine: Engine) -> None:
    made = freeze(engine)
    assert len(made.token) == len(made.manage_token) == 22
    content = stored_bytes(engine)
    assert made.token.encode() not in content
    assert made.manage_token.encode() not in content


def test_unknown_deleted_and_expired_look_alike(engine: Engine) -> None:
    deleted, expired = freeze(engine), freeze(engine, expires_at=utc_now() - timedelta(seconds=1))
    delete_comparison(engine, deleted.token, deleted.manage_token)
    said = set()
    for token in ("A" * 22, deleted.token, expired.token, "", "x" * 10_000, "\ud800"):
        with pytest.raises(ComparisonNotFound) as caught:
            get_comparison(engine, token)
        said.add(str(caught.value))
    assert said == {""}


def test_an_expiry_is_kept_to_the_moment(engine: Engine) -> None:
    end = utc_now() + timedelta(days=1)
    made = freeze(engine, expires_at=end)
    assert get_comparison(engine, made.token, end - timedelta(seconds=1)).expires_at == end
    with pytest.raises(ComparisonNotFound):
        get_comparison(engine, made.token, end)


def test_only_the_manage_token_deletes(engine: Engine) -> None:
    made = freeze(engine)
    for wrong in (made.token, "", "é", made.manage_token[:-1]):
        with pytest.raises(WrongManageToken):
            delete_comparison(engine, made.token, wrong)
    delete_comparison(engine, made.token, made.manage_token)
    assert "便宜".encode() not in stored_bytes(engine)
    with pytest.raises(ComparisonNotFound):
        delete_comparison(engine, made.token, made.manage_token)


def test_what_a_comparison_costs(engine: Engine) -> None:
    with statements(engine) as sent:
        made = freeze(engine)
    assert len(sent) == 1
    with statements(engine) as sent:
        get_comparison(engine, made.token)
    assert len(sent) == 1


def test_what_json_cannot_hold_is_refused_before_writing(engine: Engine) -> None:
    with pytest.raises(ValueError):
        create_comparison(
            engine, QUESTION, {"x": float("nan")}, as_of="", engine_version="", catalog_version=""
        )


def test_a_key_is_verified_until_it_is_revoked(engine: Engine) -> None:
    made = create_key(engine, "procurement", ("read", "write"))
    assert made.secret.startswith("cwk_") and len(made.secret) >= 40
    assert made.secret.encode() not in stored_bytes(engine)
    key = verify_key(engine, made.secret)
    assert key is not None and key.name == "procurement"
    assert key.allows("write") and not key.allows("admin")
    for wrong in ("", "cwk_", made.secret[:-1], made.secret[4:], "cwk_\ud800"):
        assert verify_key(engine, wrong) is None
    assert revoke_key(engine, made.id)
    assert verify_key(engine, made.secret) is None
    assert not revoke_key(engine, made.id)
    assert [k.revoked_at is None for k in list_keys(engine)] == [False]


def test_an_unknown_scope_is_refused(engine: Engine) -> None:
    with pytest.raises(ValueError, match="read, write, admin"):
        create_key(engine, "x", ("root",))


def test_a_token_is_never_taken_for_an_option(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.catalog.comparisons.secrets.token_urlsafe", lambda size: "-" + "x" * size)
    made = freeze(engine)
    assert not made.token.startswith("-") and get_comparison(engine, made.token).question == QUESTION
