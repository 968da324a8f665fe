"""What a vision block family keeps per published activation element, and what detectors keep per pixel."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from app.core.model import ModelArchitecture

# (word in the name or backbone, family); the first that matches wins: the special before the general.
_WORDS: tuple[tuple[str, str], ...] = (
    ("bitm", "bit"),
    ("_bit", "bit"),
    ("efficientnet_gn", "efficientnet_gn"),
    ("efficientnet-edge", "efficientnet_lite"),
    ("efficientnet_e", "efficientnet_lite"),
    ("efficientnet_cc", "efficientnet_lite"),
    ("efficientnet_lite", "efficientnet_lite"),
    ("efficientnet-lite", "efficientnet_lite"),
    ("efficientnetv2", "efficientnetv2"),
    ("efficientnet-v2", "efficientnetv2"),
    ("efficientnet", "efficientnet"),
    ("mobilevit", "efficientnet_lite"),
    ("rexnet", "mobilenet"),
    ("mobilenet", "mobilenet"),
    ("mnasnet", "mobilenet"),
    ("tinynet", "mobilenet"),
    ("fbnet", "mobilenet"),
    ("lcnet", "mobilenet"),
    ("ghostnet", "mobilenet"),
    ("densenet", "densenet"),
    ("swinv2_cr", "swin_cr"),
    ("swinv2", "swinv2"),
    ("swin_v2", "swinv2"),
    ("swin-v2", "swinv2"),
    ("swin", "swin"),
    ("convnext", "convnext"),
    ("xcit", "xcit"),
    ("cait", "xcit"),
    ("mixer", "mixer"),
    ("mlp", "mixer"),
    ("nfnet", "nfnet"),
    ("nf_", "nfnet"),
    ("hrnet", "hrnet"),
    ("dla", "hrnet"),
    ("xception", "inception"),
    ("inception", "inception"),
    ("nasnet", "nasnet"),
    ("regnet", "regnet"),
    ("vgg", "vgg"),
    ("alexnet", "vgg"),
    ("squeezenet", "vgg"),
    ("beit", "vit"),
    ("deit", "vit"),
    ("clip", "vit"),
    ("vit", "vit"),
    ("tresnet", "resnet_inplace"),
    ("seresne", "resnet_se"),
    ("senet", "resnet_se"),
    ("ecaresnet", "resnet_se"),
    ("eca_resnext", "resnet_se"),
    ("skresne", "resnet_se"),
    ("cspresne", "resnet_se"),
    ("cs3", "resnet_se"),
    ("darknet", "resnet_se"),
    ("twins", "swin"),
    ("coat", "vit"),
    ("nest_", "vit"),
    ("volo", "vit"),
    ("poolformer", "mixer"),
    ("resnext", "resnet"),
    ("resnet", "resnet"),
    ("resnest", "resnet"),
    ("yolo", "yolo"),
)

_BIT = re.compile(r"resnetv2_\d+x\d")
"""ResNet-v2 of BiT: GroupNorm and weight standardization, kept in fp32 under AMP."""

BYTES_PER_ELEMENT: dict[str, float] = {
    "resnet": 4.8,
    "resnet_se": 5.6,
    "resnet_inplace": 3.3,
    "bit": 9.9,
    "regnet": 4.9,
    "vgg": 3.5,
    "vgg_bn": 5.7,
    "densenet": 11.7,
    "efficientnet": 7.1,
    "efficientnet_gn": 11.8,
    "efficientnet_lite": 5.8,
    "efficientnetv2": 6.6,
    "mobilenet": 6.5,
    "vit": 4.85,
    "swin": 4.5,
    "swinv2": 5.0,
    "swin_cr": 2.5,
    "convnext": 4.9,
    "xcit": 5.45,
    "mixer": 7.0,
    "nfnet": 5.1,
    "hrnet": 4.85,
    "inception": 4.3,
    "nasnet": 6.0,
    "yolo": 5.0,
    "other": 5.1,
}
"""Bytes kept per output element of conv, linear and matmul under automatic mixed precision (AMP)."""
ELEMENTS_PER_MAC = {"vit": 1.4e-3, "swin": 2.4e-3, "efficientnet": 1.4e-2, "mobilenet": 2.0e-2, "vgg": 8.8e-4}
ELEMENTS_PER_PARAMETER = {
    "vit": 0.24,
    "swin": 0.45,
    "swinv2": 0.6,
    "convnext": 0.4,
    "vgg": 0.10,
    "vgg_bn": 0.10,
    "efficientnet": 1.6,
    "efficientnetv2": 0.9,
    "mobilenet": 1.7,
    "densenet": 0.6,
    "inception": 0.38,
    "regnet": 0.6,
    "mixer": 0.23,
    "nfnet": 0.2,
}
"""Where nothing but the size is known, at 224 x 224: published counts of the families' usual members."""
NORM_FACTOR = {
    "group": 2.0,
    "layer": 1.0,
    "batch": 1.0,
    "frozen": 0.55,
    "sync": 1.0,
    "none": 0.75,
    "instance": 1.3,
}
WIDE_FACTOR = 2.0
"""fp32 against AMP: about twice for classifiers."""


