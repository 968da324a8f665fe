"""`quantization_config` of a checkpoint, each method by its own fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core import formats
from app.core.estimates import Message
from app.core.model.quantization import schemes
from app.core.model.quantization.patterns import Patterns
from app.core.model.quantization.schemes import Scheme
from app.core.model.readers.bounded import Config

MAX_GROUPS = 64
"""Groups of modules with a scheme of their own that are read."""
IGNORED = (
    "ignore",
    "ignored_layers",
    "modules_to_not_convert",
    "exclude_modules",
    "exclude",
    "llm_int8_skip_modules",
    "skip_modules",
    "not_quantized_modules",
)
"""Keys that list what stays wide."""


@dataclass(slots=True)
class Quantization:
    """How the modules of a checkpoint are stored."""

    precision: str
    """Format of most of its weights, as a question names it."""
    default: Scheme | None
    """Of every linear module that nothing else speaks of; None: they stay wide."""
    ignore: Patterns
    rules: list[tuple[Patterns, Scheme]] = field(default_factory=list)
    """Modules with a scheme of their own, the first that matches counts."""
    experts: Scheme | None = None
    """Of routed experts, where they have another."""
    head: Scheme | None = None
    """Of the output head; None: wide."""
    towers: bool = False
    """Whether towers are quantized unless they are ignored."""
    kv_precision: str = ""
    average: bool = False
    """The bits are a mean over all quantized modules, without scales."""
    notes: list[Message] = field(default_factory=list)


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
    result = reader(found) if reader is not None else _unknown(found, method)
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


def _whole(value: Any, default: float) -> float:
    """A number of bits or inputs; the default where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1 <= value <= 1 << 20:
        return default
    return float(value)


def _bits(found: Config, *names: str, default: float = 4.0) -> float:
    for name in names:
        value = _whole(found.values.get(name), 0.0)
        if value > 0:
            return min(value, 32.0)
    return default


def _group(found: Config, default: int = 128, *names: str) -> int:
    for name in names or ("group_size", "q_group_size"):
        value = found.values.get(name)
        if value is not None:
            return int(_whole(value, default))
    return default


def _ignored(found: Config, *more: Iterable[object]) -> Patterns:
    listed: list[object] = []
    for name in IGNORED:
        value = found.values.get(name)
        if isinstance(value, list | tuple):
            listed += value
    for each in more:
        listed += each
    return Patterns(listed)


def _object(value: Any) -> Config:
    return Config(value if isinstance(value, Mapping) else {})


def _kv_precision(found: Config) -> str:
    """The format of a cache that the checkpoint brings scales for."""
    scheme = found.values.get("kv_cache_scheme")
    algorithm = found.text("kv_cache_quant_algo") or found.text("kv_cache_quant_method")
    if isinstance(scheme, Mapping):
        return "fp8" if _whole(scheme.get("num_bits"), 8.0) == 8.0 else ""
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
    return Quantization("fp8", scheme, _ignored(found), towers=True)


def _fbgemm(found: Config) -> Quantization:
    return Quantization("fp8", schemes.FP8_CHANNEL, _ignored(found), towers=True)


def _awq(found: Config) -> Quantization:
    bits = _bits(found, "bits", "w_bit")
    name = "awq" if bits == 4 else ""
    scheme = schemes.integer(
        bits, _group(found), symmetric=found.values.get("zero_point") is False, name=name
    )
    return Quantization(name or scheme.format, scheme, _ignored(found))


def _gptq(found: Config) -> Quantization:
    """GPTQ and what writes its format; `dynamic` and `extra_config` give modules bits of their own."""
    bits = _bits(found, "bits", "w_bits", "wbits")
    name = "gptq" if bits == 4 else ""
    scheme = schemes.integer(bits, _group(found), symmetric=True, name=name)
    if found.values.get("desc_act") is True:
        scheme = Scheme(
            scheme.format, bits, scheme.group, scheme.scale_bytes, scheme.zero_bytes, input_bytes=4.0
        )
    result = Quantization(name or scheme.format, scheme, _ignored(found, _left_out(found)))
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
            bits = _whole(value.get("bits"), usual.bits)
            group = int(_whole(value.get("group_size"), usual.group))
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
    bits = _bits(found, "bits")
    if "mx_fp" in kind or "nv_fp" in kind or kind.startswith("fp8"):
        scheme = schemes.NVFP4 if "nv" in kind else schemes.MXFP4 if bits == 4 else schemes.MXFP8
        return Quantization(scheme.format, scheme, _ignored(found))
    result = _gptq(found)
    blocks = found.values.get("to_quant_block_names") or found.values.get("block_name_to_quantize")
    listed = blocks if isinstance(blocks, list) else [blocks]
    result.towers = any(isinstance(b, str) and ("visual" in b or "vision" in b) for b in listed)
    return result


