"""Names as people write them: one way to normalise them, and regions that are spelt in many ways."""

from __future__ import annotations

import unicodedata

_REGIONS = {
    "cn": "CN",
    "china": "CN",
    "china mainland": "CN",
    "mainland china": "CN",
    "中国": "CN",
    "中国大陆": "CN",
    "shenzhen huaqiangbei": "CN",
    "us": "US",
    "usa": "US",
    "united states": "US",
    "美国": "US",
    "hk": "HK",
    "hong kong": "HK",
    "香港": "HK",
    "tw": "TW",
    "taiwan": "TW",
    "台湾": "TW",
    "eu": "EU",
    "europe": "EU",
    "欧洲": "EU",
    "global": "global",
    "world": "global",
    "us/global": "global",
}


def normalise_name(name: str) -> str:
    """A name without differences of width, case and spacing: what exact look-up compares."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def normalise_region(text: str) -> str | None:
    """CN, US, HK, TW, EU or global; empty stays empty, an unknown spelling gives None."""
    return _REGIONS.get(normalise_name(text)) if text.strip() else ""
