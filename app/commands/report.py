"""Answers for a terminal: aligned tables, figures as on the pages."""

from __future__ import annotations

from collections.abc import Callable

from app.commands.output import table
from app.core.answer import plain
from app.core.decide.options import Option
from app.core.decide.recommendation import option_name
from app.core.estimates import MemoryEstimate, Message
from app.services.results import FitAnswer, MemoryAnswer, ShortlistAnswer, SpeedAnswer, Versions
from app.texts import figures
from app.texts.language import translations
from app.texts.say import in_dollars, say_message, term

Gettext = Callable[[str], str]

SHOWN_REJECTED = 8
NO_DATA = "–"


def _words(language: str) -> Gettext:
    """Head words of the tables."""
    return translations(language).gettext


def memory(answer: MemoryAnswer, language: str) -> list[str]:
    """Need per card and its parts."""
    _ = _words(language)
    return [*_need(answer.memory, language), "", *_parts(answer.memory, language), *_notes(answer, language)]


def fit(answer: FitAnswer, language: str) -> list[str]:
    """Verdict first, then the need, then the remedies."""
    _ = _words(language)
    found = answer.fit
    lines = [
        f"{answer.label}: {verdict(found.verdict, _)}",
        f"{_('usable')}  {figures.format_gib(found.usable_gib, language)}   "
        f"{_('margin')}  {figures.format_gib(found.margin_gib, language)}",
    ]
    if found.max_batch_size is not None:
        lines.append(f"{_('largest batch')}  {figures.format_number(found.max_batch_size, 0, language)}")
    if found.max_sequence_length is not None:
        length = figures.format_number(found.max_sequence_length, 0, language)
        lines.append(f"{_('longest sequence')}  {length}")
    lines += ["", *_need(answer.memory, language), "", *_parts(answer.memory, language)]
    if answer.remedies:
        lines += ["", _("What would make it fit")]
        lines += [f"  {say_message(remedy.text, language)}" for remedy in answer.remedies]
    return [*lines, *_notes(answer, language)]


def speed(answer: SpeedAnswer, language: str) -> list[str]:
    """Throughput with its interval, bound and basis."""
    _ = _words(language)
    found = answer.speed
    low, expected, high = found.spread
    interval = figures.format_range(low, high, _digits(low), "", language)
    return [
        f"{answer.label}: {figures.format_speed(expected, found.unit, language)} ({interval})",
        f"{_('basis')}  {term('basis', found.basis, language)}   "
        f"{_('bound by')}  {term('bound', found.bound, language)}   "
        f"{_('phase')}  {term('phase', found.phase, language)}",
        *_notes(answer, language),
    ]


def shortlist(answer: ShortlistAnswer, language: str) -> list[str]:
    """The ranked table with a reason under each option, then the cards that are not on it."""
    _ = _words(language)
    rate = answer.rate.rate if answer.rate else None

    def said(message: Message) -> str:
        return say_message(in_dollars(message, rate, language) if rate else message, language)

    lines = _recommended(answer, said, _)
    if answer.options:
        head = [
            "#",
            _("option"),
            _("fit"),
            _("GiB per card"),
            _("speed"),
            _("price"),
            _("total cost"),
            _("per unit"),
        ]
        rows = [head, *[_option(option, answer, language, _) for option in answer.options]]
        aligned = table(rows, left=frozenset({1, 2}))
        lines += aligned[:2]
        for option, line in zip(answer.options, aligned[2:], strict=True):
            lines.append(line)
            lines += [f"    {said(message)}" for message in option.reasons[:1]]
        if any(option.price.stale for option in answer.options):
            days = answer.question.price_rules.max_age_days
            lines += ["", "* " + _("price observed more than {days} days ago").format(days=days)]
    else:
        lines.append(_("Nothing passes the filters."))
    if answer.rejected:
        lines += ["", f"{_('Not on the list')}: {len(answer.rejected)}"]
        for rejected in answer.rejected[:SHOWN_REJECTED]:
            lines.append(f"  {rejected.label}: {said(rejected.text)}")
    if answer.advice:
        lines += ["", *map(said, answer.advice)]
    return [*lines, "", f"{_('prices as of')} {answer.as_of}   {_versions(answer.versions, _)}"]


