"""Methods of quantization outside the common ones: HQQ, torchao, Quark, EXL, and some of research."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.core.estimates import Message
from app.core.model.quantization import schemes
from app.core.model.quantization.fields import (
    MAX_GROUPS,
    Quantization,
    bits_of,
    group_of,
    ignored_in,
    not_understood,
    object_of,
    unknown,
)
from app.core.model.quantization.patterns import Patterns
from app.core.model.quantization.schemes import Scheme
from app.core.model.readers.bounded import Config


def hqq(found: Config) -> Quantization:
    """HQQ: zeros and scales in 16 bit for each group; older files give bits by part."""
    inner = found.values.get("quant_config")
    part = object_of(inner).values.get("weight_quant_params") if isinstance(inner, Mapping) else None
    result = Quantization("", _hqq_scheme(object_of(part)), ignored_in(found))
    parts = inner if isinstance(inner, Mapping) else found.values
    for name, value in list(parts.items())[:256]:
        own = object_of(value).values.get("weight_quant_params")
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
    bits = bits_of(own, "nbits", "bits")
    scheme = schemes.integer(bits, group_of(own, 64, "group_size"), symmetric=False)
    return Scheme(scheme.format, bits, scheme.group, 2.0, 2.0)


def torchao(found: Config) -> Quantization:
    """torchao: a type by its name, with its group."""
    kind, data = found.values.get("quant_type"), Config({})
    if isinstance(kind, Mapping):
        inner = object_of(kind.get("default", kind))
        data, kind = object_of(inner.values.get("_data")), inner.text("_type")
    name = str(kind).lower().replace("_", "")
    arguments = found.values.get("quant_type_kwargs")
    group = group_of(data, 0, "group_size") or group_of(object_of(arguments), 0, "group_size")
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
        return unknown(found, f"torchao {str(kind)[:40]}")
    return Quantization(scheme.format, scheme, ignored_in(found))


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


def quark(found: Config) -> Quantization:
    """AMD Quark: the type of the weights; a list of stages is stored in its last one."""
    common = object_of(found.values.get("global_quant_config"))
    scheme = _quark_scheme(common)
    result = Quantization(scheme.format if scheme else "", scheme, ignored_in(found), towers=True)
    own = found.values.get("layer_quant_config")
    for name, value in list(own.items())[:MAX_GROUPS] if isinstance(own, Mapping) else ():
        layer = _quark_scheme(object_of(value))
        if isinstance(name, str) and layer is not None:
            result.rules.append((Patterns([name]), layer))
    cache = found.values.get("kv_cache_quant_config")
    first = next(iter(cache.values()), None) if isinstance(cache, Mapping) and cache else None
    kept = object_of(object_of(first).values.get("output_tensors")).text("dtype")
    result.kv_precision = "fp8" if "fp8" in kept else ""
    if scheme is None:
        result.notes.append(not_understood("global_quant_config", ""))
    return result


def _quark_scheme(common: Config) -> Scheme | None:
    weight = common.values.get("weight")
    if isinstance(weight, list):
        weight = weight[-1] if weight else None
    own = object_of(weight)
    scheme = _QUARK.get(own.text("dtype").lower())
    if scheme is None:
        return None
    where = own.text("qscheme")
    if where == "per_channel" and scheme.format == "fp8" and scheme.bits == 8:
        scheme = schemes.FP8_CHANNEL
    group = group_of(own, 0, "group_size")
    return scheme.grouped(group, scheme.scale_bytes) if where == "per_group" and group > 0 else scheme


def exl(found: Config) -> Quantization:
    """EXL2 and EXL3: mean bits of the linear layers, scales included; the head has bits of its own."""
    bits = bits_of(found, "bits", default=4.0)
    head = bits_of(found, "head_bits", default=6.0)
    kind = "int8" if bits > 6 else "int4"
    result = Quantization(kind, Scheme(kind, bits), ignored_in(found), head=Scheme(kind, head), average=True)
    result.notes.append(Message("bits_are_a_mean", {"method": found.text("quant_method"), "bits": bits}))
    return result


def few_bits(bits: float, group: int = 0) -> Callable[[Config], Quantization]:
    def read(found: Config) -> Quantization:
        scheme = schemes.integer(bits_of(found, "bits", "nbits", default=bits), group, symmetric=True)
        return Quantization(scheme.format, scheme, ignored_in(found), towers=False)

    return read


def bitnet(found: Config) -> Quantization:
    """BitNet: ternary weights, four to a byte."""
    return Quantization("int4", Scheme("int4", 2.0), ignored_in(found))


def eight_bit(found: Config) -> Quantization:
    return Quantization("int8", schemes.INT8_CHANNEL, ignored_in(found), towers=True)


def quanto(found: Config) -> Quantization:
    kind = found.text("weights") or "int8"
    scheme = schemes.FP8_CHANNEL if "float8" in kind else schemes.INT8_CHANNEL
    if kind in ("int4", "qint4", "int2", "qint2"):
        scheme = schemes.integer(4 if "4" in kind else 2, 128, symmetric=False)
    return Quantization(scheme.format, scheme, ignored_in(found), towers=True)
