"""Memory of training transformers: in full, with LoRA, with QLoRA."""

from __future__ import annotations

from typing import NamedTuple

from app.core.memory import kv, overhead, weights
from app.core.memory.activations import LayerBytes, layer_bytes, logit_bytes, pooled_logit_bytes
from app.core.memory.adapters import adapter_parameters, largest_matrix
from app.core.memory.numeric import greater, smaller
from app.core.memory.spread import training_spread
from app.core.memory.states import ADAPTER_BYTES, PURE_ADAPTER_BYTES, state_bytes
from app.core.memory.terms import PROCESS, RESERVED, Reserve, Term
from app.core.model.architecture import ModelArchitecture
from app.core.tracing import Constant, counted, named, operand
from app.core.units import Number
from app.core.workload import Parallelism, Workload

SELECTIVE_SHARE = Constant(
    0.48, "selective_share", "", "share of the activations that selective checkpointing keeps"
)
"""Per-operator choice of torchtitan."""
RECOMPUTED_LAYERS = Constant(
    1.5, "recomputed_layers", "", "recomputed layers alive at one time, with the gradients through them"
)
"""One recomputed layer and the gradients that flow through it."""
OLD_QUANTIZED_ABOVE = 0.35
ADAPTER_INPUT_BYTES = Constant(
    3.0, "adapter_input_bytes", "B", "bytes that an adapter keeps per element of its input"
)
"""Dropout before an adapter keeps its own 16-bit copy of the input and a mask."""
SMALL_STEP_SHARE = Constant(
    0.1, "small_step_share", "", "share of the step's buffer that fused or old optimizers need"
)
"""Fused optimizers, the companions of compiled training, need next to no buffer for the step, nor does
PyTorch 1.x, which steps tensor by tensor. Pure 16-bit training came with PyTorch 2 and its foreach."""
GATHERED_LAYERS = Constant(2.0, "gathered_layers", "", "layers that sharded training holds whole at one time")
BUCKET_ELEMENTS = Constant(5e8, "bucket_elements", "", "largest bucket of gradients, elements")

QLORA_COPIES = 1.0
"""Without checkpointing the 4-bit kernels keep widened inputs: QLoRA saves 1.8 GB less than its weights."""
CROSS_ATTENTION_FACTOR = Constant(
    1.4, "cross_attention_factor", "", "activations of a layer with cross-attention over one without"
)
"""A decoder layer with cross-attention against one without."""
AUDIO_POSITIONS = Constant(1500.0, "audio_positions", "", "positions of one window of audio")
QLORA_WORKSPACE_BYTES = Constant(0.6 * 2**30, "qlora_workspace_bytes", "B", "blocks of the 4-bit kernels")
"""Blocks of the 4-bit kernels that hold no named tensor."""
SHARDED_POOL_BYTES = Constant(
    2.0**30, "pool_bytes", "B", "memory that the allocator keeps beside what is used"
)
"""FSDP frees and gathers layers all the time: reserved exceeds allocated by 1-2 GiB."""
PACKED_SHARE = Constant(0.5, "packed_share", "", "share of the fragments that batches of one shape leave")
"""Batches of one shape leave half of the fragments that varying lengths do."""
EDGE_LAYERS = Constant(0.25, "edge_layers", "", "gradients in flight, counted in layers")
"""Gradients in flight beside the kept activations."""


class _Peak(NamedTuple):
    """Transient bytes on the fullest GPU."""

    kept: Number
    """Alive until its layer's backward pass."""
    layer: Number
    """Recomputed layer with its gradients, after the loss has been freed."""
    logits: Number
    pool: Number
    """Reserved beside the logits."""


