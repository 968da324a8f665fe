"""From result objects to the JSON of the catalogue."""

from __future__ import annotations

from typing import Any

from app import __version__
from app.core.answer import number, plain
from app.core.gpu import Gpu, PriceChoice, Source, short_card_name
from app.services.answers import canonical

__all__ = ["Payload", "gpu_label", "number", "plain", "price", "source", "versions"]
Payload = dict[str, Any]


def versions(catalog_version: str) -> Payload:
    """What a result was computed with."""
    return {"engine": __version__, "catalog": catalog_version}


def source(value: Source | None) -> Payload | None:
    """Where a figure was read."""
    return (
        None
        if value is None
        else {"id": value.id, "url": value.url, "title": value.title, "publisher": value.publisher}
    )


def price(value: PriceChoice) -> Payload:
    """The price that counts, and how it was chosen."""
    found: Payload = canonical(value)
    return found


def gpu_label(gpu: Gpu) -> str:
    """The short name of a card, without the vendor's series word: RTX 4090, not GeForce RTX 4090."""
    return short_card_name(gpu.name)
