"""The model of a request: a preset, a config.json, or a family with what is known of its size."""

from __future__ import annotations

from collections.abc import Callable

from app.catalog.snapshot import Snapshot
from app.core.faults import InputFault
from app.core.model.architecture import ModelArchitecture, architecture_from_fields
from app.core.model.config_reader import read_config
from app.core.workload import RANGES
from app.services.fields import Fields

KINDS = ("preset", "config", "family")
FAMILY_FIELDS = (
    "family",
    "parameters",
    "name",
    "layers",
    "encoder_layers",
    "hidden_size",
    "intermediate_size",
    "attention_heads",
    "kv_heads",
    "head_dim",
    "vocab_size",
    "tied_embeddings",
    "gated_mlp",
    "sliding_window",
    "full_attention_layers",
    "linear_attention_layers",
    "experts",
    "experts_per_token",
    "shared_experts",
    "expert_intermediate_size",
    "dense_layers",
    "kv_lora_rank",
    "q_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "v_head_dim",
    "active_parameters",
    "activations_per_sample",
    "forward_macs",
    "backbone",
    "head",
    "normalization",
    "components",
)
"""What a model described by hand may state; the core's other fields are for presets."""


def read_model(fields: Fields | None, snapshot: Snapshot) -> ModelArchitecture | None:
    """The architecture of `workload.model`; faults are noted in `fields`."""
    if fields is None:
        return None
    kinds = [kind for kind in KINDS if fields.given(kind)]
    if len(kinds) != 1:
        fields.fault(kinds[1] if kinds else "preset", "model_kinds" if kinds else "model_missing")
        return None
    reader = {"preset": _preset, "config": _config, "family": _family}[kinds[0]]
    return reader(fields, snapshot)


def _attempt(fields: Fields, read: Callable[[], ModelArchitecture]) -> ModelArchitecture | None:
    try:
        return read()
    except InputFault as fault:
        fields.errors.extend(fault.errors)
        return None


def _preset(fields: Fields, snapshot: Snapshot) -> ModelArchitecture | None:
    name = fields.text("preset")
    fields.close()
    if name is None:
        return None
    return _attempt(
        fields,
        lambda: snapshot.models[snapshot.resolve_model(name, f"{fields.pointer}/preset")].architecture,
    )


def _family(fields: Fields, snapshot: Snapshot) -> ModelArchitecture | None:
    del snapshot
    noted = len(fields.errors)
    values = {name: fields.raw(name) for name in FAMILY_FIELDS if fields.given(name)}
    fields.close()
    if len(fields.errors) > noted:
        return None
    return _attempt(fields, lambda: architecture_from_fields(values, fields.pointer))


def _config(fields: Fields, snapshot: Snapshot) -> ModelArchitecture | None:
    del snapshot
    config = fields.raw("config")
    name = fields.text("name")
    parameters = fields.number("parameters", RANGES["parameters"])
    fields.close()
    return _attempt(fields, lambda: read_config(config, name or "", parameters, f"{fields.pointer}/config"))
