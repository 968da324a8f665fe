"""Side by side, benchmarks, ledger, data and quotes in a real browser: barriers, widths, the whole way."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import READERS, Watched, new_context, reader_context, watch
from tests.browser.test_pages import AXE, look
from tests.conftest import require

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

PAGES = {
    "compare": "/compare?gpus=rtx4090,a100-pcie-40gb,a100-sxm4-80gb",
    "compare-six": "/compare?gpus=rtx4090,rtx3090,l20,l40s,h20-96gb,mi300x",
    "compare-none": "/compare",
    "compare-fault": "/compare?gpus=rtx4090,A100+80GB",
    "compare-figure": "/compare/figure?gpus=rtx4090&row=bf16_tflops_per_1000",
    "cards": "/gpus?q=rtx",
    "benchmarks": "/benchmarks?gpu=rtx4090",
    "flagged": "/benchmarks?use=flagged&page=3",
    "prices": "/prices?gpu=rtx4090",
    "held": "/prices?use=unused",
    "no-prices": "/prices?q=nothing-of-this-name",
    "data": "/data",
    "quotes": "/quotes",
}


@pytest.fixture(scope="module")
def axe_source() -> str:
    require(AXE.is_file(), "axe-core (CARDWORTH_ASSETS_DEV=1 make install)")
    return Path(AXE).read_text(encoding="utf-8")


@pytest.fixture(scope="module", **READERS)
def reader(request: pytest.FixtureRequest, browser: Browser, live_server: str) -> Iterator[Watched]:
    """A reader with language, colour scheme and width; the policy is bypassed so that axe can be put in."""
    context = reader_context(browser, request.param)
    yield watch(context, live_server)
    context.close()


def sideways(watched: Watched) -> int:
    """By how many pixels the page scrolls sideways."""
    return int(watched.page.evaluate("document.documentElement.scrollWidth - innerWidth"))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_barrier_and_no_fault(reader: Watched, name: str, axe_source: str) -> None:
    reader.faults.clear()
    assert look(reader, PAGES[name], axe_source) == []
    assert sideways(reader) <= 0
    assert [f for f in reader.faults if "422" not in f] == []


def test_the_policy_is_kept(browser: Browser, live_server: str) -> None:
    context = new_context(browser, locale="en-US", viewport={"width": 1440, "height": 900})
    watched = watch(context, live_server)
    for name, path in PAGES.items():
        watched.open(path)
        assert watched.page.evaluate("window.violations") == [], name
    assert [f for f in watched.faults if "422" not in f] == []
    context.close()


def test_cards_are_ticked_compared_added_and_removed(watched: Watched) -> None:
    page = watched.page
    watched.open("/gpus?q=rtx")
    button = page.get_by_role("button", name="Compare the ticked cards")
    assert not button.is_visible()
    for name in ("Compare RTX 4090", "Compare RTX 3090"):
        page.get_by_role("checkbox", name=name, exact=True).check()
    button.click()
    assert page.url.endswith("/compare?gpus=rtx3090,rtx4090")
    page.get_by_label("Add a card").fill("A100 SXM4 80GB")
    page.get_by_role("button", name="Show").click()
    assert page.url.endswith("gpus=rtx3090,rtx4090,a100-sxm4-80gb")
    page.get_by_role("link", name="Remove RTX 3090").click()
    assert page.url.endswith("gpus=rtx4090,a100-sxm4-80gb")
    page.go_back()
    assert page.get_by_role("columnheader").count() == 4


def test_a_figure_of_the_comparison_opens_by_keyboard(watched: Watched) -> None:
    page = watched.page
    watched.open("/compare?gpus=rtx4090,l20")
    link = page.locator('a.fig[href*="row=bf16_tflops_per_1000"]').first
    link.focus()
    page.keyboard.press("Enter")
    box = page.locator("#figure:popover-open")
    box.wait_for()
    assert re.search(r"1000 × 165\.2 TFLOPS ÷ ¥[\d,]+", box.inner_text())
    assert box.locator('a[href^="http"]').count() >= 1
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.getAttribute('href')") == link.get_attribute("href")


def test_without_javascript_the_pages_work(browser: Browser, live_server: str) -> None:
    context = browser.new_context(java_script_enabled=False, locale="en-US")
    page = context.new_page()
    page.goto(live_server + "/compare?gpus=rtx4090,l20")
    page.locator("a.fig").first.click()
    assert "/explain" in page.url and page.locator(".opened").is_visible()
    page.goto(live_server + "/prices")
    page.get_by_label("Card", exact=True).fill("L20")
    page.get_by_role("button", name="Filter").click()
    assert "gpu=L20" in page.url and page.get_by_role("heading", name="Prices of the L20").is_visible()
    page.goto(live_server + "/benchmarks")
    page.get_by_role("link", name="Next").click()
    assert page.url.endswith("/benchmarks?page=2")
    context.close()


def workbook(title: str, lines: list[list[Any]], merge: str, lead: tuple[str, ...] = ()) -> bytes:
    """A workbook as suppliers send it: a merged title, lines of text, a Chinese header, the table."""
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append([title])
    sheet.merge_cells(merge)
    for text in lead:
        sheet.append([text])
    for line in lines:
        sheet.append(line)
    kept = io.BytesIO()
    book.save(kept)
    return kept.getvalue()


def three_quotes() -> list[Any]:
    """One gross, one net in ten thousands, one of a server of eight with a sparse rate; the last expired."""
    first = workbook(
        "深圳甲科技有限公司报价单",
        [
            ["序号", "产品型号", "数量", "含税单价(元)", "税率", "发票类型", "质保"],
            [1, "NVIDIA L20 48GB 推理卡", 4, 29800, 0.13, "专票", "36个月"],
            ["合计", None, None, 119200],
        ],
        "A1:G1",
        ("供应商：深圳甲科技有限公司", "报价日期：2026-11-28   有效期：2099-12-11"),
    )
    second = workbook(
        "报 价 单",
        [
            ["供应商", "设备名称", "数量", "单价(万元,不含税)", "税率", "票种", "有效期"],
            ["北京乙信息有限公司", "英伟达 L20 显卡 48G", 4, "2.71", 0.13, "增值税专用发票", "2099-12-02"],
        ],
        "A1:G1",
    )
    third = workbook(
        "八卡整机报价",
        [
            ["供应商", "配置", "数量", "单位", "含税价", "发票", "有效期至", "备注"],
            [
                "杭州丙电子商行",
                "8卡 L20 48GB 推理服务器 DDR5 64G*16",
                1,
                "台",
                "298000元",
                "普票",
                "2026-11-20",
                "稀疏 INT8 算力 478 TOPS",
            ],
        ],
        "A1:H1",
    )
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    books = {"a.xlsx": first, "b.xlsx": second, "c.xlsx": third}
    return [{"name": name, "mimeType": kind, "buffer": content} for name, content in books.items()]


def test_three_workbooks_become_one_comparison(watched: Watched) -> None:
    page = watched.page
    watched.open("/quotes")
    page.set_input_files("#file", three_quotes())
    page.get_by_label("Quoted on, where the table says nothing").fill("2026-11-01")
    page.get_by_role("button", name="Read and compare").click()
    text = page.inner_text("main").replace("\u00a0", " ")
    # 29,800 / 1.13 and 27,100 net; the server of eight stands apart, an eighth of it a card.
    assert "深圳甲科技有限公司 is lowest, ¥728 a card below the next" in text
    for figure in ("26,372", "27,100", "30,623", "37,250", "8-card server, host included"):
        assert figure in text
    assert "478.0 TOPS is the sparse rate at INT8; dense it is 239.0 TOPS" in text
    assert "Expired on 2026-11-20" in text
    assert page.locator("input[name^=card-]").evaluate_all("all => all.map(i => i.value)") == ["L20"] * 3
    # A line is taken out and another card named; the comparison follows.
    page.locator("[name=take-2]").uncheck()
    page.locator("[name=card-1]").fill("L40S")
    page.get_by_role("button", name="Compare with these cards").click()
    assert page.locator("table.offers").count() == 2
    assert page.get_by_role("heading", name="L40S").is_visible()
    page.emulate_media(media="print")
    assert page.locator(".sign").is_visible() and not page.locator("[name=key]").is_visible()


@pytest.mark.parametrize(("language", "width"), [("en-US", 1440), ("zh-CN", 320)])
def test_the_preview_has_no_barrier(
    browser: Browser, live_server: str, axe_source: str, language: str, width: int
) -> None:
    context = new_context(browser, locale=language, viewport={"width": width, "height": 900}, bypass_csp=True)
    watched = watch(context, live_server)
    page = watched.page
    watched.open("/quotes")
    page.set_input_files("#file", three_quotes())
    page.locator("form.enter button").click()
    page.wait_for_load_state("networkidle")
    page.evaluate(axe_source)
    found = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa']})")
    assert [v["id"] for v in found["violations"]] == []
    assert sideways(watched) <= 0
    context.close()


def test_an_import_is_reported_row_by_row(watched: Watched) -> None:
    page = watched.page
    watched.open("/prices")
    page.get_by_label("Table", exact=True).fill(
        "gpu\tcondition\tamount\tcurrency\tregion\tdate\n"
        "RTX 4090\tnew\t18000\tCNY\tCN\t2026-11-20\n"
        "RTX 9999\tnew\t100\tCNY\tCN\t2026-11-20\n"
    )
    page.get_by_label("Source, where the table names none").fill("Team")
    page.get_by_role("button", name="Check the table").click()
    assert page.get_by_role("heading", level=1).inner_text() == "One row is at fault; nothing was stored."
    rows = page.locator("table.list tbody tr").all_inner_texts()
    assert "at fault" in rows[0] and "RTX 9999" in rows[0] and "readable" in rows[1]
    watched.faults[:] = [f for f in watched.faults if "422" not in f]
