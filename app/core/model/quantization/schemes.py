"""Bytes of a matrix in one scheme: elements, scales and zero points."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Scheme:
    """How one kind of module is stored.

    A matrix of R outputs and C inputs takes R C bits / 8 and, for each group of inputs, a scale and a zero.
    """

    format: str
    """The format of the product that its kernels run as."""
    bits: float
    """Of one element."""
    group: int = 0
    """Inputs that share a scale; 0: all inputs of an output; -1: the whole matrix."""
    scale_bytes: float = 0.0
    zero_bytes: float = 0.0
    outputs: int = 1
    """Outputs that share a scale."""
    input_bytes: float = 0.0
    """For each input: the order of groups that GPTQ keeps."""
    tensor_bytes: float = 0.0

    def bytes_of(self, rows: int, columns: int) -> float:
        """Bytes of one matrix."""
        if self.group < 0:
            groups = 1.0
        else:
            groups = math.ceil(columns / (self.group or columns)) * math.ceil(rows / self.outputs)
        own = rows * columns * self.bits / 8.0
        return own + groups * (self.scale_bytes + self.zero_bytes) + columns * self.input_bytes

    def grouped(self, group: int, scale_bytes: float) -> Scheme:
        """The same with a group of its own."""
        return replace(self, group=group, scale_bytes=scale_bytes)


WIDE = Scheme("bf16", 16.0)
FULL = Scheme("fp32", 32.0)
FP8_TENSOR = Scheme("fp8", 8.0, group=-1, scale_bytes=4.0)
FP8_CHANNEL = Scheme("fp8", 8.0, scale_bytes=2.0)
INT8_CHANNEL = Scheme("int8", 8.0, scale_bytes=2.0)
NVFP4 = Scheme("nvfp4", 4.0, group=16, scale_bytes=1.0, tensor_bytes=4.0)
MXFP4 = Scheme("mxfp4", 4.0, group=32, scale_bytes=1.0)
MXFP6 = Scheme("fp8", 6.0, group=32, scale_bytes=1.0)
MXFP8 = Scheme("fp8", 8.0, group=32, scale_bytes=1.0)


def fp8_blocks(rows: int, columns: int) -> Scheme:
    """FP8 with one fp32 scale for each block of outputs x inputs (128 x 128 as DeepSeek stores it)."""
    return Scheme("fp8", 8.0, group=columns, scale_bytes=4.0, outputs=rows)


def integer(bits: float, group: int, *, symmetric: bool, packed_zeros: bool = True, name: str = "") -> Scheme:
    """Integers of a few bits with 16-bit scales; asymmetric ones keep a zero of the same bits.

    Parameters
    ----------
    bits: of one weight. group: inputs that share a scale; 0 or less: all of them.
    symmetric: no zeros are kept; `packed_zeros`: GPTQ and AWQ write them all the same.
    """
    zero = bits / 8.0 if packed_zeros or not symmetric else 0.0
    kind = name or ("int8" if bits > 6 else "int4")
    return Scheme(kind, bits, group=max(0, group), scale_bytes=2.0, zero_bytes=zero)
