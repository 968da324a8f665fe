"""Calibrated constants of the speed model. Each is read from measurements; none is a vendor's promise.

How those of language models were read, and how many rows of the fitted half speak of each, is counted by
`readings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.core.formats import COMPUTE_GROUPS
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


def by_compute(**values: float) -> Mapping[str, float]:
    """A table over COMPUTE_GROUPS, which names all of them: a missing one fails here."""
    if set(values) != set(COMPUTE_GROUPS):
        raise ValueError(f"types of products: {sorted(set(values) ^ set(COMPUTE_GROUPS))}")
    return values


# Vision: bytes that one activation element costs in a training step (AMP) and in a forward pass (16 bit).
# 88 is 1.0 img/s per GB/s of ResNet-50 with its 11.1 M elements (PyTorch, NCHW); 54 is 1.65 (NHWC,
# fused, XLA).
TRAIN_BYTES_PER_ELEMENT: Mapping[str, float] = {"new": 54.0, "usual": 88.0, "old": 115.0}
TRAIN_BYTES_NEW_WIDE = 70.0
"""New software in fp32 and tf32: channels-last kernels gain on 16-bit matrix units above all."""
FORWARD_BYTES_PER_ELEMENT: Mapping[str, float] = {"new": 20.0, "usual": 28.5, "old": 37.0}
FORWARD_COMPILED_BYTES = 13.0
"""The same of a compiled graph, whose kernels are fused and whose layout the compiler chooses: timm's ResNet,
ResNeXt, Swin, MobileNet and ConvNeXt on an RTX 4090 lie within 20 % of it."""
TRAIN_TRAFFIC = by_compute(fp32=1.85, tf32=1.85, half=1.0, fp8=0.75, int8=1.0, fp4=1.0)
FORWARD_TRAFFIC = by_compute(fp32=1.85, tf32=1.85, half=1.0, fp8=0.75, int8=0.35, fp4=0.6)
"""Traffic of other number formats over that of 16 bit. fp32 and tf32 are the same bytes: one figure, read
from the classifiers of both in the fitted half."""
VISION_COMPUTE_SHARE = by_compute(fp32=0.85, tf32=0.57, half=0.75, fp8=0.75, int8=0.45, fp4=0.75)
VISION_HEAD_TRAFFIC = by_compute(fp32=1.1, tf32=1.1, half=2.0, fp8=2.0, int8=2.0, fp4=2.0)
"""Detection and segmentation heads: post-processing and targets gain nothing from half precision."""
WINOGRAD = 1.35
WINOGRAD_BACKBONES = ("vgg", "unet")
"""3 x 3 convolutions throughout: in fp32 the library multiplies less than the count of MACs says."""
UPDATE_BYTES = 24.0
"""Traffic of the optimizer per parameter and step: gradient, momentum, master and working copy."""
VISION_ORDER = 2.0
VISION_ELEMENTS_PER_MAC = 2.7e-3
ELEMENTS_PER_MAC: Mapping[str, float] = {
    "efficientnet": 17.5e-3,
    "mobilenet": 20.0e-3,
    "swin": 2.7e-3,
    "vit": 1.4e-3,
    "inception": 1.6e-3,
    "vgg": 0.9e-3,
    "unet": 0.9e-3,
}
"""Activation elements per MAC of a backbone where a model gives no count of its own;
`VISION_ELEMENTS_PER_MAC` for others. Depthwise convolutions write much and multiply little."""
YOLO_ELEMENTS = 11.0e6
"""Activation elements of a YOLO at 1 GMAC; wider ones have as many more as their width: x sqrt(GMACs).
From the five sizes of YOLOv5 at batch 32 on a V100: 0.6, 0.9, 1.7, 2.7 and 4.8 ms."""
DETECTOR_ELEMENTS_PER_MAC = 1.45e-3
"""Of a ResNet-50 with feature pyramid: 3 x 3 convolutions of 256 channels multiply more for what they write.
Counted: 235 M elements in the backbone at 800 x 1333, 70 M in pyramid and proposals, of 215 GMACs."""
VISION_MACS_PER_PARAMETER = 160.0
VISION_TRAFFIC: Mapping[str, float] = {
    "vgg": 1.5,
    "densenet": 2.0,
    "inception": 1.5,
    "regnet": 1.3,
    "hrnet": 1.4,
    "vit": 0.65,
}
"""Bytes per element of a backbone over those of ResNet; 1 for others. DenseNet normalises all it has
concatenated in every layer; branches and grouped convolutions fuse less. Read from the training rates of
449 timm models on one RTX 3090, where ResNet, ResNeXt, EfficientNet, MobileNet, ConvNeXt and Swin lie
within 15 %."""
FORWARD_BACKBONE: Mapping[str, float] = {
    "mobilenet": 0.57,
    "efficientnet": 0.75,
    "convnext": 0.60,
    "vit": 0.80,
}
"""Bytes per element of an eager forward pass besides: depthwise convolutions and wide activations keep
nothing for a backward pass. Read from timm's inference rates on RTX 3090, 4090 and PRO 6000."""
VISION_LAYERS: Mapping[str, float] = {
    "efficientnet": 85.0,
    "mobilenet": 60.0,
    "inception": 95.0,
    "convnext": 70.0,
    "yolo": 55.0,
    "unet": 30.0,
}
"""Layers with weights where neither the dimensions nor the name say how many."""
YOLO_DEPTH: Mapping[str, float] = {"n": 1.0, "s": 1.0, "m": 1.3, "l": 1.6, "x": 1.6}
"""Layers of a YOLO size over those of n and s, by the last letter of the name: the depth multiple 0.33, 0.67,
1.0 of its files repeats the middle of each stage (github.com/ultralytics/ultralytics, read 2026-11-30)."""
EFFICIENTNET_BLOCKS: Mapping[str, float] = {
    "b0": 16.0,
    "b1": 23.0,
    "b2": 23.0,
    "b3": 26.0,
    "b4": 32.0,
    "b5": 39.0,
    "b6": 45.0,
    "b7": 55.0,
    "v2-s": 40.0,
    "v2-m": 57.0,
    "v2-l": 79.0,
}
EFFICIENTNET_BLOCK_LAYERS = 5.0
"""Three convolutions and two products of squeeze-and-excitation a block."""
VISION_DEFAULT_LAYERS = 60.0
VISION_HEAD_LAYERS: Mapping[str, float] = {"one_stage": 50.0, "two_stage": 200.0}
"""Added by a detection head: two towers of five convolutions on five levels (RetinaNet, FCOS), or proposals
and boxes sorted, suppressed and pooled. Mask R-CNN in PyTorch on an A100 infers 25 to 31 images per second at
any batch, 23 to 31 in FP16 (DeepLearningExamples)."""
BLOCK_LAYERS = 4.0
"""Launch groups of one transformer block over those of one convolution."""
VISION_LAUNCH_TRAIN_S = 4.0e-4
VISION_LAUNCH_FORWARD_S = 1.3e-4
"""Seconds per layer and step below which kernel launches bind."""
GRAPH_LAUNCH = 0.15
"""Launch time with compiled graphs, over that of eager execution."""
GRAPH_TRAIN_TRAFFIC = 0.8
LAUNCH_ORDER = 1.5
"""Launch time and work overlap in part: (launch^p + work^p)^(1/p)."""

