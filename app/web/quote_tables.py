"""Quotes side by side: the rows of the table, the sentence above it and the warnings below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.services.quotes import ComparedQuotes, GroupInMarket, QuoteAnswer, QuoteInMarket
from app.texts.marking import N_
from app.texts.words import precision_name
from app.web.answer_tables import Words

SOON_DAYS = 3
ENOUGH_QUOTES = 3
INVOICE = {
    "special": N_("special VAT invoice"),
    "ordinary": N_("ordinary invoice"),
    "none": N_("no invoice"),
    "": N_("invoice not stated"),
}
STATE = {
    "expired": N_("expired"),
    "held": N_("to be confirmed"),
    "undated": N_("no last day"),
    "future": N_("not yet valid"),
    "withdrawn": N_("withdrawn"),
    "replaced": N_("replaced"),
}
BAD_STATES = frozenset({"expired", "withdrawn", "replaced"})
WORK_UNITS = {
    "million_tokens": N_("million tokens"),
    "million_images": N_("million images"),
    "million_samples": N_("million samples"),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its text, the small line under it, and how it stands out."""

    text: str
    sub: str = ""
    best: bool = False
    tag: str = ""
    """Class of a tag around the small line: warn or bad."""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table; `strong` rows decide."""

    label: str
    cells: tuple[Cell, ...]
    sub: str = ""
    strong: bool = False
    wraps: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Quotes of one card, condition and unit."""

    data: GroupInMarket
    title: str
    summary: str
    lines: tuple[Line, ...]


def shown_group(found: GroupInMarket, words: Words) -> Group:
    """A group with its rows in the reader's language."""
    _, f, money = words.gettext, words.formats, words.money
    group, title = found.group, found.card
    if group.condition != "new":
        condition = f.label(group.condition, "condition")
        title = _("%(card)s (%(condition)s)") % {"card": title, "condition": condition}
    if group.per != "card":
        title += " · " + f.label(group.per, "price_per")
    said = [_("%(valid)s of %(count)s valid") % {"valid": group.valid, "count": len(group.quotes)}]
    if group.lowest_cny is not None:
        said.append(_("lowest %(amount)s") % {"amount": money.amount(group.lowest_cny)})
        if group.valid > 1:
            said.append(_("mean %(amount)s") % {"amount": money.amount(group.mean_cny)})
            said.append(_("spread %(percent)s") % {"percent": f.percent(group.spread, 1)})
    return Group(found, title, " · ".join(said), tuple(_lines(found, words)))


def _lines(found: GroupInMarket, words: Words) -> list[Line]:
    _, f, money = words.gettext, words.formats, words.money
    group, quotes = found.group, found.group.quotes

    def row(label: str, cell: Callable[[QuoteAnswer], Cell], sub: str = "", **more: bool) -> Line:
        return Line(label, tuple(cell(quote) for quote in quotes), sub, **more)

    def beside(label: str, cell: Callable[[QuoteInMarket], Cell], sub: str = "") -> Line:
        return Line(label, tuple(cell(quote) for quote in found.quotes), sub)

    sign = money.sign
    rows = [
        row(_("Item as written"), lambda q: Cell(q.item_as_written or "—"), wraps=True),
        row(
            _("Unit price as quoted"),
            lambda q: Cell(
                f"{f.figure(q.unit_price)} {q.currency}",
                f.label(q.tax, "tax") if q.per == "card" else f.label(q.per, "price_per"),
            ),
        ),
        row(_("Tax and invoice"), lambda q: Cell(_tax(q, words)), wraps=True),
        row(
            _("Gross, tax included, %(sign)s per card") % {"sign": sign},
            lambda q: Cell(money.bare(q.gross_cny_per_card)),
        ),
        row(
            _("Net, without tax, %(sign)s per card") % {"sign": sign},
            lambda q: Cell(money.bare(q.net_cny_per_card)),
        ),
        row(
            _("Cost after reclaim, %(sign)s per card") % {"sign": sign},
            lambda q: _cost(q, group, words),
            _("general taxpayer; only a special invoice is reclaimed"),
            strong=True,
        ),
        row(
            _("Total, tax included, %(sign)s") % {"sign": sign},
            lambda q: Cell(money.bare(q.gross_cny_total), f"× {f.number(q.quantity)}"),
        ),
    ]
    if found.market_cny is not None and group.per == "card":
        sub = _("market %(amount)s, %(date)s") % {
            "amount": money.amount(found.market_cny),
            "date": found.market_on,
        }
        rows.append(beside(_("Against the market"), lambda q: Cell(f.signed_percent(q.against_market)), sub))
    if found.precision:
        label = _("%(sign)s per TFLOPS, %(precision)s") % {
            "sign": sign,
            "precision": precision_name(found.precision),
        }
        peak = beside(label, lambda q: Cell(money.bare(q.cost_cny_per_peak_tflops, 1)), _("peak, dense"))
        rows.append(peak)
    if any(q.cost_cny_per_sustained_tflops for q in quotes):
        label = _("%(sign)s per TFLOPS in this work") % {"sign": sign}
        rows.append(
            row(label, lambda q: Cell(money.bare(q.cost_cny_per_sustained_tflops, 1)), _("sustained"))
        )
    unit = next((q.cost_per_unit.unit for q in quotes if q.cost_per_unit), "")
    if unit:
        said = _(WORK_UNITS[unit]) if unit in WORK_UNITS else unit.replace("_", " ")
        label = _("%(sign)s per %(unit)s") % {"sign": sign, "unit": said}
        sub = _("price of the card alone, over the months that count")
        if group.per != "card":
            sub = _("an eighth of the server, host included, eight cards at work together")
        rows.append(row(label, lambda q: Cell(_per_unit(q, words)), sub))
    rows += [
        row(_("Delivery"), lambda q: Cell(_days(q.delivery_days, words))),
        row(
            _("Warranty"),
            lambda q: Cell(_months(q.warranty_months, words), q.warranty_kind),
            wraps=True,
        ),
        row(_("Payment"), lambda q: Cell(q.payment_terms or "—"), wraps=True),
        row(_("Quoted on"), lambda q: Cell(q.quoted_on)),
        beside(_("Valid until"), lambda q: _validity(q, words)),
    ]
    return rows