def _bitsandbytes(found: Config) -> Quantization:
    """8 bit rows with an fp32 scale; 4 bit blocks of 64, whose scales may be quantized once more."""
    if found.values.get("load_in_8bit") is True or found.values.get("_load_in_8bit") is True:
        scheme = Scheme("int8", 8.0, scale_bytes=4.0)
        return Quantization("int8", scheme, _ignored(found), towers=True)
    twice = found.values.get("bnb_4bit_use_double_quant") is True
    scheme = Scheme("nf4", 4.0, group=64, scale_bytes=1.0 + 4.0 / 256 if twice else 4.0)
    return Quantization("nf4", scheme, _ignored(found), towers=True)


def _mxfp4(found: Config) -> Quantization:
    """gpt-oss: the routed experts alone."""
    result = Quantization("mxfp4", None, _ignored(found), experts=schemes.MXFP4)
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
    ignored = _ignored(found)
    if algorithm == "MIXED_PRECISION":
        return _mixed(found, ignored)
    scheme = _algorithm(algorithm, _group(found, 0))
    if scheme is None and found.has("config_groups"):
        return _compressed(found)
    result = Quantization(scheme.format if scheme else "", scheme, ignored, towers=True)
    if scheme is None and algorithm:
        result.notes.append(_not_understood("quant_algo", algorithm))
    return result


def _mixed(found: Config, ignored: Patterns) -> Quantization:
    by_scheme: dict[Scheme, list[object]] = {}
    listed = found.values.get("quantized_layers")
    for name, how in listed.items() if isinstance(listed, Mapping) else ():
        own = _object(how)
        scheme = _algorithm(own.text("quant_algo"), _group(own, 0))
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
    ignored = _ignored(found)
    whole = found.text("format").lower()
    groups = found.values.get("config_groups")
    result = Quantization("", None, ignored, towers=True)
    for group in list(groups.values())[:MAX_GROUPS] if isinstance(groups, Mapping) else ():
        own = _object(group)
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
    bits = _bits(weights, "num_bits", default=8.0)
    floating = weights.text("type").lower() == "float"
    strategy = weights.text("strategy").lower()
    group = _group(weights, 0, "group_size")
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


def _hqq(found: Config) -> Quantization:
    """HQQ: zeros and scales in 16 bit for each group; older files give bits by part."""
    inner = found.values.get("quant_config")
    part = _object(inner).values.get("weight_quant_params") if isinstance(inner, Mapping) else None
    result = Quantization("", _hqq_scheme(_object(part)), _ignored(found))
    parts = inner if isinstance(inner, Mapping) else found.values
    for name, value in list(parts.items())[:256]:
        own = _object(value).values.get("weight_quant_params")
        if isinstance(own, Mapping) and isinstance(name, str) and name != "weight_quant_params":
            scheme = _hqq_scheme(Config(own))
            if name == "experts_config":
                result.experts = scheme
            elif name == "attn_config":
                result.default = scheme
            else:
                result.rules.append((Patterns([name]), scheme))
    result.precision = (result.experts or result.default or schemes.WIDE).format
    return result


def _hqq_scheme(own: Config) -> Scheme:
    bits = _bits(own, "nbits", "bits")
    scheme = schemes.integer(bits, _group(own, 64, "group_size"), symmetric=False)
    return Scheme(scheme.format, bits, scheme.group, 2.0, 2.0)


def _torchao(found: Config) -> Quantization:
    """torchao: a type by its name, with its group."""
    kind, data = found.values.get("quant_type"), Config({})
    if isinstance(kind, Mapping):
        inner = _object(kind.get("default", kind))
        data, kind = _object(inner.values.get("_data")), inner.text("_type")
    name = str(kind).lower().replace("_", "")
    arguments = found.values.get("quant_type_kwargs")
    group = _group(data, 0, "group_size") or _group(_object(arguments), 0, "group_size")
    if "int4" in name or "intx" in name or "uint4" in name:
        scheme = schemes.integer(4, group or (128 if "int4weightonly" in name else 32), symmetric=False)
        scheme = Scheme(scheme.format, 4.0, scheme.group, 2.0, 0.0 if "dynamic" in name else 2.0)
    elif "float8" in name or "fp8" in name:
        scheme = schemes.FP8_CHANNEL
    elif "nvfp4" in name:
        scheme = schemes.NVFP4
    elif "mx" in name:
        scheme = schemes.MXFP4 if "4" in name else schemes.MXFP8
    elif "int8" in name:
        scheme = schemes.INT8_CHANNEL
    else:
        return _unknown(found, f"torchao {str(kind)[:40]}")
    return Quantization(scheme.format, scheme, _ignored(found))


_QUARK: Mapping[str, Scheme] = {
    name: scheme
    for names, scheme in (
        ("fp8_e4m3 fp8_e5m2", schemes.FP8_TENSOR),
        ("fp4 mxfp4 mx", schemes.MXFP4),
        ("fp6_e2m3 fp6_e3m2", schemes.MXFP6),
        ("int8 uint8", schemes.INT8_CHANNEL),
        ("int4", schemes.integer(4, 128, symmetric=True, packed_zeros=False)),
        ("uint4", schemes.integer(4, 128, symmetric=False)),
    )
    for name in names.split()
}


