"""Bytes of the weights on one GPU: real bits of each format, what stays at 16 bit, how a plan shards them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from app.core import engines
from app.core.engines.record import WeightQuirks
from app.core.formats import Format, format_of, is_format
from app.core.kept import derived
from app.core.model.architecture import ModelArchitecture
from app.core.model.parameter_count import (
    attention_count,
    expert_layers,
    expert_parameter_count,
    latent_down_projection_count,
)
from app.core.tracing import Constant, counted, named, operand
from app.core.units import GIB
from app.core.workload import Parallelism, Workload

PADDED_EXPERT_MULTIPLE = Constant(
    256, "expert_multiple", "", "multiple to which kernels pad the width of experts"
)
"""vLLM's and TensorRT-LLM's MXFP4 kernels pad the expert width (2,880 -> 3,072)."""
REPLICATED_SHARE = Constant(
    0.010, "replicated_share", "", "norms, rotary tables and padding that every tensor rank holds whole"
)
"""Norms, rotary tables and vocabulary padding under tensor parallelism: +1..2 % measured."""
GGUF_SHARED_BITS = Constant(
    6.3, "shared_bits", "", "bits of what all tokens pass in a GGUF mixture of experts"
)
"""A GGUF mixture of experts keeps attention, shared experts and dense layers at Q5_K to Q8_0 whatever its
label says; the routed experts take the rest of the file."""
LOAD_BUFFERS_GIB = Constant(
    0.06, "load_buffers_gib", "GiB", "buffers in which quantized layers are repacked while they load"
)
"""vLLM and SGLang report the peak of loading; quantized layers are repacked on the way: -0.04..0.25 GiB."""
TOWER_WORDS = ("vision", "audio", "visual", "tower", "projector", "image")


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

    def with_names(self) -> WeightBytes:
        """The same as operands of a printed formula."""
        names = ("layer_weight_bytes", "expert_bytes", "table_bytes", "head_bytes", "whole_bytes")
        values = (self.layers, self.experts, self.embedding, self.head, self.replicated)
        return WeightBytes(*(named(value, name) for value, name in zip(values, names, strict=True)))

    def scaled(self, factor: float) -> WeightBytes:
        """Every class times one factor."""
        return WeightBytes(
            self.layers * factor,
            self.experts * factor,
            self.embedding * factor,
            self.head * factor,
            self.replicated * factor,
        )


@derived
def model_bytes(
    model: ModelArchitecture, precision: str, engine: str, checkpoint_gib: float | None = None
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
    fmt = format_of(precision)
    quirks = engines.engine(engine).memory.weights
    own = precision == model.native_precision and not checkpoint_gib
    if model.stored is not None and own:
        return _stored_bytes(model, fmt, quirks)
    if model.components and model.family == "diffusion":
        return WeightBytes(counted(_component_bytes, model, fmt, name="component_bytes"), 0.0, 0.0, 0.0, 0.0)
    sizes = _usual_bytes(model, fmt, quirks, checkpoint_gib)
    if model.stored_gib and own:
        factor = operand(model, model.stored_gib, "stored_gib") * GIB / sizes.total
        sizes = sizes.scaled(named(factor, "checkpoint_factor"))
    return sizes.with_names()


def _usual_bytes(
    model: ModelArchitecture, fmt: Format, quirks: WeightQuirks, checkpoint_gib: float | None
) -> WeightBytes:
    """Every class of weights at the bits that its format means for it."""
    wide = fmt.compute.activation_bytes
    rest_bytes = wide if fmt.quantized and not fmt.gguf else fmt.bytes
    tower, tower_bytes = _towers(model, wide if fmt.gguf else rest_bytes)
    tower = operand(model, tower, "tower_parameters")
    tower_bytes = operand(model, tower_bytes, "tower_bytes")
    expert_parameters = counted(expert_parameter_count, model, name="expert_parameters")
    both = model.embedding_parameters
    table = 1.0 * model.vocab_size * model.hidden_size
    head_parameters = named(0.0 if model.tied_embeddings or both < 2 * table else table, "head_parameters")
    table_parameters = named(max(0.0, both - head_parameters), "table_parameters")
    down = min(counted(latent_down_projection_count, model, name="latent_parameters"), model.parameters)
    linear = max(0.0, model.parameters - both - tower - expert_parameters - down)
    linear = named(linear, "shared_parameters")
    rest_bytes = operand(model, rest_bytes, "table_element_bytes")
    linear_bytes = down_bytes = expert_bytes = operand(model, fmt.bytes, "format_bytes")
    if model.is_moe and "experts_only" in fmt.quirks:
        linear_bytes = down_bytes = operand(model, wide, "wide_bytes")
        width = model.expert_intermediate_size
        if "padded_experts" in fmt.quirks and quirks.pads_experts and width:
            padded = math.ceil(width / PADDED_EXPERT_MULTIPLE) * PADDED_EXPERT_MULTIPLE
            expert_bytes = expert_bytes * padded / width
    layers = linear * linear_bytes
    if model.kv_lora_rank and "wide_latent" in fmt.quirks:
        attention = model.layers * counted(attention_count, model, 1, name="attention_parameters")
        layers += max(0.0, min(linear, attention - down)) * (wide - linear_bytes)
        down_bytes = wide
    sizes = WeightBytes(
        layers=layers + tower_bytes,
        experts=expert_parameters * expert_bytes,
        embedding=table_parameters * rest_bytes,
        head=head_parameters * rest_bytes,
        replicated=down * down_bytes,
    )
    if checkpoint_gib:
        sizes = sizes.scaled(named(checkpoint_gib * GIB / sizes.total, "checkpoint_factor"))
    if fmt.gguf and expert_parameters and sizes.total < GGUF_SHARED_BITS / 8.0 * model.parameters:
        sizes = _shared_at_more_bits(sizes, model.parameters - expert_parameters)
    if quirks.table_on_host and head_parameters:
        sizes = replace(sizes, embedding=0.0)
    if quirks.keeps_own_head and "own_head" in fmt.quirks and not (head_parameters or checkpoint_gib):
        sizes = replace(sizes, head=table * wide)
    return sizes


def _stored_bytes(model: ModelArchitecture, fmt: Format, quirks: WeightQuirks) -> WeightBytes:
    """A checkpoint as its file says it is stored, as an engine loads it."""
    stored = model.stored
    if stored is None:
        raise ValueError("nothing says how the checkpoint is stored")
    down = min(1.0 * latent_down_projection_count(model) * fmt.bytes, stored.layers)
    sizes = WeightBytes(stored.layers - down, stored.experts, stored.embedding, stored.head, down)
    width = model.expert_intermediate_size
    if "padded_experts" in fmt.quirks and quirks.pads_experts and width:
        padded = math.ceil(width / PADDED_EXPERT_MULTIPLE) * PADDED_EXPERT_MULTIPLE
        sizes = replace(sizes, experts=sizes.experts * padded / width)
    if quirks.table_on_host and sizes.head:
        sizes = replace(sizes, embedding=0.0)
    if quirks.keeps_own_head and "own_head" in fmt.quirks and not sizes.head:
        own = 1.0 * model.vocab_size * model.hidden_size * fmt.compute.activation_bytes
        sizes = replace(sizes, head=own)
    return sizes.with_names()


def _towers(model: ModelArchitecture, usual_bytes: float) -> tuple[float, float]:
    """Parameters beside the language model and their bytes: components at their format, towers at 16 bit."""
    count = size = 0.0
    for part in model.components:
        is_tower = any(word in part.name.lower() for word in TOWER_WORDS)
        if is_format(part.precision):
            each = format_of(part.precision).bytes
        elif is_tower:
            each = usual_bytes
        else:
            continue
        count += part.parameters
        size += part.parameters * each
    if not count:
        count = model.vision_tower_parameters
        size = count * usual_bytes
    return min(count, model.parameters), size


def _shared_at_more_bits(sizes: WeightBytes, shared_parameters: float) -> WeightBytes:
    """The same file with what all tokens pass at its usual bits and the experts at what is left."""
    shared = sizes.total - sizes.experts
    wanted = named(min(shared_parameters * GGUF_SHARED_BITS / 8.0, 0.9 * sizes.total), "shared_bytes")
    if wanted <= shared or shared <= 0.0:
        return sizes
    return replace(sizes.scaled(wanted / shared), experts=sizes.total - wanted)


def _component_bytes(model: ModelArchitecture, asked: Format) -> float:
    """Composite models: the backbone takes the asked format, the rest its own or 16 bit."""
    biggest = max(model.components, key=lambda c: c.parameters)
    backbone = next((c for c in model.components if c.name == "backbone"), biggest)
    total = 0.0
    for c in model.components:
        if is_format(c.precision):
            size = format_of(c.precision).bytes
        elif c is backbone:
            size = asked.bytes
        else:
            size = max(2.0, asked.bytes if not asked.quantized else 2.0)
        total += c.parameters * size
    return total


def whole_bytes(work: Workload) -> float:
    """Bytes of all weights on one card."""
    found = model_bytes(work.model, work.precision, work.engine, work.weights_gib).total
    return named(found, "loaded_bytes")


def stage_share(layers: int, pipeline: int) -> float:
    """Share of the layers on the fullest pipeline stage."""
    if pipeline <= 1 or layers <= 0:
        return 1.0
    return named(math.ceil(layers / pipeline) / layers, "stage_share")


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
    on_gpu = work.offload.layers_on_gpu
    if on_gpu is not None and work.model.layers:
        # The last layers go to the card, and those are the ones with experts.
        kept = min(1.0, on_gpu / work.model.layers)
        layers = layers * kept
        experts = experts * min(
            1.0, on_gpu / max(1, counted(expert_layers, work.model, name="expert_layers"))
        )
        ends = ends if kept >= 1.0 else 0.0
    total = experts + layers + ends
    if tensor > 1:
        total = total * (1.0 + operand(work, REPLICATED_SHARE))
    repacks = work.engine_record.memory.weights.load_buffers and work.format.quantized
    if repacks and not (work.trains or work.weights_gib):
        total = total + operand(work, LOAD_BUFFERS_GIB) * GIB / tensor
    return total
