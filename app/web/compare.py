"""Two to six cards side by side. The cards, the condition and the day are in the address."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.exceptions import HTTPException

from app.catalog.snapshot import Snapshot
from app.core.answer import number
from app.core.faults import InputFault
from app.core.gpu import Gpu, PriceChoice
from app.core.question import CONDITIONS
from app.services.side_by_side import (
    MOST_CARDS,
    RATE_ROWS,
    ROW_BY_ID,
    Cell,
    Chosen,
    ComparedCard,
    Row,
    SideBySide,
    choose,
    side_by_side,
)
from app.texts.marking import N_
from app.texts.say import say_fault
from app.texts.words import precision_name
from app.web.answer_tables import Words, price_words
from app.web.answers import open_page, today
from app.web.card_page import form_factor
from app.web.explain import Explanation, Fact, explain_price
from app.web.links import GpuLinks
from app.web.listing import MAX_TEXT, address, card_names, day_of, only
from app.web.render import is_fragment
from app.web.tables import csv_response

router = APIRouter()

PATH = "/compare"
STARTS = (
    (N_("Consumer card or A100"), ("rtx4090", "a100-pcie-40gb", "a100-sxm4-80gb")),
    (N_("The kinds of 4090"), ("rtx4090", "rtx4090d", "rtx4090-48gb-mod")),
    (N_("32 to 96 GB with Blackwell"), ("rtx5090", "rtx5090d-v2", "rtx-pro-6000-bw-ws")),
    (N_("48 to 96 GB for servers"), ("l20", "l40s", "h20-96gb")),
    (N_("Versions for China, and Ascend"), ("a800-sxm4-80gb", "h20-96gb", "ascend-910b3")),
)
"""What an empty page offers to start with."""
SEPARATOR = {"zh": "\u3001", "en": ", "}
VALUE_ROW = "bf16_tflops_per_1000"
GROUP = {
    "memory": N_("Memory"),
    "compute": N_("Rates, dense, FP32 accumulate"),
    "board": N_("Links and board"),
    "price": N_("Price"),
    "value": N_("What 1000 yuan buy"),
}
FACT_ROW = {
    "memory_type": N_("Kind of memory"),
    "ecc": N_("ECC"),
    "link": N_("Link between cards"),
    "pcie": N_("PCIe"),
    "mig": N_("MIG instances"),
    "form_factor": N_("Form factor"),
    "launch_date": N_("On sale since"),
    "price": N_("Price per card"),
}
SHORT = frozenset(
    f"{name}{suffix}" for name, _ in RATE_ROWS if name != "fp32_tflops" for suffix in ("", "_per_1000")
)
ECC = {"yes": N_("native"), "no": N_("without"), "optional": N_("optional")}
ECC_NOTE = {
    "on": N_("on"),
    "inferred": N_("inferred from its kind"),
    "off by default": N_("off by default"),
    "off in the run read": N_("off where it was read"),
}
LINK_NOTE = {
    "2-way": N_("2 cards"),
    "2 cards": N_("2 cards"),
    "2- or 4-way": N_("2 or 4 cards"),
    "export-reduced": N_("reduced for export"),
}
_LINK = re.compile(r"(?P<name>.+?)(?P<bridge> bridge)?(?: \((?P<note>.+)\))?")


def _chosen(request: Request, snapshot: Snapshot) -> tuple[Chosen, str]:
    """The cards of the address, and its condition."""
    names = [name for text in request.query_params.getlist("gpus") for name in text[:2000].split(",")]
    condition = only(request.query_params.get("condition", ""), CONDITIONS)
    return choose(snapshot, names), condition


def _url(ids: tuple[str, ...] | list[str], condition: str = "", as_of: str = "", language: str = "") -> str:
    return address(PATH, {"gpus": ",".join(ids), "condition": condition, "as_of": as_of, "lang": language})


@router.get(PATH)
def compare(request: Request) -> Response:
    """The comparison; a form that adds a card leads on to the address with it."""
    page, snapshot, words = open_page(request)
    day = day_of(request)
    stated_day = day.isoformat() if "as_of" in request.query_params else ""
    chosen, condition = _chosen(request, snapshot)
    extra = request.query_params.get("add", "")[:MAX_TEXT].strip()
    faults = list(chosen.faults)
    ids = list(chosen.ids)
    too_many = chosen.too_many
    if extra:
        added = choose(snapshot, [extra])
        faults += added.faults
        ids += [i for i in added.ids if i not in ids]
        too_many = max(0, len(ids) - MOST_CARDS)
    several = len(request.query_params.getlist("gpus")) > 1
    if (extra or several) and not faults and not too_many:
        return RedirectResponse(_url(ids, condition, stated_day, request.query_params.get("lang", "")), 303)
    ids = ids[:MOST_CARDS]
    found = side_by_side(snapshot, ids, day, condition)
    return page.render(
        "compare.html",
        PATH,
        422 if faults else 200,
        cards=[_head(card, ids, condition, stated_day, words) for card in found.cards],
        groups=_groups(found, words, stated_day),
        faults=[_fault(fault, ids, condition, snapshot, page.language) for fault in faults],
        too_many=too_many,
        condition=condition,
        conditions=CONDITIONS,
        as_of=stated_day,
        typed=extra if faults else "",
        offers=card_names(snapshot).values(),
        sentence=_sentence(found, words),
        print_date=today().isoformat(),
        most=MOST_CARDS,
        starts=_starts(snapshot, words),
        csv_url=address("/compare.csv", {"gpus": ",".join(ids), "condition": condition, "as_of": stated_day}),
        rank_url=address("/", {"gpus": ",".join(ids)}),
        names=[card.gpu.label for card in found.cards],
        stale=SEPARATOR[page.language].join(
            card.gpu.label for card in found.cards if card.price and card.price.stale
        ),
    )


@router.get("/compare.csv")
def compare_csv(request: Request) -> Response:
    """The same table with raw values: one line for each row, one column for each card."""
    page, snapshot, words = open_page(request)
    chosen, condition = _chosen(request, snapshot)
    found = side_by_side(snapshot, chosen.ids, day_of(request), condition)
    heads = ["row", page._("Unit"), *(card.gpu.label for card in found.cards)]
    return csv_response(
        "compare",
        heads,
        (
            [
                line.row.id,
                line.row.unit,
                *(c.text if line.row.kind == "fact" else number(c.value) for c in line.cells),
            ]
            for line in found.rows
        ),
    )


@router.get("/compare/figure")
def compare_figure(request: Request) -> Response:
    """One cell opened: a price, a figure per 1000 yuan, or a fact in words."""
    page, snapshot, words = open_page(request)
    day = day_of(request)
    chosen, condition = _chosen(request, snapshot)
    row = ROW_BY_ID.get(request.query_params.get("row", ""))
    shown = None
    if row is not None and len(chosen.ids) == 1:
        shown = _explain(snapshot, chosen.ids[0], row.id, day, condition, words)
    if shown is None:
        raise HTTPException(404, page._("There is no such figure."))
    template = "explain_fragment.html" if is_fragment(request) else "explain.html"
    return page.render(template, "", figure=shown, back=_url(list(chosen.ids), condition))


@dataclass(frozen=True, slots=True)
class Head:
    """A card above its column."""

    gpu: Gpu
    price: PriceChoice | None
    price_words: str
    remove_url: str


@dataclass(frozen=True, slots=True)
class ShownCell:
    """A cell as the page prints it: the text, the small line under it, where it opens."""

    cell: Cell
    shown: str
    sub: str
    url: str


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A line with its label."""

    row: Row
    label: str
    cells: list[ShownCell]


