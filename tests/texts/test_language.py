"""Which language a reader gets, and where its texts come from."""

from __future__ import annotations

import pytest

from app.texts.language import negotiate, primary_language, translations


@pytest.mark.parametrize(
    ("query", "cookie", "header", "expected"),
    [
        ("en", "zh", "zh-CN", "en"),
        (None, "en", "zh-CN", "en"),
        (None, None, "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        (None, None, "zh-Hans-CN", "zh"),
        (None, None, "zh_TW", "zh"),
        (None, None, "en-GB,en;q=0.9,zh;q=0.1", "en"),
        (None, None, "fr,de;q=0.9,en;q=0.1", "en"),
        (None, None, "en;q=0,zh;q=0.2", "zh"),
        (None, None, "fr", "zh"),
        (None, None, "", "zh"),
        (None, None, None, "zh"),
        ("fr", "xx", "en", "en"),
        (None, None, "en;q=wrong", "zh"),
        (None, None, "," * 10_000 + "en", "zh"),
        ("../../etc", None, "en", "en"),
    ],
)
def test_the_address_wins_then_the_cookie_then_the_browser(
    query: str | None, cookie: str | None, header: str | None, expected: str
) -> None:
    assert negotiate(query, cookie, header) == expected


def test_the_default_can_be_set() -> None:
    assert negotiate(None, None, "fr", "en") == "en"
    assert negotiate(None, None, None, "xx") == "zh"


def test_primary_subtags() -> None:
    assert [primary_language(t) for t in ("zh", "ZH-Hant", "en_US", "english", "")] == [
        "zh",
        "zh",
        "en",
        "",
        "",
    ]


def test_translations_of_the_catalogue() -> None:
    chinese = translations("zh")
    assert chinese.gettext("This field is required.") == "此项必填。"
    assert chinese.gettext("used") == "二手"
    assert chinese.pgettext("note", "no ECC cost known") == "未知 ECC 占用"
    assert translations("en").gettext("This field is required.") == "This field is required."
    assert translations("zh") is chinese
