"""The header of a .gguf: its metadata and tensors, as far as the bytes that were sent reach."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from app.core.faults import InputFault
from app.core.model.headers.gguf_types import PLAIN, TYPES

MAGIC = b"GGUF"
MAX_BYTES = 8_000_000
"""What is read of a file: metadata and tensors of any model are within it."""
MAX_TENSORS = 60_000
MAX_KEYS = 4_096
MAX_KEPT = 4_096
"""Longest list of numbers that is kept; of longer ones and of texts the length alone."""
MAX_TEXT = 65_536
_FORMS: Mapping[int, str] = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
_TEXT, _LIST = 8, 9


class _Ended(Exception):
    """The bytes end here; more of the file was not sent."""


class Tensor(NamedTuple):
    """One tensor: its name, elements, type and bytes."""

    name: str
    shape: tuple[int, ...]
    type: str
    size: float

    @property
    def elements(self) -> int:
        """Product of its shape."""
        count = 1
        for n in self.shape:
            count *= n
        return count


@dataclass(slots=True)
class GgufHeader:
    """What was read of a file."""

    metadata: dict[str, Any] = field(default_factory=dict)
    tensors: list[Tensor] = field(default_factory=list)
    whole: bool = False
    """Whether all tensors were within the bytes."""
    unknown_types: set[int] = field(default_factory=set)


class _Reader:
    """Bytes from the first to the last."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self, form: str) -> Any:
        """One value of a form of struct."""
        size = struct.calcsize(form)
        if self.at + size > len(self.data):
            raise _Ended
        (value,) = struct.unpack_from(form, self.data, self.at)
        self.at += size
        return value

    def skip(self, count: int) -> None:
        """Pass over bytes."""
        if count > len(self.data) - self.at:
            raise _Ended
        self.at += count

    def text(self) -> str:
        """A text with its length before it."""
        length = self.number("<Q")
        start = self.at
        self.skip(length)
        return self.data[start : start + min(length, MAX_TEXT)].decode("utf-8", "replace")


def read_gguf(data: bytes, pointer: str) -> GgufHeader:
    """The header of a file from its first bytes.

    Parameters
    ----------
    data: the beginning of the file; what is beyond 8 MB is not looked at.
    pointer: JSON pointer of the bytes, for the faults.

    Returns
    -------
    Metadata by key, tensors; `whole` where the tensors were all there. Of a list of texts its length is kept.

    Errors
    ------
    InputFault: `not_gguf` (no magic, another version), `gguf_broken` (types or sizes that cannot be).

    References
    ----------
    [1] ggml-org/ggml docs/gguf.md, read 2026-12-01: version 3, little endian.
    """
    reader = _Reader(data[:MAX_BYTES])
    found = GgufHeader()
    if data[:4] != MAGIC:
        raise InputFault.at(pointer, "not_gguf")
    reader.at = 4
    try:
        version = reader.number("<I")
        if version not in (2, 3):
            raise InputFault.at(pointer, "not_gguf")
        tensors, keys = reader.number("<Q"), reader.number("<Q")
        if tensors > MAX_TENSORS or keys > MAX_KEYS:
            raise InputFault.at(pointer, "gguf_broken")
        for _ in range(keys):
            name = reader.text()[:256]
            found.metadata[name] = _value(reader, reader.number("<I"), pointer)
        _tensors(reader, found, tensors, pointer)
        found.whole = True
    except _Ended:
        pass
    return found


def _value(reader: _Reader, kind: int, pointer: str) -> Any:
    if kind == _TEXT:
        return reader.text()
    if kind == _LIST:
        return _list(reader, pointer)
    form = _FORMS.get(kind)
    if form is None:
        raise InputFault.at(pointer, "gguf_broken")
    return reader.number(form)


def _list(reader: _Reader, pointer: str) -> Any:
    """A list of numbers, or the length of a long one and of one of texts."""
    kind, count = reader.number("<I"), reader.number("<Q")
    if kind == _TEXT:
        for _ in range(min(count, len(reader.data))):
            reader.skip(reader.number("<Q"))
        return count
    form = _FORMS.get(kind)
    if form is None:
        raise InputFault.at(pointer, "gguf_broken")
    size = struct.calcsize(form)
    if count > MAX_KEPT:
        reader.skip(count * size)
        return count
    start = reader.at
    reader.skip(count * size)
    return list(struct.unpack_from(f"<{count}{form[1]}", reader.data, start))


def _tensors(reader: _Reader, found: GgufHeader, count: int, pointer: str) -> None:
    rows: list[tuple[str, tuple[int, ...], int, int]] = []
    try:
        for _ in range(count):
            name = reader.text()[:256]
            dimensions = reader.number("<I")
            if not 0 < dimensions <= 4:
                raise InputFault.at(pointer, "gguf_broken")
            shape = tuple(reader.number("<Q") for _ in range(dimensions))
            if any(not 0 < n < 1 << 40 for n in shape):
                raise InputFault.at(pointer, "gguf_broken")
            rows.append((name, shape, reader.number("<I"), reader.number("<Q")))
    finally:
        offsets = sorted({row[3] for row in rows})
        after = dict(zip(offsets, offsets[1:], strict=False))
        for name, shape, kind, offset in rows:
            found.tensors.append(_tensor(found, name, shape, kind, after.get(offset, offset) - offset))


def _tensor(found: GgufHeader, name: str, shape: tuple[int, ...], kind: int, room: int) -> Tensor:
    """One tensor; of an unknown type its bytes are the room up to the next one."""
    known = TYPES.get(kind)
    elements = 1
    for n in shape:
        elements *= n
    if known is None:
        found.unknown_types.add(kind)
        return Tensor(name, shape, f"type {kind}", float(room))
    return Tensor(name, shape, known.name, elements / known.elements * known.size)


def main_type(header: GgufHeader) -> str:
    """The type that most elements of the matrices have; empty without tensors."""
    by_type: dict[str, int] = {}
    for tensor in header.tensors:
        if len(tensor.shape) > 1:
            by_type[tensor.type] = by_type.get(tensor.type, 0) + tensor.elements
    narrow = {kind: n for kind, n in by_type.items() if kind not in PLAIN}
    chosen = narrow or by_type
    return max(chosen, key=lambda kind: chosen[kind]) if chosen else ""
