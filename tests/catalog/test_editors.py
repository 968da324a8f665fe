"""Editors, their passwords and their sessions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, text

from app.catalog import access
from app.catalog.access import (
    EditorRefused,
    Lifetime,
    PasswordRefused,
    authenticate,
    create_editor,
    create_key,
    editor_of_session,
    end_session,
    hash_password,
    is_outdated,
    list_editors,
    revoke_key,
    set_disabled,
    set_password,
    start_session,
    verify_password,
)
from app.catalog.changes import Author, ChangeRefused, history, undo
from app.catalog.db import create_engine_from_url, upgrade, utc_now
from app.catalog.importing import ImportOptions, import_items
from app.catalog.snapshot_load import load_snapshot
from tests.cheap_hashes import cheap_hashes

PASSWORD = "four words in a row"
WORKDAY = Lifetime(timedelta(hours=2), timedelta(hours=12))


@pytest.fixture
def cheap() -> Iterator[None]:
    with cheap_hashes():
        yield


def later(monkeypatch: pytest.MonkeyPatch, **step: float) -> None:
    now = utc_now() + timedelta(**step)
    monkeypatch.setattr(access, "utc_now", lambda: now)


def test_the_hash_is_argon2id_with_the_published_parameters() -> None:
    # RFC 9106, section 4, second recommended option: t=3, p=4, m=64 MiB, 128-bit salt, 256-bit tag.
    kept = hash_password(PASSWORD)
    kind, version, parameters, salt, tag = kept.split("$")[1:]
    assert (kind, version, parameters) == ("argon2id", "v=19", "m=65536,t=3,p=4")
    # Base64 without padding: 16 bytes are 22 characters, 32 bytes 43.
    assert (len(salt), len(tag)) == (22, 43)
    assert kept != hash_password(PASSWORD) and PASSWORD not in kept
    assert verify_password(kept, PASSWORD)
    assert not verify_password(kept, PASSWORD + " ") and not is_outdated(kept)


@pytest.mark.usefixtures("cheap")
def test_a_password_is_the_same_whatever_keyboard_wrote_it() -> None:
    kept = hash_password("caf\u00e9 \uff21 four words")
    assert verify_password(kept, "cafe\u0301 A four words")
    assert not verify_password(kept, "cafe A four words")
    assert not verify_password(kept, "x" * 1_000_000) and not verify_password("broken", PASSWORD)
    assert not verify_password(kept, "\ud800" * 20)


@pytest.mark.parametrize(
    ("password", "code"),
    [
        ("", "password_short"),
        ("14 characters!", "password_short"),
        ("x" * 257, "password_long"),
        ("a" * 20, "password_is_name"),
        ("LIN  Xiao the editor", "password_is_name"),
    ],
)
def test_passwords_that_are_refused(engine: Engine, password: str, code: str) -> None:
    with pytest.raises(PasswordRefused) as refused:
        create_editor(engine, "Lin Xiao the Editor", password)
    assert refused.value.code == code
    assert list_editors(engine) == []


@pytest.mark.parametrize("name", ["", " ", "buyer (ab12cd)", "a\x00b", "x" * 65, "Seed", "a\nb(c", "\ud800"])
def test_names_that_are_refused(engine: Engine, name: str) -> None:
    with pytest.raises(EditorRefused, match="name_not_allowed"):
        create_editor(engine, name, PASSWORD)


@pytest.mark.usefixtures("cheap")
def test_an_editor_signs_in_by_name_and_password(engine: Engine) -> None:
    assert list_editors(engine) == []
    made = create_editor(engine, "林晓", PASSWORD, ("admin",))
    assert made.allows("read") and made.allows("write") and made.allows("admin")
    assert not create_editor(engine, "Reader", PASSWORD, ("read",)).allows("write")
    with pytest.raises(EditorRefused, match="name_taken"):
        create_editor(engine, " reader ", PASSWORD)
    assert authenticate(engine, "林晓", PASSWORD) == made
    assert authenticate(engine, " READER", PASSWORD) is not None
    for name, password in (("林晓", "wrong"), ("nobody", PASSWORD), ("a\x00", PASSWORD), ("\ud800", "")):
        assert authenticate(engine, name, password) is None
    with engine.connect() as connection:
        row = connection.execute(text("SELECT * FROM editor ORDER BY name")).first()
    assert row is not None and PASSWORD not in str(row)


@pytest.mark.usefixtures("cheap")
def test_a_disabled_editor_is_out_at_once_and_may_be_let_in_again(engine: Engine) -> None:
    made = create_editor(engine, "buyer", PASSWORD)
    token = start_session(engine, made.id, WORKDAY)
    set_disabled(engine, "Buyer", True)
    assert editor_of_session(engine, token, WORKDAY) is None
    assert authenticate(engine, "buyer", PASSWORD) is None
    set_disabled(engine, "buyer", False)
    assert authenticate(engine, "buyer", PASSWORD) is not None
    # What was ended stays ended.
    assert editor_of_session(engine, token, WORKDAY) is None
    with pytest.raises(EditorRefused, match="unknown_editor"):
        set_disabled(engine, "nobody", True)


@pytest.mark.usefixtures("cheap")
def test_another_password_ends_every_session(engine: Engine) -> None:
    made = create_editor(engine, "buyer", PASSWORD)
    tokens = [start_session(engine, made.id, WORKDAY) for _ in range(2)]
    assert all(editor_of_session(engine, token, WORKDAY) for token in tokens)
    set_password(engine, "buyer", "five words in one row")
    assert not any(editor_of_session(engine, token, WORKDAY) for token in tokens)
    assert authenticate(engine, "buyer", PASSWORD) is None
    assert authenticate(engine, "buyer", "five words in one row") is not None


def test_a_hash_with_older_parameters_is_renewed_at_sign_in(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "PASSES", 1)
    access._hasher.cache_clear()
    create_editor(engine, "buyer", PASSWORD)
    monkeypatch.undo()
    access._hasher.cache_clear()

    def kept() -> str:
        with engine.connect() as connection:
            return str(connection.execute(text("SELECT password_hash FROM editor")).scalar())

    assert "t=1" in kept()
    assert authenticate(engine, "buyer", "wrong") is None and "t=1" in kept()
    assert authenticate(engine, "buyer", PASSWORD) is not None and "t=3" in kept()
    assert authenticate(engine, "buyer", PASSWORD) is not None


def test_an_unknown_name_costs_as_many_hashes_as_a_known_one(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_editor(engine, "buyer", PASSWORD)
    set_disabled(engine, "buyer", True)
    create_editor(engine, "keeper", PASSWORD)
    verify_password(None, PASSWORD)  # The hash of nobody is made once.
    hashes = 0
    real = access._hasher().verify

    class Counting:
        def verify(self, kept: str, password: bytes) -> bool:
            nonlocal hashes
            hashes += 1
            assert kept.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
            return bool(real(kept, password))

    monkeypatch.setattr(access, "_hasher", Counting)
    for name in ("keeper", "buyer", "nobody", "a (b)"):
        hashes = 0
        assert authenticate(engine, name, "not the password") is None
        assert hashes == 1, name


@pytest.mark.usefixtures("cheap")
def test_only_a_digest_of_the_token_is_kept(engine: Engine) -> None:
    made = create_editor(engine, "buyer", PASSWORD)
    token = start_session(engine, made.id, WORKDAY)
    # 32 random bytes in base64.
    assert len(token) == 43
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT * FROM editor_session")).all()
    assert len(rows) == 1 and token not in str(rows)
    assert editor_of_session(engine, rows[0].id, WORKDAY) is None
    for wrong in ("", token[:-1], token + "x", "x" * 5_000, "\ud800"):
        assert editor_of_session(engine, wrong, WORKDAY) is None


@pytest.mark.usefixtures("cheap")
def test_sessions_end_when_idle_and_in_any_case(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    made = create_editor(engine, "buyer", PASSWORD)
    token = start_session(engine, made.id, WORKDAY)
    idle = start_session(engine, made.id, WORKDAY)
    # Used every 110 minutes it lasts; the one that nobody uses is over after two hours.
    for minutes in (110, 220, 330, 440, 550, 660):
        later(monkeypatch, minutes=minutes)
        assert editor_of_session(engine, token, WORKDAY) == made, minutes
    assert editor_of_session(engine, idle, WORKDAY) is None
    later(monkeypatch, minutes=719)
    assert editor_of_session(engine, token, WORKDAY) == made
    later(monkeypatch, minutes=721)
    assert editor_of_session(engine, token, WORKDAY) is None
    # The next sign-in clears away what is over.
    start_session(engine, made.id, WORKDAY)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM editor_session")).scalar() == 1


@pytest.mark.usefixtures("cheap")
def test_signing_in_again_and_signing_out_end_the_token_before(engine: Engine) -> None:
    made = create_editor(engine, "buyer", PASSWORD)
    first = start_session(engine, made.id, WORKDAY)
    second = start_session(engine, made.id, WORKDAY, replaces=first)
    assert second != first
    assert editor_of_session(engine, first, WORKDAY) is None
    assert editor_of_session(engine, second, WORKDAY) == made
    end_session(engine, second)
    end_session(engine, second)
    assert editor_of_session(engine, second, WORKDAY) is None


@pytest.mark.usefixtures("cheap")
def test_a_read_session_writes_at_most_once_a_minute(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    made = create_editor(engine, "buyer", PASSWORD)
    token = start_session(engine, made.id, WORKDAY)
    noted: list[Any] = []
    monkeypatch.setattr(access, "_note_use", lambda *found: noted.append(found))
    started = time.monotonic()
    for _ in range(50):
        assert editor_of_session(engine, token, WORKDAY) == made
    assert time.monotonic() - started < 60 and noted == []
    later(monkeypatch, seconds=61)
    assert editor_of_session(engine, token, WORKDAY) == made
    assert len(noted) == 1


@pytest.mark.usefixtures("cheap")
def test_postgresql_keeps_editors_and_sessions_too(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = create_engine_from_url(postgres_url)
    upgrade(engine)
    try:
        made = create_editor(engine, "林晓", PASSWORD, ("write",))
        assert authenticate(engine, "林晓", PASSWORD) == made
        assert authenticate(engine, "a\x00b", PASSWORD) is None
        token = start_session(engine, made.id, WORKDAY)
        assert editor_of_session(engine, token, WORKDAY) == made
        later(monkeypatch, minutes=119)
        assert editor_of_session(engine, token, WORKDAY) == made
        later(monkeypatch, minutes=237)
        assert editor_of_session(engine, token, WORKDAY) == made
        later(monkeypatch, minutes=721)
        assert editor_of_session(engine, token, WORKDAY) is None
        set_password(engine, "林晓", "five words in one row")
        key = create_key(engine, "script", ("write",), Author("林晓"))
        assert revoke_key(engine, key.id, Author("林晓"))
        assert [(e.who, e.table, e.action) for e in history(engine)] == [
            ("林晓", "api_key", "delete"),
            ("林晓", "api_key", "insert"),
        ]
    finally:
        engine.dispose()


def test_the_log_says_who_made_and_revoked_a_key_and_never_its_secret(engine: Engine) -> None:
    made = create_key(engine, "script", ("write",), Author("林晓", "for the nightly import"))
    assert revoke_key(engine, made.id, Author("林晓")) and not revoke_key(engine, made.id, Author("林晓"))
    revoked, created = history(engine, table="api_key", row_id=made.id)
    assert (created.action, created.after, created.why) == (
        "insert",
        {"name": "script", "scopes": "write"},
        "for the nightly import",
    )
    assert (revoked.action, revoked.after) == ("delete", None)
    assert made.secret not in str((revoked, created))
    # A secret that was shown once cannot come back.
    with pytest.raises(ChangeRefused, match="not_undoable"):
        undo(engine, revoked.id, Author("林晓"))


@pytest.mark.usefixtures("cheap")
def test_the_log_says_who_made_and_disabled_an_editor_and_never_a_hash(engine: Engine) -> None:
    operator = Author("command line: root", "new buyer")
    made = create_editor(engine, "buyer", PASSWORD, ("write",), operator)
    set_password(engine, "buyer", "five words in one row", Author("buyer"))
    for disabled in (True, True, False):
        set_disabled(engine, "buyer", disabled, operator)
    entries = history(engine, table="editor", row_id=made.id)
    assert [(e.who, e.action) for e in reversed(entries)] == [
        ("command line: root", "insert"),
        ("buyer", "update"),
        ("command line: root", "update"),
        ("command line: root", "update"),
    ]
    assert [e.after for e in entries[:2]] == [{"disabled": False}, {"disabled": True}]
    assert "argon2" not in str(entries) and PASSWORD not in str(entries)
    with pytest.raises(ChangeRefused, match="not_undoable"):
        undo(engine, entries[0].id, operator)


def test_taking_back_a_corrected_figure_puts_the_one_before_in_force(seeded: Engine) -> None:
    def chosen() -> tuple[float, str]:
        entry = next(e for e in load_snapshot(seeded).all_figures(card) if e.chosen and e.name == figure)
        return entry.figure.value, entry.id

    first = load_snapshot(seeded)
    card = first.gpus[0].id
    figure = next(e.name for e in first.all_figures(card) if e.chosen and ":" not in e.id)
    before, old_id = chosen()
    row = {
        "gpu_id": card,
        "figure": figure,
        "value": before * 1.01,
        "basis": "exact",
        "as_of": "2026-11-30",
        "source": "A data sheet",
        "supersedes": old_id,
    }
    options = ImportOptions(utc_now().date(), confirm=True)
    report = import_items(seeded, "figures", [row], Author("林晓", "misprint"), options)
    assert report.stored and chosen()[0] == pytest.approx(before * 1.01)
    added = next(e for e in history(seeded, table="gpu_figure") if e.action == "insert")
    undo(seeded, added.id, Author("林晓", "it was none"))
    assert chosen() == (before, old_id)
    undone = [e for e in history(seeded, table="gpu_figure") if e.action == "undo"]
    assert [e.why for e in undone] == ["it was none"] * 2
