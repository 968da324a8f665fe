"""Parameters of the vision tower and its projector from the `vision_config` of a multimodal config.json."""

from __future__ import annotations

from collections.abc import Callable

from app.core.model.readers.bounded import Config

_WIDTH = ("embed_dim", "hidden_size", "width", "vt_hidden_size")
_DEPTH = ("depth", "num_hidden_layers", "layers", "vt_num_hidden_layers")
Counter = Callable[[Config, Config, int], int]
"""(whole file, vision_config, width of the language model) -> parameters of tower and projector."""


def tower_count(outer: Config, vision: Config, text_width: int) -> tuple[float, bool] | None:
    """Parameters beside the language model that images need.

    Parameters
    ----------
    outer: the file. vision: its `vision_config`.
    text_width: hidden size of the language model, which the projector leads to.

    Returns
    -------
    (count, whether the architecture is known); None where the dimensions are not stated.

    Errors
    ------
    InputFault where a dimension is out of range.

    Notes
    -----
    Known types are counted tensor by tensor and meet the published totals exactly. Of an unknown type the
    blocks of a plain ViT are counted, without its projector.

    References
    ----------
    1. Modelling code of transformers 5 and of OpenGVLab/InternVL; totals of the safetensors files of
       Qwen2-VL, Qwen2.5-VL, Qwen3-VL, Gemma 3, Llama 3.2 Vision, Llama 4, InternVL 2.5, Mistral Small 3.1
       and LLaVA 1.5 (read 2026-11-30).
    """
    vision = with_class_defaults(outer, vision)
    if not (vision.has(*_WIDTH) and vision.has(*_DEPTH)):
        return None
    kind = outer.text("model_type")
    counter = COUNTERS.get(kind)
    if counter is None:
        return float(_plain_blocks(vision)), False
    return float(counter(outer, vision, text_width)), True


_DEFAULTS: dict[str, dict[str, int]] = {
    "qwen2_vl": {"depth": 32, "embed_dim": 1280, "num_heads": 16, "mlp_ratio": 4, "spatial_merge_size": 2},
    "qwen2_5_vl": {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "spatial_merge_size": 2},
}
"""What files leave to the class of the tower: those of quantized checkpoints state next to nothing."""


def with_class_defaults(outer: Config, vision: Config) -> Config:
    """The tower with what its class says where the file does not, for files that name their kind of tower."""
    kind = outer.text("model_type")
    if vision.text("model_type") != kind:
        return vision
    return Config({**_DEFAULTS.get(kind, {}), **vision.given()}, vision.pointer, vision.seen)


def audio_count(audio: Config, text_width: int) -> float | None:
    """Parameters of an audio tower of Whisper's kind with its projector; None where no size is stated."""
    names = (("d_model", "hidden_size"), ("encoder_layers", "num_hidden_layers"))
    if not all(audio.has(*each) for each in names):
        return None
    width = audio.integer(*names[0], limit="hidden_size")
    layers = audio.integer(*names[1], limit="layers")
    inner = audio.integer("encoder_ffn_dim", "intermediate_size", default=4 * width)
    mels = audio.integer("num_mel_bins", default=128)
    stem = 3 * mels * width + 3 * width * width + 2 * width
    return float(stem + layers * _block(width, inner) + _linear(width, text_width))


def _linear(inputs: int, outputs: int, bias: bool = True) -> int:
    return inputs * outputs + (outputs if bias else 0)


def _width(vision: Config) -> int:
    return vision.integer(*_WIDTH, limit="hidden_size")


def _depth(vision: Config) -> int:
    return vision.integer(*_DEPTH, limit="layers")


def _inner(vision: Config, default: int = 0) -> int:
    names = ("intermediate_size", "vt_intermediate_size")
    return vision.integer(*names, default=default or 4 * _width(vision))


def _side(vision: Config, name: str, default: int) -> int:
    """A size in pixels that some files state for both sides."""
    value = vision.values.get(name)
    if isinstance(value, list | tuple) and value:
        return Config({name: value[0]}, vision.pointer).integer(name)
    return vision.integer(name, default=default)


def _patches(vision: Config, size: int, patch: int) -> int:
    side = _side(vision, "image_size", size) // max(1, _side(vision, "patch_size", patch))
    return side * side


