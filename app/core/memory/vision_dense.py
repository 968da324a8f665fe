"""What detectors and segmenters keep per pixel of the padded input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from app.core.kept import derived
from app.core.model.architecture import ModelArchitecture


class DenseTask(NamedTuple):
    """Detector or segmenter: GiB per megapixel in fp32 training, and what does not follow the pixels."""

    per_megapixel: float
    fixed: float
    """GiB of workspace that the allocator reports."""
    narrow_factor: float
    """AMP against fp32."""
    exponent: float = 0.0
    """Growth beyond the area, as a power of the megapixels of one image: attention over the whole image."""


DENSE_NAMES = {
    "per_megapixel": "gib_per_megapixel",
    "fixed": "fixed_gib",
    "narrow_factor": "narrow_factor",
    "exponent": "size_exponent",
}
"""Names of the figures in printed formulas."""


class _Zoo(NamedTuple):
    """Published peaks of one model zoo, split into parts that add up.

    GiB per megapixel, fp32, two images of 800 x 1333, states at 12 or 16 bytes a parameter taken off. The
    differences between backbones are the same under every head of a zoo, so heads and backbones add.
    """

    heads: Mapping[str, float]
    """ResNet-50 with this head, by the word in the name that tells it; the first that matches wins."""
    backbones: Mapping[str, float]
    """What another backbone adds to ResNet-50."""
    variants: Mapping[str, float]
    """What a variant adds."""


_RESNET_WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("x101-64x4d", ("x-101-64x4d", "x_101_64x4d", "x101-64x4d", "resnext101_64x4d")),
    ("x101-32x8d", ("x-101-32x8d", "x_101_32x8d", "x101-32x8d", "resnext101_32x8d")),
    ("x101-32x4d", ("x-101", "x_101", "x101", "resnext101")),
    ("swin-t", ("swin-t", "swin_t", "swin-tiny")),
    ("swin-s", ("swin-s", "swin_s", "swin-small")),
    ("swin", ("swin",)),
    ("r101", ("r-101", "r_101", "r101", "resnet101", "resnet-101")),
    ("r18", ("r-18", "r_18", "r18", "resnet18", "resnet-18")),
    ("mobilenet", ("mobilenet",)),
    ("vgg", ("vgg",)),
)
# MMDetection 2.x: Faster R-CNN R50 / R101 / X101-32x4d / X101-64x4d 4.0 / 6.0 / 7.2 / 10.3 GB, Mask R-CNN
# 4.4 / 6.4 / 7.6 / 10.7, RetinaNet 3.8 / 5.7 / 7.0 / 10.0.
_MMDETECTION = _Zoo(
    {
        "cascade_mask": 2.35,
        "cascade-mask": 2.35,
        "cascade": 1.75,
        "panoptic": 1.95,
        "keypoint": 2.0,
        "retinanet": 1.60,
        "mask": 1.84,
        "fcos": 1.52,
        "detr": 3.3,
        "ssd": 1.3,
        "faster": 1.65,
        "fast_rcnn": 1.4,
        "fast-rcnn": 1.4,
        "rpn": 1.0,
        # The head only says what is asked for: the usual two-stage one.
        "instance": 1.84,
        "detection": 1.65,
        "detector": 1.65,
    },
    {
        "x101-64x4d": 2.66,
        "x101-32x8d": 1.95,
        "x101-32x4d": 1.42,
        "swin-t": 2.60,
        "swin-s": 3.6,
        "swin": 3.6,
        "r101": 0.84,
        "r18": -1.03,
        "mobilenet": -0.8,
        "vgg": 0.2,
    },
    {},
)
# Detectron2 freezes the norms and two stages: Faster R-CNN FPN / C4 / DC5 3.0 / 4.8 / 5.0 GB, Mask R-CNN 3.4
# (GN 5.6, SyncBN 5.5, from scratch 7.2), R101 1.1 GB more throughout.
_DETECTRON2 = _Zoo(
    {
        "panoptic": 2.0,
        "keypoint": 2.0,
        "retinanet": 1.73,
        "mask": 1.36,
        "faster": 1.19,
        "fast_rcnn": 1.0,
        "fast-rcnn": 1.0,
        "rpn": 0.6,
        "cascade": 1.47,
        "instance": 1.36,
        "detection": 1.19,
    },
    {"x101-64x4d": 1.6, "x101-32x8d": 1.35, "x101-32x4d": 1.0, "r101": 0.43, "r18": -0.7},
    {"c4": 0.89, "dc5": 0.29, "lvis": 1.5, "cascade": 0.11, "dconv": 0.05},
)
_DC5_MASK = 0.52
"""A mask head on stride-16 features of 2,048 channels."""
_TRAINED_NORM = 1.74
"""GroupNorm or SyncBN train what frozen BatchNorm does not keep."""
_FROM_SCRATCH = 1.32
"""Nothing is frozen: stem and second stage keep their outputs as well."""

_SEGMENTERS: tuple[tuple[str, DenseTask], ...] = (
    ("unet", DenseTask(7.9, 0.12, 0.6)),
    ("u-net", DenseTask(7.9, 0.12, 0.6)),
    ("segformer", DenseTask(5.2, 0.05, 0.65)),
    ("fcn", DenseTask(5.0, 0.05, 0.58)),
    ("psp", DenseTask(5.3, 0.05, 0.58)),
    ("deeplab", DenseTask(5.6, 0.05, 0.58)),
    ("upernet", DenseTask(5.0, 0.05, 0.58)),
    ("semantic", DenseTask(5.0, 0.05, 0.58)),
    ("segmentation", DenseTask(5.0, 0.05, 0.58)),
)
_CLASSIC_UNET = 0.62
"""The first U-Net: no normalization, valid convolutions that shrink each level."""
_SEGMENTER_BACKBONES = {
    "x101-64x4d": 2.8,
    "x101-32x8d": 2.3,
    "x101-32x4d": 1.9,
    "swin-t": 1.3,
    "swin-s": 1.8,
    "swin": 2.2,
    "r101": 1.55,
    "r18": 0.29,
    "mobilenet": 0.4,
    "vgg": 1.1,
}
# SegFormer of MMSegmentation at 1024 x 1024: factor to 5.2 GiB per megapixel, exponent from 512 x 512.
_SEGFORMER = {
    "b0": (0.66, 0.0),
    "b1": (0.81, 0.0),
    "b2": (1.24, 0.03),
    "b3": (1.82, 0.16),
    "b4": (2.55, 0.23),
    "b5": (3.05, 0.25),
}
_YOLO_SIZES = {"n": 0.115, "s": 0.20, "m": 0.31, "l": 0.47, "x": 0.85}
"""GiB per image of 640 x 640 under AMP: YOLOv5; its successors keep 1.2 times that (YOLOv8s 0.24)."""
_YOLO_LATER = 1.2
_YOLO_MASKS = 2.0
"""Prototype masks of the segmenting variants: YOLOv8l-seg 1.19 GiB an image."""


@derived
def dense_task(model: ModelArchitecture) -> DenseTask | None:
    """Per-pixel figures of a detector or segmenter, None for a classifier.

    Parameters
    ----------
    model: head, backbone and normalization, or a name that tells them as the model zoos do.
    """
    head = model.head.lower()
    text = f"{head} {model.name} {model.id}".lower()
    backbone = f"{model.backbone} {model.name} {model.id}".lower()
    if "yolo" in text or "yolo" in backbone:
        return _yolo(text + " " + backbone)
    for word, task in _SEGMENTERS:
        if word in text and not any(other in text for other in ("instance", "panoptic")):
            return _segmenter(word, task, text, backbone, model.normalization)
    if head in ("", "classifier"):
        return None
    frozen = "detectron2" in text or model.normalization == "frozen"
    return _detector(_DETECTRON2 if frozen else _MMDETECTION, text, backbone, model.normalization)


def _backbone(text: str) -> str:
    return next((name for name, words in _RESNET_WORDS if any(word in text for word in words)), "r50")


def _detector(zoo: _Zoo, text: str, backbone: str, normalization: str) -> DenseTask | None:
    head = next((word for word in zoo.heads if word in text), None)
    if head is None:
        return None
    size = zoo.heads[head] + zoo.backbones.get(_backbone(backbone), 0.0)
    for variant, more in zoo.variants.items():
        size += more if variant in text and variant != head else 0.0
    if zoo is _DETECTRON2:
        size += _DC5_MASK if "dc5" in text and head == "mask" else 0.0
        trained = normalization in ("group", "sync", "batch")
        size *= _TRAINED_NORM if trained else 1.0
        size *= _FROM_SCRATCH if "scratch" in text else 1.0
    elif normalization == "group":
        size *= 1.7
    return DenseTask(max(0.2, size), 0.0, 0.75)


def _segmenter(word: str, task: DenseTask, text: str, backbone: str, normalization: str) -> DenseTask:
    if word == "segformer":
        scale, exponent = next(
            (v for k, v in _SEGFORMER.items() if k in text or k in backbone), _SEGFORMER["b2"]
        )
        return DenseTask(task.per_megapixel * scale, task.fixed, task.narrow_factor, exponent)
    if "net" in word and word != "upernet":
        plain = normalization in ("", "none") and "d16" not in text
        return task._replace(per_megapixel=task.per_megapixel * (_CLASSIC_UNET if plain else 1.0))
    scale = _SEGMENTER_BACKBONES.get(_backbone(backbone), 1.0) * (0.55 if "d16" in text else 1.0)
    return task._replace(per_megapixel=task.per_megapixel * scale)


def _yolo(text: str) -> DenseTask:
    size = "s"
    for word in text.replace("-", " ").replace("_", " ").split():
        if word.startswith("yolo") and word[-1] in _YOLO_SIZES:
            size = word[-1]
            break
    per_image = _YOLO_SIZES[size] * (1.0 if "yolov5" in text else _YOLO_LATER)
    per_image *= _YOLO_MASKS if "seg" in text else 1.0
    megapixels = 640 * 640 / 1e6
    return DenseTask(per_image / megapixels * 1.7, 0.0, 1 / 1.7)
