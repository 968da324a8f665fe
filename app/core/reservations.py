"""What speaks against a question on a card, or against a question as such: said beside the figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.core.estimates import Message
from app.core.gpu import Gpu
from app.core.gpu_table import GpuTable, compute_rate
from app.core.grid import blocked_precision
from app.core.reasons import fallback_note
from app.core.workload import Workload

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "vllm": ("decoder", "encoder", "encoder-decoder", "speech", "diffusion"),
    "sglang": ("decoder", "encoder", "encoder-decoder", "speech", "diffusion"),
    "tensorrt-llm": ("decoder", "encoder", "encoder-decoder", "speech"),
    "llama.cpp": ("decoder", "encoder", "encoder-decoder"),
    "diffusers": ("diffusion",),
    "faster-whisper": ("speech",),
}
"""Families that an engine runs; an engine without an entry runs all of them."""
LANGUAGE_FORMATS = ("awq", "gptq")
"""Weight formats whose checkpoints and kernels are those of language models."""
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
    if asked.engine != work.engine and asked.engine != "auto":
        found.append(Message("engine_cannot_train", {"engine": asked.engine}))
    elif family not in FAMILIES.get(work.engine, (family,)):
        found.append(Message("engine_not_for_family", {"engine": work.engine, "family": family}))
    narrow = work.precision in LANGUAGE_FORMATS and family not in _LANGUAGE
    if narrow or (family == "vision" and work.format.weight_only):
        found.append(Message("format_not_for_family", {"precision": work.precision, "family": family}))
    return tuple(found)
