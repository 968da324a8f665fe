"""The calculator page: the question, the answer, and the parts that htmx asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from app.caching import Cache
from app.catalog.snapshot import Snapshot
from app.core import engines
from app.core.answer import plain
from app.core.decide.options import Rejected
from app.services.results import ShortlistAnswer
from app.texts.words import precision_name, proper_name
from app.web import answer_tables, rejections
from app.web.answers import Asked, ask, snapshot_of, today
from app.web.drawings import drawings
from app.web.fields import controls, faulty_folds, field_label, summaries
from app.web.form import MILLIONS, changed_query, number_of, text_of_number
from app.web.formatting import close_up
from app.web.models import facts, offers, parameters_of, shown_name, vendors
from app.web.ranking import TableView, sort_urls
from app.web.recommended import chosen_of, recommendation_of, recommended_values
from app.web.render import Page, is_fragment
from app.web.scenarios import four_questions, scenarios
from app.web.wording import plan_words

router = APIRouter()

KEPT_PAGES = 64
MAX_KEPT_ADDRESS = 2_000
_pages: Cache[tuple[bytes, dict[str, str]]] = Cache(KEPT_PAGES)

SORTED = Markup(' aria-sort="ascending"')
SORTED_DOWN = Markup(' aria-sort="descending"')


@router.get("/")
def calculator(request: Request) -> Response:
    """The whole page, or its changing parts for htmx; a question just answered is not rendered again."""
    page = Page(request)
    snapshot = snapshot_of(request)
    address = request.url.query
    frame = (page.language, page.theme, page.currency, page.editor.name if page.editor else "")
    key = (snapshot.digest, today(), address, frame, is_fragment(request))
    kept = _pages.find(key) if len(address) <= MAX_KEPT_ADDRESS else None
    if kept is not None:
        return page.respond(kept[0], 200, kept[1])
    response, headers = _answer(request)
    if response.status_code == 200 and len(address) <= MAX_KEPT_ADDRESS:
        _pages.put(key, (bytes(response.body), headers))
    return response


def _answer(request: Request) -> tuple[HTMLResponse, dict[str, str]]:
    asked = ask(request)
    if is_fragment(request):
        asked.page.asks(asked.view.put(asked.query))
    status = 422 if asked.state.errors else 200
    values = page_values(asked)
    if not is_fragment(request):
        return asked.page.render("calculator.html", "/", status, **values), {}
    if status == 422:
        return asked.page.render("calculator/refused.html", "/", status, **values), {}
    headers = {"hx-push-url": "/" + (f"?{asked.query}" if asked.query else "")}
    return asked.page.render("calculator/fragment.html", "/", status, headers, **values), headers


def page_values(asked: Asked) -> dict[str, Any]:
    """Everything that the calculator's templates read."""
    values = form_values(asked) | question_words(asked)
    if asked.answer is not None:
        values |= answer_values(asked)
    else:
        values |= {"answer": None, "title": values["asked"], "said": ""}
    return values


def form_values(asked: Asked) -> dict[str, Any]:
    """What the form shows."""
    _, state = asked.page._, asked.state
    assumptions = asked.answer.assumptions if asked.answer else ()
    assumed = {a.field.rsplit("/", 1)[-1].rsplit(".", 1)[-1]: plain(a.value) for a in assumptions}
    # Work and budget share this key; only work has a default, and it is among the form's own.
    assumed.pop("amount", None)
    shown = assumed | {"as_of": today().isoformat()}
    return {
        "f": state,
        "family": asked.family,
        "facts": facts(state, asked.snapshot, asked.words),
        "model_options": model_options(asked.snapshot, asked.page.language),
        "controls": controls(state, asked.family, vendors(asked.snapshot), shown, _),
        "summaries": summaries(state, assumed, _),
        "opened": faulty_folds(state),
        "field_label": lambda name: field_label(name, _),
        "kept": [("lang", asked.page.language)] if "lang" in asked.page.request.query_params else [],
        "query": asked.query,
        "suffix": f"?{asked.query}" if asked.query else "",
        "scenarios": scenarios(_),
        "four_questions": four_questions(state, asked.family, parameters_of(state, asked.snapshot), _),
    }


