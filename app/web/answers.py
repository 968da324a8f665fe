"""From a question in an address to the answer that a page shows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from starlette.requests import Request

from app.catalog.snapshot import Snapshot
from app.core.faults import FieldError, InputFault
from app.services.calculator import StalePrice, shortlist
from app.services.results import ShortlistAnswer
from app.texts.say import say_fault
from app.web.answer_tables import Words
from app.web.form import (
    BY_NAME,
    FormState,
    build_request,
    canonical_query,
    field_of,
    open_places,
    read_form,
)
from app.web.formatting import Formats
from app.web.links import QuestionLinks
from app.web.models import chinese_vendors, family_of, model_of
from app.web.ranking import FIRST_ROWS, TableView
from app.web.render import Page


def today() -> date:
    """The day prices are picked for when the question names none."""
    return datetime.now(UTC).date()


@dataclass(slots=True)
class Asked:
    """A question as the form put it, and its answer when it could be computed."""

    page: Page
    snapshot: Snapshot
    words: Words
    state: FormState
    family: str
    query: str
    body: dict[str, Any]
    links: QuestionLinks
    view: TableView = field(default_factory=TableView)
    answer: ShortlistAnswer | None = None
    faults: list[FieldError] = field(default_factory=list)


def snapshot_of(request: Request) -> Snapshot:
    """The catalogue as it is now."""
    snapshot: Snapshot = request.app.state.store.snapshot()
    return snapshot


def open_page(request: Request) -> tuple[Page, Snapshot, Words]:
    """The frame of a page with the catalogue's version and the exchange rate of the day."""
    page = Page(request)
    snapshot = snapshot_of(request)
    page.catalog = snapshot.version
    use = snapshot.rates.to_cny("USD", today())
    if use is not None:
        page.rate = {"cny": use.rate, "value": f"{use.rate:.4f}", "date": use.observed_on.isoformat()}
    return page, snapshot, Words(page._, Formats(page.language, page._), page.money, snapshot)


def is_card(snapshot: Snapshot, name: str) -> bool:
    """Whether the catalogue knows a card, or several, by a name."""
    try:
        snapshot.resolve_gpu(name)
    except InputFault as fault:
        return any(error.code == "ambiguous_name" for error in fault.errors)
    return True


def ask(request: Request, pairs: list[tuple[str, str]] | None = None, with_formulas: bool = False) -> Asked:
    """Read the question of an address (or of a posted form) and answer it.

    `with_formulas`: the options say how each of their figures was computed.
    """
    page, snapshot, words = open_page(request)
    state = read_form(request.query_params.multi_items() if pairs is None else pairs)
    family = family_of(state, snapshot)
    body, faults = build_request(
        state,
        family=family,
        model=model_of(state, snapshot),
        chinese_vendors=chinese_vendors(snapshot),
        is_card=partial(is_card, snapshot),
    )
    query = canonical_query(state, family=family)
    shown = TableView.read(request.query_params) if pairs is None else TableView()
    if shown.rows != FIRST_ROWS:
        body["limit"] = shown.rows
    links = QuestionLinks(shown.put(query))
    asked = Asked(page, snapshot, words, state, family, query, body, links, shown)
    if not faults:
        try:
            asked.answer = compute(body, snapshot, with_formulas, open_places(state, family))
        except InputFault as fault:
            faults = list(fault.errors)
    asked.faults = faults
    for error in faults:
        name = field_of(error.pointer)
        state.errors.setdefault(name, []).append(fault_text(error, name, page))
    return asked


def fault_text(error: FieldError, name: str, page: Page) -> str:
    """The sentence of a fault; the form's own faults have their texts here."""
    _ = page._
    own = {
        "not_json": _("This is not a JSON object. Paste the whole file, from { to }."),
        "not_a_price_line": _("Not read: %(value)s. Write a card and its price, such as rtx4090 = 14000."),
    }
    if error.code in own:
        text: str = own[error.code]
        return text % dict(error.params) if error.params else text
    field = BY_NAME.get(name)
    if field is not None and field.kind == "fraction" and error.code == "out_of_range":
        low, high = float(error.params["low"]) * 100, float(error.params["high"]) * 100
        return _("Between %(low)s and %(high)s %%.") % {"low": f"{low:g}", "high": f"{high:g}"}
    return say_fault(error, page.language)


def compute(
    body: dict[str, Any], snapshot: Snapshot, with_formulas: bool = False, assumed: Collection[str] = ()
) -> ShortlistAnswer:
    """The ranked answer of a request; `assumed`: places of the body that the form has filled."""
    try:
        return shortlist(body, snapshot, today(), with_formulas=with_formulas, assumed=assumed)
    except StalePrice as stale:
        raise InputFault.at(
            BY_NAME["refuse_stale"].pointer, stale.message.code, **stale.message.params
        ) from stale
