"""Image models: bandwidth-led time with a compute ceiling and a launch floor."""

from __future__ import annotations

import re

import numpy as np

from app.core.formulas import Formula, Reference, register
from app.core.gpu_table import ComputeRate, GpuTable
from app.core.model.architecture import ModelArchitecture
from app.core.speed import constants as c
from app.core.speed.feeding import copy_limit_s
from app.core.speed.scaling import exposed_gradient_s, straggling
from app.core.speed.terms import Plans, Shape, Terms, power_sum, vector_clock
from app.core.tracing import counted, named, operand
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
        "scale with the pixels. Bytes per element of ResNet: 54 / 88 / 115 in training with new / usual "
        "/ old software, forward 20 / 28.5 / 37, compiled 13; "
        "other backbones by a factor. Each step besides moves 24 bytes per parameter. At least 0.4 ms "
        "(training) or 0.13 ms (forward) of launches per layer and step; a detection head counts 50 (one "
        "stage) or 200 layers, in PyTorch inference for each image. Counts that name no size are of the size "
        "asked for.",
        (
            Reference(
                "Lambda raw logs, 25 cards: ResNet-50 AMP 0.95 img/s per GB/s",
                "https://github.com/lambdal/deeplearning-benchmark",
            ),
            Reference(
                "NVIDIA DeepLearningExamples: 1.5 img/s per GB/s with NHWC",
                "https://github.com/NVIDIA/DeepLearningExamples",
            ),
            Reference(
                "timm, training rates of 449 models on one RTX 3090",
                "https://github.com/huggingface/pytorch-image-models",
            ),
            Reference(
                "timm, inference rates of 44 models on RTX 3090, 4090, PRO 6000 (2026-11-30)",
                "https://github.com/huggingface/pytorch-image-models/tree/main/results",
            ),
            Reference(
                "Ultralytics YOLOv5: V100, batch 1 and 32", "https://github.com/ultralytics/yolov5#readme"
            ),
        ),
    )
)


def counts_at_asked_size(model: ModelArchitecture) -> bool:
    """Whether stated counts name no image size and are read as of the image asked for, as in memory."""
    stated = model.forward_macs or model.activations_per_sample
    return model.family == "vision" and bool(stated) and not model.image_size


def image_cost(model: ModelArchitecture, pixels: Number) -> tuple[Number, Number]:
    """Activation elements and multiply-accumulates of one image.

    Parameters
    ----------
    model: traced counts at its own `image_size` (without one, at the size asked for), else estimated from its
        parameters at 224 x 224.
    pixels: of the image asked for.

    Returns
    -------
    (elements, MACs), both scaled by the pixels.
    """
    usual = operand(model, 224, "reference_height"), operand(model, 224, "reference_width")
    size = model.image_size or usual
    macs = model.forward_macs or model.parameters * c.VISION_MACS_PER_PARAMETER
    elements = model.activations_per_sample or counted(elements_of, model, macs, name="elements_at_size")
    scaled = np.any(pixels) and not counts_at_asked_size(model)
    ratio = np.divide(pixels, 1.0 * size[0] * size[1]) if scaled else 1.0
    return named(elements * ratio, "elements"), named(macs * ratio, "image_macs")


GMAC = 1.0e9
PLAIN_HEADS = ("class", "clip", "unet", "deeplab", "fcn", "segment", "pspnet", "upernet", "yolo")
"""Heads that are a few more convolutions or products, counted with the others: classes, labels of pixels,
one grid of boxes."""


ONE_STAGE_HEADS = ("retina", "fcos", "ssd", "efficientdet")


def proposes_boxes(model: ModelArchitecture) -> bool:
    """Detection with a head of its own weight: it proposes, assigns and sorts boxes in many small kernels."""
    head = model.head.lower()
    return bool(head) and not any(word in head for word in PLAIN_HEADS)


def one_stage(model: ModelArchitecture) -> bool:
    """Detection by towers of convolutions on every level, without proposals."""
    return any(word in model.head.lower() for word in ONE_STAGE_HEADS)


def elements_of(model: ModelArchitecture, macs: float) -> float:
    """Activation elements of a model that gives no count, from its multiply-accumulates and its backbone."""
    if "yolo" in model.head.lower():
        return float(c.YOLO_ELEMENTS * (macs / GMAC) ** 0.5)
    usual = c.DETECTOR_ELEMENTS_PER_MAC if proposes_boxes(model) else c.VISION_ELEMENTS_PER_MAC
    return float(macs * c.ELEMENTS_PER_MAC.get(model.backbone.lower(), usual))


def launched_layers(model: ModelArchitecture) -> float:
    """Layers whose kernels are launched one after another: the launch floor of small batches.

    Notes
    -----
    The number in the name of ResNet, DenseNet and VGG (resnet-50), four per transformer block, else a
    typical number of the backbone.
    """
    backbone = model.backbone.lower()
    stated = re.search(r"(?:net|vgg|next)[a-z0-9]*-(\d+)", model.id) or re.search(r"r(\d+)", model.id)
    blocks = next((n for size, n in c.EFFICIENTNET_BLOCKS.items() if model.id.endswith(size)), 0.0)
    if model.layers:
        layers = model.layers * c.BLOCK_LAYERS
    elif stated and backbone in ("resnet", "resnext", "wide-resnet", "densenet", "vgg"):
        layers = float(stated.group(1))
    elif blocks and backbone == "efficientnet":
        layers = blocks * c.EFFICIENTNET_BLOCK_LAYERS
    else:
        layers = c.VISION_LAYERS.get(backbone, c.VISION_DEFAULT_LAYERS)
        if "yolo" in model.id:
            layers *= c.YOLO_DEPTH.get(model.id[-1], 1.0)
    return layers