# Encoders: achieved share of peak = base x (peak / 312)^a x (bandwidth / 2039)^b, A100-80 being 1.
ENCODER_TRAIN_SHARE = by_compute(fp32=0.72, tf32=0.28, half=0.30, fp8=0.30, int8=0.30, fp4=0.30)
ENCODER_FORWARD_SHARE = by_compute(fp32=0.92, tf32=0.33, half=0.265, fp8=0.265, int8=0.265, fp4=0.265)
ENCODER_REFERENCE_TFLOPS = by_compute(fp32=19.5, tf32=156.0, half=312.0, fp8=312.0, int8=312.0, fp4=312.0)
"""Peak of the A100 of which the shares are."""
ENCODER_PEAK_EXPONENT = -0.5
ENCODER_BANDWIDTH_EXPONENT = 0.6
MATRIX_CLASS = by_class(1.0, cdna=0.70)
"""Share of the peak in the best matrix product over that of NVIDIA cards: MI300X to MI355X 51 to 68 %,
A100 and H100 80 to 87 %."""
VECTOR_CLASS = by_class(
    1.0,
    ampere_geforce=0.72,
    ampere_pro=0.72,
    ada_geforce=0.62,
    ada_pro=0.60,
    hopper=0.80,
    blackwell_geforce=0.68,
    blackwell_pro=0.68,
)
"""Share of the fp32 vector rate in the best matrix product over that of the A100 and of older cards: where
two fp32 pipes are counted, products do not fill both (shares of `verify.thresholds` over 0.88)."""
VECTOR_WATTS_PER_TFLOPS = 14.0
VECTOR_CLASSES = ("pascal", "volta", "turing", "turing_geforce")
"""Watts per fp32 TFLOPS below which a card of these generations cannot hold its boost clock."""
ENCODER_GRAPH = 1.2
"""Compiled graphs (torch.compile, XLA) over eager execution: element-wise kernels fused, products as they
are."""
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
    ampere_dc=0.46,
    ampere_geforce=0.50,
    ampere_pro=0.42,
    ada_geforce=0.48,
    ada_pro=0.38,
    hopper=0.37,
    blackwell_dc=0.36,
    blackwell_geforce=0.45,
    blackwell_pro=0.36,
    cdna=0.33,
    rdna=0.25,
    intel=0.25,
    gaudi=0.40,
    ascend=0.38,
    other=0.30,
)
MFU_WIDTH = 1400.0
MFU_WIDTH_EXPONENT = 0.15
"""Wider layers make larger matrix products: share x (hidden / 1400)^0.15."""
DECODER_FP8_SHARE = 0.92
"""Achieved share of the FP8 peak over that of the 16-bit peak (H100 37 % against 40 %)."""
MOE_SHARE = 0.50
"""MoE training over dense training, as share of peak by active parameters."""
LORA_SHARE = 0.80
QLORA_SHARE = 0.80
SOFTWARE_SHARE: Mapping[str, float] = {"new": 1.15, "usual": 1.0, "old": 0.70}
ADAPTER_LAYER_S = 0.003
"""Seconds per layer and step of fine-tuning scripts with adapters, added to the work."""
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
HOPPER_FLOP_PER_BYTE = 295.0
HOPPER_RATIO_EXPONENT: Mapping[str, float] = {"half": 0.40, "narrow": 0.33, "widened": 0.62}
"""Of the H100 SXM; with fewer multiprocessors for its bandwidth a card asks for less of it at a time: by
16-bit weights, by FP8, by 4-bit weights that are widened on the way."""
HOPPER_WATTS_PER_TFLOPS = 0.708
HOPPER_STARVED_EXPONENT = 0.7
HOPPER_FED_EXPONENT = 0.18
"""Of the H100 SXM (700 W, 989 TFLOPS); cards with less power for their rate hold lower clocks."""
MOE_LAYER_SHARE = 2.5
"""Launches of the expert part of a layer over those of a dense layer."""
LATENT_LAYER_SHARE = 3.0
"""The same for latent attention."""
REFERENCE_EXPERT_S = 50e-6
"""One turn of the loop over experts that Transformers runs in each routed layer; the findings of the
reference data put its mixtures at up to a hundred times the time of a serving engine."""
LAUNCH_FACTOR = by_class(1.0, ascend=12.0)
"""Launch time of a card's stack over that of CUDA, engines with graphs."""
EAGER_LAUNCH_FACTOR_MOST = 4.0
"""The same at most where Python itself launches: Llama 2 7B in Transformers on a 910B writes 17 tokens/s."""
TENSOR_WAIT_LINK_S = 5e-6
TENSOR_WAIT_PCIE_S = 30e-6
"""Waiting of tensor-parallel ranks for each other beside the message, per all-reduce of a decode step."""
SERVING_RESERVED_GIB: Mapping[str, float] = {"dense": 3.0, "experts": 4.0}
"""Activations, graphs and buffers of a serving engine that are no KV cache; llm-d-planner allows 4.8 to 8."""
QUANTIZED_KERNEL_SHARE: Mapping[str, float] = {"weight_only": 0.95, "gguf": 0.95, "native": 1.0}
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
    blackwell_dc=0.46,
    blackwell_geforce=0.70,
    blackwell_pro=0.85,
    cdna=0.46,
    rdna=0.35,
    intel=0.30,
    gaudi=0.40,
    ascend=0.40,
    other=0.30,
)
PREFILL_LLAMA_CPP = by_class(
    0.25,
    pascal=0.75,
    volta=0.40,
    turing_geforce=0.80,
    turing=0.40,
    ampere_dc=0.43,
    ampere_geforce=0.90,
    ampere_pro=0.41,
    ada_geforce=0.88,
    ada_pro=0.33,
    hopper=0.23,
    blackwell_dc=0.20,
    blackwell_geforce=0.80,
    blackwell_pro=0.33,
    rdna=0.35,
)
PREFILL_GGUF_SHARE = 0.85
PREFILL_NARROW_SHARE = by_compute(fp32=1.0, tf32=1.0, half=1.0, fp8=0.72, int8=0.72, fp4=0.45)
"""Achieved share of the FP8, FP4 or INT8 peak over that of the 16-bit peak."""
WIDENED_PREFILL_SHARE = 0.8
"""Products with weight-only formats: the weights are widened on the way."""
PREFILL_WIDTH = 4096.0
PREFILL_WIDTH_EXPONENT = 0.35
"""Wider layers make larger matrix products: share x (hidden / 4096)^exponent."""
PREFILL_MOST = 0.85
MOE_PREFILL_SHARE = 0.60
"""Expert products over dense ones of as many FLOPs: small, uneven batches per expert."""
BATCH_ORDER = 1.5
"""Batched decode: kernels that wait for weights and kernels that compute take turns, time
(traffic^1.5 + products^1.5)^(2/3). Plain maxima give half of the slope that vLLM pages report from 64
sequences on (vLLM 0.11 and LMDeploy on A100, read 2026-11-30)."""
SERVING_ORDER = 2.0
"""Continuous batching: prompts are read while others write, time (products^2 + traffic^2)^(1/2)."""
PIPELINE_LOSS = 0.25
"""A pipeline of p stages in continuous batching loses p^0.25 to uneven stages."""
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
    cdna=0.22,
)
DIFFUSION_MACS = 3.4e11
DIFFUSION_MACS_EXPONENT = 0.18
DIFFUSION_MOST = 0.85
"""The shares are those of Stable Diffusion 1.5 at 512 x 512; a denoiser of more MACs per pass reaches
more, x (MACs / 340 G)^0.18, up to 0.85: FLUX.1 dev about twice as much."""
DIFFUSION_NARROW = 0.70
"""Achieved share of the 8-bit peak over that of the 16-bit peak: attention and norms stay at 16 bit."""
DIFFUSION_SOFTWARE: Mapping[str, float] = {"new": 1.0, "usual": 0.80, "old": 0.55}
DIFFUSION_STEPS = 30.0
DIFFUSION_LAUNCH_S = 0.032
"""Seconds of launches of one eager denoising step of Stable Diffusion 1.5, both guidance passes in one batch:
50 steps take 1.5 to 2 s on cards of very different rates (stable-fast, diffusion-benchmarks; 2026-11-30)."""
DIFFUSION_KERNELS: Mapping[str, float] = {"sdxl": 2.6, "flux": 1.5}
"""Kernels of a denoiser over those of Stable Diffusion 1.5, by the start of its name: 70 transformer blocks
in the U-Net for 16 (whose convolutions stay), 57 larger blocks in FLUX."""
DIFFUSION_GRAPH_LAUNCH = 0.4
"""Launch time of a step under torch.compile over that of eager execution: fewer kernels, all from Python."""
DIFFUSION_TRAIN_PASSES = 3.0
"""Launches of a training step over those of one denoising step: forward, and twice as many backward."""
DIFFUSION_ADAPTER_LAUNCH = 2.0
"""Adapters launch two products, a scaling and an addition of their own beside every adapted layer: about as
many kernels again. One published rate agrees in order (kohya sd-scripts issue 827: SDXL LoRA on a 3090 Ti at
1.1 s per step, read 2026-11-30); what the script does besides is not counted."""

