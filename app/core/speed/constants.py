"""Calibrated constants of the speed model: their names, quantities and why they are there.

What each is worth, how many measurements speak of it and where it was read is data: `calibration`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated

import numpy as np

from app.core.calibration import (
    Bytes,
    BytesBy,
    Count,
    CountBy,
    Exponent,
    ExponentBy,
    Factor,
    FactorBy,
    GbPerS,
    GibBy,
    Lengthening,
    LongSeconds,
    Macs,
    MillisecondsBy,
    PerMac,
    PerMacBy,
    Quantity,
    Seconds,
    Spread,
    SpreadBy,
    Watts,
    fill,
)
from app.core.formats import COMPUTE_GROUPS
from app.core.gpu_table import CARD_CLASSES, Floats

FactorByCompute = Annotated[Mapping[str, float], Quantity("1", 1e-4, 1000.0, COMPUTE_GROUPS)]
TflopsByCompute = Annotated[Mapping[str, float], Quantity("TFLOPS", 1.0, 10_000.0, COMPUTE_GROUPS)]
FactorByClass = Annotated[Floats, Quantity("1", 1e-4, 1000.0, by_class=True)]

# Vision: bytes that one activation element costs in a training step (AMP) and in a forward pass (16 bit).
# 88 is 1.0 img/s per GB/s of ResNet-50 with its 11.1 M elements (PyTorch, NCHW); 54 is 1.65 (NHWC,
# fused, XLA).
TRAIN_BYTES_PER_ELEMENT: BytesBy
TRAIN_BYTES_NEW_WIDE: Bytes
"""New software in fp32 and tf32: channels-last kernels gain on 16-bit matrix units above all."""
FORWARD_BYTES_PER_ELEMENT: BytesBy
FORWARD_COMPILED_BYTES: Bytes
"""The same of a compiled graph, whose kernels are fused and whose layout the compiler chooses: timm's ResNet,
ResNeXt, Swin, MobileNet and ConvNeXt on an RTX 4090 lie within 20 % of it."""
TRAIN_TRAFFIC: FactorByCompute
FORWARD_TRAFFIC: FactorByCompute
"""Traffic of other number formats over that of 16 bit. fp32 and tf32 are the same bytes: one figure, read
from the classifiers of both in the fitted half."""
VISION_COMPUTE_SHARE: FactorByCompute
VISION_HEAD_TRAFFIC: FactorByCompute
"""Detection and segmentation heads: post-processing and targets gain nothing from half precision."""
WINOGRAD: Factor
WINOGRAD_BACKBONES = ("vgg", "unet")
"""3 x 3 convolutions throughout: in fp32 the library multiplies less than the count of MACs says."""
UPDATE_BYTES: Bytes
"""Traffic of the optimizer per parameter and step: gradient, momentum, master and working copy."""
VISION_ORDER: Exponent
VISION_ELEMENTS_PER_MAC: PerMac
ELEMENTS_PER_MAC: PerMacBy
"""Activation elements per MAC of a backbone where a model gives no count of its own;
`VISION_ELEMENTS_PER_MAC` for others. Depthwise convolutions write much and multiply little."""
YOLO_ELEMENTS: Count
"""Activation elements of a YOLO at 1 GMAC; wider ones have as many more as their width: x sqrt(GMACs).
From the five sizes of YOLOv5 at batch 32 on a V100: 0.6, 0.9, 1.7, 2.7 and 4.8 ms."""
DETECTOR_ELEMENTS_PER_MAC: PerMac
"""Of a ResNet-50 with feature pyramid: 3 x 3 convolutions of 256 channels multiply more for what they write.
Counted: 235 M elements in the backbone at 800 x 1333, 70 M in pyramid and proposals, of 215 GMACs."""
VISION_MACS_PER_PARAMETER: Factor
VISION_TRAFFIC: FactorBy
"""Bytes per element of a backbone over those of ResNet; 1 for others. DenseNet normalises all it has
concatenated in every layer; branches and grouped convolutions fuse less. Read from the training rates of
449 timm models on one RTX 3090, where ResNet, ResNeXt, EfficientNet, MobileNet, ConvNeXt and Swin lie
within 15 %."""
FORWARD_BACKBONE: FactorBy
"""Bytes per element of an eager forward pass besides: depthwise convolutions and wide activations keep
nothing for a backward pass. Read from timm's inference rates on RTX 3090, 4090 and PRO 6000."""
VISION_LAYERS: CountBy
"""Layers with weights where neither the dimensions nor the name say how many."""
YOLO_DEPTH: FactorBy
"""Layers of a YOLO size over those of n and s, by the last letter of the name: the depth multiple 0.33, 0.67,
1.0 of its files repeats the middle of each stage (github.com/ultralytics/ultralytics, read 2026-11-30)."""
EFFICIENTNET_BLOCKS: CountBy
EFFICIENTNET_BLOCK_LAYERS: Count
"""Three convolutions and two products of squeeze-and-excitation a block."""
VISION_DEFAULT_LAYERS: Count
VISION_HEAD_LAYERS: CountBy
"""Added by a detection head: two towers of five convolutions on five levels (RetinaNet, FCOS), or proposals
and boxes sorted, suppressed and pooled. Mask R-CNN in PyTorch on an A100 infers 25 to 31 images per second at
any batch, 23 to 31 in FP16 (DeepLearningExamples)."""
BLOCK_LAYERS: Count
"""Launch groups of one transformer block over those of one convolution."""
VISION_LAUNCH_TRAIN_S: Seconds
VISION_LAUNCH_FORWARD_S: Seconds
"""Seconds per layer and step below which kernel launches bind."""
GRAPH_LAUNCH: Factor
"""Launch time with compiled graphs, over that of eager execution."""
GRAPH_TRAIN_TRAFFIC: Factor
LAUNCH_ORDER: Exponent
"""Launch time and work overlap in part: (launch^p + work^p)^(1/p)."""

