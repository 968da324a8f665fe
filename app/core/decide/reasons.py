"""Why an option stands where it does, what to mind about it or the question, why a card is not listed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.core.decide.grid import blocked_precision
from app.core.decide.options import Fit, Rejected, Remedy
from app.core.engines import AUTO, engine
from app.core.estimates import Message
from app.core.formats import advised_for
from app.core.gpu import Gpu, PriceChoice
from app.core.gpu_table import GpuTable, compute_rate
from app.core.question import ShortlistQuestion
from app.core.workload import Workload

OBJECTIVE_PARAMETER = {
    "total_cost": "total_cny",
    "purchase": "purchase_cny",
    "tflops_per_yuan": "tflops_per_1000_cny",
    "speed": "speed",
    "power": "power_w",
}
"""Name under which the value of an objective stands in the parameters of its reason."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What reasons are made of."""

    rank: int
    label: str
    value: float
    """Under the objective, in its own unit and sign."""
    total_cny: float
    speed: float
    speed_unit: str
    on_front: bool
    margin_gib: float
    power_w: float


def option_label(count: int, name: str, condition: str) -> str:
    """How sentences name an option: 2 × GeForce RTX 4090 (used)."""
    return f"{count} × {name} ({condition})"


def reasons(
    objective: str, own: Standing, first: Standing, runner_up: Standing | None
) -> tuple[Message, ...]:
    """One sentence on the place, one on what the option has over the first, one on the front.

    Parameters
    ----------
    objective: of the ranking. own, first, runner_up: the option, the first and the second of the list.

    Returns
    -------
    Messages `first_by_<objective>` or `behind_first_by_<objective>`, among equal values
    `first_of_equals_by_<what decides>` or `behind_equal_by_<what decides>`, then `faster_than_first`,
    `slower_than_first`, `on_pareto_front`.
    """
    named: dict[str, Any] = {OBJECTIVE_PARAMETER[objective]: abs(own.value), "speed_unit": own.speed_unit}
    if own.rank == 1:
        if runner_up is None:
            return (Message(f"only_one_by_{objective}", named),)
        named |= {"next": runner_up.label, "lead_percent": _percent(runner_up.value, own.value)}
        equal = _decided_by(own, runner_up)
        if equal is None:
            messages = [Message(f"first_by_{objective}", named)]
        else:
            messages = [Message(f"first_of_equals_by_{equal[0]}", named | equal[1])]
    else:
        named |= {"first": first.label, "behind_percent": _percent(own.value, first.value)}
        equal = _decided_by(own, first)
        if equal is None:
            messages = [Message(f"behind_first_by_{objective}", named)]
        else:
            messages = [Message(f"behind_equal_by_{equal[0]}", named | equal[1])]
        change = _percent(own.speed, first.speed)
        if objective != "speed" and abs(change) >= 1.0:
            code = "faster_than_first" if change > 0 else "slower_than_first"
            messages.append(Message(code, {"percent": abs(change), "first": first.label}))
    if own.on_front:
        messages.append(
            Message(
                "on_pareto_front",
                {"total_cny": own.total_cny, "speed": own.speed, "speed_unit": own.speed_unit},
            )
        )
    return tuple(messages)


def _decided_by(own: Standing, other: Standing) -> tuple[str, dict[str, float]] | None:
    """What orders two options of equal value, as in `candidates.order`; None where the values differ."""
    if f"{own.value:.8e}" != f"{other.value:.8e}":
        return None
    if f"{own.speed:.8e}" != f"{other.speed:.8e}":
        return "speed", {"own_speed": own.speed, "other_speed": other.speed}
    if f"{own.total_cny:.8e}" != f"{other.total_cny:.8e}":
        return "cost", {"own_total_cny": own.total_cny, "other_total_cny": other.total_cny}
    if round(own.margin_gib, 6) != round(other.margin_gib, 6):
        return "margin", {"own_margin_gib": own.margin_gib, "other_margin_gib": other.margin_gib}
    if own.power_w != other.power_w:
        return "power", {"own_power_w": own.power_w, "other_power_w": other.power_w}
    return "name", {}


