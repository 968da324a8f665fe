"""The facts of a question for the equations of serving: what model, engine, plan and card say themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from app.core.engines.record import Serving
from app.core.gpu_table import (
    CARD_CLASSES,
    LINK_EFFICIENCY,
    PCIE_GB_S,
    PCIE_NOMINAL_GB_S,
    ComputeRate,
    Floats,
    GpuTable,
)
from app.core.memory.kv import cache, sequence_bytes
from app.core.memory.overhead import mlp_width
from app.core.memory.weights import model_bytes
from app.core.model.architecture import ModelArchitecture
from app.core.model.parameter_count import expert_layers, expert_parameter_count
from app.core.model.products import attended, attention_width, matmul_parameters
from app.core.serving import constants as c
from app.core.serving.keys import Setting, form_of
from app.core.serving.load import Load
from app.core.serving.terms import Facts
from app.core.tracing import counted, floats, named, operand, solved
from app.core.units import GB, GIB, TERA, Number
from app.core.workload import Parallelism, Workload

if TYPE_CHECKING:
    from app.core.speed.terms import Plans

HOST_CARDS = 8
"""Cards, or packages of them, that one host joins."""
NETWORK_GB_S = 45.0
"""One-way rate between hosts, per card: 400 Gb/s less protocol."""
_AMPERE = CARD_CLASSES.index("ampere_dc")
_NOMINAL = PCIE_NOMINAL_GB_S[4] / PCIE_GB_S[4]
"""Nominal rate of PCIe over the one that collectives reach."""


@dataclass(frozen=True)
class ModelFacts:
    """What the model says, whatever plan and card: kept on the model for a format and an engine."""

    layers: float
    routed_layers: float
    linear_layers: float
    latent_layers: float
    narrow_layers: float
    hidden: float
    mlp_width: float
    vocabulary: float
    dense_bytes: float
    table_bytes: float
    whole_bytes: float
    expert_bytes: float
    expert_share: float
    experts_chosen: float
    dense_flops: float
    expert_flops: float


def of_model(work: Workload) -> ModelFacts:
    """The numbers of `terms.Facts` that are the model's.

    Notes
    -----
    Routed experts count as such; shared experts, attention and dense layers are passed by every token. A tied
    table is read as the head is.
    """
    model = work.model
    sizes = model_bytes(model, work.precision, work.engine, work.weights_gib)
    routed = 1.0 * counted(expert_layers, model, name="expert_layers") if model.experts else 0.0
    share = model.experts_per_token / model.experts if model.experts else 0.0
    chosen = (
        share * counted(expert_parameter_count, model, name="expert_parameters") if model.experts else 0.0
    )
    products = matmul_parameters(model)
    head = sizes.head or (sizes.embedding if model.tied_embeddings else 0.0)
    return ModelFacts(
        layers=1.0 * model.layers,
        routed_layers=routed,
        linear_layers=1.0 * model.linear_attention_layers,
        latent_layers=1.0 * (model.layers - model.linear_attention_layers) if model.kv_lora_rank else 0.0,
        narrow_layers=1.0 * model.layers if work.format.quantized else 0.0,
        hidden=1.0 * model.hidden_size,
        mlp_width=mlp_width(model),
        vocabulary=1.0 * model.vocab_size,
        dense_bytes=named(sizes.layers + head, "split_bytes"),
        table_bytes=named(sizes.embedding if sizes.head else 0.0, "table_bytes"),
        whole_bytes=named(sizes.replicated, "whole_bytes"),
        expert_bytes=named(sizes.experts, "expert_bytes"),
        expert_share=share,
        experts_chosen=1.0 * model.experts_per_token,
        dense_flops=named(2.0 * max(products - chosen, 0.05 * products), "dense_token_flops"),
        expert_flops=named(2.0 * chosen, "expert_token_flops"),
    )


def setting_of(work: Workload, eager: bool = False) -> Setting:
    """What decides about the constants of a question beside the card."""
    record = serving_of(work)
    # Graphs of launches came with the releases of 2024.
    eager = eager or (
        work.software == "old" and not work.engine_version and record.old_constants != record.constants
    )
    return Setting(
        record.constants_of(work.engine_version, work.software),
        form_of(work.format),
        bool(work.model.experts),
        record.tuned,
        eager,
    )


def serving_of(work: Workload) -> Serving:
    """How the engine of a question serves.

    Errors
    ------
    LookupError for an engine that does not.
    """
    found = work.engine_record.serving
    if found is None:
        raise LookupError(f"{work.engine} does not serve")
    return found


def facts(
    work: Workload, plans: Plans, cards: GpuTable, rate: ComputeRate, load: Load, power: float = 1.0
) -> Facts:
    """The facts of a question.

    Parameters
    ----------
    work: resolved, of a decoder and an engine that serves. plans, cards, rate: broadcast against each other.
    load: its requests; lengths of one shape with plans or single. power: limit over the card's own.
    """
    model = work.model
    clock = power**c.POWER_EXPONENT if power < 1.0 else 1.0
    own = of_model(work)
    record = serving_of(work)
    prompt, output = load.prompt, load.output
    tokens, most = _limits(work, record, cards)
    fraction = operand(work, work.memory_fraction or record.share, "memory_fraction")
    middle = floats(prompt) + 0.5 * floats(output)
    mean = prompt + c.HELD_OUTPUT * floats(output)
    full = floats(prompt) + output
    span = np.maximum(plans.tensor, plans.expert)
    link, linked = _link(cards, plans.tensor)
    wide_link, wide_linked = _link(cards, span)
    width = named(attention_width(model), "attention_width")
    facts_of_prompt = 2.0 * width * attended(model, prompt)
    return Facts(
        **{f.name: getattr(own, f.name) for f in fields(ModelFacts)},
        prompt_attention_flops=facts_of_prompt,
        latent_flops=_latent_flops(model, middle),
        kv_read_bytes=_by_tensor(plans.tensor, lambda t: _read_bytes(work, middle, t)),
        kv_held_bytes=_by_tensor(plans.tensor, lambda t: _held_bytes(work, mean, t)),
        kv_full_bytes=_by_tensor(plans.tensor, lambda t: _held_bytes(work, full, t)),
        data=plans.data,
        tensor=plans.tensor,
        pipeline=plans.pipeline,
        expert=plans.expert,
        joined=np.clip(plans.expert / plans.tensor, 1.0, np.maximum(load.users, 1.0)),
        room_bytes=named((cards.usable_gib * fraction - work.used_gib) * GIB, "room_bytes"),
        step_tokens=tokens,
        most_sequences=most,
        bandwidth=cards.bandwidth_gb_s * GB * clock,
        flops=rate.tflops * TERA * clock,
        linked=linked,
        link=solved(link, "link"),
        exchange_linked=wide_linked,
        exchange_link=solved(wide_link, "exchange_link"),
    )


def _limits(work: Workload, record: Serving, cards: GpuTable) -> tuple[Number, Number]:
    """Tokens of a step and sequences admitted: as asked, else the default of the engine on each card."""
    large = np.greater_equal(cards.memory_gib, record.large_from_gib) & (cards.card_class != _AMPERE)
    tokens: Number = work.max_batched_tokens or np.where(large, *map(float, record.step_tokens))
    most: Number = work.max_num_seqs or np.where(large, *map(float, record.sequences))
    return floats(tokens), floats(most)


def _link(cards: GpuTable, members: Number) -> tuple[Floats, Floats]:
    """One-way bytes per second between the cards of a group, and whether a direct link joins them."""
    linked = np.less_equal(members, cards.link_cards) & (cards.link_gb_s > 0.0)
    inside = np.where(linked, cards.link_gb_s / LINK_EFFICIENCY, cards.pcie_gb_s * _NOMINAL)
    crossing = np.greater(members, HOST_CARDS)
    return floats(np.where(crossing, np.minimum(inside, NETWORK_GB_S), inside) * GB), floats(linked)


def _by_tensor(tensor: Number, one: Callable[[int], Number]) -> Floats:
    """A figure of each tensor degree, laid out as the plans are."""
    if np.ndim(tensor) == 0:
        return floats(one(int(tensor)))
    found = np.zeros(np.shape(tensor))
    for degree in np.unique(floats(tensor)):
        found = np.where(tensor == degree, one(int(degree)), found)
    return found


def _read_bytes(work: Workload, tokens: Number, tensor: int) -> Number:
    """Keys and values of one sequence that a step reads, windows cut."""
    return sequence_bytes(work.model, tokens, work.kv_precision or "bf16", tensor)


def _held_bytes(work: Workload, tokens: Number, tensor: int) -> Number:
    """Keys and values of one sequence as the engine lays them out."""
    return cache(work, Parallelism(tensor=tensor), 1.0, tokens).reserved


def _latent_flops(model: ModelArchitecture, context: Number) -> Number:
    """Products of one written token with the latents of its context, all heads and layers.

    Notes
    -----
    2 a (2 c + r) s a layer: scores against latent and rotary part, values from the latent.
    """
    if not model.kv_lora_rank:
        return 0.0
    width = 2.0 * model.kv_lora_rank + model.qk_rope_head_dim
    return 2.0 * model.attention_heads * width * floats(attended(model, context))