@dataclass(frozen=True, slots=True)
class Group:
    """Lines under one heading."""

    title: str
    rows: list[ShownRow]


@dataclass(frozen=True, slots=True)
class NameFault:
    """A name that leads to no card, with the cards it may mean and where each leads."""

    text: str
    candidates: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Start:
    """A comparison to start from."""

    title: str
    cards: str
    url: str


def _head(card: ComparedCard, ids: list[str], condition: str, as_of: str, words: Words) -> Head:
    rest = _url([i for i in ids if i != card.gpu.id], condition, as_of)
    said = price_words(card.price, words) if card.price else ""
    return Head(card.gpu, card.price, said, rest)


def _fault(fault: InputFault, ids: list[str], condition: str, snapshot: Snapshot, language: str) -> NameFault:
    error = fault.errors[0]
    candidates = [str(c) for c in error.params.get("candidates", ())][:12]
    return NameFault(
        say_fault(error, language),
        [(snapshot.gpu(c).label, _url([*ids, c][-MOST_CARDS:], condition)) for c in candidates],
    )


def _groups(found: SideBySide, words: Words, as_of: str) -> list[Group]:
    """Rows under their headings, with labels, words and links."""
    groups: dict[str, list[ShownRow]] = {}
    for line in found.rows:
        cells = [
            _cell(line.row, cell, card.gpu.id, found.condition, as_of, words)
            for cell, card in zip(line.cells, found.cards, strict=True)
        ]
        groups.setdefault(line.row.group, []).append(ShownRow(line.row, _label(line.row.id, words), cells))
    return [Group(words.gettext(GROUP[code]), rows) for code, rows in groups.items()]


