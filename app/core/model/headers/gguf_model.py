"""An architecture from the header of a .gguf."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.core import formats
from app.core.estimates import Message
from app.core.faults import InputFault
from app.core.model.architecture import ModelArchitecture, StoredBytes, architecture_from_fields
from app.core.model.headers.gguf import GgufHeader, main_type
from app.core.model.headers.gguf_types import FILE_TYPES

_BLOCK = re.compile(r"blk\.(\d{1,4})\.")
_EXPERTS = ("_exps.", "_exps_")
_USUAL_FILE = {
    "q2_k": "q2_k", "q3_k": "q3_k_m", "q4_k": "q4_k_m", "q5_k": "q5_k_m", "f16": "f16", "bf16": "bf16",
    "f32": "f16", "iq3_s": "iq3_m", "iq2_s": "iq2_m",
}  # fmt: skip
"""Names of files whose tensors are mostly of a type."""


class Metadata:
    """Keys of one architecture, as numbers."""

    def __init__(self, values: Mapping[str, Any], architecture: str) -> None:
        self.values = values
        self.architecture = architecture

    def get(self, name: str) -> Any:
        """The value of a key of the architecture."""
        return self.values.get(f"{self.architecture}.{name}")

    def integer(self, name: str, default: int = 0) -> int:
        """A whole number; of a list its largest; the default where it is none or cannot be."""
        value = self.get(name)
        if isinstance(value, list) and value:
            value = max((v for v in value if isinstance(v, int)), default=default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 10**9:
            return default
        return value

    def integers(self, name: str, layers: int, default: int) -> list[int]:
        """A whole number for each layer."""
        value = self.get(name)
        if isinstance(value, list) and len(value) >= layers:
            return [v if isinstance(v, int) and 0 <= v <= 10**9 else 0 for v in value[:layers]]
        return [self.integer(name, default)] * layers


def model_of_gguf(header: GgufHeader, pointer: str) -> ModelArchitecture:
    """The architecture of a file.

    Parameters
    ----------
    header: of the file. pointer: JSON pointer of the bytes.

    Returns
    -------
    Dimensions by metadata; parameters and bytes by tensors where the header was whole, else by dimensions
    and the type of the file.

    Errors
    ------
    InputFault: `gguf_broken` where the metadata do not say how deep and wide the model is.
    """
    architecture = header.metadata.get("general.architecture")
    meta = Metadata(header.metadata, architecture if isinstance(architecture, str) else "")
    layers, hidden = meta.integer("block_count"), meta.integer("embedding_length")
    if not (0 < layers <= 2_000 and 0 < hidden <= 262_144):
        raise InputFault.at(pointer, "gguf_broken")
    fields, notes = _fields(meta, header, layers, hidden)
    name = header.metadata.get("general.name")
    fields["name"] = (name if isinstance(name, str) else meta.architecture)[:200]
    if header.whole and header.tensors:
        fields["parameters"] = float(sum(t.elements for t in header.tensors))
        fields["active_parameters"] = _active(header, meta)
    try:
        model = architecture_from_fields(fields, pointer)
    except InputFault as fault:
        raise InputFault.at(pointer, "gguf_broken") from fault
    precision = _precision(header)
    stored = _stored(header) if header.whole and header.tensors else None
    if stored is None:
        notes.append(Message("gguf_cut_off"))
    if header.unknown_types:
        notes.append(Message("gguf_type_unknown", {"types": sorted(header.unknown_types)[:6]}))
    return replace(
        model,
        warnings=tuple(w for w in model.warnings if w != "parameters_differ"),
        native_precision=precision,
        stored=stored,
        notes=tuple(notes),
    )


def _fields(
    meta: Metadata, header: GgufHeader, layers: int, hidden: int
) -> tuple[dict[str, Any], list[Message]]:
    heads = max(meta.integers("attention.head_count", layers, 0)) or 1
    growing = _growing(meta, header, layers)
    head = meta.integer("attention.key_length") or max(1, hidden // heads)
    value = meta.integer("attention.value_length") or head
    vocab = meta.integer("vocab_size") or _length(header.metadata.get("tokenizer.ggml.tokens"))
    names = {t.name for t in header.tensors}
    fields: dict[str, Any] = {
        "family": "decoder",
        "layers": layers,
        "hidden_size": hidden,
        "attention_heads": heads,
        "head_dim": head,
        "intermediate_size": meta.integer("feed_forward_length")
        or meta.integer("expert_feed_forward_length")
        or 4 * hidden,
        "vocab_size": vocab or 32_000,
        "tied_embeddings": bool(names) and header.whole and "output.weight" not in names,
        "max_context": meta.integer("context_length"),
    }
    if value != head:
        fields["v_head_dim"] = value
    if meta.integer("attention.kv_lora_rank"):
        rope = meta.integer("rope.dimension_count", 64)
        key = meta.integer("attention.key_length_mla") or head
        fields |= {
            "kv_lora_rank": meta.integer("attention.kv_lora_rank"),
            "q_lora_rank": meta.integer("attention.q_lora_rank"),
            "qk_rope_head_dim": rope,
            "qk_nope_head_dim": max(0, key - rope),
            "v_head_dim": meta.integer("attention.value_length_mla") or value,
            "kv_heads": heads,
        }
    else:
        kept = meta.integers("attention.head_count_kv", layers, heads)
        per_layer = tuple(min(k, heads) if i in growing else 0 for i, k in enumerate(kept))
        same = set(per_layer)
        fields["kv_heads"] = per_layer[0] if len(same) == 1 and per_layer[0] else per_layer
    notes: list[Message] = []
    _windows(meta, fields, layers, growing)
    if len(growing) < layers and not fields.get("sliding_window"):
        fields |= {"full_attention_layers": len(growing), "linear_attention_layers": layers - len(growing)}
        state = _state(meta, hidden)
        fields["linear_state_bytes"] = state * _recurrent_layers(meta, header, layers, growing)
        if not state:
            notes.append(Message("state_not_known"))
    _experts(meta, fields)
    return {k: v for k, v in fields.items() if v is not None and (v != 0 or isinstance(v, bool))}, notes


def _length(value: Any) -> int:
    if isinstance(value, list):
        return len(value)
    return value if isinstance(value, int) and 0 < value <= 10**8 else 0


def _growing(meta: Metadata, header: GgufHeader, layers: int) -> set[int]:
    """Layers with keys: by tensors, else by heads of keys, else by the interval of full attention."""
    if header.tensors and header.whole:
        keyed = _layers_with(header, _KEYS, layers)
        # A gated delta net has a fused projection too, and a state beside.
        return keyed or _layers_with(header, _FUSED, layers) - _layers_with(header, _RECURRENT, layers)
    kept = meta.get("attention.head_count_kv")
    if isinstance(kept, list) and len(kept) >= layers:
        return {i for i, k in enumerate(kept[:layers]) if k}
    interval = meta.integer("full_attention_interval")
    if interval > 1:
        return {i for i in range(layers) if (i + 1) % interval == 0}
    if meta.get("ssm.state_size") is not None and not meta.integer("attention.head_count"):
        return set()
    return set(range(layers))


_KEYS = re.compile(r"attn_(k|kv_a_mqa)\.weight$")
_FUSED = re.compile(r"attn_(kv|qkv)\.weight$")
_RECURRENT = re.compile(r"\.(ssm_|shortconv|time_mix|attn_(g_a|f_a))")


def _layers_with(header: GgufHeader, kind: re.Pattern[str], layers: int) -> set[int]:
    """The layers that have a tensor of a kind."""
    found = set()
    for tensor in header.tensors:
        place = _BLOCK.match(tensor.name)
        if place and int(place[1]) < layers and kind.search(tensor.name):
            found.add(int(place[1]))
    return found


def _recurrent_layers(meta: Metadata, header: GgufHeader, layers: int, growing: set[int]) -> int:
    """Layers with a state: by tensors, else those with neither keys nor, where it is told, an MLP."""
    if header.tensors and header.whole:
        return len(_layers_with(header, _RECURRENT, layers))
    rest = [i for i in range(layers) if i not in growing]
    widths = meta.integers("feed_forward_length", layers, 0)
    mixers = [i for i in rest if not widths[i]]
    return len(mixers) if mixers and any(widths) else len(rest)


def _windows(meta: Metadata, fields: dict[str, Any], layers: int, growing: set[int]) -> None:
    window = meta.integer("attention.sliding_window")
    if not window or len(growing) < layers:
        return
    pattern = meta.get("attention.sliding_window_pattern")
    if isinstance(pattern, list) and len(pattern) >= layers:
        full = sum(1 for windowed in pattern[:layers] if not windowed)
    elif isinstance(pattern, int) and pattern > 1:
        full = layers // pattern
    else:
        full = layers // _PERIODS.get(meta.architecture, layers + 1)
    if full < layers and (full or meta.architecture in _WINDOWED):
        fields |= {"sliding_window": window, "full_attention_layers": full}


_PERIODS = {"gemma2": 2, "gemma3": 6, "gemma3n": 5, "gpt-oss": 2, "cohere2": 4, "llama4": 4, "olmo2": 4}
"""Layers to one of full attention where the file does not say."""
_WINDOWED = frozenset({"phi3"})


def _state(meta: Metadata, hidden: int) -> float:
    """Bytes of the state of one recurrent layer: fp32 state, 16-bit convolution."""
    inner, state = meta.integer("ssm.inner_size"), meta.integer("ssm.state_size")
    if inner and state:
        channels = inner + 2 * meta.integer("ssm.group_count") * state
        return inner * state * 4.0 + channels * max(0, meta.integer("ssm.conv_kernel") - 1) * 2.0
    if kept := meta.integer("shortconv.l_cache"):
        return hidden * (kept - 1) * 2.0
    if size := meta.integer("wkv.head_size"):
        return hidden * size * 4.0 + 2 * hidden * 2.0
    if size := meta.integer("kda.head_dim"):
        inner = size * meta.integer("attention.head_count")
        return inner * size * 4.0 + 3 * inner * max(0, meta.integer("ssm.conv_kernel", 4) - 1) * 2.0
    return 0.0


def _experts(meta: Metadata, fields: dict[str, Any]) -> None:
    experts = meta.integer("expert_count")
    if experts < 2:
        return
    width = meta.integer("expert_feed_forward_length") or fields["intermediate_size"]
    fields |= {
        "experts": experts,
        "experts_per_token": min(meta.integer("expert_used_count", 2), experts),
        "expert_intermediate_size": width,
        "shared_experts": meta.integer("expert_shared_count"),
        "dense_layers": min(meta.integer("leading_dense_block_count"), fields["layers"]),
    }


def _is_expert(name: str) -> bool:
    return any(mark in name for mark in _EXPERTS)


def _active(header: GgufHeader, meta: Metadata) -> float:
    """What a token reads: the routed experts alone of a mixture of experts, and no token table."""
    experts = meta.integer("expert_count")
    every = float(sum(t.elements for t in header.tensors))
    if experts < 2:
        return every
    read = min(meta.integer("expert_used_count", 2), experts)
    names = {t.name for t in header.tensors}
    for tensor in header.tensors:
        if _is_expert(tensor.name):
            every -= tensor.elements * (1 - read / experts)
        elif tensor.name == "token_embd.weight" and "output.weight" in names:
            every -= tensor.elements
    return every


def _stored(header: GgufHeader) -> StoredBytes:
    size = {"layers": 0.0, "experts": 0.0, "embedding": 0.0, "head": 0.0}
    for tensor in header.tensors:
        place = "experts" if _is_expert(tensor.name) else _PLACES.get(tensor.name, "layers")
        size[place] += tensor.size
    return StoredBytes(size["layers"], size["experts"], size["embedding"], size["head"], exact=True)


_PLACES = {"token_embd.weight": "embedding", "output.weight": "head"}


def _precision(header: GgufHeader) -> str:
    """The format of a file: by its own word, else by the type of most of its elements."""
    said = header.metadata.get("general.file_type")
    main = main_type(header)
    candidates: Sequence[str] = (
        FILE_TYPES.get(said, "") if isinstance(said, int) else "",
        _USUAL_FILE.get(main, main),
    )
    return next((f"gguf-{c}" for c in candidates if c and formats.is_format(f"gguf-{c}")), "gguf-q4_k_m")
