"""Side by side, benchmarks, price ledger, data and quotes, over the real catalogue."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.services.access import create_key
from app.settings import Settings

DAY = "2026-11-30"
PAGES = [
    "/compare",
    f"/compare?gpus=rtx4090,a100-pcie-40gb,a100-sxm4-80gb&as_of={DAY}",
    "/compare/figure?gpus=rtx4090&row=ecc",
    f"/compare/figure?gpus=rtx4090&row=bf16_tflops_per_1000&as_of={DAY}",
    "/benchmarks",
    "/benchmarks?gpu=rtx4090&page=2",
    "/benchmarks?use=flagged&sort=speed",
    "/prices",
    f"/prices?gpu=rtx4090&as_of={DAY}",
    "/prices?use=held",
    "/data",
    "/data?kind=vendor&page=2",
    "/quotes",
]
QUOTES = """供应商：深圳甲科技有限公司
报价日期：2026-11-28
型号\t数量\t含税单价(元)\t税率\t发票\t有效期\t质保
NVIDIA L20 48GB 推理卡\t4\t29,800\t13%\t专票\t2099-12-11\t36个月
L20\t4\t28,200\t1%\t普票\t2099-12-20\t12个月
合计\t\t232,000
"""


@pytest.fixture(scope="module")
def site(seeded_database: Path) -> Iterator[TestClient]:
    """A client over a copy of the seeded catalogue; the tests that write come last in this file."""
    path = seeded_database.with_name("new_pages.db")
    shutil.copyfile(seeded_database, path)
    with TestClient(create_app(Settings(database_url=f"sqlite:///{path}"))) as client:
        yield client


@pytest.fixture(scope="module")
def key(site: TestClient) -> str:
    app: Any = site.app
    return create_key(app.state.engine, "buyer", ("write",)).secret


def get(site: TestClient, path: str, language: str = "en", code: int = 200, **params: Any) -> str:
    answer = site.get(path, params=params or None, headers={"accept-language": language})
    assert answer.status_code == code, (path, answer.status_code)
    return answer.text


def table(page: str) -> dict[str, list[str]]:
    """Cells of each row of the comparison by the row's label, the rows of what 1000 yuan buy left out."""
    body = page.partition(">What 1000 yuan buy<")[0]
    found = {}
    for row in re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", body, re.DOTALL):
        head, *cells = re.split(r"</th>|</td>", row)
        texts = [unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", c))).strip() for c in (head, *cells)]
        found[texts[0]] = texts[1:-1]
    return found


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_there_in_both_languages(site: TestClient, path: str, language: str) -> None:
    page = get(site, path, language)
    text = re.sub(r"<option.*?</option>|<datalist.*?</datalist>", "", page, flags=re.DOTALL)
    chinese = len(re.findall("[\u4e00-\u9fff]", text))
    assert chinese > 60 if language == "zh" else "并排对比" not in text
    assert 'aria-current="page"' in page or "/figure" in path


# Side by side: feature 17.


def test_the_comparison_shows_what_the_sheets_say(site: TestClient) -> None:
    rows = table(get(site, "/compare", gpus="rtx4090,a100-pcie-40gb,a100-sxm4-80gb", as_of=DAY))
    assert rows["ECC"][0].startswith("optional")
    assert rows["ECC"][2].startswith("native")
    assert rows["TF32 TFLOPS"] == ["82.6", "156", "156"]
    assert rows["BF16 TFLOPS"] == ["165.2", "312", "312"]
    assert rows["Memory bandwidth GB/s"] == ["1,008", "1,555", "2,039"]
    assert [cell.split()[0] for cell in rows["Memory, usable GiB"]] == ["23.6", "39.6", "79.2"]
    assert rows["FP8 TFLOPS"] == ["330.3", "without", "without"]
    assert rows["MIG instances"] == ["without", "7", "7"]
    assert rows["Power (TDP) W"] == ["450", "250", "400"]
    assert rows["Link between cards"][0] == "without PCIe only"
    # Both one way: 300 over 32 GB/s, never 600 over 32.
    assert rows["Link, both directions GB/s"][1] == "600 300 each way · 9.4 × PCIe"


def test_the_comparison_says_it_in_chinese(site: TestClient) -> None:
    page = get(site, "/compare", "zh", gpus="rtx4090,a100-pcie-40gb")
    assert "可选" in page and "默认关闭" in page and "桥接" in page


def test_every_figure_of_the_comparison_opens_to_its_source(site: TestClient) -> None:
    page = get(site, "/compare", gpus="rtx4090,l4", as_of=DAY)
    links = [unescape(link) for link in re.findall(r'<a class="fig" href="([^"]+)"', page)]
    assert len(links) > 50
    for link in links:
        opened = site.get(link, headers={"hx-request": "true"})
        assert opened.status_code == 200, link
        # What is derived has no address but its rule; everything else leads to where it was read.
        assert 'href="http' in opened.text or "per-SM rates" in opened.text, link


def test_figures_per_1000_yuan_are_figure_over_price(site: TestClient) -> None:
    rows = list(csv.reader(get(site, f"/compare.csv?gpus=rtx4090,rtx3090,l20&as_of={DAY}").splitlines()))
    value = {row[0]: [float(v) if v else None for v in row[2:]] for row in rows[1:] if row[0] in _NUMERIC}
    for name in ("bf16_tflops", "fp32_tflops", "memory_gib", "bandwidth_gb_s"):
        for figure, price, per in zip(value[name], value["price"], value[f"{name}_per_1000"], strict=True):
            assert figure and price and per == pytest.approx(1000 * figure / price, rel=1e-6)


_NUMERIC = {
    name
    for base in ("bf16_tflops", "fp32_tflops", "memory_gib", "bandwidth_gb_s")
    for name in (base, f"{base}_per_1000")
} | {"price"}


def test_the_price_of_the_comparison_is_that_of_the_card_list(site: TestClient) -> None:
    listed = {
        line.split(",")[0]: line.split(",")[-2] for line in get(site, "/gpus.csv?q=rtx").splitlines()[1:]
    }
    rows = csv.reader(get(site, "/compare.csv?gpus=rtx4090,rtx3090").splitlines())
    price = next(row for row in rows if row[0] == "price")
    assert [float(v) for v in price[2:]] == [float(listed["rtx4090"]), float(listed["rtx3090"])]


def test_the_condition_is_in_the_address(site: TestClient) -> None:
    used = get(site, "/compare", gpus="rtx3090,l20", condition="used")
    assert "no price" in used
    assert unescape(used).count("condition=used") > 3


@pytest.mark.parametrize(
    ("query", "leads_to"),
    [
        ("gpus=rtx4090&gpus=l20", "/compare?gpus=rtx4090,l20"),
        ("gpus=rtx4090&add=RTX+3090", "/compare?gpus=rtx4090,rtx3090"),
        ("gpus=rtx4090&add=4090&condition=used", "/compare?gpus=rtx4090&condition=used"),
    ],
)
def test_adding_a_card_leads_to_the_address_with_it(site: TestClient, query: str, leads_to: str) -> None:
    answer = site.get(f"/compare?{query}", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, leads_to)


def test_names_that_lead_to_no_card_are_said_and_the_others_stay(site: TestClient) -> None:
    page = get(site, "/compare", code=422, gpus="rtx4090,A100 80GB,rtx9999")
    assert 'href="/compare?gpus=rtx4090,a100-pcie-80gb"' in page
    assert "rtx9999" in page and 'href="/gpus/rtx4090"' in page


def test_six_cards_at_most(site: TestClient) -> None:
    names = "rtx4090,rtx3090,l20,l40s,rtx4080,rtx3080-10gb,h20-96gb"
    page = get(site, "/compare", gpus=names)
    assert page.count(">Remove<") == 6 and "Six cards at most" in page


def test_the_card_list_leads_to_the_comparison(site: TestClient) -> None:
    page = get(site, "/gpus", q="4090")
    assert 'name="gpus" value="rtx4090" form="side-by-side"' in page
    assert '<form class="picked noprint" id="side-by-side" method="get" action="/compare">' in page


# Benchmarks.


def test_the_parts_of_the_measurements_are_the_whole(site: TestClient) -> None:
    query = "gpu=rtx4090&task=inference"
    whole = [row[0] for row in csv.reader(get(site, f"/benchmarks.csv?{query}").splitlines()[1:])]
    seen: list[str] = []
    for number in range(1, -(-len(whole) // 50) + 1):
        seen += re.findall(r'<tr id="b-([^"]+)"', get(site, f"/benchmarks?{query}&page={number}"))
    assert len(whole) > 60 and seen == whole


def test_flagged_measurements_keep_their_reason(site: TestClient) -> None:
    rows = list(csv.DictReader(get(site, "/benchmarks.csv?use=flagged").lstrip("\ufeff").splitlines()))
    assert len(rows) > 500 and all(row["flag"] for row in rows)
    page = get(site, "/benchmarks?use=flagged")
    shown = unescape(re.sub(r"<[^>]+>", "", page))
    first = re.findall(r'<tr id="b-([^"]+)" class="off"', page)[0]
    flag = next(row["flag"] for row in rows if row["id"] == first)
    assert flag.split(" | ")[0] in shown


def test_the_fastest_come_first_within_a_unit(site: TestClient) -> None:
    text = get(site, "/benchmarks.csv?model=resnet-50&sort=speed").lstrip("\ufeff")
    rows = list(csv.DictReader(text.splitlines()))
    speeds = [float(row["value"]) for row in rows if row["unit"] == "images_per_s"]
    assert len(speeds) > 100 and speeds == sorted(speeds, reverse=True)
    assert {row["model"] for row in rows} == {"resnet-50"}


def test_an_unknown_card_is_said(site: TestClient) -> None:
    for path in ("/benchmarks", "/prices"):
        assert "rtx9999" in get(site, path, code=422, gpu="rtx9999")


# The ledger.


def test_the_observations_that_count_are_those_of_the_price_rule(site: TestClient) -> None:
    detail = site.get(f"/api/v1/gpus/rtx4090?as_of={DAY}").json()
    in_force = {i for choice in detail["prices"].values() for i in choice["observation_ids"]}
    text = get(site, f"/prices.csv?gpu=rtx4090&as_of={DAY}").lstrip("\ufeff")
    rows = list(csv.DictReader(text.splitlines()))
    counting = {row["id"] for row in rows if row["use"] == "counts" and row["per"] == "card"}
    assert counting == in_force
    assert all(bool(row["reason"]) is (row["use"] != "counts") for row in rows)


def test_held_prices_say_why(site: TestClient) -> None:
    page = unescape(get(site, "/prices", use="held"))
    assert "Held for confirmation" in page and "price of a whole system divided by its cards" in page


def test_filters_of_the_ledger(site: TestClient) -> None:
    text = get(site, f"/prices.csv?condition=used&currency=CNY&age=stale&as_of={DAY}").lstrip("\ufeff")
    rows = list(csv.DictReader(text.splitlines()))
    assert rows
    for row in rows:
        assert (row["condition"], row["currency"]) == ("used", "CNY")
        assert int(row["age_days"]) > 180 or len(row["observed_on"]) == 4


def test_an_earlier_day_knows_less(site: TestClient) -> None:
    then = get(site, "/prices.csv?as_of=2025-06-30").splitlines()[1:]
    now = get(site, f"/prices.csv?as_of={DAY}").splitlines()[1:]
    assert 0 < len(then) < len(now)
    answer = site.get("/prices?as_of=yesterday", headers={"accept": "text/html", "accept-language": "en"})
    assert answer.status_code == 422 and "/as_of" in answer.text


# Data.


def test_the_headline_counts_the_listed_cards(site: TestClient) -> None:
    page = get(site, f"/data?as_of={DAY}")
    count = int(re.search(r"<h1>(\d+) cards? ha", page)[1])  # type: ignore[index]
    listed = list(csv.DictReader(get(site, f"/data/unpriced.csv?as_of={DAY}").lstrip("\ufeff").splitlines()))
    assert len(listed) == count
    # The README of the seed counts 28 of 239 cards with a yuan price for one card within 180 days.
    assert count == 239 - 28
    assert {row["coverage"] for row in listed} == {"old", "foreign", "launch", "none"}
    gaps = page.partition('id="gaps"')[2].partition('id="missing"')[0]
    assert all(f'"/gpus/{row["gpu"]}"' in gaps or f"gpu={row['gpu']}" in gaps for row in listed)


def test_no_finding_is_left_unexplained_and_each_has_its_reason(site: TestClient) -> None:
    page = get(site, "/data")
    checks = page.partition('id="lint"')[2].partition('id="changes"')[0]
    assert "not explained</span>" not in checks
    assert "the vendor publishes exactly half of the L40S rates" in checks


def test_sources_are_links_with_the_rows_on_them(site: TestClient) -> None:
    page = get(site, "/data", kind="vendor")
    part = page.partition('id="sources"')[2]
    counts = [int(n.replace(",", "")) for n in re.findall(r'<td class="n main">([\d,]+)</td>', part)]
    assert len(counts) == 40 and counts == sorted(counts, reverse=True) and counts[0] > 0
    assert part.count('rel="noreferrer noopener"') > 30


def test_hostile_text_is_shown_as_text(site: TestClient) -> None:
    attack = "<script>alert(1)</script>"
    for path, name in (("/compare", "add"), ("/benchmarks", "q"), ("/prices", "q"), ("/data", "source")):
        page = site.get(path, params={name: attack}).text
        assert attack not in page and "&lt;script&gt;" in page


# Writing: nothing below may be read by the tests above.


def post(site: TestClient, path: str, code: int = 200, **fields: Any) -> str:
    answer = site.post(path, data=fields, headers={"accept-language": "en"}, follow_redirects=False)
    assert answer.status_code == code, answer.text[:500]
    return answer.text if code != 303 else answer.headers["location"]


def carried(page: str) -> str:
    return unescape(re.search(r'name="items" value="([^"]*)"', page)[1])  # type: ignore[index]


def test_quotes_are_compared_before_they_are_kept(site: TestClient) -> None:
    page = unescape(post(site, "/quotes/preview", table=QUOTES))
    # 29,800 with 13 % on a special invoice costs 26,372; 28,200 on an ordinary one stays 28,200.
    assert "26,372" in page and "28,200" in page and "+1,828" in page
    assert "深圳甲科技有限公司 is lowest, ¥1,828 a card below the next" in page
    assert "fewer than three valid quotes" in page
    assert "深圳甲科技" not in get(site, "/quotes")


def test_an_ambiguous_card_must_be_named(site: TestClient) -> None:
    text = QUOTES.replace("L20\t4", "A100 80GB\t4")
    page = post(site, "/quotes/preview", table=text)
    assert "name the card" in page and "A100 PCIe 80GB · A100 SXM4 80GB" in page
    assert "keep these quotes" not in page
    chosen = {"items": carried(page), "take-0": "1", "take-1": "1", "card-0": "L20"}
    page = unescape(post(site, "/quotes/preview", **chosen, **{"card-1": "A100 SXM4 80GB"}))
    assert "keep these quotes" in page and "Quotes for A100 SXM4 80GB" in page


@pytest.mark.parametrize(
    "items", ["{", "[1]", '[{"cells": {"a": []}}]', "[" * 5000, json.dumps([{"line": 1}] * 5)]
)
def test_a_forged_form_is_refused(site: TestClient, items: str) -> None:
    assert "cannot be read" in post(site, "/quotes/preview", 422, items=items)


def test_what_is_no_table_is_refused(site: TestClient) -> None:
    for text in ("", "hello", "a,b\n1,2"):
        assert "cannot be read" in post(site, "/quotes/preview", 422, table=text)
        assert "cannot be read" in post(site, "/prices/import", 422, table=text)


def test_without_a_key_nothing_is_kept(site: TestClient) -> None:
    page = post(site, "/quotes/preview", table=QUOTES)
    fields = {"items": carried(page), "take-0": "1", "take-1": "1"}
    for wrong in ("", "cwk_wrong"):
        assert "Nothing was stored" in post(site, "/quotes/keep", 403, key=wrong, **fields)
    assert "深圳甲科技" not in get(site, "/quotes")
    app: Any = site.app
    reader = create_key(app.state.engine, "reader", ("read",)).secret
    assert "Nothing was stored" in post(site, "/quotes/keep", 403, key=reader, **fields)


def test_quotes_are_kept_confirmed_and_withdrawn_with_a_key(site: TestClient, key: str) -> None:
    page = post(site, "/quotes/preview", table=QUOTES)
    fields = {"items": carried(page), "take-0": "1", "take-1": "1", "why": "order 7"}
    address = post(site, "/quotes/keep", 303, key=key, **fields)
    ids = re.search(r"ids=([0-9a-f,]+)", address)[1].split(",")  # type: ignore[index]
    assert len(ids) == 2
    kept = unescape(get(site, address))
    assert "26,372" in kept and "NVIDIA L20 48GB 推理卡" in kept
    # A valid quote counts before any observation, and the ledger says so.
    assert "the quote of 深圳甲科技有限公司 counts" in get(site, "/prices", gpu="l20")
    assert "a valid quote comes first" in get(site, "/prices", gpu="l20")
    assert "order 7" in get(site, "/data")
    post(site, "/quotes/0000/withdraw", 404, key=key)
    assert "said=refused" in post(site, f"/quotes/{ids[0]}/withdraw", 303, key="cwk_wrong")
    for quote in ids:
        assert post(site, f"/quotes/{quote}/withdraw", 303, key=key).endswith("said=withdrawn")
    assert "counts" not in table_notices(get(site, "/prices", gpu="l20"))


def table_notices(page: str) -> str:
    return " ".join(re.findall(r'<div class="note info">.*?</div>', page, re.DOTALL))


def test_per_unit_of_work_needs_a_work(site: TestClient, key: str) -> None:
    page = post(site, "/quotes/preview", table=QUOTES.replace("2099-12-11", "2099-12-12"))
    fields = {"items": carried(page), "take-0": "1"}
    address = post(site, "/quotes/keep", 303, key=key, **fields)
    assert "per million tokens" not in get(site, address)
    worked = get(site, address + "&model=llama-3.1-8b&batch_size=16&sequence_length=8192&precision=bf16")
    assert "¥ per million tokens" in worked and "¥ per TFLOPS in this work" in worked
    assert site.get(address + "&model=no-such-model").status_code == 422


PRICES = """显卡\t成色\t价格\t渠道\t地区\t日期
RTX 4090 D\t全新\t1.6万\tShop\tCN\t2026-11-20
L20\t全新\t29,800元\tShop\tCN\t2026-11-21
RTX 4090\t全新\t¥128,000\tShop\tCN\t2026-11-22
RTX 9999\t全新\t100元\tShop\tCN\t2026-11-22
RTX 3090\t二手\tabc\tShop\tXX\t2026-11-22
"""


def test_an_import_names_each_bad_row_and_stores_nothing(site: TestClient, key: str) -> None:
    before = get(site, "/prices.csv").count("\n")
    page = post(site, "/prices/import/keep", 422, table=PRICES, source="Team", key=key, currency="CNY")
    lines = re.findall(
        r'<th scope="row" class="n num">(\d+)</th><td class="main"><span class="tag bad">', page
    )
    assert lines == ["4", "5", "6"]
    assert "price of eight cards" in page and "RTX 9999" in page
    assert get(site, "/prices.csv").count("\n") == before


def test_an_import_is_checked_then_stored_then_known(site: TestClient, key: str) -> None:
    good = "\n".join(PRICES.splitlines()[:3])
    page = post(site, "/prices/import", table=good, source="Team", currency="CNY")
    assert "2 prices can be stored" in page
    fields = {"items": carried(page), "source": "Team", "currency": "CNY"}
    assert "Nothing was stored" in post(site, "/prices/import/keep", 403, key="cwk_x", **fields)
    assert "2 prices are stored" in post(site, "/prices/import/keep", key=key, why="survey", **fields)
    assert "All of it is there already" in post(site, "/prices/import/keep", key=key, **fields)
    text = get(site, "/prices.csv?gpu=rtx4090d").lstrip("\ufeff")
    assert any(float(r["amount"]) == 16_000 for r in csv.DictReader(text.splitlines()))


def test_a_row_that_names_no_currency_is_refused_unless_the_form_names_one(site: TestClient) -> None:
    good = "\n".join(PRICES.splitlines()[:3])
    assert "currency" in post(site, "/prices/import", 422, table=good, source="Team", currency="")
    assert "can be stored" in post(
        site, "/prices/import", table=good.replace("Shop", "Other"), source="Team", currency="CNY"
    )


def test_a_figure_per_1000_yuan_names_the_price_that_it_is_divided_by(site: TestClient) -> None:
    """The observed price of August is carried to today: the one is shown as observed, the other divides."""
    page = site.get(f"/explain?gpu=rtx4090&figure=per_1000.bf16_tflops&as_of={DAY}&lang=en").text
    divisor = re.search(r"÷ ([\d,]+) × 1000", page)
    assert divisor is not None
    assert re.search(rf"Price today.*?¥{divisor[1]}", page, re.DOTALL)
    assert "Price as observed" in page