def terms(work: Workload, plan: Parallelism) -> tuple[list[Term], Reserve]:
    """Terms of training a transformer.

    Parameters
    ----------
    work: a resolved question with task training, lora or qlora; batch_size counts sequences per GPU.
    plan: degrees of parallelism and ZeRO stage.

    Returns
    -------
    Terms in bytes on the fullest GPU.

    Notes
    -----
    peak = persistent + max(activations + logits + autocast copies, optimizer workspace). ZeRO 1 / 2 / 3
    divide optimizer / gradients / weights by the data degree; activations and logits never shard over it.
    """
    near = training_spread(work)
    peak = _transient(work, plan)
    if work.task == "training" and not work.trainable_parameters:
        found, transient_extra, workspace = _full(work, plan)
    else:
        found, transient_extra, workspace = _adapters(work, plan)
    # Autocast copies are weights a second time; what FSDP gathers lives and dies with the layers.
    gathers = work.task != "training" or (plan.zero_stage == 3 and plan.data > 1)
    casts, extra = (0.0, transient_extra) if gathers else (transient_extra, 0.0)
    found[0] = found[0]._replace(size=found[0].size + casts)
    recomputed: Number = greater(peak.layer - peak.logits, 0.0) if work.gradient_checkpointing else 0.0
    activations: Number = named(peak.kept + recomputed + extra, "activation_bytes")
    share, fixed = near["fragmentation"]
    share = operand(work, share, "fragment_share")
    fixed = operand(work, fixed, "pool_bytes")
    if work.padding == "packed":
        share = share * PACKED_SHARE
    if plan.zero_stage == 3 and plan.data > 1 and work.task != "training":
        fixed = SHARDED_POOL_BYTES
    # Where the loss leaves a pool behind, the other tensors live in it.
    live: Number = named(activations + casts + peak.logits, "live_bytes")
    pool: Number = share * live + fixed
    if work.software == "old":
        pool = greater(peak.pool + fixed, pool)
    idle = greater(named(workspace, "step_buffer_bytes") - live - peak.pool, 0.0)
    below, above = near["activations"]
    found.append(Term("engine", idle, "derived", "memory.optimizer_step", *near["states"]))
    found.append(Term("activations", activations, "calibrated", "memory.training_activations", below, above))
    found.append(Term("logits", peak.logits, "calibrated", "memory.training_logits", *near["logits"]))
    found.append(
        Term(
            "fragmentation",
            pool,
            "calibrated",
            "memory.fragmentation",
            0.5,
            0.75,
            RESERVED,
        )
    )
    found.append(overhead.context_term(work))
    communication = _communication(work, plan)
    if communication is not None:
        found.append(communication)
    return found, Reserve()


def _full(work: Workload, plan: Parallelism) -> tuple[list[Term], float, float]:
    near = training_spread(work)
    model = work.model
    state = state_bytes(work, plan)
    stage = plan.zero_stage if plan.data > 1 else 0
    held = _parameters_per_gpu(work, plan)
    weight = state.weights
    gradient = state.gradients
    optimizer = state.optimizer
    graph = work.engine_record.memory.graph
    if graph is not None:
        total = graph.adam_bytes.of(work.software) if work.optimizer == "adamw" else graph.other_bytes
        optimizer = operand(work, max(optimizer, total - weight - gradient), "optimizer_bytes")
    shard = plan.data
    found = [
        Term("weights", held * weight / (shard if stage == 3 else 1), "exact", "memory.weights",
             *near["states"]),
        Term("gradients", held * gradient / (shard if stage >= 2 else 1), "exact", "memory.gradients",
             *near["states"]),
        Term("optimizer", 0.0 if work.offload.optimizer else held * optimizer / (shard if stage else 1),
             "exact", "memory.optimizer", *near["states"]),
    ]  # fmt: skip
    copied = 0.0
    if state.autocast_copy and graph is None:
        linear = named(max(0.0, model.parameters - model.embedding_parameters), "linear_parameters")
        copied = state.autocast_copy * linear * held / model.parameters
    if stage == 3:
        layer = held / max(1, model.layers)
        ends = model.embedding_parameters / plan.tensor
        copied = named(2.0 * (GATHERED_LAYERS * layer + min(ends, held)), "gathered_bytes")
    workspace = held * state.workspace / (shard if stage else 1)
    if graph is not None:
        workspace = 0.0
    elif work.compile or (work.software == "old" and work.recipe != "pure"):
        workspace *= SMALL_STEP_SHARE
    return found, copied, workspace


def _adapters(work: Workload, plan: Parallelism) -> tuple[list[Term], float, float]:
    near = training_spread(work)
    model = work.model
    stage = plan.zero_stage if plan.data > 1 else 0
    trained = work.trainable_parameters or counted(
        adapter_parameters, model, work.lora_rank, work.lora_targets, name="trainable_parameters"
    )
    trained = trained / (plan.tensor * plan.pipeline)
    frozen = weights.per_gpu_bytes(work, plan) / (plan.data if stage == 3 else 1)
    each = ADAPTER_BYTES if work.recipe != "pure" else PURE_ADAPTER_BYTES
    widened = 0.0
    if work.format.compute.wide and work.recipe == "mixed":
        widened = 2.0 * (model.parameters - model.embedding_parameters) / (plan.tensor * plan.pipeline)
    if work.format.widened_whole:
        largest = counted(largest_matrix, model, name="largest_matrix")
        widened = 2.0 * largest / plan.tensor + QLORA_WORKSPACE_BYTES
    if stage == 3:
        layer = frozen * plan.data / max(1, model.layers)
        widened += GATHERED_LAYERS * layer + 2.0 * model.embedding_parameters / plan.tensor
    widened = named(widened, "widened_bytes")
    below, above = near["frozen"]
    if work.format.quantized and work.software == "old":
        # Early 4- and 8-bit kernels keep transposed copies and shards at 16 bit while loading.
        above = OLD_QUANTIZED_ABOVE
    found = [
        Term("weights", frozen, "exact" if not work.format.quantized else "calibrated", "memory.weights",
             below, above),
        Term("adapter", trained * each / (plan.data if stage else 1), "derived", "memory.adapter",
             *near["states"]),
    ]  # fmt: skip
    return found, widened, trained * 4.0


