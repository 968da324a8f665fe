"""config.json of encoders, encoder-decoders, vision transformers and speech models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.core.readers.bounded import Config

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
