"""Pages over the real catalogue: both languages, faults, addresses, figures equal to those of the API."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.settings import Settings

PAGES = [
    "/",
    "/?model=7B",
    "/?open=1&pin=l20",
    "/gpus",
    "/gpus?sort=-value&q=rtx&memory=24",
    "/gpus/rtx4090",
    "/models",
    "/method",
    "/explain?figure=options.0.cost.total_cny",
    "/option?rank=2",
    "/explain?gpu=rtx4090&figure=figures.bf16_tflops.value",
]
FIGURE = re.compile(r'data-field="([^"]+)" data-value="([^"]*)"')


@pytest.fixture(scope="module")
def site(seeded_database: Path) -> Any:
    """A client of the whole application over the seeded catalogue; nothing here writes but comparisons."""
    import shutil

    path = seeded_database.with_name("pages.db")
    shutil.copyfile(seeded_database, path)
    settings = Settings(
        database_url=f"sqlite:///{path}", comparisons_per_hour=1_000, comparisons_per_day=1_000
    )
    with TestClient(create_app(settings)) as client:
        yield client


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_there_in_both_languages(site: TestClient, path: str, language: str) -> None:
    answer = site.get(path, headers={"accept-language": language})
    assert answer.status_code == 200
    assert answer.headers["content-language"] == {"en": "en", "zh": "zh-CN"}[language]
    assert {"HX-Request", "Accept-Language", "Cookie"} <= set(answer.headers["vary"].split(", "))
    chinese = len(
        re.findall("[\u4e00-\u9fff]", re.sub(r"<option.*?</option>|<datalist.*?</datalist>", "", answer.text))
    )
    assert chinese > 60 if language == "zh" else "计算器" not in answer.text


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?model=llama-3.1-8b&batch_size=16&sequence_length=8192",
        "?model=13B&task=qlora&precision=nf4&batch_size=2&sequence_length=2048",
        "?model=resnet-50&task=training&batch_size=128&image_size=224&precision=fp16",
        "?model=bert-large-uncased&task=training&batch_size=16&sequence_length=384&precision=fp16",
        "?model=deepseek-v3-671b&precision=fp8&batch_size=4&evidence=any",
        "?model=qwen3-30b-a3b&precision=awq&batch_size=16&work=50&months=24",
        "?model=llama-2-7b&task=lora&batch_size=1&sequence_length=2048&objective=tflops_per_yuan",
        "?model=whisper-large-v3&precision=fp16&batch_size=1&objective=speed",
        "?model=sdxl-base-1.0&precision=fp16&batch_size=1&objective=purchase",
    ],
)
def test_figures_of_the_page_equal_those_of_the_api(site: TestClient, query: str) -> None:
    body = site.get(f"/result.json{query}").json()
    question = body["question"]
    page = site.get(f"/{query}", headers={"accept-language": "zh"}).text
    sent = {k: question[k] for k in ("economics", "objective", "counts", "limit", "work") if k in question}
    sent["filters"] = {"conditions": question["filters"]["conditions"]}
    sent["price_rules"] = {"evidence": question["price_rules"]["evidence"]}
    sent["workload"] = {k: v for k, v in question["workload"].items() if v is not None}
    api = site.post("/api/v1/shortlist", json=sent).json()
    found = FIGURE.findall(page)
    assert len(found) > 50
    for path, value in found:
        at: Any = api
        for part in path.split("."):
            at = at[int(part)] if isinstance(at, list) else at[part]
        assert float(value or "nan") == pytest.approx(at, rel=1e-9), path


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("batch_size=0", "batch_size"),
        ("batch_size=NaN", "batch_size"),
        ("batch_size=８", "batch_size"),
        ("months=-1", "months"),
        ("utilisation=140", "utilisation"),
        ("model=no-such-model", "model"),
        ("config=%7B", "config"),
        ("precision=fp3", "precision"),
        ("counts=1,x", "counts"),
        ("prices=rtx4090", "prices"),
        ("sequence_length=1e308", "sequence_length"),
        ("as_of=yesterday", "as_of"),
    ],
)
def test_a_fault_is_named_at_its_field_and_nothing_is_lost(site: TestClient, query: str, field: str) -> None:
    answer = site.get(f"/?pue=1.7&{query}", headers={"accept-language": "en"})
    assert answer.status_code == 422
    assert f'href="#{field}"' in answer.text
    typed = (
        unescape(re.search(rf'id="{field}" name="{field}" value="([^"]*)"', answer.text)[1])
        # type: ignore[index]
        if (re.search(rf'<input id="{field}"', answer.text))
        else None
    )
    given = query.partition("=")[2]
    assert typed in (None, given)
    assert 'name="pue" value="1.7"' in answer.text
    part = site.get(f"/?{query}", headers={"hx-request": "true", "accept-language": "en"})
    assert part.status_code == 422 and "errsum" in part.text and "<html" not in part.text


def test_htmx_gets_the_parts_that_change_and_the_shortest_address(site: TestClient) -> None:
    query = "model=Qwen3-14B&batch_size=16&sequence_length=8192&months=36&engine=auto"
    part = site.get(f"/?{query}", headers={"hx-request": "true"})
    assert part.headers["hx-push-url"] == "/?batch_size=16&sequence_length=8192"
    assert "<html" not in part.text and part.text.count("<hx-partial") == 7
    whole = site.get(f"/?{query}", headers={"hx-request": "true", "hx-history-restore-request": "true"})
    assert "<html" in whole.text


def test_hostile_text_is_shown_as_text(site: TestClient) -> None:
    attack = "<script>alert(1)</script>"
    for path in ("/", "/gpus", "/models"):
        name = "model" if path == "/" else "q"
        answer = site.get(path, params={name: attack})
        assert attack not in answer.text and "&lt;script&gt;" in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/gpus/nothing",
        "/nothing",
        "/c/unknown",
        "/explain?figure=options.0.nothing",
        "/explain?gpu=rtx4090&figure=x",
        "/explain?figure=options.0.label",
        "/option?rank=99",
        "/charts/none",
    ],
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_not_there_says_so_in_the_readers_language(
    site: TestClient, path: str, language: str
) -> None:
    answer = site.get(path, headers={"accept-language": language, "accept": "text/html"})
    assert answer.status_code == 404
    assert ("没有" in answer.text) is (language == "zh")


def test_a_comparison_is_frozen_opened_and_withdrawn(site: TestClient) -> None:
    form = {"batch_size": "16", "title": "Kartenwahl <&>"}
    made = site.post("/c", data=form, follow_redirects=False)
    assert made.status_code == 303
    address = made.headers["location"]
    page = site.get(address, headers={"accept-language": "en"})
    assert page.status_code == 200 and "Kartenwahl &lt;&amp;&gt;" in page.text
    assert page.headers["x-robots-tag"] == "noindex"
    opened = site.get(f"{address}/open", follow_redirects=False).headers["location"]
    assert opened == "/?precision=bf16&batch_size=16&sequence_length=8192", (
        "as it was, whatever is usual later"
    )
    token = address.rpartition("/")[2]
    explained = site.get("/explain", params={"comparison": token, "figure": "options.0.cost.total_cny"})
    assert explained.status_code == 200
    stranger = TestClient(site.app)
    assert stranger.post(f"{address}/withdraw", data={"sure": "yes"}).status_code == 404
    assert site.get(address).status_code == 200
    site.post(f"{address}/withdraw", data={"sure": "yes"}, follow_redirects=False)
    assert site.get(address).status_code == 404


def test_a_faulty_question_is_not_frozen(site: TestClient) -> None:
    answer = site.post("/c", data={"batch_size": "0"}, follow_redirects=False)
    assert answer.status_code == 422 and 'href="#batch_size"' in answer.text


def test_an_address_that_freezes_too_much_is_refused(settings: Settings) -> None:
    few = settings.model_copy(update={"comparisons_per_hour": 1})
    with TestClient(create_app(few)) as client:
        answers = [client.post("/c", data={}, follow_redirects=False).status_code for _ in range(2)]
    assert answers == [303, 429]


def test_tables_download_with_raw_values(site: TestClient) -> None:
    ranking = site.get("/ranking.csv")
    assert ranking.headers["content-type"].startswith("text/csv")
    first = ranking.text.splitlines()[1].split(",")
    answer = site.get("/result.json").json()["options"][0]
    assert str(answer["cost"]["total_cny"]) in first
    cards = site.get("/gpus.csv?q=4090", headers={"accept-language": "en"}).text.splitlines()
    assert any(line.startswith("rtx4090,") and ",165.2," in line for line in cards)


def test_the_price_column_sorts_with_the_unpriced_last(site: TestClient) -> None:
    for order, sign in (("price", 1), ("-price", -1)):
        page = site.get("/gpus.csv", params={"sort": order}).text.splitlines()[1:]
        prices = [line.split(",")[-2] for line in page]
        known = [sign * float(p) for p in prices if p]
        assert known == sorted(known)
        assert all(not p for p in prices[len(known) :])


def test_dollars_are_the_yuan_at_the_dated_rate(site: TestClient) -> None:
    page = site.get("/?currency=USD", headers={"accept-language": "en"})
    rate = float(re.search(r"1 USD = ¥([\d.]+)", page.text)[1])  # type: ignore[index]
    total = site.get("/result.json").json()["options"][0]["cost"]["total_cny"]
    assert f"US${total / rate:,.0f}" in page.text
    site.cookies.clear()


def test_links_between_languages_stay_on_the_site(site: TestClient) -> None:
    page = site.get("/gpus?q=l20", headers={"accept-language": "en"}).text
    assert 'href="/gpus?q=l20&amp;lang=zh"' in page
    assert not re.search(r'href="//', page)


def test_the_first_view_is_light(site: TestClient) -> None:
    page = site.get("/", headers={"accept-encoding": "gzip"})
    html = int(page.headers["content-length"])
    weight = html
    for address in re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text):
        answer = site.get(unescape(address), headers={"accept-encoding": "br, gzip"})
        weight += int(answer.headers.get("content-length", len(answer.content)))
    assert weight <= 80 * 1024, f"{weight} bytes"


def test_chart_data_are_json(site: TestClient) -> None:
    for path in (
        "/charts/value",
        "/charts/memory?theme=dark",
        "/charts/pareto",
        "/charts/prices?gpu=rtx4090",
    ):
        answer = site.get(path)
        assert answer.status_code == 200
        json.dumps(answer.json(), allow_nan=False)
        assert answer.json().keys() == {"data", "layout"}


def test_the_machine_around_the_cards_opens_to_its_class(site: TestClient) -> None:
    asked = "work=200&acquisition=buy"
    ranked = site.get(f"/result.json?{asked}").json()["options"][0]
    assert ranked["price"]["per"] == "card"
    page = site.get(
        f"/explain?figure=options.0.cost.host_cny&{asked}", headers={"accept-language": "en"}
    ).text
    # One or two cards go into a machine that is there: nothing is paid for it.
    assert ranked["host"]["cny"] == 0 and "Machines and network" in page and "Power without cards" in page