def _quark(found: Config) -> Quantization:
    """AMD Quark: the type of the weights; a list of stages is stored in its last one."""
    common = _object(found.values.get("global_quant_config"))
    scheme = _quark_scheme(common)
    result = Quantization(scheme.format if scheme else "", scheme, _ignored(found), towers=True)
    own = found.values.get("layer_quant_config")
    for name, value in list(own.items())[:MAX_GROUPS] if isinstance(own, Mapping) else ():
        layer = _quark_scheme(_object(value))
        if isinstance(name, str) and layer is not None:
            result.rules.append((Patterns([name]), layer))
    cache = found.values.get("kv_cache_quant_config")
    first = next(iter(cache.values()), None) if isinstance(cache, Mapping) and cache else None
    kept = _object(_object(first).values.get("output_tensors")).text("dtype")
    result.kv_precision = "fp8" if "fp8" in kept else ""
    if scheme is None:
        result.notes.append(_not_understood("global_quant_config", ""))
    return result


def _quark_scheme(common: Config) -> Scheme | None:
    weight = common.values.get("weight")
    if isinstance(weight, list):
        weight = weight[-1] if weight else None
    own = _object(weight)
    scheme = _QUARK.get(own.text("dtype").lower())
    if scheme is None:
        return None
    where = own.text("qscheme")
    if where == "per_channel" and scheme.format == "fp8" and scheme.bits == 8:
        scheme = schemes.FP8_CHANNEL
    group = _group(own, 0, "group_size")
    return scheme.grouped(group, scheme.scale_bytes) if where == "per_group" and group > 0 else scheme


def _exl(found: Config) -> Quantization:
    """EXL2 and EXL3: mean bits of the linear layers, scales included; the head has bits of its own."""
    bits = _bits(found, "bits", default=4.0)
    head = _bits(found, "head_bits", default=6.0)
    kind = "int8" if bits > 6 else "int4"
    result = Quantization(kind, Scheme(kind, bits), _ignored(found), head=Scheme(kind, head), average=True)
    result.notes.append(Message("bits_are_a_mean", {"method": found.text("quant_method"), "bits": bits}))
    return result


def _few_bits(bits: float, group: int = 0) -> Callable[[Config], Quantization]:
    def read(found: Config) -> Quantization:
        scheme = schemes.integer(_bits(found, "bits", "nbits", default=bits), group, symmetric=True)
        return Quantization(scheme.format, scheme, _ignored(found), towers=False)

    return read


def _bitnet(found: Config) -> Quantization:
    """BitNet: ternary weights, four to a byte."""
    return Quantization("int4", Scheme("int4", 2.0), _ignored(found))


def _eight_bit(found: Config) -> Quantization:
    return Quantization("int8", schemes.INT8_CHANNEL, _ignored(found), towers=True)


def _quanto(found: Config) -> Quantization:
    kind = found.text("weights") or "int8"
    scheme = schemes.FP8_CHANNEL if "float8" in kind else schemes.INT8_CHANNEL
    if kind in ("int4", "qint4", "int2", "qint2"):
        scheme = schemes.integer(4 if "4" in kind else 2, 128, symmetric=False)
    return Quantization(scheme.format, scheme, _ignored(found), towers=True)


def _unknown(found: Config, method: str) -> Quantization:
    """A method that nobody described: the bits that it states, else 16, and a note."""
    bits = _bits(found, "bits", "num_bits", "w_bit", "nbits", "weight_bits", default=0.0)
    own = formats.of_checkpoint(method)
    if own:
        return Quantization(own, Scheme(own, formats.format_of(own).bits), _ignored(found))
    result = Quantization("", None, _ignored(found))
    if 0 < bits < 16:
        result.default = schemes.integer(bits, _group(found), symmetric=True)
        result.precision = result.default.format
    result.notes.append(_not_understood("quant_method", method))
    return result


def _not_understood(key: str, value: str) -> Message:
    return Message("quantization_not_understood", {"key": key, "value": value[:60]})


def _experts_alone(inner: Config) -> Quantization | None:
    """A file without a method whose experts have a type of their own."""
    if inner.text("expert_dtype").lower() not in ("fp4", "mxfp4"):
        return None
    return Quantization("mxfp4", None, Patterns([]), experts=schemes.MXFP4)


def _with_expert_type(result: Quantization, inner: Config) -> Quantization:
    """DeepSeek V4: experts are FP4 unless `expert_dtype` says otherwise, whatever the method says."""
    stated = inner.text("expert_dtype").lower()
    eight = result.default is not None and result.default.bits == 8
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
        ("hqq", _hqq),
        ("torchao", _torchao),
        ("quark", _quark),
        ("exl2 exl3", _exl),
        ("aqlm vptq", _few_bits(2.0)),
        ("spqr", _few_bits(4.0, 16)),
        ("higgs", _few_bits(4.0, 256)),
        ("bitnet", _bitnet),
        ("eetq w8a8-int8 smoothquant", _eight_bit),
        ("quanto", _quanto),
    )
    for name in names.split()
}
"""By `quant_method`, written with hyphens."""