@lru_cache(maxsize=4)
def model_options(snapshot: Snapshot, language: str) -> Markup:
    """The names that the model field offers, written once for each catalogue version and language."""
    option = Markup('<option value="{}"{}>{}</option>')
    shaped = Markup(' data-shape="{}"')
    return Markup().join(
        option.format(offer.name, shaped.format(offer.shape) if offer.shape else "", offer.hint)
        for offer in offers(snapshot, language)
    )


def question_words(asked: Asked) -> dict[str, str]:
    """The question in one line, short for the form's summary and long above the answer."""
    _, state, formats = asked.page._, asked.state, asked.words.formats
    one = state.said
    name = shown_name(state, asked.snapshot)
    task = formats.label(one("task"), "task")
    load = [f"{grouped(one('batch_size'))} × {grouped(one('sequence_length'))}"]
    if asked.family in ("vision", "diffusion"):
        load = [_("batch %(count)s") % {"count": one("batch_size")}] + (
            [square(one("image_size"))] if one("image_size") else []
        )
    else:
        load = [_("%(load)s tokens") % {"load": load[0]}]
    short = [precision_name(one("precision")), *load]
    long = list(short)
    engine = one("engine")
    if not engines.is_engine(engine):
        assumptions = asked.answer.assumptions if asked.answer else ()
        engine = next((str(a.value) for a in assumptions if a.field.endswith("engine")), "")
    if engine:
        long.append(proper_name(engine))
    if state.one("work"):
        unit = one("work_unit")
        word = formats.label(unit, "work_unit")
        amount = f"{one('work')} " + (_("million %(unit)s") % {"unit": word} if unit in MILLIONS else word)
        if unit in MILLIONS and asked.page.language == "zh":
            amount = f"{in_myriads(one('work'))} {word}"
        pattern = _("%(amount)s a month") if one("task") == "inference" else _("%(amount)s in all")
        long.append(close_up(pattern % {"amount": amount}))
    long.append(_("%(count)s months") % {"count": one("months")})
    if "modded" not in state.many("conditions"):
        long.append(_("no modified cards"))
    joined = " · ".join(short)
    return {
        "asked": f"{name} {task} · {joined}",
        "asked_long": Markup("<b>{}</b> {} · {}").format(name, task, " · ".join(long)),
        "asked_title": f"{name} {task}",
    }


def in_myriads(text: str) -> str:
    """Millions as Chinese counts them: 200 -> 2 \u4ebf, 3 -> 300 \u4e07."""
    count = number_of(text, Decimal(10**6))
    if count is None or not math.isfinite(count):
        return text
    if count >= 1e8:
        return f"{text_of_number(count, Decimal('1e-8'))} \u4ebf"
    return f"{text_of_number(count, Decimal('1e-4'))} \u4e07"


def square(text: str) -> str:
    """An image size as height by width."""
    sides = [side for side in text.lower().replace("\u00d7", "x").replace("*", "x").split("x") if side]
    return " \u00d7 ".join(side.strip() for side in (sides * 2)[:2])


def grouped(text: str) -> str:
    """A whole number as typed, with its thousands apart; anything else stays as it is."""
    return f"{int(text):,}" if text.isascii() and text.isdigit() and len(text) < 16 else text


def answer_values(asked: Asked) -> dict[str, Any]:
    """What the result shows."""
    answer, words, links = asked.answer, asked.words, asked.links
    assert answer is not None
    parameters = asked.page.request.query_params
    objective = asked.state.one("objective")
    values = shown_answer(answer, asked, links, objective, parameters)
    amount = asked.body.get("budget", {}).get("amount")
    budget = float(amount) if isinstance(amount, int | float) else None
    wanted = parameters.get("rejected", "")[:20]
    snapshot = asked.snapshot

    def rows(items: Sequence[Rejected]) -> list[rejections.RejectedRow]:
        return [rejections.row(item, words, lambda item: apply_url(item, asked)) for item in items]

    rejected = rows(rejections.shown(answer.rejected, snapshot, budget, wanted))
    nearest = [] if answer.options else rows(rejections.by_distance(answer.rejected, budget)[:3])
    return values | {
        "rejected": rejected,
        "rejected_kinds": rejections.kinds(answer.rejected, links, wanted),
        "rejected_url": ""
        if len(rejected) == len(answer.rejected)
        else links.page(rejected="all") + "#rejected",
        "remedies": [row for row in nearest if row.remedy],
        "nearest": nearest[0] if nearest else None,
        "budget": "" if budget is None else words.money.amount(budget),
        "no_host": no_host(asked, budget),
        "column_choices": asked.view.choices(asked.query, asked.page._),
        "pairs": [(n, v) for n, v in _pairs(asked)],
        "more_url": asked.view.more_url(asked.query, answer.feasible),
        "sort_url": sort_urls(asked.state, asked.family, asked.view),
        "title": title_of(asked, answer),
        "said": said_of(asked, answer),
    }


