"""Training of encoders and decoders, adapters included."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from app.core.fields import TOKEN_FAMILIES
from app.core.formulas import Formula, Reference, register
from app.core.gpu_table import ComputeRate, Floats, GpuTable
from app.core.model.products import attended, attention_width, matmul_parameters
from app.core.speed import constants as c
from app.core.speed.scaling import all_reduce_s, bubble, exposed_gradient_s, straggling
from app.core.speed.terms import Plans, Shape, Terms, power_share, vector_clock
from app.core.tracing import Constant, floats, named, operand
from app.core.units import GB, TERA, Number
from app.core.workload import Workload

_SCALE = Reference(
    "Eleuther AI, Transformer Math 101: C = 6 P D", "https://blog.eleuther.ai/transformer-math/"
)

REFERENCE_GB_S = Constant(2039.0, "reference_gb_s", "GB/s", "bandwidth of the A100 80 GB")
MOST_ENCODER_SHARE = Constant(0.85, "most_encoder_share", "", "share of the peak that no encoder passes")
MOST_MFU = Constant(0.9, "most_mfu", "", "share of the peak that no training passes")
LEAST_WIDE_MFU = Constant(0.55, "least_wide_mfu", "", "share of the fp32 peak that all training reaches")

register(
    Formula(
        "speed.train_flops",
        "Training FLOPs per token",
        "6 P_active + 12 L a d s; adapters 4 P_active + 8 L a d s; x 4/3 with recomputation (adapters x 3/2)",
        "FLOP",
        "exact",
        "Attention over the whole sequence, or the window of sliding layers. P_active without embeddings "
        "for encoders.",
        (_SCALE,),
    ),
    Formula(
        "speed.train_decoder",
        "Decoder training step",
        "t = FLOPs x tokens / (cards x peak x MFU of the class) x (m + p - 1) / m + traffic",
        "s",
        "calibrated",
        "Dense BF16 MFU: A100 46 %, H100 37 % at a width of 1400, x (width / 1400)^0.15; MoE half of it by "
        "active parameters; adapters 0.8, plus 3 ms per layer and the widening of quantized weights.",
        (
            Reference("llm-foundry throughput tables, 200 rows", "https://github.com/mosaicml/llm-foundry"),
            Reference("FlagPerf published MFU", "https://github.com/FlagOpen/FlagPerf"),
        ),
    ),
    Formula(
        "speed.train_encoder",
        "Encoder training step",
        "t = FLOPs / (peak x share); share = base x (peak / 312)^-0.5 x (BW / 2039)^0.6",
        "s",
        "calibrated",
        "BERT-like models at sequence 128 to 512.",
        (
            Reference(
                "Lambda and DeepLearningExamples, BERT", "https://github.com/NVIDIA/DeepLearningExamples"
            ),
        ),
    ),
)


def train_flops_per_token(work: Workload, sequence: Number) -> Number:
    """Model FLOPs of one token, recomputation not counted.

    Notes
    -----
    6 P + 12 L a d s in full training, 4 P + 8 L a d s with adapters (no weight gradients of the base).
    """
    dense = 6.0 if work.task == "training" else 4.0
    width = named(attention_width(work.model), "attention_width")
    attention = dense * 2.0 * width * attended(work.model, sequence)
    return named(dense * matmul_parameters(work.model) + attention, "token_flops")


def trainable_parameters(work: Workload) -> float:
    """Parameters with a gradient."""
    if work.trainable_parameters:
        return work.trainable_parameters
    if work.task == "training":
        return work.model.parameters
    model = work.model
    width = model.hidden_size + attention_width(model)
    per_layer = work.lora_rank * 4.0 * width
    if work.lora_targets == "all-linear":
        per_layer += work.lora_rank * 3.0 * (model.hidden_size + model.intermediate_size)
    return named(max(1.0, model.layers * per_layer), "trainable_parameters")


def encoder_share(work: Workload, cards: GpuTable, rate: ComputeRate, table: Mapping[str, float]) -> Floats:
    """Achieved share of peak of an encoder."""
    group = work.format.compute.group
    base = operand(work, table[group], "encoder_share")
    peak = np.maximum(rate.tflops / c.ENCODER_REFERENCE_TFLOPS[group], 1e-6) ** c.ENCODER_PEAK_EXPONENT
    bandwidth = (cards.bandwidth_gb_s / REFERENCE_GB_S) ** c.ENCODER_BANDWIDTH_EXPONENT
    held = named(cards.by_class(c.MATRIX_CLASS), "matrix_share") * vector_clock(cards, group)
    return np.minimum(base * peak * bandwidth, MOST_ENCODER_SHARE) * held


def training_terms(work: Workload, shape: Shape, plans: Plans, cards: GpuTable, rate: ComputeRate) -> Terms:
    """Training step of a token model, full or with adapters.

    Parameters
    ----------
    work: resolved question. shape: sequences per replica and their length.
    plans, cards, rate: broadcast against each other.

    Returns
    -------
    Terms; tokens per second for decoders, sequences per second for encoders.
    """
    model = work.model
    decoder = model.family == "decoder"
    kind = _kind(work)
    tokens = named(np.multiply(shape.batch, shape.sequence), "tokens")
    flops = train_flops_per_token(work, shape.sequence)
    share = named(_share(work, cards, rate), "compute_share")
    split = plans.tensor * plans.pipeline
    recompute = operand(work, _recompute(work), "recompute_factor")
    compute_s = flops * tokens * recompute / (split * rate.tflops * TERA * share)
    compute_s = compute_s * bubble(plans.pipeline, np.multiply(shape.batch, work.gradient_accumulation))
    compute_s = named(compute_s, "products_s")
    layers = model.layers + model.encoder_layers
    launch = (c.DECODER_LAUNCH_TRAIN_S if decoder else c.ENCODER_LAUNCH_TRAIN_S) / c.SOFTWARE_SHARE[
        work.software
    ]
    if work.compile and not decoder:
        launch *= c.GRAPH_LAUNCH
    launch_s = named(layers * operand(work, launch, "layer_launch_s") + np.zeros_like(compute_s), "launch_s")
    busy = np.maximum(compute_s, launch_s)
    if work.task != "training":
        # Scripts with adapters run eagerly, sequence by sequence; weights are widened in every pass.
        widened = operand(work, work.format.dequantize_bytes, "widening_bytes")
        widen_s = named(widened * model.parameters / (split * cards.bandwidth_gb_s * GB), "widen_s")
        eager = 1.0 if not work.compile else c.GRAPH_LAUNCH
        adapter_s = c.ADAPTER_LAYER_S * eager / c.SOFTWARE_SHARE[work.software]
        busy = compute_s + layers * operand(work, adapter_s, "adapter_layer_s") + widen_s
    # Two all-reduces of the activations forward, two backward, in each layer.
    tensor_bytes = tokens * model.hidden_size * 2.0
    tensor_s = 4.0 * layers / plans.pipeline * all_reduce_s(cards, tensor_bytes, plans.tensor)
    tensor_s = named(tensor_s, "tensor_link_s")
    busy = (busy + tensor_s) * work.gradient_accumulation
    if not decoder:
        # The utilisation of decoders is measured on whole nodes and holds it already.
        busy = busy * straggling(plans.data)
    busy = named(busy, "busy_s")
    trained = trainable_parameters(work)
    if model.experts and work.task == "training":
        # Experts are spread over the replicas: only what every token passes through is reduced.
        trained = model.active_parameters
    gradient_bytes = named(
        trained * (2.0 if work.recipe == "pure" or decoder else 4.0) / split, "reduced_bytes"
    )
    link_s = exposed_gradient_s(cards, gradient_bytes, plans.data, plans.zero_stage, busy, kind)
    if work.task != "training":
        # Sharded adapters still gather the frozen weights forward and backward.
        weights = model.parameters * work.format.bytes / split
        gather = all_reduce_s(cards, weights, plans.data)
        link_s = link_s + np.where(plans.zero_stage == 3.0, np.maximum(gather - c.OVERLAP * busy, 0.0), 0.0)
    link_s = named(link_s, "gradient_link_s")
    copy_s = np.zeros_like(busy)
    if work.offload.optimizer:
        copy_s = trainable_parameters(work) * 6.0 / (plans.cards * cards.copy_gb_s * GB)
        copy_s = named(copy_s, "offload_s")
    samples = named(np.multiply(shape.batch, plans.data) * work.gradient_accumulation, "samples")
    return Terms(
        kind=kind,
        phase="training",
        unit="tokens_per_s" if decoder else "samples_per_s",
        units_per_step=samples * shape.sequence if decoder else samples,
        flops_per_unit=flops if decoder else flops * shape.sequence,
        seconds=busy + link_s + copy_s,
        parts={
            "compute": np.where(launch_s > compute_s, 0.0, compute_s) + 0.0 * busy,
            "communication": tensor_s + link_s,
            "launch": np.where(launch_s > compute_s, launch_s, 0.0) + 0.0 * busy,
            "feeding": copy_s,
        },
    )


def _kind(work: Workload) -> str:
    if work.task in ("lora", "qlora"):
        return work.task
    if work.model.family == "decoder":
        return "moe_training" if work.model.experts else "decoder_training"
    return "encoder_training"


def _share(work: Workload, cards: GpuTable, rate: ComputeRate) -> Floats:
    software = operand(work, c.SOFTWARE_SHARE[work.software], "software_share")
    if work.model.family in TOKEN_FAMILIES and work.model.family != "decoder":
        fused = c.ENCODER_GRAPH if work.compile else 1.0
        return encoder_share(work, cards, rate, c.ENCODER_TRAIN_SHARE) * software * fused
    width = named((max(work.model.hidden_size, 256) / c.MFU_WIDTH) ** c.MFU_WIDTH_EXPONENT, "width_factor")
    mfu = named(cards.by_class(c.DECODER_MFU), "decoder_mfu")
    share = np.minimum(mfu * software * width * power_share(cards), MOST_MFU)
    if work.format.compute.group in ("fp8", "fp4"):
        share = np.where(rate.fallback, share, share * c.DECODER_FP8_SHARE)
    if work.format.compute.group == "fp32":
        share = np.maximum(share, LEAST_WIDE_MFU)
    if work.model.experts:
        share = share * c.MOE_SHARE
    if work.task in ("lora", "qlora"):
        share = share * c.LORA_SHARE
    if work.task == "qlora":
        share = share * c.QLORA_SHARE
    return floats(share)


def _recompute(work: Workload) -> float:
    if work.gradient_checkpointing is True:
        return 4.0 / 3.0 if work.task == "training" else 1.5
    return 1.03 if work.gradient_checkpointing == "selective" else 1.0
