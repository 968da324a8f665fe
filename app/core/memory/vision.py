"""Memory of image models: classifiers, detectors, segmenters, vision transformers."""

from __future__ import annotations

from app.core import engines
from app.core.kept import derived
from app.core.memory import kv, overhead, weights
from app.core.memory.adapters import adapter_parameters
from app.core.memory.spread import vision_spread
from app.core.memory.states import ADAPTER_BYTES, state_bytes
from app.core.memory.terms import RESERVED, Reserve, Term
from app.core.memory.vision_dense import DENSE_NAMES, dense_task
from app.core.memory.vision_families import NORM_FACTOR, WIDE_FACTOR, elements_per_image
from app.core.memory.vision_names import (
    BYTES_PER_ELEMENT,
    GROUP_NORMALIZED,
    SCORE_BYTES,
    block_family,
    patch_of,
)
from app.core.model.architecture import ModelArchitecture
from app.core.tracing import Constant, counted, named, operand, operands
from app.core.units import GIB, Number
from app.core.workload import Parallelism, Workload

WORKSPACE_GIB = Constant(0.35, "workspace_gib", "GiB", "workspace of kernels and the blocks of one step")
"""cuDNN workspace and prefetched input; with the context 0.9 GiB as the published brackets imply."""
FORWARD_SHARE = Constant(
    0.25, "forward_share", "", "share of what training keeps that a forward pass has alive at one time"
)
"""Inference frees each layer: the largest pair of neighbouring tensors is alive."""
CHECKPOINT_SHARE = Constant(0.3, "checkpoint_share", "", "share of the activations that checkpointing keeps")
ONE_POSITION_NETWORK = Constant(
    0.75, "position_share", "", "one network of relative positions for the batch, counted with each image"
)


def terms(work: Workload, plan: Parallelism) -> tuple[list[Term], Reserve]:
    """Terms of one image model, training or inference.

    Parameters
    ----------
    work: a resolved question; batch_size counts images per GPU (training) or over all cards (inference).
    plan: only the data degree and ZeRO stage matter.

    Returns
    -------
    Terms in bytes per GPU.

    Notes
    -----
    Training keeps elements per image x bytes per element of the block family (AMP; twice that in fp32),
    scaled by (size / reference size)^2. Detectors and segmenters: measured GiB per megapixel of padded input.

    References
    ----------
    [1] timm batch brackets on an RTX 3090, reference/vision_activation.md §1-2. [2] MMDetection, Detectron2
    and MMSegmentation model zoos, §4 there. Read 2026-11-30.
    """
    model = work.model
    dense = dense_task(model)
    near = vision_spread(work, dense is not None)
    batch = kv.as_number(work.batch_size)
    if work.task == "inference":
        batch = kv.replica_sequences(batch, plan)
    each = image_bytes(work)
    if work.task == "inference":
        held = weights.whole_bytes(work)
        found = [Term("weights", held, "exact", "memory.weights", 0.02, 0.05)]
        activations: Number = batch * each * FORWARD_SHARE
    else:
        found = _states(work, plan, near["states"])
        share = CHECKPOINT_SHARE if work.gradient_checkpointing else 1.0
        activations = batch * each * share
    if dense is not None and work.trains:
        activations = activations + operand(work, dense.fixed, "fixed_gib") * GIB
    found.append(
        Term("activations", activations, "calibrated", "memory.vision_activations", *near["activations"])
    )
    found.append(
        Term(
            "engine",
            operand(work, WORKSPACE_GIB) * GIB,
            "assumed",
            "memory.vision_workspace",
            0.5,
            0.8,
            RESERVED,
        )
    )
    found.append(overhead.context_term(work))
    collective = overhead.collective_term(plan)
    if collective is not None:
        size = collective.size + (4.0 * model.parameters if work.trains and plan.zero_stage == 0 else 0.0)
        found.append(collective._replace(size=size))
    return found, Reserve()


def image_bytes(work: Workload) -> float:
    """Bytes that one image of the asked size keeps for the backward pass."""
    height, width = work.image_size or (224, 224)
    return named(
        _image_bytes(work.model, height, width, _wide(work), work.engine, work.software), "image_bytes"
    )


def _wide(work: Workload) -> bool:
    return work.format.compute.wide or (work.trains and work.recipe == "fp32")


@derived
def _image_bytes(
    model: ModelArchitecture, height: int, width: int, wide: bool, engine: str, software: str
) -> float:
    dense = dense_task(model)
    if dense is not None:
        megapixels = height * width / 1e6
        dense = operands(model, dense, DENSE_NAMES)
        per_image = dense.per_megapixel * GIB * megapixels * (1.0 if wide else dense.narrow_factor)
        return per_image * megapixels**dense.exponent if dense.exponent else per_image
    name = model.name or model.id
    family = block_family(name, model.backbone, model.normalization)
    found = elements_per_image(model, height, width)
    scale = height * width / (found.height * found.width)
    size = operand(model, BYTES_PER_ELEMENT[family], "element_bytes")
    if family == "vit":
        # Head width 64: of L (10 h s + a s^2) elements the scores are s / (640 + s).
        patch = model.patch_size or patch_of(name)
        tokens = named((height // patch) * (width // patch) + 1.0, "patches")
        scores = named(tokens / (640.0 + tokens), "score_share")
        size = size * (1.0 - scores) + operand(model, SCORE_BYTES, "score_bytes") * scores
    elif family == "swin_cr" and height > 256:
        # The relative-position network is counted with each image and kept once a batch.
        size = size * ONE_POSITION_NETWORK
    if family not in GROUP_NORMALIZED:
        size = size * NORM_FACTOR.get(model.normalization, 1.0)
    if wide:
        size = size * WIDE_FACTOR
    graph = engines.engine(engine).memory.graph
    if graph is not None:
        size = size * Constant(graph.image_factor.of(software), "tensorflow_factor")
    return found.elements * size * scale


def _states(work: Workload, plan: Parallelism, near: tuple[float, float]) -> list[Term]:
    model = work.model
    stage = plan.zero_stage if plan.data > 1 else 0
    if work.task != "training" or work.trainable_parameters:
        trained = work.trainable_parameters or counted(
            adapter_parameters, model, work.lora_rank, work.lora_targets, name="trainable_parameters"
        )
        frozen = weights.whole_bytes(work)
        return [
            Term("weights", frozen, "exact", "memory.weights", *near),
            Term("adapter", trained * ADAPTER_BYTES, "derived", "memory.adapter", *near),
        ]
    state = state_bytes(work, plan)
    held, shard = model.parameters, plan.data
    weight = (state.weights + state.autocast_copy) / (shard if stage == 3 else 1)
    gradient = state.gradients / (shard if stage >= 2 else 1)
    optimizer = state.optimizer / (shard if stage else 1)
    return [
        Term("weights", held * weight, "exact", "memory.weights", *near),
        Term("gradients", held * gradient, "exact", "memory.gradients", *near),
        Term("optimizer", held * optimizer, "exact", "memory.optimizer", *near),
    ]
