"""What the form says about the model it was given, and the names it offers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from app.catalog.snapshot import Snapshot
from app.core.faults import InputFault
from app.core.model.architecture import ModelArchitecture, architecture_from_fields
from app.core.model.config_reader import read_config
from app.core.model.reading import reading_of
from app.services.cards import NotInCatalogue, find_model
from app.services.model_list import ordered
from app.texts.figures import format_parameters
from app.web.answer_tables import Words
from app.web.form import FormState, is_model, model_size
from app.web.render import gettext_of

Gettext = Callable[[str], str]
_FOREIGN_VENDORS = frozenset({"NVIDIA", "AMD", "Intel", "Google", "AWS", "Apple", "modded"})


@dataclass(frozen=True, slots=True)
class Offer:
    """One entry of the model picker."""

    name: str
    hint: str
    shape: str


@lru_cache(maxsize=4)
def offers(snapshot: Snapshot, language: str) -> tuple[Offer, ...]:
    """Names of the presets with their size and shape."""
    _ = gettext_of(language)
    return tuple(
        Offer(
            model.name or model.id,
            format_parameters(model.architecture.parameters, language),
            _shape(model.architecture, _),
        )
        for model in ordered(snapshot)
    )


def _shape(model: ModelArchitecture, _: Gettext) -> str:
    """Layers and heads, experts, or the image size: what tells two models of one size apart."""
    found = []
    if model.layers:
        found.append(_("%(count)s layers") % {"count": model.layers})
    heads, kv_heads = model.attention_heads, model.kv_heads
    if model.kv_lora_rank:
        found.append("MLA")
    elif heads and isinstance(kv_heads, int | float) and 0 < kv_heads < heads:
        found.append(f"GQA {kv_heads:g}/{heads:g}")
    if model.experts:
        found.append(f"MoE {model.experts}")
    if model.image_size and not heads:
        found.append(_("image %(size)s") % {"size": " \u00d7 ".join(str(v) for v in model.image_size)})
    return " · ".join(found)


@lru_cache(maxsize=2)
def vendors(snapshot: Snapshot) -> tuple[str, ...]:
    """The makers of the catalogue's cards."""
    return tuple(sorted({gpu.vendor for gpu in snapshot.gpus}, key=str.casefold))


def chinese_vendors(snapshot: Snapshot) -> tuple[str, ...]:
    """The makers that the choice "Chinese makers" stands for."""
    return tuple(v for v in vendors(snapshot) if v not in _FOREIGN_VENDORS and not v.startswith("NVIDIA"))


def shown_name(state: FormState, snapshot: Snapshot) -> str:
    """The model as headings name it."""
    if state.one("config"):
        return "config.json"
    text = state.one("model")
    if model_size(text) is None:
        try:
            preset = find_model(snapshot, text)
        except NotInCatalogue:
            return text
        return preset.name or preset.id
    return text.upper().replace(" ", "")


def family_of(state: FormState, snapshot: Snapshot) -> str:
    """The family of the chosen model; empty when it is not known before it is computed."""
    if state.one("config"):
        return ""
    text = state.one("model")
    if model_size(text) is not None:
        return state.one("family")
    try:
        return find_model(snapshot, text).family
    except NotInCatalogue:
        return ""


def model_of(state: FormState, snapshot: Snapshot) -> ModelArchitecture | None:
    """The chosen model; None where it is at fault, which the calculation says."""
    try:
        config = json.loads(state.one("config")) if state.one("config") else None
        size = model_size(state.one("model"))
        if isinstance(config, dict):
            return _described(config)
        if size is not None:
            named = {"family": state.one("family"), "parameters": size, "name": state.one("model")}
            return architecture_from_fields(named)
        return find_model(snapshot, state.one("model")).architecture
    except (InputFault, NotInCatalogue, ValueError, RecursionError):
        return None


def _described(config: dict[str, Any]) -> ModelArchitecture:
    """A pasted config.json, or a model as the API takes it."""
    if is_model(config) and "config" not in config:
        return architecture_from_fields(config)
    inner = config.get("config", config)
    size = config.get("parameters") if inner is not config else None
    return read_config(inner, str(config.get("name") or ""), size, "/workload/model/config")


def parameters_of(state: FormState, snapshot: Snapshot) -> float | None:
    """How many parameters the chosen model has; None where only the calculation finds out."""
    if state.one("config"):
        return None
    size = model_size(state.one("model"))
    if size is not None:
        return size
    try:
        return float(find_model(snapshot, state.one("model")).architecture.parameters or 0) or None
    except NotInCatalogue:
        return None


def facts(state: FormState, snapshot: Snapshot, words: Words) -> list[str]:
    """The dimensions that the calculation will use, in one line."""
    _, formats = words.gettext, words.formats
    if state.one("config"):
        return own_facts(state, words)
    text = state.one("model")
    if model_size(text) is not None:
        family = formats.label(state.one("family"), "family")
        return [family, _("dimensions by the family's pattern, wider interval")]
    try:
        preset = find_model(snapshot, text)
    except NotInCatalogue:
        return []
    return preset_facts(preset.architecture, words)


def own_facts(state: FormState, words: Words) -> list[str]:
    """What the config.json of the form comes to: size, cache, state, weights, and what is in doubt of it."""
    _, formats = words.gettext, words.formats
    model = model_of(state, words.snapshot)
    if model is None:
        return [_("dimensions from the config.json below")]
    found = reading_of(model)
    facts = [_("%(count)s parameters") % {"count": formats.parameters(model.parameters)}]
    if model.active_parameters and model.active_parameters < 0.98 * model.parameters:
        facts.append(_("%(count)s active") % {"count": formats.parameters(model.active_parameters)})
    if found.kv_bytes_per_token is not None:
        facts.append(_("KV %(size)s B a token") % {"size": formats.number(found.kv_bytes_per_token)})
    if model.linear_state_bytes:
        mega = formats.number(model.linear_state_bytes / 1e6, 1)
        facts.append(_("state %(size)s MB a sequence") % {"size": mega})
    weights = {
        "size": f"{formats.gib(found.weight_gib)} GiB",
        "format": formats.label(found.precision, "precision"),
    }
    facts.append(_("weights %(size)s in %(format)s") % weights)
    return [*facts, *(words.say(note) for note in found.warnings)]


def preset_facts(model: ModelArchitecture, words: Words) -> list[str]:
    """Parameters, layers, width, heads, vocabulary of a preset, as far as it has them."""
    _, formats = words.gettext, words.formats
    found = [_("%(count)s parameters") % {"count": formats.parameters(model.parameters)}]
    if model.active_parameters and model.active_parameters < 0.98 * model.parameters:
        found.append(_("%(count)s active") % {"count": formats.parameters(model.active_parameters)})
    if model.layers:
        found.append(_("%(count)s layers") % {"count": model.layers})
    if model.hidden_size:
        found.append(_("hidden %(size)s") % {"size": formats.number(model.hidden_size)})
    heads, kv_heads = model.attention_heads, model.kv_heads
    if heads and kv_heads and not isinstance(kv_heads, tuple):
        found.append(_("KV heads %(kv)s of %(heads)s") % {"kv": kv_heads, "heads": heads})
    if model.experts:
        found.append(_("%(count)s experts") % {"count": model.experts})
    if model.vocab_size:
        found.append(_("vocab %(size)s") % {"size": formats.number(model.vocab_size)})
    if model.image_size:
        found.append(_("image %(size)s") % {"size": " × ".join(str(v) for v in model.image_size)})
    return found
