"""Quotes on one basis, and what is odd about each."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from app.core.quotes import (
    QuotedCard,
    QuoteLine,
    WorkRate,
    compare,
    flags,
    is_doubtful,
    normalise,
    rough_ratio,
)

DAY = date(2026, 11, 30)
LINE = QuoteLine(
    "q",
    "甲",
    "rtx4090",
    11300.0,
    tax="included",
    tax_rate=0.13,
    invoice="special",
    quoted_on="2026-11-01",
    valid_until="2026-12-31",
    item_as_written="NVIDIA RTX 4090 24GB",
)
RTX4090 = QuotedCard("GeForce RTX 4090", 24.0, 1, {"bf16_tflops": 165.2, "fp8_tflops": 330.3})
# H100 SXM: 989.4 dense at fp16, 1978.9 dense at fp8 (NVIDIA H100 datasheet, halved).
H100 = QuotedCard(
    "H100 SXM5 80GB", 80.0, 1, {"bf16_tflops": 989.4, "fp16_tflops": 989.4, "fp8_tflops": 1978.9}
)


def codes(card: QuotedCard = RTX4090, market: float | None = 11000.0, **changes: Any) -> list[str]:
    line = replace(LINE, **changes)
    return [f.code for f in flags(line, card, normalise(line, 1.0).gross_cny_per_card, market, DAY)]


@pytest.mark.parametrize(
    ("changes", "gross", "net", "cost"),
    [
        # 11,300 with 13 % in it is 10,000 without; only a special invoice gives the tax back.
        ({}, 11300, 10000, 10000),
        ({"invoice": "ordinary"}, 11300, 10000, 11300),
        ({"invoice": ""}, 11300, 10000, 11300),
        ({"invoice": "none"}, 11300, 11300, 11300),
        ({"tax": "excluded", "unit_price": 10000}, 11300, 10000, 10000),
        ({"tax_rate": 0.06, "unit_price": 10600}, 10600, 10000, 10000),
        ({"per": "server-8", "unit_price": 90400}, 11300, 10000, 10000),
    ],
)
def test_net_and_gross(changes: dict[str, Any], gross: float, net: float, cost: float) -> None:
    found = normalise(replace(LINE, **changes), 1.0)
    assert (found.gross_cny_per_card, found.net_cny_per_card, found.cost_cny_per_card) == pytest.approx(
        (gross, net, cost)
    )
    assert found.includes_host is (changes.get("per") == "server-8")


def test_what_is_assumed_is_said() -> None:
    assert normalise(LINE, 1.0).assumptions == ()
    found = normalise(replace(LINE, tax="unknown", tax_rate=None), 1.0).assumptions
    assert [m.code for m in found] == ["quote_tax_rate_assumed", "quote_tax_assumed_included"]


def test_per_tflops_and_per_unit_of_work() -> None:
    found = normalise(LINE, 1.0, WorkRate(80.0, 5000.0, "million_tokens"))
    assert found.cost_cny_per_tflops == pytest.approx(125.0)
    assert found.cost_cny_per_unit == pytest.approx(2.0)
    foreign = normalise(replace(LINE, currency="USD", unit_price=1130.0), 7.0)
    assert foreign.net_cny_per_card == pytest.approx(7000.0)


def test_a_good_quote_has_no_flag() -> None:
    assert codes() == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"item_as_written": "RTX 4090 48GB"}, "quote_memory_mismatch"),
        ({"item_as_written": "RTX4090 ４８Ｇ 显存"}, "quote_memory_mismatch"),
        ({"unit_price": 88000.0}, "quote_looks_like_server"),
        ({"valid_until": "2026-11-29"}, "quote_expired"),
        ({"valid_until": ""}, "quote_no_validity"),
        ({"quoted_on": "2026-12-01"}, "quote_not_yet_valid"),
        ({"unit_price": 18000.0}, "quote_far_from_market"),
        ({"unit_price": 40000.0}, "quote_beyond_reason"),
        ({"unit_price": 1130.0}, "quote_beyond_reason"),
        ({"invoice": ""}, "quote_invoice_missing"),
        ({"invoice": "none"}, "quote_without_invoice"),
        ({"note": "算力 330 TFLOPS FP16"}, "quote_sparse_rate"),
        ({"note": "含稀疏算力"}, "quote_sparse_words"),
    ],
)
def test_flags(changes: dict[str, Any], code: str) -> None:
    assert codes(**changes) == [code]


@pytest.mark.parametrize(
    "text",
    [
        "8卡服务器 RTX 4090 24G*8, 512G DDR5 内存, 3.84T SSD, 200G 网卡",
        "RTX 4090 24GB 涡轮版 / 64GB*16 RDIMM",
        "RTX 4090",
        "4090 24GB FP16 165 TFLOPS",
    ],
)
def test_what_belongs_to_the_host_is_no_mismatch(text: str) -> None:
    assert codes(item_as_written=text) == []


@pytest.mark.parametrize(
    ("note", "sparse"),
    [
        ("1979 TFLOPS", True),
        ("FP16 1979TFLOPS", True),
        ("FP8 1979 TFLOPS", False),
        ("FP8 3958 TFLOPS", True),
        ("BF16 989 TFLOPS", False),
        ("1.979 PFLOPS bf16", True),
    ],
)
def test_sparse_rates_of_an_h100(note: str, sparse: bool) -> None:
    line = {"item_as_written": "H100 80GB", "note": note, "unit_price": 180000.0}
    assert codes(H100, 180000.0, **line) == (["quote_sparse_rate"] if sparse else [])


# RTX 4090, NVIDIA Ada white paper 2.02: dense fp16 165.2 (fp32 accumulate), 330.3 (fp16 accumulate), int8
# 660.6, int4 1321.2; sparse twice each. RTX 5090: 838 int8 and 1676 fp4 dense, sold as 3352 AI TOPS.
WHOLE_4090 = replace(
    RTX4090,
    rates={
        "fp16_tflops": 165.2,
        "bf16_tflops": 165.2,
        "fp16_fp16acc_tflops": 330.3,
        "fp8_tflops": 330.3,
        "fp8_fp16acc_tflops": 660.6,
        "int8_tops": 660.6,
        "int4_tops": 1321.2,
    },
)
RTX5090 = QuotedCard("RTX 5090", 32.0, 1, {"fp16_tflops": 209.5, "int8_tops": 838.0, "fp4_tflops": 1676.0})


@pytest.mark.parametrize(
    ("card", "item", "code"),
    [
        (WHOLE_4090, "RTX 4090 24GB 660.6 TFLOPS FP16 算力1321 TOPS", "quote_sparse_rate"),
        (WHOLE_4090, "RTX 4090 24GB 算力1321 TOPS", "quote_sparse_tops"),
        (WHOLE_4090, "RTX 4090 24GB INT8 1321 TOPS", "quote_sparse_tops"),
        (WHOLE_4090, "RTX 4090 24GB INT4 1321 TOPS", ""),
        (WHOLE_4090, "RTX 4090 24GB INT8 660 TOPS, FP16 165 TFLOPS", ""),
        (WHOLE_4090, "RTX 4090 24GB FP16 330 TFLOPS", "quote_sparse_rate"),
        (WHOLE_4090, "RTX 4090 24GB FP16 165 TFLOPS, FP8 660.6 TFLOPS", "quote_sparse_rate"),
        (RTX5090, "RTX 5090 32GB 3352 AI TOPS", "quote_sparse_tops"),
        (RTX5090, "RTX 5090 32GB INT8 838 TOPS", ""),
    ],
)
def test_sparse_rates_in_tflops_and_tops(card: QuotedCard, item: str, code: str) -> None:
    assert codes(card, item_as_written=item) == ([code] if code else [])


@pytest.mark.parametrize("invoice", ["special", "ordinary", ""])
def test_a_tax_rate_alone_does_not_say_that_the_tax_is_included(invoice: str) -> None:
    """It is taken as included, as design rule of prices has it, and the assumption is said."""
    line = replace(LINE, tax="unknown", invoice=invoice)
    found = normalise(line, 1.0)
    assert found.gross_cny_per_card == 11300
    assert [a.code for a in found.assumptions] == ["quote_tax_assumed_included"]


def test_a_ratio_is_never_said_to_be_nothing() -> None:
    assert [rough_ratio(r) for r in (0.00417, 0.333, 1.667, 17.5)] == [0.0042, 0.33, 1.67, 17.5]
    found = flags(LINE, RTX4090, 50.0, 11_000.0, DAY)
    assert [(f.code, f.params["ratio"]) for f in found] == [("quote_beyond_reason", 0.0045)]


def test_words_of_a_server_far_above_the_market_are_a_servers() -> None:
    # 1,299,500 yuan against 74,133 for one H20 141 GB: 17.5 times, most likely that of eight and their host.
    found = codes(market=11_000.0, item_as_written="8卡 RTX 4090 24G 服务器", unit_price=192_500.0)
    assert found == ["quote_looks_like_server"]


def test_without_a_market_price_the_words_speak() -> None:
    assert codes(market=None, item_as_written="4090 八卡整机 24G") == ["quote_looks_like_server"]
    assert codes(market=None) == []


def test_groups_keep_cards_and_servers_apart_and_leave_doubt_out() -> None:
    lines = [
        LINE,
        replace(LINE, id="b", supplier="乙", unit_price=12430.0),
        replace(LINE, id="c", supplier="丙", per="server-8", unit_price=120000.0),
        replace(LINE, id="d", supplier="丁", unit_price=90000.0),
        replace(LINE, id="e", supplier="戊", unit_price=9040.0, valid_until="2026-11-01"),
    ]
    quotes = []
    for line in lines:
        normal = normalise(line, 1.0)
        quotes.append(replace(normal, flags=flags(line, RTX4090, normal.gross_cny_per_card, 11000.0, DAY)))
    cards, servers = compare(quotes, DAY)
    assert (cards.per, servers.per) == ("card", "server-8")
    assert [q.line.id for q in cards.quotes] == ["e", "q", "b", "d"]
    assert (cards.valid, cards.lowest_id) == (2, "q")
    assert [cards.lowest_cny, cards.mean_cny, cards.spread] == pytest.approx([10000, 10500, 0.1])
    assert is_doubtful(cards.quotes[-1].flags)
