"""Shapes of the bodies that the API takes, for /openapi.json; ranges come from the core."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.api import examples
from app.core import formats
from app.services import request_parts as parts
from app.services import requests as accepted
from app.services.contract import (
    ATTENTION,
    CONDITIONS,
    ENGINE_CHOICES,
    FAMILIES,
    LOADS,
    LOGITS,
    LORA_TARGETS,
    NEEDS,
    OBJECTIVES,
    OPTIMIZERS,
    PADDING,
    RANGES,
    RECIPES,
    REGIONS,
    SOFTWARE,
    TASKS,
    WORK_UNITS,
    Range,
    limits_of,
)


class Strict(BaseModel):
    """No field but those named."""

    model_config = ConfigDict(extra="forbid")


def _in(limits: Range) -> Any:
    return Field(ge=limits.low, le=limits.high)


def _range(name: str) -> Any:
    return _in(RANGES[name])


def _dimension(name: str) -> Any:
    low, high = limits_of(name)
    return Field(ge=low, le=high)


def _one_of(values: tuple[str, ...]) -> Any:
    return Field(json_schema_extra={"enum": list(values)})


Name = Annotated[str, Field(min_length=1, max_length=200)]
Condition = Annotated[str, _one_of(CONDITIONS)]
Region = Annotated[str, _one_of(REGIONS)]
Need = Annotated[str, _one_of(NEEDS)]
Count = Annotated[int, _in(accepted.COUNT)]
Pixels = Annotated[int, _range("image_size")]
Degree = Annotated[int, _range("degree")]
Precision = Annotated[str, _one_of(formats.weight_names())]
Layers = Annotated[int, _dimension("layers")]
Rank = Annotated[int, _dimension("kv_lora_rank")]
Experts = Annotated[int, _dimension("experts")]


class PresetModel(Strict):
    """A model that the catalogue knows."""

    preset: Name = Field(description="Id, alias or Hugging Face id.", examples=["llama-3.1-8b"])


class ConfigModel(Strict):
    """A model by its Hugging Face config.json."""

    config: dict[str, Any] = Field(description="The config.json as it is; its own fields are free.")
    name: Name | None = None
    parameters: Annotated[float, _range("parameters")] | None = None


class ModelPart(Strict):
    """One part of a composite model."""

    name: Name
    parameters: float = Field(gt=0)
    precision: str | None = None


class FamilyModel(Strict):
    """A model by its family and whatever is known of its size."""

    family: str = Field(json_schema_extra={"enum": list(FAMILIES)})
    parameters: Annotated[float, _range("parameters")] | None = Field(None, examples=[7e9])
    name: Name | None = None
    layers: Layers | None = None
    encoder_layers: Annotated[int, _dimension("encoder_layers")] | None = None
    hidden_size: Annotated[int, _dimension("hidden_size")] | None = None
    intermediate_size: Annotated[int, _dimension("intermediate_size")] | None = None
    attention_heads: Annotated[int, _dimension("attention_heads")] | None = None
    kv_heads: int | list[int] | None = None
    head_dim: Annotated[int, _dimension("head_dim")] | None = None
    vocab_size: Annotated[int, _dimension("vocab_size")] | None = None
    tied_embeddings: bool | None = None
    gated_mlp: bool | None = None
    sliding_window: Annotated[int, _dimension("sliding_window")] | None = None
    full_attention_layers: Annotated[int, _dimension("full_attention_layers")] | None = None
    linear_attention_layers: Annotated[int, _dimension("linear_attention_layers")] | None = None
    experts: Experts | None = None
    experts_per_token: Experts | None = None
    shared_experts: Experts | None = None
    expert_intermediate_size: Annotated[int, _dimension("expert_intermediate_size")] | None = None
    dense_layers: Annotated[int, _dimension("dense_layers")] | None = None
    kv_lora_rank: Rank | None = None
    q_lora_rank: Rank | None = None
    qk_nope_head_dim: Rank | None = None
    qk_rope_head_dim: Rank | None = None
    v_head_dim: Rank | None = None
    active_parameters: Annotated[float, _dimension("active_parameters")] | None = None
    activations_per_sample: Annotated[float, _dimension("activations_per_sample")] | None = None
    forward_macs: Annotated[float, _dimension("forward_macs")] | None = None
    backbone: Name | None = None
    head: Name | None = None
    normalization: Name | None = None
    components: list[ModelPart] | None = None


class Offload(Strict):
    """What is kept in host memory."""

    experts: bool = False
    optimizer: bool = False
    activations: bool = False
    layers_on_gpu: Annotated[int, _in(accepted.LAYERS_ON_GPU)] | None = None


class Parallelism(Strict):
    """A plan; data x tensor x pipeline is the number of cards."""

    data: Degree = 1
    tensor: Degree = 1
    pipeline: Degree = 1
    expert: Degree = 1
    zero_stage: Annotated[int, _in(accepted.ZERO_STAGE)] = 0


class Workload(Strict):
    """What is to be run. What is left open gets a default, and the answer lists it under `assumptions`."""

    model: PresetModel | ConfigModel | FamilyModel
    task: Annotated[str, _one_of(TASKS)] = "inference"
    precision: Precision = "bf16"
    batch_size: Annotated[int, _range("batch_size")] = Field(
        1, description="Training: sequences or images per GPU. Inference: concurrent sequences."
    )
    sequence_length: Annotated[int, _range("sequence_length")] | None = Field(
        None, description="Tokens held per sequence, prompt and output."
    )
    output_length: Annotated[int, _range("output_length")] | None = None
    source_length: Annotated[int, _range("source_length")] | None = None
    image_size: Pixels | Annotated[list[Pixels], Field(min_length=2, max_length=2)] | None = None
    kv_precision: Annotated[str, _one_of(formats.kv_names())] | None = None
    engine: Annotated[str, _one_of(ENGINE_CHOICES)] = "auto"
    engine_version: Annotated[str, Field(pattern=f"^{accepted.ENGINE_VERSION}$")] | None = None
    max_batched_tokens: Annotated[int, _range("max_batched_tokens")] | None = None
    max_num_seqs: Annotated[int, _range("max_num_seqs")] | None = None
    memory_fraction: Annotated[float, _range("memory_fraction")] | None = None
    weights_gib: Annotated[float, _range("weights_gib")] | None = None
    optimizer: Annotated[str, _one_of(OPTIMIZERS)] | None = None
    recipe: Annotated[str, _one_of(RECIPES)] | None = None
    gradient_checkpointing: bool | Literal["selective"] = False
    gradient_accumulation: Annotated[int, _range("gradient_accumulation")] = 1
    compile: bool = False
    attention: Annotated[str, _one_of(ATTENTION)] | None = None
    logits: Annotated[str, _one_of(LOGITS)] = "full"
    lora_rank: Annotated[int, _range("lora_rank")] = 16
    lora_targets: Annotated[str, _one_of(LORA_TARGETS)] = "all-linear"
    trainable_parameters: Annotated[float, _range("trainable_parameters")] | None = None
    load: Annotated[str, _one_of(LOADS)] = "batch"
    software: Annotated[str, _one_of(SOFTWARE)] = "usual"
    latency_limit_ms: Annotated[float, _range("latency_limit_ms")] | None = None
    padding: Annotated[str, _one_of(PADDING)] = "padded"
    used_gib: Annotated[float, _range("used_gib")] = Field(0, description="Already used on the card.")
    offload: Offload | None = None
    parallelism: Parallelism | None = None


class _Calculation(Strict):
    workload: Workload
    as_of: date | None = Field(
        None, description="The day that picks prices, rates and ages; today (UTC) when not given."
    )


class MemoryRequest(_Calculation):
    """Body of /memory."""


class FitRequest(_Calculation):
    """Body of /fit."""

    gpu: Name = Field(description="Id or alias of the card.", examples=["rtx4090"])
    count: Count | None = Field(None, description="1, or what the parallel plan needs.")


class SpeedRequest(FitRequest):
    """Body of /speed."""


class Filters(Strict):
    """What an option must satisfy."""

    vendors: list[Name] = []
    conditions: list[Condition] = ["new", "used", "refurbished"]
    regions: list[Region] = []
    needs: list[Need] = []
    frameworks: list[Name] = Field([], examples=[["pytorch", "tensorflow==2.15"]])
    os: Annotated[str, _one_of(parts.OPERATING_SYSTEMS)] | None = None
    driver: Name | None = Field(None, examples=["550.54"])
    max_power_w: Annotated[float, _in(parts.MAX_POWER_W)] | None = None
    max_count: Annotated[int, _in(parts.MAX_COUNT)] | None = None
    max_cards_per_host: Annotated[int, _in(parts.MAX_COUNT)] = 8
    gpus: list[Name] = []


class Budget(Strict):
    """Upper bound on the purchase with host."""

    amount: Annotated[float, _in(parts.MONEY)]
    currency: Annotated[str, _one_of(parts.CURRENCIES)] = "CNY"


class PriceRules(Strict):
    """Which observations may count."""

    max_age_days: Annotated[int, _in(parts.MAX_AGE_DAYS)] = 180
    refuse_stale: bool = False
    tax: Annotated[str, _one_of(parts.TAXES)] | None = None
    region: Region = "CN"


class Economics(Strict):
    """The economic frame; fractions are 0 to 1."""

    months: Annotated[float, _in(parts.ECONOMICS["months"])] = 36
    hours_per_month: Annotated[float, _in(parts.ECONOMICS["hours_per_month"])] = 730
    electricity_cny_per_kwh: Annotated[float, _in(parts.ECONOMICS["electricity_cny_per_kwh"])] = 0.8
    pue: Annotated[float, _in(parts.ECONOMICS["pue"])] = 1.4
    utilisation: Annotated[float, _in(parts.ECONOMICS["utilisation"])] = 0.6
    residual: Annotated[float, _in(parts.ECONOMICS["residual"])] = 0.2
    host_cny_per_gpu: Annotated[float, _in(parts.ECONOMICS["host_cny_per_gpu"])] | None = None


class Work(Strict):
    """Amount of work: per month for inference, in all for training."""

    amount: Annotated[float, _in(parts.WORK_AMOUNT)]
    unit: Annotated[str, _one_of(WORK_UNITS)] = "tokens"


class Questions(Strict):
    """The four questions; null is answered from the workload where it can be."""

    parameters_over_10b: bool | None = None
    run_over_24h: bool | None = None
    tenants: bool | None = None
    strict_sla: bool | None = None


class ShortlistRequest(_Calculation):
    """Body of /shortlist."""

    counts: list[Count] = Field([1, 2, 4, 8], min_length=1, max_length=accepted.MAX_COUNTS)
    filters: Filters | None = None
    budget: Budget | None = None
    economics: Economics | None = None
    objective: Annotated[str, _one_of(OBJECTIVES)] = "total_cost"
    price_rules: PriceRules | None = None
    price_overrides: dict[str, Annotated[float, _in(parts.CARD_PRICE)]] | None = Field(
        None, description="Your own price per card in yuan, by id of the card.", examples=[{"rtx3090": 6500}]
    )
    work: Work | None = None
    deadline_hours: Annotated[float, _in(parts.DEADLINE_HOURS)] | None = None
    limit: Annotated[int, _in(accepted.LIMIT)] = 10
    questions: Questions | None = None


class ComparisonRequest(ShortlistRequest):
    """Body of /comparisons: a shortlist to freeze, and its title."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": examples.COMPARISON_BODY})

    title: Annotated[str, Field(max_length=200)] | None = None
