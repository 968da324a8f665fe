"""Three suppliers' workbooks for eight H20 141 GB: one comparison, then the quote that the ranking uses."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.services.access import create_key
from app.settings import Settings
from tests.catalog.test_quotes import workbook

TODAY = datetime.now(UTC).date()
UNTIL = TODAY + timedelta(days=20)
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
TITLED = workbook(
    [
        ["北京甲科技有限公司报价单"],
        [f"报价日期：{TODAY.isoformat()}", None, None, f"有效期至：{UNTIL.isoformat()}"],
        ["序号", "型号", "配置", "单位", "数量", "单价（元，含税13%）", "金额（元）"],
        [1, "H20 141G 八卡服务器", "8×H20 141GB，2T DDR5，8×400G 网卡", "台", 1, 1_180_000, 1_180_000],
        ["合计", None, None, None, 1, None, 1_180_000],
        ["备注：含13%增值税专票，质保三年"],
    ],
    ("A1:G1", "A2:C2", "D2:G2", "A5:D5", "A6:G6"),
)
# No supplier but in the name of the file; the unit is in the words alone.
NAMED = workbook(
    [
        ["服务器报价单"],
        ["产品名称", "数量", "未税单价", "税率", "发票", "报价日期", "有效期"],
        ["8卡 H20 141G 服务器", 1, "115万", "13%", "专票", TODAY, "15天"],
        ["总计", 1, "115万"],
    ],
    ("A1:G1",),
)
OLD = workbook(
    [
        ["供应商：", "深圳丙电子有限公司", None, None, "联系人：王先生"],
        ["货物名称", "规格", "数量", "报价（万元，含税）", "发票", "报价日期", "有效期至"],
        ["HGX H20 整机", "141G 显存", 1, 118.5, "专票", date(2026, 1, 5), date(2026, 1, 20)],
        ["小计", None, 1, 118.5],
    ]
)
FILES = [("t.xlsx", TITLED), ("乙信息_H20报价_v2.xlsx", NAMED), ("报价.xlsx", OLD)]
WORK = {"model": {"preset": "deepseek-r1"}, "task": "inference", "precision": "fp8", "batch_size": 8}


@pytest.fixture(scope="module")
def site(seeded_database: Path) -> Iterator[TestClient]:
    path = seeded_database.with_name("quote_workbooks.db")
    shutil.copyfile(seeded_database, path)
    headers = {"accept-language": "zh"}
    with TestClient(create_app(Settings(database_url=f"sqlite:///{path}")), headers=headers) as client:
        yield client


def preview(site: TestClient, files: list[tuple[str, bytes]], code: int = 200, **fields: str) -> str:
    sent = [("file", (name, content, XLSX)) for name, content in files]
    answer = site.post("/quotes/preview", data=fields, files=sent)
    assert answer.status_code == code, answer.text[:500]
    return unescape(answer.text)


def carried(page: str) -> str:
    """The lines that a page, unescaped already, sends on: up to the end of the tag."""
    found = re.search(r'name="items" value="(.*?)"><datalist', page, re.DOTALL)
    assert found is not None
    return found[1]


def rows(page: str) -> list[str]:
    found = re.findall(r"<tr><th scope=\"row\">.*?</tr>", page, re.DOTALL)
    return [row for row in found if 'name="per-' in row]


def test_the_preview_reads_card_unit_tax_and_supplier(site: TestClient) -> None:
    page = preview(site, FILES, supplier="一个名字")
    lines = rows(page)
    assert len(lines) == 3
    # From the title, from the name of the file, from a label; the field fills none of them.
    for line, supplier in zip(lines, ("北京甲科技有限公司", "乙信息", "深圳丙电子有限公司"), strict=True):
        assert f'<span class="sub">{supplier}' in line and "一个名字" not in line
        assert 'value="H20 141GB (H20-3e)"' in line
        assert '<option value="server-8" selected>' in line
    # Unit or not, that it holds eight is in the words, which is shown.
    assert all("按文字判断" in line for line in lines)
    assert "1,180,000" in lines[0] and "1,150,000" in lines[1] and "1,185,000" in lines[2]
    assert "市场价" not in page and "已过期" in page and "倍" not in page


def test_the_reader_changes_what_was_understood(site: TestClient) -> None:
    page = preview(site, FILES[1:2])
    assert "8 卡整机" in page
    fields = {"items": carried(page), "take-0": "1", "card-0": "H20 141GB", "per-0": "card"}
    changed = unescape(site.post("/quotes/preview", data=fields).text)
    assert '<option value="card" selected>' in rows(changed)[0] and "按文字判断" not in rows(changed)[0]


def test_a_workbook_with_a_sheet_for_each_supplier(site: TestClient) -> None:
    book = openpyxl.Workbook()
    for name in ("说明", "甲科技", "乙信息报价"):
        sheet = book.create_sheet(name)
        sheet.append(["比价说明"] if name == "说明" else ["型号", "单位", "含税单价", "有效期"])
        if name != "说明":
            sheet.append(["RTX 4090", "张", 14_800, "15天"])
            sheet.append(["合计", None, 14_800])
    stream = io.BytesIO()
    book.save(stream)
    lines = rows(preview(site, [("比价.xlsx", stream.getvalue())]))
    assert [re.findall(r'class="sub">([^ ]+) ·', line)[0] for line in lines] == ["甲科技", "乙信息"]
    assert all('<option value="card" selected>' in line for line in lines)


def test_what_is_missing_is_said_in_words_with_the_file(site: TestClient) -> None:
    nameless = workbook([["型号", "含税单价"], ["RTX 4090", 14800]])
    page = preview(site, [("报价.xlsx", nameless)])
    assert "报价.xlsx 中没有供应商" in page and "supplier 此项必填" not in page
    twice = workbook([["型号", "含税单价", "含税价"], ["RTX 4090", 1, 2]])
    refused = preview(site, [FILES[0], ("两列.xlsx", twice)], 422)
    assert "两列.xlsx" in refused and "含税单价 / 含税价" in refused


def test_a_kept_server_quote_is_what_the_ranking_uses(site: TestClient) -> None:
    app: Any = site.app
    key = create_key(app.state.engine, "buyer", ("write",)).secret
    fields = {"items": carried(preview(site, FILES)), "key": key} | {f"take-{i}": "1" for i in range(3)}
    kept = site.post("/quotes/keep", data=fields, follow_redirects=False)
    assert kept.status_code == 303, rows(unescape(kept.text))
    # All in one group, the lowest of the two valid ones without the tax that is reclaimed.
    asked = {"workload": WORK}
    group = site.post("/api/v1/quotes/compare", json=asked).json()["groups"]
    assert [(g["gpu"]["id"], g["per"], g["valid"]) for g in group] == [("h20-141gb", "server-8", 2)]
    quotes = {q["supplier"]: q for q in group[0]["quotes"]}
    first, second, third = (quotes[n] for n in ("北京甲科技有限公司", "乙信息", "深圳丙电子有限公司"))
    assert first["gross_cny_total"] == 1_180_000 and second["gross_cny_total"] == pytest.approx(1_299_500)
    assert group[0]["lowest_id"] == first["id"] and third["state"] == "expired"
    assert first["cost_cny_per_card"] == pytest.approx(1_180_000 / 1.13 / 8, abs=0.01)
    # DeepSeek-R1 fits on eight of them and on no single one: the work is asked of eight.
    assert first["cost_per_unit"]["unit"] == "million_tokens" and first["cost_per_unit"]["amount_cny"] > 0
    ratio = second["cost_per_unit"]["amount_cny"] / first["cost_per_unit"]["amount_cny"]
    assert ratio == pytest.approx(1_150_000 * 1.13 / 1_180_000, rel=0.01)
    body = {"workload": WORK, "counts": [1, 4, 8], "filters": {"gpus": ["h20-141gb"]}}
    option = site.post("/api/v1/shortlist", json=body).json()["options"][0]
    assert (option["count"], option["price"]["per"], option["price"]["kind"]) == (8, "server-8", "quote")
    assert option["price"]["amount_cny"] == 1_180_000 and option["price"]["channel"] == "北京甲科技有限公司"
    assert (option["cost"]["purchase_cny"], option["cost"]["host_cny"]) == (1_180_000, 0)