@lru_cache(maxsize=4096)
def block_family(name: str, backbone: str, normalization: str) -> str:
    """Family of a vision model by its backbone, else its name; "other" when none matches."""
    text = f"{backbone} {name}".lower()
    if _BIT.search(text) or ("resnet" in text and normalization == "group"):
        return "bit"
    if "efficientnet" in text and ("_gn" in text or normalization == "group"):
        return "efficientnet_gn"
    if "vgg" in text and ("bn" in text or normalization == "batch"):
        return "vgg_bn"
    for word, family in _WORDS:
        if word in text:
            return family
    return "other"


@lru_cache(maxsize=4096)
def elements_per_image(model: ModelArchitecture) -> float:
    """Output elements of one image at the model's reference size.

    Notes
    -----
    Published count where known; else transformers by L (10 h s + a s^2) with s = patches + 1, convolutional
    models by multiply-accumulates of the family, else by its elements per parameter.
    """
    if model.activations_per_sample:
        return model.activations_per_sample
    if model.layers and model.hidden_size:
        height, width = model.image_size or (224, 224)
        patch = model.patch_size or 16
        tokens = (height // patch) * (width // patch) + 1
        heads = model.attention_heads or max(1, model.hidden_size // 64)
        return float(model.layers * (10.0 * model.hidden_size * tokens + heads * tokens * tokens))
    family = block_family(model.name or model.id, model.backbone, model.normalization)
    if model.forward_macs:
        return model.forward_macs * ELEMENTS_PER_MAC.get(family, 2.7e-3)
    return ELEMENTS_PER_PARAMETER.get(family, 0.43) * model.parameters


class DenseTask(NamedTuple):
    """Detector or segmenter: GiB per megapixel in fp32 training, and its fixed part."""

    per_megapixel: float
    fixed: float
    narrow_factor: float
    """AMP against fp32."""


# ResNet-50 with FPN in MMDetection 2.x, 800 x 1333, two images: Faster R-CNN 4.0 GB, and the ratios of the
# other published rows to it.
_DETECTOR_BASE = 1.62
_BACKBONES: tuple[tuple[tuple[str, ...], float], ...] = (
    (("x-101-64x4d", "x101-64x4d", "resnext101_64x4d"), 2.85),
    (("x-101-32x8d", "x_101_32x8d", "x101-32x8d", "resnext101_32x8d"), 2.30),
    (("x-101-32x4d", "x101-32x4d", "resnext101_32x4d", "x101", "resnext101"), 1.92),
    (("swin-t", "swin_t", "swin-tiny"), 2.55),
    (("swin",), 3.2),
    (("r-101", "r_101", "r101", "resnet101", "resnet-101"), 1.55),
    (("r-18", "r_18", "r18", "resnet18", "resnet-18"), 0.36),
    (("mobilenet",), 0.55),
    (("vgg",), 1.1),
)
_HEADS: tuple[tuple[str, float], ...] = (
    ("cascade", 1.25),
    ("retinanet", 0.95),
    ("panoptic", 1.42),
    ("keypoint", 1.25),
    ("mask", 1.12),
    ("fcos", 0.9),
    ("ssd", 0.8),
    ("detr", 1.3),
    ("faster", 1.0),
    ("fast_rcnn", 0.85),
    ("rpn", 0.5),
)
# Detectron2's own variants against its FPN detectors (model zoo, two images of 800 x 1333).
_DETECTRON2_VARIANTS: tuple[tuple[str, float], ...] = (
    ("c4", 1.55),
    ("dc5", 1.6),
    ("lvis", 1.55),
    ("scratch", 2.1),
    ("retinanet", 1.5),
)
DETECTRON2_FACTOR = 0.72
"""Detectron2 against MMDetection for the same detector: fused losses, fewer copies."""
_SEGMENTERS: tuple[tuple[str, DenseTask], ...] = (
    ("unet", DenseTask(7.9, 0.5, 0.6)),
    ("u-net", DenseTask(7.9, 0.5, 0.6)),
    ("segformer", DenseTask(5.2, 0.6, 0.65)),
    ("fcn", DenseTask(5.0, 0.55, 0.58)),
    ("psp", DenseTask(5.3, 0.6, 0.58)),
    ("deeplab", DenseTask(5.6, 0.6, 0.58)),
)
_SEGFORMER_SIZES = {"b0": 0.62, "b1": 0.80, "b2": 1.25, "b3": 1.82, "b4": 2.55, "b5": 3.05}
_YOLO_SIZES = {"n": 0.14, "s": 0.24, "m": 0.34, "l": 0.55, "x": 0.92}
"""GiB per image of 640 x 640 under AMP."""


@lru_cache(maxsize=4096)
def dense_task(model: ModelArchitecture) -> DenseTask | None:
    """Per-pixel figures of a detector or segmenter, None for a classifier."""
    head = model.head.lower()
    text = f"{head} {model.name} {model.id}".lower()
    backbone = f"{model.backbone} {model.name} {model.id}".lower()
    if "yolo" in text or "yolo" in backbone:
        return _yolo(text + " " + backbone)
    for word, task in _SEGMENTERS:
        if word in text:
            scale = 1.0
            if word == "segformer":
                scale = next((v for k, v in _SEGFORMER_SIZES.items() if k in text or k in backbone), 1.0)
            elif "net" not in word:
                scale = min(1.7, _backbone_factor(backbone)) * (0.55 if "d16" in text else 1.0)
                scale *= 0.65 if scale < 0.5 else 1.0
            return DenseTask(task.per_megapixel * scale, task.fixed, task.narrow_factor)
    if head in ("", "classifier"):
        return None
    for word, factor in _HEADS:
        if word in text:
            per_pixel = _DETECTOR_BASE * factor * _backbone_factor(backbone)
            if "detectron2" in text or model.normalization == "frozen":
                per_pixel *= DETECTRON2_FACTOR
                for variant, more in _DETECTRON2_VARIANTS:
                    per_pixel *= more if variant in text else 1.0
            if model.normalization == "group":
                per_pixel *= 1.7
            return DenseTask(per_pixel, 0.45, 0.75)
    return None


def _backbone_factor(text: str) -> float:
    for words, factor in _BACKBONES:
        if any(word in text for word in words):
            return factor
    return 1.0


def _yolo(text: str) -> DenseTask:
    size = "s"
    for word in text.replace("-", " ").replace("_", " ").split():
        if word.startswith("yolo") and word[-1] in _YOLO_SIZES:
            size = word[-1]
            break
    per_image = _YOLO_SIZES[size] * (1.8 if "seg" in text else 1.0)
    megapixels = 640 * 640 / 1e6
    return DenseTask(per_image / megapixels * 1.7, 0.25, 1 / 1.7)
