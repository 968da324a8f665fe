"""The architecture of a model: dimensions, parameter counts, what it keeps per token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from app.core import formats
from app.core.estimates import Message
from app.core.faults import FieldError, InputFault
from app.core.field_values import FieldReader, limits_of
from app.core.model.modules import Module
from app.core.model.parameter_count import (
    active_parameter_count,
    embedding_count,
    parameter_count,
    usual_dimensions,
)

FAMILIES = ("decoder", "encoder", "encoder-decoder", "vision", "diffusion", "speech")


@dataclass(frozen=True, slots=True)
class Component:
    """One part of a composite model: text encoder, backbone, VAE, vision tower."""

    name: str
    parameters: float
    precision: str = ""


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """Bytes of a checkpoint, by how a plan shards them."""

    layers: float
    experts: float
    embedding: float
    head: float
    exact: bool = False
    """Read from an index or a header, not from the fields of a config."""

    @property
    def total(self) -> float:
        """All of them."""
        return self.layers + self.experts + self.embedding + self.head


@dataclass(frozen=True)
class ModelArchitecture:
    """Dimensions of one model, named as in the API. Without slots: what is derived of it is kept on it.

    `parameters` counts all. `active_parameters` of a mixture of experts counts what one token of text reads:
    neither the other experts, nor a token table of which it reads a row, nor towers; of any other model, all.
    """

    name: str
    family: str
    parameters: float
    active_parameters: float
    id: str = ""
    layers: int = 0
    """Decoder layers; for encoder-decoder and speech the decoder's, with `encoder_layers` beside."""
    encoder_layers: int = 0
    hidden_size: int = 0
    intermediate_size: int = 0
    attention_heads: int = 0
    kv_heads: int | tuple[int, ...] = 0
    head_dim: int = 0
    vocab_size: int = 0
    tied_embeddings: bool = False
    gated_mlp: bool = True
    norms_per_layer: int = 2
    sliding_window: int = 0
    full_attention_layers: int | None = None
    """Layers whose KV grows with the whole length; None = all. The rest are sliding or linear."""
    linear_attention_layers: int = 0
    linear_state_bytes: float = 0.0
    """Recurrent state per sequence over all linear layers, at 16-bit convolution and fp32 state."""
    experts: int = 0
    experts_per_token: int = 0
    shared_experts: int = 0
    expert_intermediate_size: int = 0
    dense_layers: int = 0
    """Leading layers without experts."""
    kv_lora_rank: int = 0
    q_lora_rank: int = 0
    qk_nope_head_dim: int = 0
    qk_rope_head_dim: int = 0
    v_head_dim: int = 0
    cross_attention_layers: int = 0
    max_context: int = 0
    embedding_parameters: float = 0.0
    """Input embedding plus output head plus position tables: what a quantized checkpoint keeps at 16 bit."""
    vision_tower_parameters: float = 0.0
    activations_per_sample: float = 0.0
    """Output elements of conv / linear / matmul for one image at `image_size` (fvcore count)."""
    forward_macs: float = 0.0
    """Multiply-accumulates of one forward pass of one image at `image_size`."""
    image_size: tuple[int, int] | None = None
    backbone: str = ""
    """Vision block family (resnet, vgg, densenet, efficientnet, vit, swin, yolo …) or a detector backbone."""
    head: str = ""
    """classifier, detection head name, segmentation head name."""
    normalization: str = ""
    native_precision: str = ""
    components: tuple[Component, ...] = ()
    latent_downscale: int = 8
    dimensions_assumed: bool = False
    """Only the size was given: dimensions follow the family's pattern and intervals widen."""
    warnings: tuple[str, ...] = ()
    attributes: dict[str, object] = field(default_factory=dict)
    attention_bias: bool = False
    """Bias on the query, key and value projections."""
    output_bias: bool = False
    mlp_bias: bool = False
    layer_norm: bool = False
    """LayerNorm (weight and bias) in place of RMSNorm (weight)."""
    qk_norm: str = ""
    """Empty, "head" (one vector of head_dim each) or "full" (over all heads)."""
    attention_gate: bool = False
    """The query projection also yields an output gate (twice as wide)."""
    learned_positions: int = 0
    sliding_kv_heads: int = 0
    """KV heads of the sliding layers where they differ from the full ones; 0 = the same."""
    sliding_head_dim: int = 0
    patch_size: int = 0
    expert_every: int = 1
    """Every n-th layer has experts (Llama 4 Maverick: 2)."""
    shared_key_values: bool = False
    """Keys and values are one vector (DeepSeek V4)."""
    compressed_elements: float = 0.0
    """Elements of compressed vectors that one more token adds over all layers, beside its windows."""
    wide_elements: float = 0.0
    """Bytes that one more token adds where the cache has 8 bit: rotated parts at 16 bit, scales."""
    index_bytes_per_token: float = 0.0
    """Keys of the indexers of sparse attention over all layers: FP8 with a scale, whatever the cache has."""
    stored_gib: float = 0.0
    """Of a preset: its checkpoint in `native_precision` as loaded, where formats are mixed."""
    native_kv_precision: str = ""
    """Format of the cache that the checkpoint brings scales for."""
    modules: tuple[Module, ...] = ()
    """Its weights module by module, where a reader counted them; empty: dimensions say it."""
    stored: StoredBytes | None = None
    """What its checkpoint takes, where the file says how each module is stored."""
    notes: tuple[Message, ...] = ()
    """What the reading of its file leaves in doubt, with the keys."""

    def __hash__(self) -> int:
        return hash((self.id, self.name, self.family, self.parameters, self.layers, self.hidden_size))

    @property
    def is_moe(self) -> bool:
        """Whether a router chooses between experts."""
        return self.experts > 1

    @property
    def full_layers(self) -> int:
        """Layers whose KV grows with the whole length."""
        if self.full_attention_layers is not None:
            return self.full_attention_layers
        return self.layers - self.linear_attention_layers

    @property
    def sliding_layers(self) -> int:
        """Layers that keep a window of the KV."""
        if not self.sliding_window:
            return 0
        return max(0, self.layers - self.full_layers - self.linear_attention_layers)


