"""What to change when it does not fit: all changes for one card, and the steps that a ranking tries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from app.core.decide.fit import fit, judge, max_batch_size, usable_gib
from app.core.decide.options import Remedy
from app.core.estimates import Message
from app.core.faults import InputFault
from app.core.fields import TOKEN_FAMILIES
from app.core.formats import QLORA, USUAL, advised_for, format_of, kv_names
from app.core.gpu import Gpu
from app.core.memory import estimate
from app.core.resolve import resolve
from app.core.speed import estimate as speed_estimate
from app.core.workload import Parallelism, Workload

CHECKPOINTING_SPEED = 0.75
"""A second forward pass: 6 P D becomes 8 P D."""
_SAME_METHOD = frozenset(
    ("flash_attention", "chunked_logits", "mixed_precision", "gradient_checkpointing", "optimizer_8bit")
)
"""Changes after which the same thing is trained or served."""
_NARROW_KV = frozenset(f"kv_{name}" for name in kv_names())

Change = tuple[str, Mapping[str, Any], Workload, Parallelism, float | None]


def remedies(
    work: Workload, plan: Parallelism | None, gpu: Gpu, max_cards: int = 8, limit: int = 6
) -> tuple[Remedy, ...]:
    """The changes that make it fit on this card, cheapest first.

    Parameters
    ----------
    work: the question.
    plan: its plan; the question's own, else one card.
    gpu: the card.
    max_cards: how many of them may be taken.
    limit: at most this many answers.

    Returns
    -------
    Single changes that each make it fit; where none does alone, the shortest run of them that does together
    (code `combined`). Empty when it fits already or nothing helps.

    Notes
    -----
    Cost order: what changes no result and costs no time (flash attention, chunked loss, KV format), then
    time (checkpointing, smaller batch with accumulation), then the method (8-bit optimizer, LoRA, quantized
    weights, QLoRA), then money (more cards).
    """
    work, _ = resolve(work)
    plan = plan or work.parallelism or Parallelism()
    usable = usable_gib(gpu)
    if judge(estimate(work, plan), usable, work.used_gib)[0] != "does_not_fit":
        return ()
    found: list[Remedy] = []
    before = _speed(work, plan, gpu)
    for code, change, changed, new_plan, speed in _changes(work, plan, max_cards):
        if any(r.code == code for r in found):
            continue
        memory = estimate(changed, new_plan)
        if judge(memory, usable, work.used_gib)[0] == "does_not_fit":
            continue
        found.append(_remedy(code, change, changed, new_plan, gpu, before, speed))
        if len(found) >= limit:
            break
    smaller = _smaller_batch(work, plan, gpu, before)
    if smaller is not None:
        place = 1 if found and found[0].code in ("flash_attention", "chunked_logits", *_NARROW_KV) else 0
        found.insert(place, smaller)
    if found:
        return tuple(found[:limit])
    together = _combined(work, plan, gpu, max_cards, before)
    return () if together is None else (together,)


def _remedy(
    code: str,
    change: Mapping[str, Any],
    work: Workload,
    plan: Parallelism,
    gpu: Gpu,
    before: float | None,
    usual_ratio: float | None = None,
) -> Remedy:
    """A remedy with its own estimate and its price in speed.

    Parameters
    ----------
    before: units per second of the question as asked, all cards; None where rates are unknown.
    usual_ratio: speed after over before where the card does not say.
    """
    params: dict[str, Any] = {
        "cards": plan.cards,
        **{k.rsplit(".", 1)[-1]: v for k, v in change.items()},
    }
    if code == "combined":
        params["changes"] = _parts(change, plan)
    after = _speed(work, plan, gpu) if before else None
    return Remedy(
        code=code,
        text=Message(f"remedy_{code}", params),
        change=change,
        memory=estimate(work, plan),
        fit=fit(work, plan, gpu),
        speed_ratio=after / before if after and before else usual_ratio,
    )


_PART_CODES = {
    "workload.attention": "flash_attention",
    "workload.logits": "chunked_logits",
    "workload.recipe": "mixed_precision",
    "workload.gradient_checkpointing": "gradient_checkpointing",
    "workload.optimizer": "optimizer_8bit",
    "count": "more_cards",
}


def _parts(change: Mapping[str, Any], plan: Parallelism) -> list[Message]:
    """The single changes of a combined one, in the order of their cost, each as its own sentence says it."""
    codes = dict(_PART_CODES)
    if change.get("workload.recipe") == "pure":
        codes["workload.recipe"] = "pure_16bit"
    parts = [
        Message(f"remedy_{code}", {"cards": plan.cards}) for name, code in codes.items() if name in change
    ]
    task, precision = change.get("workload.task"), change.get("workload.precision")
    if "workload.kv_precision" in change:
        parts.insert(0, Message(f"remedy_kv_{change['workload.kv_precision']}", {}))
    if task:
        parts.append(Message(f"remedy_{task}", {}))
    elif precision and "workload.recipe" not in change:
        parts.append(Message("remedy_quantized_weights", {"precision": precision}))
    return parts


def _speed(work: Workload, plan: Parallelism, gpu: Gpu) -> float | None:
    """Plain model of the speed of a plan, units per second; None where a figure of the card is unknown."""
    try:
        found = float(speed_estimate(work, plan, gpu).expected)
    except InputFault:
        return None
    return found if math.isfinite(found) and found > 0.0 else None


def _changes(work: Workload, plan: Parallelism, max_cards: int) -> Iterator[Change]:
    """Single changes in the order of their cost."""
    if work.task == "inference":
        yield from _serving_changes(work, plan)
    else:
        yield from _training_changes(work, plan)
    yield from _more_cards(work, plan, max_cards)


def _with(work: Workload, plan: Parallelism, code: str, speed: float | None, **fields: Any) -> Change:
    change = {f"workload.{k}": v for k, v in fields.items()}
    return code, change, replace(work, **fields), plan, speed


def _flashes(work: Workload) -> bool:
    """Whether flash attention runs: its kernels are of 16 bit, and the engine has to use them."""
    return not work.format.compute.wide and work.engine_record.default_attention != "eager"


def _serving_changes(work: Workload, plan: Parallelism) -> Iterator[Change]:
    if work.attention == "eager" and work.model.layers and _flashes(work):
        yield _with(work, plan, "flash_attention", 1.0, attention="flash")
    engine = work.engine_record
    if work.model.family == "decoder" and not format_of(work.kv_precision).quantized and engine.narrow_kv:
        # Engines with a paged cache read a narrow one without loss of time.
        speed = 1.0 if engine.paged else None
        yield _with(work, plan, f"kv_{engine.narrow_kv}", speed, kv_precision=engine.narrow_kv)
    for code, fields in _narrower(work):
        yield _with(work, plan, code, None, **fields)


def _training_changes(work: Workload, plan: Parallelism) -> Iterator[Change]:
    token_model = work.model.family in ("decoder", "encoder", "encoder-decoder")
    if token_model and work.attention == "eager" and _flashes(work):
        yield _with(work, plan, "flash_attention", 1.0, attention="flash")
    if work.model.family == "decoder" and work.logits == "full":
        yield _with(work, plan, "chunked_logits", 1.0, logits="chunked")
    if work.format.compute.wide:
        yield _with(work, plan, "mixed_precision", None, precision=USUAL, recipe="mixed")
    if work.gradient_checkpointing is not True:
        yield _with(work, plan, "gradient_checkpointing", CHECKPOINTING_SPEED, gradient_checkpointing=True)
    if work.optimizer == "adamw" and work.task == "training":
        yield _with(work, plan, "optimizer_8bit", 1.0, optimizer="adamw-8bit")
    if work.recipe == "mixed" and work.task == "training" and not work.format.compute.wide:
        yield _with(work, plan, "pure_16bit", 1.0, recipe="pure")
    if not token_model:
        return
    if work.task == "training":
        yield _with(work, plan, "lora", None, task="lora")
    if work.task in ("training", "lora"):
        yield _with(work, plan, "qlora", None, task="qlora", precision=QLORA)


def _more_cards(work: Workload, plan: Parallelism, max_cards: int) -> Iterator[Change]:
    count = plan.cards * 2
    while count <= max_cards:
        growth = count // plan.cards
        if work.task == "inference":
            tensor = plan.tensor * growth
            if not work.model.attention_heads or work.model.attention_heads % tensor:
                return
            new = replace(plan, tensor=tensor)
        else:
            new = replace(plan, data=plan.data * growth, zero_stage=3)
        degrees = {
            "data": new.data,
            "tensor": new.tensor,
            "pipeline": new.pipeline,
            "expert": new.expert,
            "zero_stage": new.zero_stage,
        }
        change = {"count": count, "workload.parallelism": degrees}
        yield "more_cards", change, replace(work, parallelism=new), new, None
        count *= 2


def _smaller_batch(work: Workload, plan: Parallelism, gpu: Gpu, before: float | None) -> Remedy | None:
    asked = float(work.batch_size)
    best = max_batch_size(work, plan, usable_gib(gpu) - work.used_gib)
    if best < 1 or best >= asked:
        return None
    if work.trains:
        steps = math.ceil(asked / best)
        fields: dict[str, Any] = {
            "batch_size": best,
            "gradient_accumulation": work.gradient_accumulation * steps,
        }
        code = "smaller_batch_accumulated"
    else:
        fields = {"batch_size": best}
        code = "smaller_batch"
    change = {f"workload.{k}": v for k, v in fields.items()}
    return _remedy(code, change, replace(work, **fields), plan, gpu, before)


def _combined(
    work: Workload, plan: Parallelism, gpu: Gpu, max_cards: int, before: float | None
) -> Remedy | None:
    usable = usable_gib(gpu)
    change: dict[str, Any] = {}
    current, current_plan = work, plan
    need = float(estimate(work, plan).per_gpu_gib.expected)
    done: set[str] = set()
    for _ in range(12):
        step = next((c for c in _changes(current, current_plan, max_cards) if c[0] not in done), None)
        if step is None:
            return None
        code, added, changed, new_plan, _speed = step
        if code not in ("more_cards", "quantized_weights"):
            done.add(code)
        memory = estimate(changed, new_plan)
        if float(memory.per_gpu_gib.expected) >= need and code not in ("lora", "more_cards"):
            done.add(code)
            continue
        need = float(memory.per_gpu_gib.expected)
        change.update(added)
        current, current_plan = changed, new_plan
        if judge(memory, usable, work.used_gib)[0] != "does_not_fit":
            needed = _without_idle(work, change, current_plan, usable)
            return _remedy("combined", needed, _changed(work, needed), current_plan, gpu, before)
    return None


def _changed(work: Workload, change: Mapping[str, Any]) -> Workload:
    prefix = "workload."
    fields = {k.removeprefix(prefix): v for k, v in change.items() if k.startswith(prefix)}
    fields.pop("parallelism", None)
    return replace(work, **fields)


def _without_idle(
    work: Workload, change: Mapping[str, Any], plan: Parallelism, usable: float
) -> dict[str, Any]:
    """Leave out the changes that a later, stronger one has made needless; the dearest are tried first."""
    needed = dict(change)
    for name in reversed(list(change)):
        if name in ("count", "workload.parallelism", "workload.task", "workload.precision"):
            continue
        rest = {k: v for k, v in needed.items() if k != name}
        if judge(estimate(_changed(work, rest), plan), usable, work.used_gib)[0] != "does_not_fit":
            needed = rest
    return needed


def fewest_changes(work: Workload, usable: float) -> tuple[tuple[str, ...], float] | None:
    """The fewest, then cheapest changes that keep method and result and make one card large enough.

    Parameters
    ----------
    work: resolved.
    usable: what one card holds, GiB.

    Returns
    -------
    Codes of the changes and the expected need after them, GiB; None where all together are not enough.
    """
    alone, plan = replace(work, parallelism=None), Parallelism()
    changes = {code: change for code, change, *_ in _changes(alone, plan, 1) if code in _SAME_METHOD}

    def need(codes: Iterable[str]) -> float:
        together = {name: value for code in codes for name, value in changes[code].items()}
        return float(estimate(_changed(alone, together), plan).per_gpu_gib.expected)

    if not changes or need(changes) > usable:
        return None
    for size in range(1, len(changes) + 1):
        for codes in combinations(changes, size):
            found = need(codes)
            if found <= usable:
                return codes, found
    return None


Step = tuple[str, dict[str, Any], list[Message]]
"""Code, changed fields of the workload, and what it is made of where it is several changes."""


def grid_steps(work: Workload) -> Iterator[Step]:
    """Every single change, then the cheapest two together, three, and so on: each with what it is made of.

    Parameters
    ----------
    work: resolved.
    """
    singles = list(_grid_changes(work))
    for code, fields in singles:
        yield code, fields, []
    for size in range(2, len({_kind(code) for code, _ in singles}) + 1):
        if size == PAIRS:
            yield from (_joined(pair) for pair in combinations(singles, size) if _go_together(pair))
        else:
            yield _joined(_cheapest(singles, size))


PAIRS = 2
"""Of two changes every pair is tried; of more, the cheapest."""
_ADAPTERS = frozenset({"lora", "qlora"})


def _kind(code: str) -> str:
    """A later change takes the place of an earlier one of its kind: AWQ of FP8, QLoRA of LoRA."""
    return "adapter" if code in _ADAPTERS else code


def _go_together(pair: Sequence[tuple[str, dict[str, Any]]]) -> bool:
    (one, _), (other, _) = pair
    # The optimizer of the whole model's states, and its copies, do not matter to an adapter.
    return _kind(one) != _kind(other) and not (other in _ADAPTERS and one in ("optimizer_8bit", "pure_16bit"))


def _cheapest(singles: Sequence[tuple[str, dict[str, Any]]], size: int) -> list[tuple[str, dict[str, Any]]]:
    """So many kinds of change, the cheapest kinds, of each the strongest."""
    kinds: dict[str, tuple[str, dict[str, Any]]] = {}
    for code, fields in singles:
        if _kind(code) in kinds or len(kinds) < size:
            kinds[_kind(code)] = code, fields
    if "adapter" in kinds:
        kinds = {kind: one for kind, one in kinds.items() if kind not in ("optimizer_8bit", "pure_16bit")}
    return list(kinds.values())


def _joined(changes: Sequence[tuple[str, dict[str, Any]]]) -> Step:
    fields = {name: value for _, changed in changes for name, value in changed.items()}
    return "combined", fields, [Message(f"remedy_{code}", changed) for code, changed in changes]


def _grid_changes(work: Workload) -> Iterator[tuple[str, dict[str, Any]]]:
    """Single changes of the workload, cheapest first: free ones, then time, then the method."""
    if work.attention == "eager" and work.model.family in TOKEN_FAMILIES and _flashes(work):
        yield "flash_attention", {"attention": "flash"}
    if not work.trains:
        if work.model.family == "decoder" and not format_of(work.kv_precision).quantized:
            narrow = work.engine_record.narrow_kv or "fp8"
            yield f"kv_{narrow}", {"kv_precision": narrow}
        yield from _narrower(work)
        return
    if work.model.family == "decoder" and work.logits == "full":
        yield "chunked_logits", {"logits": "chunked"}
    if work.format.compute.wide:
        yield "mixed_precision", {"precision": USUAL, "recipe": "mixed"}
    if work.gradient_checkpointing is not True:
        yield "gradient_checkpointing", {"gradient_checkpointing": True}
    if work.task == "training" and work.optimizer == "adamw":
        yield "optimizer_8bit", {"optimizer": "adamw-8bit"}
    if work.task == "training" and work.recipe == "mixed":
        yield "pure_16bit", {"recipe": "pure"}
    if work.task == "training" and work.model.family in TOKEN_FAMILIES:
        yield "lora", {"task": "lora"}
    if work.task != "qlora" and work.model.family in TOKEN_FAMILIES:
        yield "qlora", {"task": "qlora", "precision": QLORA}


def _narrower(work: Workload) -> Iterator[tuple[str, dict[str, Any]]]:
    """Weights in fewer bits, the mildest first."""
    if work.weights_gib or work.model.family == "vision":
        return
    kind = "gguf" if work.format.gguf else "decoder" if work.model.family == "decoder" else "other"
    for narrower in advised_for(kind):
        if narrower.bits < work.format.bits:
            yield "quantized_weights", {"precision": narrower.name}
