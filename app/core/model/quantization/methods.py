"""`quantization_config` of a checkpoint, each method by its own fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.core.estimates import Message
from app.core.model.quantization import others, schemes
from app.core.model.quantization.fields import (
    MAX_GROUPS,
    Quantization,
    bits_of,
    group_of,
    ignored_in,
    not_understood,
    object_of,
    unknown,
    whole,
)
from app.core.model.quantization.patterns import Patterns
from app.core.model.quantization.schemes import Scheme
from app.core.model.readers.bounded import Config


def quantization_of(outer: Config, inner: Config) -> Quantization | None:
    """How a checkpoint is stored; None where the file does not say that it is quantized.

    Parameters
    ----------
    outer: the file. inner: the part with the language model: either may hold `quantization_config`.

    Notes
    -----
    Fields as transformers, vLLM and the writers of each method define them (read 2026-11-30). A method that
    is not known keeps 16 bit, or the bits that it states, with a note that says so.
    """
    found = _section(outer) or _section(inner)
    if found is None:
        return _experts_alone(inner)
    method = _method(found)
    reader = METHODS.get(method)
    result = reader(found) if reader is not None else unknown(found, method)
    for pattern in result.ignore.unreadable[:3]:
        result.notes.append(Message("quantization_pattern_unread", {"pattern": pattern[:80]}))
    if not result.kv_precision:
        result.kv_precision = _kv_precision(found)
    return _with_expert_type(result, inner)


def _section(config: Config) -> Config | None:
    for name in ("quantization_config", "compression_config"):
        found = config.inner(name)
        if found is not None and found.values:
            return found
    # hf_quant_config.json of ModelOpt, put beside the dimensions or into them.
    for name in ("hf_quant_config", "quantization"):
        beside = config.values.get(name)
        if isinstance(beside, Mapping):
            inner = beside.get("quantization", beside)
            if isinstance(inner, Mapping) and "quant_algo" in inner:
                return Config({"quant_method": "modelopt", **inner}, f"{config.pointer}/{name}")
    return None


def _method(found: Config) -> str:
    method = found.text("quant_method").lower().replace("_", "-")
    if method:
        return method
    if found.has("quant_algo") or found.text("producer") == "modelopt":
        return "modelopt"
    if found.has("config_groups"):
        return "compressed-tensors"
    if found.has("load_in_4bit", "load_in_8bit", "_load_in_4bit", "_load_in_8bit"):
        return "bitsandbytes"
    if found.has("global_quant_config"):
        return "quark"
    if found.has("quant_config") or found.text("type") == "hqq":
        return "hqq"
    return "gptq" if found.has("desc_act") else ""


def _kv_precision(found: Config) -> str:
    """The format of a cache that the checkpoint brings scales for."""
    scheme = found.values.get("kv_cache_scheme")
    algorithm = found.text("kv_cache_quant_algo") or found.text("kv_cache_quant_method")
    if isinstance(scheme, Mapping):
        return "fp8" if whole(scheme.get("num_bits"), 8.0) == 8.0 else ""
    if isinstance(scheme, str):
        algorithm = algorithm or scheme
    algorithm = algorithm.lower()
    return "fp8" if "fp8" in algorithm else "int8" if "int8" in algorithm else ""


def _fp8(found: Config) -> Quantization:
    """FP8 as DeepSeek, Qwen and transformers write it: blocks with fp32 scales, or one scale a tensor."""
    block = (
        found.items("weight_block_size") if isinstance(found.values.get("weight_block_size"), list) else []
    )
    scheme = schemes.FP8_TENSOR
    if len(block) == 2 and all(isinstance(b, int) and not isinstance(b, bool) and b > 0 for b in block):
        scheme = schemes.fp8_blocks(block[0], block[1])
    return Quantization("fp8", scheme, ignored_in(found), towers=True)


def _fbgemm(found: Config) -> Quantization:
    return Quantization("fp8", schemes.FP8_CHANNEL, ignored_in(found), towers=True)


def _awq(found: Config) -> Quantization:
    bits = bits_of(found, "bits", "w_bit")
    name = "awq" if bits == 4 else ""
    scheme = schemes.integer(
        bits, group_of(found), symmetric=found.values.get("zero_point") is False, name=name
    )
    return Quantization(name or scheme.format, scheme, ignored_in(found))


def _gptq(found: Config) -> Quantization:
    """GPTQ and what writes its format; `dynamic` and `extra_config` give modules bits of their own."""
    bits = bits_of(found, "bits", "w_bits", "wbits")
    name = "gptq" if bits == 4 else ""
    scheme = schemes.integer(bits, group_of(found), symmetric=True, name=name)
    if found.values.get("desc_act") is True:
        scheme = Scheme(
            scheme.format, bits, scheme.group, scheme.scale_bytes, scheme.zero_bytes, input_bytes=4.0
        )
    result = Quantization(name or scheme.format, scheme, ignored_in(found, _left_out(found)))
    result.rules = _own_bits(found, scheme)
    if found.values.get("lm_head") is True:
        result.head = scheme
    return result


def _left_out(found: Config) -> list[object]:
    """Modules that `dynamic` takes out of GPTQ: patterns that begin with -:"""
    dynamic = found.values.get("dynamic")
    keys = dynamic if isinstance(dynamic, Mapping) else {}
    return [f"re:{key[2:]}" for key in list(keys)[:4096] if isinstance(key, str) and key.startswith("-:")]


def _own_bits(found: Config, usual: Scheme) -> list[tuple[Patterns, Scheme]]:
    """Modules with bits of their own, gathered by their scheme."""
    by_scheme: dict[tuple[float, int], list[object]] = {}
    for section in ("dynamic", "extra_config", "layer_config"):
        own = found.values.get(section)
        for key, value in own.items() if isinstance(own, Mapping) else ():
            if not isinstance(key, str) or not isinstance(value, Mapping) or key.startswith("-:"):
                continue
            bits = whole(value.get("bits"), usual.bits)
            group = int(whole(value.get("group_size"), usual.group))
            pattern = f"re:{key[2:]}" if key.startswith("+:") else key
            by_scheme.setdefault((bits, group), []).append(pattern)
    found_rules = []
    for (bits, group), listed in list(by_scheme.items())[:MAX_GROUPS]:
        wide = bits >= 16
        scheme = schemes.WIDE if wide else schemes.integer(bits, group, symmetric=True)
        found_rules.append((Patterns(listed), scheme))
    return found_rules


def _auto_round(found: Config) -> Quantization:
    """AutoRound: integers of a few bits, or MX and NV floats by `data_type`."""
    kind = found.text("data_type").lower()
    bits = bits_of(found, "bits")
    if "mx_fp" in kind or "nv_fp" in kind or kind.startswith("fp8"):
        scheme = schemes.NVFP4 if "nv" in kind else schemes.MXFP4 if bits == 4 else schemes.MXFP8
        return Quantization(scheme.format, scheme, ignored_in(found))
    result = _gptq(found)
    blocks = found.values.get("to_quant_block_names") or found.values.get("block_name_to_quantize")
    listed = blocks if isinstance(blocks, list) else [blocks]
    result.towers = any(isinstance(b, str) and ("visual" in b or "vision" in b) for b in listed)
    return result


def _bitsandbytes(found: Config) -> Quantization:
    """8 bit rows with an fp32 scale; 4 bit blocks of 64, whose scales may be quantized once more."""
    if found.values.get("load_in_8bit") is True or found.values.get("_load_in_8bit") is True:
        scheme = Scheme("int8", 8.0, scale_bytes=4.0)
        return Quantization("int8", scheme, ignored_in(found), towers=True)
    twice = found.values.get("bnb_4bit_use_double_quant") is True
    scheme = Scheme("nf4", 4.0, group=64, scale_bytes=1.0 + 4.0 / 256 if twice else 4.0)
    return Quantization("nf4", scheme, ignored_in(found), towers=True)


def _mxfp4(found: Config) -> Quantization:
    """gpt-oss: the routed experts alone."""
    result = Quantization("mxfp4", None, ignored_in(found), experts=schemes.MXFP4)
    return result


_BY_ALGORITHM: Mapping[str, Scheme] = {
    "FP8": schemes.FP8_TENSOR,
    "FP8_PER_CHANNEL_PER_TOKEN": schemes.FP8_CHANNEL,
    "FP8_PB_WO": schemes.fp8_blocks(128, 128),
    "FP8_PB_REAL": schemes.fp8_blocks(128, 128),
    "MXFP8": schemes.MXFP8,
    "NVFP4": schemes.NVFP4,
    "NVFP4_AWQ": schemes.NVFP4,
    "W4A16_NVFP4": schemes.NVFP4,
    "NVFP4_SVDQUANT": schemes.NVFP4,
    "MXFP4": schemes.MXFP4,
    "W4A8_MXFP4_FP8": schemes.MXFP4,
    "INT8_SQ": schemes.INT8_CHANNEL,
    "INT8": schemes.INT8_CHANNEL,
    "W8A16": schemes.INT8_CHANNEL,
    "W8A8_SQ_PER_CHANNEL": schemes.INT8_CHANNEL,
    "INT4_AWQ": schemes.integer(4, 128, symmetric=True, packed_zeros=False),
    "W4A16_AWQ": schemes.integer(4, 128, symmetric=True, packed_zeros=False),
    "W4A16": schemes.integer(4, 128, symmetric=True, packed_zeros=False),
    "W4A8_AWQ": schemes.integer(4, 128, symmetric=True, packed_zeros=False),
}


def _algorithm(name: str, group: int) -> Scheme | None:
    scheme = _BY_ALGORITHM.get(name.upper())
    if scheme is not None and group > 0 and 0 < scheme.group != group:
        scheme = scheme.grouped(group, scheme.scale_bytes)
    return scheme


def _modelopt(found: Config) -> Quantization:
    """NVIDIA ModelOpt: one algorithm, or one for each module where they are mixed."""
    algorithm = found.text("quant_algo").upper()
    ignored = ignored_in(found)
    if algorithm == "MIXED_PRECISION":
        return _mixed(found, ignored)
    scheme = _algorithm(algorithm, group_of(found, 0))
    if scheme is None and found.has("config_groups"):
        return _compressed(found)
    result = Quantization(scheme.format if scheme else "", scheme, ignored, towers=True)
    if scheme is None and algorithm:
        result.notes.append(not_understood("quant_algo", algorithm))
    return result


def _mixed(found: Config, ignored: Patterns) -> Quantization:
    by_scheme: dict[Scheme, list[object]] = {}
    listed = found.values.get("quantized_layers")
    for name, how in listed.items() if isinstance(listed, Mapping) else ():
        own = object_of(how)
        scheme = _algorithm(own.text("quant_algo"), group_of(own, 0))
        if scheme is not None and isinstance(name, str):
            by_scheme.setdefault(scheme, []).append(name)
    if not by_scheme and found.has("config_groups"):
        return _compressed(found)
    result = Quantization("", None, ignored, towers=False)
    result.rules = [(Patterns(names), scheme) for scheme, names in by_scheme.items()]
    result.precision = max(by_scheme, key=lambda s: len(by_scheme[s])).format if by_scheme else ""
    return result


def _compressed(found: Config) -> Quantization:
    """compressed-tensors: groups of targets, each with bits, type, strategy and group of its own."""
    ignored = ignored_in(found)
    whole = found.text("format").lower()
    groups = found.values.get("config_groups")
    result = Quantization("", None, ignored, towers=True)
    for group in list(groups.values())[:MAX_GROUPS] if isinstance(groups, Mapping) else ():
        own = object_of(group)
        weights = own.values.get("weights")
        if not isinstance(weights, Mapping):
            continue
        scheme = _compressed_scheme(Config(weights), own.text("format").lower() or whole)
        targets = own.items("targets") if isinstance(own.values.get("targets"), list) else ["Linear"]
        classes = [t for t in targets if isinstance(t, str) and t.endswith(("Linear", "Experts", "MoE"))]
        if classes or not targets:
            result.default = result.default or scheme
        named = [t for t in targets if t not in classes]
        if named:
            result.rules.append((Patterns(named), scheme))
            if any(isinstance(t, str) and "lm_head" in t for t in named):
                result.head = scheme
    main = result.default or (result.rules[0][1] if result.rules else None)
    if main is None:
        main = result.default = _by_format_name(whole)
    result.precision = main.format if main else ""
    return result


def _by_format_name(name: str) -> Scheme | None:
    """The scheme that a format means where no group says more."""
    if "nvfp4" in name:
        return schemes.NVFP4
    if "mxfp4" in name:
        return schemes.MXFP4
    if "float" in name:
        return schemes.FP8_CHANNEL
    if "pack" in name:
        return schemes.integer(4, 128, symmetric=True, packed_zeros=False)
    return schemes.INT8_CHANNEL if name else None


def _compressed_scheme(weights: Config, layout: str) -> Scheme:
    bits = bits_of(weights, "num_bits", default=8.0)
    floating = weights.text("type").lower() == "float"
    strategy = weights.text("strategy").lower()
    group = group_of(weights, 0, "group_size")
    if floating and bits == 4:
        nv = "nvfp4" in layout or ("mxfp4" not in layout and group == 16)
        return schemes.NVFP4 if nv else schemes.MXFP4
    if floating:
        if "mxfp8" in layout:
            return schemes.MXFP8
        block = weights.values.get("block_structure")
        sizes = block if isinstance(block, list) and len(block) == 2 else [128, 128]
        if strategy == "block" and all(isinstance(s, int) and s > 0 for s in sizes):
            return schemes.fp8_blocks(sizes[0], sizes[1])
        return schemes.FP8_TENSOR if strategy == "tensor" else schemes.FP8_CHANNEL
    symmetric = weights.values.get("symmetric") is not False
    return schemes.integer(
        bits, group if strategy == "group" or group > 0 else 0, symmetric=symmetric, packed_zeros=False
    )


def _experts_alone(inner: Config) -> Quantization | None:
    """A file without a method whose experts have a type of their own."""
    if inner.text("expert_dtype").lower() not in ("fp4", "mxfp4"):
        return None
    return Quantization("mxfp4", None, Patterns([]), experts=schemes.MXFP4)


def _with_expert_type(result: Quantization, inner: Config) -> Quantization:
    """DeepSeek V4: experts are FP4 unless `expert_dtype` says otherwise, whatever the method says."""
    stated = inner.text("expert_dtype").lower()
    eight = result.default is not None and result.default.bits == 8
    if not eight and result.default is not None:
        return result
    assumed = "fp4" if inner.text("model_type") == "deepseek_v4" and eight else ""
    if (stated or assumed) in ("fp4", "mxfp4"):
        result.experts = schemes.MXFP4
        result.precision = "mxfp4"
        if not stated:
            result.notes.append(Message("experts_assumed_fp4"))
    return result


METHODS: Mapping[str, Callable[[Config], Quantization]] = {
    name: reader
    for names, reader in (
        ("fp8 finegrained-fp8", _fp8),
        ("fbgemm-fp8 ptpc-fp8", _fbgemm),
        ("awq awq-marlin", _awq),
        ("gptq gptq-marlin gptqmodel", _gptq),
        ("auto-round intel/auto-round inc", _auto_round),
        ("bitsandbytes bnb", _bitsandbytes),
        ("mxfp4 gpt-oss-mxfp4", _mxfp4),
        ("modelopt modelopt-fp4 modelopt-mixed modelopt-mxfp8", _modelopt),
        ("compressed-tensors sparseml", _compressed),
        ("hqq", others.hqq),
        ("torchao", others.torchao),
        ("quark", others.quark),
        ("exl2 exl3", others.exl),
        ("aqlm vptq", others.few_bits(2.0)),
        ("spqr", others.few_bits(4.0, 16)),
        ("higgs", others.few_bits(4.0, 256)),
        ("bitnet", others.bitnet),
        ("eetq w8a8-int8 smoothquant", others.eight_bit),
        ("quanto", others.quanto),
    )
    for name in names.split()
}
"""By `quant_method`, written with hyphens."""
