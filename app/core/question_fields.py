"""The table of every field that a question has, and which of those stated do nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from app.core.fields import Field, fields_of, placed
from app.core.model.architecture import FAMILIES
from app.core.question import (
    COUNT,
    Budget,
    Economics,
    Filters,
    PriceRules,
    SeedQuestions,
    Service,
    ShortlistQuestion,
    Work,
)
from app.core.workload import PARAMETERS, Offload, Parallelism, Workload

MODEL_FIELDS = (
    placed(
        "workload.model.preset",
        "model",
        "Model, or its size",
        "Preset of the catalogue: id, alias or Hugging Face id.",
        example="llama-3.1-8b",
        name="model",
        flag="model",
        group="model",
        shown=("Qwen3-14B",),
    ),
    placed(
        "workload.model.family",
        "choice",
        "Kind of model (for a bare size)",
        "Family of a model that is described by its size and whatever else is known of it.",
        choices=FAMILIES,
        words="family",
        name="family",
        flag="family",
        group="run_more",
        shown=("decoder",),
    ),
    placed(
        "workload.model.parameters",
        "number",
        "Parameters",
        "Size of a model that is described by its family or its config.json.",
        limits=PARAMETERS,
        example=7e9,
        name="",
        flag="parameters",
    ),
    placed(
        "workload.model.config",
        "long",
        "config.json, pasted",
        "The Hugging Face config.json as it is, or a model as the API takes it; in place of the name above.",
        name="config",
        flag="config",
        group="run_more",
        hint='{"model_type": "llama", …}',
    ),
)
AS_OF = placed(
    "as_of",
    "day",
    "As of",
    "The day that picks prices, rates and ages; today (UTC) when not given.",
    example="2026-11-30",
    name="as_of",
    group="cards_more",
)
CARD_FIELDS = (
    placed("gpu", "card", "Card", "Id or alias of the card.", required=True, example="rtx4090"),
    placed("count", "integer", "Card count", "1, or what the parallel plan needs.", limits=COUNT, whole=True),
)
TITLE = placed("title", "text", "Title", "Title of the comparison.", example="Llama for the helpdesk")

FIELDS: tuple[Field, ...] = (
    *MODEL_FIELDS,
    *fields_of(Workload, "workload"),
    *fields_of(Parallelism, "workload.parallelism"),
    *fields_of(Offload, "workload.offload"),
    *fields_of(ShortlistQuestion, ""),
    *fields_of(Service, "service"),
    *fields_of(Work, "work"),
    *fields_of(Budget, "budget"),
    *fields_of(Economics, "economics"),
    *fields_of(PriceRules, "price_rules"),
    *fields_of(Filters, "filters"),
    *fields_of(SeedQuestions, "questions"),
    AS_OF,
    *CARD_FIELDS,
    TITLE,
)
"""Every field of every question, in the order of the form."""
BY_PLACE: Mapping[str, Field] = {one.place: one for one in FIELDS}
PARTS: Mapping[str, type] = {
    "workload.parallelism": Parallelism,
    "workload.offload": Offload,
    "service": Service,
    "work": Work,
    "budget": Budget,
    "economics": Economics,
    "price_rules": PriceRules,
    "filters": Filters,
    "questions": SeedQuestions,
}
"""The objects inside a body, by their place."""


def why_ignored(place: str, work: Workload) -> str:
    """Code of the reason why a field does nothing for a question, or an empty text when it counts.

    Parameters
    ----------
    place: where it stands in the body: `workload.offload.experts`.
    work: the question, resolved.
    """
    field = BY_PLACE.get(place)
    for condition in field.counts if field else ():
        if not condition.applies(work):
            return condition.code
    return ""


def ignored(places: Collection[str], work: Workload) -> dict[str, str]:
    """The fields among those stated that do nothing, each with the code of the reason."""
    found = {place: why_ignored(place, work) for place in places}
    return {place: code for place, code in found.items() if code}
