"""Number formats, one record each with everything the product knows of it; an unknown name is an error."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.core.calibration import DEFAULT, BytesBy, Entry, fill
from app.core.model.headers.gguf_types import WEIGHT_TYPES

KERNELS = ("plain", "gptq", "bitsandbytes", "gguf", "packed")
"""Families of kernels that an engine has from some compute capability on: `engines.record.Engine.kernels`."""
STORAGE = ("plain", "native", "weight_only", "gguf")
"""Elements of the compute type; quantized linears whose products run in their own type; quantized linears
that are widened to 16 bit before the product; one file of llama.cpp, at the mean bits over everything."""
QUIRKS = ("experts_only", "padded_experts", "own_head", "wide_latent", "language_only")
"""Of a mixture of experts the routed experts alone are quantized; kernels of serving engines pad their width;
a tied head is carried as a tensor of its own; the projections of latent attention stay at 16 bit; checkpoints
and kernels are those of language models."""
COMPUTE_GROUPS = ("fp32", "tf32", "half", "fp8", "int8", "fp4")
"""Types of matrix products that run at one speed; tables of constants by type name all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeType:
    """The type of activations and matrix products."""

    name: str
    group: str
    """Of COMPUTE_GROUPS."""
    rate: str
    """The figure of a card that counts as its peak: see `gpu.RATE_FIGURES`."""
    activation_bytes: float
    """Of one activation element that is kept: 16-bit types and narrower ones keep 2."""
    kv: str
    """Format of the KV cache where a question names none."""
    or_vector: str
    """Type in which vector units may do its products instead, as fast as they can; empty: none."""

    def __post_init__(self) -> None:
        """ValueError for a group that no constant speaks of."""
        if self.group not in COMPUTE_GROUPS:
            raise ValueError(f"compute type {self.name}: no group {self.group!r}")

    @property
    def title(self) -> str:
        """As a reader sees it."""
        return self.name.upper()

    @property
    def wide(self) -> bool:
        """Four bytes an activation: fp32 and tf32."""
        return self.activation_bytes > 2.0

    @property
    def narrow(self) -> bool:
        """Activations are rounded to 8 or 4 bit before each product."""
        return self.group in ("fp8", "int8", "fp4")


COMPUTE_TYPES: Mapping[str, ComputeType] = {
    name: ComputeType(
        name=name, group=group, rate=rate, activation_bytes=activation_bytes, kv=kv, or_vector=or_vector
    )
    for name, group, rate, activation_bytes, kv, or_vector in (
        ("fp32", "fp32", "fp32_tflops", 4.0, "fp32", ""),
        ("tf32", "tf32", "tf32_tflops", 4.0, "fp32", "fp32"),
        ("fp16", "half", "fp16_tflops", 2.0, "fp16", ""),
        ("bf16", "half", "bf16_tflops", 2.0, "bf16", ""),
        ("fp8", "fp8", "fp8_tflops", 2.0, "bf16", ""),
        ("int8", "int8", "int8_tops", 2.0, "bf16", ""),
        ("fp4", "fp4", "fp4_tflops", 2.0, "bf16", ""),
    )
}
_REPACKED = re.compile(r"_r\d+$")
ADVISED = ("decoder", "gguf", "other")
"""Questions whose weights can be narrowed: language models, GGUF files, all other models."""
USUAL = "bf16"
"""Format of a question that names none, and that mixed precision computes in."""
QLORA = "nf4"
"""Format of the frozen weights of QLoRA where a question names none that is quantized."""


