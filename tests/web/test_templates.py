"""Sources of the pages: nothing inline, nothing marked safe, no word without its translation."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from functools import cache
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

import app.core
from app.core.formulas import FORMULAS
from app.texts.language import translations
from tests.conftest import ROOT

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
PLACEHOLDER = re.compile(r"%\((\w+)\)s|\{(\w+)\}")


@cache
def catalogue() -> Catalog:
    """The Chinese catalogue."""
    with (ROOT / "locales" / "zh_CN" / "LC_MESSAGES" / "cardworth.po").open("rb") as file:
        return read_po(file, locale="zh_CN")


def test_formulas_are_translated() -> None:
    # Modules register their formulas when they are imported.
    for module in pkgutil.walk_packages(app.core.__path__, "app.core."):
        importlib.import_module(module.name)
    texts = {text for f in FORMULAS.values() for text in (f.title, f.validity) if text}
    say = translations("zh").gettext
    assert [text for text in sorted(texts) if say(text) == text] == []


def test_translations_keep_their_placeholders() -> None:
    wrong = []
    for entry in catalogue():
        if entry.id:
            source = entry.id if isinstance(entry.id, str) else entry.id[1]
            target = entry.string if isinstance(entry.string, str) else entry.string[0]
            if set(PLACEHOLDER.findall(source)) != set(PLACEHOLDER.findall(target)):
                wrong.append(source)
    assert wrong == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: str(p.relative_to(ROOT / "templates")))
def test_nothing_inline_and_nothing_marked_safe(path: Any) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\sstyle=|<style|hx-on|javascript:|\son(?!ly)[a-z]+=", text)
    assert not re.search(r"<script(?![^>]*\ssrc=)", text)
    assert not re.search(r"\|\s*safe\b|Markup|autoescape", text)
    assert not re.search(r"(src|href)=\"https?://", text)


def test_no_text_hides_from_extraction_in_an_f_string() -> None:
    for folder in ("web", "charts"):
        for path in (ROOT / "app" / folder).glob("*.py"):
            assert not re.search(
                r"\{(_|gettext|words\.gettext|page\._)\(['\"]", path.read_text(encoding="utf-8")
            ), path.name


def test_code_marks_no_data_as_safe() -> None:
    for path in (ROOT / "app" / "web").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Markup":
                assert all(is_safe(value) for value in node.args), f"{path.name}: {ast.unparse(node)}"


def is_safe(value: ast.expr) -> bool:
    """Text of ours: constant, with holes filled by `escape`, or translated (its variables have a test)."""
    if isinstance(value, ast.Constant):
        return "{" not in str(value.value).replace("{}", "")
    if isinstance(value, ast.JoinedStr):
        holes = [part.value for part in value.values if isinstance(part, ast.FormattedValue)]
        return all(isinstance(hole, ast.Call) and ast.unparse(hole.func) == "escape" for hole in holes)
    return isinstance(value, ast.BinOp) and ast.unparse(value.left).startswith("gettext(")


LONG_LINE = 160
LONG_LINES_LEFT = 331
"""Lines of templates longer than that. Lower it with every one that is broken up; never raise it."""


def test_no_line_of_a_template_grows_long_again() -> None:
    long = {
        str(path.relative_to(ROOT / "templates")): count
        for path in TEMPLATES
        if (count := sum(len(line) > LONG_LINE for line in path.read_text(encoding="utf-8").splitlines()))
    }
    assert sum(long.values()) <= LONG_LINES_LEFT, long
