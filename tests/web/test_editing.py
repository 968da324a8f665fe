"""Editing by page: who appears in the change log, keys, taking back, prices and figures of a card."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.services.access import create_editor, create_key, list_keys
from app.services.changes import ChangeInFull, change_log
from app.settings import Settings
from tests.cheap_hashes import cheap_hashes

PASSWORD = "four words in a row"
TODAY = datetime.now(UTC).date().isoformat()
PRICE = {
    "amount": "1.6万",
    "currency": "CNY",
    "condition": "new",
    "per": "card",
    "tax": "included",
    "region": "CN",
    "channel": "京东",
    "observed_on": TODAY,
    "source": "京东自营",
    "source_url": "https://item.jd.com/100",
    "why": "seen today",
}
FIGURE = {
    "figure": "tdp_w",
    "value": "455",
    "basis": "exact",
    "as_of": TODAY,
    "source": "A data sheet",
    "why": "misprint",
}
TABLE = f"gpu,condition,amount,currency,observed_on,source\nrtx4090,used,15200,CNY,{TODAY},闲鱼\n"
QUOTES = f"""供应商：深圳甲科技有限公司
报价日期：{TODAY}
型号\t数量\t含税单价(元)\t税率\t发票\t有效期
NVIDIA L20 48GB\t4\t29,800\t13%\t专票\t2099-12-11
"""


@pytest.fixture(scope="module")
def site(seeded_database: Path) -> Iterator[TestClient]:
    path = seeded_database.with_name("editing.db")
    shutil.copyfile(seeded_database, path)
    settings = Settings(database_url=f"sqlite:///{path}")
    headers = {"accept": "text/html", "accept-language": "en"}
    with (
        cheap_hashes(),
        TestClient(create_app(settings), headers=headers, follow_redirects=False) as client,
    ):
        for name, scope in (("林晓", "admin"), ("buyer", "write"), ("reader", "read")):
            create_editor(engine_of(client), name, PASSWORD, (scope,))
        yield client


@pytest.fixture
def anyone(site: TestClient) -> Iterator[TestClient]:
    site.cookies.clear()
    yield site
    site.cookies.clear()


@pytest.fixture
def buyer(anyone: TestClient) -> TestClient:
    sign_in(anyone, "buyer")
    return anyone


def engine_of(client: TestClient) -> Any:
    app: Any = client.app
    for name in ("limits", "sign_in_attempts"):
        # Each test is another day.
        if hasattr(app.state, name):
            delattr(app.state, name)
    return app.state.engine


def sign_in(client: TestClient, name: str) -> None:
    engine_of(client)
    assert client.post("/signin", data={"name": name, "password": PASSWORD}).status_code == 303


def newest(client: TestClient, table: str) -> ChangeInFull:
    return change_log(engine_of(client), table, limit=1).items[0]


def hidden(page: str, name: str) -> str:
    return unescape(re.findall(rf'name="{name}" value="([^"]*)"', page)[0])


@pytest.mark.parametrize("path", ["/history", "/keys", "/gpus/rtx4090/price", "/gpus/rtx4090/figure"])
def test_pages_for_editors_ask_to_sign_in_and_refuse_who_may_not(anyone: TestClient, path: str) -> None:
    answer = anyone.get(path)
    assert answer.status_code == 303 and answer.headers["location"].startswith("/signin?next=%2F")
    sign_in(anyone, "reader")
    refused = anyone.get(path)
    assert refused.status_code == 403 and "lacks the scope" in refused.text
    sign_in(anyone, "林晓")
    for language in ("zh", "en"):
        page = anyone.get(path, headers={"accept-language": language})
        assert page.status_code == 200 and page.headers["cache-control"] == "no-store"
        assert ("Sign in" in page.text) is False and ("林晓" in page.text)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/gpus/rtx4090/price", PRICE),
        ("/gpus/rtx4090/figure", FIGURE),
        ("/keys", {"name": "script", "scope": "admin"}),
        ("/keys/abc/revoke", {}),
        ("/history/2/undo", {"why": "because"}),
    ],
)
def test_nobody_else_changes_anything(anyone: TestClient, path: str, fields: dict[str, str]) -> None:
    before = change_log(engine_of(anyone), limit=1).items
    assert anyone.post(path, data=fields).headers["location"].startswith("/signin")
    sign_in(anyone, "reader")
    assert anyone.post(path, data=fields).status_code == 403
    assert change_log(engine_of(anyone), limit=1).items == before and list_keys(engine_of(anyone)) == []


def test_a_price_from_the_page_of_a_card(buyer: TestClient) -> None:
    assert 'href="/gpus/rtx4090/price"' in buyer.get("/gpus/rtx4090").text
    assert f'value="{TODAY}"' in buyer.get("/gpus/rtx4090/price").text
    answer = buyer.post("/gpus/rtx4090/price", data=PRICE)
    assert answer.headers["location"] == "/gpus/rtx4090/price?said=stored"
    assert "The price is stored." in buyer.get(answer.headers["location"]).text
    entry = newest(buyer, "price")
    assert (entry.who, entry.why, entry.action) == ("buyer", "seen today", "insert")
    row = entry.after or {}
    assert (row["gpu_id"], row["amount"], row["currency"], row["tax"]) == (
        "rtx4090",
        16000,
        "CNY",
        "included",
    )
    # The version follows the content, so the price is in force at once.
    shown = buyer.get("/gpus/rtx4090").text
    assert "16,000" in shown and "item.jd.com/100" in shown
    again = buyer.post("/gpus/rtx4090/price", data=PRICE)
    assert again.headers["location"].endswith("said=same") and newest(buyer, "price") == entry


def test_a_price_far_from_the_known_waits_for_a_word(buyer: TestClient) -> None:
    before = newest(buyer, "price")
    odd = PRICE | {"amount": "128,000", "source_url": "", "source": "A dealer"}
    refused = buyer.post("/gpus/rtx4090/price", data=odd)
    assert refused.status_code == 422 and 'name="confirm"' in refused.text
    # What was typed is still there, and the fault stands at its field.
    assert 'value="128,000"' in refused.text and 'aria-describedby="amount-h"' in refused.text
    assert newest(buyer, "price") == before
    stored = buyer.post("/gpus/rtx4090/price", data=odd | {"confirm": "1"})
    assert stored.headers["location"].endswith("said=stored")
    assert (newest(buyer, "price").after or {})["quality"] == "confirmed"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"amount": ""}, "amount"),
        ({"amount": "a lot"}, "amount"),
        ({"amount": "-3"}, "amount"),
        ({"observed_on": "30.11.2026"}, "observed_on"),
        ({"observed_on": "2999-01-01"}, "observed_on"),
        ({"source": "", "source_url": ""}, "source"),
        ({"source_url": "javascript:alert(1)"}, "source_url"),
        ({"condition": "stolen"}, "condition"),
        ({"why": " "}, "why"),
        ({"amount": "US$100"}, "amount"),
    ],
)
def test_faults_stand_at_their_fields(buyer: TestClient, change: dict[str, str], field: str) -> None:
    before = newest(buyer, "price")
    answer = buyer.post("/gpus/rtx4090/price", data=PRICE | {"channel": "x"} | change)
    assert answer.status_code == 422
    assert re.search(rf'id="{field}-h"', answer.text), field
    assert 'name="confirm"' not in answer.text
    assert newest(buyer, "price") == before


def test_a_card_that_is_not_there(buyer: TestClient) -> None:
    for path in ("/gpus/none/price", "/gpus/none/figure"):
        assert buyer.get(path).status_code == 404
        assert buyer.post(path, data=PRICE | FIGURE).status_code == 404


def test_a_figure_is_corrected_and_taken_back(buyer: TestClient) -> None:
    assert "450" in buyer.get("/gpus/rtx4090/figure?figure=tdp_w").text
    answer = buyer.post("/gpus/rtx4090/figure", data=FIGURE)
    assert answer.headers["location"] == "/gpus/rtx4090/figure?said=stored"
    figures = buyer.get("/api/v1/gpus/rtx4090").json()["figures"]
    assert (figures["tdp_w"]["value"], figures["tdp_w"]["source"]["title"]) == (455, "A data sheet")
    assert (figures["tdp_w"]["unit"], figures["tdp_w"]["note"]) == ("W", "misprint")
    entries = change_log(engine_of(buyer), "gpu_figure", limit=2).items
    added = next(e for e in entries if e.action == "insert")
    retired = next(e for e in entries if e.action == "update")
    assert (added.who, (added.after or {})["supersedes"]) == ("buyer", retired.row_id)
    page = buyer.get("/history?table=gpu_figure").text
    assert f'action="/history/{added.id}/undo"' in page
    # The value that was retired comes back with the new one, not by itself.
    assert f'action="/history/{retired.id}/undo"' not in page

    assert buyer.post(f"/history/{added.id}/undo", data={"why": ""}).status_code == 422
    done = buyer.post(f"/history/{added.id}/undo", data={"why": "it was right"})
    assert done.headers["location"] == "/history?said=undone"
    figures = buyer.get("/api/v1/gpus/rtx4090").json()["figures"]
    assert figures["tdp_w"]["value"] == 450
    undone = newest(buyer, "gpu_figure")
    assert (undone.who, undone.why, undone.action) == ("buyer", "it was right", "undo")
    again = buyer.post(f"/history/{added.id}/undo", data={"why": "once more"})
    assert again.status_code == 409
    assert buyer.post("/history/99999999999/undo", data={"why": "x"}).status_code == 404


def test_a_figure_that_breaks_a_rule_of_physics_waits_for_a_word(buyer: TestClient) -> None:
    odd = FIGURE | {"figure": "bandwidth_gb_s", "value": "2016", "source": "A mirror"}
    refused = buyer.post("/gpus/rtx4090/figure", data=odd)
    assert refused.status_code == 422 and 'name="confirm"' in refused.text
    assert "bandwidth_gb_s" in refused.text
    derived = buyer.post("/gpus/rtx4090/figure", data=FIGURE | {"basis": "derived"})
    assert derived.status_code == 422 and 'id="formula-h"' in derived.text


def test_a_figure_of_nothing_is_refused_and_one_far_off_waits_for_a_word(buyer: TestClient) -> None:
    for value in ("0", "-1", "nan", "inf"):
        refused = buyer.post("/gpus/rtx3090/figure", data=FIGURE | {"value": value, "confirm": "1"})
        assert refused.status_code == 422 and 'name="confirm"' not in refused.text
    # 350 W in force; no rule of physics holds it, only the distance does.
    far = FIGURE | {"value": "700"}
    refused = buyer.post("/gpus/rtx3090/figure", data=far)
    assert refused.status_code == 422 and 'name="confirm"' in refused.text
    assert "2 times the present 350" in unescape(refused.text)
    assert buyer.post("/gpus/rtx3090/figure", data=far | {"confirm": "1"}).status_code == 303
    assert buyer.get("/api/v1/gpus/rtx3090").json()["figures"]["tdp_w"]["value"] == 700
    # Beside the value in force now it is no news.
    assert buyer.post("/gpus/rtx3090/figure", data=far).status_code == 303


def test_a_price_taken_back_stays_on_record(buyer: TestClient) -> None:
    buyer.post("/gpus/rtx3090/price", data=PRICE | {"amount": "6500", "source_url": "https://item.jd.com/3"})
    entry = newest(buyer, "price")
    buyer.post(f"/history/{entry.id}/undo", data={"why": "wrong card"})
    page = unescape(buyer.get(f"/history?table=price&row={entry.row_id}").text)
    assert "wrong card" in page and "seen today" in page and "undone since" in page
    assert f'href="/history?before={entry.id + 1}#c-{entry.id}"' in page
    assert "withdrawn" in buyer.get(f"/history?table=price&row={entry.row_id}").text


def test_the_import_takes_an_editor_in_place_of_a_key(buyer: TestClient) -> None:
    page = buyer.post("/prices/import", data={"table": TABLE}).text
    assert "You write as buyer." in page and 'name="key"' not in page
    kept = buyer.post("/prices/import/keep", data={"items": hidden(page, "items"), "why": "weekly"})
    assert kept.status_code == 200 and "One price is stored." in kept.text
    assert (newest(buyer, "price").who, newest(buyer, "price").why) == ("buyer", "weekly")


def test_without_an_editor_the_import_takes_a_key(anyone: TestClient) -> None:
    table = TABLE.replace("15200", "15300")
    page = anyone.post("/prices/import", data={"table": table}).text
    assert 'name="key"' in page and 'href="/signin?next=/prices"' in page
    fields = {"items": hidden(page, "items")}
    assert anyone.post("/prices/import/keep", data=fields).status_code == 403
    # An editor without the scope is refused like anyone else, but may send a key.
    sign_in(anyone, "reader")
    assert anyone.post("/prices/import/keep", data=fields).status_code == 403
    key = create_key(engine_of(anyone), "script", ("write",))
    assert anyone.post("/prices/import/keep", data=fields | {"key": key.secret}).status_code == 200
    assert newest(anyone, "price").who == f"script ({key.id})"


def test_quotes_are_kept_and_withdrawn_by_an_editor(buyer: TestClient) -> None:
    page = buyer.post("/quotes/preview", data={"table": QUOTES}).text
    assert 'name="key"' not in page and "You write as buyer." in page
    fields = {"items": hidden(page, "items"), "take-0": "1", "card-0": hidden(page, "card-0")}
    kept = buyer.post("/quotes/keep", data=fields)
    assert kept.status_code == 303, kept.text[:2000]
    entry = newest(buyer, "quote")
    assert (entry.who, entry.action) == ("buyer", "insert")
    listed = buyer.get("/quotes").text
    assert f"/quotes/{entry.row_id}/withdraw" in listed and 'name="key"' not in listed
    buyer.post(f"/quotes/{entry.row_id}/withdraw", data={})
    assert newest(buyer, "quote").after == {"withdrawn": True}
    buyer.cookies.clear()
    refused = buyer.post(f"/quotes/{entry.row_id}/withdraw", data={})
    assert "said=refused" in refused.headers["location"]


def test_an_admin_makes_and_revokes_keys(anyone: TestClient) -> None:
    sign_in(anyone, "林晓")
    made = anyone.post("/keys", data={"name": "采购脚本", "scope": "write"})
    assert made.status_code == 201 and made.headers["cache-control"] == "no-store"
    (secret,) = re.findall(r"cwk_[\w-]{43}", made.text)
    key = next(key for key in list_keys(engine_of(anyone)) if key.name == "采购脚本")
    assert key.scopes == ("write",)
    row = {"base": "USD", "quote": "CNY", "rate": 6.74, "observed_on": "2026-11-27", "source": "A bank"}
    headers = {"x-api-key": secret}
    assert anyone.post("/api/v1/rates", json=row, headers=headers).status_code == 201
    page = anyone.get("/keys").text
    assert secret not in page and "采购脚本" in page
    assert newest(anyone, "api_key").who == "林晓"
    assert anyone.post(f"/keys/{key.id}/revoke").headers["location"] == "/keys?said=revoked"
    assert anyone.get("/api/v1/changes", headers=headers).status_code == 401
    assert f'action="/keys/{key.id}/revoke"' not in anyone.get("/keys").text
    # A key that there is not, or that is revoked already, is not said to be revoked now.
    for unknown in ("zzz", "a-b", key.id):
        refused = anyone.post(f"/keys/{unknown}/revoke")
        assert refused.status_code == 404 and "There is no key of this id" in refused.text
    for name, scope in (("", "write"), ("x" * 81, "write"), ("script", "root"), ("script", "")):
        assert anyone.post("/keys", data={"name": name, "scope": scope}).status_code == 422
    log = unescape(anyone.get("/history?table=api_key").text)
    assert secret not in log and "采购脚本" in log and "/undo" not in log
    # A buyer may keep prices, not keys.
    sign_in(anyone, "buyer")
    assert anyone.get("/keys").status_code == 403
    assert anyone.post("/keys", data={"name": "x", "scope": "write"}).status_code == 403


def test_the_log_goes_back_in_parts_and_takes_any_address(buyer: TestClient) -> None:
    for number in range(32):
        fields = PRICE | {"amount": str(15_000 + number), "observed_on": f"2026-10-{number % 28 + 1:02}"}
        assert buyer.post("/gpus/rtx4090/price", data=fields).status_code == 303
        if number % 20 == 0:
            engine_of(buyer)
    page = buyer.get("/history?table=price").text
    assert page.count('<tr id="c-') == 30
    (older,) = re.findall(r'href="([^"]+)" rel="next"', page)
    rest = buyer.get(unescape(older)).text
    assert 0 < rest.count('<tr id="c-') and 'href="/history?table=price"' in rest
    first = [int(i) for i in re.findall(r'<tr id="c-(\d+)"', page)]
    then = [int(i) for i in re.findall(r'<tr id="c-(\d+)"', rest)]
    assert first == sorted(first, reverse=True) and max(then) < min(first)
    for query in (
        "table=nothing",
        "row=%00%ff",
        "before=abc",
        "before=-1",
        "before=99999999999999",
        "said=x",
    ):
        assert buyer.get(f"/history?{query}").status_code == 200, query


def test_words_typed_by_others_are_no_markup(buyer: TestClient) -> None:
    evil = "<script>alert(1)</script> 100%(x)s"
    fields = PRICE | {"amount": "14100", "channel": evil, "source": evil, "source_url": "", "why": evil}
    assert buyer.post("/gpus/rtx4090/price", data=fields).status_code == 303
    for path in ("/history", "/gpus/rtx4090", "/prices?gpu=rtx4090", "/data"):
        assert evil not in buyer.get(path).text, path
    # A line break in a reason would be a second line in somebody's log.
    buyer.post("/gpus/rtx4090/price", data=PRICE | {"amount": "14200", "why": "one\r\ntwo\x00\u2028"})
    assert newest(buyer, "price").why == "one  two"
