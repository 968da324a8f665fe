"""Image models: bandwidth-led time with a compute ceiling and a launch floor."""

from __future__ import annotations

import re

import numpy as np

from app.core.formulas import Formula, Reference, register
from app.core.gpu_table import ComputeRate, GpuTable
from app.core.model import ModelArchitecture
from app.core.speed import constants as c
from app.core.speed.feeding import copy_limit_s
from app.core.speed.scaling import exposed_gradient_s, straggling
from app.core.speed.terms import Plans, Shape, Terms, power_sum
from app.core.units import GB, TERA, Number
from app.core.workload import Workload

register(
    Formula(
        "speed.vision",
        "Image model: time per image",
        "t = ((elements x bytes per element / BW)^2 + (2 x MACs x passes / (share x peak))^2)^(1/2); "
        "passes 3 in "
        "training, 1 forward",
        "s",
        "calibrated",
        "Convolutional and vision-transformer models at batch sizes that fill the card. Elements and MACs "
        "scale with the pixels. Bytes per element of ResNet: 60 / 88 / 115 in training with new / usual "
        "/ old software; "
        "other backbones by a factor. At least 0.4 ms (training) or 0.13 ms (forward) of launches per layer "
        "and step.",
        (
            Reference(
                "Lambda raw logs, 25 cards: ResNet-50 AMP 0.95 img/s per GB/s",
                "https://github.com/lambdal/deeplearning-benchmark",
            ),
            Reference(
                "NVIDIA DeepLearningExamples: 1.5 img/s per GB/s with NHWC",
                "https://github.com/NVIDIA/DeepLearningExamples",
            ),
        ),
    )
)


def image_cost(model: ModelArchitecture, pixels: Number) -> tuple[Number, Number]:
    """Activation elements and multiply-accumulates of one image.

    Parameters
    ----------
    model: traced counts at its own `image_size`, else estimated from its parameters.
    pixels: of the image asked for.

    Returns
    -------
    (elements, MACs), both scaled by the pixels.
    """
    size = model.image_size or (224, 224)
    macs = model.forward_macs or model.parameters * c.VISION_MACS_PER_PARAMETER
    elements = model.activations_per_sample or macs * c.VISION_ELEMENTS_PER_MAC
    ratio = np.divide(pixels, float(size[0] * size[1])) if np.any(pixels) else 1.0
    return elements * ratio, macs * ratio


def is_dense_prediction(model: ModelArchitecture) -> bool:
    """Detection and segmentation: a head that is not a classifier."""
    return bool(model.head) and model.head not in ("classifier", "classification", "clip")


def launched_layers(model: ModelArchitecture) -> float:
    """Layers whose kernels are launched one after another: the launch floor of small batches.

    Notes
    -----
    The number in the name of ResNet, DenseNet and VGG (resnet-50), four per transformer block, else a
    typical number of the backbone.
    """
    backbone = model.backbone.lower()
    named = re.search(r"(?:net|vgg|next)[a-z0-9]*-(\d+)", model.id) or re.search(r"r(\d+)", model.id)
    if model.layers:
        layers = model.layers * c.BLOCK_LAYERS
    elif named and backbone in ("resnet", "resnext", "wide-resnet", "densenet", "vgg"):
        layers = float(named.group(1))
    else:
        layers = c.VISION_LAYERS.get(backbone, c.VISION_DEFAULT_LAYERS)
    return layers + (c.VISION_HEAD_LAYERS if is_dense_prediction(model) else 0.0)


def vision_terms(work: Workload, shape: Shape, plans: Plans, cards: GpuTable, rate: ComputeRate) -> Terms:
    """Images per second of training or inference.

    Parameters
    ----------
    work: resolved question. shape: batch per card (training) or over all cards, pixels.
    plans, cards, rate: broadcast against each other.

    Returns
    -------
    Terms with seconds per step and images per step over all cards.
    """
    elements, macs = image_cost(work.model, shape.pixels)
    compute_type = work.compute_type
    passes = 3.0 if work.trains else 1.0
    per_element = c.TRAIN_BYTES_PER_ELEMENT if work.trains else c.FORWARD_BYTES_PER_ELEMENT
    format_traffic = (c.TRAIN_TRAFFIC if work.trains else c.FORWARD_TRAFFIC).get(compute_type, 1.0)
    traffic = per_element[work.software] * format_traffic
    if is_dense_prediction(work.model):
        traffic *= c.VISION_HEAD_TRAFFIC.get(compute_type, c.VISION_HEAD_TRAFFIC["half"])
    traffic *= c.VISION_TRAFFIC.get(work.model.backbone.lower(), 1.0)
    if work.compile:
        traffic *= c.GRAPH_TRAIN_TRAFFIC if work.trains else c.GRAPH_TRAFFIC
    share = c.VISION_COMPUTE_SHARE.get(compute_type, c.VISION_COMPUTE_SHARE["half"])
    bandwidth_s = elements * traffic / (cards.bandwidth_gb_s * GB)
    # A fallback to 16 bit moves 16-bit activations too.
    bandwidth_s = np.where(rate.fallback, bandwidth_s / format_traffic, bandwidth_s)
    flops = 2.0 * macs * passes
    compute_s = flops / (rate.tflops * TERA * share)
    recompute = 4.0 / 3.0 if work.gradient_checkpointing is True and work.trains else 1.0
    per_image = power_sum(bandwidth_s, compute_s, c.VISION_ORDER) * recompute
    local = shape.batch if work.trains else np.ceil(np.divide(shape.batch, plans.data))
    launch = c.VISION_LAUNCH_TRAIN_S if work.trains else c.VISION_LAUNCH_FORWARD_S
    launch *= launched_layers(work.model) * (c.GRAPH_LAUNCH if work.compile else 1.0)
    launch_s = launch / c.SOFTWARE_SHARE[work.software] + np.zeros_like(per_image * plans.data)
    busy = power_sum(local * per_image, launch_s, c.LAUNCH_ORDER)
    link = np.zeros_like(busy)
    kind = "cnn_training" if work.trains else "cnn_inference"
    images: Number = shape.batch
    if work.trains:
        gradient_bytes = work.model.parameters * (2.0 if work.recipe == "pure" else 4.0)
        busy = busy * work.gradient_accumulation * straggling(plans.data)
        link = exposed_gradient_s(cards, gradient_bytes, plans.data, plans.zero_stage, busy, kind)
        images = np.multiply(shape.batch, plans.data) * work.gradient_accumulation
    feeding_s = copy_limit_s(cards, local, shape.pixels)
    return Terms(
        kind=kind,
        phase="training" if work.trains else "forward",
        unit="images_per_s",
        units_per_step=images,
        flops_per_unit=flops,
        seconds=np.maximum(busy + link, feeding_s),
        parts={
            "compute": local * compute_s,
            "bandwidth": local * bandwidth_s,
            "communication": link,
            "launch": np.where(launch_s > local * per_image, launch_s, 0.0),
            "feeding": np.where(feeding_s > busy + link, feeding_s, 0.0),
        },
    )
