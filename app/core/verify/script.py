"""The script that measures one card: text made from the question, to be run where the card is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from app.core.engines.record import Backend
from app.core.formats import COMPUTE_TYPES
from app.core.gpu import Gpu
from app.core.model.architecture import ModelArchitecture
from app.core.speed.measurements import QUERIES_PER_S, UNIT_OF_FAMILY
from app.core.verify import common_part, tensorflow_part, torch_part
from app.core.workload import Workload

RESNET = re.compile(r"^resnet-(18|34|50|101|152)$")
LIBRARY_NAMES = (
    (re.compile(r"^(vgg|densenet)-(\d+)$"), r"\1\2"),
    (re.compile(r"^efficientnet-(b\d)$"), r"efficientnet_\1"),
    (re.compile(r"^vit-([bl])-(\d+)$"), r"vit_\1_\2"),
)
KERAS_NAMES = {
    "resnet-50": "ResNet50",
    "resnet-101": "ResNet101",
    "resnet-152": "ResNet152",
    "vgg-16": "VGG16",
    "vgg-19": "VGG19",
    "densenet-121": "DenseNet121",
    "densenet-169": "DenseNet169",
    "densenet-201": "DenseNet201",
    "inception-v3": "InceptionV3",
    "mobilenet-v2": "MobileNetV2",
}
MEASURED_TYPES = tuple(t.name for t in COMPUTE_TYPES.values() if not t.narrow)
_BACKENDS: Mapping[Backend, tuple[str, str]] = {
    Backend.TORCH: ("torch", torch_part.BACKEND),
    Backend.KERAS: ("tensorflow", tensorflow_part.BACKEND),
}
"""Module that a script imports, and its text."""


def script(gpu: Gpu, work: Workload, asked: Mapping[str, Any] | None = None) -> str:
    """Text of the script for a card and a workload.

    Parameters
    ----------
    gpu: the card as it is sold. work: a resolved workload; its engine chooses PyTorch or TensorFlow.
    asked: the question as it was put; the answer carries it, so that it can be compared with the estimate.

    Returns
    -------
    A Python program of its own.
    """
    question = {
        "gpu_id": gpu.id,
        "model_id": work.model.id,
        "model_name": work.model.name,
        "model_parameters": work.model.parameters,
        "workload": question_of_work(work),
        "asked": dict(asked or {}),
    }
    backend = work.engine_record.backend
    module, body = _BACKENDS[backend]
    head = (
        common_part.HEAD.replace("@TITLE@", _plain(f"{gpu.name}, {work.model.name or work.model.family}"))
        .replace("@NAME@", script_name(gpu))
        .replace("@NEEDS@", backend.value)
        .replace("@MODULE@", module)
        .replace("@QUESTION@", repr(json.dumps(question, sort_keys=True)))
    )
    return head + body + common_part.TAIL


def script_name(gpu: Gpu) -> str:
    """File name of the script of a card."""
    return f"cardworth_verify_{re.sub(r'[^a-z0-9]+', '_', gpu.id.lower()).strip('_')}.py"


def question_of_work(work: Workload) -> dict[str, Any]:
    """What the script needs of a workload; `skip` says why it cannot be run there."""
    model = work.model
    compute = work.compute_type if work.compute_type in MEASURED_TYPES else "bf16"
    size = work.image_size or (0, 0)
    return {
        "family": model.family,
        "task": "training" if work.trains else "inference",
        "compute_type": compute,
        "precision": work.precision,
        "software": work.software,
        "batch_size": int(float(max(1, work.batch_size))) if isinstance(work.batch_size, int | float) else 1,
        "sequence_length": int(float(work.sequence_length or 0)) if _scalar(work.sequence_length) else 0,
        "output_length": int(work.output_length or 0),
        "image_size": int(size[0]),
        "unit": UNIT_OF_FAMILY.get(model.family, QUERIES_PER_S),
        "dimensions": _dimensions(model),
        "resnet_depth": _resnet_depth(model),
        "library_name": _library_name(model),
        "keras_name": KERAS_NAMES.get(model.id, ""),
        "skip": _skipped(work, compute),
    }


def _skipped(work: Workload, compute: str) -> str:
    model = work.model
    if work.task in ("lora", "qlora"):
        return "adapters are not built by this script"
    if work.format.quantized or work.compute_type != compute:
        return f"weights in {work.precision} need an engine of their own"
    if model.experts:
        return "experts are not built by this script"
    if model.family == "vision":
        if work.engine_record.backend is Backend.KERAS:
            return "" if model.id in KERAS_NAMES else "the model is not in keras.applications"
        return "" if _resnet_depth(model) or _library_name(model) else "this script does not build the model"
    if model.family not in ("decoder", "encoder"):
        return f"models of the family {model.family} are not built by this script"
    return "" if model.layers and model.hidden_size else "the dimensions are not known"


def _dimensions(model: ModelArchitecture) -> dict[str, Any] | None:
    if model.family not in ("decoder", "encoder") or not model.layers:
        return None
    heads = max(1, model.attention_heads)
    kv = model.kv_heads if isinstance(model.kv_heads, int) else max(model.kv_heads)
    return {
        "layers": model.layers,
        "hidden_size": model.hidden_size,
        "intermediate_size": model.intermediate_size,
        "attention_heads": heads,
        # Heads must be shared evenly: a model that does not is measured with full heads.
        "kv_heads": kv if kv and heads % kv == 0 else heads,
        "head_dim": model.head_dim or model.hidden_size // heads,
        "vocab_size": model.vocab_size,
        "gated_mlp": model.gated_mlp,
    }


def _resnet_depth(model: ModelArchitecture) -> int:
    found = RESNET.match(model.id)
    return int(found.group(1)) if found else 0


def _library_name(model: ModelArchitecture) -> str:
    for pattern, name in LIBRARY_NAMES:
        if pattern.match(model.id):
            return pattern.sub(name, model.id)
    return ""


def _scalar(value: object) -> bool:
    return isinstance(value, int | float)


def _plain(text: str) -> str:
    """Text that cannot end the docstring it stands in."""
    return re.sub(r"[^\w .,()/+-]", " ", text)[:120]
