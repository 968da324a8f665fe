"""Parallel plans: how a number of cards can share one model, and which of these are legal."""

from __future__ import annotations

from app.core.faults import FieldError, InputFault
from app.core.formulas import Formula, Reference, register
from app.core.workload import Parallelism, Workload

SHARDED_FAMILIES = ("decoder",)
"""Families whose layers may be split over cards; the others are copied to each card."""
CARDS_PER_HOST = 8

register(
    Formula(
        "plan.degrees",
        "Parallel plan",
        "data x tensor x pipeline = cards; tensor divides attention heads and stays inside a host; "
        "pipeline <= layers; KV heads are copied when tensor > KV heads",
        "cards",
        "exact",
        "Homogeneous cards. ZeRO 2 and 3 are not combined with a pipeline.",
        (
            Reference(
                "vLLM issue 5003: attention heads must be divisible by the tensor parallel size",
                "https://github.com/vllm-project/vllm/issues/5003",
            ),
            Reference(
                "DeepSpeed: ZeRO-2/3 and pipeline parallelism are not combined", "https://www.deepspeed.ai"
            ),
        ),
    )
)


def legal_plans(
    work: Workload, count: int, max_cards_per_host: int = CARDS_PER_HOST
) -> tuple[Parallelism, ...]:
    """List the plans in which `count` cards can run the question.

    Parameters
    ----------
    work: a resolved workload.
    count: number of cards.
    max_cards_per_host: cards that share one host; a tensor-parallel group does not leave it.

    Returns
    -------
    Plans in a fixed order: most replicas first, lowest ZeRO stage first.

    Errors
    ------
    InputFault when the workload names a plan that does not occupy `count` cards or is not legal.
    """
    if work.parallelism is not None:
        check_plan(work, work.parallelism, count)
        return (work.parallelism,)
    plans = []
    for tensor, pipeline in _splits(work, count, max_cards_per_host):
        data = count // (tensor * pipeline)
        for expert in _expert_degrees(work, data, tensor):
            for stage in _zero_stages(work, data, pipeline):
                plans.append(Parallelism(data, tensor, pipeline, expert, stage))
    return tuple(plans)


def check_plan(work: Workload, plan: Parallelism, count: int | None = None) -> None:
    """Refuse a plan that the user named and that cannot run.

    Errors
    ------
    InputFault at `/workload/parallelism` with code `plan_does_not_match_count`,
    `tensor_does_not_divide_heads`, `pipeline_exceeds_layers` or `expert_exceeds_experts`.
    """
    errors = []
    pointer = "/workload/parallelism"
    if count is not None and plan.cards != count:
        params = {"cards": plan.cards, "count": count}
        errors.append(FieldError(pointer, "plan_does_not_match_count", params))
    heads = work.model.attention_heads
    if plan.tensor > 1 and heads and heads % plan.tensor:
        params = {"tensor": plan.tensor, "heads": heads}
        errors.append(FieldError(f"{pointer}/tensor", "tensor_does_not_divide_heads", params))
    layers = work.model.layers
    if layers and plan.pipeline > layers:
        params = {"pipeline": plan.pipeline, "layers": layers}
        errors.append(FieldError(f"{pointer}/pipeline", "pipeline_exceeds_layers", params))
    experts = work.model.experts
    if plan.expert > max(experts, 1):
        params = {"expert": plan.expert, "experts": experts}
        errors.append(FieldError(f"{pointer}/expert", "expert_exceeds_experts", params))
    if errors:
        raise InputFault(errors)


def counts_to_try(work: Workload, counts: tuple[int, ...]) -> tuple[int, ...]:
    """Counts that a named plan allows; all of them when none is named."""
    ordered = tuple(sorted(set(counts)))
    plan = work.parallelism
    if plan is None:
        return ordered
    if plan.cards not in ordered:
        raise InputFault.at(
            "/workload/parallelism", "plan_does_not_match_count", cards=plan.cards, counts=list(ordered)
        )
    return (plan.cards,)


def _splits(work: Workload, count: int, host: int) -> list[tuple[int, int]]:
    """(tensor, pipeline) pairs that divide `count`."""
    model = work.model
    allowed = work.engine_record.plans
    if model.family not in SHARDED_FAMILIES:
        return [(1, 1)]
    splits = []
    for tensor in _divisors(count):
        if tensor > 1 and not (allowed.tensor and tensor <= host and model.attention_heads % tensor == 0):
            continue
        for pipeline in _divisors(count // tensor):
            if pipeline == 1 or (allowed.pipeline and pipeline <= model.layers):
                splits.append((tensor, pipeline))
    return splits


def _expert_degrees(work: Workload, data: int, tensor: int) -> tuple[int, ...]:
    # Tensor parallelism alone already splits each expert; spreading whole experts pays across replicas.
    spread = data * tensor
    experts = work.model.experts
    if experts and data > 1 and not work.trains and experts % spread == 0:
        return (1, spread)
    return (1,)


def _zero_stages(work: Workload, data: int, pipeline: int) -> tuple[int, ...]:
    if not work.trains or data == 1 or not work.engine_record.plans.zero:
        return (0,)
    if work.task == "qlora":
        return (0, 3) if pipeline == 1 else (0,)
    return (0, 1, 2, 3) if pipeline == 1 else (0, 1)


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]