# Encoders: achieved share of peak = base x (peak / 312)^a x (bandwidth / 2039)^b, A100-80 being 1.
ENCODER_TRAIN_SHARE: FactorByCompute
ENCODER_FORWARD_SHARE: FactorByCompute
ENCODER_REFERENCE_TFLOPS: TflopsByCompute
"""Peak of the A100 of which the shares are."""
ENCODER_PEAK_EXPONENT: Exponent
ENCODER_BANDWIDTH_EXPONENT: Exponent
MATRIX_CLASS: FactorByClass
"""Share of the peak in the best matrix product over that of NVIDIA cards: MI300X to MI355X 51 to 68 %,
A100 and H100 80 to 87 %."""
VECTOR_CLASS: FactorByClass
"""Share of the fp32 vector rate in the best matrix product over that of the A100 and of older cards: where
two fp32 pipes are counted, products do not fill both (shares of `verify.thresholds` over 0.88)."""
VECTOR_WATTS_PER_TFLOPS: Watts
VECTOR_CLASSES = ("pascal", "volta", "turing", "turing_geforce")
"""Watts per fp32 TFLOPS below which a card of these generations cannot hold its boost clock."""
ENCODER_GRAPH: Factor
"""Compiled graphs (torch.compile, XLA) over eager execution: element-wise kernels fused, products as they
are."""
ENCODER_LAUNCH_TRAIN_S: Seconds
ENCODER_LAUNCH_FORWARD_S: Seconds

# Decoders, training: model FLOPs utilisation of the 16-bit peak, dense, sharded data parallel in a
# linked node.
DECODER_MFU: FactorByClass
MFU_WIDTH: Count
MFU_WIDTH_EXPONENT: Exponent
"""Wider layers make larger matrix products: share x (hidden / 1400)^0.15."""
DECODER_FP8_SHARE: Factor
"""Achieved share of the FP8 peak over that of the 16-bit peak (H100 37 % against 40 %)."""
MOE_SHARE: Factor
"""MoE training over dense training, as share of peak by active parameters."""
LORA_SHARE: Factor
QLORA_SHARE: Factor
SOFTWARE_SHARE: FactorBy
ADAPTER_LAYER_S: Seconds
"""Seconds per layer and step of fine-tuning scripts with adapters, added to the work."""
DECODER_LAUNCH_TRAIN_S: Seconds
"""Seconds per layer and step below which launches bind."""

