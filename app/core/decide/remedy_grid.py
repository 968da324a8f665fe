"""For cards rejected for memory: the cheapest change, or few changes together, that make the question fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from app.core.decide.fit import judge
from app.core.decide.grid import Grid
from app.core.decide.options import Fit, Remedy
from app.core.estimates import Message
from app.core.formats import QLORA, advised_for, format_of
from app.core.gpu_table import Floats
from app.core.memory import estimate
from app.core.workload import TOKEN_FAMILIES, Workload


def memory_remedies(
    work: Workload, grid: Grid, plans: Mapping[int, int], usable_gib: Floats
) -> dict[int, Remedy]:
    """One remedy per card: a single change where one is enough, else several together.

    Parameters
    ----------
    work: resolved. grid: its plans. plans: nearest plan of each rejected card, by row. usable_gib: of
    the cards.

    Returns
    -------
    Remedies by row, each with its own estimate. `advice.remedies` lists all of them for one card.
    """
    found: dict[int, Remedy] = {}
    for plan in sorted(set(plans.values())):
        # Cards of one size share the remedy, and with it what is written of it.
        waiting: dict[float, list[int]] = {}
        for row, own in plans.items():
            if own == plan:
                waiting.setdefault(float(usable_gib[row]), []).append(row)
        for code, fields, parts in _steps(work):
            if not waiting:
                break
            memory = estimate(replace(work, **fields), grid.plans[plan])
            judged = {usable: judge(memory, usable, work.used_gib) for usable in waiting}
            change = {f"workload.{name}": value for name, value in fields.items()}
            params = {"cards": grid.plans[plan].cards, **fields}
            if parts:
                params["changes"] = parts
            message = Message(f"remedy_{code}", params)
            for usable, (verdict, margin) in judged.items():
                if verdict != "does_not_fit":
                    remedy = Remedy(code, message, change, memory, Fit(verdict, usable, margin))
                    found |= dict.fromkeys(waiting.pop(usable), remedy)
    return found


def _steps(work: Workload) -> Iterator[tuple[str, dict[str, Any], list[Message]]]:
    """Every single change, then the cheapest two together, three, and so on: each with what it is made of."""
    singles = list(_changes(work))
    for code, fields in singles:
        yield code, fields, []
    together: dict[str, Any] = {}
    parts: dict[str, Message] = {}
    for code, fields in singles:
        # A later change takes the place of an earlier one of its kind: AWQ of FP8, QLoRA of LoRA.
        kind = "lora" if code == "qlora" else code
        if kind == "lora":
            parts.pop("optimizer_8bit", None)
            together.pop("optimizer", None)
        parts.pop(kind, None)
        together |= fields
        parts[kind] = Message(f"remedy_{code}", fields)
        if len(parts) > 1:
            yield "combined", dict(together), list(parts.values())


def _changes(work: Workload) -> Iterator[tuple[str, dict[str, Any]]]:
    """Single changes of the workload, cheapest first: free ones, then time, then the method."""
    if work.attention == "eager" and work.model.family in TOKEN_FAMILIES:
        yield "flash_attention", {"attention": "flash"}
    if not work.trains:
        if work.model.family == "decoder" and not format_of(work.kv_precision).quantized:
            narrow = work.engine_record.narrow_kv or "fp8"
            yield f"kv_{narrow}", {"kv_precision": narrow}
        if not work.weights_gib and work.model.family != "vision" and not work.format.quantized:
            for narrower in advised_for("decoder"):
                yield "quantized_weights", {"precision": narrower.name}
        return
    if work.model.family == "decoder" and work.logits == "full":
        yield "chunked_logits", {"logits": "chunked"}
    if work.gradient_checkpointing is not True:
        yield "gradient_checkpointing", {"gradient_checkpointing": True}
    if work.task == "training" and work.optimizer == "adamw":
        yield "optimizer_8bit", {"optimizer": "adamw-8bit"}
    if work.task == "training" and work.model.family in TOKEN_FAMILIES:
        yield "lora", {"task": "lora"}
    if work.task != "qlora" and work.model.family in TOKEN_FAMILIES:
        yield "qlora", {"task": "qlora", "precision": QLORA}