_TEXTS = (
    "name",
    "id",
    "backbone",
    "head",
    "normalization",
    "native_precision",
    "native_kv_precision",
    "qk_norm",
)
_FLAGS = (
    "tied_embeddings",
    "gated_mlp",
    "dimensions_assumed",
    "attention_bias",
    "output_bias",
    "mlp_bias",
    "layer_norm",
    "attention_gate",
    "shared_key_values",
)
_REALS = (
    "parameters",
    "active_parameters",
    "linear_state_bytes",
    "embedding_parameters",
    "vision_tower_parameters",
    "activations_per_sample",
    "forward_macs",
    "compressed_elements",
    "wide_elements",
    "index_bytes_per_token",
    "stored_gib",
)
_READ = ("modules", "stored", "notes")
"""What only the reader of a file sets."""
_OTHERS = (
    "family",
    "kv_heads",
    "image_size",
    "components",
    "warnings",
    "attributes",
    "full_attention_layers",
)
_INTEGERS = tuple(
    f.name for f in fields(ModelArchitecture) if f.name not in _TEXTS + _FLAGS + _REALS + _OTHERS + _READ
)
_ZERO_ALLOWED = frozenset(_INTEGERS) - {"hidden_size", "patch_size", "latent_downscale", "expert_every"}
FAMILY_FIELDS: Mapping[str, str] = {
    "family": "choice",
    **dict.fromkeys(("name", "backbone", "head", "normalization"), "text"),
    **dict.fromkeys(("tied_embeddings", "gated_mlp"), "flag"),
    **dict.fromkeys(("parameters", "active_parameters", "activations_per_sample", "forward_macs"), "real"),
    "kv_heads": "integers",
    "components": "parts",
    **dict.fromkeys(
        (
            "layers",
            "encoder_layers",
            "hidden_size",
            "intermediate_size",
            "attention_heads",
            "head_dim",
            "vocab_size",
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
        ),
        "integer",
    ),
}
"""What a model described by hand may state, and its kind; the other fields are for presets."""
COUNTED_FAMILIES = ("decoder", "encoder", "encoder-decoder", "speech")


