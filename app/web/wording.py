"""Words of an answer made fit for a reader: short card names, conditions apart, rules of sale."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from app.catalog.snapshot import Snapshot
from app.core.workload import Parallelism
from app.texts.figures import NBSP
from app.texts.marking import N_

Gettext = Callable[[str], str]
_CONDITION = re.compile("\\s*[(\uff08](?P<word>[^()\uff08\uff09]{1,20})[)\uff09]$")
_UNDER_ONE = re.compile("(?<![\\d.,])[ \u00a0]?0(?=[ \u00a0]?%)")
_CHINESE = re.compile("[\u4e00-\u9fff]")
_SPACED_BRACKETS = re.compile("\\s*\\(([\u4e00-\u9fff]{2,4})\\)\\s*")

AVAILABILITY: Mapping[str, str] = {
    "licence_required": N_("Sale to %(region)s needs an export licence."),
    "not_permitted": N_("Import into %(region)s is not permitted."),
    "case_by_case": N_("Export to %(region)s is decided case by case."),
    "conditional": N_("Import into %(region)s is approved for some buyers, with conditions."),
    "licensed": N_("Export to %(region)s is licensed again."),
    "restricted": N_("Sale to %(region)s is restricted."),
    "reported_stop": N_("Import into %(region)s is reported as stopped, unconfirmed."),
    "not_sold": N_("Not sold in %(region)s."),
    "announced": N_("Announced for %(region)s."),
    "discouraged": N_("The authorities of %(region)s advise large firms against buying it."),
    "disputed": N_("Whether the export rule for %(region)s covers this card is disputed."),
    "discontinued": N_("Reported as discontinued in %(region)s."),
    "on_sale": N_("On sale in %(region)s."),
    "preferred": N_("Preferred in public tenders of %(region)s."),
    "cancelled": N_("Cancelled for %(region)s."),
    "not_shipped": N_("Not shipped to %(region)s yet."),
    "available": N_("Available in %(region)s."),
    "module_only": N_("Sold in %(region)s as a module of eight cards."),
    "sold_in_server_only": N_("Sold in %(region)s inside servers only."),
    "advised_against": N_("Authorities of %(region)s advise against it."),
    "driver_last_branch": N_("The running driver branch is its last one."),
    "framework_ending": N_("Frameworks are dropping its support."),
    "vendor_support_ended": N_("The maker's support has ended."),
}
"""One sentence for each status; the statement as its source words it stands under it."""


EVERYWHERE: Mapping[str, str] = {
    "discontinued": N_("Reported as out of production."),
    "announced": N_("Announced."),
    "on_sale": N_("On sale."),
    "not_sold": N_("Not sold."),
}
"""The same where no region is meant."""
AVAILABILITY_SHORT: Mapping[str, str] = {
    "licence_required": N_("export licence needed"),
    "not_permitted": N_("import refused"),
    "case_by_case": N_("case by case"),
    "conditional": N_("some buyers approved"),
    "licensed": N_("licensed again"),
    "restricted": N_("sale restricted"),
    "reported_stop": N_("stop reported"),
    "not_sold": N_("not sold"),
    "announced": N_("announced"),
    "discouraged": N_("advised against"),
    "disputed": N_("rule disputed"),
    "discontinued": N_("discontinued"),
    "on_sale": N_("on sale"),
    "preferred": N_("preferred in tenders"),
    "cancelled": N_("cancelled"),
    "not_shipped": N_("not shipped yet"),
    "available": N_("available"),
    "module_only": N_("sold as 8-card module"),
    "sold_in_server_only": N_("sold in servers"),
    "advised_against": N_("advised against"),
    "driver_last_branch": N_("last driver branch"),
    "framework_ending": N_("leaving the frameworks"),
    "vendor_support_ended": N_("support ended"),
}
"""The same as a note in a chart."""


@lru_cache(maxsize=2)
def _long_names(snapshot: Snapshot) -> tuple[re.Pattern[str], dict[str, str], tuple[str, ...]]:
    shorter = {gpu.name: gpu.label for gpu in snapshot.gpus if gpu.label != gpu.name}
    # The longest first: "GeForce RTX 4090 D" must not be read as a 4090 with a letter behind it.
    names = sorted(shorter, key=lambda name: (-len(name), name))
    return (
        re.compile("|".join(map(re.escape, names)) or r"(?!)"),
        shorter,
        tuple({name.split()[0] for name in names}),
    )


def short_names(text: str, snapshot: Snapshot) -> str:
    """A sentence with every card named as the tables name it: RTX 4090, not GeForce RTX 4090."""
    pattern, shorter, starts = _long_names(snapshot)
    if any(word in text for word in starts):
        text = pattern.sub(lambda match: shorter[match[0]], text)
    # A difference that rounds to nothing is still a difference.
    text = _UNDER_ONE.sub("不到\u00a01" if _CHINESE.search(text) else " under\u00a01", text)
    return _SPACED_BRACKETS.sub(r"（\1）", text)


def plan_words(plan: Parallelism) -> str:
    """A parallel plan in the field's shorthand: TP 2 × DP 4, ZeRO 3."""
    degrees = (("TP", plan.tensor), ("PP", plan.pipeline), ("DP", plan.data), ("EP", plan.expert))
    parts = [f"{word}{NBSP}{degree}" for word, degree in degrees if degree > 1]
    if plan.zero_stage:
        parts.append(f"ZeRO{NBSP}{plan.zero_stage}")
    return " · ".join(parts)


def split_condition(label: str) -> tuple[str, str]:
    """An option's label without its condition, and the condition: ("2 × RTX 3090", "used")."""
    match = _CONDITION.search(label)
    return (label[: match.start()], match["word"]) if match else (label, "")


def availability_sentence(
    status: str, region: str, region_word: Callable[[str], str], gettext: Gettext
) -> str:
    """What a status means for a buyer in a region; empty for a status that has no sentence."""
    if region == "global" and status in EVERYWHERE:
        return gettext(EVERYWHERE[status])
    text = AVAILABILITY.get(status)
    return gettext(text) % {"region": region_word(region)} if text else ""


AGAINST_BUYING = frozenset(
    {
        "licence_required",
        "not_permitted",
        "restricted",
        "reported_stop",
        "not_sold",
        "discouraged",
        "disputed",
        "discontinued",
    }
)
