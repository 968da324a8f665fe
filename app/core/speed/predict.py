"""The one entry of the speed model: question, plans and cards in, terms out."""

from __future__ import annotations

import numpy as np

from app.core.gpu_table import ComputeRate, GpuTable, compute_rate
from app.core.speed.generation import diffusion_terms, speech_terms
from app.core.speed.inference import decoder_terms, encoder_terms
from app.core.speed.serving import is_served, serving_terms
from app.core.speed.terms import Plans, Shape, Terms, where_terms
from app.core.speed.training import training_terms
from app.core.speed.vision import vision_terms
from app.core.tracing import replaced
from app.core.workload import Workload


def predict(
    work: Workload,
    plans: Plans,
    cards: GpuTable,
    shape: Shape | None = None,
    rate: ComputeRate | None = None,
) -> Terms:
    """Time of one step of the question under plans on cards.

    Parameters
    ----------
    work: a resolved workload.
    plans: degrees, shape (plans,) or anything that broadcasts against the cards.
    cards: the cards; `table.column()` for a grid of cards x plans.
    shape: batch and lengths in place of the workload's; arrays broadcast.
    rate: the peak that counts, when the caller has it already.

    Returns
    -------
    Terms over the broadcast shape. NaN where a figure of the card is unknown.

    Notes
    -----
    tf32 moves the bytes of fp32 and may take either unit for its products, so it is never slower than fp32;
    a card without it answers fp32.
    """
    peak = rate or compute_rate(cards, work.format)
    size = shape or Shape.of(work)
    terms = _predict(work, plans, cards, size, peak)
    if work.format.compute.group != "tf32":
        return terms
    vector = replaced(work, precision="fp32")
    plain = _predict(vector, plans, cards, size, compute_rate(cards, vector.format))
    return where_terms(peak.fallback | np.less(plain.seconds, terms.seconds), plain, terms)


def _predict(work: Workload, plans: Plans, cards: GpuTable, size: Shape, peak: ComputeRate) -> Terms:
    family = work.model.family
    if family == "vision":
        return vision_terms(work, size, plans, cards, peak)
    if family == "diffusion":
        return diffusion_terms(work, size, plans, cards, peak)
    if family == "speech":
        return speech_terms(work, size, plans, cards, peak)
    if work.trains:
        return training_terms(work, size, plans, cards, peak)
    if family == "decoder" and is_served(work, size):
        return serving_terms(work, size, plans, cards, peak)
    if family == "decoder":
        return decoder_terms(work, size, plans, cards, peak)
    return encoder_terms(work, size, plans, cards, peak)
