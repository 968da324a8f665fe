"""Files of several models in one: which part is the language model, which holds the towers."""

from __future__ import annotations

from app.core.faults import InputFault
from app.core.model.readers.bounded import Config
from app.core.model.readers.class_defaults import CLASS_DEFAULTS

MAX_DEPTH = 12
PARTS = ("text_config", "llm_config", "language_config", "thinker_config", "text_model_config")
"""Where the language model stands, the most usual first."""
TOWERS = ("vision_config", "vision_tower", "audio_config", "visual", "vit_config", "mm_vision_tower")


def text_part(outer: Config, depth: int = 0) -> tuple[Config, list[str]]:
    """The language model of a file, with the defaults of its class, and what is left to count.

    Errors
    ------
    InputFault `config_too_deep` where parts stand in parts without end.
    """
    if depth > MAX_DEPTH:
        raise InputFault.at(outer.pointer, "config_too_deep", limit=MAX_DEPTH)
    left = ["vision_tower_not_counted"]
    for name in PARTS:
        part = outer.inner(name)
        if part is None:
            continue
        nested, inside = text_part(part, depth + 1)
        merged = {**CLASS_DEFAULTS.get(nested.text("model_type"), {}), **nested.values}
        if nested.values.get("tie_word_embeddings") is None and outer.has("tie_word_embeddings"):
            merged["tie_word_embeddings"] = outer.values["tie_word_embeddings"]
        for key in ("vocab_size",):
            if merged.get(key) is None and outer.has(key):
                merged[key] = outer.values[key]
        return Config(merged, nested.pointer, nested.seen), left if outer.has(*TOWERS) else inside
    return outer, left if outer.has("vision_config", "visual") else []


def holder_of_towers(outer: Config) -> tuple[Config, Config | None]:
    """The object with the vision tower: the file itself, or the thinking part of a model that also speaks."""
    thinker = outer.inner("thinker_config") if not outer.has("vision_config") else None
    holder = thinker or outer
    if thinker is not None and not thinker.text("model_type"):
        kind = outer.text("model_type") + "_thinker"
        holder = Config({"model_type": kind, **thinker.given()}, thinker.pointer, thinker.seen)
    return holder, holder.inner("vision_config")
