"""What the templates show of an answer: its sentences and rows, nothing computed anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from markupsafe import Markup

from app.catalog.snapshot import Snapshot
from app.charts.memory_groups import memory_groups
from app.core.decide.options import Option, Rent
from app.core.estimates import Message
from app.core.gpu import PriceChoice, short_card_name
from app.core.workload import Parallelism
from app.services.cards import governing
from app.services.results import QuestionAsked, ShortlistAnswer
from app.texts.figures import NBSP
from app.texts.say import in_dollars, say_label, say_message
from app.texts.words import OPTIMIZER_NAMES, precision_name, proper_name
from app.web.formatting import Formats, share
from app.web.links import QuestionLinks
from app.web.money import Money
from app.web.wording import availability_sentence, plan_words, short_names, split_condition

Gettext = Callable[[str], str]
SAME_CNY = 0.5
"""Amounts that are shown in whole yuan look the same below this difference."""
LEVEL = 1e-6
"""Relative distance of a break-even from the present value at which two options are level now."""


@dataclass(frozen=True, slots=True)
class Words:
    """The reader's language: texts, figures, money."""

    gettext: Gettext
    formats: Formats
    money: Money
    snapshot: Snapshot

    def say(self, message: Message) -> str:
        """The sentence of a message, cards named as the tables name them, money in the reader's currency."""
        if self.money.currency == "USD":
            message = in_dollars(message, self.money.cny_per_unit, self.formats.language)
        return short_names(say_message(message, self.formats.language), self.snapshot)

    def label(self, text: str) -> str:
        """The label of an option, its condition in the reader's language."""
        return short_names(say_label(text, self.formats.language), self.snapshot)


@dataclass(frozen=True, slots=True)
class Row:
    """One option of the ranked table."""

    option: Option
    index: int
    sub: str
    say: str
    distance: str
    pinned: bool
    opened: bool
    pin_url: str
    open_url: str
    panel_url: str


def used_gib(question: QuestionAsked) -> float:
    """What is already taken on the card, as the question says."""
    return float(question.workload.get("used_gib") or 0.0)


def trains(question: QuestionAsked) -> bool:
    """Whether the question is about training."""
    return bool(question.workload.get("task", "inference") != "inference")


def price_words(price: PriceChoice, words: Words) -> str:
    """What kind of price it is, as short as the table needs."""
    _ = words.gettext
    if price.kind == "override":
        return _("yours")
    if price.kind in ("quote", "launch"):
        return words.formats.label(price.kind, "channel_kind")
    if price.per != "card":
        return _("8-card server")
    return words.formats.label(price.channel_kind or "observation", "channel_kind")


def card_words(option: Option, words: Words) -> str:
    """The card of an option without its count; another condition than new is named."""
    name = short_card_name(option.gpu.name)
    if option.condition == "new":
        return name
    condition = words.formats.label(option.condition, "condition")
    return words.gettext("%(card)s (%(condition)s)") % {"card": name, "condition": condition}


def distance_from_first(option: Option, first: Option, objective: str, words: Words) -> str:
    """How far an option lies behind the first, in the measure of the objective."""
    _, money, formats = words.gettext, words.money, words.formats
    if option is first:
        return ""
    if objective == "speed":
        change = option.speed.spread[1] / first.speed.spread[1] - 1
        return _("%(change)s in speed") % {"change": formats.signed_percent(change)}
    if objective == "tflops_per_yuan":
        mine = option.metrics.sustained_tflops_per_1000_cny
        best = first.metrics.sustained_tflops_per_1000_cny
        if mine and best:
            return _("%(change)s in TFLOPS per yuan") % {"change": formats.signed_percent(mine / best - 1)}
    more = option.cost.total_cny - first.cost.total_cny
    if objective == "purchase":
        more = option.cost.purchase_cny - first.cost.purchase_cny
    if abs(more) < SAME_CNY:
        return _("same as first")
    if more >= 0:
        return _("%(amount)s above first") % {"amount": money.amount(more)}
    return _("%(amount)s below first") % {"amount": money.amount(-more)}


def pin_of(option: Option) -> str:
    """What an address says of a pinned option; a card alone means its best."""
    return f"{option.gpu.id}~{option.condition}~{option.count}"


def ranking_rows(
    answer: ShortlistAnswer, words: Words, links: QuestionLinks, *, pin: str, opened: int, objective: str
) -> list[Row]:
    """Rows in the order shown: a pinned card stands directly under the first and keeps its rank."""
    options = answer.options
    order = list(range(len(options)))
    pinned = [i for i in order[1:] if pin and pin in (options[i].gpu.id, pin_of(options[i]))]
    order = order[:1] + pinned[:1] + [i for i in order[1:] if i not in pinned[:1]]
    rows = []
    for index in order:
        option = options[index]
        is_pinned = index in pinned[:1]
        is_open = option.rank == opened
        sub = [words.formats.label(option.condition, "condition")]
        if shorthand := plan_words(option.plan):
            sub.append(shorthand)
        keep_pin = pin if pinned else ""
        rows.append(
            Row(
                option,
                index,
                " · ".join(sub),
                sentence(option, answer, words),
                distance_from_first(option, options[0], objective, words),
                is_pinned,
                is_open,
                links.page(pin="" if is_pinned else pin_of(option)) + "#ranking",
                links.page(pin=keep_pin, open="" if is_open else option.rank) + f"#o{option.rank}",
                links.panel(option.rank),
            )
        )
    return rows


