"""What one engine is made of. No part has a default: a record that lacks one cannot be built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal, NamedTuple

from app.core.formats import KERNELS

Pair = tuple[float, float]
"""Distances of the 5th and the 95th percentile from the expected value."""
Version = tuple[int, ...]
FAMILIES = ("decoder", "encoder", "encoder-decoder", "vision", "diffusion", "speech")
NEEDS = ("training", "gguf", *FAMILIES)
"""What `auto` has to find an engine for: training, GGUF files, and inference by family of models."""
PUBLISHED = ("language", "denoising", "other")
"""Kinds of published rows for whose unknown stacks an engine stands in."""


class ByAge(NamedTuple):
    """One value for each age of the software that a question may name."""

    new: float
    usual: float
    old: float

    def of(self, software: str) -> float:
        """The value of an age: new, usual or old."""
        return float(getattr(self, software))


class Backend(Enum):
    """Library in which a card is measured for an engine."""

    TORCH = "PyTorch"
    KERAS = "TensorFlow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """Where packages of a framework run."""

    nvidia_from: float | None
    """Lowest compute capability; None: not on NVIDIA cards."""
    classes: tuple[str, ...]
    """Other classes of `gpu_table.CARD_CLASSES`."""
    windows: bool
    """There is a current build for native Windows."""
    any_radeon_driver: bool
    """Its Vulkan and HIP back ends use any driver of a graphics card."""
    radeon_wheels: bool
    """ROCm wheels for Radeon cards under Windows exist for it, or for what it runs on."""
    runs_on: str
    """Framework whose releases decide; its own name where it has releases of its own."""
    release_name: str
    """How the catalogue's table of releases calls it."""
    release_columns: Mapping[str, str]
    """By card class, the column of a release that says whether the vendor's build exists."""
    stated_by_card: bool
    """Makers of cards bring back ends of their own: what is stated of a card decides, and only an outright
    refusal rejects. False: releases and classes decide."""
    windows_by_release: bool
    """Its releases say whether they use a card under native Windows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """Something that a card has to run: a framework or an engine."""

    name: str
    title: str
    filter_place: int | None
    """Place among the frameworks that a question may ask for; None: it asks for what it runs on."""
    packages: tuple[str, ...]
    """Names under which it is installed, where a question may give them for its own: torch."""
    hardware: Hardware


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedWorkingSet:
    """Profiled activation peak, sampler logits and CUDA graphs of an engine with a paged cache."""

    graph_factor: float
    """CUDA graphs over those of vLLM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatchWorkingSet:
    """Compute buffer of an engine that passes a prompt through in micro-batches."""

    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WholePromptWorkingSet:
    """Prefill peak of an engine that takes each prompt in one piece."""

    workspace_gib: float
    """cuBLAS workspace and the blocks of one step."""


WorkingSet = PagedWorkingSet | MicroBatchWorkingSet | WholePromptWorkingSet


