"""Suppliers' quotes: what their words say, one basis of tax and unit for all, what is odd of each. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from statistics import fmean

from app.core.estimates import Message

HARDWARE_VAT = 0.13
"""Taken where a quote states no rate. General practice for hardware in China, not read in a source: the
assumption is said beside every figure that rests on it."""
CARDS_PER_SERVER = 8
PER_CARD = "card"
PER_SERVER = "server-8"
RECLAIMABLE = "special"
FAR_FROM_MARKET = 1.5
"""A quote outside 1/1.5 .. 1.5 of the market price is pointed out."""
BEYOND_REASON = 3.0
SERVER_RATIO = (6.0, 10.5)
SAME_RATE = 0.02
DOUBTFUL = frozenset({"quote_memory_mismatch", "quote_looks_like_server", "quote_beyond_reason"})
"""Flags after which a quote drives no choice until a person has confirmed it."""
_RATE = re.compile(r"(?<![0-9.])([0-9]{1,5}(?:\.[0-9]+)?)\s*(?:ai\s*)?(p|t)?(flops|ops)(?![a-z])")
_CLAUSE_END = re.compile(r"[,;、。|/]")
_PRECISIONS = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8", "int4")
_SERVER_WORDS = re.compile(r"整机|服务器|八卡|8卡|(?:^|[^0-9])8\s*[x×*]|[x×*]\s*8(?![0-9])|8[- ]?gpu|server")
_SPARSE_WORDS = re.compile(r"稀疏|sparse|sparsity")
# fp16 and bf16 are one hardware; a figure without a precision is most likely one of these, the first first.
# TOPS are of int8; "AI TOPS" of a card with fp4 are of fp4.
_USUAL = {
    "tflops": ("bf16_tflops", "fp16_tflops", "fp8_tflops"),
    "tops": ("int8_tops", "fp4_tflops", "int4_tops"),
}
_OF_KIND = {
    "tflops": frozenset(p for p in _PRECISIONS if not p.startswith("int")),
    "tops": frozenset(("int8", "int4", "fp4", "fp8")),
}


@dataclass(frozen=True, slots=True)
class QuoteLine:
    """One quote as it was made."""

    id: str
    supplier: str
    gpu_id: str
    unit_price: float
    currency: str = "CNY"
    per: str = "card"
    """card, or server-8: a machine with eight of them, host included."""
    quantity: int = 1
    tax: str = "unknown"
    """included, excluded, unknown."""
    tax_rate: float | None = None
    """Fraction."""
    invoice: str = ""
    """special (专票), ordinary (普票), none, or empty: not stated."""
    condition: str = "new"
    quoted_on: str = ""
    valid_until: str = ""
    """Last day, empty when not stated."""
    item_as_written: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class QuotedCard:
    """What the checks need of the card that was confirmed."""

    name: str
    memory_gib: float | None
    gpus_per_board: int = 1
    rates: Mapping[str, float] = field(default_factory=dict)
    """Dense rates by figure name [TFLOPS or TOPS]."""


@dataclass(frozen=True, slots=True)
class WorkRate:
    """What one card gives: sustained rate [TFLOPS] and units of the user's work over its life."""

    sustained_tflops: float | None = None
    units: float | None = None
    """Units of work that one card does in the months that count."""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class NormalisedQuote:
    """A quote on the common basis [CNY]. A server's price per card is an eighth of it, host included."""

    line: QuoteLine
    gross_cny_per_card: float
    """Tax included: what is paid."""
    net_cny_per_card: float
    """Without tax."""
    cost_cny_per_card: float
    """What remains after the tax that a general taxpayer reclaims: net with a special invoice, else gross."""
    gross_cny_total: float
    includes_host: bool
    cost_cny_per_tflops: float | None
    cost_cny_per_unit: float | None
    unit: str
    flags: tuple[Message, ...] = ()
    assumptions: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class QuoteGroup:
    """Quotes that can be compared: of one card, condition and unit."""

    gpu_id: str
    condition: str
    per: str
    quotes: tuple[NormalisedQuote, ...]
    """The lowest cost first."""
    valid: int
    lowest_cny: float | None
    """Cost per card of the lowest of the valid quotes without doubt."""
    lowest_id: str
    mean_cny: float | None
    spread: float | None
    """(highest - lowest) / lowest."""


