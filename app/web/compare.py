"""Two to six cards side by side. The cards, the condition and the day are in the address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.exceptions import HTTPException

from app.catalog.snapshot import Snapshot
from app.core.faults import InputFault
from app.core.gpu import PriceChoice
from app.core.question import CONDITIONS
from app.services.answers import load
from app.services.payload import gpu_label
from app.services.side_by_side import MOST_CARDS, RATE_ROWS, ROW_BY_ID, Chosen, choose, side_by_side
from app.texts.marking import N_
from app.texts.say import say_fault
from app.texts.words import precision_name
from app.web.answers import open_page, today
from app.web.card_facts import form_factor
from app.web.explain import explain_price
from app.web.explanation import Explanation, Fact
from app.web.links import GpuLinks
from app.web.listing import MAX_TEXT, address, card_names, day_of, only
from app.web.render import is_fragment
from app.web.tables import csv_response
from app.web.view import Words, price_words

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
    found, condition = _chosen(request, snapshot)
    extra = request.query_params.get("add", "")[:MAX_TEXT].strip()
    faults = list(found.faults)
    ids = list(found.ids)
    too_many = found.too_many
    if extra:
        added = choose(snapshot, [extra])
        faults += added.faults
        ids += [i for i in added.ids if i not in ids]
        too_many = max(0, len(ids) - MOST_CARDS)
    several = len(request.query_params.getlist("gpus")) > 1
    if (extra or several) and not faults and not too_many:
        return RedirectResponse(_url(ids, condition, stated_day, request.query_params.get("lang", "")), 303)
    ids = ids[:MOST_CARDS]
    body = side_by_side(snapshot, ids, day, condition)
    return page.render(
        "compare.html",
        PATH,
        422 if faults else 200,
        c=body,
        cards=[_head(card, ids, condition, stated_day, words) for card in body["cards"]],
        groups=_groups(body, words, stated_day),
        faults=[_fault(fault, ids, condition, snapshot, page.language) for fault in faults],
        too_many=too_many,
        condition=condition,
        conditions=CONDITIONS,
        as_of=stated_day,
        typed=extra if faults else "",
        offers=card_names(snapshot).values(),
        sentence=_sentence(body, words),
        print_date=today().isoformat(),
        most=MOST_CARDS,
        starts=_starts(snapshot, words),
        csv_url=address("/compare.csv", {"gpus": ",".join(ids), "condition": condition, "as_of": stated_day}),
        rank_url=address("/", {"gpus": ",".join(ids)}),
        names=[card["label"] for card in body["cards"]],
        stale=SEPARATOR[page.language].join(
            card["label"] for card in body["cards"] if card["price"] and card["price"]["stale"]
        ),
    )


@router.get("/compare.csv")
def compare_csv(request: Request) -> Response:
    """The same table with raw values: one line for each row, one column for each card."""
    page, snapshot, words = open_page(request)
    found, condition = _chosen(request, snapshot)
    body = side_by_side(snapshot, found.ids, day_of(request), condition)
    heads = ["row", page._("Unit"), *(card["label"] for card in body["cards"])]
    return csv_response(
        "compare",
        heads,
        (
            [
                row["id"],
                row["unit"],
                *(cell["text"] if row["kind"] == "fact" else cell["value"] for cell in row["cells"]),
            ]
            for row in body["rows"]
        ),
    )


@router.get("/compare/figure")
def compare_figure(request: Request) -> Response:
    """One cell opened: a price, a figure per 1000 yuan, or a fact in words."""
    page, snapshot, words = open_page(request)
    day = day_of(request)
    found, condition = _chosen(request, snapshot)
    row = ROW_BY_ID.get(request.query_params.get("row", ""))
    shown = None
    if row is not None and len(found.ids) == 1:
        shown = _explain(snapshot, found.ids[0], row.id, day, condition, words)
    if shown is None:
        raise HTTPException(404, page._("There is no such figure."))
    template = "explain_fragment.html" if is_fragment(request) else "explain.html"
    return page.render(template, "", figure=shown, back=_url(list(found.ids), condition))


def _head(
    card: Mapping[str, Any], ids: list[str], condition: str, as_of: str, words: Words
) -> dict[str, Any]:
    price = card["price"]
    return {
        **card,
        "remove_url": _url([i for i in ids if i != card["id"]], condition, as_of),
        "price_words": price_words(load(PriceChoice, price), words) if price else "",
    }


def _fault(
    fault: InputFault, ids: list[str], condition: str, snapshot: Snapshot, language: str
) -> dict[str, Any]:
    """A name that leads to no card, with the cards it may mean."""
    error = fault.errors[0]
    candidates = [str(c) for c in error.params.get("candidates", ())][:12]
    return {
        "text": say_fault(error, language),
        "candidates": [
            (gpu_label(snapshot.gpu(c)), _url([*ids, c][-MOST_CARDS:], condition)) for c in candidates
        ],
    }


def _groups(body: Mapping[str, Any], words: Words, as_of: str) -> list[dict[str, Any]]:
    """Rows under their headings, with labels, words and links."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in body["rows"]:
        cells = [
            _cell(row, cell, card, body["condition"], as_of, words)
            for cell, card in zip(row["cells"], body["cards"], strict=True)
        ]
        label = _label(row["id"], words)
        groups.setdefault(row["group"], []).append({**row, "label": label, "cells": cells})
    return [
        {"title": words.gettext(GROUP[code]), "code": code, "rows": rows} for code, rows in groups.items()
    ]


