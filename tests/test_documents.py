"""What the documents say of the program: modules that exist, a map that is whole, enforced arrows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_architecture import LAYERS, WIRING

ROOT = Path(__file__).resolve().parent.parent
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
DOCUMENTS = ("docs/architecture.md", "docs/adding.md", "CONTRIBUTING.md")
_PLACE = re.compile(
    r"`((?:app|tests|docs|seed_data|migrations|templates|locales|static)/[\w./-]*|[\w]+\.(?:md|csv|jsonl))`"
)
_ARROW = re.compile(r"^\| `(\w+)` \| (.*) \|$", re.MULTILINE)
_MAP_LINE = re.compile(r"^( *)([\w/]+(?:\.py)?/?)(?= |$)")


def mapped() -> set[str]:
    """Paths that the map names: entries of its lines, by their indentation, and modules in their words."""
    found: set[str] = set()
    folders: list[str] = []
    for line in ARCHITECTURE.split("```")[1].strip().splitlines():
        entry = _MAP_LINE.match(line)
        assert entry, line
        depth = len(entry[1]) // 2
        folders = folders[:depth]
        found.add("".join((*folders, entry[2])))
        beside = "".join(folders) if not entry[2].endswith("/") else "".join((*folders, entry[2]))
        found |= {
            f"{beside}{name}"
            for name in re.findall(r"\b(\w+\.py)\b", line[entry.end() :])
            if (ROOT / beside / name).exists()
        }
        if entry[2].endswith("/"):
            folders.append(entry[2])
    return found


def test_every_place_on_the_map_exists() -> None:
    missing = [path for path in mapped() if not (ROOT / path).exists()]
    assert missing == []


def test_every_layer_and_every_folder_of_the_core_and_the_catalogue_stands_on_the_map() -> None:
    named = mapped()
    app = ROOT / "app"
    for path in app.iterdir():
        if path.name in ("__init__.py", "__pycache__", "_data"):
            continue
        assert f"app/{path.name}" + "/" * path.is_dir() in named, path.name
    for layer in ("core", "catalog"):
        for path in (app / layer).iterdir():
            if path.is_dir() and path.name != "__pycache__":
                assert f"app/{layer}/{path.name}/" in named, path.name


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_place_that_a_document_names_exists(name: str) -> None:
    places = _PLACE.findall((ROOT / name).read_text(encoding="utf-8"))
    assert places
    missing = [
        place
        for place in places
        if not any((base / place).exists() for base in (ROOT, ROOT / "docs", ROOT / "seed_data"))
    ]
    assert missing == []


def test_the_documented_arrows_are_the_enforced_ones() -> None:
    documented = {
        layer: frozenset(re.findall(r"`(\w+)`", row)) for layer, row in _ARROW.findall(ARCHITECTURE)
    }
    assert documented == LAYERS
    assert all(f"`{module}`" in ARCHITECTURE for module in WIRING - {"__init__"})


def test_the_readmes_link_the_documents() -> None:
    for name in ("README.md", "README.zh-CN.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for target in ("docs/architecture.md", "docs/adding.md", "CONTRIBUTING.md"):
            assert f"]({target})" in text, f"{name} does not link {target}"