@dataclass(frozen=True, slots=True)
class TaxBases:
    """One price without and with tax, in its own currency."""

    net: float
    gross: float
    tax_rate: float | None
    """Fraction that lies between them; None where no tax is due."""
    rate_assumed: bool = False
    """The rate was not stated."""

    def on(self, basis: str) -> float:
        """The price on a basis: excluded gives it without tax, anything else with it."""
        return self.net if basis == "excluded" else self.gross


def tax_bases(price: float, tax: str, tax_rate: float | None = None, invoice: str = "") -> TaxBases:
    """A quoted price without and with tax.

    Parameters
    ----------
    price: as written [any currency].
    tax: included, excluded or unknown, which counts as included.
    tax_rate: stated fraction; None for 13 %.
    invoice: special, ordinary, none, or empty.

    Returns
    -------
    Net and gross in the currency of the price.

    Notes
    -----
    gross = price if tax is included, price x (1 + t) if excluded; net = gross / (1 + t). Without an invoice
    no tax is paid and gross = net. Not valid for goods under another rate than the stated one.
    """
    if invoice == "none":
        return TaxBases(price, price, None)
    rate = HARDWARE_VAT if tax_rate is None else tax_rate
    if tax == "excluded":
        return TaxBases(price, price * (1 + rate), rate, tax_rate is None)
    return TaxBases(price / (1 + rate), price, rate, tax_rate is None)


def normalise(line: QuoteLine, rate_cny: float, work: WorkRate | None = None) -> NormalisedQuote:
    """A quote with and without tax, per card, in yuan.

    Parameters
    ----------
    line: the quote.
    rate_cny: yuan for one unit of its currency.
    work: what one card of it gives, where that is known.

    Returns
    -------
    Amounts per card [CNY], per sustained TFLOPS [CNY] and per unit of work [CNY].

    Notes
    -----
    Gross and net by `tax_bases`; cost = net with a special invoice, gross otherwise. A rate or a tax basis
    that is not stated is assumed, and the assumption said. Not valid for small-scale taxpayers, who reclaim
    nothing: for them cost = gross.

    References
    ----------
    1. shared market notes, section 5: fields of quotes in procurement notices (read 2026-11-30).
    """
    cards = CARDS_PER_SERVER if line.per == PER_SERVER else 1
    price = line.unit_price * rate_cny / cards
    assumptions: list[Message] = []
    bases = tax_bases(price, line.tax, line.tax_rate, line.invoice)
    net, gross = bases.net, bases.gross
    if bases.rate_assumed:
        assumptions.append(Message("quote_tax_rate_assumed", {"tax_percent": 100.0 * HARDWARE_VAT}))
    if line.tax == "unknown" and line.invoice != "none":
        assumptions.append(Message("quote_tax_assumed_included"))
    cost = net if line.invoice == RECLAIMABLE else gross
    tflops = work.sustained_tflops if work else None
    units = work.units if work else None
    return NormalisedQuote(
        line,
        gross,
        net,
        cost,
        gross * cards * line.quantity,
        line.per == PER_SERVER,
        cost / tflops if tflops else None,
        cost / units if units else None,
        work.unit if work else "",
        assumptions=tuple(assumptions),
    )


def flags(
    line: QuoteLine, card: QuotedCard, gross_cny_per_card: float, market_cny: float | None, as_of: date
) -> tuple[Message, ...]:
    """What is odd about a quote.

    Parameters
    ----------
    line: the quote. card: the card that was confirmed for it.
    gross_cny_per_card: its price on the common basis [CNY].
    market_cny: what the market pays for the card in that condition [CNY]; None when unknown.
    as_of: the day of the decision.

    Notes
    -----
    Text is read for sizes (48G) and rates (1979 TFLOPS) only; what belongs to the host (64G DDR5, 3.84T SSD)
    is left out. A price per card six to ten times the market's is most likely that of eight.
    """
    text = unicodedata.normalize("NFKC", f"{line.item_as_written} ; {line.note}").lower()
    found = [*_memory(text, card), *_server(line, text, gross_cny_per_card, market_cny)]
    found += _sparse(text, card)
    if not line.valid_until:
        found.append(Message("quote_no_validity"))
    elif line.valid_until < as_of.isoformat():
        found.append(Message("quote_expired", {"day": line.valid_until}))
    elif line.quoted_on > as_of.isoformat():
        found.append(Message("quote_not_yet_valid", {"day": line.quoted_on}))
    if not any(f.code == "quote_looks_like_server" for f in found):
        found += _market(line, gross_cny_per_card, market_cny)
    if line.invoice == "none":
        found.append(Message("quote_without_invoice"))
    elif not line.invoice:
        found.append(Message("quote_invoice_missing"))
    return tuple(found)


