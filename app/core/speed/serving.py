"""Speed of engines that serve many requests: terms of the speed model from the model of serving."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar, cast

import numpy as np

from app.core.formulas import Formula, Reference, register
from app.core.gpu_table import ComputeRate, GpuTable
from app.core.serving import constants as c
from app.core.serving.engine import Passes, serve
from app.core.serving.facts import facts, setting_of
from app.core.serving.load import Load
from app.core.serving.rates import rates
from app.core.serving.terms import Facts, Rates
from app.core.speed.terms import Plans, Shape, Terms
from app.core.tracing import Probe, Traced, floats, given, named, operand
from app.core.units import Number
from app.core.workload import Workload

register(
    Formula(
        "speed.load",
        "Engine under a load",
        "b = min(users, held, admitted); cycle = T1 + (o - 1) step + (b - 1) S; rate = b x output / cycle; "
        "first token = T1 + wait for prompts + (users - b) cycle / b; "
        "time per token = (cycle - T1 - wait) / (o - 1)",
        "tokens/s",
        "calibrated",
        "Held: what weights, activation peak and graphs leave of the engine's share, over the KV cache of "
        "one sequence. Step: weights and caches read, products, launches per layer, all-reduces, host work "
        "per sequence. S: one prompt, which holds up the others; T1: the same by itself. Requests of one "
        "kind in a closed loop: requests per second x (first token + later ones) are the users.",
        (Reference("Published runs of vLLM, SGLang, TensorRT-LLM and ATOM in serving_runs.csv"),),
    ),
)

Arrays = TypeVar("Arrays", Facts, Rates)
SWITCHES = ("linked", "exchange_linked", "data", "tensor", "pipeline", "expert")
"""Facts that decide and are no operands, and degrees, which are operands already."""
ENDLESS = 1e9
"""Users of a load that fills the engine whatever it holds."""


def is_served(work: Workload, shape: Shape) -> bool:
    """Whether requests of a question share an engine that queues them: it writes, in such an engine."""
    return work.engine_record.serving is not None and bool(np.any(np.greater(shape.output, 0.0)))


def load_of(work: Workload, shape: Shape) -> Load:
    """The requests of a question: a closed loop of its users, one request, or as many as the engine holds."""
    users: Number = operand(work, ENDLESS, "users") if work.fills_engine else np.maximum(shape.batch, 1.0)
    if work.load == "single":
        users = 1.0
    limited = work.latency_limit_ms if work.fills_engine else None
    limit_s = shape.token_limit_s if shape.token_limit_s is not None else (limited or 0.0) / 1000.0
    return Load(
        users=named(users, "users"),
        prompt=shape.prompt,
        output=named(np.maximum(shape.output, 1.0), "output_tokens"),
        token_limit_s=limit_s,
        together=c.USUAL_TOGETHER,
    )


def serving_terms(work: Workload, shape: Shape, plans: Plans, cards: GpuTable, rate: ComputeRate) -> Terms:
    """Output tokens per second of an engine under its load, with the times of one request.

    Parameters
    ----------
    work: resolved, of a decoder. shape: users over all cards, tokens held, tokens written.
    plans, cards, rate: broadcast against each other.

    Returns
    -------
    Terms of one cycle, in which each running sequence is written once: `prefill_s` its prompt with those of
    others that hold it up, `decode_s` its own steps. `first_own_s` is what passes from its seat to its first
    token, `queue_s` the wait for a seat.
    """
    load = load_of(work, shape)
    known = _traced(work, facts(work, plans, cards, rate, load), "")
    share = _traced(work, rates(setting_of(work), cards, rate), "serving_")
    found = serve(known, share, load)
    steps = named(np.maximum(load.output - 1.0, 0.0), "steps")
    decode_s = named(steps * found.step_s, "decode_s")
    prompts_s = named(found.prompt_s + steps * found.stall_s, "prompts_s")
    cycle_s = named(prompts_s + decode_s, "cycle_s")
    used = np.where(np.greater(load.users, plans.data), plans.data, np.maximum(load.users, 1.0))
    total = named(floats(found.running * used), "sequences")
    single = work.load == "single"
    seconds = np.where(np.greater(load.output, 1.0) & single, load.output * found.step_s, cycle_s)
    seconds = seconds if not single else named(floats(load.output * found.step_s), "decode_s")
    queue = 0.0 * found.queue_s if work.fills_engine else found.queue_s
    own = named(floats(found.first_own_s), "first_own_s")
    passes = Passes(known, share, load)
    bulk = np.maximum(known.step_tokens / passes.tokens, 1.0)
    prefill = load.prompt * bulk / passes.stage_s(bulk * passes.tokens) * plans.data
    products = found.products_s > found.memory_s
    zero = np.zeros_like(seconds)
    flops = known.dense_flops + known.expert_flops
    read_flops = 0.0 if single else (flops + known.prompt_attention_flops) * load.prompt
    multiplied = np.where(products, steps * found.products_s, 0.0) + (0.0 if single else prompts_s)
    return Terms(
        kind="decode_moe" if work.model.experts and work.load != "saturated" else _kind(work),
        phase="decode" if single else "saturated" if work.load == "saturated" else "whole_run",
        unit="tokens_per_s",
        units_per_step=total * load.output,
        flops_per_unit=flops + read_flops / load.output,
        seconds=seconds,
        parts={
            "compute": zero + multiplied,
            "bandwidth": zero + np.where(products, 0.0, steps * found.memory_s),
            "communication": zero + steps * found.link_s,
            "launch": zero + steps * found.launch_s,
        },
        detail={
            "prefill": zero + prefill,
            "decode": zero + total / found.step_s,
            "whole_run": zero + total * load.output / cycle_s,
            "prefill_s": zero + prompts_s,
            "decode_s": zero + decode_s,
            "first_own_s": zero + own,
            "queue_s": zero + queue,
            "time_to_first_token_s": zero + own + queue,
            "time_per_output_token_s": zero + found.token_s,
            "concurrent_sequences": zero + total,
        },
    )


def _kind(work: Workload) -> str:
    return "serving" if work.load == "saturated" else "decode"


def _traced(work: object, found: Arrays, prefix: str) -> Arrays:
    """In a traced run every number that is not traced yet is an operand of its own."""
    if not isinstance(work, Probe):
        return found
    values = {f.name: getattr(found, f.name) for f in fields(cast(Any, found))}
    changed = {
        name: given(float(value), prefix + name)
        for name, value in values.items()
        if not isinstance(value, Traced) and name not in SWITCHES and float(value) not in (0.0, 1.0)
    }
    return cast(Arrays, replace(cast(Any, found), **changed))