def _recommended(answer: ShortlistAnswer, said: Callable[[Message], str], _: Gettext) -> list[str]:
    """What to do, why, what to mind, and which quotes to ask for."""
    found = answer.recommendation
    if found is None:
        return []
    lines = [said(found.text), *(f"  {said(message)}" for message in found.because)]
    lines += [f"  ! {said(message)}" for message in found.caveats]
    if answer.inquire:
        lines += ["", _("Ask for quotes"), *(f"  {said(item.text)}" for item in answer.inquire)]
    return [*lines, ""]


def quote_list(answer: ShortlistAnswer, language: str) -> list[str]:
    """Which quotes to ask for, as text to send to a supplier."""
    if not answer.inquire:
        return [say_message(Message("quote_list_empty"), language)]
    lines = [say_message(Message("quote_list_head"), language), ""]
    for number, item in enumerate(answer.inquire, 1):
        name = option_name(item.count, item.gpu.name, item.condition)
        code = "quote_list_item" if item.observed.per == "card" else "quote_list_server"
        lines.append(f"{number}. {say_message(Message(code, {'option': name}), language)}")
    return [*lines, "", say_message(Message("quote_list_foot"), language)]


def _option(option: Option, answer: ShortlistAnswer, language: str, _: Gettext) -> list[str]:
    price, cost = option.price, option.cost
    per = cost.per_unit
    amounts = (price.amount_cny, cost.total_cny, per.amount_cny if per else None)
    rate = answer.rate.rate if answer.rate else None
    currency = "USD" if rate else "CNY"
    card, total, unit = (None if a is None else a / rate if rate else a for a in amounts)
    per_unit = NO_DATA
    if unit is not None and per is not None:
        per_unit = f"{figures.format_unit_cost(unit, currency, language)} / " + term(
            "unit", per.unit, language
        )
    name = f"{option.label} ({term('condition', option.condition, language)})"
    age = " *" if price.stale else ""
    return [
        str(option.rank),
        name,
        verdict(option.fit.verdict, _),
        f"{figures.format_number(option.memory.per_gpu_gib.spread[1], 1, language)} / "
        f"{figures.format_number(option.fit.usable_gib, 1, language)}",
        figures.format_speed(option.speed.spread[1], option.speed.unit, language),
        figures.format_money(card or 0.0, currency, language) + age,
        figures.format_money(total or 0.0, currency, language),
        per_unit,
    ]


def verdict(value: str, _: Gettext) -> str:
    """The word of a verdict with its sign."""
    return {
        "fits": f"● {_('fits')}",
        "tight": f"◐ {_('tight')}",
        "does_not_fit": f"○ {_('does not fit')}",
    }[value]


def _need(found: MemoryEstimate, language: str) -> list[str]:
    _ = _words(language)
    low, expected, high = found.per_gpu_gib.spread
    interval = figures.format_range(low, high, 1, "", language)
    return [f"{_('needed per card')}  {figures.format_gib(expected, language)} ({interval})"]


def _parts(found: MemoryEstimate, language: str) -> list[str]:
    _ = _words(language)
    rows = [[_("part"), "GiB", _("basis")]]
    rows += [
        [
            term("part", part.part, language),
            figures.format_number(float(part.gib), 2, language),
            term("basis", part.basis, language),
        ]
        for part in found.parts
        if part.gib
    ]
    return table(rows, left=frozenset({0, 2}))


def _notes(answer: MemoryAnswer | FitAnswer | SpeedAnswer, language: str) -> list[str]:
    _ = _words(language)
    lines = ["", _("Assumed")] if answer.assumptions else []
    for note in answer.assumptions:
        lines.append(f"  {note.field} = {plain(note.value)}: {say_message(note.why, language)}")
    lines += [f"  ! {say_message(warning, language)}" for warning in answer.warnings]
    return [*lines, "", _versions(answer.versions, _)]


def _versions(versions: Versions, _: Gettext) -> str:
    return f"{_('engine')} {versions.engine}   {_('catalogue')} {versions.catalog}"


def _digits(value: float) -> int:
    return 0 if value >= 10 else 1 if value >= 1 else 2
