"""What the page says to do: the sentence with its figures linked, what to compare, quotes to ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup, escape

from app.core.decide.options import Option
from app.core.decide.recommendation import CONTENDERS_SHOWN, Contender, Inquiry, Recommendation, headline
from app.core.estimates import Message
from app.services.results import ShortlistAnswer
from app.web.answer_tables import Words, join_sentences

PHRASE = Markup('<span class="ph">{}</span>')
CLAUSES = re.compile("[^：；。]+[：；。]?")
OPEN, CLOSE = "\ue000", "\ue001"
"""Stand around the name of a figure until its link is put in."""


@dataclass(frozen=True, slots=True)
class ContenderRow:
    """One of the few options to compare."""

    item: Contender
    names: str
    url: str
    """Its row in the table; empty where the table is shorter."""


@dataclass(frozen=True, slots=True)
class InquiryRow:
    """One quote to ask for."""

    item: Inquiry
    band: str
    text: str
    below: str


def recommendation_of(answer: ShortlistAnswer) -> Recommendation | None:
    """What the answer says to do; of an old comparison, to buy what stood first."""
    if answer.recommendation is not None or not answer.options:
        return answer.recommendation
    first = answer.options[0]
    return Recommendation("buy", first.rank, headline(first), first.reasons, ())


def chosen_of(answer: ShortlistAnswer) -> tuple[int, Option] | None:
    """The option that is recommended and its place in the list; None where quotes come first."""
    found = recommendation_of(answer)
    rank = found.rank if found else None
    return next(((i, o) for i, o in enumerate(answer.options) if o.rank == rank), None)


def marked(message: Message, figures: Mapping[str, Any], words: Words) -> Markup:
    """The sentence of a message with figures put in as they are given, such as links."""
    names = {name: f"{OPEN}{name}{CLOSE}" for name in figures if name in message.params}
    said = words.say(replace(message, params={**message.params, **names}))
    # A Chinese line breaks anywhere: phrases of a large heading stay together.
    chinese = words.formats.language == "zh"
    text = Markup().join(map(PHRASE.format, CLAUSES.findall(said))) if chinese else escape(said)
    for name, mark in names.items():
        text = text.replace(mark, escape(figures[name]))
    return text


def recommended_values(answer: ShortlistAnswer, words: Words) -> dict[str, Any]:
    """What the templates show of the recommendation."""
    found = recommendation_of(answer)
    if found is None:
        return {"recommended": None, "chosen": None, "contenders": [], "quotes": []}
    chosen = chosen_of(answer)
    shown = {option.rank for option in answer.options}
    between = "、" if words.formats.language == "zh" else ", "
    return {
        "recommended": found,
        "chosen": chosen,
        "headline": lambda figures: marked(found.text, figures, words),
        "headline_text": words.say(found.text),
        "because": join_sentences([*map(words.say, found.because)]),
        "caveats": [*map(words.say, found.caveats)],
        "contenders": [
            ContenderRow(
                item,
                between.join(words.formats.label(n, "contender") for n in item.names if n != "least_outlay"),
                f"#o{item.rank}" if item.rank in shown else "",
            )
            for item in answer.contenders
            if item.shown
        ][:CONTENDERS_SHOWN],
        "quotes": [quote_row(item, words) for item in answer.inquire],
    }


def quote_row(item: Inquiry, words: Words) -> InquiryRow:
    """A quote to ask for in the reader's words."""
    money, _ = words.money, words.gettext
    band = f"{money.bare(item.estimate_cny.low)}–{money.bare(item.estimate_cny.high)}"
    limit = item.wins_below_cny
    below = _("at any price") if limit is None else money.bare(limit)
    return InquiryRow(item, band, words.say(item.text), below)
