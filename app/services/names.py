"""Names as askers write them: exact look-up among ids and aliases, and what was meant when that fails."""

from __future__ import annotations

from app.catalog.snapshot import Snapshot
from app.core.faults import FieldError, InputFault
from app.core.gpu import Gpu
from app.services.fields import Fields, Place


def find_gpu(name: str, snapshot: Snapshot, fields: Fields, at: Place) -> Gpu | None:
    """The card of a name; an unknown or ambiguous one is noted as a fault of the field."""
    try:
        return snapshot.gpu(snapshot.resolve_gpu(name))
    except InputFault as fault:
        _note(fault.errors, fields, at)
        return None


def _note(errors: tuple[FieldError, ...], fields: Fields, at: Place) -> None:
    for error in errors:
        fields.fault(at, error.code, **error.params)
