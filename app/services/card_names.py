"""Short names of cards, as tables and sentences have them."""

from __future__ import annotations

import re
from functools import lru_cache

_SERIES = re.compile(
    r"\b(?:NVIDIA |AMD |Intel )?(?:GeForce |Radeon (?=RX |PRO |AI ))"
    r"|\b(?:NVIDIA|AMD|Intel) "
)


@lru_cache(maxsize=4096)
def short_card_name(text: str) -> str:
    """A name, or a label that holds one, without the words of the series: RTX 4090, not GeForce RTX 4090.

    Vendors whose cards nobody knows by a bare number keep their name: MetaX C500, Hygon DCU K100.
    """
    return _SERIES.sub("", text)
