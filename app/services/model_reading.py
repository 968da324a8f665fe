"""Use case: what the files of a model say of it."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any

from app.core import formats
from app.core.answer import Figure, answer
from app.core.estimates import Message
from app.core.faults import FieldError, InputFault, shown
from app.core.field_values import limits_of
from app.core.model.headers.gguf import MAGIC, MAX_BYTES
from app.core.model.reading import ModelFile, Reading, read_model

FIELDS = ("config", "index", "gguf", "name", "parameters", "kv_precision")
MAX_NAME = 200
_LENGTH_BYTES = 8


@answer()
class ModelRead:
    """Answer of /models/read."""

    parameters: Figure | None
    """All parameters, towers included; null where the file does not say."""
    active_parameters: Figure | None
    """Parameters that one token of text reads: of a mixture of experts neither the other experts, nor towers,
    nor the token table."""
    kv_bytes_per_token: Figure | None
    """Bytes that each token adds to the cache of all layers whose cache grows, in `kv_precision` (16 bit)."""
    state_bytes_per_sequence: Figure | None
    """Bytes of recurrent state of one sequence: fp32, its convolutions 16 bit; the same at any length."""
    weight_gib: Figure
    """Weights as an engine loads them, in the checkpoint's own format, GiB."""
    precision: str
    """Format of most of the weights."""
    warnings: tuple[Message, ...]
    """What is in doubt, with the keys, in sentences."""


def model_read(body: object) -> ModelRead:
    """The figures of a model from its files; InputFault with every fault of the body."""
    return answer_of(read_model(file_of(body)))


def answer_of(found: Reading) -> ModelRead:
    """A reading as it is answered."""
    return ModelRead(
        found.parameters,
        found.active_parameters,
        found.kv_bytes_per_token,
        found.state_bytes_per_sequence,
        found.weight_gib,
        found.precision,
        found.warnings,
    )


def file_of(body: object) -> ModelFile:
    """What was sent: an object with `config`, `index` or `gguf`, or one of those files itself.

    Errors
    ------
    InputFault: no object, an unknown field, a field of the wrong kind.
    """
    if isinstance(body, bytes):
        return _of_bytes(body)
    if not isinstance(body, Mapping):
        raise InputFault.at("", "not_an_object")
    if not any(name in body for name in ("config", "index", "gguf")):
        return _of_file(body)
    errors = [FieldError(f"/{str(k)[:60]}", "unknown_field") for k in body if k not in FIELDS][:20]
    config, index, gguf = (body.get(name) for name in ("config", "index", "gguf"))
    for name, value in (("config", config), ("index", index)):
        if value is not None and not isinstance(value, Mapping):
            errors.append(FieldError(f"/{name}", "not_an_object"))
    called = body.get("name")
    if called is not None and (not isinstance(called, str) or len(called) > MAX_NAME):
        code = "too_long" if isinstance(called, str) else "not_a_text"
        errors.append(FieldError("/name", code, {"limit": MAX_NAME}))
    errors += _size_faults(body.get("parameters"))
    kept = body.get("kv_precision")
    if kept is not None and kept not in formats.kv_names():
        params = {"value": shown(kept), "allowed": list(formats.kv_names())}
        errors.append(FieldError("/kv_precision", "unknown_value", params))
    if errors:
        raise InputFault(errors)
    size = body.get("parameters")
    return ModelFile(
        config,
        index,
        None if gguf is None else _gguf(gguf),
        called or "",
        None if size is None else float(size),
        kept or formats.USUAL,
    )


def joined(files: Sequence[ModelFile], name: str = "") -> ModelFile:
    """Several files of one model as one.

    Errors
    ------
    InputFault `no_model_file` where there is none.
    """
    if not files:
        raise InputFault.at("", "no_model_file")
    found = ModelFile(name=name)
    for file in files:
        found = ModelFile(
            found.config if file.config is None else file.config,
            found.index if file.index is None else file.index,
            found.gguf if file.gguf is None else file.gguf,
            name or file.name,
        )
    return found


def _size_faults(size: Any) -> list[FieldError]:
    if size is None:
        return []
    low, high = limits_of("parameters")
    if isinstance(size, bool) or not isinstance(size, int | float):
        return [FieldError("/parameters", "not_a_number")]
    if not low <= size <= high:
        return [FieldError("/parameters", "out_of_range", {"low": low, "high": high})]
    return []


def _gguf(value: Any) -> bytes:
    """Bytes sent as base64; what is beyond what is read is left out."""
    if not isinstance(value, str):
        raise InputFault.at("/gguf", "not_base64")
    text = value.partition("base64,")[2] if value[:64].startswith("data:") else value
    text = "".join(text.split())[: MAX_BYTES * 4 // 3 // 4 * 4]
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as fault:
        raise InputFault.at("/gguf", "not_base64") from fault


def _of_file(body: Mapping[str, Any]) -> ModelFile:
    """A file sent as it is: an index, a header, or a config.json."""
    if "weight_map" in body or any(isinstance(v, Mapping) and "data_offsets" in v for v in body.values()):
        return ModelFile(index=body)
    if not body:
        raise InputFault.at("", "no_model_file")
    return ModelFile(config=body)


def _of_bytes(body: bytes) -> ModelFile:
    """A file sent as bytes: a .gguf, JSON, or the beginning of a .safetensors."""
    if body[: len(MAGIC)] == MAGIC:
        return ModelFile(gguf=body)
    length = int.from_bytes(body[:_LENGTH_BYTES], "little")
    if _LENGTH_BYTES < length <= len(body) - _LENGTH_BYTES:
        return ModelFile(index=_header(body[_LENGTH_BYTES : _LENGTH_BYTES + length]))
    if not body.strip():
        raise InputFault.at("", "no_model_file")
    return file_of(_json(body))


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as fault:
        raise InputFault.at("", "not_json") from fault


def _header(body: bytes) -> Mapping[str, Any]:
    found = _json(body)
    if not isinstance(found, Mapping):
        raise InputFault.at("", "not_an_index")
    return found
