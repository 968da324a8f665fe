"""Reading a Hugging Face config.json into an architecture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.core import formats
from app.core.faults import InputFault
from app.core.model.architecture import ModelArchitecture, architecture_from_fields
from app.core.model.readers.bounded import POINTER, Config, check_bounds, in_words_of_file
from app.core.model.readers.decoders import DECODERS, llama_like
from app.core.model.readers.hybrids import HYBRIDS
from app.core.model.readers.others import IMAGES, OTHERS
from app.core.model.readers.towers import tower_count

WHOLE = ("clip",)
"""Types whose text part is no language model of its own."""
READERS = {**DECODERS, **HYBRIDS, **OTHERS, **IMAGES}
NESTED_DEFAULTS: dict[str, dict[str, int]] = {
    "llama": {
        "hidden_size": 4096,
        "intermediate_size": 11_008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "vocab_size": 32_000,
    },
    "mistral": {
        "hidden_size": 4096,
        "intermediate_size": 14_336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 32_000,
    },
}
"""What multimodal files leave to the defaults of their language model's class."""


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
    The architecture; `native_precision` from `quantization_config`, `warnings` where the reading is generic.

    Errors
    ------
    InputFault: not an object, too deep or too large, a needed dimension missing or out of range, a
    `model_type` that is unknown while its dimensions do not suffice.

    Notes
    -----
    Multimodal files: `text_config` (or `llm_config`, `language_config`) is read; the vision tower is counted
    from `vision_config` where that states its dimensions. Where it does not, the tower is what `parameters`
    leaves over, or, without them, left out with the warning `vision_tower_not_counted`; a tower of an unknown
    type is counted as a plain one, with `vision_tower_estimated`. An unknown `model_type` with all needed
    dimensions is read as a Llama-like decoder with `unknown_model_type`. Faults name the keys of the file.
    """
    if not isinstance(config, Mapping):
        raise InputFault.at(pointer, "not_an_object")
    check_bounds(config, pointer)
    outer = Config(config, pointer)
    inner, warnings = _text_part(outer)
    kind = inner.text("model_type") or outer.text("model_type")
    if outer.text("model_type") in WHOLE:
        inner, warnings, kind = outer, [], outer.text("model_type")
    reader = READERS.get(kind)
    if reader is None:
        fields = _generic(inner, kind)
        warnings.append("unknown_model_type")
    else:
        fields = reader(inner, kind)
    native = _native_precision(outer) or _native_precision(inner)
    if native:
        fields["native_precision"] = native
    # What a reader counts beside the usual blocks of its family.
    extra_count = fields.pop("extra_parameters", 0)
    fields["name"] = (name or outer.text("_name_or_path") or kind)[:200]
    if parameters is not None:
        fields["parameters"] = parameters
    fields = {key: value for key, value in fields.items() if key == "family" or not _unset(value)}
    tower = _tower(outer, fields, warnings)
    if tower and parameters is None and "parameters" not in fields:
        fields["vision_tower_parameters"] = tower
    if warnings:
        fields["warnings"] = tuple(warnings)
    try:
        model = architecture_from_fields(fields, pointer)
    except InputFault as fault:
        raise in_words_of_file(fault, pointer, inner) from fault
    if parameters is None and "parameters" in fields:
        # The reader counted layer by layer what no single set of dimensions says.
        model = replace(model, warnings=tuple(w for w in model.warnings if w != "parameters_differ"))
    if extra_count and parameters is None:
        model = replace(
            model,
            parameters=model.parameters + extra_count,
            active_parameters=model.active_parameters + extra_count,
        )
    if parameters is not None and tower:
        model = architecture_from_fields(
            {**fields, "vision_tower_parameters": min(tower, parameters)}, pointer
        )
    elif parameters is not None and "vision_tower_not_counted" in warnings:
        counted = architecture_from_fields(
            {k: v for k, v in fields.items() if k not in ("parameters", "warnings")}, pointer
        )
        tower = max(0.0, parameters - counted.parameters - extra_count)
        kept = tuple(w for w in warnings if w != "vision_tower_not_counted")
        model = architecture_from_fields(
            {**fields, "vision_tower_parameters": tower, "warnings": kept}, pointer
        )
    return model


def _tower(outer: Config, fields: Mapping[str, Any], warnings: list[str]) -> float:
    """Parameters of the vision tower, 0 where none is counted; keeps the warnings true."""
    if "vision_tower_not_counted" not in warnings:
        return 0.0
    holder, vision = _holder(outer)
    found = tower_count(holder, vision, fields["hidden_size"]) if vision is not None else None
    if found is None:
        return 0.0
    warnings.remove("vision_tower_not_counted")
    count, known = found
    if not known:
        warnings.append("vision_tower_estimated")
    if holder.has("audio_config"):
        warnings.append("audio_tower_not_counted")
    return count


def _holder(outer: Config) -> tuple[Config, Config | None]:
    """The object with the vision tower: the file itself, or the thinking part of a model that also speaks."""
    thinker = outer.inner("thinker_config") if not outer.has("vision_config") else None
    holder = thinker or outer
    return holder, holder.inner("vision_config")


def _unset(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value == 0)


def _text_part(outer: Config) -> tuple[Config, list[str]]:
    for name in ("text_config", "llm_config", "language_config", "thinker_config"):
        part = outer.inner(name)
        if part is None:
            continue
        nested, _ = _text_part(part)
        merged = {**NESTED_DEFAULTS.get(nested.text("model_type"), {}), **nested.given()}
        if nested.values.get("tie_word_embeddings") is None and outer.has("tie_word_embeddings"):
            merged["tie_word_embeddings"] = outer.values["tie_word_embeddings"]
        towers = outer.has("vision_config", "vision_tower", "audio_config", "visual")
        return Config(merged, nested.pointer), ["vision_tower_not_counted"] if towers else []
    return outer, ["vision_tower_not_counted"] if outer.has("vision_config", "visual") else []


_LIMIT_OF_KEY = {
    "num_hidden_layers": "layers",
    "hidden_size": "hidden_size",
    "num_attention_heads": "attention_heads",
    "vocab_size": "vocab_size",
}


def _generic(config: Config, kind: str) -> dict[str, Any]:
    needed = ("num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size")
    for name in (*needed, "intermediate_size"):
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


def _native_precision(config: Config) -> str:
    quantization = config.inner("quantization_config")
    if quantization is None:
        return ""
    method = quantization.text("quant_method").lower()
    native = formats.of_checkpoint(method)
    if method == "bitsandbytes" and quantization.values.get("load_in_8bit") is True:
        native = "int8"
    if method == "gptq" and quantization.values.get("bits") == 8:
        native = "int8"
    if method == "compressed-tensors":
        text = quantization.text("format")
        native = "fp8" if "float" in text else "int4" if "pack" in text else "int8"
    return native
