"""Advice on one option of a ranked answer: a used card's checklist, spare hosts, set-up of the framework."""

from __future__ import annotations

from datetime import date

from app.core.decide.advice import availability_note, tensorflow_snippet, used_card_checks
from app.core.estimates import Message
from app.core.gpu import Gpu
from app.core.question import SeedQuestions
from app.core.workload import Workload
from app.services import payload
from app.services.payload import Payload

SECOND_HAND = ("used", "refurbished", "modded")
STRICT_SLA_PERCENT = 99.9
"""What the question about a strict service level means."""


def advice_on(
    gpu: Gpu, condition: str, cards: int, work: Workload, questions: SeedQuestions, as_of: date
) -> Payload:
    """What to do about an option before it is bought and when it is set up.

    Parameters
    ----------
    gpu, condition, cards: of the option. work: resolved. questions: the four of the first story.
    as_of: day of the question, for the age of the card.

    Returns
    -------
    `advice`, a list of messages, empty where there is nothing to say; `setup`, the Python text that a
    message `tensorflow_setup` speaks of, only where the engine is TensorFlow.
    """
    found: list[Message] = []
    if condition in SECOND_HAND:
        found += used_card_checks(gpu.launch_date, as_of)
    note = availability_note(STRICT_SLA_PERCENT) if questions.strict_sla else None
    if note is not None:
        found.append(note)
    setup = {}
    if work.engine_record.setup_text:
        found.append(Message("tensorflow_setup"))
        setup["setup"] = tensorflow_snippet(work.recipe != "fp32", cards)
    return {"advice": [payload.message(m) for m in found], **setup}