class UnknownFormat(LookupError):
    """No record has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no number format {name!r}")
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format of weights or of the KV cache. No part has a default: a record that lacks one fails."""

    name: str
    title: str
    bits: float
    """Bits per quantized element, scales and zero points included."""
    computes_in: str
    """Of COMPUTE_TYPES: the type of the matrix products."""
    weights: bool
    """A question may name it for the weights."""
    form_place: int | None
    """Place among the formats that the form shows first; None: with the others."""
    kv_place: int | None
    """Place among the formats of a KV cache; None: no KV cache is kept in it."""
    kernels: str
    """Of KERNELS: what an engine needs to load it."""
    storage: str
    """Of STORAGE: what the weights are on the card."""
    trains: bool
    """Weights can be trained in full."""
    quirks: tuple[str, ...]
    """Of QUIRKS: what its checkpoints and kernels do beside storing fewer bits."""
    advised_for: tuple[str, ...]
    """Of ADVISED: weights that advice turns to where those of the question do not fit."""
    checkpoint_methods: tuple[str, ...]
    """Names of `quant_method` in a config.json that mean it, beside its own name."""
    widened_whole: bool
    """Adapter training holds one matrix at a time widened to 16 bit."""
    dequantize_bytes: float
    """Traffic per parameter of widening the weights in all passes of one step of adapter training."""

    def __post_init__(self) -> None:
        """ValueError for a part that names what does not exist."""
        if self.computes_in not in COMPUTE_TYPES:
            raise ValueError(f"format {self.name}: no compute type {self.computes_in!r}")
        if self.kernels not in KERNELS:
            raise ValueError(f"format {self.name}: no kernels {self.kernels!r}")
        if self.storage not in STORAGE:
            raise ValueError(f"format {self.name}: no storage {self.storage!r}")
        for part, known in ((self.quirks, QUIRKS), (self.advised_for, ADVISED)):
            if set(part) - set(known):
                raise ValueError(f"format {self.name}: unknown {sorted(set(part) - set(known))}")

    @property
    def bytes(self) -> float:
        """Bytes per element."""
        return self.bits / 8.0

    @property
    def quantized(self) -> bool:
        """Linears only; embeddings, head and towers stay at 16 bit."""
        return self.storage != "plain"

    @property
    def weight_only(self) -> bool:
        """Weights are widened to 16 bit before the product."""
        return self.storage in ("weight_only", "gguf")

    @property
    def gguf(self) -> bool:
        """One file of llama.cpp."""
        return self.storage == "gguf"

    @property
    def repacked(self) -> bool:
        """Rows of another type, interleaved: a question may name it, the form does not offer it."""
        return self.gguf and _REPACKED.search(self.name) is not None

    @property
    def compute(self) -> ComputeType:
        """The type of its matrix products."""
        return COMPUTE_TYPES[self.computes_in]

    @property
    def speed_group(self) -> str:
        """Formats that run at one speed and share their measurements: fp16 and bf16 are `half`."""
        return self.name if self.quantized else self.compute.group

    @property
    def kernel_form(self) -> str:
        """How a kernel reads these weights: gguf, weight_only or native."""
        return self.storage if self.quantized else "native"

    @property
    def multiprocessor_form(self) -> str:
        """What a multiprocessor does with weights on their way: widened, narrow or half."""
        return "widened" if self.weight_only else "narrow" if self.quantized else "half"


DEQUANTIZE_BYTES: BytesBy = {}
"""Traffic per parameter of widening quantized weights in all passes of one step, by format."""


def _tried(_: Entry) -> None:
    """Give the records of quantized formats the value of DEQUANTIZE_BYTES that is being tried."""
    for name, found in _FORMATS.items():
        if found.quantized:
            value = DEQUANTIZE_BYTES.get(name, DEQUANTIZE_BYTES[DEFAULT])
            _FORMATS[name] = replace(found, dequantize_bytes=value)


fill("formats", sys.modules[__name__], refresh=_tried)


def _plain(
    name: str, bits: float, form_place: int, kv_place: int | None, advised_for: tuple[str, ...]
) -> Format:
    """A format that is nothing but its compute type."""
    return Format(
        name=name,
        title=name.upper(),
        bits=bits,
        computes_in=name,
        weights=True,
        form_place=form_place,
        kv_place=kv_place,
        kernels="plain",
        storage="plain",
        trains=True,
        quirks=(),
        advised_for=advised_for,
        checkpoint_methods=(),
        widened_whole=False,
        dequantize_bytes=0.0,
    )


def _gguf(name: str, bits: float, form_place: int | None, advised_for: tuple[str, ...]) -> Format:
    """A quantization type of llama.cpp, at the mean bits of a whole file."""
    return Format(
        name=f"gguf-{name}",
        title=f"GGUF {name.upper()}",
        bits=bits,
        computes_in="fp16",
        weights=True,
        form_place=form_place,
        kv_place=None,
        kernels="gguf",
        storage="gguf",
        trains=False,
        quirks=(),
        advised_for=advised_for,
        checkpoint_methods=(),
        widened_whole=True,
        dequantize_bytes=DEQUANTIZE_BYTES[DEFAULT],
    )


_MIXED = frozenset(
    "q8_0 q6_k q5_0 q4_0 q4_1 iq4_xs q2_k q5_1 iq4_nl iq3_s iq3_xxs iq2_xxs iq1_s mxfp4 f16 bf16".split()
)
"""Types that name a mixture with bits of its own below."""


