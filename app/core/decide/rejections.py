"""Cards that are not on the list: at which count they come nearest, why they stop, what would let them in."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from app.core.decide.availability import refusal
from app.core.decide.candidates import LATE, bit, cheapest, hours_limit, nearest, regions_asked
from app.core.decide.filters import STAGES
from app.core.decide.options import Rejected, Remedy, latency_rejection, too_late
from app.core.decide.reasons import filtered, is_module
from app.core.decide.tried import Trials
from app.core.estimates import Message
from app.core.kept import Same, keep

if TYPE_CHECKING:
    from app.core.decide.shortlist import Cell, Ranking

KEPT_REJECTIONS = 4096


def rejections(ranking: Ranking) -> list[Rejected]:
    """One entry for each card without any option, by name."""
    trials = Trials(ranking)
    found = [*_filtered(ranking, trials), *_stopped(ranking, trials)]
    return sorted(found, key=lambda rejected: (rejected.gpu.name, rejected.gpu.id))


def _filtered(ranking: Ranking, trials: Trials) -> Iterator[Rejected]:
    """Cards that a filter of the card alone rejects; the same object as long as the same is said."""
    asked, question = ranking.asked, ranking.question
    rows = list(asked.filter.stage)
    if not rows:
        return
    counts, _ = cheapest((asked.prices.purchase_cny + asked.prices.host_cny)[rows, :, asked.prices.bought])
    plain = [
        keep(
            asked.table,
            "rejections",
            (Same(asked.gpus[row]), Same(message), ranking.best.counts[n], code, question.workload.engine)
            + (question.workload.precision, question.filters),
            partial(
                filtered,
                asked.gpus[row],
                ranking.best.counts[n],
                code,
                message,
                question,
                bool(asked.lacks_type[row]),
            ),
            KEPT_REJECTIONS,
        )
        for row, n in zip(rows, counts.tolist(), strict=True)
        for code, message in (asked.filter.stage[row],)
    ]
    tried = trials.of_filters(rows, [rejected.remedy for rejected in plain])
    for row, rejected in zip(rows, plain, strict=True):
        remedy = tried.get(row)
        if remedy is rejected.remedy:
            yield rejected
            continue
        yield keep(
            asked.table,
            "tried_rejections",
            (Same(rejected), repr(remedy.change) if remedy else ""),
            partial(replace, rejected, remedy=remedy),
            KEPT_REJECTIONS,
        )


def _stopped(ranking: Ranking, trials: Trials) -> Iterator[Rejected]:
    """Cards of which every option stops somewhere, each at its nearest option."""
    candidates, best = ranking.candidates, ranking.best
    rows = np.flatnonzero(~candidates.passes.any(axis=(1, 2)))
    # A card that is rejected is named as it would be bought.
    bought = ranking.prices.bought
    outlay = (ranking.prices.purchase_cny + ranking.prices.host_cny)[rows, :, bought]
    late = too_late(best.token_ms, ranking.question.workload.latency_limit_ms)
    away = outlay
    if late is not None and best.token_ms is not None:
        # A limit that nobody keeps is nearest where it is missed least, not where it is cheapest.
        away = np.where(late[rows][..., np.newaxis], best.token_ms[rows][..., np.newaxis], outlay)
    counts, conditions = nearest(candidates.stage[rows, :, bought], best.margin_gib[rows], away)
    cells = list(zip(rows.tolist(), counts.tolist(), conditions.tolist(), strict=True))
    codes = [STAGES[stage] for stage in candidates.stage[rows, counts, conditions].tolist()]
    outlays = outlay[np.arange(len(rows)), counts, conditions].tolist()
    remedies = trials.of_memory(cell for cell, code in zip(cells, codes, strict=True) if code == "memory")
    for cell, code, amount in zip(cells, codes, outlays, strict=True):
        if code == "feature" and ranking.needs is not None:
            # What the asker said of tenants and service is no field to be changed.
            gpu = ranking.gpus[cell[0]]
            yield Rejected(gpu.ref, best.counts[cell[1]], code, ranking.needs.why(gpu, cell[0]))
            continue
        write = partial(_rejected, ranking, cell, code, amount, remedies.get(cell[0]), trials)
        if code == "unpriced":
            # No figure of the question enters.
            gpu, count = ranking.gpus[cell[0]], best.counts[cell[1]]
            kept = (Same(gpu), count, code, _refusal(ranking, cell))
            yield keep(ranking.asked.table, "rejections", kept, write, KEPT_REJECTIONS)
        else:
            yield write()


def _refusal(ranking: Ranking, cell: Cell) -> str:
    """Why no amount of today is stated for a card."""
    seen = ranking.prices.refusal(cell[0], cell[2])
    if seen is None or not seen.refused:
        return "module" if is_module(ranking.gpus[cell[0]]) else "no_price"
    return seen.refused


def _late(ranking: Ranking, row: int, n: int) -> tuple[float, float] | None:
    """Least milliseconds per token and the limit, where they miss it."""
    token_ms, limit_ms = ranking.best.token_ms, ranking.question.workload.latency_limit_ms
    late = too_late(token_ms, limit_ms)
    if late is None or token_ms is None or limit_ms is None or not late[row, n]:
        return None
    return float(token_ms[row, n]), limit_ms


def _price_rejection(ranking: Ranking, cell: Cell, code: str, params: dict[str, object]) -> Message:
    """What is the matter with the price of an option."""
    if code == "unpriced":
        why = _refusal(ranking, cell)
        return Message("rejected_unpriced" if why == "no_price" else f"unpriced_{why}", params)
    price = ranking.prices.choice(*cell)
    seen = {"observed_on": price.observed_on, "age_days": price.age_days}
    band = {"low_cny": price.low_cny, "high_cny": price.high_cny}
    return Message(f"rejected_{code}", params | seen | (band if code == "evidence" else {}))


def _over_limit(ranking: Ranking, cell: Cell, code: str, outlay: float) -> dict[str, object]:
    """What is needed and what is allowed, where a limit on money or power is passed."""
    row, n, _ = cell
    question = ranking.question
    if code == "budget" and question.budget is not None:
        amount = question.budget.amount
        return {"needed": outlay, "amount": amount, "over": outlay - amount}
    if code == "power":
        power = float(ranking.candidates.power_w[row, n])
        return {"power_w": power, "limit_w": question.filters.max_power_w}
    return {}


def _rejected(
    ranking: Ranking, cell: Cell, code: str, outlay: float, remedy: Remedy | None, trials: Trials
) -> Rejected:
    row, n, k = cell
    question, gpu = ranking.question, ranking.gpus[row]
    count = ranking.best.counts[n]
    params: dict[str, object] = {"gpu": gpu.name, "gpu_id": gpu.id, "count": count}
    params |= _over_limit(ranking, cell, code, outlay)
    shortfall = None
    message = None
    late = _late(ranking, row, n) if code == "deadline" else None
    if code == "precision":
        message = Message(
            "rejected_rate_unknown", {"gpu": gpu.name, "precision": question.workload.precision}
        )
    elif code == "memory":
        margin = float(ranking.best.margin_gib[row, n])
        if np.isnan(margin):
            message = Message("rejected_memory_unknown", params)
        else:
            shortfall = -margin
            need = float(ranking.grid.expected_gib[int(ranking.best.plan[row, n])])
            params |= {
                "need_gib": need,
                "usable_gib": float(ranking.usable_gib[row]),
                "shortfall_gib": shortfall,
            }
    elif late is not None:
        message, allowed = latency_rejection(gpu.name, count, *late)
        remedy = trials.beside(cell, allowed, LATE)
    elif code == "deadline" and ranking.candidates.hours is not None:
        params["work_hours"] = float(ranking.candidates.hours[row, n, 0])
        params["deadline_hours"] = hours_limit(question)
    elif code == "service":
        message, goals = _short_of_service(ranking, cell)
        remedy = trials.beside(cell, goals, bit("service"))
    elif code in ("unpriced", "stale_price", "evidence"):
        message = _price_rejection(ranking, cell, code, params)
    source = None
    if code == "availability":
        message, source = refusal(gpu, regions_asked(question), ranking.availability)
    return Rejected(
        gpu=gpu.ref,
        count=count,
        code=code,
        text=message or Message(f"rejected_{code}", params),
        shortfall_gib=shortfall,
        remedy=remedy or trials.of_limits(cell),
        source=source,
    )


def _short_of_service(ranking: Ranking, cell: Cell) -> tuple[Message, Remedy | None]:
    """What users would get, what was asked, and the goals that it would meet."""
    row, n, _ = cell
    grid, goals = ranking.grid.service, ranking.question.service
    assert grid is not None and goals is not None
    plan = int(ranking.best.plan[row, n])
    speed, wait = float(grid.per_user[row, plan]), float(grid.first_token_s[row, plan])
    params = {
        "gpu": ranking.gpus[row].name,
        "count": ranking.best.counts[n],
        "users": float(grid.users[row, plan]),
        "tokens_per_s_per_user": speed,
        "first_token_s": wait,
    }
    change: dict[str, float] = {}
    if goals.tokens_per_s_per_user and speed < goals.tokens_per_s_per_user:
        change["service.tokens_per_s_per_user"] = math.floor(speed * 100.0) / 100.0
    if goals.first_token_s and wait > goals.first_token_s:
        change["service.first_token_s"] = math.ceil(wait * 100.0) / 100.0
    remedy = Remedy("change_service", Message("remedy_service", params), change) if change else None
    return Message("rejected_service", params), remedy
