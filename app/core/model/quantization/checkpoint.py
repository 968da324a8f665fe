"""Bytes of a checkpoint: every module in the scheme that it is stored in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.core.estimates import Message
from app.core.model.architecture import ModelArchitecture, StoredBytes
from app.core.model.modules import Module
from app.core.model.quantization.fields import Quantization
from app.core.model.quantization.schemes import WIDE, Scheme
from app.core.model.standard import modules_of

WIDE_BYTES = 2.0
_FUSED = {
    "q_proj": "qkv_proj",
    "k_proj": "qkv_proj",
    "v_proj": "qkv_proj",
    "gate_proj": "gate_up_proj",
    "up_proj": "gate_up_proj",
    "q_a_proj": "fused_qkv_a_proj",
}
_MIXTRAL = {"gate_proj": "w1", "down_proj": "w2", "up_proj": "w3"}


def stored_of(
    model: ModelArchitecture, quantization: Quantization, notes: list[Message]
) -> StoredBytes | None:
    """Bytes of the checkpoint of a model as its file says it is stored; None for what is no decoder.

    Parameters
    ----------
    model: as its dimensions were read. quantization: of its file.
    notes: gathers what is odd: a list of modules to quantize that names none of these.
    """
    if model.family != "decoder":
        return None
    size = {"layers": 0.0, "experts": 0.0, "embedding": 0.0, "head": 0.0}
    narrowed = 0
    for module in modules_of(model):
        place = _PLACES.get(module.kind, "layers")
        for scheme, layers in _schemes(module, quantization):
            copies = module.copies * layers
            size[place] += copies * _bytes(scheme, module)
            narrowed += copies if scheme is not WIDE else 0
    tower = model.vision_tower_parameters
    if tower:
        usual = quantization.default
        whole = usual is None or not quantization.towers or quantization.ignore.towers
        # Its matrices are of many sizes; a square of its usual width stands for all of them.
        each = WIDE_BYTES if whole or usual is None else usual.bytes_of(1024, 1024) / 2**20
        size["layers"] += tower * each
    if not narrowed and quantization.precision:
        notes.append(Message("nothing_quantized"))
    return StoredBytes(size["layers"], size["experts"], size["embedding"], size["head"])


_PLACES = {"expert": "experts", "embedding": "embedding", "head": "head"}


def _bytes(scheme: Scheme, module: Module) -> float:
    if scheme is WIDE:
        return module.rows * module.columns * WIDE_BYTES
    return scheme.bytes_of(module.rows, module.columns) + scheme.tensor_bytes


def _schemes(module: Module, q: Quantization) -> Iterable[tuple[Scheme, int]]:
    """The schemes of a module, each with the number of its layers."""
    if module.kind in ("embedding", "router", "other") or module.columns == 1:
        return [(WIDE, module.places)]
    if module.kind == "head":
        head = q.head
        wide = head is None or q.ignore.match(["lm_head", "output"])
        return [(WIDE if wide or head is None else head, 1)]
    usual = q.experts if module.kind == "expert" and q.experts is not None else q.default
    names = _names(module.name, module.layers[0] if module.layers else None)
    if q.ignore.match_any_layer(names):
        return [(WIDE, module.places)]
    everywhere = [patterns.match_any_layer(names) for patterns, _ in q.rules]
    if not module.layers:
        return [(_scheme(names, usual, q, everywhere), 1)]
    if not q.ignore and not q.rules:
        return [(usual or WIDE, module.places)]
    found: dict[Scheme, int] = {}
    for layer in module.layers:
        scheme = _scheme(_names(module.name, layer), usual, q, everywhere)
        found[scheme] = found.get(scheme, 0) + 1
    return found.items()


def _scheme(
    names: Sequence[str], usual: Scheme | None, q: Quantization, everywhere: Sequence[bool]
) -> Scheme:
    """The scheme of one module; `everywhere` says of each rule whether it means it in every layer."""
    if q.ignore.match_layer(names):
        return WIDE
    for always, (patterns, scheme) in zip(everywhere, q.rules, strict=True):
        if always or patterns.match_layer(names):
            return scheme
    return usual or WIDE


def _names(name: str, layer: int | None) -> list[str]:
    """What checkpoints call a module: as transformers, as fused by engines, as Mixtral."""
    head = "" if layer is None else f"layers.{layer}."
    if ".experts." in name:
        parent, _, part = name.rpartition(".experts.")
        forms = [
            f"{parent}.experts.0.{part}",
            f"{parent}.experts",
            f"{parent}.experts.{_FUSED.get(part, part)}",
        ]
        forms.append(f"block_sparse_moe.experts.0.{_MIXTRAL.get(part, part)}")
    else:
        parent, _, part = name.rpartition(".")
        forms = [name]
        if part in _FUSED:
            forms.append(f"{parent}.{_FUSED[part]}")
        if "shared_experts" in name:
            forms.append(name.replace("shared_experts", "shared_expert"))
        if parent == "linear_attn" and part.startswith("in_proj_qkvz"):
            forms += ["linear_attn.in_proj_qkv", "linear_attn.in_proj"]
    return [head + form for form in forms]
