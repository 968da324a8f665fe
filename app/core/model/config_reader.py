"""Reading a Hugging Face config.json into an architecture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.core.estimates import Message
from app.core.faults import InputFault
from app.core.model.architecture import ModelArchitecture, architecture_from_fields
from app.core.model.doubts import differs_from_name, keys_not_read, precision_of_name
from app.core.model.quantization.checkpoint import stored_of
from app.core.model.quantization.methods import quantization_of
from app.core.model.readers.bounded import POINTER, Config, check_bounds, in_words_of_file
from app.core.model.readers.decoders import DECODERS, llama_like
from app.core.model.readers.gemma import GEMMA
from app.core.model.readers.hybrids import HYBRIDS
from app.core.model.readers.linear import LINEAR
from app.core.model.readers.nested import holder_of_towers, text_part
from app.core.model.readers.others import IMAGES, OTHERS
from app.core.model.readers.sparse import SPARSE
from app.core.model.readers.speaking import talker_count
from app.core.model.readers.state_space import STATE_SPACE
from app.core.model.readers.towers import audio_count, tower_count

WHOLE = ("clip",)
"""Types whose text part is no language model of its own."""
READERS = {**DECODERS, **HYBRIDS, **STATE_SPACE, **LINEAR, **GEMMA, **SPARSE, **OTHERS, **IMAGES}
BY_KEY: Mapping[str, str] = {
    "hybrid_override_pattern": "nemotron_h",
    "linear_attn_config": "kimi_linear",
    "compress_ratios": "deepseek_v4",
    "block_configs": "nemotron-nas",
    "mamba_d_ssm": "falcon_h1",
    "attn_layer_period": "jamba",
    "num_mem_blocks": "zamba2",
    "conv_L_cache": "lfm2",
    "num_kv_shared_layers": "gemma4_text",
    "lru_width": "recurrent_gemma",
    "time_step_rank": "mamba",
}
"""Keys that only one layout has: an unknown type that states one is read like it."""
FIXED_TOWERS: Mapping[str, float] = {"gemma3n": 983_281_504.0}
"""Image and audio towers that every release of a kind shares and no file sizes (transformers 5.24)."""
_SET_AFTERWARDS = ("modules", "extra_parameters")


def read_config(
    config: Mapping[str, Any],
    name: str = "",
    parameters: float | None = None,
    pointer: str = POINTER,
) -> ModelArchitecture:
    """An architecture from a config.json.

    Parameters
    ----------
    config: the parsed file, untrusted.
    name: what to call the model; else the file's own name.
    parameters: published count; wins over the count from dimensions.
    pointer: JSON pointer of the object, for the faults.

    Returns
    -------
    The architecture; `native_precision` and `stored` from `quantization_config`, `warnings` where the
    reading is generic, `notes` where a key was not understood, a method is unknown, or the size in the name
    is another.

    Errors
    ------
    InputFault: not an object, too deep or too large, a needed dimension missing or out of range, a
    `model_type` that is unknown while its dimensions do not suffice. Keys that no reader uses never fail.

    Notes
    -----
    Multimodal files: `text_config` (or `llm_config`, `language_config`) is read; the vision tower is counted
    from `vision_config` where that states its dimensions. Where it does not, the tower is what `parameters`
    leaves over, or, without them, left out with the warning `vision_tower_not_counted`; a tower of an unknown
    type is counted as a plain one, with `vision_tower_estimated`. An unknown `model_type` is read by the keys
    that only one layout has, else, with all needed dimensions, as a Llama-like decoder, with
    `unknown_model_type`. Faults name the keys of the file.
    """
    if not isinstance(config, Mapping):
        raise InputFault.at(pointer, "not_an_object")
    check_bounds(config, pointer)
    outer = Config(config, pointer)
    inner, warnings = text_part(outer)
    kind = inner.text("model_type") or outer.text("model_type")
    if outer.text("model_type") in WHOLE:
        inner, warnings, kind = outer, [], outer.text("model_type")
    notes: list[Message] = []
    fields = _read(inner, kind, warnings, notes)
    fields["name"] = (name or outer.text("_name_or_path") or kind)[:200]
    if parameters is not None:
        fields["parameters"] = parameters
    tower = _tower(outer, fields, warnings) + talker_count(outer)
    try:
        model = _made(fields, tower, parameters, warnings, pointer)
    except InputFault as fault:
        raise in_words_of_file(fault, pointer, inner) from fault
    model = _with_checkpoint(model, outer, inner, notes)
    notes += differs_from_name(model, name)
    if name and not model.native_precision:
        notes += precision_of_name(name)
    return replace(model, notes=tuple(notes)) if notes else model


def _read(inner: Config, kind: str, warnings: list[str], notes: list[Message]) -> dict[str, Any]:
    """Fields by the reader of the kind, or of the layout whose keys the file has."""
    reader = READERS.get(kind)
    if reader is not None:
        fields = reader(inner, kind)
    else:
        warnings.append("unknown_model_type")
        like = next((READERS[known] for key, known in BY_KEY.items() if inner.has(key)), None)
        fields = _generic(inner, kind) if like is None else like(inner, kind)
    notes += keys_not_read(inner, fields)
    return {
        key: value
        for key, value in fields.items()
        if key in ("family", "full_attention_layers", *_SET_AFTERWARDS) or not _unset(value)
    }


def _made(
    fields: dict[str, Any], tower: float, parameters: float | None, warnings: list[str], pointer: str
) -> ModelArchitecture:
    """The architecture of what was read: counts that dimensions do not say are added to theirs."""
    modules = fields.pop("modules", ())
    extra = fields.pop("extra_parameters", 0)
    counted = "parameters" in fields and parameters is None
    if tower and parameters is None:
        fields["vision_tower_parameters"] = tower
        if counted:
            fields["parameters"] = fields["parameters"] + tower
    if parameters is not None:
        fields.pop("active_parameters", None)
    if warnings:
        fields["warnings"] = tuple(warnings)
    model = architecture_from_fields(fields, pointer)
    if counted:
        # The reader counted layer by layer what no single set of dimensions says.
        model = replace(model, warnings=tuple(w for w in model.warnings if w != "parameters_differ"))
    if extra and parameters is None:
        model = replace(
            model, parameters=model.parameters + extra, active_parameters=model.active_parameters + extra
        )
    if parameters is not None and tower:
        fields["vision_tower_parameters"] = min(tower, parameters)
        model = architecture_from_fields(fields, pointer)
    elif parameters is not None and "vision_tower_not_counted" in warnings:
        rest = architecture_from_fields(
            {k: v for k, v in fields.items() if k not in ("parameters", "warnings")}, pointer
        )
        fields["vision_tower_parameters"] = max(0.0, parameters - rest.parameters - extra)
        fields["warnings"] = tuple(w for w in warnings if w != "vision_tower_not_counted")
        model = architecture_from_fields(fields, pointer)
    return replace(model, modules=modules) if modules else model


def _with_checkpoint(
    model: ModelArchitecture, outer: Config, inner: Config, notes: list[Message]
) -> ModelArchitecture:
    """How the file says that the weights are stored."""
    found = quantization_of(outer, inner)
    if found is None:
        return model
    notes += found.notes
    stored = stored_of(model, found, notes)
    return replace(
        model,
        native_precision=found.precision,
        native_kv_precision=found.kv_precision,
        stored=stored,
    )


def _tower(outer: Config, fields: Mapping[str, Any], warnings: list[str]) -> float:
    """Parameters of the vision tower, 0 where none is counted; keeps the warnings true."""
    if "vision_tower_not_counted" not in warnings:
        if outer.text("model_type") in FIXED_TOWERS and outer.has("text_config"):
            return FIXED_TOWERS[outer.text("model_type")]
        return 0.0
    holder, vision = holder_of_towers(outer)
    if holder.text("model_type") in FIXED_TOWERS:
        warnings.remove("vision_tower_not_counted")
        return FIXED_TOWERS[holder.text("model_type")]
    found = tower_count(holder, vision, fields["hidden_size"]) if vision is not None else None
    if found is None:
        return 0.0
    warnings.remove("vision_tower_not_counted")
    count, known = found
    if not known:
        warnings.append("vision_tower_estimated")
    audio = holder.inner("audio_config")
    if audio is not None:
        heard = audio_count(audio, fields["hidden_size"])
        if heard is None:
            warnings.append("audio_tower_not_counted")
        count += heard or 0.0
    return count


def _unset(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value == 0)


_LIMIT_OF_KEY = {
    "num_hidden_layers": "layers",
    "hidden_size": "hidden_size",
    "num_attention_heads": "attention_heads",
    "vocab_size": "vocab_size",
}


def _generic(config: Config, kind: str) -> dict[str, Any]:
    needed = ("num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size")
    for name in needed:
        # A dimension out of range is the clearer fault than a type that nobody knows.
        if config.has(name):
            config.integer(name, limit=_LIMIT_OF_KEY.get(name, ""))
    missing = [n for n in needed if not config.has(n)]
    if not config.has("intermediate_size", "moe_intermediate_size"):
        missing.append("intermediate_size")
    if missing:
        raise InputFault.at(
            f"{config.pointer}/model_type", "unknown_model_type", value=kind, missing=tuple(missing)
        )
    return llama_like(config, kind)
