"""Output elements of vision models, and factors of normalization and type."""

from __future__ import annotations

from typing import NamedTuple

from app.core.kept import derived
from app.core.memory.vision_names import block_family
from app.core.model.architecture import ModelArchitecture
from app.core.tracing import Constant, constants, named, operand

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
NORM_FACTOR = constants(
    {
        "group": 2.0,
        "layer": 1.0,
        "batch": 1.0,
        "frozen": 0.55,
        "sync": 1.0,
        "none": 0.75,
        "instance": 1.3,
    },
    "norm_factor",
    "",
    "what the normalization keeps over BatchNorm",
)
WIDE_FACTOR = Constant(2.0, "wide_factor", "", "what fp32 keeps over mixed precision")
"""fp32 against AMP: about twice for classifiers."""


class Elements(NamedTuple):
    """Output elements of one image, and the image size they were counted at."""

    elements: float
    height: float
    width: float


@derived
def elements_per_image(model: ModelArchitecture, height: int, width: int) -> Elements:
    """Output elements of one image.

    Parameters
    ----------
    model: the architecture.
    height, width: the asked image size.

    Returns
    -------
    The count and its own reference size.

    Notes
    -----
    A published count or multiply-accumulates hold at the model's image size, at the asked one where it has
    none. Else transformers by L (10 h s + a s^2) with s = patches + 1 at the asked size, and the rest by the
    family's elements per parameter at 224 x 224.
    """
    own = model.image_size or (height, width)
    if model.activations_per_sample:
        return Elements(model.activations_per_sample, *own)
    if model.layers and model.hidden_size:
        patch = model.patch_size or 16
        tokens = max(1, height // patch) * max(1, width // patch) + 1
        heads = model.attention_heads or max(1, model.hidden_size // 64)
        count = model.layers * (10.0 * model.hidden_size * tokens + heads * tokens * tokens)
        return Elements(named(count, "elements"), height, width)
    family = block_family(model.name or model.id, model.backbone, model.normalization)
    if model.forward_macs:
        each = operand(model, ELEMENTS_PER_MAC.get(family, 2.7e-3), "elements_per_mac")
        return Elements(named(model.forward_macs * each, "elements"), *own)
    each = operand(model, ELEMENTS_PER_PARAMETER.get(family, 0.43), "elements_per_parameter")
    counted_at = operand(model, 224, "reference_height"), operand(model, 224, "reference_width")
    return Elements(named(each * model.parameters, "elements"), *counted_at)
