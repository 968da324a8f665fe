"""One option in full, one figure opened, and the whole answer as CSV and JSON."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from app.core.answer import plain
from app.core.decide.options import Option
from app.services.answers import encode
from app.services.results import ShortlistAnswer
from app.web import answer_tables
from app.web.answers import Asked, ask, open_page
from app.web.calculator import question_words
from app.web.card_page import card_of_page, explain_card
from app.web.explain import Explanation, explain_answer
from app.web.frozen import Frozen, open_comparison
from app.web.ranking import TableView
from app.web.render import is_fragment
from app.web.tables import csv_response
from app.web.wording import plan_words

router = APIRouter()


def answered(request: Request, with_formulas: bool = False) -> tuple[Asked | Frozen, ShortlistAnswer]:
    """The live answer of the address, or the frozen one it names; a question at fault is a 422."""
    if request.query_params.get("comparison"):
        frozen = open_comparison(request, request.query_params["comparison"])
        return frozen, frozen.answer
    asked = ask(request, with_formulas=with_formulas)
    if asked.answer is None:
        texts = [text for texts in asked.state.errors.values() for text in texts]
        raise HTTPException(422, " ".join(texts))
    return asked, asked.answer


@router.get("/option")
def option(request: Request) -> Response:
    """One option in full: three small tables."""
    asked, answer = answered(request)
    rank = request.query_params.get("rank", "")
    index = int(rank) - 1 if rank.isascii() and rank.isdigit() and len(rank) < 6 else -1
    if not 0 <= index < len(answer.options):
        raise HTTPException(404, asked.page._("There is no such option."))
    options = answer.options
    trains = answer_tables.trains(answer.question)
    chosen = options[index]
    return asked.page.render(
        "option_fragment.html" if is_fragment(request) else "option.html",
        "",
        o=chosen,
        p=f"options.{index}",
        at=asked.links,
        trains=trains,
        used=answer_tables.used_gib(answer.question),
        groups=answer_tables.groups_of([chosen], trains, asked.words)[0],
        columns=6 + len(getattr(asked, "view", TableView()).shown(options)),
        back=asked.links.page(open=rank),
        asked=question_words(asked)["asked"] if isinstance(asked, Asked) else "",
        say=answer_tables.sentence(chosen, answer, asked.words),
        words=asked.words,
        price_words=lambda price: answer_tables.price_words(price, asked.words),
        plan_words=plan_words,
    )


@router.get("/ranking.csv")
def ranking_csv(request: Request) -> Response:
    """The ranked options as a table of raw values."""
    _, answer = answered(request)
    heads = (
        "rank option condition plan verdict need_low_gib need_gib need_high_gib usable_gib speed_low speed "
        "speed_high speed_unit price_cny price_kind price_date purchase_cny total_cny per_hour_cny "
        "per_unit_cny "
        "per_unit precision peak_tflops peak_tflops_per_1000_cny"
    ).split()
    return csv_response("ranking", heads, (_csv_row(o) for o in answer.options))


def _csv_row(o: Option) -> list[Any]:
    per_unit = o.cost.per_unit
    cells = [
        o.rank,
        o.label,
        o.condition,
        plan_words(o.plan).replace("\u00a0", " "),
        o.fit.verdict,
        *o.memory.per_gpu_gib.spread,
        o.fit.usable_gib,
        *o.speed.spread,
        o.speed.unit,
        o.price.amount_cny,
        o.price.channel_kind or o.price.kind,
        o.price.observed_on,
        o.cost.purchase_cny,
        o.cost.total_cny,
        o.cost.per_hour_cny,
        per_unit.amount_cny if per_unit else None,
        per_unit.unit if per_unit else None,
        o.metrics.precision,
        o.metrics.peak_tflops,
        o.metrics.peak_tflops_per_1000_cny,
    ]
    return [plain(cell) for cell in cells]


@router.get("/result.json")
def result_json(request: Request) -> Response:
    """The answer behind the page as it is, for a script or a colleague."""
    asked, answer = answered(request)
    body = encode(answer.without_formulas(), asked.page.language)
    return Response(body, media_type="application/json", headers={"cache-control": "no-store"})


@router.get("/explain")
def explain(request: Request) -> Response:
    """One figure opened: a fragment for the popover, a page without JavaScript."""
    path = request.query_params.get("figure", "")[:200]
    name = request.query_params.get("gpu", "")
    found: Explanation | None
    if name:
        page, _snapshot, words = open_page(request)
        card = card_of_page(request, name)
        found = explain_card(card, path, words)
        back = f"/gpus/{card.id}"
    else:
        asked, answer = answered(request, with_formulas=True)
        page, words = asked.page, asked.words
        found = explain_answer(answer, path, words)
        back = asked.links.page()
    if found is None:
        raise HTTPException(404, page._("There is no such figure."))
    template = "explain_fragment.html" if is_fragment(request) else "explain.html"
    return page.render(template, "", figure=found, back=back)
