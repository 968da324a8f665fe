"""Ways into the form: three whole questions to start from, and four that choose a class of card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

from app.core.engines import tensorflow
from app.texts.marking import N_
from app.web.form import FormState, canonical_query

Gettext = Callable[[str], str]
BIG_PARAMETERS = 10e9

_SCENARIOS: tuple[tuple[str, str, dict[str, str | list[str]]], ...] = (
    (
        N_("Student"),
        N_("QLoRA of a 14B model on one CUDA card, in a computer that is there already"),
        {
            "model": "qwen3-14b",
            "task": "qlora",
            "precision": "nf4",
            "batch_size": "1",
            "sequence_length": "2048",
            "gradient_checkpointing": "yes",
            "objective": "purchase",
            "machine": "own",
            "budget": "15000",
            "counts": "1",
            "vendor": ["NVIDIA"],
        },
    ),
    (
        N_("Lab workstation"),
        N_("BERT-large trained with TensorFlow in mixed precision, one CUDA card for the machine of the lab"),
        {
            "model": "bert-large-uncased",
            "task": "training",
            "engine": tensorflow.FRAMEWORK.name,
            "precision": "fp16",
            "batch_size": "32",
            "sequence_length": "128",
            "machine": "own",
            "budget": "12000",
            "counts": "1",
            "vendor": ["NVIDIA"],
        },
    ),
    (
        N_("Data centre"),
        N_("70B model served around the clock, new cards, one server and a spare"),
        {
            "model": "llama-3.1-70b",
            "precision": "fp8",
            "batch_size": "32",
            "output_length": "512",
            "work": "300",
            "conditions": ["new"],
            "needs": ["ecc"],
            "run_over_24h": "yes",
            "tenants": "yes",
            "strict_sla": "yes",
        },
    ),
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A whole question to start from."""

    title: str
    hint: str
    url: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One of the answers to a question, as a link; `url` is empty where the model answers it."""

    text: str
    url: str
    current: bool


@dataclass(frozen=True, slots=True)
class Asking:
    """One of the four questions."""

    text: str
    answers: tuple[Answer, ...]


def scenarios(gettext: Gettext) -> list[Scenario]:
    """The three scenarios; each is the address of a question."""
    return [
        Scenario(gettext(title), gettext(hint), "/?" + urlencode(pairs, doseq=True))
        for title, hint, pairs in _SCENARIOS
    ]


def four_questions(state: FormState, family: str, parameters: float | None, gettext: Gettext) -> list[Asking]:
    """Size, running time, tenants, service level: three or more yes point to a data-centre card."""
    _ = gettext
    big = parameters is not None and parameters > BIG_PARAMETERS
    size = tuple(
        Answer(text, "", parameters is not None and big == value)
        for text, value in ((_("yes"), True), (_("no"), False))
    )
    found = [Asking(_("Over 10 billion parameters"), size)]
    for name, text in (
        ("run_over_24h", _("Runs over 24 h")),
        ("tenants", _("Several tenants")),
        ("strict_sla", _("Strict SLA")),
    ):
        answers = []
        for value, word in (("yes", _("yes")), ("no", _("no"))):
            chosen = state.one(name) == value
            values = dict(state.values) | {name: ("",) if chosen else (value,)}
            query = canonical_query(FormState(values, state.given), family=family)
            answers.append(Answer(word, f"/?{query}", chosen))
        found.append(Asking(text, tuple(answers)))
    return found
