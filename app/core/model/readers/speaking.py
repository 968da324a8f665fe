"""What models that speak carry beside the language model: a talker, and the decoder of its codes."""

from __future__ import annotations

from app.core.model.architecture import architecture_from_fields
from app.core.model.readers.bounded import Config
from app.core.model.readers.decoders import llama_like
from app.core.model.readers.nested import text_part

TOKEN_TO_WAVE = 449_051_264
"""Diffusion decoder and vocoder of Qwen2.5-Omni, the same in all sizes (transformers 5.24)."""


def talker_count(outer: Config) -> float:
    """Parameters of the speaking parts of an omni model; 0 where it has none, or its file switches them off.

    Notes
    -----
    Engines that answer in text alone leave them out; transformers loads them unless `enable_audio_output` is
    false.
    """
    talker = outer.inner("talker_config")
    if talker is None or not outer.flag("enable_audio_output", True):
        return 0.0
    part, _ = text_part(talker)
    count = _count(part, "qwen3_moe" if part.has("num_experts", "num_local_experts") else "qwen2")
    predictor = talker.inner("code_predictor_config")
    if predictor is not None:
        count += _count(predictor, "qwen3")
        books = max(0, predictor.integer("num_code_groups", default=16) - 2)
        width = predictor.integer("hidden_size", limit="hidden_size")
        # One table and one head for each further book of codes.
        count += 2 * books * predictor.integer("vocab_size", default=2048) * width
    decoder = outer.inner("code2wav_config")
    if decoder is not None:
        width = decoder.integer("hidden_size", default=1024, limit="hidden_size")
        inner = decoder.integer("intermediate_size", default=3072, limit="intermediate_size")
        layers = decoder.integer("num_hidden_layers", default=8, limit="layers")
        count += layers * (4 * width * width + 3 * width * inner)
    elif outer.has("token2wav_config"):
        count += TOKEN_TO_WAVE
    return count


def _count(part: Config, kind: str) -> float:
    fields = llama_like(part, kind)
    fields.pop("extra_parameters", 0)
    return architecture_from_fields(
        {k: v for k, v in fields.items() if v not in (0, None)}, part.pointer
    ).parameters
