"""Types of tensors in GGUF files: elements of a block and its bytes.

References
----------
[1] gguf 0.17 `constants.GGML_QUANT_SIZES` (llama.cpp), read 2026-12-01.
[2] ikawrakow/ik_llama.cpp, gguf-py/gguf/constants.py @00ded08, read 2026-12-01: types from 97 on, `_R4` and
    its like are the same blocks with rows interleaved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class TensorType(NamedTuple):
    """One type: its name, elements of a block, bytes of a block."""

    name: str
    elements: int
    size: int


_TABLE = """
0 f32 1 4;1 f16 1 2;2 q4_0 32 18;3 q4_1 32 20;6 q5_0 32 22;7 q5_1 32 24;8 q8_0 32 34;9 q8_1 32 36
10 q2_k 256 84;11 q3_k 256 110;12 q4_k 256 144;13 q5_k 256 176;14 q6_k 256 210;15 q8_k 256 292
16 iq2_xxs 256 66;17 iq2_xs 256 74;18 iq3_xxs 256 98;19 iq1_s 256 50;20 iq4_nl 32 18;21 iq3_s 256 110
22 iq2_s 256 82;23 iq4_xs 256 136;24 i8 1 1;25 i16 1 2;26 i32 1 4;27 i64 1 8;28 f64 1 8;29 iq1_m 256 56
30 bf16 1 2;31 q4_0_4_4 32 18;32 q4_0_4_8 32 18;33 q4_0_8_8 32 18;34 tq1_0 256 54;35 tq2_0 256 66
36 i2_s 4 1;39 mxfp4 32 17;40 nvfp4 64 36;41 q1_0 128 18;97 q8_0_x4 32 34;98 q8_1_x4 32 36;99 q8_2_x4 32 36
133 q6_0 32 26;134 iq1_bn 64 13;135 iq2_bn 64 16;136 q8_k64 64 68;137 iq2_k 256 76;138 iq3_k 256 110
139 iq4_k 256 144;140 iq5_k 256 176;141 iq6_k 256 212;144 iq4_ks 256 136;145 iq2_ks 256 70
146 iq4_kss 256 128;147 q8_k16 64 64;148 q8_k32 256 292;149 q8_kr8 256 292;150 q8_k128 128 140
151 q8_kv 32 32;152 iq5_ks 256 168;153 iq2_kt 256 68;154 iq3_kt 256 100;155 iq4_kt 256 128;156 iq3_ks 256 102
157 iq2_kl 256 86;158 iq1_kt 256 56;202 q4_0_r8 32 18;206 q5_0_r4 32 22;208 q8_0_r8 32 34;210 q2_k_r4 256 84
211 q3_k_r4 256 110;212 q4_k_r4 256 144;213 q5_k_r4 256 176;214 q6_k_r4 256 210;216 iq2_xxs_r4 256 66
217 iq2_xs_r4 256 74;218 iq3_xxs_r4 256 98;219 iq1_s_r4 32 6;220 iq4_nl_r4 32 18;221 iq3_s_r4 256 110
222 iq2_s_r4 256 82;223 iq4_xs_r8 256 136;229 iq1_m_r4 32 7;230 bf16_r16 1 2;233 q6_0_r4 32 26
335 iq2_bn_r4 64 16;337 iq2_k_r4 256 76;338 iq3_k_r4 256 110;339 iq4_k_r4 256 144;340 iq5_k_r4 256 176
344 iq4_ks_r4 256 136;352 iq5_ks_r4 256 168;398 q8_kv_r8 32 32;399 q8_k_r8 256 258
"""


def _read() -> dict[int, TensorType]:
    found = {}
    for cell in _TABLE.replace("\n", ";").split(";"):
        if cell.strip():
            number, name, elements, size = cell.split()
            found[int(number)] = TensorType(name, int(elements), int(size))
    return found


TYPES: Mapping[int, TensorType] = _read()
"""By the number in the file."""
PLAIN = frozenset({"f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64", "bf16_r16"})
"""Types without blocks."""

_BESIDE = frozenset("q8_1 q8_k q8_k16 q8_k32 q8_k64 q8_k128 q8_kr8 q8_0_x4 q8_1_x4 q8_2_x4 bf16_r16".split())
"""Types of activations on their way."""
WEIGHT_TYPES = tuple(t for t in TYPES.values() if t.name not in PLAIN | _BESIDE)
"""Types with blocks that files of weights have."""

_FILES = """
0 f32;1 f16;2 q4_0;3 q4_1;7 q8_0;8 q5_0;9 q5_1;10 q2_k;11 q3_k_s;12 q3_k_m;13 q3_k_l;14 q4_k_s;15 q4_k_m
16 q5_k_s;17 q5_k_m;18 q6_k;19 iq2_xxs;20 iq2_xs;21 q2_k_s;22 iq3_xs;23 iq3_xxs;24 iq1_s;25 iq4_nl;26 iq3_s
27 iq3_m;28 iq2_s;29 iq2_m;30 iq4_xs;31 iq1_m;32 bf16;36 tq1_0;37 tq2_0;38 mxfp4
"""
FILE_TYPES: Mapping[int, str] = {
    int(cell.split()[0]): cell.split()[1] for cell in _FILES.replace("\n", ";").split(";") if cell.strip()
}
"""`general.file_type` of llama.cpp: what most tensors of a file are."""
