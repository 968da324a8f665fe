"""The numbers that the equations of serving take and give. All of them broadcast against each other."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.units import Number


@dataclass(frozen=True)
class Facts:
    """What is known of model, engine, plan and card, without a calibrated constant.

    Bytes and FLOPs are those of the whole model; the plan divides them.
    """

    layers: Number
    routed_layers: Number
    linear_layers: Number
    """Layers with linear attention."""
    latent_layers: Number
    """Layers with latent attention."""
    narrow_layers: Number
    """Layers whose weights are quantized."""
    hidden: Number
    mlp_width: Number
    vocabulary: Number
    dense_bytes: Number
    """Weights that every step reads and tensor parallelism divides."""
    table_bytes: Number
    """Input table, which is held and hardly read."""
    whole_bytes: Number
    """Weights that every tensor rank holds whole."""
    expert_bytes: Number
    expert_share: Number
    """Routed experts that one token chooses, over all of a layer; 0 without experts."""
    experts_chosen: Number
    dense_flops: Number
    """Of one token outside routed experts."""
    expert_flops: Number
    prompt_attention_flops: Number
    """Of one token of the prompt, at the middle of its length."""
    latent_flops: Number
    """Of one written token in latent attention."""
    kv_read_bytes: Number
    """Keys and values that one written token reads, on one tensor rank, all layers."""
    kv_held_bytes: Number
    """Held by one sequence at its mean length, on one tensor rank, all layers."""
    kv_full_bytes: Number
    """Held by one sequence at its full length."""
    data: Number
    tensor: Number
    pipeline: Number
    expert: Number
    """Cards over which whole experts are spread; those beyond the tensor group join replicas."""
    joined: Number
    """Replicas whose tokens meet in the experts; 1 where each has its own."""
    room_bytes: Number
    """Memory that the engine takes of one card."""
    step_tokens: Number
    """Tokens that one step may hold."""
    most_sequences: Number
    """Sequences that one replica admits."""
    bandwidth: Number
    """Bytes per second of one card as its maker prints it."""
    flops: Number
    """Per second, of the type of the products."""
    linked: Number
    """Whether a direct link joins the tensor group."""
    link: Number
    """One-way bytes per second between the cards of that group, nominal."""
    exchange_linked: Number
    """The same of the cards over which experts are spread."""
    exchange_link: Number


@dataclass(frozen=True)
class Rates:
    """What measurement and assumption say of a question and a card, each a product of constants."""

    bandwidth: Number
    """Share of the bandwidth that reading weights reaches."""
    kv: Number
    """Share of it that reading keys and values reaches."""
    compute: Number
    """Share of peak in decode steps."""
    experts: Number
    """Share of peak of the routed experts."""
    layer_s: Number
    routed_s: Number
    latent_s: Number
    narrow_s: Number
    linear_s: Number
    step_s: Number
    """Host work of a step."""
    sequence_s: Number
    """Host work of one sequence in a step."""
    link_latency_s: Number
    pcie_latency_s: Number
    """One all-reduce of two cards, before its bytes."""
    link_share: Number
    pcie_share: Number
    """Share of the one-way rate that an all-reduce reaches."""
    floor_layer_s: Number
    floor_routed_s: Number
    floor_linear_s: Number
    """Launches of one pass over a prompt, which no graph replays."""
    stall: Number
    """Time by which one prompt holds up the others, over that of its pass."""
    activation_hidden: Number
    """Bytes of the profiled activation peak by token and width."""
    activation_logits: Number
    """Bytes of logits held by vocabulary entry."""
    together: Number
    """Share of requests of equal length that arrive with others, in a loop that never ends."""


@dataclass(frozen=True)
class Budget:
    """The memory of one card as the start-up log of an engine prints it."""

    weights_bytes: Number
    profiled_bytes: Number
    """Activation peak, logits, graphs, buffers of the collective library, what lies outside."""
    cache_bytes: Number
    """Left for keys and values; negative where the engine does not start."""
    cache_tokens: Number
    """`GPU KV cache size`: tokens of sequences of full length, over all stages of a replica."""
    concurrency: Number
    """`Maximum concurrency`: sequences of full length."""
    held: Number
    """Sequences held at their mean length."""


@dataclass(frozen=True)
class Served:
    """What the requests of a load meet."""

    budget: Budget
    running: Number
    """Sequences under way in one replica."""
    waiting: Number
    """Requests that wait for a seat, in one replica."""
    step_s: Number
    """One decode step of the sequences that run, without prompts."""
    first_token_s: Number
    first_own_s: Number
    """From its seat to its first token, part of `first_token_s`."""
    token_s: Number
    """Time per output token, with the prompts of others that it waits for."""
    tokens_per_s: Number
    """Written over all replicas in use."""
    requests_per_s: Number
    at_limit: Number
    """Whether requests arrive faster than, or within the margin of, what can be served."""
    prompt_s: Number
    """One prompt by itself, until its first token."""
    queue_s: Number
    """Wait for a seat, part of `first_token_s`."""
    memory_s: Number
    products_s: Number
    launch_s: Number
    link_s: Number
    """Parts of a step."""
    stall_s: Number
    """Prompts of others within one token."""
