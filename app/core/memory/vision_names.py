"""Block family of a vision model from its name: what the family keeps per output element in training."""

from __future__ import annotations

import re

# Rule of names, after the conventions of pytorch-image-models and Keras: the first row found wins, the
# special before the general. A suffix says the activation or the normalization ("ts" SiLU, "_gn" and BiT
# GroupNorm, "evo" EvoNorm, "frn" filter response norm, "se"/"eca"/"rs" channel attention).
_RULES: tuple[tuple[str, str], ...] = (
    (r"evob", "evonorm"),
    (r"resne.*evos", "bit"),
    (r"frn", "frn"),
    (r"resnetv2_\d+x\d|bitm|_bit\b", "bit"),
    (r"resnet.*_gn|resnext.*_gn|resnet.*group", "bit"),
    (r"efficientnet.*_gn", "efficientnet_gn"),
    (r"vit.*_r\d+_s32|vit.*_r26", "vit_hybrid"),
    (r"vit.*_r\d+_s16|vit.*_r50", "vit_hybrid_s16"),
    (r"efficientnet[-_](e[slm]\b|el|em|es|lite|cc)|mobilevit|edgetpu", "efficientnet_lite"),
    (r"efficientnet[-_]?v2", "efficientnetv2"),
    (r"efficientnet|mixnet", "efficientnet"),
    (r"rexnet|mobilenet|mnasnet|tinynet|fbnet|spnasnet|lcnet|ghostnet|hardcorenas", "mobilenet"),
    (r"densenet", "densenet"),
    (r"swinv2_cr", "swin_cr"),
    (r"swin[-_]?v2", "swinv2"),
    (r"swin|twins", "swin"),
    (r"convnext", "convnext"),
    (r"convmixer", "convmixer"),
    (r"sequencer", "sequencer"),
    (r"cait", "cait"),
    (r"xcit", "xcit"),
    (r"\bpit[-_]", "pit"),
    (r"resmlp|gmlp|gmixer|mlp|poolformer", "mlp"),
    (r"mixer", "mixer"),
    (r"\bnf_(se|eca)", "resnet_unnormalized_se"),
    (r"\bnf_regnet", "regnet_se"),
    (r"\bnf_", "resnet_unnormalized"),
    (r"nfnet_l", "nfnet_light"),
    (r"dm_nfnet", "nfnet_scaled"),
    (r"nfnet", "nfnet"),
    (r"hrnet|dla", "hrnet"),
    (r"inception[-_]?resnet|xception", "xception"),
    (r"inception", "inception"),
    (r"nasnet", "nasnet"),
    (r"regnetz", "regnet_silu"),
    (r"regnetv", "regnet_se"),
    (r"regnet", "regnet"),
    (r"vgg.*bn", "vgg_bn"),
    (r"vgg|alexnet|squeezenet", "vgg"),
    (r"beit|deit|clip|vit|coat|crossvit|nest_|volo|eva", "vit"),
    (r"tresnet", "resnet_inplace"),
    (r"halo|lambda|botnet", "resnet_attention"),
    (r"(gc|se|eca?_?|ca)[-_]?resne\w*ts|cs3se", "resnet_silu_se"),
    (r"resne\w*ts\b|\d+ts\b|resnet\d+q", "resnet_silu"),
    (r"se[-_]?resne|senet|ecaresne|eca_resne|gcresne|skresne|resnetrs|cspresne|cs3|darknet", "resnet_se"),
    (r"resnest", "resnest"),
    (r"yolo", "yolo"),
    (r"resne|wide_resnet", "resnet"),
)
_COMPILED = tuple((re.compile(pattern), family) for pattern, family in _RULES)

BYTES_PER_ELEMENT: dict[str, float] = {
    "resnet": 4.17,
    "resnet_se": 5.34,
    "resnet_silu": 5.49,
    "resnet_silu_se": 6.08,
    "resnest": 4.61,
    "resnet_attention": 5.0,
    "resnet_inplace": 3.23,
    "resnet_unnormalized": 3.53,
    "resnet_unnormalized_se": 4.61,
    "bit": 11.27,
    "evonorm": 16.17,
    "frn": 11.76,
    "regnet": 4.51,
    "regnet_se": 5.19,
    "regnet_silu": 5.78,
    "vgg": 3.43,
    "vgg_bn": 5.1,
    "densenet": 12.05,
    "efficientnet": 6.96,
    "efficientnet_gn": 11.96,
    "efficientnet_lite": 5.59,
    "efficientnetv2": 6.47,
    "mobilenet": 5.78,
    "vit": 3.92,
    "vit_hybrid": 7.15,
    "vit_hybrid_s16": 5.68,
    "pit": 5.34,
    "swin": 4.31,
    "swinv2": 4.9,
    "swin_cr": 3.04,
    "convnext": 4.66,
    "convmixer": 7.35,
    "sequencer": 12.74,
    "xcit": 5.29,
    "cait": 3.72,
    "mlp": 6.17,
    "mixer": 4.8,
    "nfnet": 5.0,
    "nfnet_scaled": 5.19,
    "nfnet_light": 4.31,
    "hrnet": 4.61,
    "xception": 4.12,
    "inception": 6.17,
    "nasnet": 5.88,
    "yolo": 4.9,
    "other": 4.8,
}
"""Bytes kept per output element of conv, linear and matmul under automatic mixed precision (AMP).

A plain block keeps the 16-bit output of the convolution and of its normalization (4); SiLU and channel
attention keep their inputs as well (6-7); GroupNorm, EvoNorm and FRN run in fp32 and keep what they cast
(10-17); a DenseNet stores its concatenated inputs again and again (12)."""
SCORE_BYTES = 6.4
"""Bytes per attention score of a vision transformer: fp32 softmax kept, 16-bit copy for the product."""
GROUP_NORMALIZED = ("bit", "efficientnet_gn", "evonorm", "frn")
"""Families whose figure holds their costly normalization already."""


def block_family(name: str, backbone: str, normalization: str) -> str:
    """Block family of a vision model.

    Parameters
    ----------
    name: the model's name, as in `resnetv2_50x1` or "ResNet-50".
    backbone: block family or backbone, read before the name.
    normalization: batch, group, layer …; GroupNorm makes a residual network cost what BiT does.

    Returns
    -------
    A key of `BYTES_PER_ELEMENT`; "other" when no rule matches.
    """
    text = f"{backbone} {name}".lower()
    if normalization == "group" and "resne" in text:
        return "bit"
    if normalization == "group" and "efficientnet" in text:
        return "efficientnet_gn"
    if normalization == "batch" and "vgg" in text:
        return "vgg_bn"
    for pattern, family in _COMPILED:
        if pattern.search(text):
            return family
    return "other"


def patch_of(name: str) -> int:
    """Patch size that a transformer's name tells (patch14, _p8), 16 where it tells none."""
    found = re.search(r"patch[-_]?(\d+)|_p(\d+)[_b]|[-/](\d+)$", name.lower())
    if not found:
        return 16
    size = int(next(group for group in found.groups() if group))
    return size if 4 <= size <= 64 else 16
