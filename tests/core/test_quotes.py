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
    assert (cards.valid, cards.lowest_id, cards.lowest_cny) == (2, "q", pytest.approx(10000))
    assert (cards.mean_cny, cards.spread) == (pytest.approx(10500), pytest.approx(0.1))
    assert is_doubtful(cards.quotes[-1].flags)