def _parameters_per_gpu(work: Workload, plan: Parallelism) -> float:
    """Trained parameters on the fullest GPU before ZeRO."""
    model = work.model
    if plan.tensor == 1 and plan.pipeline == 1 and plan.expert == 1:
        return model.parameters
    ends = model.embedding_parameters
    layers = model.parameters - ends
    share = weights.stage_share(model.layers, plan.pipeline)
    table = ends if plan.pipeline == 1 or model.tied_embeddings else ends / 2.0
    return (layers * share + table) / plan.tensor


def _transient(work: Workload, plan: Parallelism) -> _Peak:
    model = work.model
    batch = kv.as_number(work.batch_size)
    length = kv.as_number(work.sequence_length if work.sequence_length is not None else 1.0)
    wide = work.format.compute.wide or work.recipe == "fp32"
    layer = layer_bytes(model, wide, work.attention, work.compile, work.engine, work.software)
    own_layers = model.layers or model.encoder_layers
    tokens: Number = named(batch * length, "tokens")
    # Sequence parallelism goes with tensor parallelism in training: norms and layer inputs are sharded too.
    whole: Number = (layer.replicated + layer.sharded) / plan.tensor
    boundary = layer.boundary / plan.tensor
    if work.task != "training" and work.lora_targets == "all-linear" and not work.compile:
        whole = whole + ADAPTER_INPUT_BYTES * _mlp_inputs(model) / plan.tensor
    if layer.per_key:
        attended = smaller(length, model.sliding_window) if not model.full_layers else length
        whole = whole + layer.per_key / plan.tensor * attended
    whole = named(whole, "layer_bytes")
    in_flight: float = own_layers
    if plan.pipeline > 1:
        micro = max(1, min(plan.pipeline, work.gradient_accumulation))
        in_flight = own_layers * weights.stage_share(model.layers, plan.pipeline) * micro
    in_flight = named(in_flight, "layers_in_flight")
    recomputed: Number = 0.0
    if work.gradient_checkpointing is True:
        kept: Number = tokens * (0.0 if work.offload.activations else in_flight * boundary)
        recomputed = tokens * (RECOMPUTED_LAYERS * whole)
    elif work.gradient_checkpointing == "selective":
        kept = tokens * (in_flight * SELECTIVE_SHARE * (layer.replicated + layer.sharded) / plan.tensor)
        recomputed = tokens * whole
    else:
        kept = tokens * ((in_flight + EDGE_LAYERS) * whole)
        if work.task == "qlora":
            kept = kept * QLORA_COPIES
    if model.family in ("encoder-decoder", "speech"):
        kept = kept * CROSS_ATTENTION_FACTOR + _encoder_kept(work, batch, length, layer, whole)
    predicted = model.vocab_size if model.family in ("decoder", "encoder-decoder") else 0
    entries = predicted / plan.tensor
    logits: Number = named(tokens * entries * logit_bytes(work, plan), "logits_bytes")
    pool: Number = 0.0
    if plan.zero_stage < 3:
        pool = entries * pooled_logit_bytes(work, tokens)
    return _Peak(kept, recomputed, logits, pool)


def _mlp_inputs(model: ModelArchitecture) -> float:
    """Elements that enter the MLP's matrices, per token and layer."""
    if model.is_moe and not model.shared_experts:
        return 0.0
    inputs = 2.0 if model.gated_mlp else 1.0
    width = model.shared_experts * model.expert_intermediate_size or model.intermediate_size
    return inputs * model.hidden_size + width


def _encoder_kept(work: Workload, batch: Number, length: Number, layer: LayerBytes, whole: Number) -> Number:
    """Activations of the encoder side; the source has its own length."""
    model = work.model
    if model.family == "speech":
        source: Number = AUDIO_POSITIONS
    else:
        source = kv.as_number(work.source_length) if work.source_length is not None else length
    each = layer.boundary if work.gradient_checkpointing is True else whole
    return batch * source * model.encoder_layers * each


def _communication(work: Workload, plan: Parallelism) -> Term | None:
    if plan.cards < 2:
        return None
    collective = overhead.collective_term(plan)
    size: Number = collective.size if collective is not None else 0.0
    if plan.data > 1:
        trained = _parameters_per_gpu(work, plan)
        if work.task != "training":
            adapters = counted(
                adapter_parameters, work.model, work.lora_rank, work.lora_targets, name="trainable_parameters"
            )
            trained = adapters / plan.tensor
        each = 2.0 if work.recipe != "fp32" else 4.0
        if plan.zero_stage in (1, 2):
            bucket = operand(work, min(trained, BUCKET_ELEMENTS))
            size = size + 2.0 * bucket * 2.0
        elif plan.zero_stage == 0:
            size = size + trained * (4.0 if work.recipe == "mixed" else each)
    return Term("communication", size, "calibrated", "memory.collectives", 0.6, 0.6, PROCESS)
