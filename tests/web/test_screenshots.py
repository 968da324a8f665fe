"""The pictures of the READMEs: made by tests/browser/make_screenshots.py, there, shown and small."""

from __future__ import annotations

import struct

import pytest

from tests.conftest import ROOT

LIMIT_BYTES = 300 * 1024


@pytest.mark.parametrize(
    ("readme", "picture"),
    [("README.md", "docs/screenshot-en.png"), ("README.zh-CN.md", "docs/screenshot-zh.png")],
)
def test_a_readme_shows_its_picture(readme: str, picture: str) -> None:
    assert f"]({picture})" in (ROOT / readme).read_text(encoding="utf-8")
    data = (ROOT / picture).read_bytes()
    assert data.startswith(b"\x89PNG") and len(data) <= LIMIT_BYTES
    width, height = struct.unpack(">II", data[16:24])
    assert width >= 1200 and 700 <= height <= 1000
