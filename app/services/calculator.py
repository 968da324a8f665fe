"""The calculations: a snapshot and a JSON body become the JSON of the contract. One entry for all askers.

Each comes twice: `…_result` is canonical, its messages codes with parameters, fit to be stored; the plain
name says the messages in a language.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np

from app.catalog.snapshot import Snapshot
from app.core import memory as core_memory
from app.core import speed as core_speed
from app.core.decide.advice import growth, remedies
from app.core.decide.fit import fit as core_fit
from app.core.decide.grid import best_plans, build_grid
from app.core.decide.options import Shortlist, latency_unreachable
from app.core.decide.reasons import mismatches, precision_on
from app.core.decide.shortlist import rank
from app.core.decide.support import engine_runs
from app.core.estimates import Message
from app.core.faults import InputFault
from app.core.plan import check_plan
from app.core.workload import Parallelism, Workload, resolve
from app.services import payload
from app.services.cache import AnswerCache, canonical
from app.services.measured import measurements
from app.services.money import dollars_beside
from app.services.option_advice import advice_on
from app.services.payload import Payload
from app.services.prepared import availability, prepared
from app.services.renting import renting
from app.services.requests import (
    FitRequest,
    ShortlistRequest,
    parse_fit,
    parse_memory,
    parse_shortlist,
)
from app.texts.say import say

KEPT_RESULTS = 128
_shortlists: AnswerCache[Payload] = AnswerCache(KEPT_RESULTS)


class StalePrice(Exception):
    """The question refuses stale prices, and what it asks for has no other."""

    def __init__(self, message: Message, gpus: Sequence[str]) -> None:
        super().__init__(message.code)
        self.message = message
        self.gpus = tuple(gpus)


def memory(data: object, snapshot: Snapshot, today: date, language: str = "zh") -> Payload:
    """Answer of /memory; InputFault when the body is at fault."""
    return _said(memory_result(data, snapshot, today), language)


def memory_result(data: object, snapshot: Snapshot, today: date) -> Payload:
    """The need of a workload on each card of its plan, or on one card."""
    request = parse_memory(data, snapshot, today)
    work, notes = resolve(request.workload)
    if work.parallelism is not None:
        check_plan(work, work.parallelism)
    estimate = core_memory.estimate(work, work.parallelism)
    return {
        "memory": payload.memory(estimate),
        "plan": payload.plan(work.parallelism or Parallelism()),
        "assumptions": payload.assumptions((*request.defaults, *notes, *estimate.assumptions)),
        "warnings": _warnings(work.model.warnings, mismatches(request.workload, work)),
        "as_of": request.as_of.isoformat(),
        "versions": payload.versions(snapshot.version),
    }


def fit(data: object, snapshot: Snapshot, today: date, language: str = "zh") -> Payload:
    """Answer of /fit; InputFault when the body is at fault."""
    return _said(fit_result(data, snapshot, today), language)


def fit_result(data: object, snapshot: Snapshot, today: date) -> Payload:
    """Verdict on a card, what would just fit, and the remedies."""
    request = parse_fit(data, snapshot, today)
    work, notes = resolve(request.workload)
    plan = _best_plan(request, snapshot)
    found = core_fit(work, plan, request.gpu)
    estimate = core_memory.estimate(work, plan, request.gpu)
    return {
        "gpu": _gpu(request),
        "count": request.count,
        "label": payload.label(request.gpu, request.count),
        "plan": payload.plan(plan),
        "fit": {**payload.fit(found), **_usable(request.gpu.id, snapshot)},
        "memory": payload.memory(estimate),
        "remedies": [payload.remedy(r) for r in remedies(work, plan, request.gpu)],
        **_growth(request, work, plan),
        "assumptions": payload.assumptions((*request.defaults, *notes, *estimate.assumptions)),
        "warnings": _on_card(request, work),
        "as_of": request.as_of.isoformat(),
        "versions": payload.versions(snapshot.version),
    }


def _growth(request: FitRequest, work: Workload, plan: Parallelism) -> Payload:
    if work.model.family != "decoder":
        return {}
    largest, following = growth(work, request.gpu, plan)
    return {
        "growth": {
            "largest_parameters": payload.number(largest),
            "next_parameters": payload.number(following),
        }
    }


def speed(data: object, snapshot: Snapshot, today: date, language: str = "zh") -> Payload:
    """Answer of /speed; InputFault when the body is at fault."""
    return _said(speed_result(data, snapshot, today), language)


def speed_result(data: object, snapshot: Snapshot, today: date) -> Payload:
    """Throughput of all cards of a plan together."""
    request = parse_fit(data, snapshot, today)
    work, notes = resolve(request.workload)
    plan = _best_plan(request, snapshot)
    _must_run(request, work, plan)
    ready = prepared(snapshot)
    estimate = core_speed.estimate(work, plan, request.gpu, ready.benchmarks, snapshot.gpus, ready.table)
    if not math.isfinite(float(estimate.expected)):
        raise InputFault.at("/gpu", "speed_unknown", gpu=request.gpu.name, precision=work.precision)
    late = latency_unreachable(work, estimate)
    return {
        "gpu": _gpu(request),
        "count": request.count,
        "label": payload.label(request.gpu, request.count),
        "plan": payload.plan(plan),
        "speed": payload.speed(estimate) | {"measurements": measurements(estimate.sources, snapshot)},
        "assumptions": payload.assumptions((*request.defaults, *notes, *estimate.assumptions)),
        "warnings": [*_on_card(request, work), *([payload.message(late)] if late else [])],
        "as_of": request.as_of.isoformat(),
        "versions": payload.versions(snapshot.version),
    }


def shortlist(
    data: object, snapshot: Snapshot, today: date, language: str = "zh", currency: str = "CNY"
) -> Payload:
    """Answer of /shortlist; InputFault when the body is at fault, StalePrice when nothing fresh is left."""
    result = shortlist_result(data, snapshot, today)
    return shown(result, snapshot, language, currency)


def shown(result: Payload, snapshot: Snapshot, language: str, currency: str = "CNY") -> Payload:
    """A canonical result in a language, with dollars beside the yuan when asked for."""
    # Dollars are written into the parts, which the kept result shares.
    said = _said(copy.deepcopy(result) if currency == "USD" else result, language)
    said["currency"] = currency
    if currency == "USD":
        said["rate"] = dollars_beside(said, snapshot, date.fromisoformat(said["as_of"]))
    return said


def shortlist_result(data: object, snapshot: Snapshot, today: date, titled: bool = False) -> Payload:
    """The ranked answer with its question; kept for the next asker of the same."""
    key = (snapshot.digest, today.isoformat(), titled, canonical(data))
    return _shortlists.get(key, lambda: _rank(parse_shortlist(data, snapshot, today, titled), snapshot))


def _rank(request: ShortlistRequest, snapshot: Snapshot) -> Payload:
    question, as_of = request.question, request.as_of
    ready = prepared(snapshot)
    conditions = question.filters.conditions
    result = rank(
        question,
        ready.table,
        snapshot.gpus,
        snapshot.price_choices(as_of, question.price_rules, conditions, question.price_overrides),
        snapshot.server_choices(as_of, question.price_rules, conditions),
        ready.benchmarks,
        snapshot.framework_support,
        availability(snapshot, as_of),
    )
    _refuse_stale(request, result)
    body = payload.shortlist(result)
    work, _ = resolve(question.workload)
    for option, found in zip(body["options"], result.options, strict=True):
        option |= advice_on(found.gpu, found.condition, found.count, work, question.questions, as_of)
        option["fit"] |= _usable(option["gpu"]["id"], snapshot)
        option["speed"]["measurements"] = measurements(option["speed"]["sources"], snapshot)
        option["rental"] = renting(
            option,
            question.workload.trains,
            question.economics,
            snapshot,
            as_of,
            question.price_rules.max_age_days,
        )
    body["assumptions"] = payload.assumptions((*request.defaults, *result.assumptions))
    body["warnings"] = _warnings(work.model.warnings, mismatches(question.workload, work))
    body["question"] = echo(request, work)
    body["as_of"] = as_of.isoformat()
    body["versions"] = payload.versions(snapshot.version)
    return body


def _refuse_stale(request: ShortlistRequest, result: Shortlist) -> None:
    """Raise when a card asked for by name, or all that is left, has only a stale price."""
    if not request.question.price_rules.refuse_stale:
        return
    stale = [r.gpu for r in result.rejected if r.code == "stale_price"]
    if stale and (request.question.filters.gpus or not result.options):
        params = {"gpus": [g.name for g in stale], "days": request.question.price_rules.max_age_days}
        raise StalePrice(Message("stale_price_needed", params), [g.id for g in stale])


def echo(request: ShortlistRequest, work: Workload) -> Payload:
    """The question as it was understood: what was sent, and the frame that was used; `work` is resolved."""
    question = request.question
    model = work.model
    body = dict(payload.plain(request.echo))
    body["workload"] = {
        **body["workload"],
        "task": work.task,
        "precision": work.precision,
        "batch_size": payload.number(work.batch_size),
        "sequence_length": payload.number(work.sequence_length),
        "image_size": payload.plain(work.image_size),
        "kv_precision": work.kv_precision or None,
        "engine": work.engine,
    }
    body["model"] = {
        "id": model.id,
        "name": model.name,
        "family": model.family,
        "parameters": payload.number(model.parameters),
        "active_parameters": payload.number(model.active_parameters),
    }
    body["counts"] = list(question.counts)
    body["objective"] = question.objective
    body["limit"] = question.limit
    body["filters"] = {
        k: v for k, v in payload.fields_of(question.filters).items() if v not in (None, "", [])
    }
    body["economics"] = payload.fields_of(question.economics)
    body["price_rules"] = payload.fields_of(question.price_rules)
    body["as_of"] = request.as_of.isoformat()
    if question.budget is not None:
        body["budget"] = {**body["budget"], "amount_cny": payload.number(question.budget.amount)}
    return body


def _best_plan(request: FitRequest, snapshot: Snapshot) -> Parallelism:
    """The plan that was named, else the one that the shortlist would take for this card and count."""
    work, _ = resolve(request.workload)
    ready = prepared(snapshot)
    rows = np.array([i for i, gpu in enumerate(snapshot.gpus) if gpu.id == request.gpu.id], dtype=np.intp)
    counts = (request.count,)
    grid = build_grid(work, ready.table, snapshot.gpus, counts, ready.benchmarks, rows=rows)
    return grid.plans[int(best_plans(grid, counts).plan[0, 0])]


def _must_run(request: FitRequest, work: Workload, plan: Parallelism) -> None:
    """No speed is stated for what cannot run; InputFault says why."""
    if not engine_runs(request.gpu, work.engine, work.precision).runs:
        raise InputFault.at("/gpu", "engine_cannot_run_there", engine=work.engine, gpu=request.gpu.name)
    if precision_on(request.gpu, work).lacks:
        unlike = {"gpu": request.gpu.name, "precision": work.precision}
        raise InputFault.at("/workload/precision", "precision", **unlike)
    # A full engine queues what its cache does not hold: it runs where one sequence of each replica does.
    queues = work.load == "saturated" and work.model.family == "decoder"
    held = replace(work, batch_size=plan.data) if queues else work
    found = core_fit(held, plan, request.gpu)
    least = float(core_memory.estimate(held, plan).per_gpu_gib.low)
    # Published runs have worked at need's lower end: only what even that rules out gets no speed.
    if least > found.usable_gib - work.used_gib:
        params = {"gpu": request.gpu.name, "count": request.count, "margin_gib": round(-found.margin_gib, 1)}
        raise InputFault.at("/gpu", "cannot_run_there", **params)


def _gpu(request: FitRequest) -> Payload:
    return {"id": request.gpu.id, "name": request.gpu.name, "vendor": request.gpu.vendor}


def _usable(gpu_id: str, snapshot: Snapshot) -> Payload:
    """How the usable memory of a card is known."""
    figure = snapshot.figures(gpu_id).get("usable_gib")
    if figure is None:
        return {"usable_basis": snapshot.gpu(gpu_id).usable_basis}
    return {"usable_basis": figure.basis, "usable_source": payload.source(figure.source)}


def _on_card(request: FitRequest, work: Workload) -> list[Payload]:
    note = precision_on(request.gpu, work).note
    return _warnings(work.model.warnings, (*mismatches(request.workload, work), *((note,) if note else ())))


def _warnings(codes: Sequence[str], more: Sequence[Message] = ()) -> list[Payload]:
    return [payload.message(m) for m in (*(Message(code) for code in codes), *more)]


def _said(result: Mapping[str, Any], language: str) -> Payload:
    said: Payload = say(dict(result), language)
    return said
