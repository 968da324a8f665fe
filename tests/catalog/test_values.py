"""Cells as people write them: each spelling is a row, and what has two readings is refused."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from app.catalog.imports.values import (
    CURRENCIES,
    CellFault,
    Money,
    count_of,
    currency_of,
    date_of,
    days_of,
    fraction_of,
    guard,
    integer_of,
    money_of,
    months_of,
    unguard,
)


@pytest.mark.parametrize(
    ("cell", "amount", "currency"),
    [
        ("1.2万", 12000.0, ""),
        ("12,999元", 12999.0, "CNY"),
        ("¥12999", 12999.0, "CNY"),
        ("￥12,999.00", 12999.0, "CNY"),
        ("１２９９９", 12999.0, ""),
        ("１２，９９９元", 12999.0, "CNY"),
        ("US$ 1,599", 1599.0, "USD"),
        ("NT$39,990", 39990.0, "TWD"),
        ("HK$ 9,800", 9800.0, "HKD"),
        ("1.6万元", 16000.0, "CNY"),
        ("12999.5", 12999.5, ""),
        (12999, 12999.0, ""),
        ("1599 USD", 1599.0, "USD"),
        ("人民币 12999 元整", 12999.0, "CNY"),
    ],
)
def test_amounts(cell: Any, amount: float, currency: str) -> None:
    assert money_of(cell) == Money(amount, currency)


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("12,99", "not_a_number"),
        ("12.999,00", "not_a_number"),
        ("面议", "not_a_number"),
        ("1e999", "not_finite"),
        (float("nan"), "not_finite"),
        (10**400, "not_finite"),
        (True, "not_a_number"),
        ("¥100美元", "currency_twice"),
        ("1_000", "not_a_number"),
        ("12999元/月", "not_a_number"),
    ],
)
def test_amounts_that_are_refused(cell: Any, code: str) -> None:
    with pytest.raises(CellFault) as refused:
        money_of(cell)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("cell", "day"),
    [
        ("2026/7/1", "2026-07-01"),
        ("2026-07-01", "2026-07-01"),
        ("2026.7.1", "2026-07-01"),
        ("2026年7月1日", "2026-07-01"),
        ("２０２６年７月１日", "2026-07-01"),
        ("20260701", "2026-07-01"),
        (46204, "2026-07-01"),
        ("46204", "2026-07-01"),
        (46204.75, "2026-07-01"),
        (datetime(2026, 7, 1, 9, 30), "2026-07-01"),
        ("2026-07-01 09:30:00", "2026-07-01"),
        ("2026年7月", "2026-07"),
        ("2026/07", "2026-07"),
        ("2026", "2026"),
    ],
)
def test_dates(cell: Any, day: str) -> None:
    assert date_of(cell) == day


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("7/1/2026", "ambiguous_date"),
        ("13/7/2026", "ambiguous_date"),
        ("01.07.26", "ambiguous_date"),
        ("2026-02-30", "not_a_date"),
        ("2026-13-01", "not_a_date"),
        ("12999", "not_a_date"),
        ("soon", "not_a_date"),
        (True, "not_a_date"),
    ],
)
def test_dates_that_are_refused(cell: Any, code: str) -> None:
    with pytest.raises(CellFault) as refused:
        date_of(cell)
    assert refused.value.code == code


def test_currencies_are_those_of_iso_4217() -> None:
    for text in ("cny", "人民币", "¥", "USD", "NT$", "hkd", "€", "GBP", "jpy", "KRW"):
        assert currency_of(text) in CURRENCIES
    for text in ("BTC", "USDT", "XTS", "dollars", "RM"):
        with pytest.raises(CellFault, match="unknown_currency"):
            currency_of(text)


def test_shares_durations_and_counts() -> None:
    assert [fraction_of(v) for v in ("13%", "１３％", 13, 0.13, "0.13")] == [0.13] * 5
    assert [days_of(v) for v in ("现货", "7", "3-5天", "2周", "10个工作日", "两周", 30)] == [
        0,
        7,
        5,
        14,
        10,
        14,
        30,
    ]
    assert [months_of(v) for v in ("3年", "三年质保", "36个月", 36, "无")] == [36, 36, 36, 36, 0]
    assert (integer_of("8张"), integer_of("１２台")) == (8, 12)
    assert (count_of("8.03B"), count_of("70亿"), count_of("7e9")) == (8.03e9, 7e9, 7e9)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "'quoted", "'=x", "plain", ""])
def test_a_guarded_text_is_no_formula_and_comes_back(text: str) -> None:
    assert not guard(text).startswith(("=", "+", "-", "@", "\t"))
    assert unguard(guard(text)) == text
