"""Facts of a card that are no figures, and dated remarks on where it may be bought, with their sources."""

from __future__ import annotations

from datetime import date

from app.catalog.records import Availability, deciding
from app.catalog.snapshot import Snapshot
from app.core.gpu import Gpu
from app.services import payload
from app.services.payload import Payload
from app.services.prepared import availability


def facts_body(snapshot: Snapshot, gpu: Gpu) -> Payload:
    """Facts with a source of their own: cooling, slot width, drivers …, by name."""
    return {
        name: {
            "value": fact.value,
            "basis": fact.basis,
            "source": payload.source(fact.source),
            "as_of": fact.as_of,
            **({"formula": fact.formula} if fact.formula else {}),
            **({"note": fact.note} if fact.note else {}),
        }
        for name, fact in sorted(snapshot.facts.get(gpu.id, {}).items())
    }


def remark_bodies(snapshot: Snapshot, gpu_id: str, as_of: date, language: str) -> list[Payload]:
    """Remarks on buying a card, by region, the newest first.

    Returns
    -------
    {region, kind, status, from, until, decides, text, source, read_on}; kind is restricted, licence required,
    discontinued, not sold, sold or announced. `decides`: the newest of its question on that day.
    """
    day = as_of.isoformat()
    found = []
    for (card, _), facts in sorted(snapshot.available.items()):
        if card == gpu_id:
            heads = deciding(fact for fact in facts if fact.holds_on(day))
            found += [_body(fact, fact in heads, language) for fact in facts]
    return found


def governing(snapshot: Snapshot, gpu_id: str, region: str, as_of: date) -> Availability | None:
    """The remark that decides for a buyer in a region; what holds everywhere for the trade included."""
    known = availability(snapshot, as_of).get((gpu_id, region), ())
    return known[0] if known else None


def _body(fact: Availability, decides: bool, language: str) -> Payload:
    return {
        "region": fact.region,
        "kind": fact.kind,
        "status": fact.status,
        "from": fact.from_on,
        "until": fact.until_on or None,
        "decides": decides,
        "text": (language == "zh" and fact.text_zh) or fact.text,
        "source": payload.source(fact.source),
        "read_on": fact.source.read_on,
    }
