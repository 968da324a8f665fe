"""Advice beside the list and around a purchase: memory tier, four questions, spare nodes, used cards."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

from app.core.decide.cost import per_1000_cny
from app.core.decide.fit import judge, usable_gib
from app.core.decide.remedies import fewest_changes
from app.core.estimates import Message
from app.core.gpu import Gpu
from app.core.memory import estimate
from app.core.model.architecture import architecture_from_fields
from app.core.question import Economics, SeedQuestions
from app.core.workload import Parallelism, Workload

ONE_CARD_GIB = 23.6
"""What a process can use of a card of 24 GB: the bound of its tier."""
_TIERS: tuple[tuple[float, str], ...] = (
    (7.6, "8"),
    (15.6, "12-16"),
    (ONE_CARD_GIB, "24"),
    (47.5, "48"),
    (79.2, "80"),
    (141.0, "96-141"),
)
_MODEL_SIZES = (0.5e9, 1.5e9, 3.2e9, 7.2e9, 8.0e9, 14.0e9, 32.0e9, 70.0e9, 123.0e9, 405.0e9)
LARGE_MODEL_PARAMETERS = 10e9
LONG_RUN_HOURS = 24.0
YES_FOR_DATA_CENTRE = 3
DATA_CENTRE = "data-centre"
"""Segment of the cards for which so many answers call."""


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


def calls_for_data_centre(said: Mapping[str, bool | None]) -> bool:
    """Whether the answers to the four questions call for data-centre cards."""
    return sum(1 for answer in said.values() if answer) >= YES_FOR_DATA_CENTRE


def guidance(
    questions: SeedQuestions,
    work: Workload,
    economics: Economics,
    one_card_gib: float,
    work_hours: float | None = None,
    spare_hosts: int = 0,
) -> tuple[Message, ...]:
    """Advice for a question.

    Parameters
    ----------
    questions: the four of the first seed story. work: resolved. economics: for the utilisation.
    one_card_gib: expected need on one card. work_hours: of the given work on what is best of all that pass.
    spare_hosts: whose cost is counted.

    Returns
    -------
    Messages, the memory tier first.
    """
    messages = [vram_tier(one_card_gib)]
    found = answers(questions, work, work_hours)
    yes = [name for name, answer in found.items() if answer]
    does_not_fit = one_card_gib > ONE_CARD_GIB
    if calls_for_data_centre(found):
        messages.append(Message("class_data_centre", {"yes": len(yes), "answers": yes}))
    elif does_not_fit:
        need = {"need_gib": one_card_gib, "card_gib": ONE_CARD_GIB}
        found_changes = fewest_changes(work, ONE_CARD_GIB - work.used_gib)
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
        counted = Message("sla_spare_is_counted", {"spare": spare_hosts})
        messages.append(counted if spare_hosts else Message("sla_needs_spare_node", {"nodes": 2}))
    warning = utilisation_warning(economics.utilisation)
    if warning is not None:
        messages.append(warning)
    return tuple(messages)


TABLE_CARD = "a100-pcie-40gb"
TABLE_CNY = 70_000.0
"""Card and price of the table that goes round with 0.28 TFLOPS per 1000 yuan."""


def unit_advice(work: Workload, objective: str, gpus: Sequence[Gpu]) -> tuple[Message, ...]:
    """Why FP32 TFLOPS per 1000 yuan misjudge a card, where a question invites to look at them.

    Parameters
    ----------
    work: resolved. objective: of the question. gpus: the cards asked about.
    """
    invites = work.trains or objective == "tflops_per_yuan"
    if not invites or work.format.compute.rate != "fp32_tflops":
        return ()
    found = next((gpu for gpu in gpus if gpu.id == TABLE_CARD), None)
    vector, matrix = (
        (found.rates.get(name) for name in ("fp32_tflops", "bf16_tflops")) if found else (None, None)
    )
    if found is None or not vector or not matrix:
        return ()
    params = {
        "gpu": found.name,
        "amount_cny": TABLE_CNY,
        "vector_tflops": vector,
        "matrix_tflops": matrix,
        "vector_tflops_per_1000_cny": float(per_1000_cny(vector, TABLE_CNY)),
        "matrix_tflops_per_1000_cny": float(per_1000_cny(matrix, TABLE_CNY)),
    }
    return (Message("fp32_unit_misjudges", params),)


def vram_tier(expected_gib: float) -> Message:
    """The class of card by memory that holds this need, generated from the estimate.

    Returns
    -------
    `vram_tier` with `tier` in GB (8, 12-16, 24, 48, 80, 96-141), or `vram_tier_several` with the number of
    80 GB cards.
    """
    for bound, tier in _TIERS:
        if expected_gib <= bound:
            return Message("vram_tier", {"tier": tier, "gib": expected_gib})
    return Message("vram_tier_several", {"cards": math.ceil(expected_gib / 79.2), "gib": expected_gib})


def growth(work: Workload, gpu: Gpu, plan: Parallelism | None = None) -> tuple[float | None, float | None]:
    """Largest usual model size that fits this card under the same settings, and the next that does not.

    Parameters
    ----------
    work: a question about a decoder.
    gpu: the card.
    plan: degrees of parallelism; the question's own, else one card.

    Returns
    -------
    Parameters of the largest size that fits (None: none does) and of the next one (None: all do).
    """
    best: float | None = None
    for size in _MODEL_SIZES:
        model = architecture_from_fields({"family": "decoder", "parameters": size})
        changed = replace(work, model=model, weights_gib=None, trainable_parameters=None, resolved=False)
        if judge(estimate(changed, plan), usable_gib(gpu), work.used_gib)[0] == "does_not_fit":
            return best, size
        best = size
    return best, None


WORKSTATION_CARDS = 4
"""Most cards of one desk-side machine; beyond, a server brings its own supplies."""
SLOT_CARD = "pcie"
OPEN_FANS = "open"
CPU_W = 125.0
LARGER_CPU_W = 200.0
"""Processor of a machine for one card, and for several."""


def power_advice(gpu: Gpu, count: int) -> tuple[Message, ...]:
    """Power supply, and heat where cards blow at each other, of an option that fits a workstation."""
    if not gpu.tdp_w or count > WORKSTATION_CARDS or SLOT_CARD not in gpu.form_factor.lower():
        return ()
    supply = power_supply(count, gpu.tdp_w, CPU_W if count == 1 else LARGER_CPU_W)
    open_fans = count > 1 and OPEN_FANS in gpu.cooling
    return (supply, Message("open_fans_heat")) if open_fans else (supply,)


def power_supply(cards: int, tdp_w: float, cpu_w: float = CPU_W) -> Message:
    """Power supply for a workstation.

    Parameters
    ----------
    cards: number of cards.
    tdp_w: board power of one, W.
    cpu_w: processor, W.

    Returns
    -------
    `power_supply` with `minimum_w` (what vendors ask for) and `advised_w`.

    Notes
    -----
    advised = ceil50((1.1 sum of TDP + CPU + 100) / 0.8): 350 + 125 W -> 800 W, 2 x 350 + 200 W -> 1,350 W.
    """
    load = cards * tdp_w
    exact = (load * 1.1 + cpu_w + 100.0) / 0.8
    advised = math.ceil(exact / 50.0) * 50
    minimum = math.ceil((load + cpu_w + 100.0) * 1.2 / 50.0) * 50
    if cards == 1:
        minimum = math.floor(exact / 50.0) * 50
    return Message("power_supply", {"minimum_w": min(minimum, advised), "advised_w": advised})


def used_card_checks(launch_date: str, today: date, oldest_years: float = 2.0) -> tuple[Message, ...]:
    """Checklist for a second-hand card; the age is reckoned from its launch.

    Parameters
    ----------
    launch_date: ISO date, or year and month.
    today: the day of the question.
    oldest_years: age that a buyer accepts.

    Returns
    -------
    `used_age` with `years` and `passes`, then what to check by hand.
    """
    checks = ["used_private_use", "used_box_and_invoice", "used_mining", "used_warranty", "used_stress_test"]
    messages = [Message(code) for code in checks]
    pieces = launch_date.split("-")
    if not pieces[0].isdigit():
        return (Message("used_age_unknown"), *messages)
    month = int(pieces[1]) if len(pieces) > 1 and pieces[1].isdigit() else 7
    years = today.year - int(pieces[0]) + (today.month - month) / 12.0
    params = {"years": round(years, 1), "passes": years <= oldest_years, "limit": oldest_years}
    return (Message("used_age", params), *messages)


def availability_note(sla_percent: float) -> Message | None:
    """A strict service level comes from redundancy, not from a class of card."""
    if sla_percent < 99.9:
        return None
    return Message(
        "sla_needs_redundancy", {"sla_percent": sla_percent, "nodes": 2 if sla_percent < 99.999 else 3}
    )


def utilisation_warning(utilisation: float, threshold: float = 0.30) -> Message | None:
    """Below this share of busy hours renting is to be compared."""
    if utilisation >= threshold:
        return None
    return Message("low_utilisation", {"utilisation": utilisation, "threshold": threshold})


def tensorflow_snippet(mixed: bool, cards: int) -> str:
    """Set-up of TensorFlow that the estimates assume: memory growth, mixed precision, mirrored cards.

    Notes
    -----
    Under mixed_float16 the last activation must be float32 by its own dtype; memory growth changes when
    memory is taken, never how much is needed at the peak.
    """
    lines = ["import tensorflow as tf", "", "for gpu in tf.config.list_physical_devices('GPU'):"]
    lines.append("    tf.config.experimental.set_memory_growth(gpu, True)")
    if mixed:
        lines += ["", "tf.keras.mixed_precision.set_global_policy('mixed_float16')"]
    indent = ""
    if cards > 1:
        lines += ["", "strategy = tf.distribute.MirroredStrategy()", "with strategy.scope():"]
        indent = "    "
    lines += [
        "",
        f"{indent}model = tf.keras.Sequential([",
        f"{indent}    backbone,",
        f"{indent}    tf.keras.layers.Dense(classes),",
        f"{indent}    tf.keras.layers.Activation('softmax', dtype='float32'),",
        f"{indent}])",
    ]
    return "\n".join(lines) + "\n"
