"""What is to be run: model, task, batch, lengths, precision, recipe, engine, each field declared once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from app.core import applicability, defaults, engines, formats
from app.core.answer import answer
from app.core.engines.record import Engine
from app.core.fields import TASKS, TOKEN_FAMILIES, Condition, Range, declared
from app.core.formats import Format, format_of
from app.core.model.architecture import ModelArchitecture
from app.core.units import Number

Task = Literal["inference", "training", "lora", "qlora"]
PARAMETERS = Range(1_000, 1e13)


def always(work: Workload) -> bool:
    """Every question."""
    del work
    return True


def trains_on_tokens(work: Workload) -> bool:
    """Training of a model that reads tokens."""
    return work.trains and work.model.family in TOKEN_FAMILIES


def _degree(label: str, help: str) -> Any:
    return declared(1, "integer", label, help, limits=Range(1, 4096), unit="×", group="plan")


@answer()
class Parallelism:
    """Degrees of a parallel plan; data x tensor x pipeline is the number of cards."""

    data: int = _degree("Data", "Replicas that share the batch.")
    tensor: int = _degree("Tensor", "Cards that share every layer.")
    pipeline: int = _degree("Pipeline", "Stages that the layers are divided into.")
    expert: int = _degree("Expert", "Cards that share the experts of a mixture; no factor of the card count.")
    zero_stage: int = declared(
        0,
        "integer",
        "ZeRO / FSDP",
        "What the replicas divide: 1 optimizer states, 2 gradients too, 3 weights too.",
        limits=Range(0, 3),
        choices=(0, 1, 2, 3),
        counts=applicability.ZERO_STAGE,
        group="plan",
    )

    @property
    def cards(self) -> int:
        """Cards the plan occupies."""
        return self.data * self.tensor * self.pipeline


def _offloaded(label: str, help: str, counts: tuple[Condition, ...]) -> Any:
    name = "offload_" + label.split()[0].lower()
    flag = name.replace("_", "-")
    return declared(False, "flag", label, help, counts=counts, group="offload", name=name, flag=flag)


@dataclass(frozen=True, slots=True)
class Offload:
    """What is kept in host memory."""

    experts: bool = _offloaded(
        "Experts in host memory", "The experts of a mixture stay in the host.", applicability.OFFLOAD_EXPERTS
    )
    optimizer: bool = _offloaded(
        "Optimizer in host memory",
        "Optimizer states stay in the host, and the step is computed there.",
        applicability.OFFLOAD_OPTIMIZER,
    )
    activations: bool = _offloaded(
        "Activations in host memory",
        "What checkpointing keeps of the forward pass waits in the host.",
        applicability.OFFLOAD_ACTIVATIONS,
    )
    layers_on_gpu: int | None = declared(
        None,
        "integer",
        "Layers on the card",
        "Only so many layers are on the card, the rest runs in the host.",
        limits=Range(0, 2_000),
        hint="all",
        counts=applicability.LAYERS_ON_GPU,
        group="offload",
    )


@dataclass(frozen=True, slots=True)
class Workload:
    """A complete question. `resolve` fills what was left open and lists every default it used."""

    model: ModelArchitecture
    task: Task = declared(
        "inference",
        "choice",
        "Task",
        "Run the model, train all of it, or train adapters on it.",
        choices=TASKS,
        words="task",
        told=always,
        group="run",
        shown=("inference",),
    )
    precision: str = declared(
        "bf16",
        "choice",
        "Precision",
        "Format of the weights; quantized ones count their scales.",
        choices=formats.weight_names(),
        required_for=("training",),
        words="precision",
        group="run",
        usual=defaults.precision,
    )
    batch_size: Number = declared(
        1,
        "integer",
        "Batch size",
        "Training: sequences or images per card. Inference: concurrent sequences over all cards.",
        limits=Range(1, 1_000_000),
        required_for=("training",),
        told=always,
        flag="batch",
        group="run",
        usual=defaults.batch_size,
    )
    """Or an array."""
    batch_stated: bool = False
    """The asker named the batch, even one of 1: a saturated engine then takes no more than that."""
    sequence_length: Number | None = declared(
        None,
        "integer",
        "Sequence length",
        "Tokens held per sequence, prompt and output.",
        limits=Range(1, 20_000_000),
        unit="token",
        counts=applicability.SEQUENCE_LENGTH,
        flag="sequence",
        group="run",
        usual=defaults.sequence_length,
    )
    output_length: float | None = declared(
        None,
        "integer",
        "Output",
        "Tokens written per sequence, of its length.",
        title="Output length",
        limits=Range(0, 20_000_000),
        unit="token",
        counts=(applicability.INFERS, applicability.WRITES_TEXT),
        group="run",
    )
    source_length: float | None = declared(
        None,
        "integer",
        "Source length",
        "Tokens that an encoder-decoder reads.",
        limits=Range(1, 20_000_000),
        unit="token",
        counts=(applicability.of_family("encoder-decoder"),),
        group="run_more",
    )
    image_size: tuple[int, int] | None = declared(
        None,
        "size",
        "Image size",
        "Pixels of a side, or height and width.",
        limits=Range(8, 16_384),
        example=[800, 1333],
        counts=(applicability.IMAGES,),
        group="run",
    )
    denoising_steps: int | None = declared(
        None,
        "integer",
        "Denoising steps",
        "Steps in which one image is generated.",
        limits=Range(1, 1_000),
        counts=(applicability.INFERS, applicability.of_family("diffusion")),
        group="run",
    )
    engine: str = declared(
        "auto",
        "choice",
        "Engine",
        "Software that runs the model.",
        choices=(engines.AUTO, *engines.names()),
        words="framework",
        group="run_more",
        shown=("auto",),
    )
    engine_version: str = declared(
        "",
        "version",
        "Engine version",
        "Some engines handle attention windows by their version.",
        pattern=r"[0-9A-Za-z.+\-]{1,32}",
        example="0.11",
        counts=applicability.ENGINE_VERSION,
        group="run_more",
        hint="newest",
    )
    kv_precision: str = declared(
        "",
        "choice",
        "KV precision",
        "Format of the KV cache; left open, the compute type.",
        choices=formats.kv_names(),
        words="precision",
        counts=applicability.KV_PRECISION,
        group="run_more",
    )
    attention: str = declared(
        "",
        "choice",
        "Attention",
        "Kernel of the attention.",
        choices=("flash", "sdpa", "eager"),
        counts=applicability.ATTENTION,
        group="run_more",
    )
    used_gib: float = declared(
        0.0,
        "number",
        "Already used",
        "Memory of the card that something else takes.",
        limits=Range(0, 1024, integer=False),
        unit="GiB",
        group="run_more",
        shown=("0",),
    )
    weights_gib: float | None = declared(
        None,
        "number",
        "Checkpoint size",
        "Known size of the checkpoint; it wins over the bits of the format.",
        limits=Range(1e-4, 100_000, integer=False),
        unit="GiB",
        counts=applicability.WEIGHTS_GIB,
        group="run_more",
    )
    memory_fraction: float | None = declared(
        None,
        "number",
        "Engine's share",
        "Share of the card that the engine takes when it starts.",
        title="Share of the card the engine takes",
        limits=Range(0.05, 1.0, integer=False),
        unit="0–1",
        counts=applicability.MEMORY_FRACTION,
        group="run_more",
    )
    max_num_seqs: int | None = declared(
        None,
        "integer",
        "Sequences admitted",
        "Sequences that the engine makes room for at a time.",
        title="Sequences the engine admits",
        limits=Range(1, 100_000),
        counts=applicability.MAX_NUM_SEQS,
        group="run_more",
    )
    max_batched_tokens: int | None = declared(
        None,
        "integer",
        "Tokens in a batch",
        "Tokens that the engine computes in one step.",
        limits=Range(1, 10_000_000),
        unit="token",
        counts=applicability.MAX_BATCHED_TOKENS,
        group="run_more",
    )
    lora_rank: int = declared(
        16,
        "integer",
        "LoRA rank",
        "Rank of the adapters.",
        limits=Range(1, 4096),
        counts=(applicability.ADAPTERS,),
        told=applicability.adapters,
        group="run",
        shown=("16",),
    )
    lora_targets: str = declared(
        "all-linear",
        "choice",
        "LoRA targets",
        "Layers that get adapters.",
        choices=("attention", "all-linear"),
        words="lora_targets",
        counts=applicability.LORA_TARGETS,
        told=applicability.adapters,
        group="run",
        shown=("all-linear",),
    )
    optimizer: str = declared(
        "",
        "choice",
        "Optimizer",
        "Its states cost memory; left open, AdamW, for vision models SGD with momentum.",
        choices=("adamw", "adamw-8bit", "adafactor", "sgd", "momentum", "rmsprop", "lion", "galore"),
        words="optimizer",
        counts=(applicability.TRAINS, applicability.NO_ADAPTERS),
        group="run",
    )
    recipe: str = declared(
        "",
        "choice",
        "Recipe",
        "Mixed precision with FP32 copies, pure 16 bit, or FP32.",
        choices=("mixed", "pure", "fp32"),
        words="recipe",
        counts=(applicability.TRAINS,),
        group="run_more",
    )
    gradient_checkpointing: bool | Literal["selective"] = declared(
        False,
        "level",
        "Checkpointing",
        "Activations are computed again in the backward pass instead of kept.",
        choices=(False, True, "selective"),
        counts=(applicability.TRAINS,),
        told=applicability.trains,
        flag="checkpointing",
        group="run",
        usual=defaults.gradient_checkpointing,
    )
    gradient_accumulation: int = declared(
        1,
        "integer",
        "Accumulation",
        "Batches whose gradients are summed before each optimizer step.",
        limits=Range(1, 100_000),
        unit="steps",
        counts=applicability.GRADIENT_ACCUMULATION,
        group="run_more",
        shown=("1",),
    )
    trainable_parameters: float | None = declared(
        None,
        "integer",
        "Parameters trained",
        "How many parameters are trained, where it is only a part.",
        limits=Range(1, 1e13),
        counts=applicability.TRAINABLE_PARAMETERS,
        group="run_more",
        hint="all",
    )
    logits: str = declared(
        "full",
        "choice",
        "Logits",
        "Whether the logits of a batch are held in full or in chunks.",
        title="Logits kept",
        choices=("full", "chunked"),
        words="logits",
        counts=(applicability.TRAINS, applicability.WRITES_TEXT),
        told=trains_on_tokens,
        group="run_more",
        shown=("full",),
    )
    padding: str = declared(
        "padded",
        "choice",
        "Padding",
        "Sequences padded to one length, or packed without gaps.",
        choices=("packed", "padded"),
        words="padding",
        counts=applicability.PADDING,
        told=trains_on_tokens,
        group="run_more",
        shown=("padded",),
    )
    load: str = declared(
        "batch",
        "choice",
        "Load",
        "One request at a time, one full batch, or as much as the engine holds.",
        choices=("single", "batch", "saturated"),
        words="load",
        counts=(applicability.INFERS,),
        told=lambda work: not work.trains and work.model.family == "decoder",
        group="run_more",
        shown=("batch",),
    )
    latency_limit_ms: float | None = declared(
        None,
        "number",
        "Latency limit",
        "Milliseconds that one output token may take.",
        limits=Range(0.01, 1e9, integer=False),
        unit="ms",
        counts=applicability.LATENCY_LIMIT,
        group="run_more",
        hint="none",
    )
    software: str = declared(
        "usual",
        "choice",
        "Software",
        "How new the software is: newest kernels, usual ones, or old ones.",
        title="Software age",
        choices=("new", "usual", "old"),
        words="software",
        told=always,
        group="run_more",
        shown=("usual",),
    )
    compile: bool = declared(
        False,
        "flag",
        "torch.compile",
        "Graphs compiled by the framework.",
        counts=applicability.COMPILE,
        group="run_more",
    )
    offload: Offload = field(default_factory=Offload)
    parallelism: Parallelism | None = None
    resolved: bool = False

    @property
    def trains(self) -> bool:
        """Training of any kind, adapters included."""
        return self.task != "inference"

    @property
    def beyond_context(self) -> bool:
        """Sequences longer than the model has learnt to read, where that is known."""
        most, asked = self.model.max_context, self.sequence_length
        if most <= 0 or asked is None or self.model.family not in TOKEN_FAMILIES:
            return False
        return bool(np.any(np.greater(asked, most)))

    @property
    def fills_engine(self) -> bool:
        """Saturated, and nobody said how many sequences: as many as the engine holds."""
        open_batch = not self.batch_stated and bool(np.all(np.less_equal(self.batch_size, 1)))
        return self.load == "saturated" and not self.trains and open_batch

    @property
    def format(self) -> Format:
        """The weight format."""
        return format_of(self.precision or self.model.native_precision or formats.USUAL)

    @property
    def engine_record(self) -> Engine:
        """What is known of the engine of a resolved question; `UnknownEngine` before that."""
        return engines.engine(self.engine)

    @property
    def compute_type(self) -> str:
        """The type of activations and matrix products: fp32, tf32, fp16, bf16, fp8 … of the weight format."""
        return self.format.computes_in
