"""model.safetensors.index.json and the header of a .safetensors file: exact bytes, and what names tell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from app.core.faults import InputFault

MAX_TENSORS = 500_000
BYTES_OF: Mapping[str, float] = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "U16": 2,
    "U32": 4, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "F4": 0.5,
    "F6_E2M3": 0.75, "F6_E3M2": 0.75,
}  # fmt: skip
_SCALES = re.compile(
    r"(weight_scale(_inv|_2)?|input_scale|scales?|qzeros|zeros|g_idx|absmax|quant_map|quant_state\.\w+|"
    r"nested_absmax|nested_quant_map|[kv]_scale|weight_shape|weight_zero_point|suh|svh|mcg|mul1|"
    r"weight_global_scale|input_global_scale|weight_g_idx|_scales|SCB|weight_format)$"
)
_MARKS: tuple[tuple[str, str], ...] = (
    ("weight_scale_2", "nvfp4"),
    ("weight_global_scale", "nvfp4"),
    ("_blocks", "mxfp4"),
    ("trellis", "int4"),
    ("q_weight", "int4"),
    ("weight_packed", "int4"),
    ("g_idx", "gptq"),
    ("qweight", "awq"),
    ("absmax", "nf4"),
    ("SCB", "int8"),
    ("weight_scale_inv", "fp8"),
    ("weight_scale", "fp8"),
)
"""Endings of tensors that a method of quantization writes, the surest first."""
_KEYS = re.compile(
    r"layers\.(\d{1,4})\..*\.(k_proj|v_proj|kv_a_proj_with_mqa)\.(weight|qweight|weight_packed)$"
)
_TOWERS = re.compile(r"vision|visual|audio|image|merger|projector", re.IGNORECASE)


class Checkpoint(NamedTuple):
    """What an index or a header says."""

    size: float
    """Bytes of all tensors."""
    parameters: float
    """0 where it does not say."""
    precision: str
    """Format that the names of tensors mean; empty: 16 bit."""
    kv_elements: float
    """Keys and values of one token where the shapes say it; 0 where not."""
    assumed: str = ""
    """What the count rests on: "16 bit", "4 bit", or nothing."""


def read_index(data: Mapping[str, Any], pointer: str) -> Checkpoint:
    """An index or a header.

    Parameters
    ----------
    data: the parsed JSON: {metadata, weight_map}, or {name: {dtype, shape, data_offsets}}.
    pointer: JSON pointer of it, for the faults.

    Errors
    ------
    InputFault: `not_an_index` where it is neither, `config_too_large` where it has far too many tensors.
    """
    if not isinstance(data, Mapping):
        raise InputFault.at(pointer, "not_an_object")
    if len(data) > MAX_TENSORS:
        raise InputFault.at(pointer, "config_too_large", limit=MAX_TENSORS)
    listed = data.get("weight_map")
    if isinstance(listed, Mapping):
        return _of_index(data, listed, pointer)
    tensors = {k: v for k, v in data.items() if isinstance(v, Mapping) and "dtype" in v and "shape" in v}
    if not tensors:
        raise InputFault.at(pointer, "not_an_index")
    return _of_header(tensors, pointer)


def _of_index(data: Mapping[str, Any], listed: Mapping[str, Any], pointer: str) -> Checkpoint:
    if len(listed) > MAX_TENSORS:
        raise InputFault.at(f"{pointer}/weight_map", "config_too_large", limit=MAX_TENSORS)
    metadata = data.get("metadata")
    stated = metadata if isinstance(metadata, Mapping) else {}
    size = _amount(stated.get("total_size"))
    if not size:
        raise InputFault.at(f"{pointer}/metadata/total_size", "required")
    precision = _by_names(listed)
    parameters = _amount(stated.get("total_parameters"))
    if parameters and not precision:
        return Checkpoint(size, parameters, "", 0.0)
    if precision:
        # Packed elements are counted as they are stored: such a total is no count of parameters.
        return Checkpoint(size, 0.0, precision, 0.0)
    return Checkpoint(size, size / 2.0, "", 0.0, "16 bit")


def _amount(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e16:
        return 0.0
    return float(value)


def _by_names(names: Iterable[Any]) -> str:
    """The format that the names of tensors mean."""
    found = set()
    for name in names:
        if isinstance(name, str):
            for mark, _ in _MARKS:
                if name.endswith(mark):
                    found.add(mark)
    return next((precision for mark, precision in _MARKS if mark in found), "")


def _of_header(tensors: Mapping[str, Mapping[str, Any]], pointer: str) -> Checkpoint:
    size = parameters = kv = 0.0
    packed = False
    for name, tensor in tensors.items():
        kind, shape = tensor.get("dtype"), tensor.get("shape")
        elements = _elements(shape)
        each = BYTES_OF.get(kind) if isinstance(kind, str) else None
        if elements is None or each is None:
            raise InputFault.at(pointer, "not_an_index")
        size += elements * each
        if _SCALES.search(str(name)):
            continue
        factor = _packing(str(name), str(kind))
        packed = packed or factor > 1
        parameters += elements * factor
        kv += _kv_rows(str(name), list(shape or ()))
    return Checkpoint(size, parameters, _by_names(tensors), kv, "4 bit" if packed else "")


def _elements(shape: Any) -> float | None:
    if not isinstance(shape, list) or len(shape) > 8:
        return None
    count = 1.0
    for n in shape:
        if isinstance(n, bool) or not isinstance(n, int) or not 0 <= n < 1 << 40:
            return None
        count *= n
    return count


def _packing(name: str, kind: str) -> float:
    """Weights in one stored element: 4-bit ones are packed in bytes or in words of 32 bits."""
    if kind in ("I32", "U32") and name.endswith(("qweight", "weight_packed")):
        return 8.0
    return 2.0 if kind == "U8" and name.endswith((".weight", "_blocks", "weight_packed")) else 1.0


def _kv_rows(name: str, shape: list[int]) -> float:
    """Outputs of the projection that a cache keeps."""
    found = _KEYS.search(name)
    if found is None or _TOWERS.search(name) or len(shape) != 2:
        return 0.0
    return float(shape[1] if found[3] == "qweight" else shape[0])
