"""compare: freezing a decision, showing it again, and what has changed since."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from sqlalchemy import Engine

from app.commands import question, report
from app.commands.database import read_settings, trouble
from app.commands.output import EXIT_INPUT, CommandFailure, language_of, table, write, write_json
from app.commands.refusals import refusals
from app.services import comparisons, maintenance
from app.services.answers import as_json, with_currency
from app.services.comparisons import NoSuchComparison
from app.services.results import (
    ChangesAnswer,
    Created,
    FrozenAnswer,
    OptionChange,
    OptionNamed,
    PriceChange,
)
from app.services.store import CatalogStore
from app.texts import figures
from app.texts.language import translations
from app.texts.say import say_message, term

Gettext = Callable[[str], str]


def add_commands(commands: Any) -> None:
    """Register the command."""
    text = "freeze a decision, show a frozen one, or say what has changed since"
    parser = commands.add_parser("compare", help=text, description=text)
    frozen = parser.add_mutually_exclusive_group()
    frozen.add_argument("--show", metavar="ID", help="a frozen comparison as it was computed")
    frozen.add_argument("--changes", metavar="ID", help="the same question asked again today (or --as-of)")
    parser.add_argument("--title", help="title of the comparison")
    question.add_workload(parser)
    question.add_shortlist(parser)
    parser.add_argument("--json", action="store_true", help="print the body that the API answers")
    parser.add_argument("--lang", choices=("zh", "en"), help="language of the texts")
    parser.add_argument("--currency", choices=("CNY", "USD"), default="CNY", help="USD beside the yuan")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    language = language_of(options.lang)
    with trouble(), maintenance.open_database(read_settings().database_url) as engine, refusals(language):
        answer, lines = _answer(options, engine, language)
    if options.json:
        write_json(as_json(answer, language))
    else:
        for line in lines:
            write(line)


def _answer(options: argparse.Namespace, engine: Engine, language: str) -> tuple[Any, list[str]]:
    """The answer of the API, and the same as lines for a terminal."""
    snapshot = CatalogStore(engine).snapshot()
    today = datetime.now(UTC).date()
    if not (options.show or options.changes):
        body = question.body_of(options)
        if options.title:
            body["title"] = options.title
        made = comparisons.freeze(engine, snapshot, body, today)
        return made, _created(made, language)
    try:
        frozen = comparisons.open_comparison(engine, options.show or options.changes)
    except NoSuchComparison as missing:
        raise CommandFailure(f"there is no comparison {missing}", EXIT_INPUT) from missing
    if options.show:
        found = comparisons.show(frozen)
        day = date.fromisoformat(found.as_of)
        shown = replace(found, result=with_currency(found.result, options.currency, snapshot, day))
        return shown, _shown(shown, language)
    day = _day(options.as_of) or today
    moved = with_currency(comparisons.changes(frozen, snapshot, day), options.currency, snapshot, day)
    return moved, _moved(moved, language)


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise CommandFailure(f"--as-of {text}: give a day, such as 2026-11-30", EXIT_INPUT) from None


def _words(language: str) -> Gettext:
    return translations(language).gettext


def _created(answer: Created, language: str) -> list[str]:
    _ = _words(language)
    return [
        f"{_('comparison')}  {answer.id}",
        f"{_('page')}  {answer.url}",
        f"{_('manage token')}  {answer.manage_token}   {_('shown once; it deletes the comparison')}",
    ]


def _shown(answer: FrozenAnswer, language: str) -> list[str]:
    _ = _words(language)
    head = [answer.title] if answer.title else []
    head.append(f"{_('frozen on')} {answer.created_at[:10]}   {_('page')} {answer.url}")
    return [*head, "", *report.shortlist(answer.result, language)]


def _moved(answer: ChangesAnswer, language: str) -> list[str]:
    """The verdict first, then prices, ranks and costs, then who came and went."""
    _ = _words(language)
    then, now = answer.then, answer.now
    lines = [f"{then.as_of} ({then.catalog}) → {now.as_of} ({now.catalog})"]
    if answer.cannot_repeat:
        return [
            *lines,
            _("The question cannot be asked again:"),
            *(say_message(message, language) for message in answer.cannot_repeat),
        ]
    if answer.first_changed:
        lines.append(_("Another option is first now."))
    elif answer.order_changed:
        lines.append(_("The first stays first; the order below it is another one."))
    else:
        lines.append(_("The order is the same."))
    if answer.prices:
        lines += ["", _("Prices that moved")]
        lines += [f"  {_name(p, language)}: {_price(p, language)}" for p in answer.prices]
    if answer.options:
        rows = [[_("option"), "#", _("total cost")]]
        rows += [
            [_name(o, language), _pair(o.rank.then, o.rank.now, str), _total(o, language)]
            for o in answer.options
        ]
        lines += ["", *table(rows)]
    for named, said in ((answer.entered, _("New on the list")), (answer.left, _("No longer on the list"))):
        if named:
            lines += ["", said, *(f"  {_name(option, language)}" for option in named)]
    return lines


def _name(option: OptionNamed | PriceChange | OptionChange, language: str) -> str:
    return f"{option.label} ({term('condition', option.condition, language)})"


def _price(change: PriceChange, language: str) -> str:
    """Old and new amount, and what else makes it another price: its day, its age."""
    then, now = change.then, change.now
    amounts = _pair(then.amount_cny, now.amount_cny, partial(_yuan, language))
    notes = [figures.format_percent(change.change_fraction, language)] if change.change_fraction else []
    if then.observed_on != now.observed_on:
        notes.append(f"{then.observed_on} → {now.observed_on}")
    if now.stale and not then.stale:
        notes.append(translations(language).gettext("now stale"))
    return amounts + (f" ({'; '.join(notes)})" if notes else "")


def _total(option: OptionChange, language: str) -> str:
    return _pair(option.total_cny.then, option.total_cny.now, partial(_yuan, language))


def _pair(then: Any, now: Any, show: Callable[[Any], str]) -> str:
    """What it was and what it is; once where that is the same."""
    before, after = show(then), show(now)
    return after if before == after else f"{before} → {after}"


def _yuan(language: str, amount: float | None) -> str:
    return report.NO_DATA if amount is None else figures.format_money(amount, "CNY", language)