# Decoders, inference.
DECODE_BANDWIDTH_SHARE: FactorByClass
"""Share of the memory bandwidth that a decode step reaches: GDDR cards more than HBM cards."""
LLAMA_CPP_BANDWIDTH: FactorByClass
"""What llama.cpp reaches of that share on HBM cards at one sequence."""
HOPPER_FLOP_PER_BYTE: Factor
HOPPER_RATIO_EXPONENT: ExponentBy
"""Of the H100 SXM; with fewer multiprocessors for its bandwidth a card asks for less of it at a time: by
16-bit weights, by FP8, by 4-bit weights that are widened on the way."""
HOPPER_WATTS_PER_TFLOPS: Watts
HOPPER_STARVED_EXPONENT: Exponent
HOPPER_FED_EXPONENT: Exponent
"""Of the H100 SXM (700 W, 989 TFLOPS); cards with less power for their rate hold lower clocks."""
MOE_LAYER_SHARE: Factor
"""Launches of the expert part of a layer over those of a dense layer."""
LATENT_LAYER_SHARE: Factor
"""The same for latent attention."""
REFERENCE_EXPERT_S: Seconds
"""One turn of the loop over experts that Transformers runs in each routed layer; the findings of the
reference data put its mixtures at up to a hundred times the time of a serving engine."""
LAUNCH_FACTOR: FactorByClass
"""Launch time of a card's stack over that of CUDA, engines with graphs."""
EAGER_LAUNCH_FACTOR_MOST: Factor
"""The same at most where Python itself launches: Llama 2 7B in Transformers on a 910B writes 17 tokens/s."""
TENSOR_WAIT_LINK_S: Seconds
TENSOR_WAIT_PCIE_S: Seconds
"""Waiting of tensor-parallel ranks for each other beside the message, per all-reduce of a decode step."""
SERVING_RESERVED_GIB: GibBy
"""Activations, graphs and buffers of a serving engine that are no KV cache; llm-d-planner allows 4.8 to 8."""
QUANTIZED_KERNEL_SHARE: FactorBy
"""Bandwidth that kernels with dequantization reach, over plain 16-bit ones."""
PREFILL_SHARE: FactorByClass
PREFILL_LLAMA_CPP: FactorByClass
PREFILL_GGUF_SHARE: Factor
PREFILL_NARROW_SHARE: FactorByCompute
"""Achieved share of the FP8, FP4 or INT8 peak over that of the 16-bit peak."""
WIDENED_PREFILL_SHARE: Factor
"""Products with weight-only formats: the weights are widened on the way."""
PREFILL_WIDTH: Count
PREFILL_WIDTH_EXPONENT: Exponent
"""Wider layers make larger matrix products: share x (hidden / 4096)^exponent."""
PREFILL_MOST: Factor
MOE_PREFILL_SHARE: Factor
"""Expert products over dense ones of as many FLOPs: small, uneven batches per expert."""
BATCH_ORDER: Exponent
"""Batched decode: kernels that wait for weights and kernels that compute take turns, time
(traffic^1.5 + products^1.5)^(2/3). Plain maxima give half of the slope that vLLM pages report from 64
sequences on (vLLM 0.11 and LMDeploy on A100, read 2026-11-30)."""
SERVING_ORDER: Exponent
"""Continuous batching: prompts are read while others write, time (products^2 + traffic^2)^(1/2)."""
PIPELINE_LOSS: Exponent
"""A pipeline of p stages in continuous batching loses p^0.25 to uneven stages."""

# Diffusion: share of the fp32-accumulate 16-bit peak of the denoiser, compiled.
DIFFUSION_SHARE: FactorByClass
DIFFUSION_MACS: Macs
DIFFUSION_MACS_EXPONENT: Exponent
DIFFUSION_MOST: Factor
"""The shares are those of Stable Diffusion 1.5 at 512 x 512; a denoiser of more MACs per pass reaches
more, x (MACs / 340 G)^0.18, up to 0.85: FLUX.1 dev about twice as much."""
DIFFUSION_NARROW: Factor
"""Achieved share of the 8-bit peak over that of the 16-bit peak: attention and norms stay at 16 bit."""
DIFFUSION_SOFTWARE: FactorBy
DIFFUSION_STEPS: Count
DIFFUSION_LAUNCH_S: Seconds
"""Seconds of launches of one eager denoising step of Stable Diffusion 1.5, both guidance passes in one batch:
50 steps take 1.5 to 2 s on cards of very different rates (stable-fast, diffusion-benchmarks; 2026-11-30)."""
DIFFUSION_KERNELS: FactorBy
"""Kernels of a denoiser over those of Stable Diffusion 1.5, by the start of its name: 70 transformer blocks
in the U-Net for 16 (whose convolutions stay), 57 larger blocks in FLUX."""
DIFFUSION_GRAPH_LAUNCH: Factor
"""Launch time of a step under torch.compile over that of eager execution: fewer kernels, all from Python."""
DIFFUSION_TRAIN_PASSES: Factor
"""Launches of a training step over those of one denoising step: forward, and twice as many backward."""
DIFFUSION_ADAPTER_LAUNCH: Factor
"""Adapters launch two products, a scaling and an addition of their own beside every adapted layer: about as
many kernels again. One published rate agrees in order (kohya sd-scripts issue 827: SDXL LoRA on a 3090 Ti at
1.1 s per step, read 2026-11-30); what the script does besides is not counted."""

# Speech: 30-second windows, tokens written per window, launch time per generated token and layer.
WINDOW_S: LongSeconds
TOKENS_PER_WINDOW: Count

