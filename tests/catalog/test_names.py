"""Regions as sources write them."""

from __future__ import annotations

import pytest

from app.catalog.names import normalise_region


@pytest.mark.parametrize(
    ("written", "region"),
    [
        ("CN", "CN"),
        (" China ", "CN"),
        ("中国大陆", "CN"),
        ("国内", "CN"),
        ("ＣＮ", "CN"),
        ("美国", "US"),
        ("Hong  Kong", "HK"),
        ("中国香港", "HK"),
        ("臺灣", "TW"),
        ("中国台湾", "TW"),
        ("欧盟", "EU"),
        ("全球", "global"),
        ("", ""),
        ("火星", None),
        ("China Taiwan", None),
    ],
)
def test_regions_normalise_exactly_and_never_by_likeness(written: str, region: str | None) -> None:
    assert normalise_region(written) == region
