"""What a row of a measurement leaves unsaid: whose it is, what it ran on, which adapter was trained."""

from __future__ import annotations

from typing import Any

from app.catalog.columns.cells import ADAPTERS
from app.catalog.imports.references import References
from app.core.estimates import Message
from app.core.formats import USUAL, format_of, is_format
from app.core.workload import default_engine

Row = dict[str, Any]
OWN_SOURCE = "Own measurements"
"""Source of own rows that name none."""
UNITS = ("images_per_s", "samples_per_s", "tokens_per_s", "realtime_factor", "steps_per_s")
"""Units of the estimates: known whether or not a row of the catalogue has them."""
_WEB = ("https://", "http://")
_ADAPTER_NAMES = {"lora": "LoRA", "qlora": "QLoRA"}


def is_public(source: str, url: str, references: References) -> bool:
    """Whether a source can be looked up: an address, or a source of the catalogue that has one."""
    if url or source.startswith(_WEB):
        return True
    return bool(references.sources.get(source, {}).get("url"))


def complete(given: Row, source: str, url: str, references: References) -> tuple[Row, list[Message]]:
    """A measurement as it is stored, with what was taken for granted.

    Parameters
    ----------
    given: typed values of the row. source, url: of the row, else of the whole import.

    Returns
    -------
    The values, `own` and for own rows `framework` among them; one message for each default taken.

    Notes
    -----
    Own unless a source that others can look up is named: what a team's key sends is the team's. A stated
    `own` always counts. The engine is the one that a question without an engine is answered for.
    """
    row, notes = dict(given), []
    if "own" not in row:
        row["own"] = not is_public(source, url, references)
        notes.append(Message("own_by_default" if row["own"] else "published_by_source"))
    adapter = row["task"] if row["task"] in ADAPTERS else ""
    if adapter:
        row["task"] = "finetune"
        name = _ADAPTER_NAMES[adapter]
        # Estimates read the adapter from the model's text.
        if adapter not in row["model_as_written"].lower():
            row["model_as_written"] = f"{row['model_as_written']} ({name})"
        notes.append(Message("measurement_task_stored", {"adapter": name}))
    family = _family(row, references)
    if row["own"] and not row.get("framework") and family:
        precision = row.get("precision", "")
        fmt = format_of(precision if is_format(precision) else USUAL)
        row["framework"] = default_engine(family, row["task"] != "inference", fmt).name
        notes.append(Message("measured_engine_assumed", {"engine": row["framework"]}))
    return row, notes


def _family(row: Row, references: References) -> str:
    found = references.model_families.get(row.get("model_id", ""), "")
    if not found and row.get("model_parameters") and row["unit"] == "tokens_per_s":
        return "decoder"
    return found
