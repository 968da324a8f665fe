"""The frozen comparison: made by a form, read by a reviewer, withdrawn by whoever made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from starlette.exceptions import HTTPException

from app.catalog.snapshot import Snapshot
from app.core.faults import InputFault
from app.core.gpu import short_card_name
from app.errors import AppError
from app.services import comparisons
from app.services.calculator import StalePrice
from app.services.limits import limits_of
from app.services.results import ChangesAnswer, FrozenAnswer, OptionChange, PriceChange, ShortlistAnswer
from app.texts.words import precision_name, proper_name
from app.web import rejections
from app.web.answer_tables import Words
from app.web.answers import ask, fault_text, open_page, today
from app.web.calculator import page_values, shown_answer
from app.web.form import field_of, form_query
from app.web.links import QuestionLinks
from app.web.models import chinese_vendors
from app.web.render import Page

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
    answer: ShortlistAnswer
    stored: FrozenAnswer
    found: comparisons.Frozen


def open_comparison(request: Request, token: str) -> Frozen:
    """The stored comparison of an address; 404 when there is none."""
    page, snapshot, words = open_page(request)
    try:
        found = comparisons.open_comparison(request.app.state.engine, token)
    except comparisons.NoSuchComparison:
        text = page._("There is no comparison at this address; it may have been withdrawn.")
        raise HTTPException(404, text) from None
    stored = comparisons.show(found, with_formulas=True)
    return Frozen(page, snapshot, words, QuestionLinks(comparison=token), stored.result, stored, found)


def _cookie(request: Request, token: str) -> str:
    prefix = "__Secure-" if request.url.scheme == "https" else ""
    return f"{prefix}cw_manage_{token[:40]}"


def _count_comparison(request: Request) -> None:
    """Count one; a 429 when the address has used up what the settings allow."""
    address = request.client.host if request.client else "unknown"
    if not limits_of(request.app.state).take("comparisons", address):
        raise AppError(
            429, "too-many-requests", "Too many requests", "Try again later.", headers={"retry-after": "3600"}
        )


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
    _count_comparison(request)
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
    changes = comparisons.changes(frozen.found, frozen.snapshot, today())
    objective = frozen.answer.question.objective
    values = shown_answer(frozen.answer, frozen, frozen.links, objective, request.query_params)
    title = stored.title or page._("Comparison of %(day)s") % {"day": stored.as_of}
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
            "digest": " ".join(stored.digest[i : i + 4] for i in range(0, 12, 4)),
            "asked_long": question_line(frozen),
            "changes": changes,
            "changed_rows": change_rows(changes, words),
            "standing": standing(changes, frozen.answer, words),
            "rejected": [
                rejections.row(item, words, lambda _: "")
                for item in rejections.shown(frozen.answer.rejected, frozen.snapshot, None, "")
            ],
            "cannot_repeat": [*map(words.say, changes.cannot_repeat)],
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
    frozen = open_comparison(request, token)
    query = form_query(frozen.stored.question, chinese_vendors(frozen.snapshot))
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
    question = frozen.answer.question
    model, asked = question.model, question.workload.get
    engine = str(asked("engine") or "")
    parts = [
        f"{model.name or model.id or '—'} {f.label(asked('task', 'inference'), 'task')}",
        precision_name(str(asked("precision", ""))),
        _("batch %(count)s") % {"count": f.plain_number(asked("batch_size"))},
    ]
    if asked("sequence_length"):
        parts.append(_("%(count)s tokens") % {"count": f.number(asked("sequence_length"))})
    if engine:
        parts.append(proper_name(engine))
    parts.append(_("%(count)s months") % {"count": f.plain_number(question.economics.months)})
    return " · ".join(parts)


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a decision still stands: its verdict colour and a sentence."""

    kind: str
    text: str


