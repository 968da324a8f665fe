"""What is taken where a purchase question leaves a field open: by task, by family and by checkpoint.

Each function is named by the declaration of its field (`Field.usual`); None leaves the field to the general
rules of `resolve`. Form, body and command line read them through `usual_values`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.core import formats
from app.core.fields import TOKEN_FAMILIES, Field

if TYPE_CHECKING:
    from app.core.model.architecture import ModelArchitecture
    from app.core.workload import Workload

USERS = 8
STRICT_SLA_SPARES = 1
"""Machines kept ready where the service level is strict."""
EMBEDDING_BATCH = 32
READ_TOKENS = 512
"""Of a passage that an embedding model or a reranker reads."""
EPOCH_SAMPLES = 100_000
"""Samples of an epoch where nobody said how many: a usual fine-tuning or laboratory set."""
EPOCH_TEXTS = 10_000
"""The same of decoders, whose samples are whole texts."""
_READERS = ("embed", "rerank", "bge-", "gte-", "e5-")


@dataclass(frozen=True, slots=True)
class UsualWork:
    """An amount of work where none is stated."""

    amount: float
    unit: str
    samples: float | None = None
    """Of one epoch."""


def reads_only(model: ModelArchitecture) -> bool:
    """Embedding models and rerankers: they read passages and write nothing."""
    named = f"{model.id} {model.name}".lower()
    return any(word in named for word in _READERS)


def waits(workload: Workload) -> bool:
    """Whether users read along while it writes: a language model under a load of inference."""
    work = workload
    return (
        not work.trains
        and work.model.family == "decoder"
        and not reads_only(work.model)
        and work.load != "single"
    )


def _encodes(model: ModelArchitecture) -> bool:
    return model.family in ("encoder", "encoder-decoder")


def batch_size(task: str, model: ModelArchitecture) -> int:
    """Users of a service, sequences or images of a step on each card."""
    trains = task != "inference"
    if reads_only(model) or _encodes(model):
        return EMBEDDING_BATCH
    match model.family:
        case "vision":
            return (16 if _detects(model) else 64) if trains else USERS
        case "diffusion":
            return 1
        case "speech":
            return USERS
    return 1 if trains else USERS


def _detects(model: ModelArchitecture) -> bool:
    return bool(model.head) and model.head != "classifier"


def sequence_length(task: str, model: ModelArchitecture) -> int | None:
    """Tokens of a sequence, never more than the model reads."""
    if model.family not in TOKEN_FAMILIES:
        return None
    trains = task != "inference"
    usual = (
        READ_TOKENS
        if reads_only(model)
        else (128 if trains else 256)
        if _encodes(model)
        else (2048 if trains else 8192)
    )
    return min(usual, model.max_context or usual)


def precision(task: str, model: ModelArchitecture) -> str | None:
    """The checkpoint's own format where the model is only run, else 16 bit; 4 bit for QLoRA."""
    if task == "qlora":
        return formats.QLORA
    if task == "inference" and formats.is_format(model.native_precision):
        return model.native_precision
    # FP16 runs on every card with tensor cores; T5 and transformers that denoise overflow in it.
    halves = model.family in ("encoder", "vision", "speech") or (
        model.family == "diffusion" and "unet" in model.backbone.lower()
    )
    return "fp16" if halves else formats.USUAL


def gradient_checkpointing(task: str, model: ModelArchitecture) -> bool | None:
    """On for decoders and for denoisers, whose activations would not fit; off for the small ones."""
    if task == "inference":
        return None
    return model.family in ("decoder", "diffusion")


def work(task: str, model: ModelArchitecture) -> UsualWork:
    """Of a month in inference, of all of it in training."""
    trains = task != "inference"
    if trains:
        if model.family == "vision":
            return UsualWork(90, "epochs", EPOCH_SAMPLES)
        if _encodes(model):
            return UsualWork(3, "epochs", EPOCH_SAMPLES)
        found = {"diffusion": UsualWork(10_000, "images"), "speech": UsualWork(1_000, "hours")}
        return found.get(model.family, UsualWork(20e6, "tokens"))
    if reads_only(model):
        return UsualWork(100e6, "tokens")
    return {
        "vision": UsualWork(10e6, "images"),
        "diffusion": UsualWork(20_000, "images"),
        "speech": UsualWork(1_000, "hours"),
        "encoder": UsualWork(10e6, "samples"),
        "encoder-decoder": UsualWork(10e6, "samples"),
    }.get(model.family, UsualWork(200e6, "tokens"))


def work_amount(task: str, model: ModelArchitecture) -> float:
    """Amount of the usual work."""
    return work(task, model).amount


def work_unit(task: str, model: ModelArchitecture) -> str:
    """Unit of the usual work."""
    return work(task, model).unit


def epoch_samples(task: str, model: ModelArchitecture) -> float | None:
    """Samples of an epoch; there are no epochs where a model is only run."""
    if task == "inference":
        return None
    return EPOCH_TEXTS if model.family == "decoder" else EPOCH_SAMPLES


def usual_values(
    fields: Sequence[Field], task: str, model: ModelArchitecture, stated: Collection[str] = ()
) -> Mapping[str, Any]:
    """The defaults of the fields that a question leaves open, by their place in the body.

    Parameters
    ----------
    fields: the table. task, model: of the question. stated: places that the question names.

    Returns
    -------
    Only what the rules of this module say something of.
    """
    found: dict[str, Any] = {}
    for one in fields:
        if one.usual is None or one.place in stated or task not in one.tasks:
            continue
        value = one.usual(task, model)
        if value is not None:
            found[one.place] = value
    return found
