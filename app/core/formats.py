"""Number formats: bits per element with their scales, the type that computes, and the rate that serves it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PrecisionFormat:
    """One weight, compute or KV format."""

    id: str
    bits: float
    """Bits per quantized element, scales and zero points included."""
    compute_type: str
    """fp32, tf32, fp16, bf16, fp8, int8, fp4: the type of the matrix products."""
    rate: str
    """The figure of a card that counts as its peak: see `gpu.RATE_FIGURES`."""
    quantized: bool = False
    """Linears only; embeddings, head and towers stay at 16 bit."""
    weight_only: bool = False
    """Weights are widened to 16 bit before the product, and cannot be trained in full."""
    gguf: bool = False

    @property
    def bytes(self) -> float:
        """Bytes per element."""
        return self.bits / 8.0


def _gguf(name: str, bits: float) -> PrecisionFormat:
    return PrecisionFormat(
        f"gguf-{name}", bits, "fp16", "fp16_tflops", quantized=True, weight_only=True, gguf=True
    )


# Bits with scales: GGML block sizes (q4_0: 18 bytes per 32 weights …), AWQ/GPTQ group 128 with fp16 scale and
# 4-bit zero (4.156), NF4 with double quantization (4.127), MXFP4 32-blocks (4.25), NVFP4 16-blocks (4.5).
FORMATS: dict[str, PrecisionFormat] = {
    f.id: f
    for f in (
        PrecisionFormat("fp32", 32, "fp32", "fp32_tflops"),
        PrecisionFormat("tf32", 32, "tf32", "tf32_tflops"),
        PrecisionFormat("fp16", 16, "fp16", "fp16_tflops"),
        PrecisionFormat("bf16", 16, "bf16", "bf16_tflops"),
        PrecisionFormat("fp8", 8, "fp8", "fp8_tflops", quantized=True),
        PrecisionFormat("int8", 8, "int8", "int8_tops", quantized=True),
        PrecisionFormat("int4", 4.156, "fp16", "fp16_tflops", quantized=True, weight_only=True),
        PrecisionFormat("nf4", 4.127, "bf16", "bf16_tflops", quantized=True, weight_only=True),
        PrecisionFormat("awq", 4.156, "fp16", "fp16_tflops", quantized=True, weight_only=True),
        PrecisionFormat("gptq", 4.156, "fp16", "fp16_tflops", quantized=True, weight_only=True),
        PrecisionFormat("mxfp4", 4.25, "bf16", "bf16_tflops", quantized=True, weight_only=True),
        PrecisionFormat("nvfp4", 4.5, "fp4", "fp4_tflops", quantized=True),
        _gguf("f16", 16.0),
        _gguf("bf16", 16.0),
        _gguf("q8_0", 8.5),
        _gguf("q6_k", 6.5625),
        _gguf("q5_k_m", 5.69),
        _gguf("q5_k_s", 5.54),
        _gguf("q5_0", 5.5),
        _gguf("q4_k_m", 4.85),
        _gguf("q4_k_s", 4.58),
        _gguf("q4_0", 4.5),
        _gguf("q4_1", 5.0),
        _gguf("iq4_xs", 4.25),
        _gguf("q3_k_m", 3.91),
        _gguf("q3_k_s", 3.5),
        _gguf("q3_k_l", 4.27),
        _gguf("q2_k", 3.0),
        _gguf("q5_1", 6.0),
        _gguf("iq4_nl", 4.5),
        _gguf("iq3_m", 3.66),
        _gguf("iq3_s", 3.44),
        _gguf("iq3_xxs", 3.06),
        _gguf("iq2_m", 2.7),
        _gguf("iq2_xxs", 2.06),
        _gguf("iq1_s", 1.56),
        _gguf("mxfp4", 4.25),
        PrecisionFormat("q8_0", 8.5, "fp16", "fp16_tflops", quantized=True),
        PrecisionFormat("q4_0", 4.5, "fp16", "fp16_tflops", quantized=True),
    )
}

WEIGHT_FORMATS: tuple[str, ...] = tuple(k for k in FORMATS if k not in ("q8_0", "q4_0"))
KV_FORMATS: tuple[str, ...] = ("fp32", "fp16", "bf16", "fp8", "int8", "q8_0", "q4_0", "nvfp4")
