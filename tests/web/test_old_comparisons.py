"""A comparison that the first version of the program stored opens in this one, every figure as it was."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.catalog.comparisons import create_comparison
from app.main import create_app
from app.services.answers import as_json, canonical, load
from app.services.results import ShortlistAnswer
from app.settings import Settings
from tests.conftest import ROOT

STORED: dict[str, Any] = json.loads((ROOT / "tests/data/frozen_version_1.json").read_text(encoding="utf-8"))
MESSAGE = {"code", "params"}


def is_said(code: str, text: str) -> bool:
    return bool(text) and text != code.replace("_", " ")


def differences(stored: Any, shown: Any, at: str = "") -> Iterator[str]:
    """Where an answer has another figure than was stored, or no sentence for a code."""
    if isinstance(stored, dict) and stored.keys() == MESSAGE:
        if not is_said(stored["code"], shown["text"] if isinstance(shown, dict) else shown):
            yield f"{at}: {stored['code']} is not said"
    elif isinstance(stored, dict | list):
        parts = stored.items() if isinstance(stored, dict) else enumerate(stored)
        for key, value in parts:
            found = part_of(shown, key)
            if key != "winner":
                yield from differences(value, found, f"{at}/{key}")
    elif stored != shown:
        yield f"{at}: {shown} for {stored}"


def part_of(shown: Any, key: Any) -> Any:
    """What an answer has under a name or at a place."""
    try:
        return shown[key]
    except (KeyError, IndexError):
        return "missing"


@pytest.mark.parametrize("language", ["zh", "en"])
def test_each_stored_figure_is_shown_and_each_code_is_said(language: str) -> None:
    answer = load(ShortlistAnswer, STORED["result"])
    assert list(differences(STORED["result"], as_json(answer, language))) == []


def test_what_is_stored_again_is_what_was_stored() -> None:
    once = canonical(load(ShortlistAnswer, STORED["result"]))
    assert canonical(load(ShortlistAnswer, json.loads(json.dumps(once)))) == once


@pytest.mark.parametrize("language", ["zh", "en"])
def test_page_and_api_of_an_old_comparison(seeded_database: Path, tmp_path: Path, language: str) -> None:
    path = tmp_path / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    with TestClient(create_app(Settings(database_url=f"sqlite:///{path}"))) as client:
        made = create_comparison(
            client.app.state.engine,  # type: ignore[attr-defined]
            STORED["question"],
            STORED["result"],
            as_of=STORED["result"]["as_of"],
            engine_version="1.0.0",
            catalog_version=STORED["result"]["versions"]["catalog"],
        )
        page = client.get(f"/c/{made.token}?lang={language}")
        assert page.status_code == 200
        first = STORED["result"]["options"][0]
        assert first["label"] in page.text and f"{first['cost']['total_cny']:,.0f}" in page.text
        shown = client.get(f"/api/v1/comparisons/{made.token}?lang={language}").json()
        assert list(differences(STORED["result"], shown["result"])) == []
        assert client.get(f"/api/v1/comparisons/{made.token}/changes").status_code == 200
        figure = f"/explain?comparison={made.token}&figure=options.0.price.amount_cny"
        assert client.get(figure).status_code == 200
        opened = client.get(f"/c/{made.token}/open", follow_redirects=False)
        assert opened.status_code == 303