def _label(row_id: str, words: Words) -> str:
    if row_id in FACT_ROW:
        return words.gettext(FACT_ROW[row_id])
    # The heading of the group says dense and the accumulate type; the vector rate is said to be one.
    if row_id in SHORT:
        return precision_name(row_id.split("_")[0])
    return words.formats.label(row_id.removesuffix("_per_1000"), "figure")


def _cell(row: Row, cell: Cell, gpu_id: str, condition: str, as_of: str, words: Words) -> ShownCell:
    shown, sub = _shown(row, cell, words)
    if row.kind == "figure":
        url = GpuLinks(gpu_id).explain(f"figures.{row.id}.value")
    else:
        values = {"gpus": gpu_id, "row": row.id, "condition": condition, "as_of": as_of}
        url = address("/compare/figure", values)
    return ShownCell(cell, shown, sub, url)


def _starts(snapshot: Snapshot, words: Words) -> list[Start]:
    """Comparisons to start from, with the cards that the catalogue has."""
    known = {gpu.id: gpu.label for gpu in snapshot.gpus}
    return [
        Start(
            words.gettext(title),
            " · ".join(known[name] for name in ids if name in known),
            _url([name for name in ids if name in known]),
        )
        for title, ids in STARTS
        if sum(name in known for name in ids) > 1
    ]


def _shown(row: Row, cell: Cell, words: Words) -> tuple[str, str]:
    """The cell's text, and the small line under it; empty where the catalogue has nothing."""
    _, f = words.gettext, words.formats
    if row.kind == "fact":
        return _fact(row.id, cell.text, cell.note, words)
    if cell.value is None:
        return "", ""
    if row.kind == "price":
        return words.money.bare(cell.value), ""
    if row.kind == "per_1000":
        return f.number(cell.value, 2), ""
    sub = ""
    if cell.one_way is not None:
        sub = _("%(gb_s)s each way") % {"gb_s": f.figure(cell.one_way)}
        if cell.over_pcie:
            sub += " · " + _("%(times)s × PCIe") % {"times": f.number(cell.over_pcie, 1)}
    return f.figure(cell.value), sub


def _fact(row_id: str, text: str, note: str, words: Words) -> tuple[str, str]:
    _ = words.gettext
    if row_id == "ecc":
        return (
            _(ECC[text]) if text in ECC else text,
            _(ECC_NOTE[note]) if note in ECC_NOTE else note,
        )
    if row_id == "mig":
        return (_(ECC["no"]) if text == "no" else text), ""
    if row_id == "form_factor":
        return form_factor(text, _), ""
    if row_id == "link" and text:
        return link_words(text, words)
    return text, ""


def link_words(text: str, words: Words) -> tuple[str, str]:
    """NVLink 3 bridge (2 cards) in the reader's language: the name, and what is to be said of it."""
    _ = words.gettext
    if text == "none (PCIe only)":
        return _("without"), _("PCIe only")
    found = _LINK.fullmatch(text)
    if found is None:
        return text, ""
    notes = [_("bridge")] if found["bridge"] else []
    if found["note"]:
        notes.append(_(LINK_NOTE[found["note"]]) if found["note"] in LINK_NOTE else found["note"])
    return found["name"], " · ".join(notes)


