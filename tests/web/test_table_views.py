"""The ranked and the rejected table as the address asks for them."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.catalog.snapshot import Snapshot
from app.main import create_app
from app.services.calculator import shortlist
from app.services.results import ShortlistAnswer
from app.settings import Settings
from app.web import rejections
from app.web.answers import today
from app.web.ranking import DEFAULT, TableView
from app.web.wording import short_names, split_condition


@pytest.fixture(scope="module")
def site(seeded_database: Path) -> Any:
    """A client that only reads."""
    with TestClient(create_app(Settings(database_url=f"sqlite:///{seeded_database}"))) as client:
        client.headers["accept-language"] = "zh"
        yield client


def ranks(page: str) -> list[str]:
    return re.findall(r'<tr class="opt[^"]*" role="row" id="o(\d+)"', page)


def heads(page: str) -> list[str]:
    table = page[page.index('id="ranking"') :]
    return re.findall(r"<b>([^<]+)</b>", table[: table.index("</thead>")])


def test_more_options_are_a_link_away(site: TestClient) -> None:
    page = site.get("/").text
    assert ranks(page) == [str(n) for n in range(1, 11)]
    more = re.search(r'class="more-rows noprint"><a href="([^"]+)"', page)
    assert more
    longer = site.get(unescape(more[1])).text
    assert ranks(longer) == [str(n) for n in range(1, 51)]
    # A figure of a later row opens: its address carries the length of the list.
    figure = re.search(r'href="(/explain\?[^"]*figure=options\.40\.cost\.total_cny)"', longer)
    assert figure and site.get(unescape(figure[1])).status_code == 200


def test_columns_are_chosen_by_links_and_stay_in_every_link(site: TestClient) -> None:
    page = site.get("/?cols=hour,margin").text
    assert heads(page)[-2:] == ["每小时成本", "显存余量"]
    chooser = page[page.index('class="act cols') : page.index("</details>", page.index('class="act cols'))]
    without = re.search(
        r'href="([^"]+)" aria-current="true"><span aria-hidden="true">✓</span> 显存余量', chooser
    )
    assert without and "cols=hour" in unescape(without[1]) and "margin" not in without[1]
    assert 'data-field="options.3.fit.margin_gib"' in page
    assert "cols=hour,margin" in unescape(re.search(r'hx-get="([^"]+)"', page[page.index("<tbody") :])[1])  # type: ignore[index]


def test_a_columns_head_sorts_by_it(site: TestClient) -> None:
    page = site.get("/").text
    address = re.search(r'<a class="sort" href="([^"#]+)[^"]*"[^>]*><b>TFLOPS/千元', page)
    assert address and "objective=tflops_per_yuan" in address[1]
    sorted_page = site.get(unescape(address[1])).text
    assert re.search(r'aria-sort="descending">(<a[^>]*>)?<b>TFLOPS/千元', sorted_page)
    values = [
        float(v) for v in re.findall(r'metrics\.peak_tflops_per_1000_cny" data-value="([^"]+)"', sorted_page)
    ]
    assert len(values) >= 10


def test_what_the_address_does_not_know_is_left_out() -> None:
    view = TableView.read({"cols": "margin,nothing,<b>", "rows": "99999"})
    assert view.columns == ("margin",) and view.rows == 10
    assert TableView.read({}).columns == DEFAULT
    assert TableView.read({"rows": "999"}).rows == 200
    assert TableView.read({"cols": "none"}).columns == ()
    assert TableView(("hour",), 50).put("model=x") == "model=x&cols=hour&rows=50"


def test_rejected_cards_are_filtered_by_kind(site: TestClient) -> None:
    page = site.get("/?rejected=precision").text
    table = page[page.index('id="rejected"') :]
    kinds = set(re.findall(r'<td class="nw">(?:<span.*?</span>\s*)?([^<]+)</td>', table))
    assert kinds == {"精度"}
    count = re.search(r'aria-current="true">精度 <span class="num">(\d+)', table)
    own = table[: table.index("</table>")]
    assert count and own.count('<th scope="row">') == int(count[1])
    everything = site.get("/?rejected=all").text
    total = re.search(r"(\d+) 张落选", everything)
    assert total and everything[everything.index('id="rejected"') :].count('href="/gpus/') >= int(total[1])


def default_answer(snapshot: Snapshot) -> ShortlistAnswer:
    """The answer of the page without any parameter."""
    workload = {"model": {"preset": "llama-3.1-8b"}, "batch_size": 16, "sequence_length": 8192}
    return shortlist({"workload": workload}, snapshot, today())


def test_known_cards_that_miss_little_are_named_first(site: TestClient) -> None:
    snapshot = site.app.state.store.snapshot()  # type: ignore[attr-defined]
    rejected = default_answer(snapshot).rejected
    shown = rejections.shown(rejected, snapshot, None, "")
    renown = rejections.renown(snapshot)
    assert len(shown) == rejections.FIRST_SHOWN
    assert min(renown[item.gpu.id] for item in shown[:3]) > 0.6
    codes = [item.code for item in shown]
    kinds = {item.code for item in rejected}
    assert len(set(codes)) >= min(3, len(kinds)), "more than one kind of reason"


def test_the_order_of_rejections_does_not_depend_on_that_of_the_input(site: TestClient) -> None:
    snapshot = site.app.state.store.snapshot()  # type: ignore[attr-defined]
    rejected = default_answer(snapshot).rejected
    assert rejections.by_interest(rejected, snapshot, None) == rejections.by_interest(
        rejected[::-1], snapshot, None
    )


def test_a_budget_below_the_host_share_says_so_and_offers_the_way_out(site: TestClient) -> None:
    page = site.get("/?budget=5000&host=9000").text
    assert "预算低于主机分摊：每张卡 ¥9,000。" in page
    way = re.search(r'主机分摊设为 0：\s*<a href="([^"]+)"', page)
    assert way and "host=0" in way[1] and "budget=5000" in way[1]
    assert "预算低于主机分摊" not in site.get("/?budget=5000&host=0").text
    assert "预算低于主机分摊" not in site.get("/?budget=12000").text


@pytest.mark.parametrize("query", ["", "?objective=speed", "?model=resnet-50&task=training&batch_size=64"])
def test_no_english_condition_and_no_long_name_in_chinese_sentences(site: TestClient, query: str) -> None:
    page = site.get(f"/{query}").text
    for word in ("(used)", "(new)", "(refurbished)", "(modded)", "(二手)"):
        assert word not in page
    main = page[page.index('id="main"') :]
    assert "GeForce RTX" not in re.sub(r"<[^>]+>", "", main)
    assert "Caught by the rule" not in main


def test_names_are_shortened_whole(site: TestClient) -> None:
    snapshot = site.app.state.store.snapshot()  # type: ignore[attr-defined]
    assert short_names("2 × GeForce RTX 4090 D (二手) 贵", snapshot) == "2 × RTX 4090 D（二手）贵"
    assert short_names("costs 0\u00a0% more", snapshot) == "costs under\u00a01\u00a0% more"
    assert short_names("costs 10\u00a0% more", snapshot) == "costs 10\u00a0% more"
    assert split_condition("2 × RTX 3090（二手）") == ("2 × RTX 3090", "二手")
    assert split_condition("1 × L20") == ("1 × L20", "")


def test_scenarios_and_the_four_questions_are_whole_addresses(site: TestClient) -> None:
    page = site.get("/").text
    strip = page[page.index('class="scen"') : page.index("</nav>", page.index('class="scen"'))]
    links = [unescape(link) for link in re.findall(r'href="([^"]+)"', strip)]
    assert [text for text in ("学生", "实验室工作站", "数据中心") if text in strip] == [
        "学生",
        "实验室工作站",
        "数据中心",
    ]
    for link in links[:3]:
        answer = site.get(link)
        assert answer.status_code == 200 and 'class="ans"' in answer.text, link
    lab = site.get(links[1].replace("/?", "/result.json?") + "&counts=1").json()
    verdicts = {o["gpu"]["id"]: o["fit"]["verdict"] for o in lab["options"]}
    assert set(verdicts.values()) <= {"fits", "tight"} and verdicts
    asked = site.get(links[3])
    assert "run_over_24h=yes" in links[3] and asked.status_code == 200


def test_three_yes_point_to_the_data_centre(site: TestClient) -> None:
    page = site.get("/?model=70B&run_over_24h=yes&tenants=yes&strict_sla=no").text
    assert "数据中心" in page[page.index('id="main"') :]


def test_the_card_page_leads_with_usable_rows_and_speaks_the_readers_language(site: TestClient) -> None:
    page = site.get("/gpus/rtx4090").text
    assert "销往中国大陆须取得出口许可。" in page and ">sm_count<" not in page
    rows = page[page.index('class="stack meas"') :]
    first = rows[: rows.index("</table>")]
    assert first.count("<tr>") >= 5 and "why-not" not in first and 'href="/?model=' in first
    assert "条未采用，附原因" in page
    history = site.get("/charts/prices?gpu=rtx4090").json()
    assert [s["type"] for s in history["layout"]["shapes"]].count("rect") == 1
    assert any("首发价 ¥12,999" in note["text"] for note in history["layout"]["annotations"])
    hollow = [t for t in history["data"] if t["marker"].get("symbol") == "circle-open"]
    assert len(hollow) == 1
    dollars = site.get("/charts/prices?gpu=rtx4090&currency=USD&scale=log").json()
    assert dollars["layout"]["yaxis"]["type"] == "log"
    assert max(max(t["y"]) for t in dollars["data"]) < max(max(t["y"]) for t in history["data"]) / 5
    site.cookies.clear()
