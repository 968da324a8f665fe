"""Equations of one replica: what it holds, one step, one pass over prompts, and the loop that they make.

Arrays over cards and plans, rows of measurements, or single numbers: the same functions.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from app.core.gpu_table import Floats
from app.core.serving import constants as c
from app.core.serving.load import Load
from app.core.serving.terms import Budget, Facts, Rates, Served
from app.core.tracing import Traced, floats, named, operand, picked, solved
from app.core.units import GIB, MIB, Number

REQUEST_BYTES = 2.0
"""Of one activation that is sent between cards."""
ROUNDS = 3
"""Of the fixed point between prompts in a pass and rate; it settles to 1 % within two."""
LIMIT_SEARCH = 12
"""Halvings in the search for the sequences that keep a time per token."""
SEARCH = 24
"""Halvings in the search for the sequences that a rate of arrivals keeps under way."""


class Step(NamedTuple):
    """One decode step by cause, seconds."""

    total: Floats
    memory: Floats
    products: Floats
    launch: Floats
    link: Floats


def soft_maximum(one: Number, other: Number, order: float) -> Floats:
    """Two times of which the longer counts most: (a^p + b^p)^(1/p)."""
    order = operand(one if isinstance(one, Traced) else other, order)
    return floats((floats(one) ** order + floats(other) ** order) ** (1.0 / order))


def budget(f: Facts, r: Rates, load: Load) -> Budget:
    """Memory of the fullest card and the sequences that it holds.

    Returns
    -------
    Bytes per card; tokens and sequences of a replica.

    Notes
    -----
    cache = share x memory - [(dense + table) / t + whole + experts / max(t, e)] / p - C (8 h + 6 mlp / t)
    - logits x V - 0.45 GiB - 0.5 GiB where t > 1 - 12 MiB L / p. Tokens = p cache / KV of one token. The
    profiled peak of towers and of speculative drafts is not in it.

    References
    ----------
    [1] Start-up logs of vLLM, `GPU KV cache size`; reference of `memory.engine_vllm`, read 2026-11-30.
    """
    spread = np.maximum(f.tensor, f.expert)
    weights = (f.dense_bytes + f.table_bytes) / f.tensor + f.whole_bytes + f.expert_bytes / spread
    weights = named(floats(weights / f.pipeline), "loaded_bytes")
    peak = f.step_tokens * (r.activation_hidden * f.hidden + f.mlp_width / f.tensor * c.ACTIVATION_MLP)
    peak = picked(np.greater(r.activation_hidden, 0.0), peak, 0.0) + r.activation_logits * f.vocabulary
    graphs = f.layers / f.pipeline * c.GRAPH_LAYER_MIB * MIB
    fixed = c.FIXED_GIB + picked(np.greater(f.tensor, 1.0), c.COLLECTIVE_GIB, 0.0)
    profiled = named(
        floats(peak + graphs + operand(f.layers, cast(float, fixed), "fixed_gib") * GIB), "profiled_bytes"
    )
    cache = named(floats(f.room_bytes - weights - profiled), "cache_bytes")
    stages = np.maximum(cache, 0.0) * f.pipeline
    whole = floats(stages / np.maximum(f.kv_full_bytes, 1.0))
    held = floats(stages / np.maximum(f.kv_held_bytes, 1.0))
    return Budget(weights, profiled, cache, whole * (floats(load.prompt) + load.output), whole, held)


def latency_s(f: Facts, r: Rates) -> Floats:
    """Wait of one all-reduce of a tensor group, before its bytes; 0 for one card."""
    base = np.where(f.linked, r.link_latency_s, r.pcie_latency_s)
    growth = 1.0 + c.REDUCE_GROWTH * np.log2(np.maximum(f.tensor, 2.0) / 2.0)
    return floats(np.where(np.greater(f.tensor, 1.0), base * growth, 0.0))


def exchange_s(f: Facts, r: Rates, tokens: Number) -> Floats:
    """Tokens to their experts and back where experts are spread over replicas, one pass over all layers.

    Notes
    -----
    Inside a tensor group whole experts move the same bytes by the same all-reduce: nothing is added.
    """
    wide = np.greater(f.expert, f.tensor)
    share = np.where(f.exchange_linked, r.link_share, r.pcie_share)
    wait = np.where(f.exchange_linked, r.link_latency_s, r.pcie_latency_s)
    wait = wait * (1.0 + c.REDUCE_GROWTH * np.log2(np.maximum(f.expert, 2.0) / 2.0))
    sent = tokens * np.maximum(f.experts_chosen, 1.0) * f.hidden * REQUEST_BYTES / f.tensor
    once = wait + sent * (f.expert - 1.0) / f.expert / (f.exchange_link * share)
    return floats(np.where(wide, 2.0 * f.routed_layers / f.pipeline * once, 0.0))


def reduce_s(f: Facts, r: Rates, tokens: Number) -> Floats:
    """Bytes of all all-reduces of one pass of a stage, without their waits."""
    share = np.where(f.linked, r.link_share, r.pcie_share)
    sent = tokens * 2.0 * f.layers * f.hidden * REQUEST_BYTES * (f.tensor - 1.0) / f.tensor
    return floats(sent / (f.link * share) / f.pipeline)


def touched(f: Facts, tokens: Number) -> Floats:
    """Share of the routed experts that a pass over so many tokens reads."""
    rest = (1.0 - f.expert_share) ** floats(tokens) ** c.EXPERTS_EXPONENT
    return floats(np.where(np.greater(f.expert_share, 0.0), 1.0 - rest, 0.0))


def read_s(f: Facts, r: Rates, tokens: Number) -> Floats:
    """Weights that one stage reads for a pass over so many tokens."""
    spread = np.maximum(f.tensor, f.expert)
    experts = touched(f, tokens * f.joined) * f.expert_bytes / spread
    read = f.dense_bytes / f.tensor + f.whole_bytes + experts
    return named(floats(read / (f.pipeline * f.bandwidth * r.bandwidth)), "weights_s")


def step(f: Facts, r: Rates, running: Number, load: Load) -> Step:
    """One token of each of the sequences that run, through all stages of a replica.

    Notes
    -----
    m = running / p sequences in a stage: memory = weights read + m KV, products = m FLOPs / peak shares,
    soft maximum of both, + launches of the layers, + all-reduces; x p stages of uneven length; + host work
    of the step and of each sequence.
    """
    together = running / f.pipeline
    passed = together * (1.0 + load.drafted)
    kv_s = f.kv_read_bytes / (f.pipeline * f.bandwidth * r.bandwidth * r.kv)
    memory = named(floats(read_s(f, r, passed) + together * kv_s), "traffic_s")
    dense = f.dense_flops / r.compute
    # Small groups of tokens fill the products of an expert badly.
    group = passed * f.joined * np.where(np.greater(f.expert_share, 0.0), f.expert_share, 1.0)
    routed = f.expert_flops * (1.0 + c.EXPERT_GROUP / group) / r.experts
    products = passed * (dense + f.latent_flops / r.compute) + np.where(
        np.greater(f.expert_share, 0.0), passed * routed, 0.0
    )
    products = named(floats(products / (f.flops * f.tensor * f.pipeline)), "products_s")
    launch = launch_s(f, r)
    waits = latency_s(f, r) * 2.0 * f.layers / f.pipeline
    link = np.where(np.greater(f.tensor, 1.0), waits + reduce_s(f, r, passed), 0.0)
    link = named(floats(link + exchange_s(f, r, passed)), "link_s")
    stages = f.pipeline * c.STAGE_LOSS ** np.log2(floats(f.pipeline))
    host = r.step_s + running * r.sequence_s
    busy = named(soft_maximum(memory, products, c.STEP_ORDER), "busy_s")
    total = named(floats((busy + launch + link) * stages + host), "step_s")
    return Step(floats(total), memory * stages, products * stages, launch * stages + host, link * stages)


def launch_s(f: Facts, r: Rates) -> Floats:
    """Launches of one stage in a decode step."""
    total = (
        f.layers * r.layer_s
        + f.routed_layers * r.routed_s
        + f.latent_layers * r.latent_s
        + f.narrow_layers * r.narrow_s
        + f.linear_layers * r.linear_s
    )
    return named(floats(total / f.pipeline), "launch_s")


class Passes:
    """Passes over prompts: their floor of launches, and what their tokens take."""

    def __init__(self, f: Facts, r: Rates, load: Load) -> None:
        """What all passes of a question share; lengths without what the prefix cache holds."""
        self.f, self.r = f, r
        self.tokens = np.maximum(np.multiply(load.prompt, 1.0 - floats(load.cached)), 1.0)
        floor = (
            f.layers * r.floor_layer_s
            + f.routed_layers * r.floor_routed_s
            + f.linear_layers * r.floor_linear_s
        )
        floor = floor + np.where(np.greater(f.tensor, 1.0), 2.0 * f.layers * latency_s(f, r), 0.0)
        self.floor_s = named(floats(floor), "floor_s")
        flops = (f.dense_flops + f.prompt_attention_flops) / r.compute + f.expert_flops / np.maximum(
            r.experts, r.compute * c.EXPERT_PROMPT
        )
        token_s = flops / (f.flops * f.tensor * c.PROMPT_SHARE)
        sent_s = np.where(np.greater(f.tensor, 1.0), reduce_s(f, r, 1.0) * f.pipeline, 0.0)
        self.token_s = named(floats(token_s + sent_s), "prompt_token_s")

    def one_s(self, tokens: Number) -> Floats:
        """One pass through all stages over so many tokens, at most those of a step."""
        weights = read_s(self.f, self.r, tokens) * self.f.pipeline
        return named(soft_maximum(self.floor_s, tokens * self.token_s + weights, c.PASS_ORDER), "pass_s")

    def stage_s(self, tokens: Number) -> Floats:
        """Time that a stage is busy with so many tokens, in as many passes as they take."""
        passes = np.maximum(tokens / self.f.step_tokens, 1.0)
        return floats(passes * self.one_s(tokens / passes) / self.f.pipeline)

    def alone_s(self) -> Floats:
        """One prompt until its first token: stages overlap after the first pass."""
        passes = np.maximum(self.tokens / self.f.step_tokens, 1.0)
        one = self.one_s(self.tokens / passes)
        whole = one * (1.0 + (passes - 1.0) / self.f.pipeline) + c.REQUEST_S
        return named(floats(whole), "prompt_s")


class Loop(NamedTuple):
    """One request from its seat to its end, with `running` sequences in the replica."""

    step: Step
    cycle_s: Floats
    first_s: Floats
    """One prompt by itself."""
    held_up_s: Floats
    """Prompts of others within the cycle."""
    prompts_s: Floats
    """Wait for prompts of others before the first token."""


def loop(f: Facts, r: Rates, running: Number, load: Load, passes: Passes, burst: Number) -> Loop:
    """The cycle of one request beside others, each of which holds it up by its prompt.

    Parameters
    ----------
    running: sequences in the replica. burst: share of requests that arrive together with others.

    Notes
    -----
    cycle = T1 + (o - 1) step + (b - 1) S, S = pass(g i) / g x stall, g the prompts that one pass takes: those
    that arrive while it runs, or in waves of equal lengths as many as fit. Before the first token: half of
    all others where they arrive together, else the queue of a server that prompts keep busy to rho.
    """
    one = step(f, r, running, load)
    first = passes.alone_s()
    others = np.maximum(floats(running) - 1.0, 0.0)
    steps = np.maximum(load.output - 1.0, 0.0) / load.accepted
    seats = np.maximum(floats(running), 1.0)
    most = np.maximum(np.minimum(f.step_tokens / passes.tokens, seats), 1.0)
    full = passes.stage_s(most * passes.tokens) / most
    group = np.where(np.greater(load.equal, 0.0), most, 1.0)
    written = first + steps * one.total
    held_up = others * full * r.stall
    for _ in range(ROUNDS):
        busy = passes.stage_s(group * passes.tokens)
        held_up = others * busy / group * r.stall
        rate = running / (written + held_up)
        arriving = np.minimum(1.0 + rate * busy, most)
        group = solved(np.where(np.greater(load.equal, 0.0), most, arriving), "prompts_in_pass")
    held_up = named(floats(held_up), "held_up_s")
    cycle = named(floats(written + held_up), "cycle_s")
    busy = held_up / cycle
    queue = busy / np.maximum(1.0 - busy, 1e-6) * held_up / np.maximum(others, 1.0) * c.QUEUE_SHARE
    queue = queue + c.STEP_WAIT * one.total * others / np.maximum(floats(running), 1.0)
    queue = np.minimum(queue, held_up + 0.5 * steps * one.total)
    share = operand(one.total, cast(float, burst), "arrive_together")
    waves = 0.5 * others * np.minimum(full, held_up / np.maximum(others, 1.0))
    return Loop(one, floats(cycle), first, floats(held_up), floats(share * waves + (1.0 - share) * queue))


def serve(f: Facts, r: Rates, load: Load) -> Served:
    """Time per output token, first token with its queue, and total of a load; consistent by Little's law.

    Parameters
    ----------
    f, r: of the question on its cards and plans. load: its requests.

    Returns
    -------
    Over the broadcast shape; NaN where a figure of the card is unknown.

    Notes
    -----
    b = min(users / d, held, admitted), X = b / cycle, first token = T1 + wait for prompts + Q / X,
    time per token = (cycle - T1 - wait) / (o - 1): users = X (first + (o - 1) token). At a rate: b such that
    b = rate x cycle(b); above what can be served the queue grows with the run.

    Valid for one kind of request at a time, no preemption, replicas that share requests evenly.
    """
    memory = budget(f, r, load)
    seats = np.maximum(np.minimum(memory.held * c.HELD_SHARE, f.most_sequences), 1.0)
    passes = Passes(f, r, load)
    if np.any(np.greater(load.token_limit_s, 0.0)):
        seats = solved(_in_time(f, r, load, passes, seats), "sequences_in_limit")
    open_loop = np.greater(load.rate_s, 0.0)
    users = np.maximum(np.divide(load.users, f.data), 1.0)
    used = np.where(open_loop, f.data, np.minimum(f.data, np.maximum(load.users, 1.0)))
    # A load that never ends has no start and no end.
    endless = bool(np.all(np.isinf(load.requests)))
    requests = 1.0 if endless else np.divide(load.requests, used)
    limit = np.where(open_loop, 0.0, users)
    running = np.minimum(limit, seats)
    started = 0.0 if endless else np.minimum(np.divide(users, np.maximum(requests, 1.0)), 1.0)
    burst = floats(started)
    burst = np.where(np.greater(load.equal, 0.0), np.maximum(burst, np.minimum(r.together, 1.0)), burst)
    burst = np.maximum(burst, load.together)
    burst = np.where(open_loop | (running <= 1.0), 0.0, burst)
    if np.any(open_loop):
        running = np.where(open_loop, _kept_under_way(f, r, load, passes, seats, used), running)
    found = loop(f, r, running, load, passes, burst)
    capacity_s = running / found.cycle_s
    arrive = np.divide(load.rate_s, used)
    requests_s = np.where(open_loop, np.minimum(arrive, capacity_s), capacity_s)
    waiting = np.where(open_loop, 0.0, np.maximum(users - running, 0.0))
    queue = (started * waiting / (2.0 * users) + (1.0 - started)) * waiting / requests_s
    over = open_loop & (arrive > capacity_s * c.CAPACITY_MARGIN) & (running >= seats * c.CAPACITY_MARGIN)
    gap = np.maximum(1.0 / capacity_s - 1.0 / np.where(open_loop, arrive, 1.0), 0.0)
    queue = np.where(open_loop & (running >= seats), 0.5 * np.minimum(requests, 1e6) * gap, queue)
    first = found.first_s + found.prompts_s
    token = (found.cycle_s - first) / np.maximum(load.output - 1.0, 1.0)
    loss = np.where(np.greater(load.equal, 0.0), c.END_EQUAL, c.END_RANDOM) * (running - 1.0) / requests
    loss = np.where(open_loop | endless, 0.0, loss * load.run_end)
    total_s = used * requests_s / (1.0 + loss)
    return Served(
        budget=memory,
        running=floats(running),
        waiting=floats(waiting),
        step_s=found.step.total,
        first_token_s=floats(first + queue),
        first_own_s=floats(first),
        token_s=floats(token),
        tokens_per_s=floats(total_s * load.output),
        requests_per_s=floats(total_s),
        at_limit=floats(over),
        prompt_s=found.first_s,
        queue_s=floats(queue),
        memory_s=found.step.memory,
        products_s=found.step.products,
        launch_s=found.step.launch,
        link_s=found.step.link,
        stall_s=floats(found.held_up_s / np.maximum(load.output - 1.0, 1.0)),
    )


def _in_time(f: Facts, r: Rates, load: Load, passes: Passes, seats: Number) -> Floats:
    """Sequences up to `seats` whose tokens keep the limit of the load; 1 where not even one does."""
    low, high = np.ones_like(floats(seats)), floats(seats)
    limit = floats(load.token_limit_s)
    for _ in range(LIMIT_SEARCH):
        # The time grows by factors: half of them, not of their difference.
        middle = np.sqrt(low * high)
        found = loop(f, r, middle, load, passes, 0.0)
        token = (found.cycle_s - found.first_s - found.prompts_s) / np.maximum(load.output - 1.0, 1.0)
        low, high = np.where(token <= limit, middle, low), np.where(token <= limit, high, middle)
    return np.maximum(np.floor(low), 1.0)


def _kept_under_way(f: Facts, r: Rates, load: Load, passes: Passes, seats: Number, used: Number) -> Floats:
    """Sequences that a rate of arrivals keeps under way in a replica: b = rate x cycle(b), at most seats."""
    arrive = np.divide(load.rate_s, used)
    low, high = np.zeros_like(floats(seats * arrive)), floats(seats + 0.0 * arrive)
    for _ in range(SEARCH):
        middle = 0.5 * (low + high)
        cycle = loop(f, r, np.maximum(middle, 1.0), load, passes, 0.0).cycle_s
        # More come than b sequences finish: more are under way.
        more = arrive * cycle > middle
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return np.maximum(high, 1.0)
