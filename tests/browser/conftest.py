"""What every browser test wants: a page that notes errors, foreign requests and violations of the policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page


@dataclass
class Watched:
    """A page and what went wrong on it."""

    page: Page
    base: str
    faults: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        """Go to a path and wait until nothing loads any more."""
        self.page.goto(self.base + path)
        self.page.wait_for_load_state("networkidle")

    def check(self) -> None:
        """Nothing went wrong up to now."""
        violations = self.page.evaluate("window.violations")
        assert violations == []
        assert self.faults == []


def watch(context: BrowserContext, base: str) -> Watched:
    """A page of the context whose faults are collected."""
    page = context.new_page()
    watched = Watched(page, base)
    host = urlsplit(base).netloc
    faults = watched.faults

    def console(message: object) -> None:
        if getattr(message, "type", "") == "error":
            faults.append(f"console: {getattr(message, 'text', '')}")

    def request(sent: object) -> None:
        address = urlsplit(getattr(sent, "url", ""))
        if address.scheme in ("http", "https") and address.netloc != host:
            faults.append(f"foreign: {address.geturl()}")

    page.on("console", console)
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on("request", request)
    return watched


def new_context(browser: Browser, **options: object) -> BrowserContext:
    """A context that gathers violations of the content security policy."""
    context = browser.new_context(**options)  # type: ignore[arg-type]
    context.add_init_script(
        "window.violations = [];"
        "document.addEventListener('securitypolicyviolation',"
        " e => window.violations.push(`${e.effectiveDirective} ${e.blockedURI} ${e.sample}`))"
    )
    return context


READERS: dict[str, Any] = {
    "params": [("en-US", "light", 1440), ("zh-CN", "dark", 768), ("zh-CN", "light", 320)],
    "ids": ["en-light-1440", "zh-dark-768", "zh-light-320"],
}
"""Language, colour scheme and width of the readers before whom a page must have no barrier."""


def reader_context(browser: Browser, reader: tuple[str, str, int]) -> BrowserContext:
    """The browser of one of READERS; the policy is bypassed so that axe can be put in."""
    language, scheme, width = reader
    return new_context(
        browser,
        locale=language,
        color_scheme=scheme,
        viewport={"width": width, "height": 900},
        bypass_csp=True,
    )


@pytest.fixture
def watched(browser: Browser, live_server: str) -> Iterator[Watched]:
    """An English page at 1440 px that must stay free of faults."""
    context = new_context(browser, viewport={"width": 1440, "height": 900}, locale="en-US")
    found = watch(context, live_server)
    yield found
    found.check()
    context.close()
