"""The page of a card: how it is built, where it may be bought, notes in the reader's language."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.settings import Settings


@pytest.fixture(scope="module")
def site(seeded_database: Path) -> Iterator[TestClient]:
    path = seeded_database.with_name("card_facts.db")
    shutil.copyfile(seeded_database, path)
    with TestClient(create_app(Settings(database_url=f"sqlite:///{path}"))) as client:
        yield client


def page(site: TestClient, path: str, language: str) -> str:
    answer = site.get(path, headers={"accept-language": language})
    assert answer.status_code == 200
    return answer.text


def test_a_module_is_said_to_be_none_and_its_driver_opens_to_its_source(site: TestClient) -> None:
    build = page(site, "/gpus/h20-96gb", "en").partition('id="build"')[2].partition("</section>")[0]
    assert "sold with a server, not as a card" in build
    assert "535.161.07" in build and "https://github.com/NVIDIA/open-gpu-kernel-modules" in build
    assert "first release that lists NVIDIA H20" in build
    chinese = page(site, "/gpus/h20-96gb", "zh").partition('id="build"')[2].partition("</section>")[0]
    assert "SXM 模组" in chinese and "首个列出 NVIDIA H20 的版本" in chinese
    assert "lists" not in re.sub(r"<a .*?</a>", "", chinese)


def test_remarks_stand_in_the_reader_language_what_decides_first(site: TestClient) -> None:
    english, chinese = (page(site, "/gpus/rtx4090", language) for language in ("en", "zh"))
    assert "Sale to Mainland China needs an export licence." in english
    assert "Reported as out of production." in english and "据报已停产。" in chinese
    assert "受 2023-10-17 规则管制" in chinese and "受 2023-10-17" not in english
    assert english.index("export licence.") < english.index("out of production")
    many = page(site, "/gpus/h20-96gb", "en")
    before, _, folded = many.partition("earlier remarks")
    assert before.count('class="note ') == 5 and "Announced for Mainland China." in folded


def test_cards_can_be_listed_by_how_they_are_built(site: TestClient) -> None:
    modules = page(site, "/gpus?form=SXM+module", "en")
    assert "/gpus/h100-sxm5-80gb" in modules and '"/gpus/h100-pcie-80gb"' not in modules
    rows = site.get("/gpus.csv?form=laptop").text.splitlines()
    assert len(rows) == 1 + 4 and all("laptop" in row for row in rows[1:])


def test_the_api_gives_facts_and_remarks(site: TestClient) -> None:
    card = site.get("/api/v1/gpus/rtx5090d?lang=en").json()
    assert card["form_factor"] == "PCIe card"
    assert card["facts"]["driver_min_linux"]["source"]["id"] == "nvidia-open-gpu-kernel-modules"
    deciding = [r for r in card["remarks"] if r["decides"]]
    assert [(r["region"], r["kind"], r["from"]) for r in deciding] == [("CN", "restricted", "2025-05-08")]
    sold = next(r for r in card["remarks"] if r["kind"] == "sold")
    assert (sold["from"], sold["until"], sold["decides"]) == ("2025-01-30", "2025-05-08", False)
    assert all(r["source"]["url"] and r["read_on"] == "2026-11-30" for r in card["remarks"])