def head_layers(model: ModelArchitecture) -> float:
    """The same of a detection head."""
    if not proposes_boxes(model):
        return 0.0
    return c.VISION_HEAD_LAYERS["one_stage" if one_stage(model) else "two_stage"]


def _bytes_per_element(work: Workload) -> float:
    """Bytes that one activation element of ResNet costs in 16 bit, other backbones by their eager kernels."""
    if work.trains:
        return c.TRAIN_BYTES_PER_ELEMENT[work.software] * (c.GRAPH_TRAIN_TRAFFIC if work.compile else 1.0)
    if work.compile:
        return c.FORWARD_COMPILED_BYTES
    eager = c.FORWARD_BACKBONE.get(work.model.backbone.lower(), 1.0)
    return c.FORWARD_BYTES_PER_ELEMENT[work.software] * eager


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
    group = work.format.compute.group
    passes = 3.0 if work.trains else 1.0
    wide = work.format.compute.wide
    format_traffic = (c.TRAIN_TRAFFIC if work.trains else c.FORWARD_TRAFFIC)[group]
    traffic = _bytes_per_element(work) * format_traffic
    if work.trains and wide and work.software == "new":
        traffic = c.TRAIN_BYTES_NEW_WIDE * format_traffic
    if proposes_boxes(work.model):
        traffic *= c.VISION_HEAD_TRAFFIC[group]
    traffic *= c.VISION_TRAFFIC.get(work.model.backbone.lower(), 1.0)
    share = c.VISION_COMPUTE_SHARE[group]
    if group == "fp32" and work.model.backbone.lower() in c.WINOGRAD_BACKBONES:
        share *= c.WINOGRAD
    # A fallback to 16 bit moves 16-bit activations too.
    traffic = operand(work, traffic, "traffic_bytes")
    bandwidth_s = elements * traffic / (cards.bandwidth_gb_s * GB)
    bandwidth_s = named(np.where(rate.fallback, bandwidth_s / format_traffic, bandwidth_s), "image_traffic_s")
    flops = named(2.0 * macs * passes, "image_flops")
    clock = vector_clock(cards, group)
    share = operand(work, share, "vision_share")
    matrix = named(cards.by_class(c.MATRIX_CLASS), "matrix_share")
    compute_s = named(flops / (rate.tflops * TERA * share * matrix * clock), "image_products_s")
    recompute = 4.0 / 3.0 if work.gradient_checkpointing is True and work.trains else 1.0
    recompute = operand(work, recompute, "recompute_factor")
    per_image = named(power_sum(bandwidth_s, compute_s, c.VISION_ORDER) * recompute, "image_s")
    local = shape.batch if work.trains else named(np.ceil(np.divide(shape.batch, plans.data)), "local_batch")
    launch = c.VISION_LAUNCH_TRAIN_S if work.trains else c.VISION_LAUNCH_FORWARD_S
    own = work.engine_record.speed
    # PyTorch decodes, suppresses and pastes the boxes of each image by itself: no batch shortens that.
    images_apart: Number = 1.0 if work.trains or own.boxes_together else local
    layers: Number = counted(launched_layers, work.model, name="launched_layers")
    layers = layers + np.multiply(counted(head_layers, work.model, name="head_layers"), images_apart)
    launch = launch * (c.GRAPH_LAUNCH if work.compile else 1.0) / c.SOFTWARE_SHARE[work.software]
    launch_s = np.multiply(operand(work, launch, "layer_launch_s"), layers)
    launch_s = named(launch_s + np.zeros_like(per_image * plans.data), "launch_s")
    busy = power_sum(local * per_image, launch_s, c.LAUNCH_ORDER)
    if work.trains:
        # Every weight is read and written again, however few the images of the step.
        busy = named(busy, "forward_backward_s")
        update_s = work.model.parameters * c.UPDATE_BYTES / (cards.bandwidth_gb_s * GB)
        busy = busy + named(update_s, "update_s")
    link = np.zeros_like(busy)
    kind = "cnn_training" if work.trains else "cnn_inference"
    images: Number = shape.batch
    if work.trains:
        gradient_bytes = work.model.parameters * (2.0 if work.recipe == "pure" else 4.0)
        waiting = c.STRAGGLER if wide else c.STRAGGLER_HALF_IMAGES
        if own.sorts_proposals_on_host and "rcnn" in work.model.head.lower().replace("-", ""):
            waiting = c.STRAGGLER_HOST
        busy = named(busy * work.gradient_accumulation * straggling(plans.data, waiting), "busy_s")
        link = exposed_gradient_s(cards, gradient_bytes, plans.data, plans.zero_stage, busy, kind)
        images = named(np.multiply(shape.batch, plans.data) * work.gradient_accumulation, "samples")
        link = named(link, "gradient_link_s")
    feeding_s = named(copy_limit_s(cards, local, shape.pixels), "feeding_s")
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
