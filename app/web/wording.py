"""Words of an answer made fit for a reader: short card names, conditions apart, rules of sale."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from app.services.contract import Snapshot
from app.services.payload import gpu_label
from app.web.labels import N_

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
    "discouraged": N_("The authorities of %(region)s advise large firms against buying it."),
    "disputed": N_("Whether the export rule for %(region)s covers this card is disputed."),
    "discontinued": N_("Reported as discontinued in %(region)s."),
    "on_sale": N_("On sale in %(region)s."),
    "preferred": N_("Preferred in public tenders of %(region)s."),
}
"""One sentence for each status; the statement as its source words it stands under it."""


AVAILABILITY_SHORT: Mapping[str, str] = {
    "licence_required": N_("export licence needed"),
    "not_permitted": N_("import refused"),
    "case_by_case": N_("case by case"),
    "conditional": N_("some buyers approved"),
    "licensed": N_("licensed again"),
    "discouraged": N_("advised against"),
    "disputed": N_("rule disputed"),
    "discontinued": N_("discontinued"),
    "on_sale": N_("on sale"),
    "preferred": N_("preferred in tenders"),
}
"""The same as a note in a chart."""


@lru_cache(maxsize=2)
def _long_names(snapshot: Snapshot) -> tuple[re.Pattern[str], dict[str, str], tuple[str, ...]]:
    shorter = {gpu.name: gpu_label(gpu) for gpu in snapshot.gpus if gpu_label(gpu) != gpu.name}
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


def split_condition(label: str) -> tuple[str, str]:
    """An option's label without its condition, and the condition: ("2 × RTX 3090", "used")."""
    match = _CONDITION.search(label)
    return (label[: match.start()], match["word"]) if match else (label, "")


def availability_sentence(status: str, region: str, gettext: Gettext) -> str:
    """What a status means for a buyer in a region; empty for a status that has no sentence."""
    text = AVAILABILITY.get(status)
    return gettext(text) % {"region": region} if text else ""


def say_short(
    answer: dict[str, Any], snapshot: Snapshot, region_word: Callable[[str], str], _: Gettext
) -> None:
    """Put short names into the sentences of an answer, and the reader's words for rules of sale."""
    region = str(answer["question"].get("price_rules", {}).get("region") or "CN")
    for option in answer["options"]:
        option["reasons"] = [short_names(text, snapshot) for text in option["reasons"]]
        option["flags"] = [
            _flag(flag, option["gpu"]["id"], region, snapshot, region_word, _) for flag in option["flags"]
        ]
        for flip in (option.get("robustness") or {}).get("flips", ()):
            flip["winner"] = short_names(flip["winner"] or "", snapshot)
    answer["advice"] = [short_names(text, snapshot) for text in answer["advice"]]


def _flag(
    flag: Mapping[str, str],
    gpu: str,
    region: str,
    snapshot: Snapshot,
    region_word: Callable[[str], str],
    _: Gettext,
) -> dict[str, str]:
    text = flag["text"]
    if flag["code"] == "availability_remark":
        facts = snapshot.available.get((gpu, region), ())
        sentence = availability_sentence(facts[0].status, region_word(region), _) if facts else ""
        if sentence:
            text = _("%(rule)s Since %(date)s.") % {"rule": sentence, "date": facts[0].from_on}
    return {"code": flag["code"], "text": short_names(text, snapshot)}


def availability_rows(
    card: Mapping[str, Any], region_word: Callable[[str], str], _: Gettext
) -> list[dict[str, Any]]:
    """Where a card may be sold: our sentence, since when, the source, and the source's own words."""
    rows = []
    for fact in card["availability"]:
        source = fact["source"] or {"url": "", "title": ""}
        sentence = availability_sentence(fact["status"], region_word(fact["region"]), _)
        rows.append(
            {
                "title": sentence or fact["text"],
                "since": fact["from_on"],
                "url": source["url"],
                "source": source["title"] or source.get("id", ""),
                "quote": fact["text"] if sentence else "",
                "kind": "warn" if fact["status"] in _AGAINST else "info",
            }
        )
    return rows


_AGAINST = frozenset({"licence_required", "not_permitted", "discouraged", "disputed", "discontinued"})