def _patch_weights(vision: Config, patch: int, bias: bool, frames: int = 1) -> int:
    side = _side(vision, "patch_size", patch)
    channels = vision.integer("in_channels", "in_chans", "num_channels", default=3)
    return _linear(channels * frames * side * side, _width(vision), bias)


def _block(width: int, inner: int) -> int:
    """Attention and MLP with biases, two LayerNorms."""
    return 4 * _linear(width, width) + _linear(width, inner) + _linear(inner, width) + 4 * width


def _plain_blocks(vision: Config) -> int:
    return _depth(vision) * _block(_width(vision), _inner(vision))


def _merger(width: int, merged: int, outputs: int, norm: int) -> int:
    """Qwen's patch merger: a norm and two linear layers over neighbouring patches."""
    return norm + _linear(width * merged, width * merged) + _linear(width * merged, outputs)


def _qwen2(_outer: Config, vision: Config, text_width: int) -> int:
    width, merged = _width(vision), vision.integer("spatial_merge_size", default=2) ** 2
    frames = vision.integer("temporal_patch_size", default=2)
    inner = width * vision.integer("mlp_ratio", default=4)
    blocks = _depth(vision) * _block(width, inner)
    return _patch_weights(vision, 14, False, frames) + blocks + _merger(width, merged, text_width, 2 * width)


def _qwen2_5(_outer: Config, vision: Config, text_width: int) -> int:
    width, merged = _width(vision), vision.integer("spatial_merge_size", default=2) ** 2
    inner, frames = _inner(vision), vision.integer("temporal_patch_size", default=2)
    gated = 2 * _linear(width, inner) + _linear(inner, width)
    blocks = _depth(vision) * (4 * _linear(width, width) + gated + 2 * width)
    outputs = vision.integer("out_hidden_size", default=text_width)
    return _patch_weights(vision, 14, False, frames) + blocks + _merger(width, merged, outputs, width)


def _qwen3(_outer: Config, vision: Config, text_width: int) -> int:
    width, merged = _width(vision), vision.integer("spatial_merge_size", default=2) ** 2
    frames = vision.integer("temporal_patch_size", default=2)
    outputs = vision.integer("out_hidden_size", default=text_width)
    positions = vision.integer("num_position_embeddings", default=2304) * width
    # The mergers of inner layers normalise after the patches are joined.
    deep = len(vision.items("deepstack_visual_indexes"))
    mergers = _merger(width, merged, outputs, 2 * width)
    mergers += deep * _merger(width, merged, outputs, 2 * width * merged)
    return _patch_weights(vision, 16, True, frames) + positions + _plain_blocks(vision) + mergers


def _siglip(vision: Config) -> int:
    width = _width(vision)
    stem = _patch_weights(vision, 14, True) + _patches(vision, 896, 14) * width
    return stem + _plain_blocks(vision) + 2 * width


def _clip(vision: Config) -> int:
    width = _width(vision)
    stem = width + _patch_weights(vision, 14, False) + (_patches(vision, 336, 14) + 1) * width
    return stem + _plain_blocks(vision) + 4 * width


def _pixtral(vision: Config) -> int:
    width, inner = _width(vision), _inner(vision)
    blocks = _depth(vision) * (4 * width * width + 3 * width * inner + 2 * width)
    return _patch_weights(vision, 14, False) + width + blocks


def _gemma3(_outer: Config, vision: Config, text_width: int) -> int:
    width = _width(vision)
    return _siglip(vision) + width * text_width + width


def _llava(outer: Config, vision: Config, text_width: int) -> int:
    kind = vision.text("model_type")
    tower = _siglip if "siglip" in kind else _pixtral if kind == "pixtral" else _clip
    bias = outer.flag("multimodal_projector_bias", True)
    line = text_width if outer.text("model_type") != "llava" else 0  # a learned end of line
    projector = _linear(_width(vision), text_width, bias) + _linear(text_width, text_width, bias)
    return tower(vision) + projector + line


def _mistral3(outer: Config, vision: Config, text_width: int) -> int:
    width, merged = _width(vision), outer.integer("spatial_merge_size", default=2) ** 2
    bias = outer.flag("multimodal_projector_bias", False)
    projector = _linear(width, text_width, bias) + _linear(text_width, text_width, bias)
    return _pixtral(vision) + width + width * merged * width + projector