def architecture_from_fields(
    values: Mapping[str, Any], pointer: str = "/workload/model"
) -> ModelArchitecture:
    """A model from the API's field names: presets and models described by size or by dimensions.

    Parameters
    ----------
    values: fields of `ModelArchitecture` by name; `family` and one of `parameters`, dimensions or
        `components` are required.
    pointer: JSON pointer of the object, for the faults.

    Returns
    -------
    The architecture, with counts filled in where only dimensions were given and with dimensions of the
    family's pattern (`dimensions_assumed`) where only the size was given.

    Errors
    ------
    InputFault: unknown field or family, a value of the wrong kind, not finite, negative or absurdly large,
    fewer values than the family needs.

    Notes
    -----
    A given `parameters` wins over the count from dimensions; a gap of more than 10 % adds the warning
    `parameters_differ`. Patterns are dense decoders of 2023-2026 with grouped queries.
    """
    errors: list[FieldError] = []
    reader = FieldReader(values, pointer, errors)
    known = _TEXTS + _FLAGS + _REALS + _OTHERS + _INTEGERS
    reader.refuse_unknown(known)
    family = reader.choice("family", FAMILIES)
    if errors:
        raise InputFault(errors)
    found: dict[str, Any] = {"family": family, "name": "", "parameters": 0.0, "active_parameters": 0.0}
    for name in _TEXTS:
        reader.text(name, found)
    for name in _FLAGS:
        reader.flag(name, found)
    for name in _REALS:
        low, high = limits_of(name)
        reader.real(name, found, low, high)
    for name in _INTEGERS:
        low, high = limits_of(name)
        reader.integer(name, found, 0 if name in _ZERO_ALLOWED else low, high)
    reader.integer("full_attention_layers", found, 0, 2_000)
    reader.integer_or_list("kv_heads", found, 0, 16_384, 2_000)
    reader.size("image_size", found)
    _components(reader, found)
    reader.texts("warnings", found, 16)
    reader.facts("attributes", found, 32)
    if errors:
        raise InputFault(errors)
    return complete(ModelArchitecture(**found), pointer, given=frozenset(values))


def _components(reader: FieldReader, found: dict[str, Any]) -> None:
    rows = reader.rows("components", 32)
    parts: list[Component] = []
    for i, row in enumerate(rows):
        part: dict[str, Any] = {"name": "", "precision": ""}
        inner = FieldReader(row, f"{reader.pointer}/components/{i}", reader.errors)
        inner.refuse_unknown(("name", "parameters", "precision"))
        inner.text("name", part)
        inner.text("precision", part)
        if part["precision"] and not formats.is_format(part["precision"]):
            inner.fault("precision", "unknown_value", value=part["precision"][:60], allowed=formats.names())
        inner.real("parameters", part, 1, 1e13)
        if "parameters" not in part:
            inner.fault("parameters", "required")
            continue
        parts.append(Component(**part))
    if parts:
        found["components"] = tuple(parts)


def complete(
    model: ModelArchitecture, pointer: str = "/workload/model", given: frozenset[str] = frozenset()
) -> ModelArchitecture:
    """Fill counts from dimensions, or dimensions from the size.

    Parameters
    ----------
    model: what is known; zero means unknown.
    pointer: JSON pointer for faults.
    given: names that the question gave itself, so that a stated False or 0 is kept.

    Returns
    -------
    The model with `parameters`, `active_parameters` and `embedding_parameters` set.

    Errors
    ------
    InputFault when neither size nor dimensions are enough for the family.
    """
    changes: dict[str, Any] = {}
    warnings = list(model.warnings)
    if model.family in ("encoder", "encoder-decoder", "speech", "vision") and "gated_mlp" not in given:
        changes["gated_mlp"] = False
    if model.family == "encoder" and "tied_embeddings" not in given:
        changes["tied_embeddings"] = True
    if model.components and not model.parameters:
        changes["parameters"] = float(sum(c.parameters for c in model.components))
    model = replace(model, **changes) if changes else model
    if model.family in COUNTED_FAMILIES:
        model = _with_dimensions(model, pointer, given)
    elif model.family == "vision" and model.layers and model.hidden_size:
        model = _with_dimensions(model, pointer, given)
    if not model.parameters:
        raise InputFault.at(f"{pointer}/parameters", "required")
    low, high = limits_of("parameters")
    if model.parameters > high:
        raise InputFault.at(f"{pointer}/parameters", "out_of_range", low=low, high=high)
    changes = {}
    if not model.active_parameters:
        share = 1.0
        if model.is_moe and model.hidden_size:
            share = active_parameter_count(model) / (parameter_count(model) + model.vision_tower_parameters)
        changes["active_parameters"] = model.parameters * min(share, 1.0)
    if not model.embedding_parameters and model.vocab_size and model.hidden_size:
        changes["embedding_parameters"] = float(min(embedding_count(model), model.parameters))
    if model.active_parameters > model.parameters:
        raise InputFault.at(f"{pointer}/active_parameters", "out_of_range", low=1, high=model.parameters)
    if model.is_moe and model.experts_per_token > model.experts:
        raise InputFault.at(f"{pointer}/experts_per_token", "out_of_range", low=1, high=model.experts)
    same = not model.dimensions_assumed and not model.attributes.get("layers_differ")
    if "parameters" in given and same and model.family == "decoder":
        counted = parameter_count(model)
        if counted and abs(counted / (model.parameters - model.vision_tower_parameters + 1) - 1) > 0.10:
            warnings.append("parameters_differ")
    if warnings:
        changes["warnings"] = tuple(dict.fromkeys(warnings))
    return replace(model, **changes) if changes else model