def shown_answer(
    answer: ShortlistAnswer, asked: Any, links: Any, objective: str, parameters: Mapping[str, str]
) -> dict[str, Any]:
    """The parts that a live and a frozen answer share."""
    words = asked.words
    trains = answer_tables.trains(answer.question)
    options = answer.options
    opened = parameters.get("open", "")
    rows = (
        answer_tables.ranking_rows(
            answer,
            words,
            links,
            pin=parameters.get("pin", ""),
            opened=int(opened) if opened.isascii() and opened.isdigit() and len(opened) < 6 else 0,
            objective=objective,
        )
        if options
        else []
    )
    ascending = {"total_cost": SORTED, "purchase": SORTED, "power": SORTED}

    def sorted_by(column: str) -> str:
        return (ascending.get(column, SORTED_DOWN)) if column == objective else ""

    chosen = chosen_of(answer)
    leads = chosen is not None and chosen[0] == 0
    return recommended_values(answer, words) | {
        "answer": answer,
        "at": links,
        "frozen": False,
        "heading": "h1",
        # Chinese sentences follow each other without a space.
        "gap": "" if asked.page.language == "zh" else " ",
        "trains": trains,
        "used": answer_tables.used_gib(answer.question),
        "objective": objective,
        "columns": getattr(asked, "view", TableView()).shown(options),
        "column_choices": [],
        "sort_url": {},
        "rejected_kinds": [],
        "no_host": None,
        "rows": rows,
        "groups": answer_tables.groups_of([chosen[1]] if chosen else options[:1], trains, words),
        "scale": answer_tables.scale_of_options(options),
        "second": answer_tables.second_best(answer, objective, words) if leads else None,
        "flip_sentence": answer_tables.flip_sentence(answer, words) if leads else "",
        "flips": answer_tables.flip_rows(answer, words),
        "rents": answer_tables.rent_rows(options, words),
        "rent_sentence": answer_tables.rent_sentence([chosen[1]] if chosen else [], words),
        "drawings": drawings(options, words, links) if options else [],
        "assumptions": answer_tables.assumption_rows(answer, words),
        "advice": [*map(words.say, answer.advice)],
        "words": words,
        "price_words": lambda price: answer_tables.price_words(price, words),
        "plan_words": plan_words,
        "sorted": sorted_by,
    }


def no_host(asked: Asked, budget: float | None) -> dict[str, str] | None:
    """A budget that the host alone uses up, and the same question for cards that go into a host at hand."""
    share = asked.answer.question.economics.host_cny_per_gpu if asked.answer else 0.0
    if budget is None or share is None or budget > share or not share:
        return None
    query = changed_query(asked.state, {"economics.host_cny_per_gpu": 0}, asked.family)
    return {"share": asked.words.money.amount(share), "url": f"/?{query}"}


def _pairs(asked: Asked) -> list[tuple[str, str]]:
    from urllib.parse import parse_qsl

    return parse_qsl(asked.query, keep_blank_values=True)


def apply_url(item: Rejected, asked: Asked) -> str:
    """The question with a rejected card's remedy put in, where the form can say it."""
    remedy = item.remedy
    if not remedy or not remedy.change or None in remedy.change.values():
        return ""
    query = changed_query(asked.state, plain(remedy.change), asked.family)
    return "" if query is None else f"/?{query}"


def title_of(asked: Asked, answer: ShortlistAnswer) -> str:
    """The title of the tab: the question and its answer."""
    title, chosen = question_words(asked)["asked_title"], chosen_of(answer)
    return f"{title}: {chosen[1].label}" if chosen else title


def said_of(asked: Asked, answer: ShortlistAnswer) -> str:
    """What a screen reader says after an update: the answer in one sentence."""
    found = recommendation_of(answer)
    return asked.words.say(found.text) if found else asked.page._("No card passes this question.")
