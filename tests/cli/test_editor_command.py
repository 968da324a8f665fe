"""editor on the command line: made, listed, disabled; the password never an argument."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.catalog.db import create_engine_from_url, upgrade
from app.cli import main
from app.services.access import authenticate
from tests.cheap_hashes import cheap_hashes

PASSWORD = "four words in a row"


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    url = f"sqlite:///{tmp_path / 'cardworth.db'}"
    monkeypatch.setenv("CARDWORTH_DATABASE_URL", url)
    made = create_engine_from_url(url)
    upgrade(made)
    with cheap_hashes():
        yield made
    made.dispose()


def run(monkeypatch: pytest.MonkeyPatch, typed: str, *arguments: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    return main(["editor", *arguments])


def test_an_editor_is_made_listed_and_disabled(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, f"{PASSWORD}\n", "add", "林晓", "--scope", "admin") == 0
    assert authenticate(engine, "林晓", PASSWORD) is not None
    assert PASSWORD not in capsys.readouterr().out
    assert run(monkeypatch, "", "add", "buyer", "--generate", "--json") == 0
    made = json.loads(capsys.readouterr().out)
    buyer = authenticate(engine, "buyer", made["password"])
    assert buyer is not None and buyer.scopes == ("write",) and len(made["password"]) == 20
    assert run(monkeypatch, "", "list") == 0
    listed = capsys.readouterr().out
    assert "林晓" in listed and "admin" in listed and "argon2" not in listed
    assert run(monkeypatch, "", "disable", "buyer") == 0
    assert authenticate(engine, "buyer", made["password"]) is None
    assert run(monkeypatch, "", "list", "--json") == 0
    rows = json.loads(capsys.readouterr().out.split("\n", 1)[1])["items"]
    assert [(row["name"], row["disabled_at"] is None) for row in rows] == [("林晓", True), ("buyer", False)]
    assert run(monkeypatch, "", "enable", "buyer") == 0
    assert authenticate(engine, "buyer", made["password"]) is not None
    assert run(monkeypatch, "five words in one row\r\n", "password", "buyer") == 0
    assert authenticate(engine, "buyer", made["password"]) is None
    assert authenticate(engine, "buyer", "five words in one row") is not None


@pytest.mark.parametrize(
    ("typed", "arguments", "said"),
    [
        ("short\n", ("add", "buyer"), "15 characters or more"),
        ("", ("add", "buyer"), "15 characters or more"),
        (f"{PASSWORD}\n", ("add", "buyer (ab)"), "cannot be a name"),
        (f"{PASSWORD}\n", ("password", "nobody"), "There is no editor nobody."),
        ("", ("disable", "nobody"), "There is no editor nobody."),
    ],
)
def test_what_is_refused_is_said(
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: str,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    assert run(monkeypatch, typed, *arguments) == 2
    assert said in capsys.readouterr().err
    assert authenticate(engine, "buyer", PASSWORD) is None


def test_at_a_terminal_the_password_is_typed_twice(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    answers = iter([PASSWORD, "another thing typed", PASSWORD, PASSWORD])
    monkeypatch.setattr("getpass.getpass", lambda *_: next(answers))
    assert main(["editor", "add", "buyer"]) == 2
    assert "differ" in capsys.readouterr().err
    assert main(["editor", "add", "buyer"]) == 0
    assert authenticate(engine, "buyer", PASSWORD) is not None