def _mllama(_outer: Config, vision: Config, text_width: int) -> int:
    width, inner = _width(vision), _inner(vision)
    tiles = vision.integer("max_num_tiles", default=4)
    ratios = len(vision.items("supported_aspect_ratios")) + 1 if vision.has("supported_aspect_ratios") else 9
    positions = _patches(vision, 448, 14) + 1
    stem = width + _patch_weights(vision, 14, False) + 4 * width
    stem += positions * width + 1 + ratios * tiles * positions * width
    stem += 2 * (ratios * tiles * width + 1)
    block = 4 * width * width + _linear(width, inner) + _linear(inner, width) + 4 * width
    gated = vision.integer("num_global_layers", default=8)
    outputs = vision.integer("vision_output_dim", default=6 * width)
    return stem + (_depth(vision) + gated) * block + 2 * gated + _linear(outputs, text_width)


def _llama4(_outer: Config, vision: Config, text_width: int) -> int:
    width = _width(vision)
    stem = width + _patch_weights(vision, 14, False) + (_patches(vision, 336, 14) + 1) * width + 4 * width
    inputs = vision.integer("projector_input_dim", default=4096)
    outputs = vision.integer("projector_output_dim", default=inputs)
    adapter = _inner(vision) * inputs + outputs * outputs
    final = vision.integer("vision_output_dim", default=outputs)
    return stem + _plain_blocks(vision) + adapter + final * text_width


def _internvl(outer: Config, vision: Config, text_width: int) -> int:
    width, inner = _width(vision), _inner(vision)
    norm = width if vision.text("norm_type") == "rms_norm" else 2 * width
    bias = vision.flag("qkv_bias", vision.flag("attention_bias", True))
    attention = 3 * _linear(width, width, bias) + _linear(width, width)
    if vision.flag("qk_normalization") or vision.flag("use_qk_norm"):
        attention += 2 * width
    # Each of the two parts of a block ends in a learned scale.
    block = attention + _linear(width, inner) + _linear(inner, width) + 2 * norm + 2 * width
    stem = width + _patch_weights(vision, 14, True) + (_patches(vision, 448, 14) + 1) * width
    ratio = outer.values.get("downsample_ratio", 0.5)
    joined = round(width / ratio**2) if isinstance(ratio, float) and 0.1 <= ratio <= 1.0 else 4 * width
    projector = 2 * joined + _linear(joined, text_width) + _linear(text_width, text_width)
    return stem + _depth(vision) * block + projector


def _glm4v(_outer: Config, vision: Config, text_width: int) -> int:
    width, inner = _width(vision), vision.integer("out_hidden_size", default=text_width)
    merged = vision.integer("intermediate_size", default=13_696)
    blocks = _depth(vision) * (4 * width * width + 3 * width * inner + 2 * width)
    frames, merge = (
        vision.integer("temporal_patch_size", default=2),
        vision.integer("spatial_merge_size", default=2),
    )
    stem = _patch_weights(vision, 14, True, frames) + _patches(vision, 336, 14) * width + 2 * width
    merger = inner * inner + 2 * inner + 3 * inner * merged
    return stem + blocks + merger + _linear(width * merge * merge, inner)


def _idefics3(outer: Config, vision: Config, text_width: int) -> int:
    joined = _width(vision) * outer.integer("scale_factor", default=2) ** 2
    return _siglip(vision) + joined * text_width


COUNTERS: dict[str, Counter] = {
    "qwen2_vl": _qwen2,
    "qwen2_5_vl": _qwen2_5,
    **dict.fromkeys(("qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"), _qwen3),
    "qwen2_5_omni_thinker": _qwen2_5,
    "qwen3_omni_moe_thinker": _qwen3,
    **dict.fromkeys(("glm4v", "glm4v_moe", "glm46v", "glmga"), _glm4v),
    "gemma3": _gemma3,
    **dict.fromkeys(("llava", "llava_next", "llava_onevision"), _llava),
    "mistral3": _mistral3,
    "mllama": _mllama,
    "llama4": _llama4,
    **dict.fromkeys(("internvl_chat", "internvl"), _internvl),
    **dict.fromkeys(("idefics3", "smolvlm"), _idefics3),
}
"""By `model_type` of the whole file."""