def option_flags(
    gpu: Gpu,
    fit: Fit,
    price: PriceChoice,
    work: Workload,
    fallback: bool,
    lacks_type: bool,
    tax_asked: str = "",
) -> tuple[Message, ...]:
    """Reservations about an option."""
    flags = []
    if fit.verdict == "tight":
        flags.append(Message("tight", {"margin_gib": fit.margin_gib}))
    flags += price_flags(gpu, price, tax_asked)
    if price.per == "card" and is_module(gpu):
        flags.append(Message("module_needs_board", {"form_factor": gpu.form_factor}))
    if price.condition == "modded":
        flags.append(Message("modded_without_warranty", {"gpu": gpu.name}))
    if gpu.tdp_w is None:
        flags.append(Message("power_assumed", {"gpu": gpu.name}))
    # Neither compute capability (GTX 16 is 7.5, without them) nor the lack of tensor cores alone (P100
    # doubles its vector rate) tells whether half precision gains anything.
    half, single = gpu.rates.get("fp16_tflops", 0.0), gpu.rates.get("fp32_tflops", 0.0)
    # Writing tokens waits for weights: half the bytes are read in half the time all the same.
    writes = work.model.family == "decoder" and not work.trains
    if not gpu.has_tensor_cores and half <= single and not work.format.compute.wide and not writes:
        capability = gpu.compute_capability or gpu.architecture
        flags.append(Message("no_tensor_cores", {"gpu": gpu.name, "capability": capability}))
    if lacks_type:
        flags.append(Message("runs_as_fp16", {"gpu": gpu.name, "precision": work.precision}))
    elif fallback:
        flags.append(fallback_note(gpu.name, work))
    return tuple(flags)


def price_flags(gpu: Gpu, price: PriceChoice, tax_asked: str) -> list[Message]:
    """Reservations about a price: what it rests on, how old, converted, on which tax basis."""
    flags = []
    if price.evidence == "estimate":
        band = {"low_cny": price.low_cny, "high_cny": price.high_cny}
        flags.append(Message("price_is_estimate", {**band, "observed_on": price.observed_on}))
    elif price.carried:
        carried = {"expected_cny": price.expected_cny, "amount_cny": price.amount_cny}
        flags.append(Message("price_carried", {**carried, "observed_on": price.observed_on}))
    if price.stale:
        flags.append(Message("price_stale", {"observed_on": price.observed_on, "age_days": price.age_days}))
    elif price.ageing:
        flags.append(Message("price_ageing", {"observed_on": price.observed_on, "age_days": price.age_days}))
    if price.converted:
        flags.append(Message("price_converted", {"currency": price.currency, "rate": price.rate}))
    if price.stated_amount is not None:
        stated = {"stated": price.stated_amount, "currency": price.currency, "tax": price.stated_tax}
        percent = {"tax_percent": 100.0 * (price.tax_rate or 0.0)}
        flags.append(Message("price_put_on_tax_basis", {**stated, **percent}))
        if price.tax_rate_assumed:
            flags.append(Message("price_tax_rate_assumed", percent))
    elif price.tax == "unknown" and (price.kind == "quote" or tax_asked):
        flags.append(Message("price_of_unknown_tax", {"gpu": gpu.name}))
    if price.kind == "launch":
        flags.append(Message("price_is_launch_price", {"observed_on": price.observed_on}))
    if price.variant_assumed:
        flags.append(Message("price_variant_assumed", {"gpu": gpu.name}))
    if price.per == "server-8":
        flags.append(Message("price_is_of_server", {"amount_cny": price.amount_cny}))
    return flags


def fallback_note(gpu: str, work: Workload) -> Message:
    """What a card without a rate of the number format computes in."""
    params = {"gpu": gpu, "precision": work.precision}
    if work.format.compute.or_vector:
        return Message(f"{work.format.name}_runs_as_{work.format.compute.or_vector}", params)
    return Message("precision_falls_back", params)


_MODULES = ("SXM", "OAM", "superchip", "socket", "mezzanine", "server board")


def is_module(gpu: Gpu) -> bool:
    """Whether a part runs only on a base board in a server made for it, and cannot be plugged into a host."""
    return any(word in gpu.form_factor for word in _MODULES)


LASTING_CODES = frozenset({"vendor", "framework", "os", "support", "feature", "precision", "unpriced"})
"""Rejections that no figure of the question enters: a card gets the same sentence from many questions."""


@dataclass(frozen=True, slots=True)
class _Param:
    """The value of a change that stands among the parameters of the rejection."""

    name: str


def filtered(
    gpu: Gpu, count: int, code: str, message: Message, question: ShortlistQuestion, lacks_type: bool
) -> Rejected:
    """A card that a filter of the card alone rejects, with the change that its filter names.

    Parameters
    ----------
    count: at which it is named. code, message: of the filter. question: resolved.
    lacks_type: the card cannot compute in the 16-bit type asked for.
    """
    params: dict[str, Any] = {"gpu": gpu.name, "gpu_id": gpu.id, "count": count}
    work, filters = question.workload, question.filters
    remedy = None
    if code == "precision" and lacks_type:
        params |= {"to": "fp16", "precision": work.precision}
        remedy = Remedy("use_fp16", Message("remedy_use_fp16", params), {"workload.precision": "fp16"})
    elif code == "framework" and (message.code == "framework_lacks_capability" or not filters.frameworks):
        remedy = _other_engine(work, params, lacks_type)
    elif code == "os" and "needed" in message.params:
        needed = message.params["needed"]
        remedy = Remedy(
            "change_driver", Message("remedy_driver", {"driver": needed}), {"filters.driver": needed}
        )
    stated = {
        "vendor": filters.vendors,
        "framework": filters.frameworks,
        "os": filters.os not in ("", "linux"),
        "feature": filters.needs,
    }
    if remedy is None and stated.get(code):
        # What was not asked for cannot be left out.
        remedy = limit_change(code, params)
    return Rejected(gpu.ref, count, code, message, remedy=remedy)


