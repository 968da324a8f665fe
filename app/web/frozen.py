"""The frozen comparison: made by a form, read by a reviewer, withdrawn by whoever made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from starlette.exceptions import HTTPException

from app.services import comparisons
from app.services.answers import as_json
from app.services.calculator import StalePrice
from app.services.contract import InputFault, Snapshot
from app.texts.words import precision_name, proper_name
from app.web import rejections
from app.web.answers import ask, fault_text, open_page, today
from app.web.calculator import page_values, shown_answer
from app.web.fields import field_of
from app.web.limits import count_comparison
from app.web.links import QuestionLinks, form_query
from app.web.render import Page
from app.web.view import Words

router = APIRouter()

MANAGE_SECONDS = 180 * 86_400
_PRIVATE = {
    "x-robots-tag": "noindex",
    "cache-control": "private, max-age=0",
    "referrer-policy": "same-origin",
}


@dataclass(slots=True)
class Frozen:
    """A stored comparison, ready to be shown; the same names as a live answer has."""

    page: Page
    snapshot: Snapshot
    words: Words
    links: QuestionLinks
    answer: dict[str, Any]
    stored: dict[str, Any]
    found: comparisons.Frozen


def open_comparison(request: Request, token: str) -> Frozen:
    """The stored comparison of an address; 404 when there is none."""
    page, snapshot, words = open_page(request)
    try:
        found = comparisons.open_comparison(request.app.state.engine, token)
    except comparisons.NoSuchComparison:
        text = page._("There is no comparison at this address; it may have been withdrawn.")
        raise HTTPException(404, text) from None
    stored = as_json(comparisons.show(found), page.language)
    return Frozen(page, snapshot, words, QuestionLinks(comparison=token), stored["result"], stored, found)


def _cookie(request: Request, token: str) -> str:
    prefix = "__Secure-" if request.url.scheme == "https" else ""
    return f"{prefix}cw_manage_{token[:40]}"


@router.post("/c")
async def freeze(request: Request) -> Response:
    """Freeze the question of the form and lead to its page."""
    form = await request.form()
    pairs = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
    return await _in_thread(_freeze, request, pairs)


async def _in_thread(function: Any, *arguments: Any) -> Response:
    from starlette.concurrency import run_in_threadpool

    answer: Response = await run_in_threadpool(function, *arguments)
    return answer


def _freeze(request: Request, pairs: list[tuple[str, str]]) -> Response:
    asked = ask(request, pairs)
    title = next((value for name, value in pairs if name == "title"), "").strip()[:120]
    if asked.answer is None:
        return asked.page.render("calculator.html", "/", 422, **page_values(asked))
    count_comparison(request)
    body = asked.body | ({"title": title} if title else {})
    try:
        made = comparisons.freeze(request.app.state.engine, asked.snapshot, body, today())
    except (InputFault, StalePrice) as refused:
        for error in getattr(refused, "errors", ()):
            name = field_of(error.pointer)
            asked.state.errors.setdefault(name, []).append(fault_text(error, name, asked.page))
        asked.answer = None
        return asked.page.render("calculator.html", "/", 422, **page_values(asked))
    response = RedirectResponse(made.url, 303)
    # The token that withdraws the comparison stays with the browser that made it, and only for this page.
    response.set_cookie(
        _cookie(request, made.id),
        made.manage_token,
        max_age=MANAGE_SECONDS,
        path=made.url,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
    return response


@router.get("/c/{token}")
def comparison(request: Request, token: str) -> Response:
    """The decision as frozen, what has changed since, and what it rests on."""
    frozen = open_comparison(request, token)
    page, words, stored = frozen.page, frozen.words, frozen.stored
    changes = as_json(comparisons.changes(frozen.found, frozen.snapshot, today()), page.language)
    objective = frozen.answer["question"].get("objective", "total_cost")
    values = shown_answer(frozen.answer, frozen, frozen.links, objective, request.query_params)
    title = stored["title"] or page._("Comparison of %(day)s") % {"day": stored["as_of"]}
    return page.render(
        "comparison.html",
        "",
        headers=_PRIVATE,
        **values
        | {
            "frozen": True,
            "heading": "h2",
            "stored": stored,
            "title": title,
            "digest": " ".join(stored["digest"][i : i + 4] for i in range(0, 12, 4)),
            "asked_long": question_line(frozen),
            "changes": changes,
            "changed_rows": change_rows(changes, words),
            "standing": standing(changes, frozen.answer, words),
            "rejected": [
                item | {"apply_url": ""}
                for item in rejections.shown(frozen.answer["rejected"], frozen.snapshot, None, "")
            ],
            "rejected_url": "",
            "more_url": "",
            "sources": source_rows(frozen.answer, words),
            "manage": bool(request.cookies.get(_cookie(request, token))),
            "print_date": today().isoformat(),
        },
    )


@router.get("/c/{token}/open")
def open_today(request: Request, token: str) -> Response:
    """The calculator with the frozen question and today's data."""
    query = form_query(open_comparison(request, token).stored["question"])
    return RedirectResponse("/" + (f"?{query}" if query else ""), 303)


@router.post("/c/{token}/withdraw")
def withdraw(request: Request, token: str, sure: Annotated[str, Form()] = "") -> Response:
    """Delete a comparison; only the browser that made it holds the token."""
    page = open_page(request)[0]
    manage = request.cookies.get(_cookie(request, token), "")
    if sure != "yes":
        return RedirectResponse(f"/c/{token}", 303)
    try:
        comparisons.withdraw(request.app.state.engine, token, manage)
    except comparisons.NoSuchComparison:
        text = page._("There is no comparison at this address; it may have been withdrawn.")
        raise HTTPException(404, text) from None
    response = RedirectResponse("/", 303)
    response.delete_cookie(_cookie(request, token), path=f"/c/{token}")
    return response


