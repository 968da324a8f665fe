"""What the first question of each kind would have to wait for, done before anybody asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from app.catalog.snapshot import Snapshot
from app.core.faults import InputFault
from app.core.fields import TASKS, TOKEN_FAMILIES
from app.services.calculator import StalePrice, shortlist
from app.services.store import prepared

FAMILIES = ("decoder", "vision", "diffusion", "encoder", "speech")


def questions(snapshot: Snapshot) -> Iterator[Mapping[str, Any]]:
    """One question for each family and task."""
    for family in FAMILIES:
        named = [i for i, preset in snapshot.models.items() if preset.architecture.family == family]
        for task in TASKS if named else ():
            work: dict[str, Any] = {"model": {"preset": named[0]}, "task": task}
            if task != "inference":
                work |= {"batch_size": 1, "precision": "bf16"}
                work |= {"sequence_length": 512} if family in TOKEN_FAMILIES else {}
            yield {"workload": work}


def warm(snapshot: Snapshot, today: date) -> None:
    """Compute what is kept for all questions over a snapshot: its columns, its prices, its calibration."""
    prepared(snapshot)
    for question in questions(snapshot):
        try:
            shortlist(question, snapshot, today)
        except (InputFault, StalePrice):
            continue  # A model that the task does not fit, or a catalogue without fresh prices.
