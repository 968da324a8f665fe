"""Model presets as everybody asks for them: dimensions, parameter counts and where they were read."""

from __future__ import annotations

from dataclasses import fields

from app.catalog.records import ModelPreset
from app.catalog.snapshot import Snapshot
from app.core.answer import AnyMap, Figure, answer, parts_of
from app.core.faults import InputFault
from app.core.gpu import Source
from app.core.model.architecture import ModelArchitecture
from app.services.cards import not_one
from app.services.results import Versions

_NOT_DIMENSIONS = frozenset(
    {"id", "name", "family", "parameters", "active_parameters", "components", "attributes", "warnings"}
)


@answer(omit=("formula", "more"))
class Model:
    """A preset with those of its dimensions that are known."""

    id: str
    """Id of the preset."""
    name: str
    """Its name."""
    family: str
    """decoder, encoder, encoder-decoder, vision, diffusion or speech."""
    series: str
    """Series of models, such as Llama 3."""
    hf_repo: str
    """Its id on Hugging Face; empty where it has none."""
    parameters: Figure
    """Parameters that are computed with."""
    active_parameters: Figure | None
    """Parameters that one token passes, of a mixture of experts."""
    parameters_published: Figure | None
    """Parameters as its makers state them; null where they do not."""
    architecture: AnyMap
    """Dimensions by name, as a `model` of a workload takes them: layers, hidden_size, kv_heads …"""
    basis: str
    """How the dimensions are known."""
    source: Source
    """Where they were read."""
    published_source: Source | None
    """Where the published parameters were read."""
    as_of: str
    """Day of the source, ISO 8601."""
    note: str
    """What is to be said of it."""
    formula: str
    """How a dimension was worked out; absent where all were read."""
    more: AnyMap | None
    """Further columns of the row by name, which nothing is calculated with; absent where it has none."""


@answer(omit=("formula", "more"))
class ModelDetail(Model):
    """One preset, with the versions."""

    versions: Versions
    """What the answer was made with."""


def find_model(snapshot: Snapshot, name: str) -> ModelPreset:
    """The preset of an address; NotInCatalogue when there is none, AmbiguousName when more than one."""
    try:
        return snapshot.models[snapshot.resolve_model(name, "/model_id")]
    except InputFault as fault:
        raise not_one(name, fault) from fault


def model_of(preset: ModelPreset) -> Model:
    """A preset with those of its dimensions that are known."""
    architecture = preset.architecture
    return Model(
        preset.id,
        preset.name,
        preset.family,
        preset.series,
        preset.hf_repo,
        architecture.parameters,
        architecture.active_parameters,
        preset.parameters_published,
        {
            field.name: getattr(architecture, field.name)
            for field in fields(ModelArchitecture)
            if field.name not in _NOT_DIMENSIONS
            and getattr(architecture, field.name) not in (None, 0, "", (), False)
        },
        preset.basis,
        preset.source,
        preset.published_source,
        preset.as_of,
        preset.note,
        preset.formula,
        dict(preset.more) or None,
    )


def model_detail(snapshot: Snapshot, name: str) -> ModelDetail:
    """One preset by id, alias or Hugging Face id."""
    model = model_of(find_model(snapshot, name))
    return ModelDetail(**parts_of(model), versions=Versions.of(snapshot.version))