# Said elsewhere in the row: by the verdict, or by the tag at the price.
_SHOWN_FLAGS = frozenset({"tight", "price_stale"})


def join_sentences(texts: Sequence[str]) -> str:
    """Sentences one after another; after a full-width stop stands no space."""
    return " ".join(texts).replace("\u3002 ", "\u3002")


def sentence(option: Option, answer: ShortlistAnswer, words: Words) -> str:
    """Why an option stands where it does, and what to mind about it."""
    flags = [
        flag_words(flag, option, answer, words) for flag in option.flags if flag.code not in _SHOWN_FLAGS
    ]
    return join_sentences([*map(words.say, option.reasons), *flags])


def flag_words(flag: Message, option: Option, answer: ShortlistAnswer, words: Words) -> str:
    """What to mind about an option; a rule of sale in the reader's words."""
    _, snapshot = words.gettext, words.snapshot
    if flag.code == "availability_remark":
        region = answer.question.price_rules.region or "CN"
        remark = governing(snapshot, option.gpu.id, region, date.fromisoformat(answer.as_of))
        rule = remark and availability_sentence(
            remark.status, remark.region, lambda code: words.formats.label(code, "region"), _
        )
        if remark and rule:
            text = _("%(rule)s Since %(date)s.") % {"rule": rule, "date": remark.from_on}
            return short_names(text, snapshot)
    return words.say(flag)


def flip_rows(answer: ShortlistAnswer, words: Words) -> list[dict[str, str]]:
    """Break-evens of the first option, one row for each condition."""
    _, formats = words.gettext, words.formats
    robustness = answer.options[0].robustness if answer.options else None
    if not robustness:
        return []
    rows = []
    for flip in robustness.flips:
        distance = flip.distance
        at = flip.at
        up = at is not None and flip.now is not None and at > flip.now
        winner, condition = split_condition(words.label(flip.winner))
        pattern = _("above %(value)s") if up else _("below %(value)s")
        if distance is not None and abs(distance) < LEVEL:
            pattern = _("level at %(value)s")
        rows.append(
            {
                "label": formats.label(flip.factor, "flip"),
                "now": flip_value(flip.factor, flip.now, words),
                "position": "" if distance is None else share(50 + 50 * max(-1.0, min(1.0, distance)), 100),
                "distance": "\u2014" if distance is None else formats.signed_percent(distance),
                "at": _("no value changes the order")
                if at is None
                else pattern % {"value": flip_value(flip.factor, at, words)},
                "winner": winner or _("unchanged"),
                "condition": condition,
            }
        )
    return rows


def flip_value(factor: str, value: float | None, words: Words) -> str:
    """A condition's value with its unit."""
    _, formats = words.gettext, words.formats
    if value is None:
        return "\u2014"
    if factor in ("price", "rival_price"):
        return words.money.amount(value)
    if factor == "utilisation":
        return formats.percent(value)
    if factor == "electricity":
        return f"{words.money.amount(value, 2)}/kWh"
    if factor == "months":
        return _("%(count)s months") % {"count": formats.plain_number(value)}
    if factor == "context":
        return _("%(count)s tokens") % {"count": formats.number(value)}
    return formats.plain_number(value)


def flip_sentence(answer: ShortlistAnswer, words: Words) -> str:
    """The nearest condition that turns the order, in one sentence."""
    _ = words.gettext
    robustness = answer.options[0].robustness
    flips = [
        (abs(f.distance), f.at, f)
        for f in (robustness.flips if robustness else ())
        if f.at is not None and f.distance is not None
    ]
    if not flips:
        return ""
    away, at, nearest = min(flips, key=lambda item: item[0])
    value = flip_value(nearest.factor, at, words)
    up = at > nearest.now
    what = words.formats.label(nearest.factor, "flip")
    what = what[:1].lower() + what[1:]
    if away < LEVEL:
        return _("Two options are level: any change of %(what)s may change the order.") % {"what": what}
    pattern = (
        _("Nearest flip, %(what)s: above %(value)s another option is first.")
        if up
        else _("Nearest flip, %(what)s: below %(value)s another option is first.")
    )
    return pattern % {"value": value, "what": what}


def second_best(answer: ShortlistAnswer, objective: str, words: Words) -> dict[str, Any] | None:
    """The runner-up and its distance."""
    # The first option's own reason may already name the runner-up.
    named = (
        any(code.startswith("first_") for code in answer.options[0].reason_codes) if answer.options else True
    )
    if len(answer.options) < 2 or named:
        return None
    second = answer.options[1]
    return {
        "label_html": Markup("<b>{}</b>").format(
            f"{second.count}{NBSP}\u00d7{NBSP}{card_words(second, words)}"
        ),
        "distance": distance_from_first(second, answer.options[0], objective, words),
    }