def compare(quotes: Sequence[NormalisedQuote], as_of: date) -> tuple[QuoteGroup, ...]:
    """Quotes side by side: grouped by card, condition and unit, the lowest cost first.

    Parameters
    ----------
    quotes: normalised quotes with their flags.
    as_of: the day of the decision.

    Returns
    -------
    Groups with lowest, mean and spread of the cost per card [CNY], over the quotes that are valid on the day
    and not doubtful. A server's price is never compared with that of a card.
    """
    groups: dict[tuple[str, str, str], list[NormalisedQuote]] = {}
    for quote in quotes:
        key = (quote.line.gpu_id, quote.line.condition, quote.line.per)
        groups.setdefault(key, []).append(quote)
    found = []
    for (gpu_id, condition, per), members in sorted(groups.items()):
        members.sort(key=lambda q: (q.cost_cny_per_card, q.line.supplier, q.line.id))
        sound = [q for q in members if is_valid(q.line, as_of) and not is_doubtful(q.flags)]
        costs = [q.cost_cny_per_card for q in sound]
        found.append(
            QuoteGroup(
                gpu_id,
                condition,
                per,
                tuple(members),
                len(sound),
                costs[0] if costs else None,
                sound[0].line.id if sound else "",
                fmean(costs) if costs else None,
                (costs[-1] - costs[0]) / costs[0] if costs else None,
            )
        )
    return tuple(found)


def is_valid(line: QuoteLine, as_of: date) -> bool:
    """Whether a quote can be taken up on a day."""
    return bool(line.valid_until) and line.quoted_on <= as_of.isoformat() <= line.valid_until


def is_doubtful(found: Sequence[Message]) -> bool:
    """Whether a person has to confirm a quote before it drives a choice."""
    return any(message.code in DOUBTFUL for message in found)


def rough_ratio(ratio: float) -> float:
    """A ratio as a sentence says it: two decimals, below one two significant digits (0.0042, never 0)."""
    return float(f"{ratio:.2g}") if 0 < ratio < 1 else round(ratio, 2)


def _memory(text: str, card: QuotedCard) -> list[Message]:
    if card.memory_gib is None:
        return []
    sizes = card_sizes(text)
    right = {card.memory_gib, card.memory_gib / card.gpus_per_board, card.memory_gib * CARDS_PER_SERVER}
    if not sizes or any(size in right for size in sizes):
        return []
    params = {"gpu": card.name, "stated_gib": sizes[0], "memory_gib": card.memory_gib}
    return [Message("quote_memory_mismatch", params)]


def _server(line: QuoteLine, text: str, gross_cny_per_card: float, market_cny: float | None) -> list[Message]:
    if line.per == PER_SERVER:
        return []
    ratio = gross_cny_per_card / market_cny if market_cny else None
    if ratio is not None and SERVER_RATIO[0] <= ratio <= SERVER_RATIO[1]:
        return [Message("quote_looks_like_server", {"ratio": round(ratio, 1)})]
    # Far above it, "for servers" is no longer said of a card.
    if ratio is not None and ratio > SERVER_RATIO[1] and _SERVER_WORDS.search(text):
        return [Message("quote_looks_like_server", {"ratio": round(ratio, 1)})]
    # Without a market price the words alone have to do; with one, "for servers" is said of cards too.
    if market_cny is None and _SERVER_WORDS.search(text):
        return [Message("quote_looks_like_server", {"ratio": None})]
    return []


