"""What the words of a quote say: card or server of eight, with or without tax, how much memory. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

CARD = "card"
SERVER_OF_EIGHT = "server-8"
CARDS_PER_SERVER = 8
UNCLEAR = "unclear"
"""A machine of which nobody says how many cards it holds, or another number than eight."""
_CARD_UNITS = frozenset({"card", "张", "块", "片", "卡", "单卡", "每卡", "per card", "/张", "/片", "gpu"})
_PIECE_UNITS = frozenset({"pcs", "pc", "pce", "piece", "ea", "each", "个", "件", "unit", "units", "只", "枚"})
"""A piece may be either: the item decides."""
_WHOLE_UNITS = re.compile(r"台|套|整机|服务器|一体机|节点|server|node|machine|set|system")
_SURE_EIGHT = re.compile(r"8\s*卡|八卡|8[\s-]?gpus?|hgx")
_EIGHT_OF = re.compile(r"8\s*[x×*]\s*(?=nvidia|[a-z])|8\s*张|八张")
_TIMES_EIGHT = re.compile(r"(?<=[a-z0-9)])\s*[x×*]\s*8(?![0-9.])")
# 64G*8 DDR5, 内存 64G*8 and PCIe x8 are no eight cards.
_HOST_EIGHT = re.compile(
    r"[0-9.]+\s*[gt]b?\s*[x×*]\s*8[\s根条块]*(?=ddr|rdimm|dimm|ecc|内存|ram|ssd|nvme|sas|sata|hdd|硬盘)|"
    r"8\s*[x×*]\s*(?=ddr|rdimm|ssd|nvme|sas|sata|hdd)|"
    r"(?:ddr[345]x?|内存|硬盘|ssd|nvme|网卡|ram|pcie|gen\s*[345])[^,;+/|]{0,12}[x×*]\s*8(?![0-9])"
)
_ANOTHER = re.compile(
    r"(?<![0-9])(1|2|3|4|5|6|7|10|16)\s*(?:卡|张|gpus?(?![a-z]))|(?<!每)(?:单|双|四|两|十)卡"
)
_MACHINE = re.compile(
    r"整机|服务器(?!版|卡|显卡|级|用|专用|gpu)|一体机|机架|8\s*u(?![a-z0-9])|server(?!\s*(?:card|edition|gpu))"
)
_SIZE = re.compile(r"(?<![0-9.])([0-9]{1,3})\s*(?:gib|gb|g)(?![a-z0-9])")
_HOST_BEFORE = re.compile(r"(?:ddr[345]x?|内存|硬盘|ssd|nvme|网卡|ram)[^,;+/|]{0,12}$")
_HOST_AFTER = re.compile(
    r"^[\s*x×0-9条根块]{0,6}(?:ddr|rdimm|dimm|ecc|内存|ram|ssd|nvme|硬盘|网卡|网口|/s|bps|roce|ib)"
)
_EXCLUDED = re.compile(
    r"不含税|未税|未含税|税前|不含增值税|不含\s*[0-9.]+\s*%|不含(?:专|普|发)?票|(?:另加|税金另|税费另)|"
    r"excl[a-z.]*\s*(?:tax|vat)|(?:tax|vat)\s*excl|without\s*(?:tax|vat)|before\s*tax"
)
_INCLUDED = re.compile(
    r"含税|含\s*[0-9.]+\s*(?:%|个?点)|含增值税|含(?:专|普)票|价税合计|incl[a-z.]*\s*(?:[0-9.]+\s*%\s*)?(?:tax|vat)|"
    r"(?:tax|vat)\s*incl|with\s*(?:tax|vat)"
)
_RATE = re.compile(r"(?<![0-9.])([0-9]{1,2}(?:\.[0-9]+)?)\s*(?:%|个点|点(?=[的]?(?:税|专|普|增)))")
_AMOUNT = re.compile(
    r"(?:US\$|HK\$|NT\$|[¥$€]|USD|CNY|RMB)?\s*[0-9][0-9,.]*\s*(?:亿|万|千|w|k)?\s*(?:人民币|美元|港币|元|USD|CNY|RMB)?",
    re.IGNORECASE,
)
_TAXED = re.compile(r"税|票|tax|vat")
_SPECIAL = re.compile(r"专票|增值税专用发票|专用发票|special")
_ORDINARY = re.compile(r"普票|普通发票|ordinary")


@dataclass(frozen=True, slots=True)
class TaxWords:
    """What a text says of tax; empty or None where it says nothing."""

    tax: str = ""
    """included or excluded."""
    tax_rate: float | None = None
    """Fraction."""
    invoice: str = ""
    """special or ordinary."""


def plain(text: str) -> str:
    """Half width, lower case, single blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def tax_words(text: str) -> TaxWords:
    """Tax basis, rate and kind of invoice that a header, a title or a note states.

    Notes
    -----
    A percentage counts where tax or an invoice is spoken of (13% 专票, not "30% 预付"). A text that says
    both with and without tax (两种价格) states no basis.
    """
    said = plain(text)
    without = bool(_EXCLUDED.search(said))
    # What is left of 不含税 and 未含税 must not count as 含税.
    rest = _EXCLUDED.sub(" ", said)
    included = bool(_INCLUDED.search(rest))
    rate = None
    for part in re.split(r"[,;，；。]", said):
        found = _RATE.search(part)
        if found and _TAXED.search(part) and float(found[1]) <= 25:
            rate = round(float(found[1]) / 100, 4)
            break
    special, ordinary = bool(_SPECIAL.search(rest)), bool(_ORDINARY.search(rest))
    return TaxWords(
        "" if without == included else "excluded" if without else "included",
        rate,
        "" if special == ordinary else "special" if special else "ordinary",
    )


