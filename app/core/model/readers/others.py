"""config.json of models other than decoders: encoders, speech, transformers and networks for images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.core.faults import InputFault
from app.core.model.readers.bounded import Config

Fields = dict[str, Any]


def bert(config: Config, kind: str) -> Fields:
    """BERT, RoBERTa, XLM-R, ELECTRA, ALBERT, DistilBERT."""
    layers = config.integer("num_hidden_layers", "n_layers", limit="layers")
    hidden = config.integer("hidden_size", "dim", limit="hidden_size")
    positions = config.integer("max_position_embeddings", default=512)
    attributes: Fields = {"type_vocab": config.integer("type_vocab_size", default=2)}
    if kind == "distilbert":
        attributes.update(type_vocab=0, pooler=False)
    if kind in ("electra", "deberta-v2"):
        attributes["pooler"] = False
    if kind in ("electra", "albert"):
        attributes["embedding_size"] = config.integer("embedding_size", default=128)
    if kind == "albert":
        attributes["shared_layers"] = config.integer("num_hidden_groups", default=1)
    return {
        "family": "encoder",
        "layers": layers,
        "hidden_size": hidden,
        "attention_heads": config.integer("num_attention_heads", "n_heads", limit="attention_heads"),
        "intermediate_size": config.integer("intermediate_size", "hidden_dim", limit="intermediate_size"),
        "vocab_size": config.integer("vocab_size", limit="vocab_size"),
        "max_context": positions - (2 if kind in ("roberta", "xlm-roberta", "camembert") else 0),
        "learned_positions": positions,
        "gated_mlp": False,
        "tied_embeddings": True,
        "attributes": attributes,
    }


def t5(config: Config, _kind: str) -> Fields:
    """T5, T5 v1.1, Flan-T5, mT5, UL2."""
    gated = "gated" in config.text("feed_forward_proj", "relu")
    layers = config.integer("num_layers", limit="layers")
    hidden = config.integer("d_model", limit="hidden_size")
    return {
        "family": "encoder-decoder",
        "layers": config.integer("num_decoder_layers", default=layers),
        "encoder_layers": layers,
        "hidden_size": hidden,
        "attention_heads": config.integer("num_heads", limit="attention_heads"),
        "head_dim": config.integer("d_kv", default=64),
        "intermediate_size": config.integer("d_ff", limit="intermediate_size"),
        "vocab_size": config.integer("vocab_size", default=32_128),
        "gated_mlp": gated,
        "tied_embeddings": config.flag("tie_word_embeddings", True),
        "max_context": config.integer("n_positions", default=512),
    }


def vit(config: Config, _kind: str) -> Fields:
    """ViT, DeiT, BEiT as classifiers; the head counts the labels of the config."""
    size = config.integer("image_size", default=224)
    labels = config.items("id2label") if isinstance(config.values.get("id2label"), list) else []
    named = config.inner("id2label") if not labels and config.has("id2label") else None
    classes = len(labels) or (len(named.values) if named is not None else 0)
    return {
        "family": "vision",
        "layers": config.integer("num_hidden_layers", limit="layers"),
        "hidden_size": config.integer("hidden_size", limit="hidden_size"),
        "attention_heads": config.integer("num_attention_heads", limit="attention_heads"),
        "intermediate_size": config.integer("intermediate_size", limit="intermediate_size"),
        "image_size": (size, size),
        "patch_size": config.integer("patch_size", default=16),
        "gated_mlp": False,
        "backbone": "vit",
        "head": "classifier",
        "attributes": {"classes": classes or config.integer("num_labels", default=1000)},
    }


def whisper(config: Config, _kind: str) -> Fields:
    """Whisper and its distilled versions."""
    return {
        "family": "speech",
        "layers": config.integer("decoder_layers", limit="layers"),
        "encoder_layers": config.integer("encoder_layers", limit="layers"),
        "hidden_size": config.integer("d_model", limit="hidden_size"),
        "attention_heads": config.integer("decoder_attention_heads", limit="attention_heads"),
        "intermediate_size": config.integer("decoder_ffn_dim", limit="intermediate_size"),
        "vocab_size": config.integer("vocab_size", default=51_865),
        "max_context": config.integer("max_target_positions", default=448),
        "gated_mlp": False,
        "tied_embeddings": True,
        "attributes": {
            "mel_bins": config.integer("num_mel_bins", default=80),
            "audio_positions": config.integer("max_source_positions", default=1500),
        },
    }


OTHERS: dict[str, Callable[[Config, str], Fields]] = {
    **dict.fromkeys(
        "bert roberta xlm-roberta camembert electra albert distilbert megatron-bert".split(), bert
    ),
    **dict.fromkeys(("t5", "mt5", "umt5"), t5),
    **dict.fromkeys(("vit", "deit", "beit"), vit),
    "whisper": whisper,
}


def _labels(config: Config) -> int:
    named = config.inner("id2label") if isinstance(config.values.get("id2label"), dict) else None
    return (len(named.values) if named is not None else 0) or config.integer("num_labels", default=1000)


def _widths(config: Config, name: str, default: tuple[int, ...]) -> list[int]:
    values = config.items(name) or list(default)
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 100_000:
            raise InputFault.at(f"{config.pointer}/{name}", "not_whole")
    return values


def _stages(config: Config, widths: list[int], default: tuple[int, ...]) -> list[int]:
    depths = _widths(config, "depths", default)
    if len(depths) != len(widths):
        raise InputFault.at(f"{config.pointer}/depths", "list_length", expected=len(widths))
    return depths


def _image(config: Config) -> tuple[int, int]:
    size = config.integer("image_size", default=224)
    return size, size


def resnet(config: Config, _kind: str) -> Fields:
    """ResNet of basic or bottleneck blocks (torchvision's counts)."""
    widths = _widths(config, "hidden_sizes", (256, 512, 1024, 2048))
    depths = _stages(config, widths, (3, 4, 6, 3))
    stem = config.integer("embedding_size", default=64)
    basic = config.text("layer_type", "bottleneck") == "basic"
    count, inner = 7 * 7 * 3 * stem + 2 * stem, stem
    for index, (width, depth) in enumerate(zip(widths, depths, strict=True)):
        for block in range(depth):
            first = block == 0
            if basic:
                count += 9 * inner * width + 9 * width * width + 4 * width
            else:
                middle = width // 4
                count += inner * middle + 9 * middle * middle + middle * width + 4 * middle + 2 * width
            if first and (index > 0 or inner != width):
                count += inner * width + 2 * width
            inner = width
    labels = _labels(config)
    return {
        "family": "vision",
        "parameters": count + inner * labels + labels,
        "backbone": "resnet",
        "head": "classifier",
        "normalization": "batch",
        "image_size": _image(config),
    }


def convnext(config: Config, _kind: str) -> Fields:
    """ConvNeXt."""
    widths = _widths(config, "hidden_sizes", (96, 192, 384, 768))
    depths = _stages(config, widths, (3, 3, 9, 3))
    count = 48 * widths[0] + 3 * widths[0]
    for index, (c, depth) in enumerate(zip(widths, depths, strict=True)):
        if index:
            before = widths[index - 1]
            count += 2 * before + 4 * before * c + c
        count += depth * (49 * c + c + 2 * c + 8 * c * c + 4 * c + c + c)
    last, labels = widths[-1], _labels(config)
    return {
        "family": "vision",
        "parameters": count + 2 * last + last * labels + labels,
        "backbone": "convnext",
        "head": "classifier",
        "normalization": "layer",
        "image_size": _image(config),
    }


def swin(config: Config, kind: str) -> Fields:
    """Swin Transformer (version 1 exactly; version 2 has small position networks beside)."""
    width = config.integer("embed_dim", default=96)
    depths = _widths(config, "depths", (2, 2, 6, 2))
    heads = _widths(config, "num_heads", (3, 6, 12, 24))
    if len(heads) != len(depths):
        raise InputFault.at(f"{config.pointer}/num_heads", "list_length", expected=len(depths))
    window = config.integer("window_size", default=7)
    patch = config.integer("patch_size", default=4)
    count, c = patch * patch * 3 * width + width + 2 * width, width
    for index, (depth, head) in enumerate(zip(depths, heads, strict=True)):
        if index:
            count += 8 * c + 8 * c * c
            c *= 2
        count += depth * (12 * c * c + 13 * c + (2 * window - 1) ** 2 * head)
    labels = _labels(config)
    return {
        "family": "vision",
        "parameters": count + 2 * c + c * labels + labels,
        "backbone": "swinv2" if kind == "swinv2" else "swin",
        "head": "classifier",
        "normalization": "layer",
        "image_size": _image(config),
    }


def clip(config: Config, _kind: str) -> Fields:
    """CLIP: both towers and their projections; activations follow the image tower."""
    vision = config.inner("vision_config") or Config({}, config.pointer)
    text = config.inner("text_config") or Config({}, config.pointer)
    projection = config.integer("projection_dim", default=512)
    h = vision.integer("hidden_size", default=768)
    layers = vision.integer("num_hidden_layers", default=12)
    width = vision.integer("intermediate_size", default=4 * h)
    size = vision.integer("image_size", default=224)
    patch = max(1, vision.integer("patch_size", default=32))
    tokens = (size // patch) ** 2 + 1
    image_count = 3 * patch * patch * h + h + tokens * h + layers * _block(h, width) + 4 * h + h * projection
    t = text.integer("hidden_size", default=512)
    text_layers = text.integer("num_hidden_layers", default=12)
    vocab = text.integer("vocab_size", default=49_408)
    positions = text.integer("max_position_embeddings", default=77)
    text_width = text.integer("intermediate_size", default=4 * t)
    text_count = (vocab + positions) * t + text_layers * _block(t, text_width) + 2 * t + t * projection
    return {
        "family": "vision",
        "parameters": image_count + text_count + 1,
        "layers": layers,
        "hidden_size": h,
        "attention_heads": vision.integer("num_attention_heads", default=max(1, h // 64)),
        "intermediate_size": width,
        "image_size": (size, size),
        "patch_size": patch,
        "backbone": "vit",
        "head": "clip",
    }


def _block(hidden: int, width: int) -> int:
    return 4 * hidden * hidden + 4 * hidden + 2 * hidden * width + width + hidden + 4 * hidden


IMAGES: dict[str, Callable[[Config, str], Fields]] = {
    "resnet": resnet,
    "convnext": convnext,
    **dict.fromkeys(("swin", "swinv2"), swin),
    "clip": clip,
}