def of_one_type() -> list[tuple[str, float]]:
    """Names and bits of GGUF files that are of one type: the rarer ones, and those with interleaved rows."""
    return [(t.name, 8.0 * t.size / t.elements) for t in WEIGHT_TYPES if t.name not in _MIXED]


# Bits with scales: GGML block sizes (q4_0: 18 bytes per 32 weights …), AWQ/GPTQ group 128 with fp16 scale and
# 4-bit zero (4.156), NF4 with double quantization (4.127), MXFP4 32-blocks (4.25), NVFP4 16-blocks (4.5).
_FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        _plain("fp32", 32.0, 9, 7, ()),
        _plain("tf32", 32.0, 10, None, ()),
        _plain("fp16", 16.0, 1, 1, ("other",)),
        _plain("bf16", 16.0, 0, 0, ()),
        Format(
            name="fp8",
            title="FP8",
            bits=8.0,
            computes_in="fp8",
            weights=True,
            form_place=2,
            kv_place=2,
            kernels="packed",
            storage="native",
            trains=True,
            quirks=("own_head",),
            advised_for=("decoder",),
            checkpoint_methods=("fbgemm_fp8",),
            widened_whole=False,
            dequantize_bytes=DEQUANTIZE_BYTES[DEFAULT],
        ),
        Format(
            name="int8",
            title="INT8",
            bits=8.0,
            computes_in="int8",
            weights=True,
            form_place=3,
            kv_place=3,
            kernels="packed",
            storage="native",
            trains=False,
            quirks=(),
            advised_for=("other",),
            checkpoint_methods=(),
            widened_whole=True,
            dequantize_bytes=DEQUANTIZE_BYTES["int8"],
        ),
        Format(
            name="int4",
            title="INT4",
            bits=4.156,
            computes_in="fp16",
            weights=True,
            form_place=None,
            kv_place=None,
            kernels="packed",
            storage="weight_only",
            trains=False,
            quirks=("wide_latent",),
            advised_for=(),
            checkpoint_methods=(),
            widened_whole=True,
            dequantize_bytes=DEQUANTIZE_BYTES[DEFAULT],
        ),
        Format(
            name="nf4",
            title="NF4",
            bits=4.127,
            computes_in="bf16",
            weights=True,
            form_place=6,
            kv_place=None,
            kernels="bitsandbytes",
            storage="weight_only",
            trains=False,
            quirks=(),
            advised_for=("other",),
            checkpoint_methods=("bitsandbytes",),
            widened_whole=True,
            dequantize_bytes=DEQUANTIZE_BYTES[DEFAULT],
        ),
        Format(
            name="awq",
            title="AWQ 4 bit",
            bits=4.156,
            computes_in="fp16",
            weights=True,
            form_place=4,
            kv_place=None,
            kernels="packed",
            storage="weight_only",
            trains=False,
            quirks=("own_head", "language_only"),
            advised_for=("decoder",),
            checkpoint_methods=(),
            widened_whole=True,
            dequantize_bytes=DEQUANTIZE_BYTES["awq"],
        ),
        Format(
            name="gptq",
            title="GPTQ 4 bit",
            bits=4.156,
            computes_in="fp16",
            weights=True,
            form_place=5,
            kv_place=None,
            kernels="gptq",
            storage="weight_only",
            trains=False,
            quirks=("language_only",),
            advised_for=(),
            checkpoint_methods=(),
            widened_whole=True,
            dequantize_bytes=DEQUANTIZE_BYTES["gptq"],
        ),
        Format(
            name="mxfp4",
            title="MXFP4",
            bits=4.25,
            computes_in="bf16",
            weights=True,
            form_place=None,
            kv_place=None,
            kernels="packed",
            storage="weight_only",
            trains=False,
            quirks=("experts_only", "padded_experts"),
            advised_for=(),
            checkpoint_methods=(),
            widened_whole=True,
            dequantize_bytes=DEQUANTIZE_BYTES[DEFAULT],
        ),
        Format(
            name="nvfp4",
            title="NVFP4",
            bits=4.5,
            computes_in="fp4",
            weights=True,
            form_place=None,
            kv_place=4,
            kernels="packed",
            storage="native",
            trains=True,
            quirks=("experts_only",),
            advised_for=(),
            checkpoint_methods=("modelopt",),
            widened_whole=True,
            dequantize_bytes=DEQUANTIZE_BYTES[DEFAULT],
        ),
        _gguf("f16", 16.0, None, ()),
        _gguf("bf16", 16.0, None, ()),
        _gguf("q8_0", 8.5, 8, ("gguf",)),
        _gguf("q6_k", 6.5625, None, ()),
        _gguf("q5_k_m", 5.69, None, ()),
        _gguf("q5_k_s", 5.54, None, ()),
        _gguf("q5_0", 5.5, None, ()),
        _gguf("q4_k_m", 4.85, 7, ("gguf",)),
        _gguf("q4_k_s", 4.58, None, ()),
        _gguf("q4_0", 4.5, None, ()),
        _gguf("q4_1", 5.0, None, ()),
        _gguf("iq4_xs", 4.25, None, ()),
        _gguf("q3_k_m", 3.91, None, ("gguf",)),
        _gguf("q3_k_s", 3.5, None, ()),
        _gguf("q3_k_l", 4.27, None, ()),
        _gguf("q2_k", 3.0, None, ()),
        _gguf("q5_1", 6.0, None, ()),
        _gguf("iq4_nl", 4.5, None, ()),
        _gguf("iq3_m", 3.66, None, ()),
        _gguf("iq3_s", 3.44, None, ()),
        _gguf("iq3_xxs", 3.06, None, ()),
        _gguf("iq2_m", 2.7, None, ()),
        _gguf("iq2_xxs", 2.06, None, ()),
        _gguf("iq1_s", 1.56, None, ()),
        _gguf("mxfp4", 4.25, None, ()),
        *(_gguf(name, bits, None, ()) for name, bits in of_one_type()),
        Format(
            name="q8_0",
            title="Q8_0",
            bits=8.5,
            computes_in="fp16",
            weights=False,
            form_place=None,
            kv_place=5,
            kernels="gguf",
            storage="native",
            trains=True,
            quirks=(),
            advised_for=(),
            checkpoint_methods=(),
            widened_whole=True,
            dequantize_bytes=DEQUANTIZE_BYTES[DEFAULT],
        ),
        Format(
            name="q4_0",
            title="Q4_0",
            bits=4.5,
            computes_in="fp16",
            weights=False,
            form_place=None,
            kv_place=6,
            kernels="gguf",
            storage="native",
            trains=True,
            quirks=(),
            advised_for=(),
            checkpoint_methods=(),
            widened_whole=True,
            dequantize_bytes=DEQUANTIZE_BYTES[DEFAULT],
        ),
    )
}