def _label(row_id: str, words: Words) -> str:
    if row_id in FACT_ROW:
        return words.gettext(FACT_ROW[row_id])
    # The heading of the group says dense and the accumulate type; the vector rate is said to be one.
    if row_id in SHORT:
        return precision_name(row_id.split("_")[0])
    return words.formats.label(row_id.removesuffix("_per_1000"), "figure")


def _cell(
    row: Mapping[str, Any],
    cell: Mapping[str, Any],
    card: Mapping[str, Any],
    condition: str,
    as_of: str,
    words: Words,
) -> dict[str, Any]:
    shown, sub = _shown(row, cell, words)
    if row["kind"] == "figure":
        url = GpuLinks(card["id"]).explain(f"figures.{row['id']}.value")
    else:
        url = address(
            "/compare/figure",
            {"gpus": card["id"], "row": row["id"], "condition": condition, "as_of": as_of},
        )
    return {**cell, "shown": shown, "sub": sub, "url": url}


def _starts(snapshot: Snapshot, words: Words) -> list[dict[str, str]]:
    """Comparisons to start from, with the cards that the catalogue has."""
    known = {gpu.id: gpu_label(gpu) for gpu in snapshot.gpus}
    return [
        {
            "title": words.gettext(title),
            "cards": " · ".join(known[name] for name in ids if name in known),
            "url": _url([name for name in ids if name in known]),
        }
        for title, ids in STARTS
        if sum(name in known for name in ids) > 1
    ]


def _shown(row: Mapping[str, Any], cell: Mapping[str, Any], words: Words) -> tuple[str, str]:
    """The cell's text, and the small line under it; empty where the catalogue has nothing."""
    _, f = words.gettext, words.formats
    value = cell["value"]
    if row["kind"] == "price":
        return ("" if value is None else words.money.bare(value)), ""
    if row["kind"] == "per_1000":
        return ("" if value is None else f.number(value, 2)), ""
    if row["kind"] == "figure":
        sub = ""
        if value is not None and row["id"] == "link_gb_s":
            sub = _("%(gb_s)s each way") % {"gb_s": f.figure(cell["one_way"])}
            if cell.get("over_pcie"):
                sub += " · " + _("%(times)s × PCIe") % {"times": f.number(cell["over_pcie"], 1)}
        return ("" if value is None else f.figure(value)), sub
    return _fact(str(row["id"]), str(cell["text"]), str(cell["note"]), words)


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


def _sentence(body: Mapping[str, Any], words: Words) -> str:
    """Which card gives most for the money in 16 bit, and how far the next one lies behind."""
    row = next((row for row in body["rows"] if row["id"] == VALUE_ROW), None)
    if row is None:
        return ""
    known = [
        (cell["value"], _named(card, words))
        for cell, card in zip(row["cells"], body["cards"], strict=True)
        if cell["value"] is not None
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


def _named(card: Mapping[str, Any], words: Words) -> str:
    """A card with the condition that its price is for, unless that is new."""
    condition = card["price"]["condition"]
    if condition == "new":
        return str(card["label"])
    said = {"card": card["label"], "condition": words.formats.label(condition, "condition")}
    return words.gettext("%(card)s (%(condition)s)") % said


def _explain(
    snapshot: Snapshot, gpu_id: str, row_id: str, day: date, condition: str, words: Words
) -> Explanation | None:
    _ = words.gettext
    gpu = snapshot.gpu(gpu_id)
    body = side_by_side(snapshot, [gpu_id], day, condition)
    row = next((row for row in body["rows"] if row["id"] == row_id), None)
    if row is None:
        return None
    cell, price = row["cells"][0], body["cards"][0]["price"]
    card = Fact(_("Card"), gpu.name, f"/gpus/{gpu.id}")
    if row["kind"] == "price":
        return explain_price(load(PriceChoice, price), gpu_label(gpu), words) if price else None
    if row["kind"] == "per_1000":
        return _explain_per_1000(snapshot, gpu_id, row, price, card, words)
    shown, sub = _shown(row, cell, words)
    if not shown or not (source := cell["source"]):
        return None
    return Explanation(
        _label(row_id, words),
        shown,
        sub,
        basis=cell["basis"],
        facts=(Fact(_("Source"), source["title"] or source["id"], source["url"]), card),
    )


def _explain_per_1000(
    snapshot: Snapshot,
    gpu_id: str,
    row: Mapping[str, Any],
    price: Mapping[str, Any] | None,
    card: Fact,
    words: Words,
) -> Explanation | None:
    _, f = words.gettext, words.formats
    name = str(row["id"]).removesuffix("_per_1000")
    figure = snapshot.figures(gpu_id).get(name)
    if figure is None or price is None or row["cells"][0]["value"] is None:
        return None
    of_price = explain_price(load(PriceChoice, price), gpu_label(snapshot.gpu(gpu_id)), words)
    facts = [card, Fact(f.label(name, "figure"), figure.source.title or figure.source.id, figure.source.url)]
    if name.endswith(("tflops", "tops")):
        meaning = _("%(precision)s, dense, FP32 accumulate") % {
            "precision": precision_name(name.split("_")[0])
        }
        facts.insert(0, Fact(_("Precision"), meaning))
    title = _("%(figure)s, per 1000 yuan") % {"figure": f.label(name, "figure")}
    return Explanation(
        title,
        f.number(row["cells"][0]["value"], 2),
        row["unit"],
        basis="derived",
        formula=f"1000 × {f.figure(figure.value)} {figure.unit} ÷ ¥{f.number(price['amount_cny'])}",
        facts=(*facts, *of_price.facts),
    )
