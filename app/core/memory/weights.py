"""Bytes of the weights on one GPU: real bits of each format, what stays at 16 bit, how a plan shards them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from app.core.model import ModelArchitecture
from app.core.parameter_count import expert_parameter_count, latent_down_projection_count
from app.core.precision import FORMATS
from app.core.units import GIB
from app.core.workload import Parallelism, Workload

EXPERT_ONLY_FORMATS = ("mxfp4", "nvfp4")
"""In a mixture of experts these checkpoints quantize the routed experts and leave the rest at 16 bit."""
PADDED_EXPERT_MULTIPLE = 256
"""vLLM's and TensorRT-LLM's MXFP4 kernels pad the expert width (2,880 -> 3,072)."""
REPLICATED_SHARE = 0.010
"""Norms, rotary tables and vocabulary padding under tensor parallelism: +1..2 % measured."""


@dataclass(frozen=True, slots=True)
class WeightBytes:
    """Bytes of the whole model by how they shard."""

    layers: float
    """Attention, dense MLP, shared experts, norms."""
    experts: float
    embedding: float
    """Input table as loaded on the GPU; 0 where the engine keeps it on the host."""
    head: float
    replicated: float
    """Whole on every tensor rank."""

    @property
    def total(self) -> float:
        """All of them."""
        return self.layers + self.experts + self.embedding + self.head + self.replicated


@lru_cache(maxsize=4096)
def model_bytes(
    model: ModelArchitecture, precision: str, engine: str = "vllm", checkpoint_gib: float | None = None
) -> WeightBytes:
    """Bytes of the loaded model.

    Parameters
    ----------
    model: the architecture.
    precision: weight format.
    engine: llama.cpp leaves the token table on the host; vLLM and TensorRT-LLM pad MXFP4 experts.
    checkpoint_gib: known size of the checkpoint in GiB; wins over the label's bits.

    Returns
    -------
    Bytes by sharding class.

    Notes
    -----
    Quantized linears at their bits with scales; embeddings, head and vision tower at 16 bit. GGUF: the
    whole file at the type's mean bits per weight. Mixed checkpoints under one label ("NVFP4" at 8.6 bits)
    exist: only their size says so.

    References
    ----------
    [1] 107 measured checkpoints and load logs, reference/memory_inference_findings.md §B, 2026-11-30.
    """
    fmt = FORMATS[precision]
    components = sum(c.parameters for c in model.components)
    if components and model.family in ("diffusion",):
        return WeightBytes(_component_bytes(model, precision), 0.0, 0.0, 0.0, 0.0)
    expert_parameters = float(expert_parameter_count(model))
    tower = model.vision_tower_parameters
    both = model.embedding_parameters
    table = float(model.vocab_size * model.hidden_size)
    head_parameters = 0.0 if model.tied_embeddings or both < 2 * table else table
    table_parameters = max(0.0, both - head_parameters)
    down = min(float(latent_down_projection_count(model)), model.parameters)
    linear = max(0.0, model.parameters - both - tower - expert_parameters - down)
    wide = 4.0 if fmt.compute_type in ("fp32", "tf32") else 2.0
    linear_bytes = fmt.bytes
    expert_bytes = fmt.bytes
    rest_bytes = wide if fmt.quantized and not fmt.gguf else fmt.bytes
    if model.is_moe and precision in EXPERT_ONLY_FORMATS:
        linear_bytes = wide
        width = model.expert_intermediate_size
        if precision == "mxfp4" and engine in ("vllm", "tensorrt-llm", "sglang") and width:
            expert_bytes *= math.ceil(width / PADDED_EXPERT_MULTIPLE) * PADDED_EXPERT_MULTIPLE / width
    sizes = WeightBytes(
        layers=linear * linear_bytes + tower * (wide if fmt.gguf else rest_bytes),
        experts=expert_parameters * expert_bytes,
        embedding=table_parameters * rest_bytes,
        head=head_parameters * rest_bytes,
        replicated=down * linear_bytes,
    )
    if checkpoint_gib:
        scale = checkpoint_gib * GIB / sizes.total
        sizes = WeightBytes(
            sizes.layers * scale,
            sizes.experts * scale,
            sizes.embedding * scale,
            sizes.head * scale,
            sizes.replicated * scale,
        )
    if engine == "llama.cpp" and head_parameters:
        sizes = WeightBytes(sizes.layers, sizes.experts, 0.0, sizes.head, sizes.replicated)
    return sizes


def _component_bytes(model: ModelArchitecture, precision: str) -> float:
    """Composite models: the backbone takes the asked format, the rest its own or 16 bit."""
    biggest = max(model.components, key=lambda c: c.parameters)
    backbone = next((c for c in model.components if c.name == "backbone"), biggest)
    total = 0.0
    for c in model.components:
        if c.precision in FORMATS:
            size = FORMATS[c.precision].bytes
        elif c is backbone:
            size = FORMATS[precision].bytes
        else:
            size = max(2.0, FORMATS[precision].bytes if not FORMATS[precision].quantized else 2.0)
        total += c.parameters * size
    return total


def stage_share(layers: int, pipeline: int) -> float:
    """Share of the layers on the fullest pipeline stage."""
    if pipeline <= 1 or layers <= 0:
        return 1.0
    return math.ceil(layers / pipeline) / layers


def per_gpu_bytes(work: Workload, plan: Parallelism) -> float:
    """Weight bytes on the fullest GPU of a plan.

    Parameters
    ----------
    work: a resolved question.
    plan: degrees of parallelism.

    Returns
    -------
    Bytes.

    Notes
    -----
    Layers and vocabulary tables divide by the tensor degree, experts by the larger of tensor and expert
    degree, the down projections of latent attention by neither. The first stage of a pipeline holds the
    table and the last one the head.
    """
    sizes = model_bytes(work.model, work.precision, work.engine, work.weights_gib)
    tensor, pipeline = plan.tensor, plan.pipeline
    share = stage_share(work.model.layers, pipeline)
    experts = sizes.experts / max(tensor, plan.expert) * share
    layers = (sizes.layers / tensor + sizes.replicated) * share
    ends = (sizes.embedding + sizes.head) / tensor
    if pipeline > 1:
        ends = (
            max(sizes.embedding, sizes.head, sizes.embedding if work.model.tied_embeddings else 0.0) / tensor
        )
    if work.offload.experts:
        experts = 0.0
    if work.offload.layers_on_gpu is not None and work.model.layers:
        kept = min(1.0, work.offload.layers_on_gpu / work.model.layers)
        experts, layers = experts * kept, layers * kept
        ends = ends if kept >= 1.0 else 0.0
    total = experts + layers + ends
    if tensor > 1:
        total *= 1.0 + REPLICATED_SHARE
    return total