def scale_of_options(options: Sequence[Option]) -> float:
    """GiB at the right end of every fit bar: one scale for all rows, so a short trough is a small card."""
    values = [max(o.fit.usable_gib, o.memory.per_gpu_gib.spread[2]) for o in options]
    return max(values, default=1.0) * 1.02


def groups_of(options: Sequence[Option], training: bool, words: Words) -> list[Any]:
    """The drawn groups of memory parts of each option."""
    return [memory_groups(option.memory, training, words.gettext) for option in options]


def assumption_rows(answer: ShortlistAnswer, words: Words) -> list[dict[str, str]]:
    """Every default that was used."""
    rows = []
    for item in answer.assumptions:
        name = item.field.rsplit("/", 1)[-1].rsplit(".", 1)[-1]
        rows.append(
            {
                "label": words.formats.label(name, "assumed_field").replace("_", " "),
                "value": assumed_value(name, item.value, words),
                "why": say_message(item.why, words.formats.language),
            }
        )
    return rows


_VALUE_KINDS = {
    "conditions": "condition",
    "condition": "condition",
    "objective": "objective",
    "task": "task",
    "load": "load",
    "software": "software",
    "region": "region",
    "availability": "availability_rule",
    "lora_targets": "lora_targets",
    "logits": "logits",
    "padding": "padding",
    "recipe": "recipe",
    "tax": "tax",
}
"""What kind of word the value of an assumption is."""


def assumed_value(name: str, value: Any, words: Words) -> str:
    """A default's value as a reader writes it."""
    _, formats = words.gettext, words.formats
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list | tuple):
        numbers = all(isinstance(v, int | float) for v in value)
        comma = ", " if numbers or formats.language == "en" else "\u3001"
        between = " \u00d7 " if name == "image_size" else comma
        return between.join(assumed_value(name, v, words) for v in value)
    if isinstance(value, Mapping):
        return plan_words(Parallelism(**value)) or _("one card")
    if value is None or value == "":
        return "\u2014"
    if isinstance(value, str):
        return _assumed_word(name, value, formats)
    return _assumed_number(name, value, words)


def _assumed_word(name: str, value: str, formats: Formats) -> str:
    if name in ("kv_precision", "precision"):
        return precision_name(value)
    if name == "engine":
        return proper_name(value)
    if name == "optimizer":
        return OPTIMIZER_NAMES.get(value, value)
    kind = "assumed_field" if name == "engine_name" else _VALUE_KINDS.get(name)
    return formats.label(value, kind) if kind else value


def _assumed_number(name: str, value: float, words: Words) -> str:
    formats = words.formats
    if name in ("utilisation", "residual", "memory_fraction"):
        return formats.percent(value)
    if name == "host_cny_per_gpu":
        return words.money.amount(value)
    if name == "electricity_cny_per_kwh":
        return f"\u00a5{formats.number(value, 2)}/kWh"
    if name == "months":
        return words.gettext("%(count)s months") % {"count": formats.plain_number(value)}
    return formats.plain_number(value)


RENT_ROWS = 5


@dataclass(frozen=True, slots=True)
class RentRow:
    """One option, rented."""

    option: Option
    rent: Rent
    index: int
    pays: str
    """When buying pays off, in words."""


def rent_rows(options: Sequence[Option], words: Words) -> list[RentRow]:
    """The first options whose cards are let, in their order."""
    rows = [
        RentRow(option, option.rental, index, pays_off(option.rental, option.cost.months, words))
        for index, option in enumerate(options)
        if option.rental
    ]
    return rows[:RENT_ROWS]


def pays_off(rent: Rent, months: float, words: Words) -> str:
    """From which month buying is cheaper."""
    _, f = words.gettext, words.formats
    month = rent.break_even_month
    if month is None:
        return _("never: the rent is below the electricity")
    if month > months:
        return _("not within %(months)s months") % {"months": f.plain_number(months)}
    return _("from month %(month)s") % {"month": f.number(month)}


def rent_sentence(options: Sequence[Option], words: Words) -> str:
    """Rent of the first option's cards and when buying pays off; empty where nobody lets them."""
    _, f, money = words.gettext, words.formats, words.money
    rental = options[0].rental if options else None
    if not rental:
        return ""
    named = {
        "monthly": money.amount(rental.monthly_cny),
        "months": f.plain_number(options[0].cost.months),
    }
    month = rental.break_even_month
    if month is None or month > options[0].cost.months:
        return (
            _("Rented, the same cards cost %(monthly)s a month: over %(months)s months renting is cheaper.")
            % named
        )
    return _("Rented, the same cards cost %(monthly)s a month: buying pays off from month %(month)s.") % {
        **named,
        "month": f.number(month),
    }