def _sentence(found: SideBySide, words: Words) -> str:
    """Which card gives most for the money in 16 bit, and how far the next one lies behind."""
    line = found.row(VALUE_ROW)
    known = [
        (cell.value, _named(card.gpu, card.price, words))
        for cell, card in zip(line.cells if line else (), found.cards if line else (), strict=True)
        if cell.value is not None and card.price is not None
    ]
    if len(known) < 2:
        return ""
    known.sort(key=lambda item: (-item[0], item[1]))
    (first, name), (second, other) = known[:2]
    if words.formats.number(first / second, 1) == words.formats.number(1.0, 1):
        level = words.gettext(
            "1000 yuan buy %(first)s BF16 TFLOPS in %(name)s, about as many as in %(other)s."
        )
        shown = {"first": words.formats.number(first, 2), "name": name, "other": other}
        return (level % shown).replace("\uff09 ", "\uff09")
    said = words.gettext(
        "1000 yuan buy %(first)s BF16 TFLOPS in %(name)s, %(times)s times what they buy in %(other)s."
    ) % {
        "first": words.formats.number(first, 2),
        "name": name,
        "times": words.formats.number(first / second, 1),
        "other": other,
    }
    # A full-width bracket brings its own space.
    return said.replace("\uff09 ", "\uff09")


def _named(gpu: Gpu, price: PriceChoice, words: Words) -> str:
    """A card with the condition that its price is for, unless that is new."""
    if price.condition == "new":
        return gpu.label
    said = {"card": gpu.label, "condition": words.formats.label(price.condition, "condition")}
    return words.gettext("%(card)s (%(condition)s)") % said


def _explain(
    snapshot: Snapshot, gpu_id: str, row_id: str, day: date, condition: str, words: Words
) -> Explanation | None:
    _ = words.gettext
    found = side_by_side(snapshot, [gpu_id], day, condition)
    line = found.row(row_id)
    if line is None:
        return None
    card, cell, row = found.cards[0], line.cells[0], line.row
    if row.kind == "price":
        return explain_price(card.price, card.gpu.label, words) if card.price else None
    if row.kind == "per_1000":
        return _explain_per_1000(snapshot, card, row, cell, words)
    shown, sub = _shown(row, cell, words)
    source = cell.source
    if not shown or not source:
        return None
    facts = (Fact(_("Source"), source.title or source.id, source.url), _card_fact(card.gpu, words))
    return Explanation(_label(row_id, words), shown, sub, basis=cell.basis, facts=facts)


def _card_fact(gpu: Gpu, words: Words) -> Fact:
    return Fact(words.gettext("Card"), gpu.name, f"/gpus/{gpu.id}")


def _explain_per_1000(
    snapshot: Snapshot, card: ComparedCard, row: Row, cell: Cell, words: Words
) -> Explanation | None:
    _, f = words.gettext, words.formats
    name = row.id.removesuffix("_per_1000")
    figure, price = snapshot.figures(card.gpu.id).get(name), card.price
    if figure is None or price is None or cell.value is None:
        return None
    of_price = explain_price(price, card.gpu.label, words)
    source = Fact(f.label(name, "figure"), figure.source.title or figure.source.id, figure.source.url)
    today = Fact(_("Price today"), f"¥{f.number(price.expected_cny)}")
    facts = [_card_fact(card.gpu, words), source, today]
    if name.endswith(("tflops", "tops")):
        precision = {"precision": precision_name(name.split("_")[0])}
        meaning = _("%(precision)s, dense, FP32 accumulate") % precision
        facts.insert(0, Fact(_("Precision"), meaning))
    return Explanation(
        _("%(figure)s, per 1000 yuan") % {"figure": f.label(name, "figure")},
        f.number(cell.value, 2),
        row.unit,
        basis="derived",
        formula=f"1000 × {f.figure(figure.value)} {figure.unit} ÷ ¥{f.number(price.expected_cny)}",
        facts=(*facts, *of_price.facts),
    )
