"""Every code that imports, quotes and the change log can give has a sentence in both languages."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from app.texts.language import translations
from app.texts.say import TEMPLATES, say_code

APP = Path(__file__).resolve().parents[2] / "app"
# Which argument of a call holds the code.
CALLS = {"CellFault": 0, "Incomplete": 1, "ImportRefused": 0, "ChangeRefused": 0, "Doubt": 1, "add": 2}
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def codes() -> set[str]:
    found = set()
    for path in [*(APP / "catalog" / "imports").glob("*.py"), *(APP / "catalog").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            at = CALLS.get(name)
            if at is not None and len(node.args) > at:
                argument = node.args[at]
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    found.add(argument.value)
    return found


def test_the_codes_are_found() -> None:
    assert {"ambiguous_date", "source_missing", "zip_bomb", "already_undone", "likely_twd", "lint"} <= codes()
    assert len(codes()) > 50


@pytest.mark.parametrize("code", sorted(codes()))
def test_each_has_a_sentence(code: str) -> None:
    assert code in TEMPLATES, code
    assert CHINESE.search(say_code(code, {}, "zh")), code


@pytest.mark.parametrize("code", sorted(TEMPLATES))
def test_each_sentence_has_a_translation_with_the_same_parameters(code: str) -> None:
    english = TEMPLATES[code]
    chinese = translations("zh").gettext(english)
    assert CHINESE.search(chinese)
    assert sorted(re.findall(r"{\w+}", chinese)) == sorted(re.findall(r"{\w+}", english))
