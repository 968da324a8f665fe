"""The platform's own pages in a real browser: strict policy, nothing loaded from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def test_the_api_documentation_is_self_hosted(page: Page, live_server: str) -> None:
    foreign: list[str] = []
    errors: list[str] = []
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith((live_server, "data:", "blob:")) else foreign.append(request.url)
        ),
    )
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(f"{live_server}/api/docs")
    page.wait_for_selector(".opblock")
    assert page.locator(".opblock").count() >= 2
    assert page.evaluate("window.violations") == []
    assert errors == []
    assert foreign == []