def _other_engine(work: Workload, params: dict[str, Any], lacks_type: bool) -> Remedy | None:
    """Another engine that runs on more cards, with weights of its own kind where the format is missing."""
    other = engine(work.engine).alternative
    if not other:
        return None
    text = Message("remedy_change_engine", {**params, "engine": work.engine, "to": other})
    if not lacks_type:
        return Remedy("change_engine", text, {"workload.engine": other})
    mildest = advised_for("gguf")[0].name
    narrower = Message("remedy_quantized_weights", {"precision": mildest})
    both = Message("remedy_combined", {**params, "changes": [text, narrower]})
    return Remedy("combined", both, {"workload.engine": other, "workload.precision": mildest})


_CHANGES: dict[str, tuple[str, Any]] = {
    "vendor": ("filters.vendors", []),
    "framework": ("filters.frameworks", []),
    "os": ("filters.os", "linux"),
    "feature": ("filters.needs", []),
    "count": ("filters.max_count", _Param("count")),
    "power": ("filters.max_power_w", _Param("power_w")),
    "budget": ("budget.amount", _Param("needed")),
    "deadline": ("deadline_hours", _Param("work_hours")),
    "stale_price": ("price_rules.refuse_stale", False),
    "evidence": ("price_rules.evidence", "any"),
}


def limit_change(code: str, params: dict[str, Any]) -> Remedy | None:
    """The one field to change where the rejection itself says which; None where it names none."""
    if code not in _CHANGES:
        return None
    name, value = _CHANGES[code]
    if isinstance(value, _Param):
        value = _enough(code, params.get(value.name))
    return Remedy(f"change_{code}", Message(f"remedy_{code}", {**params, "field": name}), {name: value})


def _enough(code: str, needed: Any) -> Any:
    """A limit that is kept however it is written: in whole yuan and watts, hundredths of an hour."""
    if needed is None or code == "count":
        return needed
    return math.ceil(needed * 100.0) / 100.0 if code == "deadline" else math.ceil(needed)


def _percent(value: float, base: float) -> float:
    return (value - base) / abs(base) * 100.0 if base else 0.0


_LANGUAGE = ("decoder", "encoder-decoder")


@dataclass(frozen=True, slots=True)
class CardPrecision:
    """How a card stands to the number format asked for."""

    lacks: bool
    """No arithmetic of this type, and no other may stand in: the shortlist refuses the card."""
    falls_back: bool
    """No rate of this format: the products run in another."""
    note: Message | None


def precision_on(gpu: Gpu, work: Workload) -> CardPrecision:
    """What the shortlist says of a number format on a card, for one card.

    Parameters
    ----------
    gpu: the card. work: resolved.

    Returns
    -------
    `card_lacks_precision` where the shortlist refuses the card, `runs_as_fp16` or the note of `fallback_note`
    where it flags it; no note where the card has the format or nothing is known of its rates.
    """
    table = GpuTable.from_gpus([gpu])
    rate = compute_rate(table, work.format)
    lacks_type, fallback = bool(rate.lacks_type[0]), bool(rate.fallback[0])
    lacks = lacks_type and bool(blocked_precision(work, rate, table)[0])
    params = {"gpu": gpu.name, "precision": work.precision}
    note = None
    if lacks:
        note = Message("card_lacks_precision", {**params, "to": "fp16"})
    elif lacks_type:
        note = Message("runs_as_fp16", params)
    elif fallback:
        note = fallback_note(gpu.name, work)
    return CardPrecision(lacks, fallback and not lacks_type, note)


def mismatches(asked: Workload, work: Workload) -> tuple[Message, ...]:
    """Engine and number format that do not go with the kind of model: computed as asked, and said.

    Parameters
    ----------
    asked: as it was sent. work: resolved.
    """
    family = work.model.family
    found = []
    if asked.engine not in (work.engine, AUTO):
        found.append(Message("engine_cannot_train", {"engine": asked.engine}))
    elif family not in work.engine_record.families:
        found.append(Message("engine_not_for_family", {"engine": work.engine, "family": family}))
    narrow = "language_only" in work.format.quirks and family not in _LANGUAGE
    if narrow or (family == "vision" and work.format.weight_only):
        found.append(Message("format_not_for_family", {"precision": work.precision, "family": family}))
    if work.beyond_context and work.sequence_length is not None:
        tokens = float(np.max(work.sequence_length))
        found.append(Message("context_beyond_model", {"tokens": tokens, "context": work.model.max_context}))
    return tuple(found)
