"""Advice beside the list: memory tier, the four questions, redundancy, low utilisation."""

from __future__ import annotations

from app.core.decide.advice import fewest_changes, utilisation_warning, vram_tier
from app.core.estimates import Message
from app.core.question import Economics, SeedQuestions
from app.core.workload import Workload

LARGE_MODEL_PARAMETERS = 10e9
LONG_RUN_HOURS = 24.0
YES_FOR_DATA_CENTRE = 3
USABLE_SHARE = 0.97
"""Share of the nameplate that a process can use, over the common cards."""
ONE_CARD_GIB = 24.0


def answers(questions: SeedQuestions, work: Workload, work_hours: float | None) -> dict[str, bool | None]:
    """The four questions, answered from the workload where the user did not."""
    large: bool | None = questions.parameters_over_10b
    if large is None:
        large = work.model.parameters > LARGE_MODEL_PARAMETERS
    long_run = questions.run_over_24h
    if long_run is None and work.trains and work_hours is not None:
        long_run = work_hours > LONG_RUN_HOURS
    return {
        "parameters_over_10b": large,
        "run_over_24h": long_run,
        "tenants": questions.tenants,
        "strict_sla": questions.strict_sla,
    }


def guidance(
    questions: SeedQuestions,
    work: Workload,
    economics: Economics,
    one_card_gib: float,
    work_hours: float | None = None,
) -> tuple[Message, ...]:
    """Advice for a question.

    Parameters
    ----------
    questions: the four of the first seed story. work: resolved. economics: for the utilisation.
    one_card_gib: expected need on one card. work_hours: of the given work on the first option.

    Returns
    -------
    Messages, the memory tier first.
    """
    messages = [vram_tier(one_card_gib)]
    found = answers(questions, work, work_hours)
    yes = [name for name, answer in found.items() if answer]
    does_not_fit = one_card_gib > ONE_CARD_GIB * USABLE_SHARE
    if len(yes) >= YES_FOR_DATA_CENTRE:
        messages.append(Message("class_data_centre", {"yes": len(yes), "answers": yes}))
    elif does_not_fit:
        need = {"need_gib": one_card_gib, "card_gib": ONE_CARD_GIB}
        found_changes = fewest_changes(work, ONE_CARD_GIB * USABLE_SHARE - work.used_gib)
        if found_changes is None:
            messages.append(Message("class_multi_gpu_or_data_centre", need))
        else:
            codes, after_gib = found_changes
            done = {"changes": [Message(f"remedy_{code}") for code in codes], "after_gib": after_gib}
            messages.append(Message("class_single_card_after_changes", need | done))
    else:
        messages.append(Message("class_single_card", {"yes": len(yes), "need_gib": one_card_gib}))
    if found["tenants"]:
        messages.append(Message("tenants_need_partitions", {}))
    if found["strict_sla"]:
        messages.append(Message("sla_needs_spare_node", {"nodes": 2}))
    warning = utilisation_warning(economics.utilisation)
    if warning is not None:
        messages.append(warning)
    return tuple(messages)
