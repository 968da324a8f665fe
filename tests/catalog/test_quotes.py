"""Three suppliers' workbooks become one comparison, and a valid quote drives the price that counts."""

from __future__ import annotations

import io
from datetime import date
from typing import Any

import openpyxl
import pytest
from sqlalchemy import Engine

from app.catalog.changes import Author
from app.catalog.importing import ImportOptions, ImportReport, import_file, import_items
from app.catalog.imports.quotes import candidates
from app.catalog.imports.references import References
from app.catalog.quotes import confirm_quote, list_quotes, withdraw_quote
from app.catalog.snapshot_load import load_snapshot

DAY = date(2026, 11, 30)
AUTHOR = Author("buyer")


def workbook(rows: list[list[Any]], merges: tuple[str, ...] = ()) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in rows:
        sheet.append(row)
    for merge in merges:
        sheet.merge_cells(merge)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


FIRST = workbook(
    [
        ["北京甲科技有限公司 报价单"],
        ["供应商：北京甲科技有限公司", None, None, "报价日期：2026年11月28日"],
        [
            "序号",
            "产品型号",
            "数量（张）",
            "含税单价（元）",
            "税率",
            "发票类型",
            "交货期",
            "质保",
            "付款方式",
            "有效期",
        ],
        [1, "RTX 4090", 8, "¥14,800.00", "13%", "专票", "7天", "三年", "货到付款", "15天"],
        ["合计", None, 8, 118400],
        ["备注：以上报价含运费"],
    ],
    ("A1:J1", "A2:C2"),
)
SECOND = workbook(
    [
        ["致：某大学"],
        ["供应商名称", "型号", "确认显卡", "数量", "未税单价", "税率", "发票", "报价日期", "有效期至"],
        ["上海乙信息公司", "4090 24G 公版", "RTX 4090", 8, 13500, 0.13, "普票", 46354, date(2026, 12, 20)],
    ]
)
THIRD = workbook(
    [
        ["深圳丙电子有限公司"],
        ["整机报价"],
        ["规格", "确认显卡", "单位", "数量", "单价（万元，含税）", "税率", "发票", "报价日期", "有效期"],
        [
            "8卡 RTX 4090 24G 服务器，512G DDR5 内存",
            "rtx4090",
            "台",
            1,
            18.5,
            "13%",
            "专票",
            "2026/11/20",
            "2026/11/27",
        ],
    ]
)


def run(engine: Engine, content: bytes | str, **options: Any) -> ImportReport:
    data = content.encode() if isinstance(content, str) else content
    return import_file(engine, "quotes", data, AUTHOR, ImportOptions(DAY, **options))


def test_three_workbooks_with_titles_totals_and_a_server(seeded: Engine) -> None:
    for content in (FIRST, SECOND, THIRD):
        report = run(seeded, content)
        assert report.stored, report.faults
        assert len(report.rows) == 1
    quotes = {q.supplier: q for q in list_quotes(seeded)}
    a, b, c = quotes["北京甲科技有限公司"], quotes["上海乙信息公司"], quotes["深圳丙电子有限公司"]
    assert (a.unit_price, a.tax, a.tax_rate, a.invoice) == (14800, "included", 0.13, "special")
    assert (a.quantity, a.delivery_days, a.warranty_months, a.payment_terms) == (8, 7, 36, "货到付款")
    assert (a.quoted_on, a.valid_until, a.state(DAY)) == ("2026-11-28", "2026-12-13", "valid")
    assert (b.unit_price, b.tax, b.invoice, b.quoted_on) == (13500, "excluded", "ordinary", "2026-11-28")
    assert (c.per, c.unit_price, c.tax, c.state(DAY)) == ("server-8", 185000, "included", "expired")
    # 14,800 with 13 % and a special invoice costs less than 13,500 + 13 % that nobody gives back.
    choice = load_snapshot(seeded).price_choices(DAY)["rtx4090", "new"]
    assert (choice.kind, choice.amount, choice.channel) == ("quote", 14800, "北京甲科技有限公司")
    # A quote is firm: it has no band.
    assert (choice.tax, choice.n, choice.low_cny, choice.high_cny) == ("included", 2, 14800, 14800)
    # The server's quote has expired and was none of a card.
    assert load_snapshot(seeded).server_choices(DAY) == {}