def _tax(quote: QuoteAnswer, words: Words) -> str:
    _, f = words.gettext, words.formats
    rate = "" if quote.tax_rate is None else f.percent(quote.tax_rate)
    invoice = _(INVOICE[quote.invoice]) if quote.invoice in INVOICE else quote.invoice
    return " · ".join(part for part in (rate, invoice) if part)


def _cost(quote: QuoteAnswer, group: ComparedQuotes, words: Words) -> Cell:
    _, money = words.gettext, words.money
    cost = quote.cost_cny_per_card
    if cost is None:
        return Cell(_("no rate"))
    if quote.id == group.lowest_id:
        return Cell(money.bare(cost), _("lowest"), best=True)
    if group.lowest_cny is None:
        return Cell(money.bare(cost))
    more = cost - group.lowest_cny
    return Cell(money.bare(cost), ("+" if more >= 0 else "") + money.bare(more))


def _per_unit(quote: QuoteAnswer, words: Words) -> str:
    work = quote.cost_per_unit
    return words.money.unit(work.amount_cny if work else None, False)


def _days(days: int | None, words: Words) -> str:
    return "—" if days is None else words.gettext("%(days)s days") % {"days": days}


def _months(months: int | None, words: Words) -> str:
    return "—" if months is None else words.gettext("%(count)s months") % {"count": months}


def _validity(found: QuoteInMarket, words: Words) -> Cell:
    _ = words.gettext
    until, state, left = found.quote.valid_until or "—", found.quote.state, found.days_left
    if state in STATE:
        return Cell(until, _(STATE[state]), tag="bad" if state in BAD_STATES else "warn")
    if left is None:
        return Cell(until)
    return Cell(until, _("in %(days)s days") % {"days": left}, tag="warn" if left <= SOON_DAYS else "")


def headline(groups: Sequence[GroupInMarket], words: Words) -> str:
    """Which quote is lowest and by how much, where the valid ones are of one card."""
    _, money = words.gettext, words.money
    decided = [found for found in groups if found.group.lowest_cny is not None]
    if len(decided) != 1:
        return ""
    card, group = decided[0].card, decided[0].group
    lowest = group.lowest_cny or 0.0
    first = next(q for q in group.quotes if q.id == group.lowest_id)
    others = [
        q.cost_cny_per_card
        for q in group.quotes
        if q.state == "valid" and not q.held and q.id != first.id and q.cost_cny_per_card is not None
    ]
    if not others:
        return _("%(card)s: one valid quote, from %(supplier)s at %(amount)s a card after reclaim.") % {
            "card": card,
            "supplier": first.supplier,
            "amount": money.amount(lowest),
        }
    return _("%(card)s: %(supplier)s is lowest, %(amount)s a card below the next after reclaim.") % {
        "card": card,
        "supplier": first.supplier,
        "amount": money.amount(min(others) - lowest),
    }


def warnings(groups: Sequence[GroupInMarket], words: Words) -> list[tuple[str, str, str]]:
    """What to mind before signing: kind, sentence, consequence."""
    _, said, found = words.gettext, words.formats.said, []
    for group in groups:
        card = group.card
        if group.group.valid < ENOUGH_QUOTES:
            found.append(
                (
                    "bad",
                    _("%(card)s: fewer than three valid quotes.") % {"card": card},
                    _("Where three are required, ask for the missing ones or have the expired ones renewed."),
                )
            )
        for row in group.quotes:
            quote, left, title = row.quote, row.days_left, f"{card} · {row.quote.supplier}"
            found += [("bad" if f.code in _SERIOUS else "warn", title, said(f.text)) for f in quote.flags]
            found += [("info", title, said(f.text)) for f in quote.assumptions]
            if quote.held:
                found.append(("bad", title, _("It drives no choice until somebody has confirmed it.")))
            if quote.state == "valid" and left is not None and left <= SOON_DAYS:
                text = _("Expires on %(day)s; after that the ranking uses the next price.")
                found.append(("warn", title, text % {"day": quote.valid_until}))
    # The serious ones first; of equals the order of the table.
    return sorted(dict.fromkeys(found), key=lambda w: ("bad", "warn", "info").index(w[0]))


_SERIOUS = frozenset(
    {"quote_memory_mismatch", "quote_looks_like_server", "quote_beyond_reason", "quote_expired"}
)