def standing(changes: ChangesAnswer, answer: ShortlistAnswer, words: Words) -> Standing:
    """Whether the decision still stands, in one sentence."""
    _ = words.gettext
    if changes.cannot_repeat:
        return Standing("tight", _("The question cannot be asked again with today's data."))
    if not answer.options:
        return Standing("tight", _("Nothing was feasible when this was frozen."))
    first = answer.options[0].label
    if changes.first_changed:
        text = _("The decision no longer stands: %(label)s is not first today.")
        return Standing("no", text % {"label": first})
    if changes.order_changed:
        text = _("The decision stands: %(label)s is still first; the order behind it has changed.")
    elif changes.prices:
        text = _("The decision stands: %(label)s is still first, and the order has not changed.")
    else:
        text = _("Nothing has changed: %(label)s is first, as frozen.")
    return Standing("fits", text % {"label": first})


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """One item that is another one today."""

    item: str
    then: str
    now: str
    change: str = ""
    css: str = ""
    effect: str = ""


def change_rows(changes: ChangesAnswer, words: Words) -> list[ChangedRow]:
    """Prices that moved, options that came or went, ranks that changed."""
    _ = words.gettext
    moved = {(o.gpu.id, o.count, o.condition): o for o in changes.options}
    rows = [
        _price_row(price, moved.get((price.gpu.id, price.count, price.condition)), words)
        for price in changes.prices
    ]
    rows += [ChangedRow(o.label, "—", "—", effect=_("new in the list")) for o in changes.entered]
    rows += [ChangedRow(o.label, "—", "—", effect=_("no longer in the list")) for o in changes.left]
    then, now = changes.then, changes.now
    if then.catalog != now.catalog:
        rows.append(ChangedRow(_("Catalog"), then.catalog, now.catalog))
    if then.engine != now.engine:
        rows.append(ChangedRow(_("Engine"), then.engine, now.engine))
    return rows


def _price_row(price: PriceChange, option: OptionChange | None, words: Words) -> ChangedRow:
    _, money = words.gettext, words.money
    effect = ""
    if option:
        more = option.total_cny.now - option.total_cny.then
        sign = "+" if more >= 0 else "−"
        effect = _("total %(change)s, rank %(then)s → %(now)s") % {
            "change": sign + money.amount(abs(more)),
            "then": option.rank.then,
            "now": option.rank.now,
        }
    fraction = price.change_fraction
    return ChangedRow(
        _("%(label)s, unit price") % {"label": short_card_name(price.gpu.name)},
        money.bare(price.then.amount_cny),
        money.bare(price.now.amount_cny),
        words.formats.signed_percent(fraction),
        "up" if (fraction or 0) > 0 else "down",
        effect,
    )


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A figure of the decision and where it comes from."""

    figure: str
    value: str
    basis: str
    source: str
    url: str
    date: str = ""


def source_rows(answer: ShortlistAnswer, words: Words) -> list[SourceRow]:
    """Where the figures of the first three options come from."""
    _, f, money = words.gettext, words.formats, words.money
    rows = []
    for option in answer.options[:3]:
        price, fit, name = option.price, option.fit, {"label": short_card_name(option.gpu.name)}
        read, usable = price.source, fit.usable_source
        rows += [
            SourceRow(
                _("%(label)s, unit price") % name,
                money.amount(price.amount_cny),
                price.basis,
                (read.title if read else "") or price.channel,
                read.url if read else "",
                price.observed_on,
            ),
            SourceRow(
                _("%(label)s, usable memory") % name,
                f"{f.gib(fit.usable_gib)} GiB",
                fit.usable_basis or "derived",
                usable.title if usable else "",
                usable.url if usable else "",
            ),
        ]
    for part in answer.options[0].memory.parts if answer.options else ():
        if part.gib:
            value = f"{f.number(float(part.gib), 2)} GiB"
            anchor = f"/method#{part.formula}"
            rows.append(SourceRow(f.label(part.part, "part"), value, part.basis, part.formula, anchor))
    return rows