def question_line(frozen: Frozen) -> str:
    """The frozen question in one line."""
    _, f = frozen.words.gettext, frozen.words.formats
    question = frozen.answer["question"]
    work, model = question["workload"], question.get("model") or {}
    parts = [
        f"{model.get('name') or model.get('id') or '—'} {f.label(work.get('task', 'inference'), 'task')}",
        precision_name(work["precision"]),
        _("batch %(count)s") % {"count": f.plain_number(work["batch_size"])},
    ]
    if work.get("sequence_length"):
        parts.append(_("%(count)s tokens") % {"count": f.number(work["sequence_length"])})
    if work.get("engine"):
        parts.append(proper_name(work["engine"]))
    parts.append(_("%(count)s months") % {"count": f.plain_number(question["economics"]["months"])})
    return " · ".join(parts)


def standing(changes: dict[str, Any], answer: dict[str, Any], words: Words) -> dict[str, str]:
    """Whether the decision still stands, in one sentence, with its verdict colour."""
    _ = words.gettext
    if changes["cannot_repeat"]:
        text = _("The question cannot be asked again with today's data.")
        return {"kind": "tight", "text": text}
    if not answer["options"]:
        return {"kind": "tight", "text": _("Nothing was feasible when this was frozen.")}
    first = answer["options"][0]["label"]
    if changes["first_changed"]:
        return {
            "kind": "no",
            "text": _("The decision no longer stands: %(label)s is not first today.") % {"label": first},
        }
    if changes["order_changed"]:
        text = _("The decision stands: %(label)s is still first; the order behind it has changed.")
    elif changes["prices"]:
        text = _("The decision stands: %(label)s is still first, and the order has not changed.")
    else:
        text = _("Nothing has changed: %(label)s is first, as frozen.")
    return {"kind": "fits", "text": text % {"label": first}}


def change_rows(changes: dict[str, Any], words: Words) -> list[dict[str, str]]:
    """Prices that moved, options that came or went, ranks that changed."""
    _, f, money = words.gettext, words.formats, words.money
    ranks = {(o["gpu"]["id"], o["count"], o["condition"]): o for o in changes["options"]}
    rows = []
    for price in changes["prices"]:
        option = ranks.get((price["gpu"]["id"], price["count"], price["condition"]))
        effect = ""
        if option:
            more = option["total_cny"]["now"] - option["total_cny"]["then"]
            sign = "+" if more >= 0 else "−"
            effect = _("total %(change)s, rank %(then)s → %(now)s") % {
                "change": sign + money.amount(abs(more)),
                "then": option["rank"]["then"],
                "now": option["rank"]["now"],
            }
        fraction = price["change_fraction"]
        rows.append(
            {
                "item": _("%(label)s, unit price") % {"label": price["label"].split("×", 1)[-1].strip()},
                "then": money.bare(price["then"]["amount_cny"]),
                "now": money.bare(price["now"]["amount_cny"]),
                "change": f.signed_percent(fraction),
                "css": "up" if (fraction or 0) > 0 else "down",
                "effect": effect,
            }
        )
    for kind, word in (("entered", _("new in the list")), ("left", _("no longer in the list"))):
        for option in changes[kind]:
            rows.append(
                {"item": option["label"], "then": "—", "now": "—", "change": "", "css": "", "effect": word}
            )
    for key in ("catalog", "engine"):
        if changes["then"][key] != changes["now"][key]:
            name = _("Catalog") if key == "catalog" else _("Engine")
            rows.append(
                {
                    "item": name,
                    "then": changes["then"][key],
                    "now": changes["now"][key],
                    "change": "",
                    "css": "",
                    "effect": "",
                }
            )
    return rows


def source_rows(answer: dict[str, Any], words: Words) -> list[dict[str, str]]:
    """Where the figures of the first three options come from."""
    _, f, money = words.gettext, words.formats, words.money
    rows = []
    for option in answer["options"][:3]:
        price, fit, source = option["price"], option["fit"], option["price"].get("source") or {}
        name = option["label"].split("×", 1)[-1].strip()
        rows.append(
            {
                "figure": _("%(label)s, unit price") % {"label": name},
                "value": money.amount(price["amount_cny"]),
                "basis": price.get("basis")
                or (
                    "assumed" if price["kind"] == "override" else "derived" if price["converted"] else "exact"
                ),
                "source": source.get("title") or price["channel"],
                "url": source.get("url", ""),
                "date": price["observed_on"],
            }
        )
        usable = fit.get("usable_source") or {}
        rows.append(
            {
                "figure": _("%(label)s, usable memory") % {"label": name},
                "value": f"{f.gib(fit['usable_gib'])} GiB",
                "basis": fit.get("usable_basis", "derived"),
                "source": usable.get("title", ""),
                "url": usable.get("url", ""),
                "date": "",
            }
        )
    first = answer["options"][0] if answer["options"] else None
    for part in first["memory"]["parts"] if first else ():
        if part["gib"]:
            rows.append(
                {
                    "figure": f.label(part["part"], "part"),
                    "value": f"{f.number(part['gib'], 2)} GiB",
                    "basis": part["basis"],
                    "source": part["formula"],
                    "url": f"/method#{part['formula']}",
                    "date": "",
                }
            )
    return rows