def register(found: Format) -> None:
    """Add a format before the modules that list choices are imported; ValueError where its name is taken."""
    if found.name in _FORMATS:
        raise ValueError(f"two records for {found.name}")
    _FORMATS[found.name] = found


def format_of(name: str) -> Format:
    """The record of a name; UnknownFormat for any that no record has."""
    found = _FORMATS.get(name)
    if found is None:
        raise UnknownFormat(name)
    return found


def is_format(name: str) -> bool:
    """Whether a record has this name."""
    return name in _FORMATS


def all_formats() -> tuple[Format, ...]:
    """Every format in the order of the table."""
    return tuple(_FORMATS.values())


def names() -> tuple[str, ...]:
    """Names of all formats."""
    return tuple(_FORMATS)


def weight_names() -> tuple[str, ...]:
    """Formats that a question may name for the weights."""
    return tuple(f.name for f in all_formats() if f.weights)


def kv_names() -> tuple[str, ...]:
    """Formats that a question may name for the KV cache, in the order of the form."""
    placed = [(f.kv_place, f.name) for f in all_formats() if f.kv_place is not None]
    return tuple(name for _, name in sorted(placed))


def form_names(trains: bool) -> tuple[str, ...]:
    """Weight formats in the order of the form: what a team meets first, then the others."""
    shown = [f for f in all_formats() if f.weights and not (trains and f.gguf) and not f.repacked]
    first = sorted((f for f in shown if f.form_place is not None), key=lambda f: f.form_place or 0)
    return tuple(f.name for f in (*first, *(f for f in shown if f.form_place is None)))


def advised_for(kind: str) -> tuple[Format, ...]:
    """Weight formats that advice turns to for one of ADVISED, the mildest first."""
    return tuple(sorted((f for f in all_formats() if kind in f.advised_for), key=lambda f: -f.bits))


def title(name: str) -> str:
    """How a reader sees a format or a compute type: bf16 -> BF16, gguf-q4_k_m -> GGUF Q4_K_M."""
    found = _FORMATS.get(name) or COMPUTE_TYPES.get(name)
    return found.title if found else name.upper()


def of_checkpoint(method: str) -> str:
    """The format that `quant_method` of a config.json names; empty where it names none."""
    return next((f.name for f in all_formats() if method in (f.name, *f.checkpoint_methods)), "")