# Speech: 30-second windows, tokens written per window, launch time per generated token and layer.
WINDOW_S = 30.0
TOKENS_PER_WINDOW = 110.0

# Several cards: share of the gradient all-reduce that is not hidden behind the backward pass.
STRAGGLER = 0.02
"""Lengthening of a synchronous step for each doubling of the cards, traffic apart (imbalance, host)."""
STRAGGLER_HALF_IMAGES = 0.035
"""The same for image models in half precision: steps so short that the hosts' input pipeline shows."""
STRAGGLER_HOST = 0.25
"""The same for two-stage detectors in TensorFlow: proposals are sorted on the host that all cards share."""
BUCKET_SHARE = 1.35
"""Rate at which gradient buckets pass PCIe over that of single collectives: part of them is hidden."""
ROOT_CARDS = 4.0
"""Cards that hang on one socket of an eight-card host."""
SOCKET_BUS_GB_S = 10.0
"""Buses up to this rate (PCIe 3) come with hosts whose sockets are joined no faster."""
SOCKET_SHARE = 0.3
"""Share of the PCIe rate that is left where a ring crosses such sockets."""
STAGED_GB_S = 20.0
"""Host memory traffic that all cards share where they have no peer access."""
GRADIENT_EXPOSED: Mapping[str, float] = {
    "cnn_training": 0.10,
    "encoder_training": 1.0,
    "decoder_training": 0.10,
    "moe_training": 0.15,
    "lora": 0.5,
    "qlora": 0.5,
    "diffusion_training": 0.3,
}
OVERLAP = 0.9
"""Share of the compute time behind which traffic can hide."""
NETWORK_GB_S = 40.0
"""One-way rate between hosts per card where nothing is said: 400 Gb/s less protocol."""
MESSAGE_LINK_S = 9e-6
MESSAGE_PCIE_S = 10e-6