def _sparse(text: str, card: QuotedCard) -> list[Message]:
    """Rates in a text that are a card's sparse ones: twice the dense rate, with either accumulate type."""
    stated = list(_RATE.finditer(text))
    for at, rate in enumerate(stated):
        before = text[stated[at - 1].end() if at else 0 : rate.start()]
        after = text[rate.end() : stated[at + 1].start() if at + 1 < len(stated) else len(text)]
        named = _named_precisions(before, after, text)
        kind = "tops" if rate[3] == "ops" else "tflops"
        value = float(rate[1]) * (1000 if rate[2] == "p" else 1)
        found = _sparse_of(value, kind, named & _OF_KIND[kind], card)
        if found is not None:
            return [found]
    if _SPARSE_WORDS.search(text):
        return [Message("quote_sparse_words")]
    return []


def _named_precisions(before: str, after: str, text: str) -> set[str]:
    """Precisions beside a rate in its own clause, else those of the whole text; fp16 and bf16 are one."""
    clause = _CLAUSE_END.split(before)[-1] + " " + _CLAUSE_END.split(after)[0]
    named = {p for p in _PRECISIONS if p in clause} or {p for p in _PRECISIONS if p in text}
    return named | {"fp16", "bf16"} if named & {"fp16", "bf16"} else named


def _sparse_of(value: float, kind: str, named: set[str], card: QuotedCard) -> Message | None:
    for name in _USUAL[kind]:
        precision = name.split("_")[0]
        dense = card.rates.get(name)
        if not dense or (named and precision not in named):
            continue
        halves = (dense, card.rates.get(f"{precision.replace('bf16', 'fp16')}_fp16acc_tflops"))
        if not any(half and abs(value / (2 * half) - 1) <= SAME_RATE for half in halves):
            continue
        # Twice the rate of fp16 is the dense rate of fp8 on many cards: who names fp8 may mean that.
        known = [v for n, v in card.rates.items() if n.split("_")[0] in named and "fp16acc" not in n]
        if any(abs(value / v - 1) <= SAME_RATE for v in known):
            continue
        if kind == "tops":
            params = {"stated_tops": value, "dense_tops": dense, "precision": precision}
            return Message("quote_sparse_tops", params)
        params = {"stated_tflops": value, "dense_tflops": dense, "precision": precision}
        return Message("quote_sparse_rate", params)
    return None


def _market(line: QuoteLine, gross_cny_per_card: float, market_cny: float | None) -> list[Message]:
    if not market_cny or line.per == PER_SERVER:
        return []
    ratio = gross_cny_per_card / market_cny
    params = {"ratio": rough_ratio(ratio), "market_cny": round(market_cny, 2)}
    if not 1 / BEYOND_REASON <= ratio <= BEYOND_REASON:
        return [Message("quote_beyond_reason", params)]
    if not 1 / FAR_FROM_MARKET <= ratio <= FAR_FROM_MARKET:
        return [Message("quote_far_from_market", params)]
    return []


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
_TAX_RATE = re.compile(r"(?<![0-9.])([0-9]{1,2}(?:\.[0-9]+)?)\s*(?:%|个点|点(?=[的]?(?:税|专|普|增)))")
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
        found = _TAX_RATE.search(part)
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
        return PER_CARD
    whole = bool(_WHOLE_UNITS.search(unit))
    text = _HOST_EIGHT.sub(" ", f"{unit} {said}")
    sure, of = bool(_SURE_EIGHT.search(text)), bool(_EIGHT_OF.search(text))
    eight = sure or of or bool(_TIMES_EIGHT.search(text))
    if unit and not whole and unit not in _PIECE_UNITS:
        return PER_SERVER if _SURE_EIGHT.search(unit) else ""
    if whole:
        return PER_SERVER if eight else UNCLEAR
    machine = bool(_MACHINE.search(said))
    if sure or eight and machine or of and quantity != CARDS_PER_SERVER:
        return PER_SERVER
    if machine and (_ANOTHER.search(said) or re.search("整机|一体机", said)):
        return UNCLEAR
    return PER_CARD if unit in _PIECE_UNITS else ""


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
