"""How a card is built and what it asks of its host, in words: form factor, cooling, power, drivers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.texts.marking import N_
from app.texts.words import label

Gettext = Callable[[str], str]

NOT_A_CARD: Mapping[str, str] = {
    "SXM module": N_("A module: it needs its own baseboard and is sold with a server, not as a card."),
    "OAM module": N_("A module: it needs its own baseboard and is sold with a server, not as a card."),
    "superchip module": N_("Soldered together with its processor: sold as a whole machine only."),
    "socket": N_("Sits in a processor socket: sold as a whole machine only."),
    "integrated": N_("Part of a small computer: not sold by itself."),
    "laptop": N_("Part of a laptop: not sold by itself."),
    "cloud only": N_("For rent only."),
}
"""What to know before asking for a quote."""
COOLING: Mapping[str, str] = {
    "passive": N_("passive: the server must blow through it"),
    "blower": N_("blower: out of the back, cards may stand side by side"),
    "open fans": N_("open fans: needs space between cards"),
    "liquid": N_("liquid"),
    "active": N_("fan of its own"),
}
FACT: Mapping[str, str] = {
    "form_factor": N_("Form factor"),
    "slot_width": N_("Slots wide"),
    "socket": N_("Socket"),
    "cooling": N_("Cooling"),
    "power_connector": N_("Power connector"),
    "launch_date": N_("On sale since"),
    "driver_min_linux": N_("First driver, Linux"),
    "driver_min_windows": N_("First driver, Windows"),
}


@dataclass(frozen=True, slots=True)
class FactRow:
    """One fact, said, with where it was read."""

    title: str
    text: str
    basis: str
    source: Mapping[str, Any] | None
    as_of: str = ""
    notes: tuple[str, ...] = ()


def form_factor(code: str, gettext: Gettext) -> str:
    """A form factor in the reader's words; one that a team wrote itself stays as it is."""
    return label("form_factor", code, gettext)


def fact_rows(card: Mapping[str, Any], read_on: str, gettext: Gettext) -> list[FactRow]:
    """What is known of how a card is built, in a fixed order; nothing for what is unknown.

    Notes
    -----
    Facts without a source of their own were read where the card was: in the source of its row, on `read_on`.
    """
    row_source = (card["attributes"].get("source") or {}) if card["attributes"] else {}
    plain = {
        "form_factor": card["form_factor"],
        "power_connector": card["attributes"].get("power_connector", ""),
        "launch_date": card["launch_date"],
    }
    found = []
    for name, title in FACT.items():
        fact = card["facts"].get(name)
        value = fact["value"] if fact else plain.get(name, "")
        if not value:
            continue
        if fact:
            notes = tuple(
                text
                for text in (fact.get("formula", ""), fact.get("note", ""))
                if text and not text.startswith("https://")
            )
            said = _said(name, value, gettext)
            found.append(FactRow(gettext(title), said, fact["basis"], fact["source"], fact["as_of"], notes))
        else:
            found.append(FactRow(gettext(title), _said(name, value, gettext), "exact", row_source, read_on))
    return found


def warning(card: Mapping[str, Any], gettext: Gettext) -> str:
    """What to know of a part that is not sold as a card; empty for cards."""
    text = NOT_A_CARD.get(card["form_factor"])
    return gettext(text) if text else ""


def _said(name: str, value: str, gettext: Gettext) -> str:
    if name == "form_factor":
        return form_factor(value, gettext)
    if name == "cooling" and value in COOLING:
        return gettext(COOLING[value])
    if name == "power_connector" and value == "none":
        return gettext(N_("none: fed through the slot or socket"))
    if name == "slot_width":
        return value.removesuffix(".0")
    return value