@dataclass(frozen=True, slots=True, kw_only=True)
class KvLayout:
    """How an engine lays out keys and values."""

    page_tokens: int
    """Lengths are rounded up to so many tokens; 1: not at all."""
    window_slack: Literal["scheduled", "micro_batch", "none"]
    """What a windowed layer holds beside its window: a scheduled chunk and a page, a micro-batch."""
    windows_in_full: Literal["always", "old", "never"]
    """Whether windowed layers are held at full length: in all releases, in old ones, in none."""
    windows_since: Version
    """First release that windows them; empty where the release does not matter."""
    unequal_windows_since: Version
    """First that does so where windowed and full layers differ in their heads; empty: `windows_since`."""
    pads_window_groups: bool
    """Layers are grouped in one size, the last group padded."""
    old_latent_apart: bool
    """Old releases keep the latent's keys and values apart."""
    latent_in_full: bool
    """Latent attention is stored as full heads."""
    old_factor: float
    """Old releases over this layout: concatenation holds the old and the new tensor for a moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightQuirks:
    """What an engine does with a checkpoint beside loading it."""

    pads_experts: bool
    """Its MXFP4 kernels pad the width of experts."""
    table_on_host: bool
    """The input table stays in host memory where the head is a matrix of its own."""
    keeps_own_head: bool
    """A tied head that the checkpoint carries as a tensor of its own is kept beside the table."""
    load_buffers: bool
    """It reports the peak of loading, in which quantized layers are repacked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphMemory:
    """Training and forward passes of a framework that runs graphs, where they differ from PyTorch's."""

    layer_linear: ByAge
    """Bytes that a transformer layer keeps, over the textbook count: fp32, and all of old releases."""
    layer_scores: ByAge
    narrow_layer: Pair
    """The same (linear, scores) for 16 bit in later releases."""
    adam_bytes: ByAge
    """Bytes per parameter with Adam: clipped gradients and update tensors are in flight."""
    other_bytes: float
    """The same with other optimizers."""
    image_factor: ByAge
    """Activations of image models over those in PyTorch."""
    encoder_forward: float
    """Activations of an encoder's forward pass over those in PyTorch."""
    spread: Mapping[str, Pair]
    """Distances by term of training."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineMemory:
    """Memory of an engine beside what the architecture needs."""

    context_gib: ByAge
    """CUDA context with loaded kernels."""
    working_set: WorkingSet
    collectives: bool
    """Serving over several cards takes buffers of the collective library."""
    own_pool: bool
    """The allocator of the framework reports the engine's own buffers as reserved, not as allocated."""
    states_buffers: bool
    """Its log states cache and compute buffer of each card."""
    kv: KvLayout
    weights: WeightQuirks
    spread: Mapping[str, Pair]
    """Distances by term of serving."""
    graph: GraphMemory | None
    """None: it trains and passes forward as PyTorch does."""
    speech_weights: float
    """Weights of a speech model in memory, over those at its format."""
    speech_gib: float
    """Beside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpeed:
    """Constants of an engine's time beside what the card needs."""

    layer_s: ByAge
    """Launches of one dense layer in a decode step, seconds."""
    step_s: float
    """Host work of a decode step, seconds."""
    sequence_s: float
    """Host work of one sequence in one step: sampling, text, bookkeeping; 0 where it runs none together."""
    narrow_layer_share: float
    """Launches for rounding activations to FP8, FP4 or INT8, over those of a dense layer."""
    eager: bool
    """Every kernel is launched from Python unless the model is compiled."""
    ggml: bool
    """Kernels of llama.cpp instead of those of tensor-core libraries."""
    prefill: float
    """Share of peak while a prompt is read, over that of tuned engines."""
    attention_cost: float
    """Time of a prompt's attention products over that of other products of as many FLOPs, before `new`."""
    serving_share: float
    """Rate under a standing load over that of the plain model."""
    saturated_sequences: float
    """In flight where a saturated load is asked for without their number."""
    speech_layer_s: float
    """Seconds per decoder layer and written token of a speech model, not of the card."""
    speech_beams: float
    """Beams that a transcriber keeps by default, each reading its own copy of the window."""
    boxes_together: bool
    """Boxes of a batch are suppressed and pasted together, not image by image."""
    sorts_proposals_on_host: bool
    """Two-stage detectors in training sort proposals on the host that all cards share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How an engine serves many requests: what it takes, what it admits, whose constants it has."""

    share: float
    """Of the card, taken when it starts, where a question names none."""
    step_tokens: tuple[int, int]
    """Tokens of one step, on large cards and on others."""
    sequences: tuple[int, int]
    """Sequences that it admits at a time, on large cards and on others."""
    large_from_gib: float
    """Nameplate memory of a large card; the A100 counts as another in any case."""
    constants: str
    """Key of its constants in the tables of `app/core/serving/constants.py`."""
    old_constants: str
    """The same of versions before `old_before` and of old software."""
    old_before: Version
    tuned: bool
    """Its kernels for quantized weights are tuned for cards of any vendor that it runs on."""

    def constants_of(self, version: str, software: str) -> str:
        """Key of the constants of a version, or of an age of the software where none is named."""
        numbers = version_numbers(version)
        old = numbers < self.old_before if numbers else software == "old"
        return self.old_constants if old else self.constants