# ln(90th percentile / median) of measured over predicted: half-widths of the 80 % interval by class.
WIDTHS: Mapping[str, float] = {
    "cnn_training": 0.35,
    "cnn_inference": 0.45,
    "encoder_training": 0.35,
    "encoder_inference": 0.35,
    "decoder_training": 0.28,
    "moe_training": 0.60,
    "lora": 0.35,
    "qlora": 0.40,
    "decode": 0.20,
    "decode_moe": 0.60,
    "prefill": 0.35,
    "serving": 0.60,
    "diffusion": 0.45,
    "diffusion_training": 0.60,
    "speech": 0.60,
}
REFERENCE_KERNEL_WIDTH = 1.4
"""Engines that run reference kernels (Transformers generation of MoE or quantized models)."""
UNKNOWN_CLASS_FACTOR = 1.3
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
    Level(("precision",), 0.08),
    Level(("engine", "precision"), 0.08),
    Level(("card_class", "precision"), 0.07),
    Level(("card",), 0.065),
    Level(("card", "precision"), 0.05),
    Level(("series",), 0.15),
    Level(("model",), 0.10),
    Level(("model", "precision", "engine"), 0.15),
    Level(("model", "precision", "engine"), 0.18, octaves=2.0),
    Level(("series", "card_class", "precision"), 0.08),
    Level(("model", "card", "precision"), 0.06),
    Level(("model", "card", "precision", "engine"), 0.08, octaves=2.0),
    Level(("source",), 0.08),
    Level(("source", "model", "engine"), 0.08),
    Level((), 0.04, scaling=True),
    Level(("series",), 0.04, scaling=True),
    Level(("model",), 0.10, octaves=1.5, scaling=True),
    Level(("card_class",), 0.04, scaling=True),
    Level(("card",), 0.033, scaling=True),
    Level(("source", "card"), 0.032, scaling=True),
)
LEVEL_SCALE: Mapping[str, float] = {
    "cnn_training": 0.75,
    "cnn_inference": 1.0,
    "encoder_training": 1.25,
    "encoder_inference": 0.8,
    "decoder_training": 0.6,
    "lora": 0.7,
    "decode": 0.55,
    "prefill": 1.0,
    "serving": 1.0,
}
"""Factor on all spreads of a class; 1 for classes without rows enough to say."""
SCALING_SCALE: Mapping[str, float] = {"cnn_training": 0.4, "encoder_training": 0.4}
"""Factor besides on the spreads that grow with the cards: where the link model holds, one box whose
collectives fell back to the host must not slow every other."""
NOISE = 0.05
"""Standard deviation of one measurement."""
INTERVAL_DEFAULT = 1.3
INTERVAL_FACTOR: Mapping[str, float] = {
    "cnn_training": 1.05,
    "cnn_inference": 1.02,
    "encoder_training": 0.80,
    "encoder_inference": 0.80,
    "decoder_training": 0.85,
    "lora": 0.98,
    "decode": 0.50,
    "prefill": 0.80,
    "serving": 1.15,
    "diffusion": 1.0,
}
"""Half-width of the 80 % interval over the standard deviation of `levels.Posterior`, by class: calibrated by
leaving out rows, sources, cards and models of the fitted half."""
UNSEEN_ENGINE_FACTOR = 1.5
"""An engine with next to no rows in the class is no surer than the model alone, times this."""
LEAST_ENGINE_ROWS = 8
LEAST_ENGINE_SHARE = 0.02
"""Rows of a class, or share of them, that make an engine known."""
KIND_FACTOR: Mapping[str, float] = {"moe_training": 2.5, "decode_moe": 2.0}
"""Factor on the interval of special cases within a class: routing and expert traffic are no roofline."""
