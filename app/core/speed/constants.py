"""Calibrated constants of the speed model. Each is read from measurements; none is a vendor's promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.core.gpu_table import CARD_CLASSES, Floats


@dataclass(frozen=True, slots=True)
class Level:
    """One cause by which measurements deviate together from the model."""

    labels: tuple[str, ...]
    """Rows that agree in all of these share the deviation."""
    spread: float
    """Its standard deviation, in natural logarithms."""
    octaves: float = 0.0
    """Distance in batch and length over which it fades, powers of two; 0 = not at all."""
    scaling: bool = False
    """It grows with the doublings of the cards."""


def by_class(default: float, **values: float) -> Floats:
    """A vector over CARD_CLASSES."""
    unknown = set(values) - set(CARD_CLASSES)
    if unknown:
        raise ValueError(f"no such card class: {sorted(unknown)}")
    return np.array([values.get(name, default) for name in CARD_CLASSES], dtype=np.float64)


# Vision: bytes that one activation element costs in a training step (AMP) and in a forward pass (16 bit).
# 95 is 0.95 img/s per GB/s of ResNet-50 with its 11.1 M elements (PyTorch, NCHW); 60 is 1.5 (NHWC,
# fused, XLA).
TRAIN_BYTES_PER_ELEMENT: Mapping[str, float] = {"new": 60.0, "usual": 95.0, "old": 115.0}
FORWARD_BYTES_PER_ELEMENT: Mapping[str, float] = {"new": 16.0, "usual": 24.0, "old": 30.0}
TRAIN_TRAFFIC: Mapping[str, float] = {"fp32": 1.55, "tf32": 1.75, "fp8": 0.75}
FORWARD_TRAFFIC: Mapping[str, float] = {"fp32": 1.7, "tf32": 2.4, "int8": 0.6, "fp8": 0.75, "fp4": 0.6}
"""Traffic of other number formats over that of 16 bit."""
VISION_COMPUTE_SHARE: Mapping[str, float] = {"fp32": 0.75, "tf32": 0.55, "half": 0.55, "int8": 0.45}
VISION_HEAD_TRAFFIC: Mapping[str, float] = {"half": 1.8, "fp32": 1.08, "tf32": 1.15}
"""Detection and segmentation heads: post-processing and targets gain nothing from half precision."""
VISION_ORDER = 2.0
VISION_ELEMENTS_PER_MAC = 2.7e-3
VISION_MACS_PER_PARAMETER = 160.0
VISION_LAUNCH_TRAIN_S = 0.020
VISION_LAUNCH_FORWARD_S = 0.010
LAUNCH_ORDER = 1.5
"""Launch time and work overlap in part: (launch^p + work^p)^(1/p)."""

# Encoders: achieved share of peak = base x (peak / 312)^a x (bandwidth / 2039)^b, A100-80 being 1.
ENCODER_TRAIN_SHARE: Mapping[str, float] = {"fp32": 0.72, "tf32": 0.28, "half": 0.30}
ENCODER_FORWARD_SHARE: Mapping[str, float] = {"fp32": 0.85, "tf32": 0.24, "half": 0.25}
ENCODER_PEAK_EXPONENT = -0.5
ENCODER_BANDWIDTH_EXPONENT = 0.6
ENCODER_LAUNCH_TRAIN_S = 0.0012
ENCODER_LAUNCH_FORWARD_S = 0.0004

# Decoders, training: model FLOPs utilisation of the 16-bit peak, dense, sharded data parallel in a
# linked node.
DECODER_MFU = by_class(
    0.35,
    pascal=0.45,
    volta=0.36,
    turing_geforce=0.45,
    turing=0.36,
    ampere_dc=0.50,
    ampere_geforce=0.50,
    ampere_pro=0.42,
    ada_geforce=0.48,
    ada_pro=0.38,
    hopper=0.40,
    blackwell_dc=0.36,
    blackwell_geforce=0.45,
    blackwell_pro=0.36,
    cdna=0.33,
    rdna=0.25,
    intel=0.25,
    gaudi=0.40,
    ascend=0.42,
    other=0.30,
)
DECODER_FP8_SHARE = 0.92
"""Achieved share of the FP8 peak over that of the 16-bit peak (H100 37 % against 40 %)."""
MOE_SHARE = 0.42
"""MoE training over dense training, as share of peak by active parameters."""
LORA_SHARE = 0.70
QLORA_SHARE = 0.80
SOFTWARE_SHARE: Mapping[str, float] = {"new": 1.15, "usual": 1.0, "old": 0.70}
DECODER_LAUNCH_TRAIN_S = 0.0009
"""Seconds per layer and step below which launches bind."""

# Decoders, inference.
DECODE_BANDWIDTH_SHARE = by_class(
    0.75,
    pascal=0.85,
    turing_geforce=0.90,
    turing=0.85,
    ampere_geforce=0.91,
    ampere_pro=0.91,
    ada_geforce=0.94,
    ada_pro=0.94,
    blackwell_geforce=0.90,
    blackwell_pro=0.90,
    volta=0.82,
    ampere_dc=0.82,
    hopper=0.82,
    blackwell_dc=0.80,
)
"""Share of the memory bandwidth that a decode step reaches: GDDR cards more than HBM cards."""
LLAMA_CPP_BANDWIDTH = by_class(1.0, ampere_dc=0.74, hopper=0.85, volta=0.85, blackwell_dc=0.85)
"""What llama.cpp reaches of that share on HBM cards at one sequence."""
ENGINE_LAYER_S: Mapping[str, float] = {
    "vllm": 40e-6,
    "sglang": 38e-6,
    "tensorrt-llm": 30e-6,
    "llama.cpp": 85e-6,
    "transformers": 450e-6,
    "pytorch": 450e-6,
    "tensorflow": 450e-6,
}
ENGINE_STEP_S: Mapping[str, float] = {
    "vllm": 0.0010,
    "sglang": 0.0008,
    "tensorrt-llm": 0.0004,
    "llama.cpp": 0.0005,
}
ENGINE_STEP_DEFAULT_S = 0.003
QUANTIZED_KERNEL_SHARE: Mapping[str, float] = {"weight_only": 0.80, "gguf": 0.95, "native": 0.90}
"""Bandwidth that kernels with dequantization reach, over plain 16-bit ones."""
PREFILL_SHARE = by_class(
    0.40,
    pascal=0.60,
    volta=0.50,
    turing_geforce=0.65,
    turing=0.40,
    ampere_dc=0.55,
    ampere_geforce=0.80,
    ampere_pro=0.50,
    ada_geforce=0.80,
    ada_pro=0.42,
    hopper=0.45,
    blackwell_dc=0.40,
    blackwell_geforce=0.70,
    blackwell_pro=0.40,
    cdna=0.33,
    rdna=0.35,
    intel=0.30,
    gaudi=0.40,
    ascend=0.40,
    other=0.30,
)
PREFILL_LLAMA_CPP = by_class(
    0.21,
    pascal=0.52,
    volta=0.34,
    turing_geforce=0.73,
    turing=0.34,
    ampere_dc=0.33,
    ampere_geforce=0.79,
    ampere_pro=0.38,
    ada_geforce=0.82,
    ada_pro=0.31,
    hopper=0.19,
    blackwell_dc=0.17,
    blackwell_geforce=0.73,
    blackwell_pro=0.3,
)
PREFILL_GGUF_SHARE = 0.80
ENGINE_PREFILL: Mapping[str, float] = {"tensorrt-llm": 1.4, "transformers": 0.7, "pytorch": 0.7}
SERVING_SHARE: Mapping[str, float] = {"tensorrt-llm": 1.0}
SERVING_SHARE_DEFAULT = 0.85
"""Continuous batching over an ideal mix of prefill and decode steps."""

# Diffusion: share of the fp32-accumulate 16-bit peak of the denoiser, compiled.
DIFFUSION_SHARE = by_class(
    0.28,
    volta=0.31,
    turing_geforce=0.35,
    turing=0.17,
    ampere_dc=0.31,
    ampere_geforce=0.57,
    ampere_pro=0.33,
    ada_geforce=0.51,
    ada_pro=0.30,
    hopper=0.27,
    blackwell_dc=0.25,
    blackwell_geforce=0.48,
    blackwell_pro=0.30,
    pascal=0.50,
)
DIFFUSION_SOFTWARE: Mapping[str, float] = {"new": 1.0, "usual": 0.80, "old": 0.55}
DIFFUSION_STEPS = 30.0
DIFFUSION_LAUNCH_S = 0.020

# Speech: 30-second windows, tokens written per window, launch time per generated token and layer.
WINDOW_S = 30.0
TOKENS_PER_WINDOW = 110.0

# Several cards: share of the gradient all-reduce that is not hidden behind the backward pass.
STRAGGLER = 0.02
"""Lengthening of a synchronous step for each doubling of the cards, traffic apart (imbalance, host)."""
GRADIENT_EXPOSED: Mapping[str, float] = {
    "cnn_training": 0.30,
    "encoder_training": 1.0,
    "decoder_training": 0.10,
    "moe_training": 0.15,
    "lora": 0.5,
    "qlora": 0.5,
    "diffusion_training": 0.3,
}
OVERLAP = 0.7
"""Share of the compute time behind which traffic can hide."""
NETWORK_GB_S = 20.0
"""One-way rate between hosts per card where nothing is said: 200 Gb/s less protocol."""
MESSAGE_LINK_S = 9e-6
MESSAGE_PCIE_S = 25e-6

# ln(90th percentile / median) of measured over predicted: half-widths of the 80 % interval by class.
WIDTHS: Mapping[str, float] = {
    "cnn_training": 0.42,
    "cnn_inference": 0.60,
    "encoder_training": 0.38,
    "encoder_inference": 0.40,
    "decoder_training": 0.35,
    "moe_training": 0.75,
    "lora": 0.50,
    "qlora": 0.60,
    "decode": 0.25,
    "decode_moe": 0.70,
    "prefill": 0.45,
    "serving": 0.70,
    "diffusion": 0.45,
    "diffusion_training": 0.60,
    "speech": 0.60,
}
MEASURED_WIDTH = 0.18
"""One source with this card, model and precision."""
REFERENCE_KERNEL_WIDTH = 1.4
"""Engines that run reference kernels (Transformers generation of MoE or quantized models)."""
UNKNOWN_CLASS_FACTOR = 1.5
"""Widening for card classes without any measurement behind them."""
ASSUMED_DIMENSIONS_FACTOR = 1.4
MEASURED_CLASSES = (
    "volta",
    "turing_geforce",
    "turing",
    "ampere_dc",
    "ampere_geforce",
    "ampere_pro",
    "ada_geforce",
    "ada_pro",
    "hopper",
    "blackwell_dc",
    "pascal",
)

# Spreads of the levels of `levels.Posterior`, by maximum likelihood on the fitted half of the benchmarks.
LEVELS: tuple[Level, ...] = (
    Level(("engine", "precision"), 0.15),
    Level(("precision",), 0.10),
    Level(("card_class", "precision"), 0.12),
    Level(("card",), 0.08),
    Level(("card", "precision"), 0.05),
    Level(("series",), 0.12),
    Level(("model",), 0.15),
    Level(("model", "precision", "engine"), 0.10),
    Level(("model", "engine", "precision"), 0.15, octaves=1.5),
    Level(("series", "card_class", "precision"), 0.08),
    Level(("model", "card", "precision", "engine"), 0.10, octaves=1.5),
    Level(("source",), 0.12),
    Level(("source", "model", "engine"), 0.12),
    Level((), 0.05, scaling=True),
    Level(("series",), 0.05, scaling=True),
    Level(("source", "card"), 0.05, scaling=True),
    Level(("card",), 0.05, scaling=True),
)
NOISE = 0.04
"""Standard deviation of one measurement."""
