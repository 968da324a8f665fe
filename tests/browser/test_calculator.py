"""The calculator as a person uses it: live results, addresses, keyboard, freezing, without JavaScript."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browser.conftest import Watched, new_context, watch

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

HEADLINE = ".ans h1"


def need(watched: Watched) -> float:
    """GiB per GPU of the first option, as the page carries it for programs."""
    figure = watched.page.locator('[data-field="options.0.memory.per_gpu_gib.expected"]').first
    return float(figure.get_attribute("data-value") or "nan")


def test_a_changed_field_changes_the_answer_without_a_reload(watched: Watched) -> None:
    page = watched.page
    watched.open("/")
    before = need(watched)
    page.evaluate("window.notReloaded = true")
    page.fill("#batch_size", "64")
    page.wait_for_url(re.compile("batch_size=64"))
    page.wait_for_function(
        "was => Number(document.querySelector('[data-field=\"options.0.memory.per_gpu_gib.expected\"]')"
        ".dataset.value) !== was",
        arg=before,
    )
    assert page.evaluate("window.notReloaded") is True
    assert page.evaluate("document.activeElement.id") == "batch_size"
    assert page.input_value("#batch_size") == "64"
    assert "64" in page.inner_text("#asked")
    # The links of the frame are for what was typed, not for the question the page was opened with.
    for link in ("#languages a[lang=en]", "#currencies a:last-child", "#themes a:last-child"):
        assert "batch_size=64" in (page.get_attribute(link, "href") or "")


def test_the_address_opened_anew_gives_the_same_answer(
    watched: Watched, browser: Browser, live_server: str
) -> None:
    page = watched.page
    watched.open("/")
    page.fill("#model", "Llama-3.1-8B")
    page.dispatch_event("#model", "change")
    page.wait_for_url(re.compile("model=Llama"))
    page.select_option("#precision", "fp8")
    page.wait_for_url(re.compile("precision=fp8"))
    page.wait_for_load_state("networkidle")
    headline, address = page.inner_text(HEADLINE), page.url
    query = parse_qs(urlsplit(address).query)
    expected = {"model": ["Llama-3.1-8B"], "precision": ["fp8"]}
    assert query == expected, "only what was chosen"
    other = new_context(browser, locale="en-US")
    again = watch(other, live_server)
    again.page.goto(address)
    assert again.page.inner_text(HEADLINE) == headline
    again.check()
    other.close()


def test_the_model_picker_is_worked_by_keyboard(watched: Watched) -> None:
    page = watched.page
    watched.open("/")
    field = page.locator("#model")
    assert field.get_attribute("role") == "combobox" and field.get_attribute("aria-expanded") == "false"
    field.focus()
    field.fill("")
    page.keyboard.type("qwen3")
    page.wait_for_selector("#pick:popover-open")
    assert field.get_attribute("aria-expanded") == "true"
    rows = page.locator("#pick-list [role=option]")
    assert 3 < rows.count() <= 40 and all("Qwen3" in text for text in rows.all_inner_texts())
    assert "layers" in rows.first.inner_text() and page.locator(".errsum").count() == 0
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    active = page.locator(f"#{field.get_attribute('aria-activedescendant')}")
    assert active.get_attribute("aria-selected") == "true"
    page.keyboard.press("Escape")
    page.wait_for_selector("#pick:popover-open", state="detached")
    assert field.input_value() == "qwen3", "Esc leaves what was typed"
    page.keyboard.type("-")
    page.wait_for_selector("#pick:popover-open")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    name = page.locator(f"#{field.get_attribute('aria-activedescendant')} b").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("model=Qwen3"))
    assert field.input_value() == name
    page.wait_for_function("name => document.querySelector('#asked').innerText.startsWith(name)", arg=name)
    assert page.evaluate("document.activeElement.id") == "model"
    assert field.get_attribute("role") == "combobox", "the answer's fields leave the picker in place"


def test_a_model_is_picked_by_mouse(watched: Watched) -> None:
    page = watched.page
    watched.open("/")
    page.click("#model")
    page.wait_for_selector("#pick:popover-open")
    page.fill("#model", "llama 70b")
    row = page.locator("#pick-list [role=option]", has_text="70B").first
    name = row.locator("b").inner_text()
    row.click()
    page.wait_for_function("name => document.querySelector('#asked').innerText.startsWith(name)", arg=name)
    assert page.locator("#pick:popover-open").count() == 0


def test_columns_rows_and_sorting_are_plain_links(watched: Watched) -> None:
    page = watched.page
    watched.open("/")
    page.click(".cols summary")
    page.get_by_role("link", name="Margin").click()
    page.wait_for_url(re.compile("cols="))
    assert page.locator("table.rank thead").inner_text().count("Margin") == 1
    page.get_by_role("link", name="Show more options").click()
    page.wait_for_url(re.compile("rows=50"))
    assert page.locator("tr.opt").count() == 50 and "cols=" in page.url
    page.locator("table.rank a.sort", has_text="Speed").click()
    page.wait_for_url(re.compile("objective=speed"))
    assert page.locator("th[aria-sort]").inner_text().startswith("Speed")


def test_the_measured_accuracy_comes_by_itself(watched: Watched) -> None:
    page = watched.page
    watched.open("/method")
    page.wait_for_selector("#accuracy table.acc")
    page.locator("#chart-accuracy").scroll_into_view_if_needed()
    page.wait_for_selector("#chart-accuracy .main-svg")
    assert page.locator("#chart-accuracy .scatterlayer .point").count() > 100


def test_dark_and_light_follow_the_system_and_charts_follow_too(watched: Watched) -> None:
    page = watched.page
    watched.open("/")
    page.locator("#chart-value").scroll_into_view_if_needed()
    page.wait_for_selector("#chart-value .main-svg")
    colours = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_selector(f"#chart-value .draw[data-drawn={scheme}]")
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(14, 20, 22)"]


def test_back_restores_question_and_answer(watched: Watched) -> None:
    page = watched.page
    watched.open("/")
    first = page.inner_text(HEADLINE)
    page.fill("#sequence_length", "65536")
    page.wait_for_url(re.compile("sequence_length=65536"))
    page.wait_for_function("was => document.querySelector('.ans h1').innerText !== was", arg=first)
    page.go_back()
    page.wait_for_function("was => document.querySelector('.ans h1').innerText === was", arg=first)
    assert page.input_value("#sequence_length") == "", "nothing was typed"
    assert page.get_attribute("#sequence_length", "placeholder") == "8192"


def test_a_wrong_field_is_named_and_the_last_answer_stays(watched: Watched) -> None:
    page = watched.page
    watched.open("/")
    headline = page.inner_text(HEADLINE)
    page.fill("#months", "abc")
    page.wait_for_selector(".errsum")
    assert page.get_attribute("#months", "aria-invalid") == "true"
    assert page.inner_text("#months-h")
    assert page.input_value("#months") == "abc"
    assert page.inner_text(HEADLINE) == headline
    assert "months" not in page.url
    assert "months=abc" in (page.get_attribute("#languages a[lang=en]", "href") or "")
    page.fill("#months", "24")
    page.wait_for_url(re.compile("months=24"))
    page.wait_for_selector(".errsum", state="detached")
    # The refused question is an answer of the server with status 422, which the console counts as an error.
    watched.faults[:] = [fault for fault in watched.faults if "422" not in fault]


def test_a_figure_opens_by_keyboard_and_escape_returns_to_it(watched: Watched) -> None:
    page = watched.page
    watched.open("/")
    figure = page.locator(f"{HEADLINE} a.fig[href*=total_cny]").first
    figure.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#figure:popover-open")
    text = page.inner_text("#figure")
    assert "=" in text and "Formula" in text
    page.keyboard.press("Escape")
    page.wait_for_selector("#figure:popover-open", state="detached")
    assert figure.evaluate("node => node === document.activeElement")


def test_details_of_a_row_open_and_close(watched: Watched) -> None:
    page = watched.page
    watched.open("/")
    link = page.locator("a[data-row]").first
    link.click()
    page.wait_for_selector("tr.open")
    assert link.get_attribute("aria-expanded") == "true"
    assert page.locator("tr.open table").count() == 3
    link.click()
    page.wait_for_selector("tr.open", state="detached")
    assert link.get_attribute("aria-expanded") == "false"


def test_a_pinned_card_stands_under_the_first(watched: Watched) -> None:
    page = watched.page
    watched.open("/")
    rank = page.locator("tr.opt .no").nth(4).inner_text()
    page.locator("tr.say").nth(4).get_by_role("link", name="Pin").click()
    page.wait_for_selector("tr.opt.pin")
    assert page.locator("tr.opt .no").nth(1).inner_text() == rank
    assert "pin=" in page.url


def test_charts_are_drawn_when_they_come_near(watched: Watched) -> None:
    page = watched.page
    watched.open("/")
    for chart in ("value", "memory", "pareto"):
        page.locator(f"#chart-{chart}").scroll_into_view_if_needed()
        page.wait_for_selector(f"#chart-{chart} .main-svg")
    assert page.locator(".modebar-btn").count() == 0
    bars = page.locator("#chart-value .bars path").count()
    rows = page.locator("#chart-value tbody tr").count()
    assert bars == min(rows, 12)


def test_a_comparison_is_frozen_and_its_link_opens_elsewhere(
    watched: Watched, browser: Browser, live_server: str
) -> None:
    page = watched.page
    watched.open("/")
    page.fill("#freeze-title", "Cards <for> the assistant")
    headline = page.inner_text(HEADLINE)
    page.get_by_role("button", name="Freeze for review").click()
    page.wait_for_url(re.compile(r"/c/[\w-]{20,}$"))
    assert page.inner_text("h1") == "Cards <for> the assistant"
    assert page.inner_text(".big") == headline
    other = new_context(browser, locale="zh-CN")
    reader = watch(other, live_server)
    reader.page.goto(page.url)
    assert "冻结" in reader.page.inner_text("main")
    assert reader.page.locator("form[action$=withdraw]").count() == 0, "only its maker may withdraw it"
    reader.check()
    other.close()
    page.locator("details:has(form[action$=withdraw]) summary").click()
    page.check("input[name=sure]")
    page.get_by_role("button", name="Withdraw").click()
    page.wait_for_url(re.compile(r"/$"))


def test_everything_works_without_javascript(browser: Browser, live_server: str) -> None:
    context = browser.new_context(
        java_script_enabled=False, locale="en-US", viewport={"width": 1440, "height": 900}
    )
    page = context.new_page()
    page.goto(f"{live_server}/")
    page.fill("#batch_size", "32")
    page.get_by_role("button", name="Calculate").click()
    assert "batch_size=32" in page.url
    assert page.locator(HEADLINE).count() == 1
    assert page.input_value("#batch_size") == "32"
    page.locator(f"{HEADLINE} a.fig").first.click()
    assert "/explain?" in page.url and page.locator("main .val").count() == 1
    page.go_back()
    page.locator("a[data-row]").nth(1).click()
    assert page.locator("tr.open").count() == 1
    page.fill("#months", "many")
    page.get_by_role("button", name="Calculate").click()
    assert page.locator(".errsum").count() == 1 and page.input_value("#months") == "many"
    context.close()


def test_typing_in_an_opened_panel_keeps_panel_focus_and_caret(watched: Watched) -> None:
    """Every stroke brings a new answer; what the reader opened and where he writes stays."""
    page = watched.page
    watched.open("/")
    page.click("#more-run > summary")
    page.focus("#latency_limit_ms")
    for stroke in "2000":
        page.keyboard.type(stroke)
        page.wait_for_url(re.compile(rf"latency_limit_ms=2?0*{stroke}\b"))
        page.wait_for_function("!document.querySelector('#main').hasAttribute('aria-busy')")
        assert page.get_attribute("#more-run", "open") is not None
        assert page.evaluate("document.activeElement.id") == "latency_limit_ms"
    assert page.input_value("#latency_limit_ms") == "2000"
    assert page.evaluate("document.activeElement.selectionStart") == 4
    page.click("#more-money > summary")
    page.select_option("#tax", "included")
    page.wait_for_url(re.compile("tax=included"))
    page.wait_for_function("!document.querySelector('#main').hasAttribute('aria-busy')")
    for panel in ("#more-run", "#more-money"):
        assert page.get_attribute(panel, "open") is not None


def test_one_step_back_for_each_change(watched: Watched) -> None:
    page = watched.page
    watched.open("/")
    page.focus("#sequence_length")
    for typed in ("4", "40", "409", "4096"):
        page.keyboard.type(typed[-1])
        page.wait_for_url(re.compile(rf"sequence_length={typed}\b"))
    page.fill("#batch_size", "2")
    page.wait_for_url(re.compile(r"batch_size=2\b"))
    page.go_back()
    page.wait_for_url(re.compile(r"sequence_length=4096\b"))
    assert "batch_size" not in page.url
    page.go_back()
    page.wait_for_url(re.compile(r"/$"))


def test_the_whole_name_is_the_first_that_an_arrow_reaches(watched: Watched) -> None:
    page = watched.page
    watched.open("/")
    page.click("#model")
    assert page.evaluate("String(getSelection())") or page.evaluate(
        "(f => f.selectionEnd - f.selectionStart)(document.activeElement)"
    ), "a click selects what is there, so that typing replaces it"
    page.keyboard.type("resnet-50")
    page.wait_for_selector("#pick-list li")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.input_value("#model") == "ResNet-50"


def test_a_fault_while_typing_does_not_move_the_form(watched: Watched) -> None:
    page = watched.page
    watched.open("/")
    page.focus("#months")
    before = page.evaluate("document.getElementById('months').getBoundingClientRect().top")
    page.keyboard.type("x")
    page.wait_for_selector("#months[aria-invalid=true]")
    after = page.evaluate("document.getElementById('months').getBoundingClientRect().top")
    assert abs(after - before) < 24, "a line may come or go above; the list of faults took 130 px"
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('.errsum')?.getBoundingClientRect().height > 20")
    watched.faults[:] = [fault for fault in watched.faults if "422" not in fault]
