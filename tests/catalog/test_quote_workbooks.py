"""Suppliers' workbooks as they come: titles, two columns for the item, tax in a header, servers of eight."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from sqlalchemy import Engine

from app.catalog.columns.observations import QUOTES
from app.catalog.importing import ImportOptions, import_file, import_items
from app.catalog.imports.quotes import candidates, company_of, supplier_of_file
from app.catalog.imports.references import References
from app.catalog.imports.rows import read_header
from app.catalog.imports.values import ImportRefused
from app.catalog.quotes import StoredQuote, list_quotes
from tests.catalog.test_quotes import AUTHOR, DAY, run, workbook


def only(engine: Engine, content: bytes | str) -> StoredQuote:
    report = run(engine, content)
    assert report.stored and len(report.rows) == 1, report.faults
    return list_quotes(engine)[0]


def test_a_model_and_its_configuration_are_one_item(seeded: Engine) -> None:
    content = workbook(
        [
            ["甲科技有限公司报价单"],
            ["配置", "型号", "数量", "单价（元，含税13%）", "有效期至"],
            ["8卡，2T 内存，64G*8", "RTX 4090", 1, 185000, "2026-12-31"],
            [None, "合计", None, 185000],
            ["总计（大写）", "壹拾捌万伍仟元整"],
        ],
        ("A1:E1",),
    )
    quote = only(seeded, content)
    assert (quote.supplier, quote.item_as_written) == ("甲科技有限公司", "RTX 4090; 8卡，2T 内存，64G*8")
    # The unit is nowhere: the words say eight cards.
    assert (quote.gpu_id, quote.per) == ("rtx4090", "server-8")
    assert (quote.unit_price, quote.currency, quote.tax, quote.tax_rate) == (185000, "CNY", "included", 0.13)


@pytest.mark.parametrize(
    ("price", "cell", "note", "stated"),
    [
        ("单价（元，含税13%）", 11300, "", ("included", 0.13, "", 11300)),
        ("未税单价", "1万", "", ("excluded", None, "", 10000)),
        ("单价", "未税 1万", "", ("excluded", None, "", 10000)),
        ("单价", "¥11,300（含13%税）", "", ("included", 0.13, "", 11300)),
        ("单价", 11300, "以上报价含13%增值税专票", ("included", 0.13, "special", 11300)),
        ("报价(元/张)", 10000, "以上价格不含税，开票另加13%", ("excluded", 0.13, "", 10000)),
        ("单价", 11300, "付款方式：预付30%", ("unknown", None, "", 11300)),
        # A header says more than a note about other goods.
        ("含税单价", 11300, "运费未税", ("included", None, "", 11300)),
    ],
)
def test_tax_is_read_where_it_is_written(
    seeded: Engine, price: str, cell: Any, note: str, stated: tuple[Any, ...]
) -> None:
    rows = [["供应商：甲"], ["型号", price, "有效期至"], ["RTX 4090", cell, "2026-12-31"], [note or None]]
    quote = only(seeded, workbook(rows))
    assert (quote.tax, quote.tax_rate, quote.invoice, quote.unit_price) == stated
    assert quote.per == "card"


@pytest.mark.parametrize(
    ("item", "unit", "per"),
    [
        ("8卡 RTX 4090 24G 服务器", "", "server-8"),
        ("8卡 RTX 4090 24G 服务器", "台", "server-8"),
        ("RTX 4090 八卡整机", "套", "server-8"),
        ("8x RTX 4090", "", "server-8"),
        ("RTX 4090", "pcs", "card"),
        ("RTX 4090", "块", "card"),
        ("RTX 4090 服务器版 涡轮, PCIe 4.0 x8", "", "card"),
        ("RTX 4090", "整机", "unit_unclear"),
        ("4卡 RTX 4090 服务器", "", "unit_unclear"),
        ("RTX 4090", "箱", "unknown_value"),
    ],
)
def test_the_unit_is_read_from_its_column_or_the_words(
    seeded: Engine, item: str, unit: str, per: str
) -> None:
    row = {"supplier": "甲", "gpu": "rtx4090", "item": item, "unit": unit, "unit_price": 14800}
    report = import_items(seeded, "quotes", [row], AUTHOR, ImportOptions(DAY))
    found = report.faults[0].code if report.faults else list_quotes(seeded)[0].per
    assert found == per
    from_words = [note.code for _, note in report.notes]
    assert from_words == (["quote_per_from_words"] if per == "server-8" else [])


def test_memory_in_the_text_decides_between_variants(seeded: Engine) -> None:
    with seeded.connect() as connection:
        references = References.read(connection)
    references.names_of_gpus = {
        "h20": "h20-96gb",
        "hgx h20": "h20-96gb",
        "h20 96g": "h20-96gb",
        "h20 141g": "h20-141gb",
        "h200": "h200",
    }
    for item in ("8卡 H20 141G 服务器", "H20 八卡整机 141GB*8，64G DDR5", "HGX H20; 141G", "h20 141gb"):
        assert candidates(item, references) == ["h20-141gb"], item
    assert candidates("H20 服务器 96G", references) == ["h20-96gb"]
    assert candidates("H20 服务器 512G 内存", references) == ["h20-96gb"]
    assert candidates("H20 141G 或 H200", references) == ["h20-141gb", "h200"]


def test_two_columns_that_truly_mean_the_same_are_both_named() -> None:
    header = read_header(["型号", "配置", "含税单价", "含税价"], QUOTES)
    assert header.twice == ("含税单价 / 含税价",)
    assert [cell.text for cell in header.joined] == ["配置"]


def test_a_table_with_two_prices_is_refused(seeded: Engine) -> None:
    with pytest.raises(ImportRefused) as refused:
        run(seeded, "供应商,型号,含税单价,含税价\n甲,RTX 4090,1,2\n")
    assert (refused.value.code, refused.value.params["value"]) == ("column_twice", "含税单价 / 含税价")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("北京甲科技有限公司报价单", "北京甲科技有限公司"),
        ("北京甲科技有限公司 服务器报价表（2026年11月）", "北京甲科技有限公司"),
        ("报价单 — 上海乙信息公司", "上海乙信息公司"),
        ("深圳丙电子有限公司", "深圳丙电子有限公司"),
        ("致：某某大学采购公司", ""),
        ("我公司承诺三年质保", ""),
        ("服务器报价单", ""),
    ],
)
def test_the_supplier_of_a_title(title: str, name: str) -> None:
    assert company_of(title) == name


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("甲科技_H20报价_20261128.xlsx", "甲科技"),
        ("北京甲科技有限公司报价单.xlsx", "北京甲科技有限公司"),
        ("乙信息报价.csv", "乙信息"),
        ("服务器报价单-最终版.xlsx", ""),
        ("Book1.xlsx", ""),
        ("quotation 2026-11 v2.xlsx", ""),
        ("", ""),
    ],
)
def test_the_supplier_of_a_file_name(file: str, name: str) -> None:
    assert supplier_of_file(file) == name


def test_totals_are_no_items(seeded: Engine) -> None:
    content = (
        "供应商,型号,数量,含税单价\n甲,RTX 4090,8,14800\n,小计,8,118400\n2,总计,8,118400\n"
        ",Total,8,118400\n,价税合计：,,118400\n"
    )
    report = import_file(seeded, "quotes", content.encode(), AUTHOR, ImportOptions(date(2026, 11, 30)))
    assert report.stored and len(report.rows) == 1
