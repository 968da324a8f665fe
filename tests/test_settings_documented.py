"""Every setting is documented where an operator looks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.settings import variable_names

README = Path(__file__).resolve().parent.parent / "README.md"


@pytest.mark.parametrize("variable", list(variable_names()))
def test_setting_is_in_the_readme(variable: str) -> None:
    assert f"`{variable}`" in README.read_text(encoding="utf-8"), f"README.md says nothing of `{variable}`"