def version_numbers(version: str) -> Version:
    """The leading numbers of a version, empty where there are none: v0.6.4.dev4 is 0, 6, 4."""
    numbers = []
    for piece in version.lstrip("v").split("."):
        digits = "".join(c for c in piece if c.isdigit())
        if not digits or not piece[0].isdigit():
            break
        numbers.append(int(digits[:6]))
    return tuple(numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePlans:
    """Plans in which an engine runs a model over several cards."""

    tensor: bool
    """It splits matrices by default."""
    pipeline: bool
    """It puts layers on several cards."""
    zero: bool
    """Training may shard states over the replicas."""
    stages_overlap: bool
    """Continuous batching keeps every pipeline stage busy with its own sequences."""
    published_split: Literal["tensor", "pipeline"]
    """How published rows of several cards split a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRows:
    """How published measurements name an engine and what it stands in for."""

    words: tuple[str, ...]
    """Parts of a framework's text, lower case."""
    stands_in_for: tuple[str, ...]
    """Stacks of `published.STACKS` whose rows are asked of this engine."""
    stands_in_for_unknown: tuple[str, ...]
    """Kinds of `PUBLISHED` rows of other stacks that are asked of this engine."""
    new_since: str
    """Date from which rows are of new software; empty: rows do not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Everything the product knows of one engine."""

    framework: Framework
    place: int
    """Among the choices."""
    chosen_for: tuple[str, ...]
    """Of NEEDS: where a question that names no engine takes this one."""
    trains: bool
    """False: it only runs models; a question that trains is computed with the engine of training."""
    families: tuple[str, ...]
    """Of FAMILIES: those it runs."""
    kernels: Mapping[str, float]
    """Lowest NVIDIA compute capability by kernel family of `formats.KERNELS`; 0: no limit of its own."""
    reserved_share: float | None
    """Share of the card that it takes when it starts, whatever the question needs."""
    narrow_kv: str
    """KV format to which advice turns; empty: none that is supported everywhere."""
    alternative: str
    """Engine that runs on cards too old for this one; empty: none."""
    compiles: bool
    """A question may ask for compiled graphs; False: it always runs graphs."""
    default_attention: str
    """Attention of a question in 16 bit that names none."""
    packs_sequences: bool
    """Training may pack sequences of one length; False: shapes are fixed in any case."""
    memory: EngineMemory
    speed: EngineSpeed
    serving: Serving | None
    """None: it serves one batch at a time, all of whose sequences it holds."""
    plans: EnginePlans
    rows: PublishedRows
    backend: Backend
    """Library of the script that measures a card."""
    measured_by_script: bool
    """What that script measures counts as a measurement of this engine."""
    setup_text: bool
    """An option comes with the set-up that the estimates assume."""

    def __post_init__(self) -> None:
        """ValueError for a part that names what does not exist or leaves out what it has to cover."""
        if set(self.kernels) != set(KERNELS):
            raise ValueError(f"engine {self.name}: kernels must name {sorted(KERNELS)}")
        for part, known in ((self.families, FAMILIES), (self.chosen_for, NEEDS)):
            if set(part) - set(known):
                raise ValueError(f"engine {self.name}: unknown {sorted(set(part) - set(known))}")
        if set(self.rows.stands_in_for_unknown) - set(PUBLISHED):
            raise ValueError(f"engine {self.name}: unknown {sorted(self.rows.stands_in_for_unknown)}")

    @property
    def name(self) -> str:
        """As questions and answers name it."""
        return self.framework.name

    @property
    def title(self) -> str:
        """As a reader sees it."""
        return self.framework.title

    @property
    def paged(self) -> bool:
        """It serves from a paged cache, which it measures and fills by itself."""
        return isinstance(self.memory.working_set, PagedWorkingSet)

    @property
    def chunks_prompts(self) -> bool:
        """A number of tokens per step bounds what a prompt needs."""
        return not isinstance(self.memory.working_set, WholePromptWorkingSet)

    @property
    def batches(self) -> bool:
        """It runs many sequences in one step, with graphs of launches."""
        return self.speed.sequence_s > 0
