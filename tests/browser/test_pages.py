"""Every page in both languages, schemes and widths: no fault, no sideways scrolling, no barrier."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import READERS, Watched, new_context, reader_context, watch
from tests.conftest import ROOT, require

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
PAGES = {
    "calculator": "/",
    "vision": "/?model=resnet-50&task=training&batch_size=64&image_size=224",
    "faulty": "/?batch_size=0&months=abc",
    "nothing": "/?budget=5000",
    "gpus": "/gpus?q=rtx",
    "gpu": "/gpus/rtx4090",
    "models": "/models?q=qwen",
    "method": "/method",
    "accuracy": "/method/accuracy",
    "diffusion": "/?model=sdxl-base-1.0&precision=fp16&batch_size=1&cols=unit,hour,energy&open=2",
    "explain": "/explain?figure=options.0.cost.total_cny",
    "option": "/option?rank=1",
    "missing": "/nothing-here",
}


@pytest.fixture(scope="module")
def axe() -> str:
    require(AXE.is_file(), "axe-core (CARDWORTH_ASSETS_DEV=1 make install)")
    return Path(AXE).read_text(encoding="utf-8")


def look(watched: Watched, path: str, axe: str) -> list[Any]:
    """Open a page, scroll through it so that its charts are drawn, and let axe judge it."""
    watched.open(path)
    page = watched.page
    page.evaluate(
        "async () => { for (let y = 0; y < document.body.scrollHeight; y += 700) {"
        " scrollTo(0, y); await new Promise(done => setTimeout(done, 30)); } }"
    )
    page.wait_for_function("() => ![...document.querySelectorAll('.draw:not([hidden])')].some(d => !d.role)")
    # Judged from the top: what the question that sticks there half covers is reached by scrolling.
    page.evaluate("scrollTo(0, 0)")
    page.evaluate(axe)
    found = page.evaluate("tags => axe.run(document, {runOnly: tags})", TAGS)
    return [(v["id"], [node["html"][:160] for node in v["nodes"][:3]]) for v in found["violations"]]


@pytest.fixture(scope="module", **READERS)
def visitor(request: pytest.FixtureRequest, browser: Browser, live_server: str) -> Iterator[Watched]:
    """A reader with language, colour scheme and width; the policy is bypassed so that axe can be put in."""
    context = reader_context(browser, request.param)
    yield watch(context, live_server)
    context.close()


@pytest.fixture(scope="module")
def frozen(live_server: str) -> str:
    """Path of a comparison."""
    from urllib.parse import urlencode, urlsplit
    from urllib.request import urlopen

    form = urlencode({"batch_size": "16", "title": "Cards for the assistant"}).encode()
    with urlopen(f"{live_server}/c", form) as page:
        return urlsplit(page.url).path


def test_the_frozen_page_has_no_barrier_and_no_fault(visitor: Watched, frozen: str, axe: str) -> None:
    visitor.faults.clear()
    assert look(visitor, frozen, axe) == []
    assert visitor.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert visitor.faults == []


@pytest.mark.parametrize("language", ["en-US", "zh-CN"])
def test_the_frozen_page_prints_on_four_sheets_at_most(
    browser: Browser, live_server: str, frozen: str, language: str
) -> None:
    context = new_context(browser, locale=language)
    page = context.new_page()
    page.goto(live_server + frozen)
    printed = page.pdf(prefer_css_page_size=True, print_background=True)
    # The machine, what each user gets and the quotes to ask for stand with every option.
    sheets = len(re.findall(rb"/Type\s*/Page[^s]", printed))
    assert 2 <= sheets <= 4
    page.emulate_media(media="print")
    for hidden in (".bar", ".foot", ".crumb ~ .noprint", ".acts"):
        assert not page.locator(hidden).first.is_visible() if page.locator(hidden).count() else True
    head = page.inner_text(".phead")
    assert re.search(r"[0-9a-f]{4} [0-9a-f]{4} [0-9a-f]{4}", head), "the digest stands on the first sheet"
    assert page.locator(".sign div").count() == 3 and page.locator(".sign").is_visible()
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_barrier_and_no_fault(visitor: Watched, name: str, axe: str) -> None:
    visitor.faults.clear()
    assert look(visitor, PAGES[name], axe) == []
    wider = visitor.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wider <= 0, f"the page scrolls sideways by {wider} px"
    # A page that is itself an error answer is counted as one by the console.
    assert [f for f in visitor.faults if "422" not in f and "404" not in f] == []


def test_the_policy_is_kept_on_every_page(browser: Browser, live_server: str) -> None:
    context = new_context(browser, locale="en-US", viewport={"width": 1440, "height": 900})
    watched = watch(context, live_server)
    for name, path in PAGES.items():
        watched.open(path)
        assert watched.page.evaluate("window.violations") == [], name
    assert [f for f in watched.faults if "422" not in f and "404" not in f] == []
    context.close()


def test_language_and_theme_stay_with_the_reader(browser: Browser, live_server: str) -> None:
    context = new_context(browser, locale="en-US", color_scheme="light")
    watched = watch(context, live_server)
    page = watched.page
    watched.open("/gpus")
    page.get_by_role("link", name="中文").click()
    assert page.get_attribute("html", "lang") == "zh-CN"
    watched.open("/")
    assert page.get_attribute("html", "lang") == "zh-CN"
    page.get_by_role("link", name="深色").click()
    watched.open("/method")
    assert page.get_attribute("html", "data-theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 20, 22)"
    cookies = {c["name"]: c for c in context.cookies()}
    assert cookies["cw_lang"]["httpOnly"] and cookies["cw_lang"]["sameSite"] == "Lax"
    watched.check()
    context.close()
