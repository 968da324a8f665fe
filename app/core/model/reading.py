"""What a file of a model says of it: a config.json, an index or header of weights, the head of a .gguf."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.core import engines
from app.core.estimates import Message
from app.core.faults import InputFault
from app.core.formats import USUAL, format_of
from app.core.memory.kv import elements
from app.core.memory.weights import model_bytes
from app.core.model.architecture import ModelArchitecture, StoredBytes
from app.core.model.config_reader import read_config
from app.core.model.headers.gguf import read_gguf
from app.core.model.headers.gguf_model import model_of_gguf
from app.core.model.headers.safetensors import Checkpoint, read_index
from app.core.units import GIB

HALF_BYTES = 2.0


@dataclass(frozen=True, slots=True)
class Reading:
    """The figures of a model; None where the file does not say."""

    parameters: float | None
    active_parameters: float | None
    kv_bytes_per_token: float | None
    state_bytes_per_sequence: float | None
    weight_gib: float
    precision: str
    warnings: tuple[Message, ...]
    model: ModelArchitecture | None = None


@dataclass(frozen=True, slots=True)
class ModelFile:
    """What was sent of a model: any of its files, and how its cache is to be kept."""

    config: Mapping[str, Any] | None = None
    index: Mapping[str, Any] | None = None
    gguf: bytes | None = None
    name: str = ""
    parameters: float | None = None
    kv_precision: str = USUAL


def read_model(sent: ModelFile) -> Reading:
    """The figures of a model from its files.

    Parameters
    ----------
    sent: `config`, `index` (model.safetensors.index.json, or the header of a .safetensors), `gguf` (its first
        bytes), each alone or an index beside its config.

    Returns
    -------
    Parameters and active ones; bytes of keys and values that one more token adds, in `kv_precision`, layers
    that keep a window and keys of indexers apart; bytes of recurrent state of one sequence, fp32 with
    convolutions at 16 bit; GiB of the weights as an engine loads them, in their own format.

    Errors
    ------
    InputFault: nothing was sent, or the readers' faults.
    """
    if sent.gguf is not None:
        header = read_gguf(sent.gguf, "/gguf")
        return _of_model(model_of_gguf(header, "/gguf"), sent, ())
    if sent.config is not None:
        model = read_config(sent.config, sent.name, None, "/config")
        notes: tuple[Message, ...] = ()
        if sent.index is not None:
            model, notes = _with_index(model, read_index(sent.index, "/index"))
        return _of_model(model, sent, notes)
    if sent.index is not None:
        return _of_checkpoint(read_index(sent.index, "/index"), sent)
    raise InputFault.at("", "no_model_file")


def reading_of(model: ModelArchitecture) -> Reading:
    """The figures of a model that was read already, with a 16-bit cache."""
    return _of_model(model, ModelFile(), ())


def _with_index(model: ModelArchitecture, found: Checkpoint) -> tuple[ModelArchitecture, tuple[Message, ...]]:
    """A model with the bytes of its checkpoint, and a note where its dimensions come to others."""
    notes = []
    expected = model.stored.total if model.stored is not None else 2.0 * model.parameters
    if abs(expected / found.size - 1) > 0.05:
        notes.append(
            Message(
                "size_differs_from_index", {"counted_gib": expected / GIB, "stated_gib": found.size / GIB}
            )
        )
    scale = found.size / expected
    old = model.stored or _wide(model)
    stored = StoredBytes(
        old.layers * scale, old.experts * scale, old.embedding * scale, old.head * scale, exact=True
    )
    precision = model.native_precision or found.precision or USUAL
    return replace(model, stored=stored, native_precision=precision), tuple(notes)


def _engine() -> str:
    """The engine whose loading counts for `weight_gib`: the one that serves language models by default."""
    return engines.chosen_for("decoder").name


def _wide(model: ModelArchitecture) -> StoredBytes:
    sizes = model_bytes(model, USUAL, _engine())
    return StoredBytes(sizes.layers + sizes.replicated, sizes.experts, sizes.embedding, sizes.head)


def _of_model(model: ModelArchitecture, sent: ModelFile, notes: tuple[Message, ...]) -> Reading:
    precision = model.native_precision or USUAL
    each = elements(model) if model.family == "decoder" else None
    size = format_of(sent.kv_precision).bytes
    kv = None if each is None else each.full * size + (each.wide if size < HALF_BYTES else 0.0)
    warnings = [Message(code) for code in model.warnings] + list(model.notes) + list(notes)
    if each is not None and each.index_bytes:
        warnings.append(Message("index_keys_apart", {"bytes": each.index_bytes}))
    if each is not None and each.sliding:
        warnings.append(
            Message("windows_apart", {"bytes": each.sliding * size, "window": model.sliding_window})
        )
    if model.native_kv_precision:
        warnings.append(Message("cache_has_scales", {"precision": model.native_kv_precision}))
    if sent.parameters and abs(model.parameters / sent.parameters - 1) > 0.05:
        params = {"stated_parameters": sent.parameters, "counted_parameters": model.parameters}
        warnings.append(Message("size_differs_from_stated", params))
    return Reading(
        model.parameters,
        model.active_parameters,
        kv,
        model.linear_state_bytes,
        _loaded(model, precision) / GIB,
        precision,
        tuple(warnings),
        model,
    )


def _loaded(model: ModelArchitecture, precision: str) -> float:
    """Bytes of the weights on a card; an exact checkpoint is not padded."""
    if model.stored is not None and model.stored.exact:
        return model.stored.total
    return float(model_bytes(model, precision, _engine()).total)


def _of_checkpoint(found: Checkpoint, sent: ModelFile) -> Reading:
    """An index or header alone: bytes are exact, what it does not say is left open."""
    warnings = [Message("no_dimensions")]
    if found.assumed == "16 bit":
        warnings.append(Message("count_assumes_16_bit"))
    elif found.assumed == "4 bit":
        warnings.append(Message("count_assumes_4_bit"))
    elif not found.parameters:
        warnings.append(Message("packed_count_unknown"))
    size = format_of(sent.kv_precision).bytes
    return Reading(
        found.parameters or None,
        None,
        found.kv_elements * size if found.kv_elements else None,
        None,
        found.size / GIB,
        found.precision or USUAL,
        tuple(warnings),
    )