def _with_dimensions(model: ModelArchitecture, pointer: str, given: frozenset[str]) -> ModelArchitecture:
    changes: dict[str, Any] = {}
    if not (model.layers and model.hidden_size):
        if not model.parameters:
            missing = "parameters" if not model.layers and not model.hidden_size else "hidden_size"
            if model.hidden_size and not model.layers:
                missing = "layers"
            raise InputFault.at(f"{pointer}/{missing}", "required")
        pattern = usual_dimensions(model.family, model.parameters, model.active_parameters)
        changes = {k: v for k, v in pattern.items() if k not in given and not getattr(model, k)}
        changes["dimensions_assumed"] = True
        model = replace(model, **changes)
        changes = {}
    if not model.attention_heads:
        head = model.head_dim or (128 if model.hidden_size >= 2048 else 64)
        changes["attention_heads"] = max(1, model.hidden_size // head)
    heads = changes.get("attention_heads", model.attention_heads)
    if not model.head_dim:
        changes["head_dim"] = max(1, model.hidden_size // heads)
    if isinstance(model.kv_heads, tuple):
        if len(model.kv_heads) != model.layers:
            raise InputFault.at(f"{pointer}/kv_heads", "list_length", expected=model.layers)
    elif not model.kv_heads:
        changes["kv_heads"] = heads
    if not model.intermediate_size:
        if model.expert_intermediate_size:
            changes["intermediate_size"] = model.expert_intermediate_size
        else:
            changes["intermediate_size"] = model.hidden_size * (3 if model.gated_mlp else 4)
            changes["dimensions_assumed"] = model.family != "vision" or model.dimensions_assumed
    if model.experts and not model.expert_intermediate_size:
        changes["expert_intermediate_size"] = model.intermediate_size or changes["intermediate_size"]
    if model.experts and not model.experts_per_token:
        changes["experts_per_token"] = min(2, model.experts)
    if not model.vocab_size and model.family in ("decoder", "encoder", "encoder-decoder"):
        changes["vocab_size"] = 30_522 if model.family == "encoder" else 32_128
        changes["dimensions_assumed"] = True
    for name in ("full_attention_layers", "linear_attention_layers", "dense_layers", "expert_every"):
        if (getattr(model, name) or 0) > model.layers:
            raise InputFault.at(f"{pointer}/{name}", "out_of_range", low=0, high=model.layers)
    if {"attention_heads", "kv_heads"} <= given:
        groups = model.kv_heads if isinstance(model.kv_heads, tuple) else (model.kv_heads,)
        uneven = next((k for k in groups if k and k <= heads and heads % k), 0)
        if uneven:
            params = {"kv_heads": uneven, "heads": heads}
            raise InputFault.at(f"{pointer}/kv_heads", "kv_heads_do_not_divide", **params)
    highest = max(model.kv_heads) if isinstance(model.kv_heads, tuple) else model.kv_heads
    if highest > heads:
        raise InputFault.at(f"{pointer}/kv_heads", "out_of_range", low=1, high=heads)
    if model.family in ("encoder-decoder", "speech") and not model.encoder_layers:
        changes["encoder_layers"] = model.layers
    model = replace(model, **changes) if changes else model
    if not model.parameters:
        counted = parameter_count(model) + model.vision_tower_parameters
        model = replace(model, parameters=float(counted))
    return model
