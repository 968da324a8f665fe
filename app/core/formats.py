"""Number formats, one record each with everything the product knows of it; an unknown name is an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

KERNELS = ("plain", "gptq", "bitsandbytes", "gguf", "packed")
"""Families of kernels that an engine has from some compute capability on: `engines.record.Engine.kernels`."""
COMPUTE_GROUPS = ("fp32", "tf32", "half", "fp8", "int8", "fp4")
"""Types of matrix products that run at one speed; tables of constants by type name all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeType:
    """The type of activations and matrix products."""

    name: str
    title: str
    group: str
    """Of COMPUTE_GROUPS."""
    rate: str
    """The figure of a card that counts as its peak: see `gpu.RATE_FIGURES`."""
    activation_bytes: float
    """Of one activation element that is kept: 16-bit types and narrower ones keep 2."""
    kv: str
    """Format of the KV cache where a question names none."""

    def __post_init__(self) -> None:
        """ValueError for a group that no constant speaks of."""
        if self.group not in COMPUTE_GROUPS:
            raise ValueError(f"compute type {self.name}: no group {self.group!r}")

    @property
    def wide(self) -> bool:
        """Four bytes an activation: fp32 and tf32."""
        return self.activation_bytes > 2.0

    @property
    def narrow(self) -> bool:
        """Activations are rounded to 8 or 4 bit before each product."""
        return self.group in ("fp8", "int8", "fp4")


COMPUTE_TYPES: Mapping[str, ComputeType] = {
    t.name: t
    for t in (
        ComputeType(
            name="fp32", title="FP32", group="fp32", rate="fp32_tflops", activation_bytes=4.0, kv="fp32"
        ),
        ComputeType(
            name="tf32", title="TF32", group="tf32", rate="tf32_tflops", activation_bytes=4.0, kv="fp32"
        ),
        ComputeType(
            name="fp16", title="FP16", group="half", rate="fp16_tflops", activation_bytes=2.0, kv="fp16"
        ),
        ComputeType(
            name="bf16", title="BF16", group="half", rate="bf16_tflops", activation_bytes=2.0, kv="bf16"
        ),
        ComputeType(name="fp8", title="FP8", group="fp8", rate="fp8_tflops", activation_bytes=2.0, kv="bf16"),
        ComputeType(
            name="int8", title="INT8", group="int8", rate="int8_tops", activation_bytes=2.0, kv="bf16"
        ),
        ComputeType(name="fp4", title="FP4", group="fp4", rate="fp4_tflops", activation_bytes=2.0, kv="bf16"),
    )
}


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
    quantized: bool
    """Linears only; embeddings, head and towers stay at 16 bit."""
    weight_only: bool
    """Weights are widened to 16 bit before the product, and cannot be trained in full."""
    gguf: bool
    """One file of llama.cpp, whose bits are the mean over everything."""
    trains: bool
    """Weights can be trained in full."""
    experts_only: bool
    """In a mixture of experts these checkpoints quantize the routed experts and leave the rest at 16 bit."""
    pads_experts: bool
    """Kernels of serving engines pad the width of experts."""
    own_head: bool
    """Checkpoints carry a tied head as a tensor of its own."""
    wide_latent: bool
    """Its quantizers leave the projections of latent attention at 16 bit."""
    language_only: bool
    """Checkpoints and kernels are those of language models."""
    checkpoint_methods: tuple[str, ...]
    """Names of `quant_method` in a config.json that mean it, beside its own name."""
    dequantize_bytes: float
    """Traffic per parameter of widening the weights in all passes of one step of adapter training."""

    def __post_init__(self) -> None:
        """ValueError for a part that names what does not exist."""
        if self.computes_in not in COMPUTE_TYPES:
            raise ValueError(f"format {self.name}: no compute type {self.computes_in!r}")
        if self.kernels not in KERNELS:
            raise ValueError(f"format {self.name}: no kernels {self.kernels!r}")

    @property
    def bytes(self) -> float:
        """Bytes per element."""
        return self.bits / 8.0

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
        return "gguf" if self.gguf else "weight_only" if self.weight_only else "native"

    @property
    def multiprocessor_form(self) -> str:
        """What a multiprocessor does with weights on their way: widened, narrow or half."""
        return "widened" if self.weight_only else "narrow" if self.quantized else "half"


def _plain(name: str, bits: float, form_place: int, kv_place: int | None) -> Format:
    """A format that is nothing but its compute type."""
    return Format(
        name=name,
        title=COMPUTE_TYPES[name].title,
        bits=bits,
        computes_in=name,
        weights=True,
        form_place=form_place,
        kv_place=kv_place,
        kernels="plain",
        quantized=False,
        weight_only=False,
        gguf=False,
        trains=True,
        experts_only=False,
        pads_experts=False,
        own_head=False,
        wide_latent=False,
        language_only=False,
        checkpoint_methods=(),
        dequantize_bytes=0.0,
    )


def _gguf(name: str, bits: float, form_place: int | None) -> Format:
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
        quantized=True,
        weight_only=True,
        gguf=True,
        trains=False,
        experts_only=False,
        pads_experts=False,
        own_head=False,
        wide_latent=False,
        language_only=False,
        checkpoint_methods=(),
        dequantize_bytes=14.0,
    )