# Several cards: share of the gradient all-reduce that is not hidden behind the backward pass.
STRAGGLER: Lengthening
"""Lengthening of a synchronous step for each doubling of the cards, traffic apart (imbalance, host)."""
STRAGGLER_HALF_IMAGES: Lengthening
"""The same for image models in half precision: steps so short that the hosts' input pipeline shows."""
STRAGGLER_HOST: Lengthening
"""The same for two-stage detectors in TensorFlow: proposals are sorted on the host that all cards share."""
BUCKET_SHARE: Factor
"""Rate at which gradient buckets pass PCIe over that of single collectives: part of them is hidden."""
ROOT_CARDS: Count
"""Cards that hang on one socket of an eight-card host."""
SOCKET_BUS_GB_S: GbPerS
"""Buses up to this rate (PCIe 3) come with hosts whose sockets are joined no faster."""
SOCKET_SHARE: Factor
"""Share of the PCIe rate that is left where a ring crosses such sockets."""
STAGED_GB_S: GbPerS
"""Host memory traffic that all cards share where they have no peer access."""
GRADIENT_EXPOSED: FactorBy
OVERLAP: Factor
"""Share of the compute time behind which traffic can hide."""
NETWORK_GB_S: GbPerS
"""One-way rate between hosts per card where nothing is said: 400 Gb/s less protocol."""
MESSAGE_LINK_S: Seconds
MESSAGE_PCIE_S: Seconds

# ln(90th percentile / median) of measured over predicted: half-widths of the 80 % interval by class.
WIDTHS: SpreadBy
REFERENCE_KERNEL_WIDTH: Spread
"""Engines that run reference kernels (Transformers generation of MoE or quantized models)."""
UNKNOWN_CLASS_FACTOR: Factor
"""Widening for card classes without any measurement behind them."""
ASSUMED_DIMENSIONS_FACTOR: Factor

CAUSE_SPREAD: SpreadBy
"""Standard deviations of the causes by which measurements deviate together (`deviations.Cause`), by maximum
likelihood on the fitted half. A key names the labels that must agree; "near" fades with the distance in batch
and length, "scaling" grows with the doublings of the cards."""
CAUSE_OCTAVES: FactorBy
"""Distance over which those that are "near" fade, powers of two."""
CAUSE_SCALE: FactorBy
"""Factor on all spreads of a class; 1 for classes without rows enough to say."""
SCALING_CAUSE_SCALE: FactorBy
"""Factor besides on the spreads that grow with the cards: where the link model holds, one box whose
collectives fell back to the host must not slow every other."""
NOISE: Spread
"""Standard deviation of one measurement."""
INTERVAL_DEFAULT: Factor
INTERVAL_FACTOR: FactorBy
"""Half-width of the 80 % interval over the standard deviation of `deviations.Posterior`, by class: calibrated
by leaving out rows, sources, cards and models of the fitted half."""
UNSEEN_ENGINE_FACTOR: Factor
"""An engine with next to no rows in the class is no surer than the model alone, times this."""
LEAST_ENGINE_ROWS: Count
LEAST_ENGINE_SHARE: Lengthening
"""Rows of a class, or share of them, that make an engine known."""
KIND_FACTOR: FactorBy
"""Factor on the interval of special cases within a class: routing and expert traffic are no roofline."""

OWN_WIDTH: Spread
"""Half-width of the 80 % interval of a question that was measured."""
FAR_OCTAVES: Factor
"""Beyond this distance a measurement of the card itself counts as a calibration, not as a measurement."""
NOISE_DEGREES: Factor
"""Degrees of freedom of the noise: measurements have heavy tails, so far rows count less."""

# What published rows leave out.
DECODED_TOKENS: Count
PROMPT_TOKENS: Count
VISION_BATCH: Count
PRETRAINING_BATCH: Count
PRETRAINING_ACCUMULATION: Count
PUBLISHED_SEQUENCES: Count
"""Sequences in flight where a source reports the greatest load without saying how many."""
MLPERF_PROMPT_TOKENS: CountBy
"""Mean prompt of the data set; GPT-J and Llama 3.1 8B summarise CNN/Daily Mail."""
MLPERF_OUTPUT_TOKENS: CountBy
MLPERF_TOKEN_MS: MillisecondsBy
"""Limit per output token of the server scenario at the 99th percentile; GPT-J: of the whole answer, 20 s."""
MEAN_OVER_P99: Factor
"""Mean time per output token of a server that just keeps a limit at the 99th percentile."""
MLPERF_DENOISING_STEPS: Count
"""Denoising steps per image that the rules of MLPerf Stable Diffusion XL fix, with guidance."""
FREE_SHARE: Factor
"""Share of a replica's memory that weights leave to the KV cache in published serving runs."""

BYTES_PER_PIXEL: Bytes
"""Frameworks that copy floats move four times as much."""
HOST_CARDS: Count

fill("speed", sys.modules[__name__], CARD_CLASSES, np.array)