def test_a_repeated_quote_changes_nothing(seeded: Engine) -> None:
    assert run(seeded, FIRST).inserted == 1
    again = run(seeded, FIRST)
    assert (again.unchanged, again.stored) == (1, False)


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ("NVIDIA GeForce RTX 4090 24GB 涡轮", ["rtx4090"]),
        ("英伟达RTX 4090显卡", ["rtx4090"]),
        ("T4 加速卡", ["t4"]),
        ("RTX 40900", []),
        ("XT4B", []),
        ("RTX 4O90", []),
    ],
)
def test_candidates_are_names_that_stand_in_the_text(seeded: Engine, item: str, found: list[str]) -> None:
    with seeded.connect() as connection:
        assert candidates(item, References.read(connection)) == found


def test_the_card_is_confirmed_by_a_person(seeded: Engine) -> None:
    content = "供应商,型号,含税单价,有效期\n甲,RTX 4090 24GB 涡轮版,14800,2026-12-31\n"
    report = run(seeded, content)
    fault = report.faults[0]
    assert (fault.column, fault.code, list(fault.params["candidates"])) == (
        "型号",
        "card_not_confirmed",
        ["rtx4090"],
    )
    confirmed = content.replace("型号,", "型号,确认显卡,").replace("涡轮版,", "涡轮版,rtx4090,")
    assert run(seeded, confirmed).stored


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"valid_until": "2026-10-01", "quoted_on": "2026-11-01"}, "valid_before_quoted"),
        ({"per": "台"}, "unit_unclear"),
        ({"supplier": ""}, "required"),
        ({"unit_price_gross": 113, "unit_price_net": 100, "tax_rate": 0.06}, "tax_mismatch"),
        ({"invoice": "收据"}, "unknown_value"),
        ({"valid_until": "12/7/2026"}, "ambiguous_date"),
    ],
)
def test_faults_of_quotes(seeded: Engine, row: dict[str, Any], code: str) -> None:
    item = {"supplier": "甲", "gpu": "rtx4090", "unit_price": 14800} | row
    report = import_items(seeded, "quotes", [item], AUTHOR, ImportOptions(DAY))
    assert [f.code for f in report.faults] == [code]


def test_an_undated_quote_that_has_run_out_is_kept_as_expired(seeded: Engine) -> None:
    item = {"supplier": "甲", "gpu": "rtx4090", "unit_price": 14800, "valid_until": "2026-10-31"}
    assert import_items(seeded, "quotes", [item], AUTHOR, ImportOptions(DAY)).stored
    (quote,) = list_quotes(seeded)
    assert (quote.quoted_on, quote.state(DAY)) == ("2026-10-31", "expired")
    assert import_items(seeded, "quotes", [item], AUTHOR, ImportOptions(DAY)).unchanged == 1
    assert load_snapshot(seeded).price_choices(DAY)["rtx4090", "new"].kind != "quote"


def test_a_doubtful_quote_is_kept_but_counts_only_when_confirmed(seeded: Engine) -> None:
    item = {
        "supplier": "甲",
        "gpu": "rtx4090",
        "item": "RTX 4090 48GB",
        "unit_price": 14000,
        "quoted_on": "2026-11-28",
        "valid_until": "2026-12-31",
    }
    report = import_items(seeded, "quotes", [item], AUTHOR, ImportOptions(DAY))
    assert report.stored
    quote = list_quotes(seeded)[0]
    assert (quote.held, quote.state(DAY)) == ("quote_memory_mismatch", "held")
    assert load_snapshot(seeded).price_choices(DAY)["rtx4090", "new"].kind == "observation"
    confirm_quote(seeded, quote.id, AUTHOR)
    assert load_snapshot(seeded).price_choices(DAY)["rtx4090", "new"].kind == "quote"
    withdraw_quote(seeded, quote.id, AUTHOR)
    assert list_quotes(seeded)[0].state(DAY) == "withdrawn"
    assert load_snapshot(seeded).price_choices(DAY)["rtx4090", "new"].kind == "observation"


def test_a_quote_for_eight_at_the_price_of_a_server_is_held(seeded: Engine) -> None:
    item = {"supplier": "甲", "gpu": "rtx4090", "unit_price": 118000, "valid_until": "2026-12-31"}
    import_items(seeded, "quotes", [item], AUTHOR, ImportOptions(DAY))
    assert list_quotes(seeded)[0].held == "quote_looks_like_server"
