"""How well cards are priced, and the cards whose missing price decides the most questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from app.catalog.snapshot import Snapshot
from app.core.answer import Figure, answer
from app.core.decide.candidates import PASSES
from app.core.decide.filters import STAGES
from app.core.decide.pricing import LEVELS
from app.core.decide.shortlist import Ranking, evaluate_grid
from app.core.faults import InputFault
from app.core.gpu import PriceChoice
from app.core.question import CONDITIONS
from app.services.gaps import NamedCard
from app.services.later import READY, Later
from app.services.questions import parse_shortlist
from app.services.store import availability, prepared

SHOWN = 20
SECONDS = 5.0
"""Longest wait of a program that asks; a page shows what there is."""
FAR_UNDER_LAST = 0.5
"""Of what was seen last, where no amount of today can be stated: what a quote might bring at best."""
_LANGUAGE = ("qwen2.5-7b", "qwen3-14b", "qwen3-32b", "llama-3.3-70b")
_SERVED: dict[str, Any] = {"task": "inference", "batch_size": 8, "sequence_length": 8192}
_TUNED: dict[str, Any] = {"batch_size": 1, "sequence_length": 2048, "gradient_checkpointing": True}
_TRAINED: dict[str, Any] = {"task": "training", "precision": "fp16"}
TYPICAL: tuple[tuple[str, Mapping[str, Any]], ...] = (
    *((model, _SERVED) for model in _LANGUAGE),
    *((model, {**_TUNED, "task": task}) for model in _LANGUAGE for task in ("lora", "qlora")),
    *((model, {**_TUNED, "task": "training", "precision": "bf16"}) for model in _LANGUAGE),
    ("gpt-oss-120b", _SERVED),
    ("qwen3-235b-a22b", _SERVED),
    ("deepseek-r1-671b", {**_SERVED, "precision": "fp8"}),
    ("bert-large-uncased", {**_TRAINED, "batch_size": 32, "sequence_length": 128}),
    ("resnet-50", {**_TRAINED, "batch_size": 64}),
    ("yolo11m", {**_TRAINED, "batch_size": 16}),
    ("sdxl-base-1.0", {"task": "inference"}),
    ("flux.1-dev", {"task": "inference"}),
    ("whisper-large-v3", {"task": "inference"}),
)
"""Model and workload of the questions that are counted over: usual presets, each in its usual ways."""


@answer()
class MissingPrice:
    """A card without a current price that would decide questions."""

    gpu: NamedCard
    """The card."""
    questions: int
    """Typical questions of which it could be the first answer at a quote."""
    evidence: str
    """estimate, or none where no amount of today can be stated."""
    low_cny: Figure | None
    """10th percentile of what it costs today, yuan; null without an estimate."""
    high_cny: Figure | None
    """90th percentile of the same, yuan."""
    per: str
    """card, or server-8."""
    observed_on: str
    """When its price was seen last; empty where none ever was."""


@dataclass(frozen=True, slots=True)
class MissingPrices:
    """The cards of the most questions, and out of how many."""

    cards: tuple[MissingPrice, ...]
    questions: int


_found: Later[MissingPrices] = Later(2)


def evidence_counts(snapshot: Snapshot, as_of: date) -> dict[str, int]:
    """Cards by the best evidence of a price of them, alone or in a server: firm, current, estimate, none."""
    best = {gpu.id: 0 for gpu in snapshot.gpus}
    for choices in (
        snapshot.price_choices(as_of, None, CONDITIONS),
        snapshot.server_choices(as_of, None, CONDITIONS),
    ):
        for (gpu_id, _), choice in choices.items():
            best[gpu_id] = max(best[gpu_id], LEVELS.index(choice.evidence))
    counts = Counter(best.values())
    return {name: counts[level] for level, name in reversed(list(enumerate(LEVELS)))}


def missing_prices(snapshot: Snapshot, as_of: date, seconds: float = 0.0) -> MissingPrices | None:
    """The cards whose missing price decides the most typical questions; None while they are worked out."""
    pending = _found.wait((snapshot.digest, as_of), lambda: _work_out(snapshot, as_of), seconds)
    return pending.value if pending.status == READY else None


def _work_out(snapshot: Snapshot, as_of: date) -> MissingPrices:
    counts: Counter[str] = Counter()
    sold = {gpu_id for (gpu_id, _), price in snapshot.price_choices(as_of).items() if _is_known(price)}
    asked = 0
    for model, work in TYPICAL:
        try:
            ranking = _ranking(snapshot, as_of, {"model": {"preset": model}, **work})
        except InputFault:
            # A catalogue without the model, or one that cannot do this.
            continue
        asked += 1
        counts.update(set(_deciding(ranking)) - sold)
    order = sorted(counts, key=lambda gpu_id: (-counts[gpu_id], gpu_id))[:SHOWN]
    return MissingPrices(tuple(_card(snapshot, as_of, gpu_id, counts[gpu_id]) for gpu_id in order), asked)


def _is_known(price: PriceChoice) -> bool:
    return LEVELS.index(price.evidence) >= LEVELS.index("current")


def _ranking(snapshot: Snapshot, as_of: date, workload: Mapping[str, Any]) -> Ranking:
    question = parse_shortlist({"workload": workload}, snapshot, as_of).question
    ready = prepared(snapshot)
    conditions = question.filters.conditions
    return evaluate_grid(
        question,
        ready.table,
        snapshot.gpus,
        snapshot.price_choices(as_of, question.price_rules, conditions),
        snapshot.server_choices(as_of, question.price_rules, conditions),
        ready.benchmarks,
        snapshot.framework_support,
        availability(snapshot, as_of),
        snapshot.engine_support,
        snapshot.host_classes,
    )


def _deciding(ranking: Ranking) -> Iterator[str]:
    """Cards that a quote could make first, against the best option of firm or current price."""
    candidates, prices = ranking.candidates, ranking.prices
    score = candidates.score
    fits = candidates.at_estimate == PASSES
    current = fits & (prices.evidence >= LEVELS.index("current"))
    best = float(np.min(score[current])) if current.any() else np.inf
    weak = (fits & ~current) | (candidates.at_estimate == STAGES.index("unpriced"))
    residual = ranking.question.economics.residual
    energy = np.broadcast_to(candidates.costs.energy_cny, score.shape)
    for row, n, k in zip(*np.nonzero(weak), strict=True):
        cell = (int(row), int(n), int(k))
        if fits[cell]:
            choice = prices.choice(*cell)
            saved = 1.0 - (choice.low_cny or 0.0) / (choice.expected_cny or 1.0)
            least = float(score[cell]) - float(prices.purchase_cny[cell]) * saved * (1.0 - residual)
        else:
            seen = prices.refusal(cell[0], cell[2])
            if seen is None or seen.per != "card":
                continue
            hoped = FAR_UNDER_LAST * seen.amount_cny * ranking.best.counts[cell[1]]
            least = hoped * (1.0 - residual) + float(energy[cell])
        if least < best:
            yield ranking.gpus[cell[0]].id


def _card(snapshot: Snapshot, as_of: date, gpu_id: str, questions: int) -> MissingPrice:
    gpu = snapshot.gpu(gpu_id)
    known = [
        choice
        for choices in (snapshot.price_choices(as_of), snapshot.server_choices(as_of))
        for (one, _), choice in choices.items()
        if one == gpu_id
    ]
    best = max(known, key=lambda c: (LEVELS.index(c.evidence), c.observed_on), default=None)
    return MissingPrice(
        NamedCard(gpu_id, gpu.ref.label(1).removeprefix("1 × ")),
        questions,
        best.evidence if best else "none",
        best.low_cny if best else None,
        best.high_cny if best else None,
        best.per if best else "card",
        best.observed_on if best else "",
    )
