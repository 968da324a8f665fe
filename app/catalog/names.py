"""Names as people write them: one way to normalise them, and regions that are spelt in many ways."""

from __future__ import annotations

import unicodedata

_REGIONS = {
    "cn": "CN",
    "china": "CN",
    "china mainland": "CN",
    "mainland china": "CN",
    "prc": "CN",
    "中国": "CN",
    "中国大陆": "CN",
    "中国内地": "CN",
    "大陆": "CN",
    "内地": "CN",
    "国内": "CN",
    "全国": "CN",
    "中國": "CN",
    "中國大陸": "CN",
    "shenzhen huaqiangbei": "CN",
    "us": "US",
    "usa": "US",
    "united states": "US",
    "united states of america": "US",
    "美国": "US",
    "美國": "US",
    "hk": "HK",
    "hong kong": "HK",
    "hong kong sar": "HK",
    "香港": "HK",
    "中国香港": "HK",
    "tw": "TW",
    "taiwan": "TW",
    "台湾": "TW",
    "台灣": "TW",
    "臺灣": "TW",
    "中国台湾": "TW",
    "eu": "EU",
    "europe": "EU",
    "european union": "EU",
    "欧洲": "EU",
    "欧盟": "EU",
    "global": "global",
    "world": "global",
    "worldwide": "global",
    "international": "global",
    "全球": "global",
    "全世界": "global",
    "us/global": "global",
}


def normalise_name(name: str) -> str:
    """A name without differences of width, case and spacing: what exact look-up compares."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def normalise_region(text: str) -> str | None:
    """CN, US, HK, TW, EU or global; empty stays empty, an unknown spelling gives None."""
    return _REGIONS.get(normalise_name(text)) if text.strip() else ""