# Bits with scales: GGML block sizes (q4_0: 18 bytes per 32 weights …), AWQ/GPTQ group 128 with fp16 scale and
# 4-bit zero (4.156), NF4 with double quantization (4.127), MXFP4 32-blocks (4.25), NVFP4 16-blocks (4.5).
_FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        _plain("fp32", 32.0, 9, 7),
        _plain("tf32", 32.0, 10, None),
        _plain("fp16", 16.0, 1, 1),
        _plain("bf16", 16.0, 0, 0),
        Format(
            name="fp8",
            title="FP8",
            bits=8.0,
            computes_in="fp8",
            weights=True,
            form_place=2,
            kv_place=2,
            kernels="packed",
            quantized=True,
            weight_only=False,
            gguf=False,
            trains=True,
            experts_only=False,
            pads_experts=False,
            own_head=True,
            wide_latent=False,
            language_only=False,
            checkpoint_methods=("fbgemm_fp8",),
            dequantize_bytes=14.0,
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
            quantized=True,
            weight_only=False,
            gguf=False,
            trains=False,
            experts_only=False,
            pads_experts=False,
            own_head=False,
            wide_latent=False,
            language_only=False,
            checkpoint_methods=(),
            dequantize_bytes=8.0,
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
            quantized=True,
            weight_only=True,
            gguf=False,
            trains=False,
            experts_only=False,
            pads_experts=False,
            own_head=False,
            wide_latent=True,
            language_only=False,
            checkpoint_methods=(),
            dequantize_bytes=14.0,
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
            quantized=True,
            weight_only=True,
            gguf=False,
            trains=False,
            experts_only=False,
            pads_experts=False,
            own_head=False,
            wide_latent=False,
            language_only=False,
            checkpoint_methods=("bitsandbytes",),
            dequantize_bytes=14.0,
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
            quantized=True,
            weight_only=True,
            gguf=False,
            trains=False,
            experts_only=False,
            pads_experts=False,
            own_head=True,
            wide_latent=False,
            language_only=True,
            checkpoint_methods=(),
            dequantize_bytes=60.0,
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
            quantized=True,
            weight_only=True,
            gguf=False,
            trains=False,
            experts_only=False,
            pads_experts=False,
            own_head=False,
            wide_latent=False,
            language_only=True,
            checkpoint_methods=(),
            dequantize_bytes=60.0,
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
            quantized=True,
            weight_only=True,
            gguf=False,
            trains=False,
            experts_only=True,
            pads_experts=True,
            own_head=False,
            wide_latent=False,
            language_only=False,
            checkpoint_methods=(),
            dequantize_bytes=14.0,
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
            quantized=True,
            weight_only=False,
            gguf=False,
            trains=True,
            experts_only=True,
            pads_experts=False,
            own_head=False,
            wide_latent=False,
            language_only=False,
            checkpoint_methods=("modelopt",),
            dequantize_bytes=14.0,
        ),
        _gguf("f16", 16.0, None),
        _gguf("bf16", 16.0, None),
        _gguf("q8_0", 8.5, 8),
        _gguf("q6_k", 6.5625, None),
        _gguf("q5_k_m", 5.69, None),
        _gguf("q5_k_s", 5.54, None),
        _gguf("q5_0", 5.5, None),
        _gguf("q4_k_m", 4.85, 7),
        _gguf("q4_k_s", 4.58, None),
        _gguf("q4_0", 4.5, None),
        _gguf("q4_1", 5.0, None),
        _gguf("iq4_xs", 4.25, None),
        _gguf("q3_k_m", 3.91, None),
        _gguf("q3_k_s", 3.5, None),
        _gguf("q3_k_l", 4.27, None),
        _gguf("q2_k", 3.0, None),
        _gguf("q5_1", 6.0, None),
        _gguf("iq4_nl", 4.5, None),
        _gguf("iq3_m", 3.66, None),
        _gguf("iq3_s", 3.44, None),
        _gguf("iq3_xxs", 3.06, None),
        _gguf("iq2_m", 2.7, None),
        _gguf("iq2_xxs", 2.06, None),
        _gguf("iq1_s", 1.56, None),
        _gguf("mxfp4", 4.25, None),
        Format(
            name="q8_0",
            title="Q8_0",
            bits=8.5,
            computes_in="fp16",
            weights=False,
            form_place=None,
            kv_place=5,
            kernels="gguf",
            quantized=True,
            weight_only=False,
            gguf=False,
            trains=True,
            experts_only=False,
            pads_experts=False,
            own_head=False,
            wide_latent=False,
            language_only=False,
            checkpoint_methods=(),
            dequantize_bytes=14.0,
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
            quantized=True,
            weight_only=False,
            gguf=False,
            trains=True,
            experts_only=False,
            pads_experts=False,
            own_head=False,
            wide_latent=False,
            language_only=False,
            checkpoint_methods=(),
            dequantize_bytes=14.0,
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
    shown = [f for f in all_formats() if f.weights and not (trains and f.gguf)]
    first = sorted((f for f in shown if f.form_place is not None), key=lambda f: f.form_place or 0)
    return tuple(f.name for f in (*first, *(f for f in shown if f.form_place is None)))


def title(name: str) -> str:
    """How a reader sees a format or a compute type: bf16 -> BF16, gguf-q4_k_m -> GGUF Q4_K_M."""
    found = _FORMATS.get(name) or COMPUTE_TYPES.get(name)
    return found.title if found else name.upper()


def of_checkpoint(method: str) -> str:
    """The format that `quant_method` of a config.json names; empty where it names none."""
    return next((f.name for f in all_formats() if method in (f.name, *f.checkpoint_methods)), "")
