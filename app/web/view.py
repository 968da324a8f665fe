"""What the templates show of an answer: sentences and rows made from the payload, nothing computed anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from app.charts.memory_groups import memory_groups
from app.texts.figures import NBSP
from app.texts.words import OPTIMIZER_NAMES, precision_name, proper_name
from app.web.formatting import Formats, share
from app.web.links import QuestionLinks
from app.web.money import Money
from app.web.wording import split_condition

Payload = Mapping[str, Any]
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


@dataclass(frozen=True, slots=True)
class Row:
    """One option of the ranked table."""

    option: Payload
    index: int
    sub: str
    say: str
    distance: str
    pinned: bool
    opened: bool
    pin_url: str
    open_url: str
    panel_url: str


def used_gib(question: Payload) -> float:
    """What is already taken on the card, as the question says."""
    return float(question.get("workload", {}).get("used_gib") or 0.0)


def plan_words(plan: Payload) -> str:
    """A parallel plan in the field's shorthand: TP 2 × DP 4, ZeRO 3."""
    parts = [
        f"{word}{NBSP}{plan[name]}"
        for name, word in (("tensor", "TP"), ("pipeline", "PP"), ("data", "DP"), ("expert", "EP"))
        if plan.get(name, 1) > 1
    ]
    if plan.get("zero_stage"):
        parts.append(f"ZeRO{NBSP}{plan['zero_stage']}")
    return " · ".join(parts)


def price_words(price: Payload, words: Words) -> str:
    """What kind of price it is, as short as the table needs."""
    _ = words.gettext
    if price["kind"] == "override":
        return _("yours")
    if price["kind"] in ("quote", "launch"):
        return words.formats.label(price["kind"], "channel_kind")
    if price["per"] != "card":
        return _("8-card server")
    return words.formats.label(price["channel_kind"] or "observation", "channel_kind")


def dress(options: Sequence[dict[str, Any]], words: Words) -> None:
    """Add to each option the words that several templates show."""
    for option in options:
        condition = words.formats.label(option["condition"], "condition")
        name = option["label"].split("\u00d7", 1)[-1].strip()
        option["card"] = (
            name
            if option["condition"] == "new"
            else words.gettext("%(card)s (%(condition)s)") % {"card": name, "condition": condition}
        )
        option["plan_words"] = plan_words(option["plan"])
        option["price_words"] = price_words(option["price"], words)


def distance_from_first(option: Payload, first: Payload, objective: str, words: Words) -> str:
    """How far an option lies behind the first, in the measure of the objective."""
    _, money, formats = words.gettext, words.money, words.formats
    if option is first:
        return ""
    if objective == "speed" and first["speed"]["expected"] and option["speed"]["expected"]:
        change = option["speed"]["expected"] / first["speed"]["expected"] - 1
        return _("%(change)s in speed") % {"change": formats.signed_percent(change)}
    if objective == "tflops_per_yuan":
        mine = option["metrics"]["sustained_tflops_per_1000_cny"]
        best = first["metrics"]["sustained_tflops_per_1000_cny"]
        if mine and best:
            return _("%(change)s in TFLOPS per yuan") % {"change": formats.signed_percent(mine / best - 1)}
    key = "purchase_cny" if objective == "purchase" else "total_cny"
    more = option["cost"][key] - first["cost"][key]
    if abs(more) < SAME_CNY:
        return _("same as first")
    if more >= 0:
        return _("%(amount)s above first") % {"amount": money.amount(more)}
    return _("%(amount)s below first") % {"amount": money.amount(-more)}


def ranking_rows(
    answer: Payload, words: Words, links: QuestionLinks, *, pin: str, opened: int, objective: str
) -> list[Row]:
    """Rows in the order shown: a pinned card stands directly under the first and keeps its rank."""
    options = answer["options"]
    order = list(range(len(options)))
    pinned = [i for i in order[1:] if pin and options[i]["gpu"]["id"] == pin]
    order = order[:1] + pinned[:1] + [i for i in order[1:] if i not in pinned[:1]]
    rows = []
    for index in order:
        option = options[index]
        is_pinned = index in pinned[:1]
        is_open = option["rank"] == opened
        sub = [words.formats.label(option["condition"], "condition")]
        if option["plan_words"]:
            sub.append(option["plan_words"])
        keep_pin = pin if pinned else ""
        rows.append(
            Row(
                option,
                index,
                " · ".join(sub),
                sentence(option),
                distance_from_first(option, options[0], objective, words),
                is_pinned,
                is_open,
                links.page(pin="" if is_pinned else option["gpu"]["id"]) + "#ranking",
                links.page(pin=keep_pin, open="" if is_open else option["rank"]) + f"#o{option['rank']}",
                links.panel(option["rank"]),
            )
        )
    return rows


# Said elsewhere in the row: by the verdict, or by the tag at the price.
_SHOWN_FLAGS = frozenset({"tight", "price_stale"})


def join_sentences(texts: Sequence[str]) -> str:
    """Sentences one after another; after a full-width stop stands no space."""
    return " ".join(texts).replace("\u3002 ", "\u3002")


