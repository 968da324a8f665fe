"""Figures as the style rules print them."""

from __future__ import annotations

import math

import pytest

from app.texts import figures

NBSP = "\u00a0"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (figures.format_gib(40.51), f"40.5{NBSP}GiB"),
        (figures.format_gib(-0.04), f"0.0{NBSP}GiB"),
        (figures.format_gib(-3.26), f"\u22123.3{NBSP}GiB"),
        (figures.format_speed(1272.4, "tokens_per_s"), f"1,272{NBSP}tokens/s"),
        (figures.format_speed(1272.4, "tokens_per_s", "zh"), f"1,272{NBSP}token/s"),
        (figures.format_speed(0.123, "images_per_s"), f"0.12{NBSP}images/s"),
        (figures.format_money(36908.2), "¥36,908"),
        (figures.format_money(-5960), "\u2212¥5,960"),
        (figures.format_money(-0.2), "¥0"),
        (figures.format_money(12, "USD", "en", 2), "US$12.00"),
        (figures.format_money(12, "SEK"), f"SEK{NBSP}12"),
        (figures.format_unit_cost(5.1284), "¥5.13"),
        (figures.format_per_yuan(4.457), "4.46"),
        (figures.format_percent(0.876), f"88{NBSP}%"),
        (figures.format_range(39, 42.71, 1, "GiB"), f"39.0\u201342.7{NBSP}GiB"),
        (figures.format_parameters(8.03e9), f"8.03{NBSP}B"),
        (figures.format_parameters(3.35e8), f"335{NBSP}M"),
        (figures.format_plain(0.000123), "0.000123"),
        (figures.format_plain(7.0), "7"),
    ],
)
def test_format(shown: str, expected: str) -> None:
    assert shown == expected


@pytest.mark.parametrize(
    ("value", "rounded"),
    [(0.0, 0.0), (12345678912.0, 12345678900.0), (0.123456789012, 0.123456789), (-2.0000000004, -2.0)],
)
def test_json_numbers_have_nine_significant_digits(value: float, rounded: float) -> None:
    assert figures.round_significant(value) == pytest.approx(rounded, rel=1e-12)
    assert math.isnan(figures.round_significant(math.nan))
