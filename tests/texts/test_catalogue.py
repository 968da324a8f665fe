"""The catalogue has every text of the sources, translated, and none that they lost."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

from app.texts.extraction import python
from tests.conftest import ROOT

PO = ROOT / "locales" / "zh_CN" / "LC_MESSAGES" / "cardworth.po"
MARKS = ["-k", "N_", "-k", "NP_:1c,2", "-k", "_", "-k", "gettext", "-k", "ngettext:1,2"]
Key = tuple[str | None, str]


def key(context: str | None, text: str | tuple[str, ...]) -> Key:
    return context, text if isinstance(text, str) else text[0]


def read(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale="zh_CN")


def extracted(path: Path) -> set[Key]:
    command = [
        "-c",
        "from babel.messages.frontend import main; main()",
        "-q",
        "extract",
        "-F",
        "babel.toml",
        *MARKS,
    ]
    subprocess.run([sys.executable, *command, "-o", path, "app", "templates"], cwd=ROOT, check=True)
    return {key(m.context, m.id) for m in read(path) if m.id}


def test_nothing_is_missing_fuzzy_or_obsolete(tmp_path: Path) -> None:
    wanted, catalogue = extracted(tmp_path / "cardworth.pot"), read(PO)
    known = {key(m.context, m.id): m for m in catalogue if m.id}
    assert len(wanted) > 2000
    assert sorted(wanted - set(known), key=str) == [], "run `make texts` and translate what is new"
    assert sorted(set(known) - wanted, key=str) == [], "run `make texts`: the sources have lost these"
    strings = {k: (m.string,) if isinstance(m.string, str) else tuple(m.string) for k, m in known.items()}
    assert [k for k, found in strings.items() if not found or not all(found)] == []
    assert [k for k, m in known.items() if m.fuzzy] == []
    assert not catalogue.obsolete


def test_each_language_has_one_catalogue() -> None:
    assert sorted(path.name for path in (ROOT / "locales").rglob("*.po")) == ["cardworth.po"]


def test_the_marks_of_the_makefile_are_those_tried_here() -> None:
    assert " ".join(MARKS) in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_extraction_reads_marks_carriers_and_f_strings() -> None:
    source = """
N_("marked"); NP_("note", "in context"); page._("by a method"); ngettext("%(n)s card", "%(n)s cards", n)
f"{_('inside an f-string')} {figure}"
Formula("x", "Title", "a + b", "GiB", "exact", validity="always")
AppError(404, "gone", "Gone", detail="It went.")
_(variable)
"""
    ast.parse(source)
    found = [text for _, _, text, _ in python(io.BytesIO(source.encode()), {}, (), {})]
    assert set(found) == {
        "marked",
        ("note", "in context"),
        "by a method",
        ("%(n)s card", "%(n)s cards"),
        "inside an f-string",
        "Title",
        "a + b",
        "always",
        "Gone",
        "It went.",
    }