def sentence(option: Payload) -> str:
    """Why an option stands where it does, and what to mind about it."""
    flags = [flag["text"] for flag in option["flags"] if flag["code"] not in _SHOWN_FLAGS]
    return join_sentences([*option["reasons"], *flags])


def flip_rows(answer: Payload, words: Words) -> list[dict[str, str]]:
    """Break-evens of the first option, one row for each condition."""
    _, formats = words.gettext, words.formats
    robustness = answer["options"][0].get("robustness") if answer["options"] else None
    if not robustness:
        return []
    rows = []
    for flip in robustness["flips"]:
        distance = flip["distance"]
        at = flip["at"]
        up = at is not None and flip["now"] is not None and at > flip["now"]
        winner, condition = split_condition(flip["winner"] or "")
        pattern = _("above %(value)s") if up else _("below %(value)s")
        if distance is not None and abs(distance) < LEVEL:
            pattern = _("level at %(value)s")
        rows.append(
            {
                "label": formats.label(flip["factor"], "flip"),
                "now": flip_value(flip["factor"], flip["now"], words),
                "position": "" if distance is None else share(50 + 50 * max(-1.0, min(1.0, distance)), 100),
                "distance": "\u2014" if distance is None else formats.signed_percent(distance),
                "at": _("no value changes the order")
                if at is None
                else pattern % {"value": flip_value(flip["factor"], at, words)},
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


def flip_sentence(answer: Payload, words: Words) -> str:
    """The nearest condition that turns the order, in one sentence."""
    _ = words.gettext
    robustness = answer["options"][0].get("robustness")
    flips = [
        f for f in (robustness or {}).get("flips", ()) if f["at"] is not None and f["distance"] is not None
    ]
    if not flips:
        return ""
    nearest = min(flips, key=lambda f: abs(f["distance"]))
    value = flip_value(nearest["factor"], nearest["at"], words)
    up = nearest["at"] > nearest["now"]
    what = words.formats.label(nearest["factor"], "flip")
    what = what[:1].lower() + what[1:]
    if abs(nearest["distance"]) < LEVEL:
        return _("Two options are level: any change of %(what)s may change the order.") % {"what": what}
    pattern = (
        _("Nearest flip, %(what)s: above %(value)s another option is first.")
        if up
        else _("Nearest flip, %(what)s: below %(value)s another option is first.")
    )
    return pattern % {"value": value, "what": what}


def second_best(answer: Payload, objective: str, words: Words) -> dict[str, Any] | None:
    """The runner-up and its distance."""
    # The first option's own reason may already name the runner-up.
    named = (
        any(code.startswith("first_") for code in answer["options"][0].get("reason_codes", ()))
        if answer["options"]
        else True
    )
    if len(answer["options"]) < 2 or named:
        return None
    second = answer["options"][1]
    return {
        "label_html": Markup("<b>{}</b>").format(f"{second['count']}{NBSP}\u00d7{NBSP}{second['card']}"),
        "distance": distance_from_first(second, answer["options"][0], objective, words),
    }


def scale_of_options(options: Sequence[Payload]) -> float:
    """GiB at the right end of every fit bar: one scale for all rows, so a short trough is a small card."""
    values = [o["fit"]["usable_gib"] for o in options] + [o["memory"]["per_gpu_gib"]["high"] for o in options]
    return max(values, default=1.0) * 1.02


def groups_of(options: Sequence[Payload], trains: bool, words: Words) -> list[Any]:
    """The drawn groups of memory parts of each option."""
    return [memory_groups(option["memory"], trains, words.gettext) for option in options]


def assumption_rows(answer: Payload, words: Words) -> list[dict[str, str]]:
    """Every default that was used."""
    rows = []
    for item in answer["assumptions"]:
        name = item["field"].rsplit("/", 1)[-1].rsplit(".", 1)[-1]
        rows.append(
            {
                "label": words.formats.label(name, "assumed_field").replace("_", " "),
                "value": assumed_value(name, item["value"], words),
                "why": item["why"],
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
    if isinstance(value, list):
        numbers = all(isinstance(v, int | float) for v in value)
        comma = ", " if numbers or formats.language == "en" else "\u3001"
        between = " \u00d7 " if name == "image_size" else comma
        return between.join(assumed_value(name, v, words) for v in value)
    if isinstance(value, Mapping):
        return plan_words(value) or _("one card")
    if value is None or value == "":
        return "\u2014"
    if isinstance(value, str):
        if name in ("kv_precision", "precision"):
            return precision_name(value)
        if name == "engine":
            return proper_name(value)
        if name == "optimizer":
            return OPTIMIZER_NAMES.get(value, value)
        kind = _VALUE_KINDS.get(name)
        if kind:
            return formats.label(value, kind)
        return formats.label(value, "assumed_field") if name == "engine_name" else value
    if name in ("utilisation", "residual", "memory_fraction"):
        return formats.percent(value)
    if name == "host_cny_per_gpu":
        return words.money.amount(value) if value is not None else _("¥500 + 20\u00a0% of the card's price")
    if name == "electricity_cny_per_kwh":
        return f"\u00a5{formats.number(value, 2)}/kWh"
    if name == "months":
        return _("%(count)s months") % {"count": formats.plain_number(value)}
    return formats.plain_number(value)