def unit_words(item: str, unit: str = "", quantity: int = 1) -> str:
    """What a price is of: card, server-8, unclear, or empty where neither unit nor item says it.

    Parameters
    ----------
    item: the item as written, its note included. unit: cell of the unit column.
    quantity: pieces; "RTX 4090 x8" with a quantity of eight is eight cards.

    Notes
    -----
    A unit of cards (张, 块, 片) decides. Of a machine (台, 套, 整机), a piece (pcs, 个) or no unit the item
    decides: eight cards named (8卡, 8x, HGX) make a server of eight. Not valid for machines of another size,
    which are unclear and asked about.
    """
    said, unit = plain(item), plain(unit)
    if unit in _CARD_UNITS:
        return CARD
    whole = bool(_WHOLE_UNITS.search(unit))
    text = _HOST_EIGHT.sub(" ", f"{unit} {said}")
    sure, of = bool(_SURE_EIGHT.search(text)), bool(_EIGHT_OF.search(text))
    eight = sure or of or bool(_TIMES_EIGHT.search(text))
    if unit and not whole and unit not in _PIECE_UNITS:
        return SERVER_OF_EIGHT if _SURE_EIGHT.search(unit) else ""
    if whole:
        return SERVER_OF_EIGHT if eight else UNCLEAR
    machine = bool(_MACHINE.search(said))
    if sure or eight and machine or of and quantity != CARDS_PER_SERVER:
        return SERVER_OF_EIGHT
    if machine and (_ANOTHER.search(said) or re.search("整机|一体机", said)):
        return UNCLEAR
    return CARD if unit in _PIECE_UNITS else ""


def amount_words(text: str) -> str:
    """The amount within a price cell that says more: 115万 of 未税 115万."""
    rest = re.sub(r"[0-9.]+\s*(?:%|个点)", " ", unicodedata.normalize("NFKC", text))
    found = _AMOUNT.search(rest)
    return found[0].strip() if found else text


def card_sizes(text: str) -> list[int]:
    """Memory sizes that a text states of a card [GB], those of the host (64G DDR5, 3.84T SSD) left out."""
    said = plain(text)
    return [
        int(size[1])
        for size in _SIZE.finditer(said)
        if not _HOST_BEFORE.search(said[: size.start()]) and not _HOST_AFTER.match(said[size.end() :])
    ]
